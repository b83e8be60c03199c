//! Samples and answers in a codec.

use std::num::NonZeroUsize;
use std::time::Duration;

use bytes::Bytes;
use lon_proto::codec::{Codec, Encoder, Inflater, Layout};
use lon_proto::limits::MAX_SAMPLE_BYTES;
use lon_proto::sample::{self, DType, Tensor};
use tonic::Code;

use crate::client::{Control, Stream, with_node};

/// A sample of some 100 KB that every codec makes smaller.
fn sample() -> Bytes {
    let pixels: Vec<u8> = (0..100_000u32).map(|n| (n / 300) as u8).collect();
    sample::encode(&[Tensor::new(DType::U8, &[1, 100, 1000], Bytes::from(pixels)).unwrap()]).unwrap()
}

fn encoded(codec: &str, raw: &Bytes) -> Bytes {
    Encoder::new(codec.parse().unwrap()).encode(raw, Layout::Sample).unwrap()
}

fn inflated(codec: &str, answer: Bytes) -> Bytes {
    Inflater::new(codec.parse().unwrap(), MAX_SAMPLE_BYTES).inflate(answer).unwrap()
}

/// Through an inline backend and through workers; both ways in the codec.
#[test]
fn samples_are_inflated_and_answers_encoded() {
    let codecs = &Codec::NAMES[1..];
    assert!(!codecs.is_empty());
    for backend in ["null", "synthetic:constant=0ms,output=8"] {
        with_node(
            backend,
            |_| {},
            async |address| {
                for (run, codec) in codecs.iter().enumerate() {
                    let mut control = Control::connect(&address, run as u8).await;
                    control.start(codec, codec).await.unwrap();
                    let (mut stream, _) = Stream::tcp(&address, &control.pass).await;
                    let raw = sample();
                    let wrapped = encoded(codec, &raw);
                    assert!(wrapped.len() < raw.len(), "{codec}");
                    for id in 0..20 {
                        stream.send(id, wrapped.clone()).await;
                    }
                    for _ in 0..20 {
                        let answer = stream.answer().await;
                        assert_eq!(inflated(codec, answer.result.unwrap()), [0; 8][..], "{codec}");
                        assert!(
                            answer.stages.decode_ns > 0 && answer.stages.encode_ns > 0,
                            "{codec}: {:?}",
                            answer.stages
                        );
                    }
                    let report = control.end().await;
                    assert_eq!((report.samples_answered, report.samples_failed), (20, 0), "{codec}");
                    assert_eq!(report.payload_bytes_in, 20 * wrapped.len() as u64, "{codec}");
                    assert_eq!(report.payload_bytes_out, stream.answers.payload_bytes, "{codec}");
                    assert_eq!(
                        (report.tensor_bytes_in, report.tensor_bytes_out),
                        (20 * raw.len() as u64, 160),
                        "{codec}"
                    );
                }
            },
        );
    }
}

/// Only the answers: workers get samples as they come.
#[test]
fn answers_alone_can_have_a_codec() {
    for backend in ["null", "synthetic:constant=0ms,output=100000"] {
        with_node(
            backend,
            |_| {},
            async |address| {
                let mut control = Control::connect(&address, 1).await;
                control.start("", "zstd:3").await.unwrap();
                let (mut stream, _) = Stream::tcp(&address, &control.pass).await;
                stream.send(1, Bytes::from_static(b"anything")).await;
                let answer = inflated("zstd", stream.answer().await.result.unwrap());
                assert!(answer.iter().all(|&byte| byte == 0) && [8, 100_000].contains(&answer.len()));
                let report = control.end().await;
                assert_eq!((report.tensor_bytes_in, report.payload_bytes_in), (8, 8));
                assert_eq!(report.tensor_bytes_out, answer.len() as u64);
                assert_eq!(report.payload_bytes_out, stream.answers.payload_bytes);
            },
        );
    }
}

/// Samples that are damaged, cut short, or larger than is allowed once inflated fail, with their cause. No others fail.
#[test]
fn what_cannot_be_inflated_fails_alone() {
    for backend in ["null", "synthetic:constant=0ms"] {
        let small = |config: &mut lon_sut::ServeConfig| config.limits.max_sample_bytes = 200_000;
        with_node(backend, small, async |address| {
            let mut control = Control::connect(&address, 1).await;
            control.start("zstd", "").await.unwrap();
            let (mut stream, _) = Stream::tcp(&address, &control.pass).await;
            let good = encoded("zstd", &sample());
            let mut damaged = good.to_vec();
            let middle = damaged.len() / 2;
            damaged[middle] ^= 0x55;
            let bomb = encoded("zstd", &Bytes::from(vec![0; 1 << 20]));
            assert!(bomb.len() < 10_000);
            let bad =
                [Bytes::from(damaged), good.slice(..good.len() / 2), bomb, Bytes::new(), Bytes::from_static(b"x")];
            for (id, bad) in bad.iter().enumerate() {
                stream.send(2 * id as u64, bad.clone()).await;
                stream.send(2 * id as u64 + 1, good.clone()).await;
            }
            for _ in 0..2 * bad.len() {
                let answer = stream.answer().await;
                match answer.result {
                    Ok(bytes) => assert!(answer.id % 2 == 1 && bytes == [0; 8][..], "{}", answer.id),
                    Err(error) => {
                        assert_eq!(answer.id % 2, 0, "{error}");
                        assert!(error.starts_with("the sample cannot be inflated: zstd: "), "{error}");
                    }
                }
            }
            let report = control.end().await;
            let all = 2 * bad.len() as u64;
            assert_eq!((report.samples_answered, report.samples_failed), (all, all / 2));
        });
    }
}

#[test]
fn a_codec_that_cannot_be_is_refused_and_the_node_stays_free() {
    with_node(
        "null",
        |_| {},
        async |address| {
            let mut control = Control::connect(&address, 1).await;
            for (codec, response_codec, code, part) in [
                ("snappy", "", Code::Unimplemented, "codec 'snappy' is not known at node n1 (known: none, "),
                ("", "snappy:3", Code::Unimplemented, "codec 'snappy:3' is not known at node n1 (known: none, "),
                ("", "zstd:99", Code::InvalidArgument, "node n1: '99' is not a level of zstd"),
                ("zstd:3", "", Code::InvalidArgument, "'zstd:3'"),
            ] {
                let (refusal_code, text) = control.start(codec, response_codec).await.unwrap_err();
                assert_eq!(refusal_code, code, "{text}");
                assert!(text.contains(part), "{text}");
            }
            control.start("none", "none").await.unwrap();
        },
    );
}

/// A Flush reaches samples that were still waiting for a decode thread when it came.
#[test]
fn a_flush_does_not_wait_for_batches_to_fill() {
    let patient = |config: &mut lon_sut::ServeConfig| config.model.max_delay = Duration::from_secs(1000);
    with_node("synthetic:constant=0ms", patient, async |address| {
        let mut control = Control::connect(&address, 1).await;
        control.start("zstd", "").await.unwrap();
        let (mut stream, _) = Stream::tcp(&address, &control.pass).await;
        let wrapped = encoded("zstd", &sample());
        for id in 0..3 {
            stream.send(id, wrapped.clone()).await;
        }
        control.flush(3).await.unwrap();
        assert_eq!(control.end().await.samples_answered, 3);
    });
}

/// More samples than may be inflated at one time, on more than one decode thread: all are answered.
#[test]
fn inflating_waits_for_the_workers() {
    let narrow = |config: &mut lon_sut::ServeConfig| {
        config.model.max_batch = NonZeroUsize::MIN;
        config.model.decode_threads = NonZeroUsize::new(3).unwrap();
        config.limits.max_bytes_in_flight = 150_000;
    };
    with_node("synthetic:constant=1ms", narrow, async |address| {
        let mut control = Control::connect(&address, 1).await;
        control.start("lz4", "").await.unwrap();
        let (mut stream, _) = Stream::tcp(&address, &control.pass).await;
        let wrapped = encoded("lz4", &sample());
        for id in 0..100 {
            stream.send(id, wrapped.clone()).await;
        }
        for _ in 0..100 {
            stream.answer().await.result.unwrap();
        }
        control.flush(100).await.unwrap();
        assert_eq!(control.end().await.tensor_bytes_in, 100 * sample().len() as u64);
    });
}
