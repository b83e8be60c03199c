//! Turns: how many batches of several models compute at one time, where the models share their workers.
//!
//! Each model keeps threads and sessions of its own. A worker whose batch is due waits for its turn before it takes the
//! batch, so that the batch fills meanwhile. Turns are given in the order in which workers ask.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lon_net::clock;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The turns that models share.
#[derive(Clone, Debug)]
pub(crate) struct Turns {
    places: Arc<Semaphore>,
    /// Threads wait for a turn with it.
    runtime: Handle,
}

/// The right to compute, given back when dropped.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    _place: Option<OwnedSemaphorePermit>,
    /// Time for which the worker waited for it.
    pub(crate) waited: Duration,
}

impl Turns {
    /// So many turns at one time. Called on the first I/O thread's runtime.
    pub(crate) fn new(count: NonZeroUsize) -> Turns {
        Turns { places: Arc::new(Semaphore::new(count.get())), runtime: Handle::current() }
    }

    /// Blocks until it is the caller's turn.
    pub(crate) fn wait(&self) -> Turn {
        match Arc::clone(&self.places).try_acquire_owned() {
            Ok(place) => Turn { _place: Some(place), waited: Duration::ZERO },
            Err(_) => self.runtime.block_on(self.wait_as_task()),
        }
    }

    /// The same for a worker that is a task.
    pub(crate) async fn wait_as_task(&self) -> Turn {
        let start: Instant = clock::now();
        // It is never closed, so that there is always a place at last.
        let place = Arc::clone(&self.places).acquire_owned().await.ok();
        Turn { _place: place, waited: clock::since(start) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_turn_waits_for_the_one_before_and_those_who_ask_first_go_first() {
        let turns = Turns::new(NonZeroUsize::MIN);
        let first = turns.wait();
        assert_eq!(first.waited, Duration::ZERO);
        let order = Arc::new(std::sync::Mutex::new(Vec::new()));
        let mut threads = Vec::new();
        for number in 0..4 {
            let (turns, order) = (turns.clone(), Arc::clone(&order));
            threads.push(tokio::spawn(async move {
                let turn = turns.wait_as_task().await;
                order.lock().unwrap().push((number, turn.waited > Duration::ZERO));
            }));
            tokio::task::yield_now().await;
        }
        assert_eq!(*order.lock().unwrap(), []);
        drop(first);
        for thread in threads {
            thread.await.unwrap();
        }
        assert_eq!(*order.lock().unwrap(), [(0, true), (1, true), (2, true), (3, true)]);
    }

    #[tokio::test]
    async fn a_thread_waits_without_a_runtime_of_its_own() {
        let turns = Turns::new(NonZeroUsize::MIN);
        let first = turns.wait();
        let thread = std::thread::spawn({
            let turns = turns.clone();
            move || drop(turns.wait())
        });
        assert!(!thread.is_finished(), "its turn has not come");
        drop(first);
        thread.join().unwrap();
        assert_eq!(turns.places.available_permits(), 1);
    }
}
