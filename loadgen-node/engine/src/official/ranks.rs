//! Latencies of which only a few are known: the smallest, the largest and some percentiles.

use std::collections::{BTreeMap, BTreeSet};

use super::detail_log::DetailLog;
use crate::judge::{Latencies, PERCENTILES};

/// Where the detail log has what is known of one kind of latency.
pub(super) struct Names {
    least: &'static str,
    most: &'static str,
    /// Text of the key before and after the percent.
    percentile: (&'static str, &'static str),
}

/// Latencies of samples.
pub(super) const SAMPLES: Names = Names {
    least: "result_min_latency_ns",
    most: "result_max_latency_ns",
    percentile: ("result_", "_percentile_latency_ns"),
};
/// Latencies of queries.
pub(super) const QUERIES: Names = Names {
    least: "result_min_query_latency_ns",
    most: "result_max_query_latency_ns",
    percentile: ("result_", "_percentile_per_query_latency_ns"),
};
/// Latencies of first tokens.
pub(super) const FIRST_TOKENS: Names = Names {
    least: "result_first_token_min_latency_ns",
    most: "result_first_token_max_latency_ns",
    percentile: ("result_first_token_", "_percentile_latency_ns"),
};
/// Times per output token.
pub(super) const PER_TOKEN: Names = Names {
    least: "result_time_to_output_token_min",
    most: "result_time_to_output_token_max",
    percentile: ("result_time_per_output_token_", "_percentile_ns"),
};

/// The two ways to fill what is not known: with the least that it can be, and with the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filling {
    Least,
    Most,
}

/// Number of latencies above a limit, where the log counts them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Above {
    pub(super) count: u64,
    pub(super) limit_ns: i64,
}

/// Latencies in ascending order, of which some are known, by their position.
pub(super) struct Ranks {
    count: u64,
    latencies: BTreeMap<u64, i64>,
}

impl Ranks {
    /// Reads from the log those of `count` latencies that it has. Adds the keys that they are taken from to `taken`.
    /// Returns `None` where the log has no such latencies.
    pub(super) fn of(log: &DetailLog, names: &Names, count: u64, taken: &mut BTreeSet<String>) -> Option<Ranks> {
        let mut latencies = BTreeMap::new();
        let (before, after) = names.percentile;
        let percentile = |fraction: f64| (count as f64 * fraction) as u64;
        let percentiles = PERCENTILES.map(|of| (format!("{before}{:.2}{after}", of * 100.0), percentile(of)));
        let ends = [(names.least.to_owned(), 0), (names.most.to_owned(), count.saturating_sub(1))];
        for (key, at) in percentiles.into_iter().chain(ends) {
            if let Some(ns) = log.number::<i64>(&key).filter(|_| at < count) {
                latencies.insert(at, ns);
                taken.insert(key);
            }
        }
        (!latencies.is_empty()).then_some(Ranks { count, latencies })
    }

    /// As many latencies as there were: those that are known, and between two of them the smaller or the larger one.
    pub(super) fn filled(&self, filling: Filling, above: Option<Above>) -> Latencies {
        let mut runs = Vec::new();
        let ranks: Vec<(u64, i64)> = self.latencies.iter().map(|(at, ns)| (*at, *ns)).collect();
        for (index, &(at, ns)) in ranks.iter().enumerate() {
            let (end, next_ns) = ranks.get(index + 1).copied().unwrap_or((self.count, ns));
            let between = if filling == Filling::Least { ns } else { next_ns };
            runs.push((ns, 1));
            match above {
                Some(Above { count, limit_ns }) => {
                    let first_above = self.count.saturating_sub(count).clamp(at + 1, end);
                    runs.push((between.min(limit_ns), first_above - (at + 1)));
                    runs.push((between.max(limit_ns.saturating_add(1)), end - first_above));
                }
                None => runs.push((between, end - (at + 1))),
            }
        }
        Latencies::Equal(runs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_filled_from_below_and_from_above() {
        let ranks = Ranks { count: 6, latencies: BTreeMap::from([(0, 10), (3, 40), (5, 90)]) };
        let filled = |filling, above| -> Vec<i64> {
            let Latencies::Equal(runs) = ranks.filled(filling, above) else { return Vec::new() };
            runs.iter().flat_map(|(ns, count)| std::iter::repeat_n(*ns, *count as usize)).collect()
        };
        assert_eq!(filled(Filling::Least, None), [10, 10, 10, 40, 40, 90]);
        assert_eq!(filled(Filling::Most, None), [10, 40, 40, 40, 90, 90]);
        let above = |count| Some(Above { count, limit_ns: 50 });
        assert_eq!(filled(Filling::Least, above(2)), [10, 10, 10, 40, 51, 90]);
        assert_eq!(filled(Filling::Most, above(1)), [10, 40, 40, 40, 50, 90]);
    }
}
