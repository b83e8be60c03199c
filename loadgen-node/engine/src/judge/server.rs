//! Server is compared by its rate; a percentile of the latency must stay within a limit.

use super::early_stopping::Rule;
use super::headlines::Headlines;
use super::measured::Measured;
use super::phase_limits::Terms;
use super::rules::{Judge, JudgedDuration};
use super::summary::{Metric, Rates, Summary};
use crate::value::{Entry, Line, Value};

/// The judging of Server.
pub(crate) struct Server;

impl Judge for Server {
    fn judged_duration(&self, measured: &Measured) -> JudgedDuration {
        let advice = "Increase the target QPS so the loadgen pre-generates more queries.";
        JudgedDuration { seconds: measured.final_query_scheduled_s, advice }
    }

    fn has_latency_limit(&self, _terms: &Terms) -> bool {
        true
    }

    fn early_stopping(&self) -> Rule {
        Rule::Limit
    }

    fn metric(&self, rates: &Rates, _estimate_ns: Option<f64>) -> Metric {
        Metric::new("result_completed_samples_per_sec", Some(rates.completed_samples_per_s), "samples/s")
    }
}

impl Headlines for Server {
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

/// 0 when the run has no tokens.
fn completed_tokens_per_s(summary: &Summary) -> f64 {
    summary.tokens.as_ref().map_or(0.0, |tokens| tokens.completed_tokens_per_s)
}
