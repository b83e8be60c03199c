//! Connections on several I/O threads: one node all the same.

use std::num::NonZeroUsize;
use std::time::Duration;

use bytes::Bytes;
use lon_proto::codec::{Encoder, Layout};
use lon_sut::ServeConfig;
use tonic::Code;

use crate::client::{Control, Stream, with_node, with_node_and_after};

fn three(config: &mut ServeConfig) {
    config.io_threads = NonZeroUsize::new(3).unwrap();
}

#[test]
fn connections_of_every_thread_are_served() {
    for backend in ["null", "synthetic:constant=1ms"] {
        with_node(backend, three, async |address| {
            for run in 0..4 {
                let mut control = Control::connect(&address, run).await;
                control.start("", "").await.unwrap();
                let mut streams = Vec::new();
                for _ in 0..6 {
                    streams.push(Stream::tcp(&address, &control.pass).await.0);
                }
                // Three more on HTTP, each on a connection of its own.
                for _ in 0..3 {
                    let mut other = Control::connect(&address, run).await;
                    other.pass = control.pass.clone();
                    other.dispatch(&[0, 100, 100_000]).await;
                }
                for id in 0..50 {
                    for stream in &mut streams {
                        stream.send(id, Bytes::from(vec![1; 1000])).await;
                    }
                }
                let mut flushing = control.clone();
                let (flushed, ()) = tokio::join!(flushing.flush(309), async {
                    for stream in &mut streams {
                        for _ in 0..50 {
                            stream.answer().await.result.unwrap();
                        }
                    }
                });
                flushed.unwrap();
                let report = control.end().await;
                assert_eq!((report.samples_received, report.samples_answered), (309, 309));
                let sent: u64 = streams.iter().map(|stream| stream.sent.payload_bytes).sum();
                assert_eq!(report.payload_bytes_in, sent + 3 * 100_100);
            }
        });
    }
}

/// Streams of all threads go, and nobody says EndRun.
#[test]
fn a_claim_lapses_whichever_threads_its_streams_were_on() {
    with_node("null", three, async |address| {
        for run in 0..3 {
            let mut control = Control::connect(&address, run).await;
            // Until the claim before it has lapsed; for ever if it does not.
            while let Err((code, _)) = control.start("", "").await {
                assert_eq!(code, Code::ResourceExhausted);
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            for _ in 0..3 {
                Stream::tcp(&address, &control.pass).await;
            }
        }
    });
}

/// Samples that the node has taken in are answered before it ends, on whichever thread they came.
#[test]
fn a_node_that_shuts_down_answers_on_every_thread() {
    let slow = |config: &mut ServeConfig| {
        three(config);
        config.model.workers = NonZeroUsize::new(6).unwrap();
        config.model.max_batch = NonZeroUsize::MIN;
        config.model.decode_threads = NonZeroUsize::MIN;
    };
    let conversation = async |address: String| {
        let mut control = Control::connect(&address, 1).await;
        control.start("zstd", "").await.unwrap();
        let good = Encoder::new("zstd".parse().unwrap()).encode(&Bytes::from_static(b"last words"), Layout::Sample);
        let mut streams = Vec::new();
        for _ in 0..6 {
            let (mut stream, _) = Stream::tcp(&address, &control.pass).await;
            stream.send(1, good.clone().unwrap()).await;
            // Fails without having to wait for a worker; what was sent before it is with the workers by then.
            stream.send(2, Bytes::from_static(b"no frame")).await;
            assert_eq!(stream.answer().await.id, 2);
            streams.push(stream);
        }
        streams
    };
    with_node_and_after("synthetic:constant=300ms", slow, conversation, async |streams| {
        for mut stream in streams {
            assert_eq!(stream.answer().await.result.unwrap(), [0; 8][..]);
        }
    });
}
