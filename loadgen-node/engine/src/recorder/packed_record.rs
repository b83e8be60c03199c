//! One sample's record in 8 bytes: the scheduled time until it ends, then its latency.

use std::sync::atomic::AtomicU64;

use super::column::Entry;
use crate::judge::Counts;

/// The time payload: 2^61 ns are 73 years.
const TIME_BITS: u32 = 61;
const TIME_MASK: u64 = (1 << TIME_BITS) - 1;
const LOGGED: u64 = 1 << TIME_BITS;
const STATE_SHIFT: u32 = TIME_BITS + 1;
const PENDING: u64 = 1;
const DONE: u64 = 2;
const FAILED: u64 = 3;

/// A sample's state; times are ns from the start of the phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleEnd {
    /// The sample was not issued.
    Unissued,
    /// The sample was issued and has not ended; after the end of the phase it is lost.
    Pending {
        /// When the latency of the sample started, ns from the start of the phase.
        scheduled_ns: u64,
    },
    /// The sample was answered.
    Done {
        /// Latency of the sample, ns.
        latency_ns: u64,
    },
    /// The world gave the sample up.
    Failed {
        /// When the latency of the sample started, ns from the start of the phase.
        scheduled_ns: u64,
    },
}

/// The packed record. All zero bits mean "not issued".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cell(u64);

impl Entry for Cell {
    type Shared = AtomicU64;

    fn shared(self) -> AtomicU64 {
        self.0.shared()
    }

    #[inline]
    fn load(from: &AtomicU64) -> Cell {
        Cell(u64::load(from))
    }

    #[inline]
    fn store(self, into: &AtomicU64) {
        self.0.store(into);
    }
}

impl Cell {
    pub(crate) fn pending(scheduled_ns: u64, logged: bool) -> Self {
        Self::pack(PENDING, scheduled_ns.min(TIME_MASK) | if logged { LOGGED } else { 0 })
    }

    pub(crate) fn done(latency_ns: u64) -> Self {
        Self::pack(DONE, latency_ns.min(TIME_MASK))
    }

    pub(crate) fn failed(scheduled_ns: u64) -> Self {
        Self::pack(FAILED, scheduled_ns.min(TIME_MASK))
    }

    /// The record as it is stored: two bits of state (0 unissued, 1 pending, 2 done, 3 failed), one bit that says
    /// whether the answer is logged, 61 bits of time.
    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    pub(crate) fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    pub(crate) fn is_logged(self) -> bool {
        self.0 & LOGGED != 0
    }

    #[inline]
    pub(crate) fn state(self) -> SampleEnd {
        let time_ns = self.0 & TIME_MASK;
        match self.0 >> STATE_SHIFT {
            PENDING => SampleEnd::Pending { scheduled_ns: time_ns },
            DONE => SampleEnd::Done { latency_ns: time_ns },
            FAILED => SampleEnd::Failed { scheduled_ns: time_ns },
            _ => SampleEnd::Unissued,
        }
    }

    fn pack(state: u64, payload: u64) -> Self {
        Self(state << STATE_SHIFT | payload)
    }
}

/// Counts the samples of these cells, by their ends. A sample that has not ended is lost.
pub(super) fn counts(cells: &[Cell]) -> Counts {
    let mut counts = Counts::default();
    cells.iter().for_each(|cell| count(*cell, &mut counts));
    counts
}

/// Counts one more sample.
pub(super) fn count(cell: Cell, counts: &mut Counts) {
    counts.issued += 1;
    match cell.state() {
        SampleEnd::Done { .. } => counts.completed += 1,
        SampleEnd::Failed { .. } => counts.failed += 1,
        SampleEnd::Pending { .. } | SampleEnd::Unissued => counts.lost += 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_and_times_survive_packing() {
        assert_eq!(Cell::default().state(), SampleEnd::Unissued);
        let pending = Cell::pending(TIME_MASK, true);
        assert_eq!(pending.state(), SampleEnd::Pending { scheduled_ns: TIME_MASK });
        assert!(pending.is_logged() && !Cell::pending(3, false).is_logged());
        assert_eq!(Cell::done(0).state(), SampleEnd::Done { latency_ns: 0 });
        assert_eq!(Cell::done(u64::MAX).state(), SampleEnd::Done { latency_ns: TIME_MASK });
        assert_eq!(Cell::failed(9).state(), SampleEnd::Failed { scheduled_ns: 9 });
    }
}
