//! Memory that is there before it is needed.
//!
//! A page that the system has only promised is fetched at its first use; a large one takes milliseconds on some virtual
//! machines, and a queue that grows while queries are due meets many of them. So queues begin with room that has been
//! written to once. They may still grow.

use std::collections::VecDeque;

/// Samples that a lane has room for from the start: a burst of a few milliseconds at a million a second.
pub(crate) const SAMPLES: usize = 4 << 10;

/// An empty queue with room for [`SAMPLES`].
pub(crate) fn queue<T>(filler: impl Fn() -> T) -> VecDeque<T> {
    let mut queue: VecDeque<T> = (0..SAMPLES).map(|_| filler()).collect();
    queue.clear();
    queue
}
