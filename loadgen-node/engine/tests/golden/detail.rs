//! Detail logs of whole runs: the official keys in the official order, and the official values of everything that does
//! not depend on time.
//!
//! `error_runtime` and `result_invalid_reason` are left out, as they depend on how fast the SUT was. So is a warning
//! about the memory of the official logger.

use loadgen::plan::Plan;
use loadgen::report::detail::{DetailContext, render};
use loadgen::run::{RunOptions, RunOutcome, run};
use loadgen::settings::{Qsl, TestSettings};
use loadgen::sim::{Service, SimOptions, SimWorld};
use loadgen::world::TimeNs;
use serde::Deserialize;
use serde_json::Value;

use crate::vectors;

#[derive(Deserialize)]
struct Case {
    qsl: Qsl,
    settings: TestSettings,
    n_tokens: Option<i64>,
    detail: Vec<(String, Option<String>)>,
}

fn cases() -> Vec<(String, Case)> {
    let (_, text) = vectors("detail_logs").remove(0);
    let cases: serde_json::Map<String, Value> = serde_json::from_str(&text).unwrap();
    cases.into_iter().map(|(name, case)| (name, serde_json::from_value(case).unwrap())).collect()
}

fn log_of(case: &Case) -> String {
    let plan = Plan::new(case.settings.clone(), case.qsl).unwrap();
    let options =
        SimOptions { service: Service::Constant { ns: 400_000 }, tokens: case.n_tokens, ..SimOptions::default() };
    let outcome: RunOutcome = run(&plan, &mut SimWorld::new(options), &mut (), RunOptions::default());
    let context = DetailContext {
        version: "0.0.0",
        sut_name: "a \"quoted\" name",
        sut_name_duration_ns: 107,
        qsl_name: "qsl",
        start: TimeNs(0),
        start_unix_ns: 1_763_632_949_516_000_000,
        pid: 7,
        tid: 8,
    };
    render(&plan, &outcome, &context)
}

/// Key and raw value of each line, after checking that the line is what parsers expect.
fn entries(log: &str) -> Vec<(String, String)> {
    log.lines()
        .map(|line| {
            let object = line.strip_prefix(":::MLLOG ").unwrap();
            let parsed: Value = serde_json::from_str(object).unwrap_or_else(|error| panic!("{error}: {line}"));
            assert_eq!(parsed["event_type"], "POINT_IN_TIME");
            let metadata: Vec<&String> = parsed["metadata"].as_object().unwrap().keys().collect();
            assert_eq!(metadata, ["is_error", "is_warning", "file", "line_no", "pid", "tid"]);
            let (value, _) = object.split_once("\"value\": ").unwrap().1.split_once(", \"time_ms\": ").unwrap();
            (parsed["key"].as_str().unwrap().to_owned(), value.to_owned())
        })
        .collect()
}

#[test]
fn keys_order_and_settled_values_are_official() {
    let cases = cases();
    assert_eq!(cases.len(), 13);
    for (name, case) in cases {
        let ours: Vec<(String, String)> = entries(&log_of(&case))
            .into_iter()
            .filter(|(key, _)| !key.starts_with("lon_") && key != "error_runtime" && key != "result_invalid_reason")
            .collect();
        for ((key, value), (official_key, official_value)) in ours.iter().zip(&case.detail) {
            assert_eq!(key, official_key, "{name}");
            assert!(official_value.as_ref().is_none_or(|official| official == value), "{name}: {key} = {value}");
        }
        assert_eq!(ours.len(), case.detail.len(), "{name}");
    }
}

#[test]
fn the_log_says_that_it_is_not_official() {
    let log = log_of(&cases()[0].1);
    assert!(log.contains(r#""key": "loadgen_version", "value": "lon 0.0.0, unofficial""#));
    assert!(log.contains(r#""key": "test_datetime", "value": "2025-11-20T10:02:29Z""#));
    assert!(log.contains(r#""key": "power_begin", "value": "11-20-2025 10:02:29.516""#));
}
