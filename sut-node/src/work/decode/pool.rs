//! What waits for a decode thread, and how far the threads may get ahead of the backend.
//!
//! # Bounds
//!
//! What waits to be inflated is bounded by admission: the limits of `StartRun` count samples as they came. What is
//! inflated is bounded by a [`Window`]: a thread begins with the next sample only while the inflated samples (waiting,
//! or at work in a backend) are fewer than `samples` and hold less than `bytes`. A sample counts with the size that it
//! declares, which is the size that it has once it is inflated, from the moment a thread takes it. So inflated samples
//! never hold more than `bytes` and one sample (`max_sample_bytes`) beyond. One sample always fits.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The most samples that a thread takes in one go, when there are many and they are small.
const TAKE_SAMPLES: usize = 32;
/// Bytes, once inflated, after which a thread takes no more samples in one go.
const TAKE_BYTES: u64 = 64 << 10;

/// A sample that a pool can hold.
pub(crate) trait Inflatable: Sized {
    /// The bytes that it will hold once it is inflated.
    fn inflated_bytes(&self) -> u64;

    /// Whether the two can be taken in one go: they are of one stream.
    fn goes_with(&self, other: &Self) -> bool;

    /// Whether nobody waits for it any more.
    fn is_over(&self) -> bool;

    /// Gives it its place among the inflated samples. It keeps the place until its content is used.
    fn take_place(&mut self, place: Place<Self>);
}

/// How far decode threads may get ahead of the backend; see the module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// Samples that may be inflated at one time.
    pub(crate) samples: u64,
    /// Bytes that they may hold.
    pub(crate) bytes: u64,
}

impl Window {
    /// Room for `samples` beside those that the threads are working on.
    pub(crate) fn new(samples: u64, threads: NonZeroUsize, bytes: u64) -> Window {
        Window { samples: samples.saturating_add(threads.get() as u64), bytes }
    }
}

/// What waits for a decode thread, and how much the threads have inflated.
pub(crate) struct DecodePool<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    window: Window,
    threads: usize,
    /// What a sample takes at least: the size of what pre-processing makes of it.
    least_bytes: u64,
}

struct State<T> {
    waiting: VecDeque<T>,
    /// Samples that are inflated, or about to be.
    samples: u64,
    /// The bytes of those samples.
    bytes: u64,
    /// How many threads sleep.
    idle: usize,
    closed: bool,
}

/// The place of one inflated sample. It is given back when it is dropped.
pub(crate) struct Place<T> {
    pool: Arc<DecodePool<T>>,
    bytes: u64,
}

impl<T> Drop for Place<T> {
    fn drop(&mut self) {
        let mut state = self.pool.lock();
        state.samples -= 1;
        state.bytes -= self.bytes;
        let wanted = usize::from(!state.waiting.is_empty());
        self.pool.wake(state, wanted);
    }
}

impl<T> DecodePool<T> {
    /// An empty pool for so many threads. Each sample takes `least_bytes` at least once it is inflated.
    pub(crate) fn new(threads: NonZeroUsize, window: Window, least_bytes: u64) -> Arc<DecodePool<T>> {
        let state = State { waiting: VecDeque::new(), samples: 0, bytes: 0, idle: 0, closed: false };
        let (state, changed, threads) = (Mutex::new(state), Condvar::new(), threads.get());
        Arc::new(DecodePool { state, changed, window, threads, least_bytes })
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
        // No code of others runs under this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes threads that sleep, `wanted` at most. Waking nobody would be a system call all the same.
    fn wake(&self, state: MutexGuard<'_, State<T>>, wanted: usize) {
        let count = wanted.min(state.idle);
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

    fn has_room(&self, state: &State<T>) -> bool {
        state.samples == 0 || (state.samples < self.window.samples && state.bytes < self.window.bytes)
    }
}

impl<T: Inflatable> DecodePool<T> {
    /// Takes out the samples of runs that are over.
    pub(crate) fn discard_ended(&self) -> Vec<T> {
        let mut state = self.lock();
        let (ended, left): (Vec<T>, Vec<T>) = state.waiting.drain(..).partition(T::is_over);
        state.waiting = left.into();
        self.wake_to_end(&state);
        ended
    }

    /// Blocks until there is a sample and room for it inflated. Moves it into `batch`, which is empty, with a few more
    /// of the same stream, and gives each its place. False when the pool is closed and empty.
    pub(crate) fn take(self: &Arc<DecodePool<T>>, batch: &mut Vec<T>) -> bool {
        let mut state = self.lock();
        while state.waiting.is_empty() || !self.has_room(&state) {
            if state.closed && state.waiting.is_empty() {
                return false;
            }
            state.idle += 1;
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
        // A share of what waits: other threads may be awake as well.
        let most = state.waiting.len().div_ceil(self.threads).min(TAKE_SAMPLES);
        let mut taken_bytes = 0;
        while batch.len() < most && taken_bytes < TAKE_BYTES && self.has_room(&state) {
            let fits = |next: &mut T| batch.first().is_none_or(|first| first.goes_with(next));
            let Some(mut next) = state.waiting.pop_front_if(fits) else { break };
            let bytes = next.inflated_bytes().max(self.least_bytes);
            state.samples += 1;
            state.bytes += bytes;
            taken_bytes += bytes;
            next.take_place(Place { pool: Arc::clone(self), bytes });
            batch.push(next);
        }
        self.wake_to_end(&state);
        let wanted = usize::from(!state.waiting.is_empty() && self.has_room(&state));
        self.wake(state, wanted);
        true
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

    impl Inflatable for Item {
        fn inflated_bytes(&self) -> u64 {
            self.bytes
        }

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
        DecodePool::new(NonZeroUsize::MIN, Window { samples, bytes }, 0)
    }

    fn push(pool: &DecodePool<Item>, stream: &Arc<AtomicBool>, count: u64, bytes: u64) {
        pool.push((0..count).map(|id| Item { id, bytes, stream: Arc::clone(stream), place: None }));
    }

    fn taken(pool: &Arc<DecodePool<Item>>) -> Vec<Item> {
        let mut batch = Vec::new();
        assert!(pool.take(&mut batch));
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
    fn no_more_samples_are_inflated_than_the_window_has_room_for() {
        let (pool, stream) = (pool(3, u64::MAX), Arc::default());
        push(&pool, &stream, 5, 1);
        let mut inflated = taken(&pool);
        assert_eq!(inflated.iter().map(|item| item.id).collect::<Vec<_>>(), [0, 1, 2]);
        let taker = taker(&pool);
        assert_eq!(pool.lock().waiting.len(), 2);
        inflated.pop();
        assert_eq!(taker.join().unwrap(), 1);
    }

    #[test]
    fn inflated_bytes_are_bounded_and_one_sample_always_fits() {
        let (pool, stream) = (pool(100, 1000), Arc::default());
        push(&pool, &stream, 3, 600);
        let first = taken(&pool);
        assert_eq!(first.len(), 2, "the second begins below the bound");
        let taker = taker(&pool);
        drop(first);
        assert_eq!(taker.join().unwrap(), 1);
        push(&pool, &stream, 2, TAKE_BYTES);
        assert_eq!(taken(&pool).len(), 1, "large ones are taken one by one");
        assert_eq!(taken(&pool).len(), 1);
        let state = pool.lock();
        assert_eq!((state.samples, state.bytes), (0, 0));
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
        pool.close();
        assert!(Arc::ptr_eq(&taken(&pool)[0].stream, &other));
        assert!(!pool.take(&mut Vec::new()));
    }
}
