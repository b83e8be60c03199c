//! Decode threads: samples that came in a codec are inflated and decoded here, never on an I/O thread, and images are
//! pre-processed; what comes out goes to the workers, or through an inline backend at once. Only runs with a codec,
//! either way, come by here, and all runs where the node pre-processes.
//!
//! # Bounds
//!
//! What waits to be inflated is bounded by admission: StartRun's limits count samples as they came. What is inflated is
//! bounded by a [`Window`]: a thread begins with the next sample only while the samples inflated, waiting or at work in a
//! backend, are fewer than `samples` and hold less than `bytes`. A sample counts with the size that it declares, which is
//! what it has once it is inflated, from the moment a thread takes it: inflated samples never hold more than `bytes` and
//! one sample (`max_sample_bytes`) beyond. One sample always fits.

use std::collections::VecDeque;
use std::io;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use lon_image::Preprocess;

use crate::backend::{Input, Sample, Worker};
use crate::pipeline::images;
use crate::run::codecs::Coder;
use crate::run::state::Run;
use crate::tensor;
use crate::work::batches as workers;
use crate::work::lane::{Answer, Lane, Stages};
use crate::work::queue::{Job, JobQueue};

/// Samples that a thread takes in one go, when there are many and they are small: at most so many,
const TAKE_SAMPLES: usize = 32;
/// and no more once they have so many bytes inflated.
const TAKE_BYTES: u64 = 64 << 10;

/// An admitted sample as it came.
pub(crate) struct Wrapped {
    pub(crate) lane: Arc<Lane>,
    pub(crate) id: u64,
    pub(crate) bytes: Bytes,
    pub(crate) queued_at: Instant,
}

/// How far decode threads may get ahead of the backend; see the module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) samples: u64,
    pub(crate) bytes: u64,
}

/// What waits for a decode thread, and what the threads have made of it.
pub(crate) struct DecodePool {
    state: Mutex<State>,
    changed: Condvar,
    window: Window,
    threads: usize,
    preprocess: Option<Arc<Preprocess>>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Wrapped>,
    /// Inflated, or about to be.
    samples: u64,
    bytes: u64,
    /// Threads that sleep.
    idle: usize,
    closed: bool,
}

/// The place of an inflated sample; given back when it is dropped.
pub(crate) struct Inflated {
    pool: Arc<DecodePool>,
    bytes: u64,
}

impl Drop for Inflated {
    fn drop(&mut self) {
        let mut state = self.pool.lock();
        state.samples -= 1;
        state.bytes -= self.bytes;
        let wanted = usize::from(!state.waiting.is_empty());
        self.pool.wake(state, wanted);
    }
}

impl DecodePool {
    pub(crate) fn new(threads: NonZeroUsize, window: Window, preprocess: Option<Arc<Preprocess>>) -> Arc<DecodePool> {
        let (state, changed, threads) = (Mutex::default(), Condvar::new(), threads.get());
        Arc::new(DecodePool { state, changed, window, threads, preprocess })
    }

    /// Takes in samples, in their order.
    pub(crate) fn push(&self, samples: impl Iterator<Item = Wrapped>) {
        let mut state = self.lock();
        let before = state.waiting.len();
        state.waiting.extend(samples);
        let new = state.waiting.len() - before;
        self.wake(state, new);
    }

    /// Takes out the samples of a run that is over; nobody is told.
    pub(crate) fn discard_ended(&self) {
        let mut state = self.lock();
        let (ended, left): (Vec<Wrapped>, Vec<Wrapped>) =
            state.waiting.drain(..).partition(|sample| sample.lane.run.has_ended());
        state.waiting = left.into();
        self.wake_to_end(&state);
        drop(state);
        ended.into_iter().for_each(Wrapped::give_up);
    }

    /// Nothing more comes; threads finish what is there and end.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code of others runs under this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes threads that sleep, `wanted` at most; a wake-up for nobody would be a system call all the same.
    fn wake(&self, state: MutexGuard<'_, State>, wanted: usize) {
        let count = wanted.min(state.idle);
        drop(state);
        for _ in 0..count {
            self.changed.notify_one();
        }
    }

    /// Blocks until there is a sample and room for it inflated; moves it and a few like it into `batch`, all of one
    /// lane. False when the pool is closed and empty.
    fn take(self: &Arc<DecodePool>, batch: &mut Vec<(Wrapped, Inflated)>) -> bool {
        let mut state = self.lock();
        while state.waiting.is_empty() || !self.has_room(&state) {
            if state.closed && state.waiting.is_empty() {
                return false;
            }
            state.idle += 1;
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
        // Others may be awake, too.
        let most = state.waiting.len().div_ceil(self.threads).min(TAKE_SAMPLES);
        let mut bytes = 0;
        while batch.len() < most && bytes < TAKE_BYTES && self.has_room(&state) {
            let first = batch.first().map(|(first, _): &(Wrapped, Inflated)| Arc::as_ptr(&first.lane));
            let like = |next: &mut Wrapped| first.is_none_or(|first| first == Arc::as_ptr(&next.lane));
            let Some(next) = state.waiting.pop_front_if(like) else { break };
            let raw_bytes = self.raw_bytes(&next);
            state.samples += 1;
            state.bytes += raw_bytes;
            bytes += raw_bytes;
            batch.push((next, Inflated { pool: Arc::clone(self), bytes: raw_bytes }));
        }
        self.wake_to_end(&state);
        let wanted = usize::from(!state.waiting.is_empty() && self.has_room(&state));
        self.wake(state, wanted);
        true
    }

    /// Threads that sleep for want of room have nothing to wait for once the last sample is taken.
    fn wake_to_end(&self, state: &State) {
        if state.closed && state.waiting.is_empty() {
            self.changed.notify_all();
        }
    }

    /// What a sample takes from here on. Beyond the limit it is refused and takes nothing, and the bound must not
    /// overflow; an image takes what is made of it.
    fn raw_bytes(&self, sample: &Wrapped) -> u64 {
        let run = &sample.lane.run;
        let declared = run.codecs.samples.declared_bytes(&sample.bytes).min(run.limits.max_sample_bytes);
        self.preprocess.as_ref().map_or(declared, |preprocess| declared.max(images::output_bytes(preprocess)))
    }

    fn has_room(&self, state: &State) -> bool {
        state.samples == 0 || (state.samples < self.window.samples && state.bytes < self.window.bytes)
    }
}

impl Wrapped {
    /// Ends a sample that nobody waits for any more.
    fn give_up(self) {
        let sample_bytes = self.bytes.len() as u64;
        self.lane.answer(std::iter::once(Answer::over(self.id, sample_bytes)));
    }
}

/// Where decoded samples go.
pub(crate) enum Next {
    /// To the worker threads.
    Queue(Arc<JobQueue>),
    /// Through the backend, on the decode thread.
    Inline(Box<dyn Worker>),
}

/// Starts one thread for each of `nexts`; they end when the pool is closed and empty. Each calls `prepare` first.
pub(crate) fn start(
    pool: &Arc<DecodePool>,
    nexts: Vec<Next>,
    input: Input,
    prepare: fn(),
) -> io::Result<Vec<JoinHandle<()>>> {
    let spawn = |(number, next)| {
        let decoder = Decoder { pool: Arc::clone(pool), next, input, coder: Coder::default() };
        std::thread::Builder::new().name(format!("decode-{number}")).spawn(move || {
            prepare();
            decoder.work();
        })
    };
    nexts.into_iter().enumerate().map(spawn).collect()
}

/// One decode thread.
struct Decoder {
    pool: Arc<DecodePool>,
    next: Next,
    input: Input,
    coder: Coder,
}

/// What belongs to a decoded sample besides its content.
struct Ticket {
    id: u64,
    sample_bytes: u64,
    stages: Stages,
    decoded_at: Instant,
    inflated: Inflated,
}

impl Decoder {
    fn work(mut self) {
        let mut batch = Vec::new();
        while self.pool.take(&mut batch) {
            let Some(lane) = batch.first().map(|(first, _)| Arc::clone(&first.lane)) else { continue };
            if lane.is_over() {
                batch.drain(..).for_each(|(wrapped, _)| wrapped.give_up());
                continue;
            }
            let (mut samples, mut tickets) = (Vec::with_capacity(batch.len()), Vec::with_capacity(batch.len()));
            for (wrapped, inflated) in batch.drain(..) {
                if let Some((sample, ticket)) = self.decode(&lane, wrapped, inflated) {
                    samples.push(sample);
                    tickets.push(ticket);
                }
            }
            if !samples.is_empty() {
                self.hand_on(&lane, samples, tickets);
            }
        }
    }

    /// A sample as the backend sees it; one that cannot be seen is answered with the reason.
    fn decode(&mut self, lane: &Lane, wrapped: Wrapped, inflated: Inflated) -> Option<(Sample, Ticket)> {
        let Wrapped { id, bytes, queued_at, .. } = wrapped;
        let sample_bytes = bytes.len() as u64;
        let started = Instant::now();
        let mut preprocess = Duration::ZERO;
        // A codec that panics on somebody's bytes must not take the thread, and everybody's samples, with it.
        let unwrapped = catch_unwind(AssertUnwindSafe(|| self.unwrap(&lane.run, bytes, &mut preprocess)));
        let unwrapped = unwrapped.unwrap_or_else(|panic| {
            self.coder = Coder::default();
            let text = workers::words(panic.as_ref());
            tracing::error!("decoding panicked: {text}");
            Err(format!("decoding panicked: {text}"))
        });
        let decoded_at = Instant::now();
        let (queue, decode) = (started - queued_at, (decoded_at - started).saturating_sub(preprocess));
        let stages = Stages { decode, preprocess, queue, ..Stages::default() };
        match unwrapped {
            Ok(sample) => Some((sample, Ticket { id, sample_bytes, stages, decoded_at, inflated })),
            Err(reason) => {
                drop(inflated);
                lane.answer(std::iter::once(Answer { id, result: Err(reason), stages, sample_bytes }));
                None
            }
        }
    }

    /// `preprocess` becomes the part of the time that was spent on pre-processing.
    fn unwrap(&mut self, run: &Run, bytes: Bytes, preprocess: &mut Duration) -> Result<Sample, String> {
        let bytes = self.coder.inflate(run.codecs.samples, run.limits.max_sample_bytes, bytes)?;
        run.counters.raw_bytes_in.fetch_add(bytes.len() as u64, Relaxed);
        if let Some(spec) = &self.pool.preprocess {
            let tensors = tensor::decode(bytes).map_err(|error| workers::unreadable(&error))?;
            let pixels = images::pixels(&tensors, run.codecs.samples.name() == images::ORIGINAL)?;
            let decoded_at = Instant::now();
            let tensor = spec.apply(&pixels).map_err(|error| error.to_string());
            *preprocess = decoded_at.elapsed();
            return Ok(Sample { bytes: Bytes::new(), tensors: vec![tensor?] });
        }
        let tensors = match self.input {
            Input::Opaque => Vec::new(),
            Input::Tensors => tensor::decode(bytes.clone()).map_err(|error| workers::unreadable(&error))?,
        };
        Ok(Sample { bytes, tensors })
    }

    fn hand_on(&mut self, lane: &Arc<Lane>, samples: Vec<Sample>, tickets: Vec<Ticket>) {
        match &mut self.next {
            Next::Queue(queue) => {
                queue.push(samples.into_iter().zip(tickets).map(|(sample, ticket)| Job {
                    lane: Arc::clone(lane),
                    id: ticket.id,
                    sample,
                    sample_bytes: ticket.sample_bytes,
                    waited: ticket.stages.queue,
                    decode: ticket.stages.decode,
                    preprocess: ticket.stages.preprocess,
                    queued_at: ticket.decoded_at,
                    inflated: Some(ticket.inflated),
                }));
                // A Flush that waits for these would have told the queue too early.
                lane.run.tell_flushes();
            }
            Next::Inline(worker) => {
                let start = Instant::now();
                let results = workers::infer(worker.as_mut(), &samples);
                let inference = start.elapsed();
                drop(samples);
                let coder = &mut self.coder;
                let answers = tickets.into_iter().zip(results).map(|(ticket, result)| {
                    let Ticket { id, sample_bytes, mut stages, decoded_at, inflated } = ticket;
                    drop(inflated);
                    stages.queue += start - decoded_at;
                    stages.inference = inference;
                    let result = workers::encode(coder, &lane.run, result, start + inference, &mut stages);
                    Answer { id, result, stages, sample_bytes }
                });
                // Not under the lane's lock.
                let answers: Vec<Answer> = answers.collect();
                lane.answer(answers.into_iter());
            }
        }
    }
}

impl Window {
    /// Room for `samples` beside those that the threads have in hand.
    pub(crate) fn new(samples: u64, threads: NonZeroUsize, bytes: u64) -> Window {
        Window { samples: samples.saturating_add(threads.get() as u64), bytes }
    }
}

/// How many decode threads there are unless told otherwise: all cores but the one that I/O has.
pub(crate) fn default_threads() -> NonZeroUsize {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    NonZeroUsize::new(cores - 1).unwrap_or(NonZeroUsize::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Limits;
    use crate::run::state::Purpose;

    fn pool(samples: u64, bytes: u64) -> Arc<DecodePool> {
        DecodePool::new(NonZeroUsize::MIN, Window { samples, bytes }, None)
    }

    fn lane() -> Arc<Lane> {
        let purpose = Purpose::Run(crate::run::codecs::Codecs::NONE);
        Lane::new(Arc::new(Run::new(Bytes::new(), String::new(), Limits::default(), purpose, None)))
    }

    fn push(pool: &DecodePool, lane: &Arc<Lane>, count: u64, bytes: usize) {
        lane.expect_answers(count);
        let wrapped =
            |id| Wrapped { lane: Arc::clone(lane), id, bytes: Bytes::from(vec![0; bytes]), queued_at: Instant::now() };
        pool.push((0..count).map(wrapped));
    }

    fn taken(pool: &Arc<DecodePool>) -> Vec<(Wrapped, Inflated)> {
        let mut batch = Vec::new();
        assert!(pool.take(&mut batch));
        batch
    }

    /// A thread that takes; gets what it is given once there is room.
    fn taker(pool: &Arc<DecodePool>) -> JoinHandle<usize> {
        let pool = Arc::clone(pool);
        let taker = std::thread::spawn({
            let pool = Arc::clone(&pool);
            move || taken(&pool).len()
        });
        while pool.lock().idle == 0 {
            std::thread::yield_now();
        }
        taker
    }

    #[test]
    fn no_more_samples_are_inflated_than_the_window_has_room_for() {
        let (pool, lane) = (pool(3, u64::MAX), lane());
        push(&pool, &lane, 5, 1);
        let mut inflated = taken(&pool);
        assert_eq!(inflated.iter().map(|(wrapped, _)| wrapped.id).collect::<Vec<_>>(), [0, 1, 2]);
        let taker = taker(&pool);
        assert_eq!(pool.lock().waiting.len(), 2);
        inflated.pop();
        assert_eq!(taker.join().unwrap(), 1);
    }

    #[test]
    fn inflated_bytes_are_bounded_and_one_sample_always_fits() {
        let (pool, lane) = (pool(100, 1000), lane());
        push(&pool, &lane, 3, 600);
        let first = taken(&pool);
        assert_eq!(first.len(), 2, "the second begins below the bound");
        let taker = taker(&pool);
        drop(first);
        assert_eq!(taker.join().unwrap(), 1);
        push(&pool, &lane, 2, TAKE_BYTES as usize);
        assert_eq!(taken(&pool).len(), 1, "large ones are taken one by one");
        assert_eq!(taken(&pool).len(), 1);
        let state = pool.lock();
        assert_eq!((state.samples, state.bytes), (0, 0));
    }

    /// One of them gets what is left; the others, which sleep for want of room, must not sleep for ever.
    #[test]
    fn all_threads_end_when_the_pool_is_closed_while_its_window_is_full() {
        let (pool, lane) = (pool(1, u64::MAX), lane());
        push(&pool, &lane, 2, 1);
        let full = taken(&pool);
        let threads = [(); 3].map(|()| {
            let pool = Arc::clone(&pool);
            std::thread::spawn(move || {
                let mut count = 0;
                let mut batch = Vec::new();
                while pool.take(&mut batch) {
                    count += batch.drain(..).count();
                }
                count
            })
        });
        while pool.lock().idle < threads.len() {
            std::thread::yield_now();
        }
        pool.close();
        drop(full);
        assert_eq!(threads.map(|thread| thread.join().unwrap()).iter().sum::<usize>(), 1);
    }

    #[test]
    fn a_batch_is_of_one_lane() {
        let pool = pool(100, 1000);
        let (one, other) = (lane(), lane());
        for lane in [&one, &one, &other, &one] {
            push(&pool, lane, 1, 1);
        }
        assert_eq!([(); 3].map(|()| taken(&pool).len()), [2, 1, 1]);
    }

    #[test]
    fn what_waits_of_a_run_that_ended_is_let_go() {
        let pool = pool(100, 1000);
        let (ended, other) = (lane(), lane());
        push(&pool, &ended, 2, 1);
        push(&pool, &other, 1, 1);
        ended.run.end();
        pool.discard_ended();
        assert_eq!(ended.run.report().samples_failed, 2);
        pool.close();
        assert!(Arc::ptr_eq(&taken(&pool)[0].0.lane, &other));
        assert!(!pool.take(&mut Vec::new()));
    }
}
