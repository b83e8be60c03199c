//! Samples that failed so far, by reason: counted on the engine's thread, read on others.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use qdl::Failure;

/// The reasons, by the names that metrics have.
pub const REASONS: [&str; 8] =
    ["refused", "unusable", "timed_out", "node_lost", "overload", "no_node", "not_inflated", "run_ended"];

/// Number of samples that failed for each reason, in fixed memory.
#[derive(Debug, Default)]
pub struct Failures([Reason; REASONS.len()]);

#[derive(Debug, Default)]
struct Reason {
    samples: AtomicU64,
    /// Failure text of the first of them.
    first: OnceLock<String>,
}

/// A reason for which samples failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// One of [`REASONS`].
    pub reason: &'static str,
    /// Failure text of the first sample that failed for the reason.
    pub first: String,
    /// Number of samples that failed for the reason.
    pub samples: u64,
}

impl Failures {
    /// Counts a sample that failed.
    pub(crate) fn add(&self, failure: &Failure) {
        let reason = &self.0[place(failure)];
        reason.first.get_or_init(|| failure.to_string());
        reason.samples.fetch_add(1, Relaxed);
    }

    /// The reasons for which samples failed until now.
    pub fn read(&self) -> Vec<Failed> {
        let failed = REASONS.into_iter().zip(&self.0).map(|(reason, counted)| Failed {
            reason,
            first: counted.first.get().cloned().unwrap_or_default(),
            samples: counted.samples.load(Relaxed),
        });
        failed.filter(|failed| failed.samples > 0).collect()
    }
}

/// The place of a failure's reason among [`REASONS`].
fn place(failure: &Failure) -> usize {
    match failure {
        Failure::Refused(_) => 0,
        Failure::Unusable(_) => 1,
        Failure::TimedOut(_) => 2,
        Failure::NodeLost => 3,
        Failure::Overload => 4,
        Failure::NoNode => 5,
        Failure::Inflate(_) => 6,
        Failure::RunEnded => 7,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_its_number_and_the_first_text() {
        let failures = Failures::default();
        assert_eq!(failures.read(), []);
        for text in ["out of memory", "too long"] {
            failures.add(&Failure::Refused(text.to_owned()));
        }
        failures.add(&Failure::RunEnded);
        let reasons = failures.read();
        let rows: Vec<_> =
            reasons.iter().map(|failed| (failed.reason, failed.first.as_str(), failed.samples)).collect();
        let refused = ("refused", "refused by the node: out of memory", 2);
        assert_eq!(rows, [refused, ("run_ended", "the run ended first", 1)]);
    }
}
