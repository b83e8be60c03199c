//! Server: one sample per query, due at the times of a Poisson process; latency runs from the due time.

use super::{Entry, Gap, Layout, Line, Pacing, Rules, Traffic, effective_rate};
use crate::early_stopping::Rule;
use crate::plan::{Effective, PlanError, Request, Sanitised};
use crate::report::Value;
use crate::results::Measured;
use crate::settings::TestSettings;
use crate::summary::{Metric, Summary};

pub(super) struct Server;

impl Rules for Server {
    fn sanitise(&self, request: Request<'_>, faults: &mut Vec<String>) -> Result<Sanitised, PlanError> {
        let s = request.settings;
        Ok(Sanitised {
            samples_per_query: 1,
            target_qps: effective_rate("server_target_qps", s.server_target_qps, faults)?,
            target_latency_ns: s.server_target_latency_ns,
            target_latency_percentile: s.server_target_latency_percentile,
            max_async_queries: s.server_max_async_queries,
            target_duration_ms: s.min_duration_ms,
            min_query_count: s.min_query_count,
        })
    }

    fn traffic(&self) -> Traffic {
        Traffic { gap: Gap::Poisson, layout: Layout::One, duration_factor: 1 }
    }

    fn pacing(&self) -> Pacing {
        Pacing::Schedule
    }

    fn outstanding_limit(&self, effective: &Effective) -> u64 {
        effective.max_async_queries
    }

    fn coalesces(&self, effective: &Effective) -> bool {
        effective.coalesce_queries
    }

    fn requested(&self, s: &TestSettings) -> Vec<Entry> {
        let decimals = i64::from(s.server_find_peak_qps_decimals_of_precision);
        vec![
            ("server_target_qps".into(), s.server_target_qps.into()),
            ("server_target_latency_ns".into(), s.server_target_latency_ns.into()),
            ("server_target_latency_percentile".into(), s.server_target_latency_percentile.into()),
            ("server_coalesce_queries".into(), s.server_coalesce_queries.into()),
            ("server_find_peak_qps_decimals_of_precision".into(), decimals.into()),
            ("server_find_peak_qps_boundary_step_size".into(), s.server_find_peak_qps_boundary_step_size.into()),
            ("server_max_async_queries".into(), s.server_max_async_queries.into()),
            ("server_num_issue_query_threads".into(), s.server_num_issue_query_threads.into()),
        ]
    }

    fn judged_duration(&self, measured: &Measured) -> (f64, &'static str) {
        let advice = "Increase the target QPS so the loadgen pre-generates more queries.";
        (measured.final_query_scheduled_s, advice)
    }

    fn has_latency_limit(&self) -> bool {
        true
    }

    fn early_stopping(&self) -> Rule {
        Rule::Limit
    }

    fn metric(&self, summary: &Summary) -> Metric {
        let value = summary.rates.completed_samples_per_s;
        Metric::new("result_completed_samples_per_sec", Some(value), "samples/s")
    }

    fn headline(&self, summary: &Summary) -> Line {
        ("Completed samples per second    : ".into(), Value::Fixed(summary.rates.completed_samples_per_s))
    }

    fn token_headline(&self, summary: &Summary) -> Line {
        ("Completed tokens per second: ".into(), Value::Fixed(completed_tokens_per_s(summary)))
    }

    fn inferred_headline(&self, summary: &Summary) -> Option<Line> {
        let inferred = summary.inferred.as_ref()?;
        Some(("Completed tokens per second (inferred): ".into(), Value::Fixed(inferred.completed_tokens_per_s)))
    }

    fn leading_stats(&self, summary: &Summary) -> Vec<Line> {
        vec![("Scheduled samples per second : ".into(), Value::Fixed(summary.rates.scheduled_samples_per_s))]
    }

    fn leading_token_stats(&self, summary: &Summary) -> Vec<Line> {
        let value = Value::Fixed(completed_tokens_per_s(summary));
        vec![("Completed tokens per second                 : ".into(), value)]
    }

    fn results(&self, summary: &Summary) -> Vec<Entry> {
        vec![
            ("result_scheduled_samples_per_sec".into(), summary.rates.scheduled_samples_per_s.into()),
            ("result_completed_samples_per_sec".into(), summary.rates.completed_samples_per_s.into()),
        ]
    }
}

fn completed_tokens_per_s(summary: &Summary) -> f64 {
    summary.tokens.as_ref().map_or(0.0, |tokens| tokens.completed_tokens_per_s)
}
