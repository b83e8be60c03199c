//! The engine's world over the QDL in virtual time, and the sink that counts how often each sample ends.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use loadgen::world::{Arrival, ArrivalKind, Issued, QuerySeq, SampleIndex, SampleSeq, TimeNs, Wake, World};
use lon_net::clock;
use qdl::{NodeFailure, NodeIndex, Outcome, Reply, Run, Sample, SampleId, Sink, Wait};

use crate::backend::answer_to;
use crate::record::{Happened, Record};

/// The longest wait before it is looked whether there is a reason to stop.
const LOOK_AROUND: Duration = Duration::from_millis(50);

/// Counts of the ends of samples.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    /// Number of ends of each sample that ended.
    pub(crate) count: BTreeMap<u64, u64>,
    /// Why samples failed.
    pub(crate) failures: BTreeMap<String, u64>,
    pub(crate) answered: u64,
    /// Answers that are not those to their samples.
    pub(crate) wrong: u64,
}

/// Takes what the QDL delivers.
pub(crate) struct Inbox {
    replies: Mutex<Vec<Reply>>,
    is_broken: AtomicBool,
    pub(crate) ends: Mutex<Ends>,
    record: Record,
}

impl Inbox {
    pub(crate) fn new(record: Record) -> Inbox {
        Inbox { replies: Mutex::default(), is_broken: AtomicBool::new(false), ends: Mutex::default(), record }
    }
}

impl Sink for Inbox {
    fn replies(&self, replies: &mut Vec<Reply>) {
        let mut ends = self.ends.lock().unwrap();
        for reply in replies.iter() {
            match &reply.outcome {
                Outcome::FirstToken(_) => continue,
                Outcome::Done(_) => ends.answered += 1,
                Outcome::Failed(failure) => *ends.failures.entry(failure.to_string()).or_default() += 1,
            }
            *ends.count.entry(reply.id.0).or_default() += 1;
            self.record.note(Happened::Ended, reply.id.0, u64::from(matches!(reply.outcome, Outcome::Done(_))));
        }
        self.replies.lock().unwrap().append(replies);
    }

    fn node_lost(&self, node: NodeIndex, _: &NodeFailure) {
        self.record.note(Happened::Fault, node.0 as u64, 99);
        self.is_broken.store(true, SeqCst);
    }
}

/// The samples: payloads by index.
pub(crate) struct Samples {
    pub(crate) payloads: Vec<Bytes>,
    pub(crate) answer_bytes: usize,
}

/// The world of one run.
pub(crate) struct SimWorld {
    pub(crate) run: Run,
    inbox: Arc<Inbox>,
    samples: Samples,
    origin: Instant,
    /// Which of them each sample that was issued is.
    issued: BTreeMap<u64, u32>,
    /// Is turned true when the user interrupts.
    pub(crate) stop: Arc<AtomicBool>,
    record: Record,
}

impl SimWorld {
    pub(crate) fn new(run: Run, inbox: Arc<Inbox>, samples: Samples, record: Record) -> SimWorld {
        let (issued, stop) = (BTreeMap::new(), Arc::default());
        SimWorld { run, inbox, samples, origin: clock::now(), issued, stop, record }
    }

    /// The run, and the samples that were issued.
    pub(crate) fn into_parts(self) -> (Run, Vec<u64>) {
        (self.run, self.issued.into_keys().collect())
    }

    fn time(&self, at: Instant) -> TimeNs {
        TimeNs(at.saturating_duration_since(self.origin).as_nanos() as u64)
    }

    fn collect(&mut self, arrivals: &mut Vec<Arrival<Bytes>>) {
        let replies = std::mem::take(&mut *self.inbox.replies.lock().unwrap());
        for Reply { id, sent_at, at, outcome, .. } in replies {
            let kind = match outcome {
                Outcome::FirstToken(data) => ArrivalKind::FirstToken(data),
                Outcome::Done(answer) => {
                    let payload = self.issued.get(&id.0).map(|index| &self.samples.payloads[*index as usize]);
                    if payload.is_none_or(|payload| answer_to(payload, self.samples.answer_bytes) != answer.data) {
                        self.inbox.ends.lock().unwrap().wrong += 1;
                    }
                    let n_tokens = i64::try_from(answer.n_tokens).unwrap_or(i64::MAX);
                    ArrivalKind::Done { data: answer.data, n_tokens }
                }
                Outcome::Failed(_) => ArrivalKind::Failed,
            };
            let (sent_at, at) = (sent_at.map(|at| self.time(at)), self.time(at));
            arrivals.push(Arrival { seq: SampleSeq(id.0), at, sent_at, kind });
        }
    }

    fn wake(&self) -> Wake {
        if self.stop.load(SeqCst) {
            Wake::Interrupted
        } else if self.inbox.is_broken.load(SeqCst) {
            Wake::Broken
        } else {
            Wake::Ready
        }
    }
}

impl World for SimWorld {
    type Data = Bytes;

    fn now(&mut self) -> TimeNs {
        self.time(clock::now())
    }

    fn load(&mut self, _: &[SampleIndex]) -> Result<(), String> {
        Ok(())
    }

    fn unload(&mut self, _: &[SampleIndex]) {}

    fn room(&mut self) -> usize {
        self.run.room()
    }

    fn issue(&mut self, _: QuerySeq, samples: &[Issued]) {
        for Issued { seq, index } in samples {
            self.issued.insert(seq.0, index.0);
            self.record.note(Happened::Issued, seq.0, u64::from(index.0));
        }
        let payloads = &self.samples.payloads;
        let sample = |issued: &Issued| {
            let payload = payloads[issued.index.0 as usize].clone();
            Sample { id: SampleId(issued.seq.0), tensor_bytes: payload.len() as u64, payload }
        };
        self.run.issue(samples.iter().map(sample), clock::now());
    }

    fn flush(&mut self) {
        self.run.flush();
    }

    fn wait(&mut self, until: Option<TimeNs>, wake_on_arrival: bool, arrivals: &mut Vec<Arrival<Bytes>>) -> Wake {
        let before = arrivals.len();
        self.collect(arrivals);
        let until = until.map(|until| self.origin + Duration::from_nanos(until.0));
        if wake_on_arrival && arrivals.len() > before {
            return self.wake();
        }
        let slice = clock::now() + LOOK_AROUND;
        let until = Some(until.map_or(slice, |until| until.min(slice)));
        let (spin, linger) = (Duration::ZERO, Duration::ZERO);
        self.run.pump(&Wait { until, on_delivery: wake_on_arrival, spin, linger });
        self.collect(arrivals);
        self.wake()
    }
}
