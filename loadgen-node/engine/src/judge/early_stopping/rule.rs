//! Judges latencies by the early-stopping rules, and has their official texts.

use super::super::latencies::Sorted;
use super::binomial::Bound;

/// The confidence that MLPerf fixes.
pub const CONFIDENCE: f64 = 0.99;

/// Second percentile that SingleStream estimates for information.
const MULTI_STREAM_PERCENTILE: f64 = 0.99;

/// The early-stopping rule of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// No rule: always met, without a text.
    None,
    /// Estimates the percentile from above; fails only when there are too few queries.
    Estimate {
        /// Adds the estimate of the 99th percentile, which never fails.
        with_99th: bool,
    },
    /// Bounds the number of over-latency queries.
    Limit,
}

/// The latencies and limits that a rule judges.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The latencies, sorted, ns.
    pub latencies_ns: Sorted<'a>,
    /// Number of queries issued.
    pub queries: u64,
    /// The judged percentile, as a fraction.
    pub percentile: f64,
    /// The latency limit, ns; only [`Rule::Limit`] looks at it.
    pub limit_ns: u64,
}

/// The verdict of a rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// True when the rule is met.
    pub met: bool,
    /// The official explanation; lines are separated by newlines.
    pub text: String,
    /// Estimate of the judged percentile, ns; 0 when there is none.
    pub estimate_ns: i64,
    /// Estimate of the 99th percentile, ns; 0 when there is none.
    pub estimate_99th_ns: i64,
    /// Queries over the limit; only [`Rule::Limit`] counts them.
    pub late: u64,
    /// Queries that the rule takes more, if none of them is over the limit; 0 when it is met.
    pub missing: u64,
}

impl Rule {
    /// Judges the latencies of a run.
    pub fn judge(self, subject: Subject<'_>) -> Judgement {
        match self {
            Self::None => Judgement { met: true, ..Judgement::default() },
            Self::Estimate { with_99th } => estimate(subject, with_99th),
            Self::Limit => limit(subject),
        }
    }
}

fn estimate(subject: Subject<'_>, with_99th: bool) -> Judgement {
    let queries = subject.queries;
    let bound = Bound::new(subject.percentile, 0.0, CONFIDENCE);
    let least = bound.min_passing(1) + 1;
    let Some((tolerated, estimate_ns)) = percentile_estimate(subject, bound, least) else {
        let text = format!(
            " * Only processed {queries} queries.\n * Need to process at least {least} queries for early stopping."
        );
        return Judgement { text, missing: least - queries, ..Judgement::default() };
    };
    let mut judgement = Judgement { met: true, estimate_ns, ..Judgement::default() };
    judgement.text = format!(
        " * Processed at least {least} queries ({queries}).\n * Would discard {} highest latency queries.\n \
         * Early stopping {:.1}th percentile estimate: {estimate_ns}",
        tolerated - 1,
        subject.percentile * 100.0,
    );
    if with_99th {
        add_99th(subject, &mut judgement);
    }
    judgement
}

fn add_99th(subject: Subject<'_>, judgement: &mut Judgement) {
    let bound = Bound::new(MULTI_STREAM_PERCENTILE, 0.0, CONFIDENCE);
    let least = bound.min_passing(1) + 1;
    match percentile_estimate(subject, bound, least) {
        Some((_, estimate_ns)) => {
            judgement.estimate_99th_ns = estimate_ns;
            judgement.text += &format!("\n * Early stopping 99.0th percentile estimate: {estimate_ns}");
        }
        None => {
            judgement.text += &format!(
                "\n * Not enough queries processed for 99.0th percentile\n early stopping estimate (would need to \
                 process at\n least {least} total queries)."
            );
        }
    }
}

/// The number of highest latencies that do not count against the percentile, and the latency below them.
fn percentile_estimate(subject: Subject<'_>, bound: Bound, least: u64) -> Option<(u64, i64)> {
    if subject.queries < least {
        return None;
    }
    let tolerated = bound.max_tolerated(subject.queries);
    let position = subject.queries - tolerated;
    let last = subject.latencies_ns.count().checked_sub(1)?;
    Some((tolerated, subject.latencies_ns.at(position.min(last))?))
}

fn limit(subject: Subject<'_>) -> Judgement {
    let over = subject.latencies_ns.over(subject.limit_ns);
    let needed = Bound::new(subject.percentile, 0.0, CONFIDENCE).min_passing(over) + over;
    let queries = subject.queries;
    if queries >= needed {
        return Judgement { met: true, text: " * Run successful.".to_owned(), late: over, ..Judgement::default() };
    }
    let missing = needed - queries;
    let text = format!(
        " * Run unsuccessful.\n * Processed {queries} queries.\n * Would need to run at least {missing} more \
         queries,\n \
         with the run being successful if every additional\n query were under latency."
    );
    Judgement { text, late: over, missing, ..Judgement::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(latencies_ns: &[i64], percentile: f64) -> Subject<'_> {
        Subject {
            latencies_ns: Sorted::Each(latencies_ns),
            queries: latencies_ns.len() as u64,
            percentile,
            limit_ns: 100,
        }
    }

    #[test]
    fn sixty_four_queries_are_just_enough_for_the_90th() {
        let latencies: Vec<i64> = (0..64).collect();
        let few = Rule::Estimate { with_99th: false }.judge(subject(&latencies[..63], 0.9));
        assert!(!few.met && few.text.contains("at least 64 queries"), "{}", few.text);
        let enough = Rule::Estimate { with_99th: false }.judge(subject(&latencies, 0.9));
        assert!(enough.met);
        assert_eq!(enough.estimate_ns, 63, "nothing may be discarded yet");
    }

    #[test]
    fn a_server_run_tolerates_no_late_query_below_459() {
        let mut latencies = vec![1; 459];
        assert!(Rule::Limit.judge(subject(&latencies, 0.99)).met);
        latencies[458] = 101;
        let judged = Rule::Limit.judge(subject(&latencies, 0.99));
        assert!(!judged.met && judged.text.contains("at least 203 more"), "662 - 459: {}", judged.text);
        assert_eq!((judged.late, judged.missing), (1, 203));
    }
}
