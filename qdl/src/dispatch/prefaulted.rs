//! Queues whose memory has been touched before it is needed.
//!
//! The system provides a page of memory at its first use. On some virtual machines that takes milliseconds for a large
//! page, and a queue that grows while queries are due uses many new pages. So queues begin with room that has been
//! written to once. They may still grow.

use std::collections::VecDeque;

/// Samples that a lane has room for from the start at most: a burst of a few milliseconds at a million a second.
const SAMPLES: usize = 4 << 10;

/// Samples that all lanes together have room for, at 300 bytes each. Of many lanes each gets its share of a burst.
const ALL_SAMPLES: usize = 64 << 10;

/// Samples that each of so many lanes has room for from the start.
pub(crate) fn room(lanes: usize) -> usize {
    (ALL_SAMPLES / lanes.max(1)).clamp(64, SAMPLES)
}

/// An empty queue with room for `room`.
pub(crate) fn queue<T>(room: usize, filler: impl Fn() -> T) -> VecDeque<T> {
    let mut queue: VecDeque<T> = (0..room).map(|_| filler()).collect();
    queue.clear();
    queue
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_does_not_grow_with_the_nodes() {
        assert_eq!([1, 16].map(room), [SAMPLES; 2]);
        for lanes in [32, 128, 1_000] {
            assert!(lanes * room(lanes) <= ALL_SAMPLES, "{lanes}");
        }
        assert_eq!(room(100_000), 64);
    }
}
