//! Tests of a new user's first hour: units and names, a run that cannot become VALID, a result shown again.

use std::fs;
use std::process::Command;

use lon_tests::process::{Finished, LoadGen, SutNode, binary};
use lon_tests::run_folder::RunFolder;
use lon_tests::test_run::TestRun;

fn conf(set: &str) -> lon_tests::process::Finished {
    LoadGen::run(&["conf", "--benchmark", "digits", "--scenario", "Server", "--set", set, "--json"])
}

/// A key of the config files and a field of the results say the same, with units or without.
#[test]
fn a_setting_has_one_meaning_however_it_is_written() {
    for (setting, field, value) in [
        ("target_latency=15", "server_target_latency_ns", "15000000"),
        ("target_latency=15ms", "server_target_latency_ns", "15000000"),
        ("target_latency=0.1", "server_target_latency_ns", "100000"),
        ("server_target_latency_ns=15000000", "server_target_latency_ns", "15000000"),
        ("min_duration=60s", "min_duration_ms", "60000"),
        ("min_duration_ms=60000", "min_duration_ms", "60000"),
        ("target_latency_percentile=99", "server_target_latency_percentile", "0.99"),
        ("server_target_latency_percentile=0.99", "server_target_latency_percentile", "0.99"),
        ("server_target_qps=500", "server_target_qps", "500.0"),
        ("server.target_qps=500/s", "server_target_qps", "500.0"),
    ] {
        let finished = conf(setting);
        assert_eq!(finished.code, Some(0), "{setting}: {finished:?}");
        let document: serde_json::Value = serde_json::from_str(&finished.stdout).unwrap();
        assert_eq!(document["settings"][field]["value"].to_string(), value, "{setting}");
    }
}

#[test]
fn a_fraction_is_not_taken_for_percent() {
    for (setting, message) in [
        ("target_latency_percentile=0.99", "percent: 99, not 0.99"),
        ("target_latency_percentile=150", "percent, from 50 to below 100"),
        ("target_qps=-1", "a rate above 0"),
        ("min_duration=3", "write 3s or 3ms"),
        ("min_duration=soon", "milliseconds, or a number with ns, us, ms, s, m or h"),
    ] {
        let finished = conf(setting);
        assert_eq!(finished.code, Some(2), "{setting}: {finished:?}");
        assert!(finished.stderr.contains(message), "{setting}: {finished:?}");
    }
    // An official file keeps its value, and is warned of.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("user.conf");
    fs::write(&file, "*.Server.target_latency_percentile = 0.99\n").unwrap();
    let args = ["conf", "--benchmark", "digits", "--scenario", "Server", "--user-conf", file.to_str().unwrap()];
    let finished = LoadGen::run(&args);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.stdout.contains("user.conf:1: ") && finished.stdout.contains("write 99"), "{finished:?}");
    assert_eq!(LoadGen::run(&[&args[..], &["--strict-conf"]].concat()).code, Some(2));
}

/// The limit that was judged stands beside the latency, on the screen and in the JSON.
#[test]
fn a_result_has_its_limit_how_it_was_made_and_can_be_shown_again() {
    let node = SutNode::start("a", "null", &[]);
    let run = TestRun::new("Server").on(&node.address).set("target_qps=200,min_duration=1000,target_latency=50000");
    let set = "min_query_count=100,target_latency_percentile=90";
    let (finished, folder) = run.set(set).args(&["--max-lag", "50s", "--note", "the first one"]).finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.stdout.contains("\nLimit     p90 "), "{finished:?}");
    assert!(finished.stdout.contains(", limit 50.0s: within\n"), "{finished:?}");
    assert!(finished.stdout.contains("limit of p99 50.0s, as set for this run with --max-lag)"), "{finished:?}");
    let result = folder.result();
    let limit = &result["latency_limits"][0];
    assert_eq!((&limit["of"], &limit["percentile"]), (&"latency".into(), &90.0.into()), "{limit}");
    assert_eq!((&limit["limit_ns"], &limit["kept"]), (&50_000_000_000_u64.into(), &true.into()), "{limit}");
    let provenance = &result["made"];
    assert_eq!((&provenance["note"], &provenance["tls"]), (&"the first one".into(), &false.into()), "{provenance}");
    let [max_lag_ns, response_timeout_ns] = [50_000_000_000_u64, 60_000_000_000].map(serde_json::Value::from);
    assert_eq!((&provenance["max_lag_ns"], &provenance["response_timeout_ns"]), (&max_lag_ns, &response_timeout_ns));
    assert!(provenance["wall_time_ns"].as_u64().unwrap() >= 1_000_000_000, "{provenance}");
    assert!(provenance["started_utc"].as_str().unwrap().ends_with('Z'), "{provenance}");
    let command: Vec<&str> =
        provenance["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    assert_eq!(command[1..4], ["run", "--benchmark", "synthetic"]);

    let again = LoadGen::run(&["show", folder.arg()]);
    assert_eq!((again.code, &again.stdout), (Some(0), &finished.stdout), "{again:?}");
    let text = folder.path.join("result.txt");
    fs::write(&text, fs::read_to_string(&text).unwrap().replace("within", "WITHIN")).unwrap();
    let altered = LoadGen::run(&["show", folder.arg()]);
    assert_eq!(altered.code, Some(2), "{altered:?}");
    assert!(altered.stderr.contains("is not the file that the run wrote"), "{altered:?}");
    let nothing = LoadGen::run(&["show", "/"]);
    assert_eq!(nothing.code, Some(2), "{nothing:?}");
    assert!(nothing.stderr.contains("/ is not a run folder"), "{nothing:?}");
}

/// Variables that stand for flags are recorded, and no others: those may be secret.
#[test]
fn variables_that_stand_for_flags_are_recorded() {
    let node = SutNode::start("a", "null", &[]);
    let folder = RunFolder::new();
    let set = "target_latency=0.01,min_duration=100ms,min_query_count=64";
    let mut command = Command::new(binary("loadgen-node"));
    command.args(["run", "--benchmark", "synthetic", "--scenario", "SingleStream", "--dataset", "synthetic:u8[64]x16"]);
    command
        .args(["--max-lag", "3600s", "--out", folder.arg()])
        .env("LON_SUT", &node.address)
        .env("LON_SET", set)
        .env("LON_PASSWORD", "pst");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let environment = &folder.result()["made"]["environment"];
    assert_eq!(*environment, serde_json::json!({ "LON_SUT": node.address, "LON_SET": set }));
}

#[test]
fn minutes_are_not_spent_on_what_cannot_become_valid() {
    let node = SutNode::start("a", "null", &[]);
    let long = |more: &[&str]| {
        TestRun::new("Server").on(&node.address).set("target_qps=1,min_duration=100000").args(more).finish()
    };
    let (refused, folder) = long(&[]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("too few for early stopping"), "{refused:?}");
    assert!(refused.stderr.contains("--anyway"), "{refused:?}");
    assert!(!folder.path.exists());
    // A short one is run, with a warning.
    let short = TestRun::new("Server").patient().on(&node.address).set("target_qps=20,min_duration=1000");
    let (short, _folder) = short.finish();
    assert_eq!(short.code, Some(3), "{short:?}");
    assert!(short.stderr.contains("too few for early stopping"), "{short:?}");
    assert!(short.stdout.contains("Try --set min_query_count="), "{short:?}");
}

/// A run that was too short names a number.
#[test]
fn a_run_that_is_too_short_says_what_to_set() {
    let node = SutNode::start("a", "synthetic:constant=1ms", &[]);
    // Over in a moment: it would take twenty answers of a minute and a half each.
    let settings = "min_duration=2000s,target_latency=100s,min_query_count=1";
    let run = TestRun::new("SingleStream").patient().on(&node.address).args(&["--anyway"]);
    let (finished, folder) = run.set(settings).finish();
    assert_eq!(finished.code, Some(3), "{finished:?}");
    assert!(finished.stdout.contains("Try --set target_latency="), "{finished:?}");
    let result = folder.result();
    let hint = result["hints"][0].as_str().unwrap();
    let (_, suggestion) = hint.split_once("--set target_latency=").unwrap();
    let value_ms: f64 = suggestion.split_once("ms").unwrap().0.parse().unwrap();
    let mean_ms = result["latency_ns"]["mean"].as_f64().unwrap() / 1e6;
    // A sixth less than what was measured, in two digits.
    assert!(value_ms <= mean_ms / 1.2 && value_ms > mean_ms / 1.4, "{hint}, {mean_ms} ms");
}

/// It is the number with which the run would not have been too short.
#[test]
#[ignore = ".ci/run timing"]
fn a_run_is_long_enough_with_what_it_was_told_to_set() {
    let node = SutNode::start("a", "synthetic:constant=1ms", &[]);
    let run = || TestRun::new("SingleStream").patient().on(&node.address);
    let (_, folder) = run().set("min_duration=2000,target_latency=100,min_query_count=1").finish();
    let hint = folder.result()["hints"][0].as_str().unwrap().to_owned();
    let set = hint.split_whitespace().nth(1).unwrap().to_owned();
    let (finished, _folder) = run().set("min_duration=2000,min_query_count=1").set(&set).finish();
    assert_eq!(finished.code, Some(0), "{set}: {finished:?}");
}

/// A run that is cut off at a limit of its own.
fn cut_off(node: &SutNode, limit: &str) -> TestRun {
    let run = TestRun::new("Server").patient().on(&node.address);
    run.set(&format!("target_qps=1000,min_duration=1000,min_query_count=1,{limit}"))
}

const LIMITS: [&str; 2] = ["max_query_count=100", "max_duration=300ms"];

/// It says which limit is to be raised.
fn raised(node: &SutNode, limit: &str) -> Vec<String> {
    let (short, folder) = cut_off(node, limit).finish();
    assert_eq!(short.code, Some(3), "{short:?}");
    let hints = folder.result()["hints"].as_array().unwrap().clone();
    hints.iter().map(|hint| hint.as_str().unwrap().split(' ').nth(1).unwrap().to_owned()).collect()
}

/// A run that ended at a limit of its own says how far to raise it.
#[test]
fn a_run_that_is_cut_off_says_which_limit_to_raise() {
    let node = SutNode::start("a", "null", &[]);
    for limit in LIMITS {
        let (key, before) = limit.trim_end_matches("ms").split_once('=').unwrap();
        let raised = raised(&node, limit);
        let (raised_key, value) = raised[0].trim_end_matches("ms").split_once('=').unwrap();
        assert!(raised_key == key && value.parse::<f64>().unwrap() > before.parse().unwrap(), "{raised:?}");
    }
}

/// With the limit raised as far the run is not cut off.
#[test]
#[ignore = ".ci/run timing"]
fn a_run_whose_limit_was_raised_as_told_is_valid() {
    let node = SutNode::start("a", "null", &[]);
    for limit in LIMITS {
        let raised = raised(&node, limit);
        // The later of two settings counts.
        let (long, _folder) = raised.iter().rev().fold(cut_off(&node, limit), |run, set| run.set(set)).finish();
        assert_eq!(long.code, Some(0), "{raised:?}: {long:?}");
    }
}

/// Every output with the verdict says that nothing was scored.
#[test]
fn an_accuracy_run_without_a_score_says_so_beside_its_verdict() {
    let node = SutNode::start("a", "null", &[]);
    let (finished, folder) = TestRun::new("Offline").on(&node.address).args(&["--mode", "AccuracyOnly"]).finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(
        finished.stdout.contains("\nAccuracy  not scored: synthetic has no metric: a benchmark file has one"),
        "{finished:?}"
    );
    assert!(finished.stderr.contains("accuracy is not scored"), "{finished:?}");
    let result = folder.result();
    assert!(result["accuracy"].is_null() && result["official_result"].is_null(), "{result}");
    assert!(result["accuracy_note"].as_str().unwrap().starts_with("not scored: "), "{result}");
}

/// A run of this scenario for which a setting is to be found; what was found.
fn auto_rate(node: &SutNode, scenario: &str, key: &str) -> (Finished, f64) {
    let run = TestRun::new(scenario).on(&node.address).args(&["--max-lag", "500ms"]);
    // As many as early stopping takes in MultiStream, and more than elsewhere.
    let set = format!("{key}=auto,min_duration=1000,min_query_count=664");
    let limit = if scenario == "Server" { ",target_latency=10000" } else { "" };
    let (finished, folder) = run.set(&format!("{set}{limit}")).finish();
    assert!(finished.stdout.contains(&format!("Found     {key}=auto chose ")), "{finished:?}");
    // The trials do not repeat what the run says.
    assert_eq!(finished.stderr.matches("the SUT has said its name").count(), 1, "{finished:?}");
    let choice = folder.result()["made"]["found"].as_str().unwrap().to_owned();
    (finished, choice.split_once('=').unwrap().1.trim_end_matches("ms").parse().unwrap())
}

/// A rate that nobody knows is found, shown and recorded.
#[test]
fn rates_that_are_not_known_are_found() {
    let node = SutNode::start("a", "synthetic:constant=2ms", &[]);
    for (scenario, key) in [
        ("Offline", "target_qps"),
        ("Server", "target_qps"),
        ("SingleStream", "target_latency"),
        ("MultiStream", "target_latency"),
    ] {
        let (finished, value) = auto_rate(&node, scenario, key);
        assert!(matches!(finished.code, Some(0 | 3)) && value > 0.0, "{scenario}: {value}, {finished:?}");
    }
}

/// They are those at which a run is VALID.
#[test]
#[ignore = ".ci/run timing"]
fn rates_that_are_found_make_runs_valid() {
    let node = SutNode::start("a", "synthetic:constant=2ms", &[]);
    for (scenario, key, at_least, at_most) in [
        ("Offline", "target_qps", 100.0, 100_000.0),
        ("Server", "target_qps", 30.0, 50_000.0),
        ("SingleStream", "target_latency", 0.5, 20.0),
        ("MultiStream", "target_latency", 0.5, 100.0),
    ] {
        let (finished, value) = auto_rate(&node, scenario, key);
        assert_eq!(finished.code, Some(0), "{scenario}: {finished:?}");
        assert!((at_least..at_most).contains(&value), "{scenario}: {value}");
    }
}

/// Lateness has a limit where it is judged.
#[test]
fn no_limit_stands_beside_the_lag_of_an_accuracy_run() {
    let node = SutNode::start("a", "null", &[]);
    let run = || TestRun::new("Server").on(&node.address).set("target_qps=500,min_duration=500ms,min_query_count=100");
    let (accuracy, _folder) = run().args(&["--mode", "AccuracyOnly"]).finish();
    let (performance, _folder) = run().finish();
    let lag = |finished: &Finished| finished.stdout.lines().find(|line| line.starts_with("Lag ")).unwrap().to_owned();
    assert!(lag(&accuracy).ends_with("(delay between due and sent)"), "{accuracy:?}");
    assert!(lag(&performance).contains("; limit of p99 "), "{performance:?}");
}

#[test]
fn an_empty_folder_is_fine_and_names_forgive_capitals() {
    let node = SutNode::start("a", "null", &[]);
    let folder = RunFolder::new();
    fs::create_dir(&folder.path).unwrap();
    let args = ["run", "--benchmark", "Synthetic", "--scenario", "single-stream", "--mode", "performanceonly"];
    let more = ["--dataset", "synthetic:u8[64]x16", "--sut", &node.address, "--out", folder.arg()];
    let set = ["--set", "target_latency=0.01,min_duration=100ms,min_query_count=64", "--max-lag", "3600s"];
    let finished = LoadGen::run(&[&args[..], &more, &set].concat());
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert_eq!(folder.result()["scenario"], "SingleStream");
}

#[test]
fn traffic_is_shown_by_the_flags_of_a_run() {
    let finished =
        LoadGen::run(&["trace", "--benchmark", "digits", "--scenario", "Server", "--set", "target_qps=50", "--digest"]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let document: serde_json::Value = serde_json::from_str(&finished.stdout).unwrap();
    assert!(document["phases"][0]["generated_query_count"].as_u64().unwrap() > 400, "{document}");
}

/// `--json` is a document on standard output, of `run` as of every other command.
#[test]
fn a_run_prints_its_result_as_json() {
    let node = SutNode::start("a", "null", &[]);
    let run = TestRun::new("Server").patient().on(&node.address).args(&["--json"]);
    let run = run.set("target_qps=1000,min_duration=700ms,min_query_count=1");
    let (finished, folder) = run.finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let printed: serde_json::Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(printed, folder.result());
}

/// Packages need completions and manual pages beside the programs.
#[test]
fn programs_tell_their_build_and_write_completions_and_manual_pages() {
    for (program, command) in [("loadgen-node", "recover"), ("sut-node", "healthcheck")] {
        let run = |args: &[&str]| {
            let output = Command::new(binary(program)).args(args).output().unwrap();
            assert!(output.status.success(), "{program} {args:?}: {output:?}");
            String::from_utf8(output.stdout).unwrap()
        };
        let version = run(&["--version"]);
        assert!(version.starts_with(&format!("{program} {}", env!("CARGO_PKG_VERSION"))), "{version}");
        assert!(version.contains("revision") && version.contains("features"), "{version}");
        for shell in ["bash", "zsh", "fish"] {
            assert!(run(&["completions", shell]).contains(command), "{shell}");
        }
        let folder = tempfile::tempdir().unwrap();
        run(&["manual", folder.path().to_str().unwrap()]);
        let page = fs::read_to_string(folder.path().join(format!("{program}-{command}.1"))).unwrap();
        assert!(page.contains(".TH"), "{page}");
    }
}

/// The flags that most people need fit on a screen, which has 40 lines of 80 columns; the others are in `--help`.
#[test]
fn short_help_fits_on_a_screen() {
    let help = |program: &str, args: &[&str], flag: &str| {
        let output = Command::new(binary(program)).args(args).arg(flag).env("COLUMNS", "80").output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    // A terminal breaks what is wider: a usage is one line.
    let lines = |text: &str| text.lines().map(|line| line.chars().count().max(1).div_ceil(80)).sum::<usize>();
    let mut count = 0;
    for program in ["loadgen-node", "sut-node"] {
        let mut open = vec![vec![]];
        while let Some(command) = open.pop() {
            let command: Vec<&str> = command.iter().map(String::as_str).collect();
            let [short, long] = ["-h", "--help"].map(|flag| help(program, &command, flag));
            assert!(lines(&short) <= 40 && lines(&long) >= lines(&short), "{program} {command:?}:\n{short}");
            count += 1;
            let listed = short.split_once("\nCommands:\n").map_or("", |(_, listed)| listed);
            let listed = listed.lines().take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
            let names = listed.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
            open.extend(names.map(|name| command.iter().copied().chain([name]).map(str::to_owned).collect::<Vec<_>>()));
        }
    }
    assert!(count > 30, "only {count} commands were found");
}
