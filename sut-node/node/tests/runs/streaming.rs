//! A backend that answers token by token, and does as its samples say.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use lon_proto::codec::{Codec, Inflater};
use lon_proto::limits::MAX_SAMPLE_BYTES;
use lon_sut::backend::stream::{Event, Output, What};
use lon_sut::backend::{Backend, BackendError, BackendInfo, BackendSample, Half, InferError, Input, Streamer};
use lon_sut::tensor::Signature;
use std::num::NonZeroUsize;

use crate::client::{Answer, Control, Stream, with_backend};

const SLOTS: usize = 3;

/// Record of the use of slots.
#[derive(Default)]
struct SlotRecord {
    cancelled: AtomicUsize,
    most_held: AtomicUsize,
    /// Lengths of samples in the order in which they were begun.
    sample_lengths: Mutex<Vec<usize>>,
}

struct Scripted {
    info: BackendInfo,
    record: Arc<SlotRecord>,
}

impl Scripted {
    fn new() -> (Arc<Scripted>, Arc<SlotRecord>) {
        let (inputs, outputs) = (Signature::default(), Signature::default());
        let engine = "scripted".to_owned();
        let info = BackendInfo {
            engine,
            model: String::new(),
            model_sha256: None,
            model_bytes: None,
            settings: Vec::new(),
            inputs,
            outputs,
        };
        let record = Arc::<SlotRecord>::default();
        (Arc::new(Scripted { info, record: Arc::clone(&record) }), record)
    }
}

impl Backend for Scripted {
    fn info(&self) -> &BackendInfo {
        &self.info
    }
    fn input(&self) -> Input {
        Input::Opaque
    }
    fn slots(&self) -> Option<NonZeroUsize> {
        NonZeroUsize::new(SLOTS)
    }
    fn worker(&self) -> Result<Half, BackendError> {
        Ok(Half::Stream(Box::new(Slots { scripts: Default::default(), record: Arc::clone(&self.record) })))
    }
}

/// A sample is its script: each step takes a letter. `t` is a token, `F` a failure, `P` a panic, `W` waits for ever;
/// the end of the script is the end of the answer. `E` and `B` fail and panic at once.
struct Slots {
    scripts: [Option<(Bytes, usize)>; SLOTS],
    record: Arc<SlotRecord>,
}

fn failed(reason: &str) -> InferError {
    InferError::Failed { engine: "scripted".to_owned(), reason: reason.to_owned() }
}

impl Streamer for Slots {
    fn slots(&self) -> usize {
        SLOTS
    }

    fn begin(&mut self, slot: usize, sample: &BackendSample) -> Result<(), InferError> {
        assert!(self.scripts[slot].is_none(), "slot {slot} is taken");
        self.record.sample_lengths.lock().unwrap().push(sample.bytes.len());
        match sample.bytes.first() {
            Some(b'E') => return Err(failed("not this one")),
            Some(b'B') => panic!("not this one either"),
            _ => self.scripts[slot] = Some((sample.bytes.clone(), 0)),
        }
        self.record.most_held.fetch_max(self.scripts.iter().flatten().count(), SeqCst);
        Ok(())
    }

    fn step(&mut self, events: &mut Vec<Event>) {
        std::thread::sleep(Duration::from_millis(1));
        for (slot, script_state) in self.scripts.iter_mut().enumerate() {
            let Some((script, at)) = script_state else { continue };
            let what = match script.get(*at) {
                Some(b'W') => continue,
                Some(b'P') => panic!("in the middle"),
                Some(b'F') => What::Failed(failed("broke off")),
                // The script gives a first token twice: the node does not pass on the second one.
                Some(_) if *at <= 1 => What::First(script.slice(..1)),
                Some(_) => {
                    *at += 1;
                    continue;
                }
                None => What::Done(Output { bytes: script.clone(), n_tokens: script.len() as u64 }),
            };
            *at += 1;
            if !matches!(what, What::First(_)) {
                *script_state = None;
            }
            events.push(Event { slot, what });
        }
        // Of nobody's sample: passed over.
        events.push(Event { slot: SLOTS, what: What::First(Bytes::new()) });
    }

    fn cancel(&mut self, slot: usize) {
        self.record.cancelled.fetch_add(1, SeqCst);
        self.scripts[slot] = None;
    }
}

async fn replies(stream: &mut Stream, count: usize) -> Vec<Answer> {
    let mut replies = Vec::new();
    for _ in 0..count {
        replies.push(stream.answer().await);
    }
    replies
}

#[test]
fn first_tokens_come_before_their_answers_and_every_byte_is_counted() {
    for codec in ["", "zstd:1"] {
        let (backend, record) = Scripted::new();
        with_backend(backend, async |address| {
            let mut control = Control::connect(&address, 1).await;
            let started = control.start("", codec).await.unwrap();
            assert_eq!(started.busy_samples, 2 * SLOTS as u64);
            let (mut stream, _) = Stream::tcp(&address, &control.pass).await;
            for id in 0..20 {
                stream.send(id, Bytes::from(vec![b't'; 2 + id as usize])).await;
            }
            let mut had_first = [false; 20];
            for reply in replies(&mut stream, 40).await {
                let bytes = reply.result.unwrap();
                let had_first = &mut had_first[reply.id as usize];
                if reply.is_first {
                    assert!(!std::mem::replace(had_first, true));
                    assert_eq!((&bytes[..], reply.n_tokens), (&b"t"[..], 0), "never in a codec");
                    continue;
                }
                let codec: Codec = if codec.is_empty() { Codec::None } else { codec.parse().unwrap() };
                let bytes = Inflater::new(codec, MAX_SAMPLE_BYTES).inflate(bytes).unwrap();
                assert_eq!((bytes.len() as u64, *had_first), (2 + reply.id, true));
                assert_eq!(reply.n_tokens, 2 + reply.id);
                // A millisecond for each token and one for the end.
                assert!(reply.stages.inference_ns >= 1_000_000 * (3 + reply.id), "{:?}", reply.stages);
                assert!(reply.stages.batch_ns == 0 && (reply.stages.queue_ns > 0 || reply.id < 3));
            }
            let report = control.end().await;
            assert_eq!((report.samples_answered, report.samples_failed), (20, 0));
            assert_eq!(report.message_bytes_out, stream.answers.message_bytes);
            assert_eq!(report.payload_bytes_out, stream.answers.payload_bytes);
            assert_eq!(report.tensor_bytes_out, 20 + (2..22).sum::<u64>());
        });
        assert_eq!((record.most_held.load(SeqCst), record.cancelled.load(SeqCst)), (SLOTS, 0));
        assert_eq!(*record.sample_lengths.lock().unwrap(), Vec::from_iter(2..22), "in the order of their arrival");
    }
}

#[test]
fn a_sample_that_fails_fails_alone_and_a_panic_fails_what_is_held() {
    let (backend, record) = Scripted::new();
    with_backend(backend, async |address| {
        let mut control = Control::connect(&address, 1).await;
        control.start("", "").await.unwrap();
        let (mut stream, _) = Stream::tcp(&address, &control.pass).await;
        for (id, script) in [&b"E"[..], b"tttt", b"B", b"tF"].into_iter().enumerate() {
            stream.send(id as u64, Bytes::from_static(script)).await;
        }
        let mut ends: Vec<_> = replies(&mut stream, 6).await.into_iter().filter(|reply| !reply.is_first).collect();
        ends.sort_by_key(|reply| reply.id);
        let text =
            |n: usize| ends[n].result.as_ref().map_or_else(String::as_str, |bytes| std::str::from_utf8(bytes).unwrap());
        assert_eq!(
            [0, 1, 2, 3].map(text),
            ["scripted: not this one", "tttt", "the backend panicked: not this one either", "scripted: broke off",]
        );
        assert_eq!(record.cancelled.load(SeqCst), 1, "the one that panicked as it began");

        for (id, script) in [&b"WW"[..], b"WW", b"ttP"].into_iter().enumerate() {
            stream.send(id as u64, Bytes::from_static(script)).await;
        }
        let replies = replies(&mut stream, 4).await;
        assert!(replies[0].is_first && replies[0].id == 2);
        for reply in &replies[1..] {
            assert_eq!(reply.result, Err("the backend panicked: in the middle".to_owned()));
        }
        assert_eq!(record.cancelled.load(SeqCst), 1 + SLOTS);
        stream.send(9, Bytes::from_static(b"tt")).await;
        assert!(stream.answer().await.is_first, "the node stands");
        assert_eq!(stream.answer().await.result.unwrap(), &b"tt"[..]);
        let report = control.end().await;
        assert_eq!((report.samples_answered, report.samples_failed), (8, 6));
        assert_eq!(report.message_bytes_out, stream.answers.message_bytes);
    });
}

#[test]
fn what_nobody_waits_for_is_cancelled() {
    let (backend, record) = Scripted::new();
    with_backend(backend, async |address| {
        let mut control = Control::connect(&address, 1).await;
        control.start("", "").await.unwrap();
        let (mut stream, _) = Stream::tcp(&address, &control.pass).await;
        for id in 0..10 {
            stream.send(id, Bytes::from_static(b"tW")).await;
        }
        replies(&mut stream, SLOTS).await;
        drop(stream);
        while record.cancelled.load(SeqCst) < SLOTS {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // The claim lapses; whoever waits in the queue is not begun any more.
        let mut other = Control::connect(&address, 2).await;
        while other.start("", "").await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let (mut stream, _) = Stream::tcp(&address, &other.pass).await;
        stream.send(1, Bytes::from_static(b"tWWWWWW")).await;
        stream.send(2, Bytes::from_static(b"tttt")).await;
        assert_eq!(replies(&mut stream, 3).await.iter().filter(|reply| !reply.is_first).count(), 1);
        // A run that ends takes its samples with it.
        other.end().await;
        while record.cancelled.load(SeqCst) < SLOTS + 1 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    assert_eq!(record.sample_lengths.lock().unwrap().len(), SLOTS + 2);
}
