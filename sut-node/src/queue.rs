//! The queue between the streams and the workers, and the batches that leave it.
//!
//! Bounded from outside: a sample enters only after [`crate::run::Run`] admitted it. There is no batcher thread; the
//! worker that is free forms its own batch, so a batch costs no hand-over.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::backend::Sample;
use crate::decode::Inflated;
use crate::lane::Lane;

/// One admitted sample on its way to a worker.
pub(crate) struct Job {
    pub(crate) lane: Arc<Lane>,
    pub(crate) id: u64,
    pub(crate) sample: Sample,
    /// Bytes it was admitted with, which with a codec are fewer than it has now.
    pub(crate) sample_bytes: u64,
    /// Time that is already past: waiting for a decode thread, and decoding.
    pub(crate) waited: Duration,
    pub(crate) decode: Duration,
    pub(crate) queued_at: Instant,
    /// Its place among the inflated samples, if it is one.
    pub(crate) inflated: Option<Inflated>,
}

/// Jobs in order of arrival.
pub(crate) struct JobQueue {
    state: Mutex<State>,
    changed: Condvar,
    max_batch: usize,
    max_delay: Duration,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    /// The LoadGen node has flushed: nothing more comes soon, so nothing is worth waiting for.
    flushed: bool,
    closed: bool,
    /// Workers that sleep in [`JobQueue::take`].
    idle: usize,
}

impl JobQueue {
    pub(crate) fn new(max_batch: usize, max_delay: Duration) -> JobQueue {
        JobQueue { state: Mutex::default(), changed: Condvar::new(), max_batch, max_delay }
    }

    pub(crate) fn push(&self, jobs: impl Iterator<Item = Job>) {
        let mut state = self.lock();
        state.flushed = false;
        let before = state.jobs.len();
        state.jobs.extend(jobs);
        let (after, max) = (state.jobs.len(), self.max_batch);
        drop(state);
        // One worker for the first job there is, one for every batch that these have filled.
        let wanted = usize::from(before == 0) + (after / max - before / max);
        for _ in 0..wanted.min(after.div_ceil(max)) {
            self.changed.notify_one();
        }
    }

    /// Hands out what is there without waiting for more, until the next push.
    pub(crate) fn flush(&self) {
        self.lock().flushed = true;
        self.changed.notify_all();
    }

    /// Takes out the jobs of a run that is over.
    pub(crate) fn discard_ended(&self) -> Vec<Job> {
        let mut state = self.lock();
        let (ended, left): (Vec<Job>, Vec<Job>) = state.jobs.drain(..).partition(|job| job.lane.run.has_ended());
        state.jobs = left.into();
        ended
    }

    /// No more jobs come; workers finish what is there and get `None`.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    /// Blocks until a batch is due and moves it into `batch`; false when the queue is closed and empty.
    ///
    /// A batch is due when it is full, when its first sample has waited `max_delay`, or after a flush.
    pub(crate) fn next_batch(&self, batch: &mut Vec<Job>) -> bool {
        let mut state = self.lock();
        loop {
            let Some(first) = state.jobs.front() else {
                if state.closed {
                    return false;
                }
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let waited = first.queued_at.elapsed();
            if state.jobs.len() >= self.max_batch || waited >= self.max_delay || state.flushed || state.closed {
                let take = state.jobs.len().min(self.max_batch);
                batch.extend(state.jobs.drain(..take));
                let more = !state.jobs.is_empty();
                drop(state);
                if more {
                    self.changed.notify_one();
                }
                return true;
            }
            let rest = self.max_delay - waited;
            state = self.changed.wait_timeout(state, rest).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Moves jobs into `taken`, for `free` (at least 1) places of a worker that need not be filled together: what is
    /// there, or the worker's share of it while others sleep. Where nothing is there it sleeps, until `until` at most.
    /// False when the queue is closed and empty.
    pub(crate) fn take(&self, free: usize, until: Option<Instant>, taken: &mut Vec<Job>) -> bool {
        let mut state = self.lock();
        while state.jobs.is_empty() {
            let rest = until.map(|until| until.saturating_duration_since(Instant::now()));
            if state.closed || rest == Some(Duration::ZERO) {
                return !state.closed;
            }
            state.idle += 1;
            state = match rest {
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(rest) => self.changed.wait_timeout(state, rest).unwrap_or_else(PoisonError::into_inner).0,
            };
            state.idle -= 1;
        }
        let share = state.jobs.len().div_ceil(state.idle + 1);
        taken.extend(state.jobs.drain(..share.min(free)));
        let more = !state.jobs.is_empty() && state.idle > 0;
        drop(state);
        if more {
            self.changed.notify_one();
        }
        true
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A worker that panicked did so outside this lock; what is inside is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
