//! Samples that wait for a decode thread, and the limit on how far the threads may get ahead of the backend.
//!
//! # Bounds
//!
//! What waits to be decoded is bounded by admission: the limits of `StartRun` count samples as they came. What is
//! decoded is bounded by a [`Window`]: a thread begins with the next sample only while the decoded samples (waiting, or
//! at work in a backend) are fewer than `samples`, and only where its memory fits beside theirs into `bytes`. From the
//! moment a thread takes it a sample counts with all memory that it may take while it is decoded ([`Measure`]), which
//! is known before any of it is taken; afterwards with what is left of it. A sample that would take more than `bytes`
//! alone has to be refused by who decodes it: [`Place::bytes`] is what it may take.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The most samples that a thread takes in one go, when there are many and they are small.
const TAKE_SAMPLES: usize = 32;
/// Bytes, as measured, after which a thread takes no more samples in one go.
const TAKE_BYTES: u64 = 64 << 10;

/// A sample that a pool can hold.
pub(crate) trait Decodable: Sized {
    /// Returns true when a thread may take the two in one go: they are of one stream.
    fn goes_with(&self, other: &Self) -> bool;

    /// Returns true when the sample's answer is not wanted any more.
    fn is_over(&self) -> bool;

    /// Gives it its place among the decoded samples. It keeps the place until its content is used.
    fn take_place(&mut self, place: Place<Self>);
}

/// Limit on how far decode threads may get ahead of the backend; see the module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// Samples that may be decoded at one time.
    pub(crate) samples: u64,
    /// Bytes that they may take.
    pub(crate) bytes: u64,
}

impl Window {
    /// Room for `samples` beside those that the threads are working on.
    pub(crate) fn new(samples: u64, threads: NonZeroUsize, bytes: u64) -> Window {
        Window { samples: samples.saturating_add(threads.get() as u64), bytes }
    }
}

/// Next step of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// There are samples in its batch.
    Work,
    /// A run is over, and for some time nothing has come: memory that was kept for it can be given back.
    Rest,
    /// The pool is closed and empty.
    End,
}

/// Time from the end of a run until threads are to rest: workers may still be at its last samples.
const REST_AFTER: Duration = Duration::from_secs(1);

/// The most bytes of memory that a sample takes while it is decoded, beside the bytes that came.
pub(crate) type Measure<T> = Box<dyn Fn(&T) -> u64 + Send + Sync>;

/// Samples that wait for a decode thread, and the amount that the threads have decoded.
pub(crate) struct DecodePool<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    window: Window,
    threads: usize,
    measure: Measure<T>,
}

struct State<T> {
    waiting: VecDeque<T>,
    /// Samples that are decoded, or about to be.
    samples: u64,
    /// The bytes that those samples count with.
    bytes: u64,
    /// Number of threads that sleep.
    idle: usize,
    /// Number of times that runs have ended.
    ends: u64,
    closed: bool,
}

/// The place of one decoded sample. It is given back when it is dropped.
pub(crate) struct Place<T> {
    pool: Arc<DecodePool<T>>,
    bytes: u64,
}

impl<T> Place<T> {
    /// The bytes of memory that the sample may take.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Says that the sample is decoded and takes no more than `bytes` from now on.
    pub(crate) fn shrink(&mut self, bytes: u64) {
        let less = self.bytes.saturating_sub(bytes);
        if less == 0 {
            return;
        }
        self.bytes -= less;
        let mut state = self.pool.lock();
        state.bytes -= less;
        let thread_count = usize::from(!state.waiting.is_empty());
        self.pool.wake(state, thread_count);
    }
}

impl<T> Drop for Place<T> {
    fn drop(&mut self) {
        let mut state = self.pool.lock();
        state.samples -= 1;
        state.bytes -= self.bytes;
        let thread_count = usize::from(!state.waiting.is_empty());
        self.pool.wake(state, thread_count);
    }
}

impl<T> DecodePool<T> {
    /// An empty pool for so many threads.
    pub(crate) fn new(threads: NonZeroUsize, window: Window, measure: Measure<T>) -> Arc<DecodePool<T>> {
        let state = State { waiting: VecDeque::new(), samples: 0, bytes: 0, idle: 0, ends: 0, closed: false };
        let (state, changed, threads) = (Mutex::new(state), Condvar::new(), threads.get());
        Arc::new(DecodePool { state, changed, window, threads, measure })
    }

    /// Takes in samples, in their order.
    pub(crate) fn push(&self, samples: impl Iterator<Item = T>) {
        let mut state = self.lock();
        let before = state.waiting.len();
        state.waiting.extend(samples);
        let new = state.waiting.len() - before;
        self.wake(state, new);
    }

    /// Says that nothing more comes: threads finish what is there and end.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // Of others' code only the measure runs under this lock, which changes nothing here.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes threads that sleep, `thread_count` at most. Waking nobody would be a system call all the same.
    fn wake(&self, state: MutexGuard<'_, State<T>>, thread_count: usize) {
        let count = thread_count.min(state.idle);
        drop(state);
        for _ in 0..count {
            self.changed.notify_one();
        }
    }

    /// Threads that sleep because there is no room have nothing to wait for once the last sample is taken.
    fn wake_to_end(&self, state: &State<T>) {
        if state.closed && state.waiting.is_empty() {
            self.changed.notify_all();
        }
    }

    /// Returns the bytes that the next sample counts with, if there is one and the window has room for it.
    fn fitting(&self, state: &State<T>) -> Option<u64> {
        let bytes = (self.measure)(state.waiting.front()?).min(self.window.bytes);
        let fits = state.samples < self.window.samples && state.bytes.saturating_add(bytes) <= self.window.bytes;
        (fits || state.samples == 0).then_some(bytes)
    }
}

impl<T: Decodable> DecodePool<T> {
    /// Returns the number of samples that wait for a thread.
    pub(crate) fn waiting(&self) -> usize {
        self.lock().waiting.len()
    }

    /// Takes out the samples of runs that are over. Some time later threads are told to [`Turn::Rest`].
    pub(crate) fn discard_ended(&self) -> Vec<T> {
        let mut state = self.lock();
        state.ends += 1;
        self.changed.notify_all();
        let (ended, others): (Vec<T>, Vec<T>) = state.waiting.drain(..).partition(T::is_over);
        state.waiting = others.into();
        self.wake_to_end(&state);
        ended
    }

    /// Blocks until there is a sample and room for it decoded. Moves it into `batch`, which is empty, with a few more
    /// of the same stream, and gives each its place. `ends` is the caller's own count of runs that have ended.
    pub(crate) fn take(self: &Arc<DecodePool<T>>, batch: &mut Vec<T>, ends: &mut u64) -> Turn {
        let mut state = self.lock();
        while self.fitting(&state).is_none() {
            if state.closed && state.waiting.is_empty() {
                return Turn::End;
            }
            let rests = *ends == state.ends;
            state.idle += 1;
            let has_waited;
            (state, has_waited) = if rests {
                (self.changed.wait(state).unwrap_or_else(PoisonError::into_inner), false)
            } else {
                let waited = self.changed.wait_timeout(state, REST_AFTER);
                let (state, how) = waited.unwrap_or_else(PoisonError::into_inner);
                (state, how.timed_out())
            };
            state.idle -= 1;
            if has_waited && state.waiting.is_empty() && !state.closed {
                *ends = state.ends;
                return Turn::Rest;
            }
        }
        // A share of what waits: other threads may be awake as well.
        let most = state.waiting.len().div_ceil(self.threads).min(TAKE_SAMPLES);
        let mut taken_bytes = 0;
        while batch.len() < most && taken_bytes < TAKE_BYTES {
            let Some(bytes) = self.fitting(&state) else { break };
            let fits = |next: &mut T| batch.first().is_none_or(|first| first.goes_with(next));
            let Some(mut next) = state.waiting.pop_front_if(fits) else { break };
            state.samples += 1;
            state.bytes += bytes;
            taken_bytes += bytes;
            next.take_place(Place { pool: Arc::clone(self), bytes });
            batch.push(next);
        }
        self.wake_to_end(&state);
        let thread_count = usize::from(self.fitting(&state).is_some());
        self.wake(state, thread_count);
        Turn::Work
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
    use std::thread::JoinHandle;

    use super::*;

    /// A sample of a stream, which can be over.
    struct Item {
        id: u64,
        bytes: u64,
        stream: Arc<AtomicBool>,
        place: Option<Place<Item>>,
    }

    impl Decodable for Item {
        fn goes_with(&self, other: &Item) -> bool {
            Arc::ptr_eq(&self.stream, &other.stream)
        }

        fn is_over(&self) -> bool {
            self.stream.load(SeqCst)
        }

        fn take_place(&mut self, place: Place<Item>) {
            self.place = Some(place);
        }
    }

    fn pool(samples: u64, bytes: u64) -> Arc<DecodePool<Item>> {
        DecodePool::new(NonZeroUsize::MIN, Window { samples, bytes }, Box::new(|item| item.bytes))
    }

    fn push(pool: &DecodePool<Item>, stream: &Arc<AtomicBool>, count: u64, bytes: u64) {
        pool.push((0..count).map(|id| Item { id, bytes, stream: Arc::clone(stream), place: None }));
    }

    fn taken(pool: &Arc<DecodePool<Item>>) -> Vec<Item> {
        let mut batch = Vec::new();
        assert_eq!(pool.take(&mut batch, &mut 0), Turn::Work);
        assert!(batch.iter().all(|item| item.place.is_some()));
        batch
    }

    /// A thread that takes; gets what it is given once there is room.
    fn taker(pool: &Arc<DecodePool<Item>>) -> JoinHandle<usize> {
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
    fn no_more_samples_are_decoded_than_the_window_has_room_for() {
        let (pool, stream) = (pool(3, u64::MAX), Arc::default());
        push(&pool, &stream, 5, 1);
        let mut decoded = taken(&pool);
        assert_eq!(decoded.iter().map(|item| item.id).collect::<Vec<_>>(), [0, 1, 2]);
        let taker = taker(&pool);
        assert_eq!(pool.lock().waiting.len(), 2);
        decoded.pop();
        assert_eq!(taker.join().unwrap(), 1);
    }

    #[test]
    fn no_more_memory_is_taken_than_the_window_has() {
        let (pool, stream) = (pool(100, 1000), Arc::default());
        push(&pool, &stream, 3, 400);
        let first = taken(&pool);
        assert_eq!(first.len(), 2, "the third does not fit beside them");
        let taker = taker(&pool);
        drop(first);
        assert_eq!(taker.join().unwrap(), 1);
        // One that fits nowhere is taken alone, with what there is.
        push(&pool, &stream, 2, 5000);
        let alone = taken(&pool);
        assert_eq!((alone.len(), alone[0].place.as_ref().unwrap().bytes()), (1, 1000));
        drop(alone);
        assert_eq!(taken(&pool).len(), 1);
        let state = pool.lock();
        assert_eq!((state.samples, state.bytes), (0, 0));
    }

    #[test]
    fn large_samples_are_taken_one_by_one() {
        let (pool, stream) = (pool(100, u64::MAX), Arc::default());
        push(&pool, &stream, 2, TAKE_BYTES);
        assert_eq!([taken(&pool).len(), taken(&pool).len()], [1, 1]);
    }

    #[test]
    fn what_a_sample_no_longer_takes_is_room_for_the_next() {
        let (pool, stream) = (pool(100, 1000), Arc::default());
        push(&pool, &stream, 2, 600);
        let mut first = taken(&pool);
        let taker = taker(&pool);
        first[0].place.as_mut().unwrap().shrink(300);
        assert_eq!(taker.join().unwrap(), 1);
        first[0].place.as_mut().unwrap().shrink(301);
        assert_eq!(pool.lock().bytes, 300, "never more again");
    }

    /// One of them gets what is left; the others, which sleep because there is no room, must not sleep for ever.
    #[test]
    fn all_threads_end_when_the_pool_is_closed_while_its_window_is_full() {
        let (pool, stream) = (pool(1, u64::MAX), Arc::default());
        push(&pool, &stream, 2, 1);
        let full = taken(&pool);
        let threads = [(); 3].map(|()| {
            let pool = Arc::clone(&pool);
            std::thread::spawn(move || {
                let mut count = 0;
                let mut batch = Vec::new();
                while pool.take(&mut batch, &mut 0) == Turn::Work {
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
    fn a_batch_is_of_one_stream() {
        let pool = pool(100, 1000);
        let (one, other) = (Arc::default(), Arc::default());
        for stream in [&one, &one, &other, &one] {
            push(&pool, stream, 1, 1);
        }
        assert_eq!([(); 3].map(|()| taken(&pool).len()), [2, 1, 1]);
    }

    #[test]
    fn what_waits_of_a_run_that_ended_is_let_go() {
        let pool = pool(100, 1000);
        let (ended, other) = (Arc::default(), Arc::default());
        push(&pool, &ended, 2, 1);
        push(&pool, &other, 1, 1);
        ended.store(true, SeqCst);
        assert_eq!(pool.discard_ended().len(), 2);
        assert!(Arc::ptr_eq(&taken(&pool)[0].stream, &other));
        let mut ends = 0;
        assert_eq!([(); 2].map(|()| (pool.take(&mut Vec::new(), &mut ends), pool.close()).0), [Turn::Rest, Turn::End]);
    }
}
