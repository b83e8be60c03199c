//! Counts of issued samples and of how they ended: part of `result_summary.json`.

use loadgen::judge::Counts;
use loadgen::run::RunOutcome;
use qdl::{NodeCounts, NodeReport};
use serde::{Deserialize, Serialize};

/// Counts of samples and answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CountsDocument {
    /// Samples that were issued.
    pub issued: u64,
    /// Samples that were answered.
    pub completed: u64,
    /// Samples that failed or were lost.
    pub failed: u64,
    /// Answers to samples that had been answered.
    pub duplicate: u64,
    /// Answers to samples that had been given up.
    pub late: u64,
    /// Answers with a NaN in the model's outputs, as the nodes counted them; null where no node could be asked.
    pub nan: Option<u64>,
    /// Answers to samples that were never sent.
    pub foreign: u64,
}

impl CountsDocument {
    /// Samples that were issued and not answered.
    pub fn unanswered(&self) -> u64 {
        self.issued.saturating_sub(self.completed)
    }

    /// Makes the document from the counts of the engine and the QDL; `nan` is the count of the nodes.
    pub(super) fn new(outcome: &RunOutcome, reports: &[NodeReport], nan: Option<u64>) -> CountsDocument {
        let counts = outcome.counts();
        let sum = |count: fn(&NodeCounts) -> u64| reports.iter().map(|report| count(&report.counts)).sum::<u64>();
        let of_engine = CountsDocument::of(&counts);
        CountsDocument {
            duplicate: counts.duplicate + sum(|counts| counts.duplicate),
            late: counts.late + sum(|counts| counts.late),
            nan,
            foreign: counts.unknown + sum(|counts| counts.foreign),
            ..of_engine
        }
    }

    /// Makes the document from the counts of the engine.
    pub(super) fn of(counts: &Counts) -> CountsDocument {
        CountsDocument {
            issued: counts.issued,
            completed: counts.completed,
            failed: counts.failed + counts.lost,
            duplicate: counts.duplicate,
            late: counts.late,
            nan: None,
            foreign: counts.unknown,
        }
    }
}
