//! Numbers of samples of a phase, by how the samples ended. A verdict is made from them.

use serde::{Deserialize, Serialize};

/// Numbers of samples: those issued, and those with each kind of end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// Samples handed to the world.
    pub issued: u64,
    /// Samples that were answered.
    pub completed: u64,
    /// Samples that the world reported as failed.
    pub failed: u64,
    /// Samples that had neither been answered nor failed when the phase was closed.
    pub lost: u64,
    /// Answers to samples that had been answered.
    pub duplicate: u64,
    /// Answers to samples that had been given up.
    pub late: u64,
    /// Answers to samples that were never issued.
    pub unknown: u64,
    /// Answers without usable token information, in token runs.
    pub token_faults: u64,
}

impl Counts {
    /// Adds the counts of another phase.
    pub fn add(&mut self, other: &Counts) {
        self.issued += other.issued;
        self.completed += other.completed;
        self.failed += other.failed;
        self.lost += other.lost;
        self.duplicate += other.duplicate;
        self.late += other.late;
        self.unknown += other.unknown;
        self.token_faults += other.token_faults;
    }

    /// The counts of a run in which each of so many samples was answered once.
    pub fn all_answered(samples: u64) -> Counts {
        Counts { issued: samples, completed: samples, ..Counts::default() }
    }

    /// Samples that have ended.
    pub fn ended(&self) -> u64 {
        self.completed + self.failed + self.lost
    }
}
