//! The queue in front of the workers, and the batches that leave it.
//!
//! Bounded from outside: a sample enters only after [`crate::run::admission`] admitted it. There is no batcher thread:
//! the worker that is free forms its own batch, so a batch costs no hand-over.
//!
//! Where the model leaves sizes free, a batch holds samples of one shape, so that it runs as one: the queue keeps
//! shapes apart (`buckets`). The shape of the oldest sample goes first, unless that sample may still wait for its batch
//! to fill while another shape's batch is full. So no sample waits behind younger ones for longer than `max_delay`.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lon_net::clock;
use tokio::sync::Notify;

use self::buckets::Buckets;
use super::compute_turns::{Turn, Turns};
use super::job::Job;
use crate::backend::BackendSample;

mod buckets;

/// Jobs that wait for a worker, in the order of their arrival.
pub(crate) struct JobQueue {
    state: Mutex<State>,
    changed: Condvar,
    /// The same for workers that are tasks; none where they are threads.
    task_signal: Option<Notify>,
    max_batch: usize,
    max_delay: Duration,
    by_shape: bool,
    /// Turns that its workers share with those of other models.
    turns: Option<Turns>,
}

struct State {
    jobs: Buckets<Job>,
    /// The LoadGen node has flushed: nothing more comes soon, so nothing is worth waiting for.
    flushed: bool,
    closed: bool,
    /// Workers that sleep in [`JobQueue::take`].
    idle: usize,
    taken: BatchSizes,
}

/// Sizes of the batches that workers have taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BatchSizes {
    /// Number of batches with a size up to each of [`BatchSizes::BOUNDS`], and above the one before.
    pub(crate) counts: [u64; BatchSizes::BOUNDS.len()],
    /// Samples in all of them.
    pub(crate) samples: u64,
}

impl BatchSizes {
    /// The powers of two up to the largest batch that there can be.
    pub(crate) const BOUNDS: [u16; 13] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096];

    fn add(&mut self, size: usize) {
        let bucket = BatchSizes::BOUNDS.partition_point(|bound| usize::from(*bound) < size);
        self.counts[bucket.min(BatchSizes::BOUNDS.len() - 1)] += 1;
        self.samples += size as u64;
    }
}

/// When a worker gets a batch.
enum Due {
    /// A batch of this shape.
    Now(u64),
    /// After this time at the latest, if nothing else comes; `None`: when something comes.
    After(Option<Duration>),
    /// The queue is closed and empty.
    Never,
}

impl State {
    /// Moves a batch of this shape into `batch`.
    fn take(&mut self, shape: u64, max_batch: usize, batch: &mut Vec<Job>) {
        self.jobs.take(shape, max_batch, batch);
        self.taken.add(batch.len());
    }
}

impl JobQueue {
    /// The queue for workers that are tasks instead of threads.
    pub(crate) fn of_tasks(mut self) -> JobQueue {
        self.task_signal = Some(Notify::new());
        self
    }

    /// The queue for workers that share turns with those of other models.
    pub(crate) fn with_turns(self, turns: Option<Turns>) -> JobQueue {
        JobQueue { turns, ..self }
    }

    /// An empty queue for batches of at most `max_batch`, whose first sample waits `max_delay` at most. `by_shape` says
    /// that samples differ in shape and that only those of one shape may share a batch.
    pub(crate) fn new(max_batch: usize, max_delay: Duration, by_shape: bool) -> JobQueue {
        let (jobs, taken) = (Buckets::new(max_batch), BatchSizes::default());
        let state = State { jobs, flushed: false, closed: false, idle: 0, taken };
        let (state, changed) = (Mutex::new(state), Condvar::new());
        JobQueue { state, changed, task_signal: None, max_batch, max_delay, by_shape, turns: None }
    }

    /// Adds jobs, and wakes as many workers as have something to do now.
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
        let worker_count = usize::from(before == 0) + filled;
        for _ in 0..worker_count.min(after) {
            self.changed.notify_one();
        }
        self.tell_tasks();
    }

    fn tell_tasks(&self) {
        if let Some(signal) = &self.task_signal {
            signal.notify_waiters();
        }
    }

    /// Has what is there handed out without waiting for more, until the next push.
    pub(crate) fn flush(&self) {
        self.lock().flushed = true;
        self.changed.notify_all();
        self.tell_tasks();
    }

    /// Returns the number of jobs that wait, and the sizes of the batches that workers have taken.
    pub(crate) fn counts(&self) -> (usize, BatchSizes) {
        let state = self.lock();
        (state.jobs.len(), state.taken)
    }

    /// Takes out the jobs of runs that are over.
    pub(crate) fn discard_ended(&self) -> Vec<Job> {
        self.lock().jobs.take_if(|job| job.answer_queue.run.has_ended())
    }

    /// Says that no more jobs come. Workers take what is there; then [`JobQueue::next_batch`] returns `None`, and
    /// [`JobQueue::take`] false.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
        self.tell_tasks();
    }

    /// Blocks until a batch is due and it is the worker's turn, and moves the batch into `batch`. The turn lasts until
    /// what is returned is dropped. `None` when the queue is closed and empty.
    ///
    /// A batch is due when it is full, when its first sample has waited `max_delay`, or after a flush. The module says
    /// which goes first.
    pub(crate) fn next_batch(&self, batch: &mut Vec<Job>) -> Option<Turn> {
        let (mut state, mut turn) = (self.lock(), None);
        loop {
            state = match self.due(&state) {
                Due::Now(shape) => match (turn.take(), &self.turns) {
                    (None, Some(turns)) => {
                        drop(state);
                        turn = Some(turns.wait());
                        self.lock()
                    }
                    (turn, _) => {
                        state.take(shape, self.max_batch, batch);
                        let more = state.jobs.len() > 0;
                        drop(state);
                        if more {
                            self.changed.notify_one();
                        }
                        return Some(turn.unwrap_or_default());
                    }
                },
                Due::Never => return None,
                due => {
                    // Another worker of this model has taken the batch meanwhile.
                    turn = None;
                    match due {
                        Due::After(Some(delay)) => {
                            self.changed.wait_timeout(state, delay).unwrap_or_else(PoisonError::into_inner).0
                        }
                        _ => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                    }
                }
            };
        }
    }

    /// The same for a worker that is a task. `None` also for a queue whose workers are threads.
    pub(crate) async fn next_batch_of_task(&self, batch: &mut Vec<Job>) -> Option<Turn> {
        let signal = self.task_signal.as_ref()?;
        let mut turn = None;
        loop {
            // The registration precedes the check, so that a push in between is not missed.
            let notice = signal.notified();
            let due = self.due(&self.lock());
            match (due, &self.turns) {
                (Due::Now(_), Some(turns)) if turn.is_none() => turn = Some(turns.wait_as_task().await),
                (Due::Now(shape), _) => {
                    self.lock().take(shape, self.max_batch, batch);
                    return Some(turn.unwrap_or_default());
                }
                (Due::Never, _) => return None,
                (Due::After(delay), _) => {
                    turn = None;
                    match delay {
                        None => notice.await,
                        Some(delay) => drop(tokio::time::timeout(delay, notice).await),
                    }
                }
            }
        }
    }

    /// The shape whose batch is due, or the moment at which one will be.
    fn due(&self, state: &State) -> Due {
        let Some(first) = state.jobs.oldest() else {
            return if state.closed { Due::Never } else { Due::After(None) };
        };
        let waited = clock::since(first.queued_at);
        let at_once = waited >= self.max_delay || state.flushed || state.closed;
        match if at_once { state.jobs.oldest_shape() } else { state.jobs.full_shape() } {
            Some(shape) => Due::Now(shape),
            None => Due::After(Some(self.max_delay - waited)),
        }
    }

    /// Moves jobs into `taken` for a worker with `free` slots (at least 1), which need not be filled together: all that
    /// is there, or the worker's share of it while others sleep. When nothing is there it sleeps, until `until` at
    /// most. False when the queue is closed and empty.
    pub(crate) fn take(&self, free: usize, until: Option<Instant>, taken: &mut Vec<Job>) -> bool {
        let mut state = self.lock();
        while state.jobs.len() == 0 {
            let delay = until.map(|until| until.saturating_duration_since(clock::now()));
            if state.closed || delay == Some(Duration::ZERO) {
                return !state.closed;
            }
            state.idle += 1;
            state = match delay {
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(delay) => self.changed.wait_timeout(state, delay).unwrap_or_else(PoisonError::into_inner).0,
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

/// A number that samples which can share a batch have in common. Two shapes may have the same number; then the worker
/// tells them apart.
fn shape(sample: &BackendSample) -> u64 {
    let mut hasher = DefaultHasher::new();
    sample.tensors.iter().for_each(|tensor| tensor.dims().hash(&mut hasher));
    hasher.finish()
}
