//! SingleStream: one sample at a time; the next query is issued when the last was answered.

use super::{Entry, Gap, Layout, Line, Pacing, Rules, Traffic, check_expected_latency};
use crate::early_stopping::Rule;
use crate::plan::{PlanError, Request, Sanitised};
use crate::report::Value;
use crate::results::Measured;
use crate::settings::TestSettings;
use crate::summary::{Metric, Summary};

pub(super) struct SingleStream;

/// Factor on the expected number of queries with equal issue, so that the minimum duration is surely covered.
const EQUAL_ISSUE_SLACK: f64 = 2.0;

impl Rules for SingleStream {
    fn sanitise(&self, request: Request<'_>, _faults: &mut Vec<String>) -> Result<Sanitised, PlanError> {
        let s = request.settings;
        check_expected_latency("single_stream_expected_latency_ns", s.single_stream_expected_latency_ns)?;
        let target_qps = 1e9 / s.single_stream_expected_latency_ns;
        let mut min_query_count = s.min_query_count;
        if s.sample_concatenate_permutation {
            let by_duration = ((EQUAL_ISSUE_SLACK * (s.min_duration_ms as f64 / 1000.0)) * target_qps) as u64;
            min_query_count = min_query_count.max(by_duration);
            min_query_count = whole_sets(min_query_count, request.qsl.performance)?;
        }
        Ok(Sanitised {
            samples_per_query: 1,
            target_qps,
            target_latency_ns: 0,
            target_latency_percentile: s.single_stream_target_latency_percentile,
            max_async_queries: 1,
            target_duration_ms: s.min_duration_ms,
            min_query_count,
        })
    }

    fn traffic(&self) -> Traffic {
        Traffic { gap: Gap::Constant, layout: Layout::One, duration_factor: 2 }
    }

    fn pacing(&self) -> Pacing {
        Pacing::Reply
    }

    fn requested(&self, s: &TestSettings) -> Vec<Entry> {
        vec![
            ("single_stream_expected_latency_ns".into(), s.single_stream_expected_latency_ns.into()),
            ("single_stream_target_latency_percentile".into(), s.single_stream_target_latency_percentile.into()),
        ]
    }

    fn judged_duration(&self, measured: &Measured) -> (f64, &'static str) {
        (measured.final_query_issued_s, super::DECREASE_EXPECTED_LATENCY)
    }

    fn early_stopping(&self) -> Rule {
        Rule::Estimate { with_99th: true }
    }

    fn metric(&self, summary: &Summary) -> Metric {
        Metric::new("early_stopping_latency_ss", summary.estimate_ns(), "ns")
    }

    fn headline(&self, summary: &Summary) -> Line {
        super::percentile_headline(summary)
    }

    fn token_headline(&self, summary: &Summary) -> Line {
        super::first_token_headline(summary)
    }

    fn leading_stats(&self, summary: &Summary) -> Vec<Line> {
        vec![
            ("QPS w/ loadgen overhead         : ".into(), Value::Fixed(summary.rates.qps_with_overhead)),
            ("QPS w/o loadgen overhead        : ".into(), Value::Fixed(summary.rates.qps_without_overhead)),
            super::empty_line(),
        ]
    }

    fn leading_token_stats(&self, summary: &Summary) -> Vec<Line> {
        let Some(tokens) = &summary.tokens else { return Vec::new() };
        vec![
            ("TPS w/ loadgen overhead         : ".into(), Value::Fixed(tokens.tps_with_overhead)),
            ("TPS w/o loadgen overhead        : ".into(), Value::Fixed(tokens.tps_without_overhead)),
        ]
    }

    fn results(&self, summary: &Summary) -> Vec<Entry> {
        let judgement = summary.final_judgement();
        vec![
            ("result_qps_with_loadgen_overhead".into(), summary.rates.qps_with_overhead.into()),
            ("result_qps_without_loadgen_overhead".into(), summary.rates.qps_without_overhead.into()),
            ("early_stopping_latency_ss".into(), judgement.estimate_ns.into()),
            ("early_stopping_latency_ms".into(), judgement.estimate_99th_ns.into()),
        ]
    }
}

/// Rounds up to whole sets; a number that is already whole gets one set more, as the official LoadGen does.
fn whole_sets(queries: u64, set: u64) -> Result<u64, PlanError> {
    let excess = queries.checked_rem(set).ok_or(PlanError::EmptyLibrary { count: "the performance sample count" })?;
    queries.checked_add(set - excess).ok_or_else(|| PlanError::value("min_query_count", &queries, "far too large"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_of_sets_get_one_more() {
        assert_eq!(whole_sets(60, 31), Ok(62));
        assert_eq!(whole_sets(62, 31), Ok(93));
        assert!(whole_sets(5, 0).is_err());
    }
}
