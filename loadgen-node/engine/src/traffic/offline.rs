//! Offline: one query with all samples, due at once; every latency runs from the start of the phase.

use super::{Entry, Gap, Layout, Line, Pacing, Rules, Traffic, effective_rate};
use crate::early_stopping::Rule;
use crate::plan::{Effective, PlanError, Request, Sanitised};
use crate::results::Measured;
use crate::settings::TestSettings;
use crate::summary::{Metric, Summary};

pub(super) struct Offline;

/// The query has this many times the samples that are expected to be processed in the minimum duration.
const SLACK: f64 = 1.1;

impl Rules for Offline {
    fn sanitise(&self, request: Request<'_>, faults: &mut Vec<String>) -> Result<Sanitised, PlanError> {
        let s = request.settings;
        let target_qps = effective_rate("offline_expected_qps", s.offline_expected_qps, faults)?;
        let by_duration = ((SLACK * (s.min_duration_ms as f64 / 1000.0)) * target_qps) as u64;
        let samples_per_query = if s.performance_issue_unique {
            request.performance_sample_count
        } else {
            s.min_query_count.max(by_duration)
        };
        Ok(Sanitised {
            samples_per_query,
            target_qps,
            target_latency_ns: 0,
            target_latency_percentile: 0.99,
            max_async_queries: 1,
            target_duration_ms: 0,
            min_query_count: 1,
        })
    }

    fn traffic(&self) -> Traffic {
        Traffic { gap: Gap::Constant, layout: Layout::WholeSet, duration_factor: 2 }
    }

    fn pacing(&self) -> Pacing {
        Pacing::Nothing
    }

    fn accuracy_samples_per_query(&self, _effective: &Effective, set_end: u64) -> u64 {
        set_end
    }

    fn samples_per_expected_query(&self, _effective: &Effective) -> u64 {
        1
    }

    fn requested(&self, s: &TestSettings) -> Vec<Entry> {
        vec![("offline_expected_qps".into(), s.offline_expected_qps.into())]
    }

    fn judged_duration(&self, measured: &Measured) -> (f64, &'static str) {
        let advice = "Increase expected QPS so the loadgen pre-generates a larger (coalesced) query.";
        (measured.max_latency_s, advice)
    }

    fn early_stopping(&self) -> Rule {
        Rule::None
    }

    fn metric(&self, summary: &Summary) -> Metric {
        Metric::new("result_samples_per_second", Some(summary.rates.samples_per_s), "samples/s")
    }

    fn headline(&self, summary: &Summary) -> Line {
        ("Samples per second: ".into(), summary.rates.samples_per_s.into())
    }

    fn token_headline(&self, summary: &Summary) -> Line {
        let rate = summary.tokens.as_ref().map_or(0.0, |tokens| tokens.tokens_per_s);
        ("Tokens per second: ".into(), rate.into())
    }

    fn inferred_headline(&self, summary: &Summary) -> Option<Line> {
        let inferred = summary.inferred.as_ref()?;
        Some(("Tokens per second (inferred): ".into(), inferred.tokens_per_s.into()))
    }

    fn leading_stats(&self, _summary: &Summary) -> Vec<Line> {
        Vec::new()
    }

    fn results(&self, summary: &Summary) -> Vec<Entry> {
        vec![("result_samples_per_second".into(), summary.rates.samples_per_s.into())]
    }

    fn reports_token_latencies(&self) -> bool {
        false
    }
}
