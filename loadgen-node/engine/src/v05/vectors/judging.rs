//! Verdicts: the values in force, the measured times, the verdict and the lines of the summary.

use serde_json::Value;

use super::super::effective::Effective;
use super::super::judge::Measured;
use super::super::summary::{Summary, broken_rules, errors_line, verdict};
use super::facts::Fact;
use super::scripted_run::{SUT, ScriptedRun};
use crate::traffic::Layout;

pub(super) fn facts(run: &ScriptedRun) -> Vec<(&'static str, Fact)> {
    let errors = run.outcome.errors.len();
    let mut expected = vec![
        ("error_lines_in_detail_log", Fact::is(errors)),
        ("errors_line", Fact::is(errors_line(errors))),
        ("report_latency_results_calls", Fact::is(u64::from(run.outcome.reported.is_some()))),
    ];
    let Some((series, reported)) = run.reported() else {
        expected.push(("summary_sections", Fact::is(vec!["tail"])));
        return vec![("expected", Fact::Some(expected))];
    };
    let summary = Summary::new(SUT, &series.effective, &reported.measured, reported.judgement);
    let sections = summary.stats.iter().map(|(name, lines)| ((*name).to_owned(), Fact::lines(lines))).collect();
    expected.extend([
        ("verdict", Fact::is(verdict(reported.judgement.is_valid()))),
        ("failed_rules", Fact::is(broken_rules(reported.judgement))),
        ("summary", Fact::lines(&summary.result)),
        ("stats", Fact::All(sections)),
        ("parameters", Fact::lines(&summary.parameters)),
    ]);
    vec![
        ("effective", effective(&series.effective)),
        ("measured", measured(&series.effective, &reported.measured)),
        ("expected", Fact::Some(expected)),
    ]
}

fn effective(effective: &Effective) -> Fact {
    Fact::Some(vec![
        ("samples_per_query", Fact::is(effective.samples_per_query)),
        ("target_qps", Fact::is(effective.target_qps)),
        ("target_latency_ns", Fact::is(effective.target_latency_ns)),
        ("target_latency_percentile", Fact::is(effective.target_latency_percentile)),
        ("max_async_queries", Fact::is(effective.max_async_queries)),
        ("min_duration_ms", Fact::is(effective.requested.min_duration_ms)),
        ("min_query_count", Fact::is(effective.min_query_count)),
        ("min_sample_count", Fact::is(effective.min_sample_count)),
    ])
}

fn measured(effective: &Effective, measured: &Measured) -> Fact {
    let list = |values: &[u64]| Fact::Is(Value::from(values));
    let mut facts = vec![
        ("queries_issued", Fact::is(measured.queries_issued)),
        ("sample_latencies_ns", list(&measured.sample_latencies_ns)),
        ("max_latency_ns", Fact::is(measured.max_latency_ns)),
        ("final_query_issued_ns", Fact::is(measured.final_query_issued_ns)),
        ("final_query_scheduled_ns", Fact::is(measured.final_query_scheduled_ns)),
        ("final_query_all_done_ns", Fact::is(measured.final_query_all_done_ns)),
    ];
    if effective.shape.layout == Layout::Window {
        facts.push(("query_latencies_ns", list(&measured.query_latencies_ns)));
        facts.push(("query_intervals", list(&measured.query_intervals)));
    }
    Fact::Some(facts)
}
