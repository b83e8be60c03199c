//! The queue between the streams and the workers, and the batches that leave it.
//!
//! Bounded from outside: a sample enters only after [`crate::run::state::Run`] admitted it. There is no batcher thread; the
//! worker that is free forms its own batch, so a batch costs no hand-over.
//!
//! Where the model leaves sizes free, a batch holds samples of one shape, so that it runs as one: the queue keeps shapes
//! apart. The oldest sample's shape goes first, unless it may still wait for its batch to fill while another shape's is
//! full; so no sample waits behind younger ones for longer than `max_delay`.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::backend::Sample;
use crate::work::decode::pool::Inflated;
use crate::work::lane::Lane;

mod buckets;

use buckets::Buckets;

/// One admitted sample on its way to a worker.
pub(crate) struct Job {
    pub(crate) lane: Arc<Lane>,
    pub(crate) id: u64,
    pub(crate) sample: Sample,
    /// Bytes it was admitted with, which with a codec are fewer than it has now.
    pub(crate) sample_bytes: u64,
    /// Time that is already past: waiting for a decode thread, decoding, and pre-processing.
    pub(crate) waited: Duration,
    pub(crate) decode: Duration,
    pub(crate) preprocess: Duration,
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
    by_shape: bool,
}

struct State {
    jobs: Buckets<Job>,
    /// The LoadGen node has flushed: nothing more comes soon, so nothing is worth waiting for.
    flushed: bool,
    closed: bool,
    /// Workers that sleep in [`JobQueue::take`].
    idle: usize,
}

impl JobQueue {
    /// `by_shape`: samples differ in shape, and only those of one shape are worth a batch.
    pub(crate) fn new(max_batch: usize, max_delay: Duration, by_shape: bool) -> JobQueue {
        let state = State { jobs: Buckets::new(max_batch), flushed: false, closed: false, idle: 0 };
        JobQueue { state: Mutex::new(state), changed: Condvar::new(), max_batch, max_delay, by_shape }
    }

    pub(crate) fn push(&self, jobs: impl Iterator<Item = Job>) {
        let mut state = self.lock();
        state.flushed = false;
        let before = state.jobs.len();
        let mut filled = 0;
        for job in jobs {
            let shape = if self.by_shape { shape(&job.sample) } else { 0 };
            filled += usize::from(state.jobs.push(shape, job));
        }
        let after = state.jobs.len();
        drop(state);
        // One worker for the first job there is, one for every batch that these have filled.
        let wanted = usize::from(before == 0) + filled;
        for _ in 0..wanted.min(after) {
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
        self.lock().jobs.take_if(|job| job.lane.run.has_ended())
    }

    /// No more jobs come; workers finish what is there and get `None`.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    /// Blocks until a batch is due and moves it into `batch`; false when the queue is closed and empty.
    ///
    /// A batch is due when it is full, when its first sample has waited `max_delay`, or after a flush; see the module for
    /// which goes first.
    pub(crate) fn next_batch(&self, batch: &mut Vec<Job>) -> bool {
        let mut state = self.lock();
        loop {
            let Some(first) = state.jobs.oldest() else {
                if state.closed {
                    return false;
                }
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let waited = first.queued_at.elapsed();
            let at_once = waited >= self.max_delay || state.flushed || state.closed;
            if let Some(shape) = if at_once { state.jobs.oldest_shape() } else { state.jobs.full_shape() } {
                state.jobs.take(shape, self.max_batch, batch);
                let more = state.jobs.len() > 0;
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
        while state.jobs.len() == 0 {
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
        state.jobs.take_oldest(share.min(free), taken);
        let more = state.jobs.len() > 0 && state.idle > 0;
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

/// What samples that can share a batch have in common. Two shapes may have one number; then the worker tells them apart.
fn shape(sample: &Sample) -> u64 {
    let mut hasher = DefaultHasher::new();
    sample.tensors.iter().for_each(|tensor| tensor.dims().hash(&mut hasher));
    hasher.finish()
}
