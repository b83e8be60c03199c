//! The report that given latencies come to: the document, and the vector that it is made from.

use serde::{Deserialize, Serialize};

use super::form::{VectorError, from_vector};
use crate::judge::{Counts, Measured, Summary, Verdict};
use crate::mode::Qsl;
use crate::plan::Plan;
use crate::report::{Trailer, result_keys, summary_text};
use crate::scenarios::TestSettings;
use crate::trace::MAX_SAMPLES_PER_PHASE;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    sut_name: String,
    qsl: Qsl,
    settings: TestSettings,
    result: InputResult,
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

impl InputResult {
    /// Refuses what no run can have measured.
    fn measured(self) -> Result<Measured, VectorError> {
        let result = self;
        if result.queries_issued > MAX_SAMPLES_PER_PHASE {
            let why = format!("{} queries, and {MAX_SAMPLES_PER_PHASE} are the most of a run", result.queries_issued);
            return Err(VectorError::Value { key: "result.queries_issued", why });
        }
        let tokens = result.tokens_per_sample.iter().try_fold(0, |sum: i64, tokens| sum.checked_add(*tokens));
        let tokens = tokens.ok_or_else(|| VectorError::Value {
            key: "result.tokens_per_sample",
            why: "the sum does not fit 64 bits".to_owned(),
        })?;
        Ok(Measured {
            sample_latencies_ns: result.sample_latencies.into(),
            query_latencies_ns: result.query_latencies.into(),
            first_token_latencies_ns: result.first_token_latencies.into(),
            times_per_token_ns: result.time_per_output_token.into(),
            tokens,
            queries_issued: result.queries_issued,
            max_latency_s: result.max_latency,
            final_query_scheduled_s: result.final_query_scheduled_time,
            final_query_issued_s: result.final_query_issued_time,
            final_query_done_s: result.final_query_all_samples_done_time,
            ..Measured::default()
        })
    }
}

/// A report, as `replay --report-vector` and `replay --timeline --json` print it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ReplayedReport {
    /// The text of `mlperf_log_summary.txt`.
    pub summary: String,
    /// The result keys of `mlperf_log_detail.txt`, in its order: key, and the text of its value as that file has it.
    pub detail: Vec<(String, String)>,
}

impl ReplayedReport {
    /// Renders `summary`, which was judged by `plan`.
    pub(super) fn new(
        plan: &Plan,
        summary: &Summary,
        verdict: &Verdict,
        sut_name: &str,
        trailer: Trailer,
    ) -> ReplayedReport {
        let keys = result_keys(plan.effective().scenario, summary, verdict, trailer.errors).into_iter();
        ReplayedReport {
            summary: summary_text(plan, summary, verdict, sut_name, trailer),
            detail: keys.map(|(key, value)| (key.to_owned(), value.detail())).collect(),
        }
    }
}

/// The report that the latencies of a vector come to.
///
/// # Errors
/// The input has another form, or its settings are out of range.
pub fn replay_report(input: &str) -> Result<ReplayedReport, VectorError> {
    let input: Input = from_vector(input)?;
    let plan = Plan::for_judging(input.settings, input.qsl)?;
    let measured = input.result.measured()?;
    Ok(report(&plan, measured, &input.sut_name, Trailer::default()))
}

/// The report of samples that were all answered.
pub(crate) fn report(plan: &Plan, measured: Measured, sut_name: &str, trailer: Trailer) -> ReplayedReport {
    let counts = Counts::all_answered(measured.sample_latencies_ns.count());
    let summary = plan.effective().judge(measured);
    let verdict = Verdict::new(Some(&summary), &counts);
    ReplayedReport::new(plan, &summary, &verdict, sut_name, trailer)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn refused(change: impl FnOnce(&mut Value)) -> String {
        let mut vector = json!({
            "name": "x", "note": "ignored", "sut_name": "s", "qsl": {"total": 4, "performance": 4}, "settings": {},
            "result": {
                "sample_latencies": [5, 6], "tokens_per_sample": [2, 3], "queries_issued": 2, "max_latency": 1.0,
                "final_query_scheduled_time": 1.0, "final_query_issued_time": 1.0,
                "final_query_all_samples_done_time": 1.0,
            },
        });
        assert!(replay_report(&vector.to_string()).is_ok());
        change(&mut vector);
        replay_report(&vector.to_string()).unwrap_err().to_string()
    }

    #[test]
    fn what_no_run_measures_is_an_error_that_names_its_key() {
        let message = refused(|vector| vector["result"]["tokens_per_sample"] = json!([i64::MAX, 1]));
        assert!(message.contains("result.tokens_per_sample"), "{message}");
        let message = refused(|vector| vector["result"]["queries_issued"] = json!(u64::MAX));
        assert!(message.contains("result.queries_issued"), "{message}");
        let message = refused(|vector| vector["result"]["max_latenzy"] = json!(1.0));
        assert!(message.contains("max_latenzy"), "{message}");
    }
}
