//! Going on beyond the planned queries: how many more early stopping asks for, counted while a phase runs.
//!
//! Rules, appendix on early stopping (A.4): a run that had too few queries for its late ones may process more. The
//! queries that follow are those that a longer plan would have had.

use crate::effective::Effective;
use crate::judge::early_stopping::{Bound, CONFIDENCE, Rule};
use crate::judge::{Terms, TokenLimits};
use crate::recorder::{Recorder, SampleEnd};
use crate::trace::PhasePlan;
use crate::world::TimeNs;

/// A phase has at most this many times the planned queries.
const MOST: u64 = 4;

/// And at most this many more than planned: room for what is recorded of them is made, and written to, beforehand.
pub(super) const MOST_MORE: u64 = 1 << 24;

/// Counts late queries in issue order, and moves the end of a phase as they ask for it.
#[derive(Clone, Debug)]
pub(super) struct Extension {
    /// Bound by which late queries ask for more queries. Absent where late queries have no effect on the number.
    bound: Option<Bound>,
    terms: Terms,
    /// Queries after which the phase may end.
    goal: u64,
    /// The goal is never moved beyond this.
    most: u64,
    /// The goal is moved in steps of this.
    unit: u64,
    /// Queries before this have ended and are counted.
    next: u64,
    late: Late,
}

/// Late queries, by the limit that they are beyond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Late {
    /// Beyond the limit of the latency, in token runs that of the first token.
    latency: u64,
    /// Beyond the limit of the time per token.
    per_token: u64,
}

impl Extension {
    /// Returns the extension of a phase. Returns `None` where early stopping asks for no number of queries, or where
    /// traffic cannot go on. Merged queries cannot: they might be merged with those beyond the end.
    pub(super) fn new(effective: &Effective, phase: &PhasePlan) -> Option<Extension> {
        if effective.settings.server_coalesce_queries {
            return None;
        }
        let (terms, planned) = (effective.terms(), phase.generated.queries);
        let (unit, rule) = (phase.unit()?, effective.scenario.judge().early_stopping());
        let least = rule.least_queries(terms.target_percentile).checked_next_multiple_of(unit)?;
        let (bound, goal, most) = match rule {
            Rule::None => return None,
            // This number follows from the rule alone, whatever the latencies are.
            Rule::Estimate { .. } => (None, least, planned.max(least)),
            Rule::Limit => {
                let bound = Bound::new(terms.target_percentile, 0.0, CONFIDENCE);
                (Some(bound), planned, at_most(planned, planned.max(least)))
            }
        };
        Some(Extension { bound, terms, goal, most, unit, next: 0, late: Late::default() })
    }

    /// The most queries that the phase may come to.
    pub(super) fn most(&self) -> u64 {
        self.most
    }

    /// Counts what has ended since it was last asked.
    #[inline]
    pub(super) fn look(&mut self, recorder: &Recorder) {
        if self.bound.is_none() {
            return;
        }
        while let Some(late) = self.ended(recorder, self.next) {
            self.late = self.late.and(late);
            self.next += 1;
        }
    }

    /// Returns true when a phase ends that would have ended with this many queries.
    pub(super) fn ends(&mut self, queries: u64, recorder: &Recorder, now: TimeNs, start: TimeNs) -> bool {
        queries >= self.goal && !self.moved(recorder, now.since(start))
    }

    /// Moves the goal to where early stopping would be met if nothing else is late; whether that is further on.
    fn moved(&mut self, recorder: &Recorder, now_ns: u64) -> bool {
        let Some(bound) = &self.bound else { return false };
        let out_of_order = (self.next..self.goal).filter_map(|position| self.so_far(recorder, position, now_ns));
        let late = out_of_order.fold(self.late, Late::and);
        let queries_for = |late: u64| bound.min_passing(late).saturating_add(late);
        let queries = queries_for(late.latency).max(queries_for(late.per_token));
        let goal = queries.checked_next_multiple_of(self.unit).unwrap_or(u64::MAX);
        let is_within = goal > self.goal && goal <= self.most;
        if is_within {
            self.goal = goal;
        }
        is_within
    }

    /// Returns the limits that the query at this position exceeded; `None` while the query has not ended.
    fn ended(&self, recorder: &Recorder, position: u64) -> Option<Late> {
        match recorder.end_at(position)? {
            SampleEnd::Pending { .. } | SampleEnd::Unissued => None,
            SampleEnd::Failed { .. } => Some(Late { latency: 1, per_token: 1 }),
            SampleEnd::Done { latency_ns } => Some(self.late(recorder, position, latency_ns)),
        }
    }

    /// The same, and for one that has not ended what is certain by its age.
    fn so_far(&self, recorder: &Recorder, position: u64, now_ns: u64) -> Option<Late> {
        match recorder.end_at(position)? {
            SampleEnd::Pending { scheduled_ns } if self.terms.tokens.is_none() => {
                Some(self.late(recorder, position, now_ns.saturating_sub(scheduled_ns)))
            }
            _ => self.ended(recorder, position),
        }
    }

    fn late(&self, recorder: &Recorder, position: u64, latency_ns: u64) -> Late {
        let (Some(TokenLimits { ttft_ns, tpot_ns }), Some(tokens)) = (self.terms.tokens, &recorder.tokens) else {
            return Late { latency: u64::from(latency_ns > self.terms.target_latency_ns), per_token: 0 };
        };
        let position = usize::try_from(position).unwrap_or(usize::MAX);
        let first_ns = tokens.first_token_ns(position).unwrap_or(latency_ns);
        let others = u64::from(tokens.count(position)).saturating_sub(1).max(1);
        let per_token_ns = latency_ns.saturating_sub(first_ns) / others;
        Late { latency: u64::from(first_ns > ttft_ns), per_token: u64::from(per_token_ns > tpot_ns) }
    }
}

/// The most queries of a phase with so many planned, and so many that early stopping asks for if none is late.
fn at_most(planned: u64, least: u64) -> u64 {
    least.saturating_mul(MOST).min(planned.saturating_add(MOST_MORE))
}

impl Late {
    fn and(self, other: Late) -> Late {
        Late { latency: self.latency + other.latency, per_token: self.per_token + other.per_token }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_goes_on_four_times_as_far_or_by_a_bounded_number() {
        assert_eq!([at_most(500, 500), at_most(5, 662)], [2_000, 2_648]);
        assert_eq!(at_most(1 << 30, 1 << 30), (1 << 30) + MOST_MORE);
        assert_eq!(at_most(u64::MAX, u64::MAX), u64::MAX);
    }
}
