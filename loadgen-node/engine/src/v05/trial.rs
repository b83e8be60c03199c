//! A trial of a search: the step that wanted it, and its result by the names of later rounds.

use super::effective::Effective;
use super::judge::{Judgement, Measured, at_percentile, sorted};
use super::record::Record;
use super::search::Wish;
use super::summary::broken_rules;
use crate::run::{self, PhaseOutcome};

/// A value that was tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The step that wanted it.
    pub wish: Wish,
    /// Position of its series; `None`: known before the search, and not run.
    pub series: Option<usize>,
    /// The result. It passed when it kept the rule on latencies; in a verification, all rules.
    pub result: run::Trial,
}

impl Trial {
    /// The trial that the series at this position was. A sample without an answer fails it, whatever the others were.
    pub(super) fn of_series(
        wish: Wish,
        series: usize,
        effective: &Effective,
        record: &Record,
        phase: &PhaseOutcome,
    ) -> Self {
        let measured = Measured::new(effective, record);
        let judgement = Judgement::new(effective, &measured);
        let latencies = sorted(&measured.sample_latencies_ns);
        let at = |fraction| i64::try_from(at_percentile(&latencies, fraction)).unwrap_or(i64::MAX);
        let is_whole = phase.counts.completed == phase.counts.issued;
        let is_verification = wish.is_verification();
        let keeps_rules = if is_verification { judgement.is_valid() } else { judgement.latency.unwrap_or(true) };
        let result = run::Trial {
            load: wish.value.number(),
            is_verification,
            passed: is_whole && keeps_rules,
            official_valid: is_whole && judgement.is_valid(),
            reason: broken_rules(judgement).join("; "),
            queries: measured.queries_issued,
            p99_ns: at(0.99),
            target_percentile_ns: effective.target_latency_percentile.map_or(0, at),
            lag_p99_ns: phase.lag.p99_ns,
            known: false,
        };
        Self { wish, series: Some(series), result }
    }

    /// A trial of an earlier search.
    pub(super) fn from_prior(wish: Wish, earlier: &run::Trial) -> Self {
        Self { wish, series: None, result: run::Trial { known: true, ..earlier.clone() } }
    }

    /// True when the value passed.
    pub fn passed(&self) -> bool {
        self.result.passed
    }
}
