//! Logs of made-up official runs. They are written by this engine's own reports, with the events around them that the
//! official trace has, so that every scenario is there without the official LoadGen.

use std::io::BufRead as _;

use super::{Agreement, Comparison, DetailLog, Logs, TokenCounts, TraceLog, compare, compare_by};
use crate::plan::Plan;
use crate::report::{Trailer, detail, summary_text, trace_log};
use crate::run::{RunOptions, RunOutcome, run};
use crate::settings::{IntegerRule, Profile, Qsl, Scenario, SetRule, TestSettings};
use crate::sim::{SimOptions, SimWorld};
use crate::world::TimeNs;

const TOKENS: i64 = 5;

/// The texts of an official run.
#[derive(Clone)]
struct Texts {
    detail: String,
    summary: String,
    trace: String,
    accuracy: String,
}

impl Texts {
    fn of(settings: TestSettings) -> Texts {
        Texts::by(settings, Qsl { total: 90, performance: 80 }, Profile::NEWEST)
    }

    fn by(settings: TestSettings, qsl: Qsl, profile: Profile) -> Texts {
        let tokens = settings.use_token_latencies.then_some(TOKENS);
        let plan = Plan::with_profile(settings, qsl, profile).unwrap();
        let sim = SimOptions { tokens, ..SimOptions::default() };
        let options = RunOptions { keep_issue_times: true, ..RunOptions::default() };
        let outcome = run(&plan, &mut SimWorld::new(sim), &mut (), options);
        let context = detail::DetailContext {
            version: "0",
            sut_name: "made up",
            sut_name_duration_ns: 0,
            qsl_name: "",
            start: TimeNs(0),
            start_unix_ns: 0,
            pid: 1,
            tid: 2,
        };
        let summary = outcome.summary.as_ref().unwrap();
        let trailer = Trailer { warnings: outcome.events.warnings(), errors: outcome.events.errors() };
        let answered = 0..outcome.counts().issued;
        let answer =
            |seq| format!("{{ \"seq_id\" : {seq}, \"qsl_idx\" : 0, \"data\" : \"\", \"token_count\" : 5 }},\n");
        Texts {
            detail: detail::render(&plan, &outcome, &context),
            summary: summary_text(&plan, summary, &outcome.verdict, "made up", trailer),
            trace: trace_of(&plan, &outcome, &context),
            accuracy: format!("[\n{}]\n", answered.map(answer).collect::<String>()),
        }
    }

    fn compared(&self, has_trace: bool) -> Comparison {
        let trace = if has_trace { TraceLog::read(self.trace.as_bytes().lines()).unwrap() } else { None };
        let tokens = TokenCounts::read(self.accuracy.as_bytes().lines()).ok().filter(|_| has_trace);
        let detail = DetailLog::read(self.detail.as_bytes().lines()).unwrap();
        compare(&Logs { detail, summary: self.summary.clone(), trace, tokens }).unwrap()
    }
}

/// The trace with the events around its samples that say when the phase began.
fn trace_of(plan: &Plan, outcome: &RunOutcome, context: &detail::DetailContext<'_>) -> String {
    let mut bytes = Vec::new();
    trace_log::write(plan, outcome, context, &mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let started_us = outcome.performance().unwrap().started.0 as f64 / 1e3;
    let fields = format!("\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":{started_us:.3},\"dur\":0.000,\"args\":{{}}}},\n");
    let events = ["GenerateQueries", "SampleLoop"].map(|name| format!("{{\"name\":\"{name}\",{fields}"));
    text.replacen("[\n", &format!("[\n{}", events.concat()), 1)
}

fn settings(scenario: Scenario, tokens: bool) -> TestSettings {
    TestSettings {
        scenario,
        min_duration_ms: 200,
        min_query_count: 100,
        server_target_qps: 700.0,
        offline_expected_qps: 2_000.0,
        use_token_latencies: tokens,
        accuracy_log_probability: 1.0,
        ..TestSettings::default()
    }
}

fn differences(compared: &Comparison) -> Vec<String> {
    let differing = compared.quantities.iter().filter(|quantity| quantity.agreement == Agreement::Differs);
    differing.map(|quantity| format!("{quantity:?}")).collect()
}

fn unchecked(compared: &Comparison) -> Vec<&str> {
    let unchecked = compared.quantities.iter().filter(|quantity| quantity.agreement == Agreement::Unchecked);
    unchecked.map(|quantity| quantity.name.as_str()).collect()
}

#[test]
fn with_a_trace_everything_is_compared_in_every_scenario() {
    for scenario in Scenario::OFFICIAL {
        for tokens in [false, true] {
            let compared = Texts::of(settings(scenario, tokens)).compared(true);
            assert_eq!(differences(&compared), Vec::<String>::new(), "{scenario:?} {tokens}");
            // The detail log has the limits of tokens in some scenarios alone.
            let is_silent = tokens && !scenario.judge().has_token_latencies();
            let silent: &[&str] = if is_silent { &["ttft_latency (ns)", "tpot_latency (ns)"] } else { &[] };
            assert_eq!(unchecked(&compared), silent, "{scenario:?} {tokens}");
            assert!(compared.ours.is_some() && compared.ours == compared.official, "{scenario:?}");
            assert!(compared.trace.is_some_and(|trace| trace.start_uncertain_ns == 0), "{scenario:?}");
        }
    }
}

#[test]
fn an_altered_number_is_named() {
    let texts = Texts::of(settings(Scenario::SERVER, false));
    let compared = |change: &dyn Fn(&mut Texts)| {
        let mut altered = texts.clone();
        change(&mut altered);
        let compared = altered.compared(true);
        compared.first_difference().map(|quantity| quantity.name.clone()).unwrap_or_default()
    };
    let detail = |from: &str, to: &str| {
        assert!(texts.detail.contains(from), "{from}");
        compared(&|texts| texts.detail = texts.detail.replace(from, to))
    };
    assert_eq!(
        detail("\"result_query_count\", \"value\": ", "\"result_query_count\", \"value\": 9"),
        "result_query_count"
    );
    assert_eq!(
        detail("\"effective_min_query_count\", \"value\": 100", "\"effective_min_query_count\", \"value\": 99"),
        "effective_min_query_count"
    );
    assert_eq!(detail("\"result_min_duration_met\"", "\"result_min_duration_mett\""), "result_min_duration_mett");
    assert_eq!(
        compared(&|texts| texts.summary =
            texts.summary.replace("Mean latency (ns)               : ", "Mean latency (ns)               : 1")),
        "Mean latency (ns)"
    );
    let difference = compared(&|texts| texts.trace = texts.trace.replacen("\"complete_ns\":", "\"complete_ns\":1", 1));
    assert!(difference.starts_with("end of sample "), "{difference}");
}

#[test]
fn loaded_sets_are_those_that_some_release_draws() {
    let compared = |profile, integers, change: [&str; 2]| {
        let qsl = Qsl { total: 6_000, performance: 5_000 };
        let texts = Texts::by(TestSettings { qsl_rng_seed: 7, ..settings(Scenario::OFFLINE, false) }, qsl, profile);
        let detail = texts.detail.replacen(change[0], change[1], 1);
        let logs = Logs {
            detail: DetailLog::read(detail.as_bytes().lines()).unwrap(),
            summary: texts.summary,
            trace: None,
            tokens: None,
        };
        let quantities = compare_by(&logs, integers).unwrap().quantities;
        let loaded_set = quantities.into_iter().find(|quantity| quantity.name == "loaded_qsl_set").unwrap();
        (loaded_set.agreement, loaded_set.note.unwrap())
    };
    let verdict_of = |agreement, integers, from| {
        let how = if agreement == Agreement::Same { "drawn" } else { "compared with" };
        (agreement, format!("{how}: integers by {integers}, from {from}"))
    };
    let (same, differs, as_it_is) = (Agreement::Same, Agreement::Differs, [""; 2]);
    let (below, whole) = ("the samples below the performance count", "the whole library");
    let from_source = Profile { integers: IntegerRule::Division, set: SetRule::BelowPerformanceCount };
    for (profile, integers, from) in [
        (Profile::NEWEST, "product", below),
        (Profile::BEFORE_6_0_6, "product", whole),
        (Profile::GCC_10, "division", whole),
        (from_source, "division", below),
    ] {
        assert_eq!(compared(profile, None, as_it_is), verdict_of(same, integers, from));
        assert_eq!(compared(profile, Some(profile.integers), as_it_is), verdict_of(same, integers, from));
    }
    let by_division = Some(IntegerRule::Division);
    assert_eq!(compared(Profile::GCC_10, Some(IntegerRule::Product), as_it_is), verdict_of(differs, "product", below));
    assert_eq!(compared(Profile::NEWEST, by_division, as_it_is), verdict_of(differs, "division", whole));
    let altered = ["\"loaded_qsl_set\", \"value\": [", "\"loaded_qsl_set\", \"value\": [1,"];
    assert_eq!(compared(Profile::NEWEST, None, altered), verdict_of(differs, "product", below));
}

#[test]
fn a_library_that_is_too_large_to_be_drawn_from_is_refused() {
    let qsl = Qsl { total: 6_000, performance: 5_000 };
    let texts = Texts::by(settings(Scenario::OFFLINE, false), qsl, Profile::NEWEST);
    let key = "\"qsl_reported_total_count\", \"value\": ";
    let detail = texts.detail.replacen(&format!("{key}6000"), &format!("{key}4000000000"), 1);
    let logs = Logs {
        detail: DetailLog::read(detail.as_bytes().lines()).unwrap(),
        summary: texts.summary,
        trace: None,
        tokens: None,
    };
    assert!(compare(&logs).unwrap_err().to_string().contains("4000000000 samples"));
}

/// A detail log with another number under a key.
fn with(detail: &str, key: &str, value: u64) -> String {
    let key = format!("\"{key}\", \"value\": ");
    let (before, after) = detail.split_once(&key).unwrap();
    format!("{before}{key}{value}{}", &after[after.find(',').unwrap()..])
}

#[test]
fn a_mean_that_overflowed_is_named_as_such() {
    let texts = Texts::of(settings(Scenario::OFFLINE, false));
    let mean = |detail: &str| {
        let detail = DetailLog::read(with(detail, "result_mean_latency_ns", 1).as_bytes().lines()).unwrap();
        let logs = Logs { detail, summary: texts.summary.clone(), trace: None, tokens: None };
        let quantities = compare(&logs).unwrap().quantities;
        let mean_quantity = quantities.into_iter().find(|quantity| quantity.name == "result_mean_latency_ns").unwrap();
        (mean_quantity.agreement, mean_quantity.note.unwrap_or_default())
    };
    assert_eq!(mean(&texts.detail), (Agreement::Differs, String::new()));
    let (agreement, note) = mean(&with(&texts.detail, "result_max_latency_ns", i64::MAX.unsigned_abs() / 100));
    assert!(agreement == Agreement::Unchecked && note.starts_with("overflowed"), "{note}");
}

/// Of 64 GB that a few kB of log claim, nothing is taken.
#[test]
fn a_count_that_a_log_claims_takes_no_memory() {
    let texts = Texts::of(settings(Scenario::OFFLINE, false));
    let count = 1 << 32;
    let detail = with(&with(&texts.detail, "result_query_count", count), "generated_samples_per_query", 1);
    let detail = DetailLog::read(detail.as_bytes().lines()).unwrap();
    let logs = Logs { detail, summary: texts.summary, trace: None, tokens: None };
    let compared = compare(&logs).unwrap();
    let samples = compared.quantities.iter().find(|quantity| quantity.name == "result_query_count").unwrap();
    assert_eq!(samples.official.as_deref(), Some(count.to_string().as_str()), "{samples:?}");
    assert_eq!(samples.agreement, Agreement::Unchecked, "{samples:?}");
}

#[test]
fn without_a_trace_the_verdict_of_server_and_offline_follows_from_the_numbers() {
    for scenario in [Scenario::SERVER, Scenario::OFFLINE] {
        for target_ns in [1, 100_000_000] {
            let texts = Texts::of(TestSettings { server_target_latency_ns: target_ns, ..settings(scenario, false) });
            let compared = texts.compared(false);
            assert_eq!(differences(&compared), Vec::<String>::new(), "{scenario:?}");
            assert!(compared.ours.is_some() && compared.ours == compared.official, "{scenario:?} {compared:?}");
            assert!(unchecked(&compared).contains(&"result_mean_latency_ns"), "{scenario:?}");
        }
    }
    let scheduled = |compared: &Comparison| {
        compared.quantities.iter().find(|q| q.name == "result_scheduled_samples_per_sec").map(|q| q.agreement)
    };
    assert_eq!(scheduled(&Texts::of(settings(Scenario::SERVER, false)).compared(false)), Some(Agreement::Same));
}

#[test]
fn without_a_trace_a_verdict_that_the_numbers_contradict_differs() {
    let texts = Texts::of(settings(Scenario::SERVER, false));
    let met = |word: &str| format!("\"early_stopping_met\", \"value\": {word}");
    // The run is too short for early stopping.
    assert!(texts.detail.contains(&met("false")));
    let compared = Texts { detail: texts.detail.replace(&met("false"), &met("true")), ..texts }.compared(false);
    assert_eq!(compared.first_difference().map(|quantity| quantity.name.as_str()), Some("early_stopping_met"));
}

#[test]
fn without_token_counts_the_times_per_token_are_unchecked() {
    let texts = Texts { accuracy: "[\n]\n".to_owned(), ..Texts::of(settings(Scenario::SINGLE_STREAM, true)) };
    let compared = texts.compared(true);
    assert_eq!(differences(&compared), Vec::<String>::new());
    let unchecked = unchecked(&compared);
    for name in ["result_time_to_output_token_max", "result_completed_tokens_per_second"] {
        assert!(unchecked.contains(&name), "{unchecked:?}");
    }
    assert!(!unchecked.contains(&"result_first_token_mean_latency_ns"), "{unchecked:?}");
}

#[test]
fn a_rate_with_more_digits_than_the_log_has_is_no_difference() {
    for (scenario, qps) in
        [(Scenario::OFFLINE, 123_456.789), (Scenario::SERVER, 876.543_21), (Scenario::SINGLE_STREAM, 7.562_038)]
    {
        // Of the latency 132239468 ns the log has 1.32239e+08, and of the rate 7.56204.
        let single_stream_expected_latency_ns = 1e9 / qps;
        let requested = TestSettings { single_stream_expected_latency_ns, ..settings(scenario, false) };
        let compared = Texts::of(TestSettings { server_target_qps: qps, offline_expected_qps: qps, ..requested });
        for has_trace in [true, false] {
            assert_eq!(differences(&compared.compared(has_trace)), Vec::<String>::new(), "{scenario:?}");
        }
    }
}

/// Logs of some releases of the official package, as `tests/peers/small_logs.py` keeps them.
macro_rules! wheels {
    ($($name:literal)*) => { [$(($name, include_str!(concat!("wheels/", $name, ".txt")))),*] };
}
const WHEELS: [(&str, &str); 18] = wheels!(
    "5.0.0-offline" "5.0.0-offline-tokens" "5.0.0-server-tokens"
    "5.0.18-offline" "5.0.18-offline-tokens" "5.0.18-server-tokens"
    "5.0.25-offline" "5.0.25-offline-tokens" "5.0.25-server-tokens"
    "5.1.1-offline" "5.1.1-offline-tokens" "5.1.1-server-tokens"
    "6.0.5-offline" "6.0.5-offline-tokens" "6.0.5-server-tokens"
    "6.0.17-offline" "6.0.17-offline-tokens" "6.0.17-server-tokens"
);

fn compared_wheel(text: &str) -> Comparison {
    let (entries, summary) = text.split_once("\n\n").unwrap();
    let line = |entry: &str| {
        let (key, value) = entry.split_once(' ').unwrap();
        let [is_error, is_warning] = ["error_", "warning_"].map(|of| key.starts_with(of));
        Ok(format!(
            ":::MLLOG {{\"key\": \"{key}\", \"value\": {value}, \"time_ms\": 0, \"metadata\": \
             {{\"is_error\": {is_error}, \"is_warning\": {is_warning}}}}}"
        ))
    };
    let detail = DetailLog::read(entries.lines().map(line)).unwrap();
    compare(&Logs { detail, summary: summary.to_owned(), trace: None, tokens: None }).unwrap()
}

#[test]
fn logs_of_each_release_are_read_by_what_it_writes() {
    for (name, text) in WHEELS {
        let compared = compared_wheel(text);
        assert_eq!(differences(&compared), Vec::<String>::new(), "{name}");
        assert_eq!((compared.official.as_deref(), compared.ours.as_deref()), (Some("VALID"), Some("VALID")), "{name}");
        let is_silent = unchecked(&compared).contains(&"ttft_latency (ns)");
        assert_eq!(is_silent, name.ends_with("offline-tokens"), "{name}");
    }
}

#[test]
fn words_of_another_release_and_another_number_are_named() {
    let differs = |text: &str| !differences(&compared_wheel(text)).is_empty();
    for (name, text) in WHEELS {
        for (from, to) in [
            ("Time to Output", "Time per Output"),
            ("Time per Output", "Time to Output"),
            ("accuracy_sample_count : 64", "accuracy_sample_count : 65"),
            ("max_duration (ms): 0", "max_duration (ms): 1"),
            ("generated_query_duration ", "generated_query_duration 9"),
            ("effective_samples_per_query ", "effective_samples_per_query 9"),
        ] {
            assert!(!text.contains(from) || differs(&text.replace(from, to)), "{name}: {to}");
        }
    }
}

#[test]
fn logs_of_older_releases_are_refused_by_name() {
    let detail = Texts::of(settings(Scenario::SERVER, false)).detail;
    let version = "\"loadgen_version\", \"value\": \"";
    let detail = detail.replacen(version, &format!("{version}4.1.16 @ x "), 1);
    let detail = DetailLog::read(detail.as_bytes().lines()).unwrap();
    let message = compare(&Logs { detail, summary: String::new(), trace: None, tokens: None }).unwrap_err().to_string();
    assert!(message.contains("releases before 5.0.0 are not read"), "{message}");
}

#[test]
fn logs_that_are_not_whole_are_named() {
    let texts = Texts::of(settings(Scenario::SERVER, false));
    let refused = |from: &str, to: &str| {
        let detail = DetailLog::read(texts.detail.replace(from, to).as_bytes().lines()).unwrap();
        compare(&Logs { detail, summary: String::new(), trace: None, tokens: None }).unwrap_err().to_string()
    };
    assert!(refused("\"result_validity\"", "\"x\"").contains("did not come to its end"));
    assert!(
        refused("\"requested_min_duration_ms\", \"value\": 200", "\"requested_min_duration_ms\", \"value\": 2x")
            .contains("requested_min_duration_ms: ")
    );
    assert!(
        refused("\"requested_min_query_count\", \"value\": 100", "\"requested_min_query_count\", \"value\": -1")
            .contains("requested_min_query_count: ")
    );
    assert!(refused("\"qsl_reported_total_count\"", "\"x\"").contains("qsl_reported_total_count"));
}
