//! Scenario Closed is compared by its rate. Where a limit is set, a percentile of the latency must stay within it.

use super::headlines::Headlines;
use super::measured::Measured;
use super::phase_limits::Terms;
use super::rules::{Judge, JudgedDuration};
use super::summary::{Metric, Rates, Summary};
use crate::value::{Entry, Line, Value};

/// The judging of Closed.
pub(crate) struct Closed;

impl Judge for Closed {
    fn judged_duration(&self, measured: &Measured) -> JudgedDuration {
        let advice = "Increase most_qps so the loadgen makes room for more queries.";
        JudgedDuration { seconds: measured.final_query_issued_s, advice }
    }

    fn has_latency_limit(&self, terms: &Terms) -> bool {
        terms.target_latency_ns > 0
    }

    fn metric(&self, rates: &Rates, _estimate_ns: Option<f64>) -> Metric {
        Metric::new("result_closed_samples_per_sec", Some(rates.completed_samples_per_s), "samples/s")
    }
}

impl Headlines for Closed {
    fn headline(&self, summary: &Summary) -> Line {
        ("Completed samples per second    : ".into(), Value::Fixed(summary.rates.completed_samples_per_s))
    }

    fn token_headline(&self, summary: &Summary) -> Line {
        let tokens_per_s = summary.tokens.as_ref().map_or(0.0, |tokens| tokens.completed_tokens_per_s);
        ("Completed tokens per second: ".into(), Value::Fixed(tokens_per_s))
    }

    fn leading_stats(&self, summary: &Summary) -> Vec<Line> {
        let Some(users) = &summary.users else { return Vec::new() };
        vec![
            ("Users                           : ".into(), users.users.into()),
            ("Mean queries in flight          : ".into(), Value::Fixed(users.in_flight)),
        ]
    }

    fn results(&self, summary: &Summary) -> Vec<Entry> {
        let rate = summary.rates.completed_samples_per_s;
        let mut results = vec![("result_closed_samples_per_sec".into(), rate.into())];
        if let Some(users) = &summary.users {
            results.push(("result_closed_users".into(), users.users.into()));
            results.push(("result_closed_mean_in_flight".into(), users.in_flight.into()));
        }
        results
    }
}
