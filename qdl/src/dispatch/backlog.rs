//! Samples that wait until a node pulls them: see [`super::Policy::Pull`].

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lon_net::clock;

use super::lane::Lane;
use crate::types::Sample;

/// Samples that the backlog takes before [`Backlog::room`] is 0.
const BACKLOG_SAMPLES: usize = 8 << 10;

/// The backlog of one run.
#[derive(Default)]
pub(super) struct Backlog {
    samples: Mutex<VecDeque<Sample>>,
    /// The caller found the backlog full and waits for a call of `Sink::room`.
    starved: AtomicBool,
}

/// Outcome of [`Backlog::move_to`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moved {
    /// The lane has taken samples.
    pub(super) some: bool,
    /// The caller waits for room, and there is room now.
    pub(super) has_room: bool,
}

impl Backlog {
    pub(super) fn extend(&self, samples: impl Iterator<Item = Sample>) {
        self.samples().extend(samples);
    }

    /// Takes everything out.
    pub(super) fn drain(&self) -> Vec<Sample> {
        self.samples().drain(..).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn len(&self) -> usize {
        self.samples().len()
    }

    /// Returns the number of samples that still fit. At 0 the caller counts as waiting: see [`Moved::has_room`].
    pub(super) fn room(&self) -> usize {
        let room = BACKLOG_SAMPLES.saturating_sub(self.samples().len());
        if room == 0 {
            self.starved.store(true, SeqCst);
        }
        room
    }

    /// Moves samples to `lane`, `count` at most. A lane that is dead takes none.
    pub(super) fn move_to(&self, lane: &Lane, count: u64) -> Moved {
        let mut samples = self.samples();
        let before = samples.len();
        let count = count.min(before as u64);
        let now = clock::now();
        for _ in 0..count {
            let Some(sample) = samples.pop_front() else { break };
            if let Err(back) = lane.push(sample, now) {
                samples.push_front(back);
                return Moved { some: false, has_room: false };
            }
        }
        let waiting = samples.len();
        drop(samples);
        // Half a backlog of room before the caller is told: it then issues many at a time.
        let has_room = waiting < before && waiting <= BACKLOG_SAMPLES / 2 && self.starved.swap(false, SeqCst);
        Moved { some: count > 0, has_room }
    }

    fn samples(&self) -> MutexGuard<'_, VecDeque<Sample>> {
        self.samples.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
