//! Offline is compared by its rate: samples over the time until the last of them was answered.

use super::headlines::Headlines;
use super::measured::Measured;
use super::rules::{Judge, JudgedDuration};
use super::summary::{Metric, Rates, Summary, TokenSummary};
use crate::value::{Entry, Line};

/// The judging of Offline.
pub(crate) struct Offline;

impl Judge for Offline {
    fn judged_duration(&self, measured: &Measured) -> JudgedDuration {
        let advice = "Increase expected QPS so the loadgen pre-generates a larger (coalesced) query.";
        JudgedDuration { seconds: measured.max_latency_s, advice }
    }

    fn metric(&self, rates: &Rates, _estimate_ns: Option<f64>) -> Metric {
        Metric::new("result_samples_per_second", Some(rates.samples_per_s), "samples/s")
    }

    fn has_token_latencies(&self) -> bool {
        false
    }

    fn tokens_per_s(&self, tokens: &TokenSummary) -> f64 {
        tokens.tokens_per_s
    }
}

impl Headlines for Offline {
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

    fn results(&self, summary: &Summary) -> Vec<Entry> {
        vec![("result_samples_per_second".into(), summary.rates.samples_per_s.into())]
    }
}
