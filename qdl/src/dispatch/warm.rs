//! Queues whose memory has been touched before it is needed.
//!
//! The system provides a page of memory at its first use. On some virtual machines that takes milliseconds for a large
//! page, and a queue that grows while queries are due uses many new pages. So queues begin with room that has been
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
