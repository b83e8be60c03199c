//! The contract of a scenario's file in this folder, second part: the lines and keys that only it has in the reports.

use super::summary::Summary;
use crate::value::{Entry, Line, Value};

/// Lines and keys that a scenario adds to the summary file and to the result keys of the detail log.
pub trait Headlines: Sync {
    /// The first line of the summary file after the mode.
    fn headline(&self, summary: &Summary) -> Line {
        percentile_headline(summary)
    }

    /// The line after it in token runs.
    fn token_headline(&self, summary: &Summary) -> Line {
        first_token_headline(summary)
    }

    /// The line after these when token rates are inferred; `None` where the scenario has no such line.
    fn inferred_headline(&self, _summary: &Summary) -> Option<Line> {
        None
    }

    /// The lines before the latencies in the statistics of the summary file; an empty label is an empty line.
    fn leading_stats(&self, _summary: &Summary) -> Vec<Line> {
        Vec::new()
    }

    /// The lines before the token latencies in these statistics.
    fn leading_token_stats(&self, _summary: &Summary) -> Vec<Line> {
        Vec::new()
    }

    /// The result keys that only this scenario has, in official order.
    fn results(&self, summary: &Summary) -> Vec<Entry>;
}

/// The headline of scenarios that are compared by a percentile of the latency.
fn percentile_headline(summary: &Summary) -> Line {
    let label = format!("{:.1}th percentile latency (ns) : ", summary.target_percentile * 100.0);
    (label, summary.judged_latency().target_ns.into())
}

/// The headline for first tokens of scenarios that are compared by a percentile of the latency.
fn first_token_headline(summary: &Summary) -> Line {
    let label = format!("{:.1}th first token percentile latency (ns) : ", summary.target_percentile * 100.0);
    let target_ns = summary.tokens.as_ref().map_or(0, |tokens| tokens.first_token.target_ns);
    (label, target_ns.into())
}

/// An empty line of the summary file.
pub(super) fn empty_line() -> Line {
    (String::new(), Value::from(""))
}
