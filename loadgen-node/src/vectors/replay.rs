//! The report that given latencies come to, as JSON.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::VectorError;
use crate::plan::Plan;
use crate::report::{Trailer, result_keys, summary_text};
use crate::results::{Measured, judge};
use crate::settings::{Qsl, TestSettings};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    sut_name: String,
    qsl: Qsl,
    settings: TestSettings,
    result: InputResult,
    #[serde(rename = "name")]
    _name: Option<IgnoredAny>,
    #[serde(rename = "kind")]
    _kind: Option<IgnoredAny>,
    #[serde(rename = "note")]
    _note: Option<IgnoredAny>,
    #[serde(rename = "expected")]
    _expected: Option<IgnoredAny>,
    #[serde(rename = "ground_truth")]
    _ground_truth: Option<IgnoredAny>,
}

/// Latencies in ns, times in seconds; samples in any one order.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InputResult {
    sample_latencies: Vec<i64>,
    #[serde(default)]
    query_latencies: Vec<i64>,
    #[serde(default)]
    first_token_latencies: Vec<i64>,
    #[serde(default)]
    time_per_output_token: Vec<i64>,
    #[serde(default)]
    tokens_per_sample: Vec<i64>,
    queries_issued: u64,
    max_latency: f64,
    final_query_scheduled_time: f64,
    final_query_issued_time: f64,
    final_query_all_samples_done_time: f64,
}

impl From<InputResult> for Measured {
    fn from(result: InputResult) -> Self {
        Self {
            sample_latencies_ns: result.sample_latencies,
            query_latencies_ns: result.query_latencies,
            first_token_latencies_ns: result.first_token_latencies,
            times_per_token_ns: result.time_per_output_token,
            tokens: result.tokens_per_sample.iter().sum(),
            queries_issued: result.queries_issued,
            max_latency_s: result.max_latency,
            final_query_scheduled_s: result.final_query_scheduled_time,
            final_query_issued_s: result.final_query_issued_time,
            final_query_done_s: result.final_query_all_samples_done_time,
        }
    }
}

/// The summary file and the result keys of the detail log: `{"summary": TEXT, "detail": [[KEY, TEXT OF VALUE], ...]}`.
///
/// # Errors
/// The input has another form, or its settings are out of range.
pub fn replay_report(input: &str) -> Result<Value, VectorError> {
    let input: Input = serde_json::from_str(input)?;
    let plan = Plan::for_judging(input.settings, input.qsl)?;
    let summary = judge(plan.effective(), input.result.into());
    let detail: Vec<Value> =
        result_keys(&summary, 0).into_iter().map(|(key, value)| json!([key, value.detail()])).collect();
    Ok(json!({
        "summary": summary_text(&plan, &summary, &input.sut_name, Trailer::default()),
        "detail": detail,
    }))
}
