//! Queries within the limits of `--within`: part of `result_summary.json`.

use serde::{Deserialize, Serialize};

use crate::verdict::within::{Within, WithinLimits};

/// Queries within all limits of `--within`. The verdict does not depend on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WithinDocument {
    /// Limit of the time to first token, ns; null where it has none.
    pub ttft_limit_ns: Option<u64>,
    /// Limit of the time per output token after the first, ns; null where it has none.
    pub tpot_limit_ns: Option<u64>,
    /// Limit of the latency of the whole answer, ns; null where it has none.
    pub latency_limit_ns: Option<u64>,
    /// Number of queries issued; in Offline, whose samples are one query, number of samples.
    pub queries: u64,
    /// Number of these queries that were answered within all limits. Failed and lost ones are not among them.
    pub kept: u64,
    /// Share of the queries within all limits, from 0 to 1; null where nothing was measured.
    pub share: Option<f64>,
    /// Rate of the queries within all limits, per second until the last query was answered; null where nothing was
    /// measured.
    pub queries_per_s: Option<f64>,
}

impl WithinDocument {
    /// Of a run that has measured nothing yet.
    pub(crate) fn unmeasured(limits: &WithinLimits) -> WithinDocument {
        WithinDocument {
            ttft_limit_ns: limits.ttft_ns,
            tpot_limit_ns: limits.tpot_ns,
            latency_limit_ns: limits.latency_ns,
            ..WithinDocument::default()
        }
    }

    /// The limits that were asked for.
    pub fn limits(&self) -> WithinLimits {
        WithinLimits { ttft_ns: self.ttft_limit_ns, tpot_ns: self.tpot_limit_ns, latency_ns: self.latency_limit_ns }
    }

    /// Share and rate in words, with the limits.
    pub fn text(&self) -> String {
        let limits = self.limits();
        let Some(share) = self.share else { return format!("nothing was measured ({limits})") };
        let rate = self.queries_per_s.map_or_else(String::new, |rate| format!(", {rate:.2} queries/s"));
        format!("{:.2} % of {} queries{rate} ({limits}; not judged)", 100.0 * share, self.queries)
    }
}

impl From<&Within> for WithinDocument {
    fn from(within: &Within) -> WithinDocument {
        WithinDocument {
            queries: within.queries,
            kept: within.queries_within,
            share: within.share(),
            queries_per_s: within.queries_per_s,
            ..WithinDocument::unmeasured(&within.limits)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::reads_back;
    use super::*;

    #[test]
    fn share_and_rate_stand_beside_their_limits() {
        let limits: WithinLimits = "latency=100ms".parse().unwrap();
        let within = Within { limits, queries: 400, queries_within: 399, queries_per_s: Some(99.75) };
        let document = WithinDocument::from(&within);
        assert_eq!(document.text(), "99.75 % of 400 queries, 99.75 queries/s (latency 100.0ms; not judged)");
        assert_eq!((reads_back(&document)["share"].as_f64(), document.limits()), (Some(0.9975), limits));
        let before = WithinDocument::unmeasured(&limits);
        assert_eq!((before.text().as_str(), before.limits()), ("nothing was measured (latency 100.0ms)", limits));
    }
}
