//! Does the same work on many samples, on as many threads as the machine has cores.

use std::num::NonZero;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{self, SyncSender};
use std::thread;

/// The largest number of indices that a thread takes at a time.
const MAX_CHUNK: usize = 256;
/// The number of chunks for each thread, so that no thread waits long for the last one.
const CHUNKS_PER_THREAD: usize = 16;
/// The largest number of finished chunks that wait for the calling thread.
const MAX_FINISHED: usize = 8;

/// The results of one chunk, up to the first error.
struct Finished<T, E> {
    results: Vec<(usize, T)>,
    /// The error, with its place in the list of indices.
    error: Option<(usize, E)>,
}

/// Does `work` on each index, with a `state` for each thread. Calls `collect` on the calling thread with some results
/// at a time, in the order in which they are finished.
///
/// # Errors
/// Work failed. Of several errors it returns the one that comes first in `indices`, for any number of threads. No new
/// work begins after an error.
pub(crate) fn each<S, T: Send, E: Send>(
    indices: &[usize],
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize) -> Result<T, E> + Sync,
    collect: impl FnMut(Vec<(usize, T)>),
) -> Result<(), E> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    each_on(cores.min(indices.len()), indices, state, work, collect)
}

fn each_on<S, T: Send, E: Send>(
    threads: usize,
    indices: &[usize],
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize) -> Result<T, E> + Sync,
    mut collect: impl FnMut(Vec<(usize, T)>),
) -> Result<(), E> {
    let chunk = (indices.len() / (threads.max(1) * CHUNKS_PER_THREAD)).clamp(1, MAX_CHUNK);
    let next = AtomicUsize::new(0);
    let run = |finished: SyncSender<Finished<T, E>>| {
        let mut state = state();
        loop {
            let from = next.fetch_add(chunk, Relaxed);
            if from >= indices.len() {
                return;
            }
            let done = one_chunk(indices, from..(from + chunk).min(indices.len()), &mut state, &work);
            if done.error.is_some() {
                // Earlier chunks were taken before this one, so an earlier error is still found.
                next.store(indices.len(), Relaxed);
            }
            if finished.send(done).is_err() {
                return;
            }
        }
    };
    let mut first: Option<(usize, E)> = None;
    thread::scope(|scope| {
        let (finished, all) = mpsc::sync_channel(MAX_FINISHED);
        let mut started = 0;
        for _ in 0..threads {
            let finished = finished.clone();
            // Where the system gives no more threads, fewer do the work.
            started += usize::from(thread::Builder::new().spawn_scoped(scope, || run(finished)).is_ok());
        }
        drop(finished);
        if started == 0 {
            let done = one_chunk(indices, 0..indices.len(), &mut state(), &work);
            collect(done.results);
            first = done.error;
        }
        for done in all {
            collect(done.results);
            let candidate = done.error.into_iter().chain(first.take());
            first = candidate.min_by_key(|(place, _)| *place);
        }
    });
    first.map_or(Ok(()), |(_, error)| Err(error))
}

fn one_chunk<S, T, E>(
    indices: &[usize],
    places: Range<usize>,
    state: &mut S,
    work: impl Fn(&mut S, usize) -> Result<T, E>,
) -> Finished<T, E> {
    let mut results = Vec::with_capacity(places.len());
    for place in places {
        match work(state, indices[place]) {
            Ok(result) => results.push((indices[place], result)),
            Err(error) => return Finished { results, error: Some((place, error)) },
        }
    }
    Finished { results, error: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn squares(threads: usize, indices: &[usize], fails: &[usize]) -> (Vec<(usize, usize)>, Result<(), usize>) {
        let mut all = Vec::new();
        let work = |calls: &mut usize, index: usize| {
            *calls += 1;
            if fails.contains(&index) { Err(index) } else { Ok(index * index) }
        };
        let ended = each_on(threads, indices, || 0, work, |mut some| all.append(&mut some));
        all.sort_unstable();
        (all, ended)
    }

    #[test]
    fn results_do_not_depend_on_the_number_of_threads() {
        let indices: Vec<usize> = (0..5_000).collect();
        let alone = squares(1, &indices, &[]);
        assert_eq!(alone.0.len(), 5_000);
        assert!(alone.0.iter().all(|(index, square)| index * index == *square));
        for threads in [2, 3, 16] {
            assert_eq!(squares(threads, &indices, &[]), alone);
        }
        assert_eq!(squares(0, &[], &[]), (Vec::new(), Ok(())));
        assert_eq!(squares(4, &[3], &[]), (vec![(3, 9)], Ok(())));
    }

    #[test]
    fn the_first_error_is_told_and_work_ends() {
        let indices: Vec<usize> = (0..100_000).collect();
        for threads in [1, 2, 7] {
            let (all, ended) = squares(threads, &indices, &[300, 301, 900, 99_999]);
            assert_eq!(ended, Err(300), "{threads} threads");
            assert!(all.len() < 100_000 - 1 && all.iter().filter(|(index, _)| *index < 300).count() == 300);
        }
    }
}
