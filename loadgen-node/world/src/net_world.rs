//! The [`World`] of a real run: a monotonic clock, the dataset's bytes, and the QDL.
//!
//! It works with two kinds of driver. *Split*: this thread issues and waits precisely, and threads of the QDL do the
//! network's work. *Inline*: this thread does the network's work while it waits, so that no query is handed from thread
//! to thread. [`super::pace`] decides which.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use lon_qsl::dataset::{Dataset, DatasetError, Loaded};
use lon_shell::panics;
use qdl::{NodeIndex, Outcome, Reply, Run, Sample, SampleId, Wait};

use crate::counts::{self, Counts};
use crate::inbox::{Inbox, REPLIES};
use crate::pace::{Pace, Pacing};
use crate::stage_rows::StageWriter;
use crate::stall::{OwnClock, Stall};
use crate::tally::{Answered, STAGES, Tally};
use loadgen::world::{Arrival, ArrivalKind, Issued, QuerySeq, SampleIndex, SampleSeq, TimeNs, Wake, World};

/// The longest stretch of waiting before it is checked whether the user wants to stop.
const LOOK_AROUND: Duration = Duration::from_millis(50);

/// The world of a real run. It owns the claimed nodes and the dataset until [`NetWorld::into_parts`].
pub struct NetWorld {
    run: Run,
    inbox: Arc<Inbox>,
    dataset: Dataset,
    origin: Instant,
    /// The time that the engine was last told.
    now: Instant,
    clock: OwnClock,
    pace: Pace,
    pacing: Pacing,
    stop: Arc<AtomicBool>,
    counts: Arc<Counts>,
    tally: Tally,
    /// Where node and stages of each sample are noted, if they are to be kept.
    stage_rows: Option<StageWriter>,
    /// Replies on their way from the inbox to the engine. Empty between calls; kept for its memory.
    replies: Vec<Reply>,
    /// Answers that the engine has been given and has not said the latency of, in their order.
    answers: VecDeque<(SampleSeq, Answered)>,
}

impl NetWorld {
    /// `stop` turns true when the user asks to stop; `counts` is what displays read.
    pub fn new(
        run: Run,
        inbox: Arc<Inbox>,
        dataset: Dataset,
        pacing: Pacing,
        stop: Arc<AtomicBool>,
        counts: Arc<Counts>,
    ) -> NetWorld {
        NetWorld {
            run,
            inbox,
            dataset,
            origin: Instant::now(),
            now: Instant::now(),
            clock: OwnClock::new(TimeNs::default(), Arc::clone(&counts)),
            pace: Pace::for_this_thread(pacing.spin),
            pacing,
            stop,
            counts,
            tally: Tally::default(),
            stage_rows: None,
            replies: Vec::with_capacity(REPLIES),
            answers: VecDeque::with_capacity(REPLIES),
        }
    }

    /// Counts time from this moment on, as the worlds of other tenants do.
    pub fn since(self, origin: Instant) -> NetWorld {
        NetWorld { origin, ..self }
    }

    /// Keeps node and stages of each sample.
    pub fn with_stage_rows(self, stage_rows: Option<StageWriter>) -> NetWorld {
        NetWorld { stage_rows, ..self }
    }

    /// Returns the number of samples that all nodes together take at the same time.
    pub fn capacity(&self) -> u64 {
        self.run.capacity()
    }

    /// The start of the clock that all times of the run are told by.
    pub fn origin(&self) -> Instant {
        self.origin
    }

    /// Gives back the run, the dataset and the tally when the run is over, and when the engine's thread stood still.
    pub fn into_parts(mut self) -> (Run, Dataset, Tally, Vec<Stall>) {
        self.tally.lost_at = self.inbox.broken_at().map(|at| self.time(at));
        (self.run, self.dataset, self.tally, self.clock.into_stalls())
    }

    fn at(&self, time: TimeNs) -> Instant {
        self.origin + Duration::from_nanos(time.0)
    }

    fn time(&self, at: Instant) -> TimeNs {
        TimeNs(at.saturating_duration_since(self.origin).as_nanos() as u64)
    }

    fn wake(&self) -> Wake {
        if self.stop.load(SeqCst) {
            Wake::Interrupted
        } else if self.inbox.is_broken() || panics::first().is_some() {
            Wake::Broken
        } else {
            Wake::Ready
        }
    }

    fn collect(&mut self, arrivals: &mut Vec<Arrival<Bytes>>) {
        let mut replies = std::mem::take(&mut self.replies);
        self.inbox.take(&mut replies);
        for reply in replies.drain(..) {
            let arrival = self.arrival(reply);
            arrivals.push(arrival);
        }
        self.replies = replies;
    }

    fn arrival(&mut self, reply: Reply) -> Arrival<Bytes> {
        let Reply { id, node, sent_at, at, outcome } = reply;
        let (seq, sent_at, at) = (SampleSeq(id.0), sent_at.map(|at| self.time(at)), self.time(at));
        let kind = match outcome {
            Outcome::FirstToken(data) => ArrivalKind::FirstToken(data),
            Outcome::Done(answer) => {
                self.counts.ended.fetch_add(1, Relaxed);
                if let Some(node) = node {
                    let round_trip_ns = sent_at.map(|sent_at| at.since(sent_at));
                    self.tally.odd.answered(self.phase(), node, &answer, round_trip_ns);
                    let answered = Answered::new(node, &answer.stages, round_trip_ns);
                    self.note(seq, node, answered.stages_ns);
                    self.answers.push_back((seq, answered));
                }
                ArrivalKind::Done { data: answer.data, n_tokens: i64::try_from(answer.n_tokens).unwrap_or(i64::MAX) }
            }
            Outcome::Failed(failure) => {
                self.counts.ended.fetch_add(1, Relaxed);
                self.counts.failures.add(&failure);
                self.tally.failed(&failure);
                if let Some(node) = node {
                    self.note(seq, node, [0; STAGES.len()]);
                }
                ArrivalKind::Failed
            }
        };
        Arrival { seq, at, sent_at, kind }
    }

    /// The number of the phase, counted from 0. The display counts from 1.
    fn phase(&self) -> usize {
        (self.counts.phase.load(Relaxed) as usize).saturating_sub(1)
    }

    fn note(&mut self, seq: SampleSeq, node: NodeIndex, durations_ns: [u64; STAGES.len()]) {
        if let Some(rows) = &mut self.stage_rows {
            rows.put(seq, node, durations_ns);
        }
    }

    fn is_inline(&self) -> bool {
        self.pacing.io_threads == 0
    }

    /// Waits once, for at most [`LOOK_AROUND`].
    fn wait_once(&self, until: Option<Instant>, wake_on_arrival: bool) {
        let Pacing { spin, linger, .. } = self.pacing;
        if self.is_inline() && until.is_none() {
            // The QDL returns from time to time even when nothing arrives.
            return self.run.pump(&Wait { until, on_delivery: wake_on_arrival, spin, linger });
        }
        let slice = Instant::now() + LOOK_AROUND;
        let until = until.map_or(slice, |until| until.min(slice));
        if self.is_inline() {
            self.run.pump(&Wait { until: Some(until), on_delivery: wake_on_arrival, spin, linger });
        } else if wake_on_arrival {
            self.inbox.wait(until.saturating_duration_since(Instant::now()));
        } else {
            self.pace.wait_until(until);
        }
    }
}

/// Loads a set of samples. The display shows how far it is; the log says how long it took.
fn load(dataset: &mut Dataset, set: &[SampleIndex], counts: &Counts) -> Result<(), DatasetError> {
    let start = Instant::now();
    let progress = |done: usize, of: usize| {
        counts.loaded.store(done as u64, Relaxed);
        counts.loading.store(of as u64, Relaxed);
    };
    let ended = dataset.load_with(set.iter().map(|index| index.0 as usize), &progress);
    counts.loading.store(0, Relaxed);
    let Loaded { samples, encoded_bytes, .. } = dataset.loaded();
    tracing::info!(
        samples,
        took_ms = start.elapsed().as_millis() as u64,
        bytes = encoded_bytes,
        resident_bytes = counts::resident_bytes(),
        "samples loaded"
    );
    ended
}

/// Does what takes long. Where this thread does the network's work, another one does the other: streams are open, and a
/// node gives up on a peer that sends nothing. Where none can be started, the nodes have to wait.
fn off_thread<T: Send>(run: &Run, inline: bool, work: impl FnOnce() -> T + Send) -> T {
    if !inline {
        return work();
    }
    let work = Mutex::new(Some(work));
    let take = || work.lock().unwrap_or_else(PoisonError::into_inner).take();
    let done = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("beside".to_owned());
        let Ok(thread) = thread.spawn_scoped(scope, || take().map(|work| work())) else {
            return take().map(|work| work());
        };
        while !thread.is_finished() {
            let until = Some(Instant::now() + Duration::from_millis(1));
            run.pump(&Wait { until, on_delivery: false, spin: Duration::ZERO, linger: Duration::ZERO });
        }
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    done.unwrap_or_else(|| unreachable!("one of two threads takes the work, and does it"))
}

impl World for NetWorld {
    type Data = Bytes;

    fn now(&mut self) -> TimeNs {
        self.now = Instant::now();
        let now = self.time(self.now);
        self.clock.read(now);
        now
    }

    fn load(&mut self, set: &[SampleIndex]) -> Result<(), String> {
        let (inline, dataset, counts) = (self.is_inline(), &mut self.dataset, &*self.counts);
        off_thread(&self.run, inline, || {
            let loaded = catch_unwind(AssertUnwindSafe(|| load(dataset, set, counts)));
            loaded
                .map_or_else(|_| Err("loading the samples panicked".to_owned()), |it| it.map_err(|why| why.to_string()))
        })
    }

    fn unload(&mut self, _set: &[SampleIndex]) {
        self.dataset.unload();
    }

    fn meanwhile<T: Send>(&mut self, work: impl FnOnce() -> T + Send) -> T {
        off_thread(&self.run, self.is_inline(), work)
    }

    fn room(&mut self) -> usize {
        self.run.room()
    }

    fn issue(&mut self, _query: QuerySeq, samples: &[Issued]) {
        self.counts.issued.fetch_add(samples.len() as u64, Relaxed);
        let dataset = &self.dataset;
        let samples = samples.iter().map(|issued| {
            let index = issued.index.0 as usize;
            let (payload, tensor_bytes) = (dataset.payload(index), dataset.tensor_bytes(index));
            Sample { id: SampleId(issued.seq.0), payload, tensor_bytes }
        });
        self.run.issue(samples, self.now);
    }

    fn flush(&mut self) {
        self.run.flush();
    }

    fn wait(&mut self, until: Option<TimeNs>, wake_on_arrival: bool, arrivals: &mut Vec<Arrival<Bytes>>) -> Wake {
        let before = arrivals.len();
        // Those that the engine did not take.
        self.answers.clear();
        let until = until.map(|until| self.at(until));
        // The engine may come back here many times without asking what time it is, and find answers each time.
        self.clock.read(self.time(Instant::now()));
        if self.is_inline() && until.is_some_and(|until| until <= Instant::now()) {
            // The query is late already. The network is served all the same, or answers would never be read.
            self.wait_once(until, wake_on_arrival);
        }
        self.collect(arrivals);
        loop {
            let arrived = wake_on_arrival && arrivals.len() > before;
            if arrived || until.is_some_and(|until| until <= Instant::now()) {
                return self.wake();
            }
            self.wait_once(until, wake_on_arrival);
            self.collect(arrivals);
            self.clock.read(self.time(Instant::now()));
            let wake = self.wake();
            if wake != Wake::Ready || (wake_on_arrival && arrivals.len() == before) {
                // There is a reason to stop, a node has room again, or it is time to check. The engine decides what
                // follows.
                return wake;
            }
        }
    }
    #[inline]
    fn answered(&mut self, seq: SampleSeq, latency_ns: u64) {
        // Answers that end no sample, such as second ones, are passed over.
        while let Some((next, answer)) = self.answers.pop_front() {
            if next == seq {
                self.tally.begin_phase(self.phase());
                return self.tally.answered(&Answered { latency_ns: Some(latency_ns), ..answer });
            }
        }
    }
}
