//! `run --rules v0.5`: tests that the engine of round v0.5 leads, over real nodes.

use std::fs;

use loadgen::vectors::{Numbers, TrafficTrace};
use lon_tests::process::{Finished, LoadGen, SutNode, sut};
use lon_tests::run_folder::RunFolder;
use lon_tests::test_run::TestRun;
use serde_json::Value;

const RULES: [&str; 2] = ["--rules", "v0.5"];

/// Scenarios with settings of few queries, the samples that these come to, and the name of the metric.
const RUNS: [(&str, &str, u64, &str); 4] = [
    ("SingleStream", "min_duration=0,min_query_count=40", 40, "percentile_latency"),
    ("MultiStream", "min_duration=0,min_query_count=6,target_qps=5,samples_per_query=3", 18, "samples_per_query"),
    (
        "Server",
        "min_duration=0,min_query_count=50,target_qps=200,target_latency=3600000",
        50,
        "scheduled_samples_per_second",
    ),
    ("Offline", "min_duration=0,min_query_count=64,target_qps=1", 64, "samples_per_second"),
];

/// Two nodes that answer at once.
fn nodes() -> [SutNode; 2] {
    ["a", "b"].map(|name| SutNode::start(name, "null", &[]))
}

fn run(scenario: &str, set: &str) -> TestRun {
    TestRun::new(scenario).args(&["--max-lag", "3600s"]).args(&RULES).set(set)
}

/// The samples that were asked for, in the order of their ids. Every answer is logged.
fn sample_indices(folder: &RunFolder) -> Vec<u64> {
    let text = fs::read_to_string(folder.path.join("mlperf_log_accuracy.json")).unwrap();
    let mut entries: Vec<Value> = serde_json::from_str(&text).unwrap();
    entries.sort_by_key(|entry| entry["seq_id"].as_u64());
    let ids: Vec<u64> = entries.iter().filter_map(|entry| entry["seq_id"].as_u64()).collect();
    assert_eq!(ids, (0..entries.len() as u64).collect::<Vec<_>>(), "each sample once");
    entries.iter().filter_map(|entry| entry["qsl_idx"].as_u64()).collect()
}

/// The samples that `trace` says these settings ask for.
fn traced(scenario: &str, set: &str) -> Vec<u64> {
    let dataset = ["--benchmark", "synthetic", "--dataset", "synthetic:u8[64]x16", "--scenario", scenario];
    let finished = LoadGen::run(&[&["trace"][..], &dataset, &RULES, &["--set", set]].concat());
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let trace: TrafficTrace = serde_json::from_str(&finished.stdout).unwrap();
    match &trace.phases[0].sample_indices {
        Numbers::Full(indices) => indices.clone(),
        Numbers::Digest(digest) => panic!("{digest:?}"),
    }
}

#[test]
fn every_scenario_asks_what_trace_says_and_is_judged_by_the_round() {
    for (scenario, set, samples, metric) in RUNS {
        let nodes = nodes();
        let set = format!("{set},accuracy_log_probability=100%");
        let (finished, folder) = run(scenario, &set).on(&sut(&nodes)).finish();
        // The ticks of MultiStream are the clock's: a machine that stalls skips some.
        let codes = if scenario == "MultiStream" { &[0, 3][..] } else { &[0][..] };
        assert!(finished.code.is_some_and(|code| codes.contains(&code)), "{scenario}: {finished:?}");
        assert_eq!(sample_indices(&folder), traced(scenario, &set), "{scenario}");
        let result = folder.result();
        assert_eq!((&result["rules"], &result["metric"]["name"]), (&"v0.5".into(), &metric.into()), "{result}");
        assert!(result["metric"]["value"].as_f64().is_some_and(|value| value > 0.0), "{result}");
        assert_eq!((&result["counts"]["issued"], &result["counts"]["completed"]), (&samples.into(), &samples.into()));
        assert_eq!(result["integers"], "division");
        assert_eq!(result["settings_v0_5"]["scenario"], scenario);
        assert_eq!(result["settings_v0_5"]["qsl_rng_seed"], 3_133_965_575_612_453_542_u64);
        assert_eq!(result["intervals"].is_null(), scenario != "MultiStream", "{result}");
        let marks = result["marks"].as_array().unwrap();
        let not_network = |mark: &&Value| mark.as_str().is_some_and(|mark| mark.starts_with("not a Network result"));
        assert_eq!(marks.iter().filter(not_network).count(), 1, "said once: {marks:?}");
        of_the_round(&folder, &finished, result["result"] == "VALID");
    }
}

/// The texts of a run are those of the round, and nothing in them speaks of early stopping.
fn of_the_round(folder: &RunFolder, finished: &Finished, is_valid: bool) {
    let read = |name: &str| fs::read_to_string(folder.path.join(name)).unwrap();
    let summary = read("mlperf_log_summary.txt");
    assert!(summary.contains("SUT name : Network SUT: a, b\n"), "{summary}");
    let word = if is_valid { "VALID" } else { "INVALID" };
    assert!(summary.contains(&format!("\nResult is : {word}\n")), "{summary}");
    assert!(summary.contains("\nqsl_rng_seed : 3133965575612453542\n"), "{summary}");
    let detail = read("mlperf_log_detail.txt");
    assert!(detail.lines().all(|line| line.starts_with("\"pid\": ")), "{detail}");
    assert!(detail.contains(" : lines in the form of round v0.5, with texts of lon "), "{detail}");
    for text in [&summary, &detail, &finished.stdout] {
        assert!(!text.to_lowercase().contains("early stopping"), "{text}");
    }
    assert!(finished.stdout.contains(", by the rules of round v0.5\n"), "{finished:?}");
    assert!(read("report.html").contains("multi_stream_max_async_queries"), "the page has the settings of the round");
    for name in ["network_report.json", "system_desc.json", "timeline.bin"] {
        assert!(folder.path.join(name).exists(), "{name}");
    }
    let exported = LoadGen::run(&["export", folder.arg()]);
    assert_eq!(exported.code, Some(0), "{exported:?}");
    let again = LoadGen::run(&["replay", "--timeline", folder.arg()]);
    assert_eq!(again.code, Some(2), "{again:?}");
    assert!(again.stderr.contains("round v0.5"), "{again:?}");
}

#[test]
fn a_submission_asks_each_sample_and_then_measures() {
    let nodes = nodes();
    let set = "min_duration=0,min_query_count=40";
    let (finished, folder) = run("SingleStream", set).args(&["--mode", "SubmissionRun"]).on(&sut(&nodes)).finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let mut indices = sample_indices(&folder);
    indices.sort_unstable();
    assert_eq!(indices, (0..16).collect::<Vec<_>>());
    let result = folder.result();
    assert_eq!((&result["counts"]["completed"], &result["mode"]), (&56.into(), &"SubmissionRun".into()), "{result}");
    let summary = fs::read_to_string(folder.path.join("mlperf_log_summary.txt")).unwrap();
    assert!(summary.contains("Mode     : Submission\n90th percentile latency (ns) : "), "{summary}");
}

#[test]
fn a_search_that_begins_too_high_says_so() {
    let slow = [SutNode::start("a", "synthetic:constant=20ms", &[])];
    let set = "min_duration=0,min_query_count=5,target_qps=1000,samples_per_query=2";
    let (finished, folder) = run("MultiStream", set).args(&["--mode", "FindPeakPerformance"]).on(&sut(&slow)).finish();
    assert_eq!(finished.code, Some(3), "{finished:?}");
    let result = folder.result();
    assert_eq!(result["find_peak"]["end"], "base_fails", "{result}");
    assert_eq!(result["find_peak"]["bracket"]["high"], 2.0, "{result}");
    assert!(
        finished.stdout.contains("tried keeps the limit: 2 does not, so begin with a lower one; trials: 1"),
        "{finished:?}"
    );
    assert!(finished.stdout.contains("a query caused "), "{finished:?}");
}

#[test]
fn a_search_is_bounded_and_its_trials_are_whole_runs() {
    let nodes = nodes();
    let set = "min_duration=0,min_query_count=2,target_qps=1,samples_per_query=1";
    let search = ["--mode", "FindPeakPerformance", "--find-peak-max-trials", "2"];
    let (finished, folder) = run("MultiStream", set).args(&search).on(&sut(&nodes)).finish();
    assert_eq!(finished.code, Some(3), "{finished:?}");
    assert_eq!(folder.result()["find_peak"]["end"], "too_many_trials");
    let shorter = run("MultiStream", set).args(&search).args(&["--find-peak-trial", "20%"]).on(&sut(&nodes)).finish().0;
    assert_eq!(shorter.code, Some(2), "{shorter:?}");
    assert!(
        shorter.stderr.contains("--find-peak-trial is not for --rules v0.5: each trial is a whole run"),
        "{shorter:?}"
    );
    // A search that has stopped goes on: its trials are known, and count for no limit.
    let record = folder.path.join("find_peak.json");
    let resume = ["--find-peak-resume", record.to_str().unwrap()];
    let (again, more) = run("MultiStream", set).args(&search).args(&resume).on(&sut(&nodes)).finish();
    assert_eq!(again.code, Some(3), "{again:?}");
    let trials = |folder: &RunFolder| folder.result()["find_peak"]["trials"].as_array().unwrap().clone();
    let (before, after) = (trials(&folder), trials(&more));
    assert_eq!((before.len(), after.len()), (2, 4), "{after:?}");
    for (entry, trial) in after.iter().zip(&before) {
        let is_same = ["load", "passed", "p99_ns"].iter().all(|key| entry[*key] == trial[*key]);
        assert!(is_same && entry["known"] == true, "{entry} {trial}");
    }
    assert!(after[2..].iter().all(|trial| trial["known"] == false), "{after:?}");
}

#[test]
fn samples_without_an_answer_end_their_queries_and_make_the_result_invalid() {
    let nodes = [SutNode::start("a", "synthetic:constant=2s", &[])];
    let set = "min_duration=0,min_query_count=2";
    let (finished, folder) = run("SingleStream", set).args(&["--response-timeout", "500ms"]).on(&sut(&nodes)).finish();
    // A node that answers nothing may count as lost by then.
    assert!(matches!(finished.code, Some(3 | 4)), "{finished:?}");
    let result = folder.result();
    assert_eq!(result["result"], "INVALID", "{result}");
    assert_eq!((&result["counts"]["issued"], &result["counts"]["failed"]), (&2.into(), &2.into()), "{result}");
    assert!(result["metric"]["value"].is_null(), "{result}");
    let summary = fs::read_to_string(folder.path.join("mlperf_log_summary.txt")).unwrap();
    assert!(summary.contains("\nResult is : INVALID\n") && summary.contains("  Not valid, because: "), "{summary}");
}

#[test]
fn of_repeated_runs_the_one_with_the_least_performance_counts() {
    let nodes = nodes();
    let (finished, folder) =
        run("Offline", RUNS[3].1).args(&["--repeat", "2", "--take", "min"]).on(&sut(&nodes)).finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let text = fs::read_to_string(format!("{}-repeats.json", folder.path.display())).unwrap();
    let repeats: Value = serde_json::from_str(&text).unwrap();
    let metric = &repeats["spreads"][0];
    assert_eq!(
        (&metric["name"], &repeats["taken"]["value"]),
        (&"samples_per_second".into(), &metric["min"]),
        "{repeats}"
    );
    let taken = repeats["taken"]["folder"].as_str().unwrap();
    let run = repeats["runs"].as_array().unwrap().iter().find(|run| run["folder"] == taken).unwrap();
    assert_eq!(run["metric"], repeats["taken"]["value"]);
    assert!(finished.stdout.contains("Taken     least performance: samples_per_second = "), "{finished:?}");
}

#[test]
fn conf_has_the_settings_of_the_round() {
    let conf = |model: &str, scenario: &str| {
        let args = ["conf", "--benchmark", model, "--scenario", scenario, "--json"];
        let finished = LoadGen::run(&[&args[..], &RULES].concat());
        assert_eq!(finished.code, Some(0), "{finished:?}");
        serde_json::from_str::<Value>(&finished.stdout).unwrap()
    };
    let server = conf("resnet50", "Server");
    assert_eq!((&server["rules"], &server["integers"]), (&"v0.5".into(), &"division".into()));
    let setting = |document: &Value, name: &str| document["settings"][name].clone();
    assert_eq!(setting(&server, "server_target_latency_ns")["value"], 15_000_000);
    assert_eq!(setting(&server, "min_query_count")["value"], 270_336);
    assert_eq!(setting(&server, "min_query_count")["origin"], "round v0.5");
    assert_eq!(setting(&server, "qsl_rng_seed")["value"], 3_133_965_575_612_453_542_u64);
    assert!(setting(&server, "server_ttft_latency").is_null(), "a setting of later rounds");
    let multi = conf("ssd-resnet34", "MultiStream");
    assert_eq!(setting(&multi, "multi_stream_target_qps")["value"], 15.0);
    assert_eq!(multi["effective"]["target_latency_ns"], 66_666_666);
}

#[test]
fn what_the_round_has_not_is_refused_with_words() {
    let nowhere = ["--sut", "127.0.0.1:9"];
    let benchmark = ["--benchmark", "synthetic", "--dataset", "synthetic:u8[64]x16"];
    let refused = |scenario: &str, more: &[&str]| {
        let finished = LoadGen::run(&[&["run", "--scenario", scenario][..], &nowhere, &benchmark, more].concat());
        assert_eq!(finished.code, Some(2), "{more:?}: {finished:?}");
        finished.stderr
    };
    for (scenario, more, phrase) in [
        ("Server", &["--set", "ttft_latency=5"][..], "no setting 'ttft_latency' in Server of round v0.5"),
        ("MultiStream", &["--set", "target_latency=5"], "no setting 'target_latency' in MultiStream of round v0.5"),
        ("Offline", &["--set", "target_qps=auto"], "find none by a look at the nodes"),
        ("Offline", &["--extend"], "--extend is not for --rules v0.5"),
        ("Server", &["--division", "network"], "round v0.5 has no Network division"),
        ("Offline", &["--mode", "FindPeakPerformance"], "FindPeakPerformance is not available for Offline"),
    ] {
        let message = refused(scenario, &[&RULES, more].concat());
        assert!(message.contains(phrase), "{more:?}: {message}");
    }
    let message = refused("MultiStream", &["--set", "max_async_queries=2", "--rules", "v6.1"]);
    assert!(message.contains("no setting 'max_async_queries' in MultiStream"), "{message}");
}
