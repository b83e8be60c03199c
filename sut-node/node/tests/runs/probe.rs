//! Probes: the node answers by itself, and is taken meanwhile.

use bytes::Bytes;
use lon_proto::run_identity::run_name;
use tonic::Code;

use crate::client::{Control, Stream, quic_link, with_node};

/// A backend that would take for ever, were it asked.
const NEVER: &str = "synthetic:constant=1000s";

fn asking_for(answer_bytes: u64, sample_bytes: usize) -> Bytes {
    let mut sample = answer_bytes.to_le_bytes().to_vec();
    sample.resize(sample_bytes, 0);
    Bytes::from(sample)
}

async fn sizes_are_answered(stream: &mut Stream) {
    let sizes = [0, 1, 8, 100_000, 1 << 20];
    for (id, size) in sizes.into_iter().enumerate() {
        stream.send(id as u64, asking_for(size, 8 + 1000 * id)).await;
    }
    for (id, size) in sizes.into_iter().enumerate() {
        let answer = stream.answer().await;
        let bytes = answer.result.unwrap();
        assert_eq!((answer.id, bytes.len() as u64), (id as u64, size));
        let distinct = bytes.chunks_exact(8).collect::<std::collections::HashSet<_>>().len();
        assert_eq!(distinct, bytes.len() / 8, "bytes that compress measure nothing");
    }
    stream.send(5, asking_for((1 << 20) + 1, 8)).await;
    let error = stream.answer().await.result.unwrap_err();
    assert!(error.contains("1048577") && error.contains("1048576"), "{error}");
    stream.send(6, Bytes::from_static(b"short")).await;
    assert_eq!(stream.answer().await.result.unwrap(), Bytes::new());
    // Larger than a part on its way up.
    stream.send(7, asking_for(1, 3 << 20)).await;
    assert_eq!(stream.answer().await.result.unwrap().len(), 1);
}

#[test]
fn answers_have_the_size_that_was_asked_for() {
    with_node(
        NEVER,
        |_| {},
        async |address| {
            let mut control = Control::connect(&address, 1).await;
            let limits = control.probe().await.unwrap();
            assert!(limits.max_bytes_in_flight >= 256 << 20 && limits.max_samples_in_flight >= 4096);
            let (mut stream, _) = Stream::tcp(&address, &control.pass).await;
            sizes_are_answered(&mut stream).await;
            let link = quic_link(&address).await;
            let mut other = Stream::quic(&link, &control.pass).await;
            sizes_are_answered(&mut other).await;
            control.flush(16).await.unwrap();
            let report = control.end().await;
            assert_eq!((report.samples_received, report.samples_answered, report.samples_failed), (16, 16, 2));
            let sum = |one: u64, other: u64| one + other;
            assert_eq!(report.message_bytes_in, sum(stream.sent.message_bytes, other.sent.message_bytes));
            assert_eq!(report.message_bytes_out, sum(stream.answers.message_bytes, other.answers.message_bytes));
            assert_eq!(report.tensor_bytes_out, sum(stream.answers.payload_bytes, other.answers.payload_bytes));
            link.close().await;
        },
    );
}

#[test]
fn a_node_is_a_runs_or_a_probes() {
    with_node(
        "null",
        |_| {},
        async |address| {
            let mut probing = Control::connect(&address, 1).await;
            let mut running = Control::connect(&address, 2).await;
            probing.probe().await.unwrap();
            let busy = Code::ResourceExhausted;
            let by_probe = (busy, format!("node n1 is busy with probe {} from there", run_name(&[1; 16])));
            assert_eq!(running.start("", "").await.unwrap_err(), by_probe);
            assert_eq!(running.probe().await.unwrap_err(), by_probe);
            probing.end().await;
            running.start("", "").await.unwrap();
            let by_run = format!("node n1 is busy with run {} from there", run_name(&[2; 16]));
            assert_eq!(probing.probe().await.unwrap_err(), (busy, by_run));
            running.end().await;
            probing.probe().await.unwrap();
        },
    );
}
