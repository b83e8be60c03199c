//! EndRun reports the same counts as the client.

use bytes::Bytes;

use crate::client::{Control, Counted, Stream, quic_link, with_node};

/// Heartbeats and the like that may be on their way when the counters are read.
const UNDER_WAY_BYTES: u64 = 200;

const SIZES: [usize; 5] = [0, 64, 9_000, 150_528, 3 << 20];

async fn talk(stream: &mut Stream) {
    for (id, &len) in SIZES.iter().enumerate() {
        stream.send(id as u64, Bytes::from(vec![7; len])).await;
    }
    for _ in SIZES {
        stream.answer().await.result.unwrap();
    }
}

fn sum(streams: &[&Stream], of: impl Fn(&Stream) -> Counted) -> (u64, u64, u64) {
    let add = |(a, b, c), stream: &&Stream| {
        let Counted { samples, message_bytes, payload_bytes } = of(stream);
        (a + samples, b + message_bytes, c + payload_bytes)
    };
    streams.iter().fold((0, 0, 0), add)
}

/// Right after the last answer, without a Flush: nothing is missing.
#[test]
fn every_layer_over_tcp() {
    for backend in ["null", "synthetic:constant=0ms,output=20000"] {
        with_node(
            backend,
            |_| {},
            async |address| {
                let mut control = Control::connect(&address, 1).await;
                control.start("", "").await.unwrap();
                let (mut one, one_socket) = Stream::tcp(&address, &control.pass).await;
                let (mut other, other_socket) = Stream::tcp(&address, &control.pass).await;
                tokio::join!(talk(&mut one), talk(&mut other));
                let report = control.end().await;
                let (samples, messages, payload) = sum(&[&one, &other], |stream| stream.sent);
                assert_eq!((report.samples_received, report.message_bytes_in), (samples, messages));
                assert_eq!((report.payload_bytes_in, report.tensor_bytes_in), (payload, payload));
                let (samples, messages, payload) = sum(&[&one, &other], |stream| stream.answers);
                assert_eq!((report.samples_answered, report.message_bytes_out), (samples, messages));
                assert_eq!((report.payload_bytes_out, report.tensor_bytes_out), (payload, payload));
                assert_eq!(report.socket_bytes_in(), one_socket.written() + other_socket.written());
                let read_bytes = one_socket.read() + other_socket.read();
                assert!(report.socket_bytes_out().abs_diff(read_bytes) < UNDER_WAY_BYTES, "{report:?} {read_bytes}");
                assert_eq!(report.nic, None, "loopback");
            },
        );
    }
}

/// A connection with several streams, and control calls, counts once.
#[test]
fn every_layer_over_grpc() {
    with_node(
        "null",
        |_| {},
        async |address| {
            let mut control = Control::connect(&address, 1).await;
            control.start("", "").await.unwrap();
            let (mut one, mut other) = (control.clone(), control.clone());
            tokio::join!(one.dispatch(&SIZES), other.dispatch(&SIZES));
            let report = control.end().await;
            let payload = 2 * SIZES.iter().sum::<usize>() as u64;
            assert_eq!((report.payload_bytes_in, report.tensor_bytes_in), (payload, payload));
            assert_eq!(
                (report.samples_answered, report.tensor_bytes_out),
                (2 * SIZES.len() as u64, 16 * SIZES.len() as u64)
            );
            assert!(report.socket_bytes_in() > report.message_bytes_in, "{report:?}");
            assert!(report.socket_bytes_in() < report.message_bytes_in + report.message_bytes_in / 50, "{report:?}");
            assert!(report.socket_bytes_out() > report.message_bytes_out, "{report:?}");
        },
    );
}

#[test]
fn every_layer_over_quic() {
    with_node(
        "null",
        |_| {},
        async |address| {
            let mut control = Control::connect(&address, 1).await;
            control.start("", "").await.unwrap();
            let link = quic_link(&address).await;
            let mut one = Stream::quic(&link, &control.pass).await;
            let mut other = Stream::quic(&link, &control.pass).await;
            tokio::join!(talk(&mut one), talk(&mut other));
            let before = lon_net::quic::statistics(&link.connection);
            let report = control.end().await;
            let after = lon_net::quic::statistics(&link.connection);
            assert_eq!(report.message_bytes_in, one.sent.message_bytes + other.sent.message_bytes);
            assert_eq!(report.message_bytes_out, one.answers.message_bytes + other.answers.message_bytes);
            // Datagrams that the node lost or has not read yet, against those that it sent and we have not.
            assert!(report.socket_bytes_in() > report.message_bytes_in, "{report:?}");
            assert!(report.socket_bytes_in() <= after.bytes_written, "{report:?} {after:?}");
            assert!(report.socket_bytes_out() >= before.bytes_read, "{report:?} {before:?}");
            assert!(report.retransmits.is_some());
            link.close().await;
        },
    );
}
