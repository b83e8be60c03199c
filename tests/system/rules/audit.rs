//! Compliance tests on real runs: they pass as they are, and fail, by name, when an answer, a rate or a setting is
//! falsified.

use std::fs;
use std::path::{Path, PathBuf};

use lon_run::audit::{CheckOutcome, CheckRule};
use lon_run::documents::audit_result::{AuditResult, FILE};
use lon_tests::process::{Finished, LoadGen, SutNode, repository};
use lon_tests::run_folder::assert_read_back;
use lon_tests::test_run::TestRun;
use tempfile::TempDir;

/// Offline, so that no rate is given; many queries in few seconds.
const SETTINGS: &str = "target_qps=1000,min_duration=0,min_query_count=6000";
const DETAIL: &str = "mlperf_log_detail.txt";
const SUMMARY: &str = "mlperf_log_summary.txt";
const ANSWERS: &str = "mlperf_log_accuracy.json";

/// Runs of one node, each in a folder of its own.
struct Runs {
    above: TempDir,
    node: SutNode,
}

impl Runs {
    fn new() -> Runs {
        let digits = format!("onnx:{}", repository("loadgen-node/qsl/digits/digits.onnx").display());
        Runs { above: tempfile::tempdir().unwrap(), node: SutNode::start("a", &digits, &["--max-batch", "1"]) }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.above.path().join(name)
    }

    /// A run in the folder `name`.
    fn run(&self, name: &str, more: &[&str]) {
        let test = TestRun::digits("Offline").patient().on(&self.node.address).set(SETTINGS);
        let (finished, folder) = test.args(more).finish();
        assert_eq!(finished.code, Some(0), "{finished:?}");
        fs::rename(&folder.path, self.at(name)).unwrap();
    }

    /// A run with the settings of an audit, as `--print-conf` prints them.
    fn audited(&self, name: &str, test: &str) {
        let printed = LoadGen::run(&["audit", test, "--print-conf"]);
        assert_eq!(printed.code, Some(0), "{printed:?}");
        let path = self.at(&format!("{test}.conf"));
        fs::write(&path, printed.stdout).unwrap();
        self.run(name, &["--audit-conf", path.to_str().unwrap()]);
    }

    /// A copy of a folder with one file changed.
    fn falsified(&self, from: &str, to: &str, file: &str, change: impl Fn(&str) -> String) {
        let (old, new) = (self.at(from), self.at(to));
        fs::create_dir(&new).unwrap();
        for entry in fs::read_dir(&old).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), new.join(entry.file_name())).unwrap();
        }
        let text = fs::read_to_string(new.join(file)).unwrap();
        let changed = change(&text);
        assert_ne!(changed, text, "{file} of {to} is as it was");
        fs::write(new.join(file), changed).unwrap();
    }

    fn audit(&self, test: &str, reference: &str, run: &str, more: &[&str]) -> (Finished, AuditResult) {
        let [reference, run] = [reference, run].map(|name| self.at(name));
        let flags = ["audit", test, "--reference", path(&reference), "--test", path(&run), "--json"];
        let finished = LoadGen::run(&[&flags[..], more].concat());
        let result = serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}: {finished:?}"));
        (finished, result)
    }
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The names of the rows that failed, of one rule.
fn failed(result: &AuditResult, rule: CheckRule) -> Vec<&str> {
    let rows = result.checks.iter().filter(|row| row.rule == rule && row.outcome == CheckOutcome::Failed);
    rows.map(|row| row.name.as_str()).collect()
}

/// The result with every rate in it multiplied.
fn rate(text: &str, label: &str, factor: f64) -> String {
    let at = text.find(label).unwrap() + label.len();
    let end = at + text[at..].find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap();
    let number: f64 = text[at..end].parse().unwrap();
    format!("{}{:.2}{}", &text[..at], number * factor, &text[end..])
}

/// Rates of a busy machine differ by more than the scripts allow. That is not what is looked at here: the test's result
/// becomes that of the reference.
fn level(runs: &Runs, reference: &str, test: &str) {
    let number = |name: &str, file: &str, label: &str| {
        let text = fs::read_to_string(runs.at(name).join(file)).unwrap();
        let at = text.find(label).unwrap() + label.len();
        let end = at + text[at..].find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap();
        text[at..end].to_owned()
    };
    for (file, label) in [(DETAIL, RATE), (SUMMARY, "\nSamples per second: ")] {
        let (before, after) = (number(reference, file, label), number(test, file, label));
        let path = runs.at(test).join(file);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace(&format!("{label}{after}"), &format!("{label}{before}"))).unwrap();
    }
}

const RATE: &str = "\"result_samples_per_second\", \"value\": ";

#[test]
fn answers_while_measured_are_those_of_the_accuracy_run() {
    let runs = Runs::new();
    runs.run("reference", &["--mode", "SubmissionRun"]);
    runs.audited("as_run", "TEST01");
    let (_, result) = runs.audit("TEST01", "reference", "as_run", &[]);
    assert_eq!(failed(&result, CheckRule::Ours), [""; 0], "{result:#?}");
    let row = |result: &AuditResult, name: &str| result.checks.iter().find(|row| row.name == name).cloned().unwrap();
    assert_eq!(row(&result, "type of the answers").found, "float32");
    assert_eq!(row(&result, "answers in the log of the test").outcome, CheckOutcome::Passed);
    runs.falsified("as_run", "test", DETAIL, |text| format!("{text}:::MLLOG {{\"key\": \"x\", \"value\": 0}}\n"));
    level(&runs, "reference", "test");
    let out = runs.at("out");
    let (finished, result) = runs.audit("TEST01", "reference", "test", &["--out", path(&out)]);
    assert_eq!(result.official, CheckOutcome::Passed, "{result:#?}");
    // Its detail log is not the one that the run wrote any more.
    assert_eq!((failed(&result, CheckRule::Ours), finished.code), (vec!["files of the test"], Some(3)));
    assert_read_back::<AuditResult>(&fs::read_to_string(out.join("TEST01").join(FILE)).unwrap(), "\n");
    for file in ["verify_accuracy.txt", "verify_performance.txt"] {
        assert!(fs::read_to_string(out.join("TEST01").join(file)).unwrap().contains("\nTEST PASS\n"), "{file}");
    }
    for file in [DETAIL, SUMMARY] {
        assert!(out.join("TEST01/performance/run_1").join(file).is_file(), "{file}");
    }
    assert!(out.join("TEST01/accuracy").join(ANSWERS).is_file());
    // The first answer, in its lowest and in its highest byte.
    let other = |from: usize| {
        move |text: &str| {
            let at = text.find("\"data\" : \"").unwrap() + 10 + from;
            let digit = if &text[at..=at] == "7" { "6" } else { "7" };
            format!("{}{digit}{}", &text[..at], &text[at + 1..])
        }
    };
    runs.falsified("test", "answer", ANSWERS, other(1));
    runs.falsified("test", "dropped", ANSWERS, |text| {
        let end = text.find("},\n").unwrap() + 3;
        format!("[\n{}", &text[end..])
    });
    runs.falsified("test", "rate", DETAIL, |text| rate(text, RATE, 0.85));
    let seed = "\"effective_accuracy_log_rng_seed\", \"value\": ";
    runs.falsified("test", "setting", DETAIL, |text| text.replace(seed, &format!("{seed}1")));
    runs.falsified("test", "name", DETAIL, |text| text.replace("Network SUT", "Network SUt"));
    let named = [
        ("answer", CheckRule::Official, "first elements of answers"),
        ("answer", CheckRule::Ours, "whole answers, all bytes"),
        ("dropped", CheckRule::Ours, "answers in the log of the test"),
        ("rate", CheckRule::Official, "rates"),
        ("setting", CheckRule::Ours, "settings of the audit, in the test"),
        ("name", CheckRule::Ours, "name of the SUT"),
    ];
    for (run, rule, name) in named {
        let (finished, result) = runs.audit("TEST01", "reference", run, &[]);
        assert!(failed(&result, rule).contains(&name), "{run}: {result:#?}");
        assert_eq!(finished.code, Some(3), "{run}");
    }
    second_chance(&runs);
    // A test that is compared with itself is nothing to the script.
    let [own, seed, mode] = ["run of the test", "seed of logged answers, in the reference", "mode of the accuracy run"];
    let (finished, result) = runs.audit("TEST01", "test", "test", &[]);
    assert_eq!((result.official, finished.code), (CheckOutcome::Passed, Some(3)), "{result:#?}");
    for name in [own, seed, mode] {
        assert!(failed(&result, CheckRule::Ours).contains(&name), "{name}: {result:#?}");
    }
    let accuracy = ["--accuracy-run", path(&runs.at("reference"))].map(str::to_owned);
    let (_, result) = runs.audit("TEST01", "test", "test", &accuracy.each_ref().map(String::as_str));
    let rows = failed(&result, CheckRule::Ours);
    assert!(rows.contains(&own) && rows.contains(&seed) && !rows.contains(&mode), "{result:#?}");
    // A line that was taken out does not take a check away.
    let count = "\"key\": \"result_query_count\"";
    runs.falsified("test", "uncounted", DETAIL, |text| {
        text.split_inclusive('\n').filter(|line| !line.contains(count)).collect()
    });
    let (_, result) = runs.audit("TEST01", "reference", "uncounted", &[]);
    assert!(failed(&result, CheckRule::Ours).contains(&"answers in the log of the test"), "{result:#?}");
    // A folder that is there is told at once, with a way out.
    let flags = ["--reference", path(&runs.at("reference")), "--test", path(&runs.at("test")), "--out", path(&out)]
        .map(str::to_owned);
    let refused = LoadGen::run(&[&["audit", "TEST01"], &flags.each_ref().map(String::as_str)[..]].concat());
    assert!(refused.code == Some(2) && refused.stderr.contains("give another --out"), "{refused:?}");
    // An answer that was dropped, and another setting, are nothing to the script.
    for run in ["dropped", "setting", "name"] {
        let (_, result) = runs.audit("TEST01", "reference", run, &[]);
        assert_eq!(result.official, CheckOutcome::Passed, "{run}: {result:#?}");
    }
}

/// Where the SUT is said not to be deterministic, the scores of both runs decide.
fn second_chance(runs: &Runs) {
    let out = runs.at("second");
    let (_, result) = runs.audit("TEST01", "reference", "answer", &["--nondeterministic", "--out", path(&out)]);
    let row = |result: &AuditResult, name: &str| result.checks.iter().find(|row| row.name == name).cloned().unwrap();
    let first = row(&result, "first elements of answers");
    assert_eq!(result.official, CheckOutcome::Passed, "{result:#?}");
    assert!(first.found.contains("the scores are near: acc ") && first.found.contains("0.000 % apart"), "{first:?}");
    assert_eq!(row(&result, "whole answers, all bytes").outcome, CheckOutcome::Passed);
    let text = |name: &str| fs::read_to_string(out.join("TEST01").join(name)).unwrap();
    let [baseline, test] = ["accuracy/baseline_accuracy.txt", "accuracy/compliance_accuracy.txt"].map(text);
    assert!(baseline.starts_with("accuracy=") && baseline == test, "{baseline} {test}");
    assert!(text("verify_accuracy.txt").contains("TEST FAIL"));
    // The scores of other answers: each row of ten logits begins with its second one.
    runs.falsified("test", "wrong", ANSWERS, |text| {
        let line = |line: &str| match line.split_once("\"data\" : \"") {
            Some((before, data)) => format!("{before}\"data\" : \"{}{}{}", &data[8..80], &data[..8], &data[80..]),
            None => line.to_owned(),
        };
        text.lines().map(|text| line(text) + "\n").collect()
    });
    let (finished, result) = runs.audit("TEST01", "reference", "wrong", &["--nondeterministic"]);
    let first = row(&result, "first elements of answers");
    assert_eq!((result.official, finished.code), (CheckOutcome::Failed, Some(3)), "{result:#?}");
    assert!(first.found.contains("the scores are not near"), "{first:?}");
    // A command can score, too.
    let command = "printf '{\"acc\": %s}' $(grep -c qsl_idx";
    let scorer = format!("f() {{ {command} \"$1\"); }}; f");
    let (_, result) = runs.audit("TEST01", "reference", "wrong", &["--nondeterministic", "--scorer", &scorer]);
    let first = row(&result, "first elements of answers");
    assert!(first.found.contains("acc 450 of the accuracy run"), "{first:?}");
}

#[test]
fn a_sample_that_comes_again_is_not_answered_faster() {
    let runs = Runs::new();
    runs.run("reference", &[]);
    runs.audited("test", "TEST04");
    level(&runs, "reference", "test");
    let (_, result) = runs.audit("TEST04", "reference", "test", &[]);
    assert_eq!(result.official, CheckOutcome::Passed, "{result:#?}");
    assert_eq!(failed(&result, CheckRule::Ours), ["files of the test"], "{result:#?}");
    let out = runs.at("out");
    runs.audit("TEST04", "reference", "test", &["--out", path(&out)]);
    let performance_text = fs::read_to_string(out.join("TEST04/verify_performance.txt")).unwrap();
    assert!(performance_text.ends_with("\nTEST PASS\n") && !out.join("TEST04/accuracy").exists(), "{performance_text}");
    runs.falsified("test", "faster", SUMMARY, |text| rate(text, "\nSamples per second: ", 1.2));
    runs.falsified("test", "slower", SUMMARY, |text| rate(text, "\nSamples per second: ", 0.5));
    let verdict = "\"result_validity\", \"value\": \"VALID\"";
    let errors = "\"num_errors\", \"value\": ";
    runs.falsified("test", "errors", DETAIL, |text| text.replace(&format!("{errors}0"), &format!("{errors}7")));
    // Answers are nothing to TEST04: submissions have truncated logs.
    let whole = fs::read_to_string(runs.at("test").join(ANSWERS)).unwrap();
    fs::write(runs.at("test").join(ANSWERS), "hash=00\n").unwrap();
    let (finished, _) = runs.audit("TEST04", "reference", "test", &[]);
    assert_eq!(finished.code, Some(3), "{finished:?}");
    fs::write(runs.at("test").join(ANSWERS), whole).unwrap();
    runs.falsified("test", "invalid", DETAIL, |text| text.replace(verdict, &verdict.replace(": \"V", ": \"INV")));
    for (run, official, name) in [
        ("faster", CheckOutcome::Failed, "result in the summary of the test"),
        ("slower", CheckOutcome::Passed, "result in the summary of the test"),
        ("invalid", CheckOutcome::Passed, "verdicts in the detail logs"),
        ("errors", CheckOutcome::Passed, "verdicts in the detail logs"),
        // An ordinary run in place of the test is nothing to the script.
        ("reference", CheckOutcome::Passed, "settings of the audit, in the test"),
    ] {
        let (finished, result) = runs.audit("TEST04", "reference", run, &[]);
        assert_eq!((result.official, finished.code), (official, Some(3)), "{run}: {result:#?}");
        assert!(failed(&result, CheckRule::Ours).contains(&name), "{run}: {result:#?}");
    }
}

#[test]
fn a_dataset_of_somebody_elses_is_another_dataset() {
    let runs = Runs::new();
    runs.run("reference", &["--mode", "SubmissionRun"]);
    runs.run("test", &["--mode", "SubmissionRun"]);
    level(&runs, "reference", "test");
    let (finished, result) = runs.audit("CUSTOM", "reference", "test", &[]);
    assert_eq!((result.official, finished.code), (CheckOutcome::Unchecked, Some(3)), "{result:#?}");
    assert_eq!(failed(&result, CheckRule::Ours), ["datasets", "files of the test"], "{result:#?}");
    // The sums in the result are those of the files that were levelled.
    let document = |name: &str, change: &dyn Fn(&mut serde_json::Value)| {
        let path = runs.at("test").join(name);
        let mut value: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        change(&mut value);
        fs::write(&path, value.to_string()).unwrap();
    };
    document("result_summary.json", &|value| value["dataset"] = "/held/out".into());
    let (_, result) = runs.audit("CUSTOM", "reference", "test", &[]);
    assert_eq!(failed(&result, CheckRule::Ours), ["files of the test"], "{result:#?}");
    document("result_summary.json", &|value| {
        let score = value["accuracy"]["value"].as_f64().unwrap();
        value["accuracy"]["value"] = (score * 0.98).into();
    });
    let (_, result) = runs.audit("CUSTOM", "reference", "test", &[]);
    assert_eq!(failed(&result, CheckRule::Ours), ["scores", "files of the test"], "{result:#?}");
}

#[test]
fn folders_that_cannot_be_used_are_named() {
    let above = tempfile::tempdir().unwrap();
    let folder = path(above.path());
    let refused = LoadGen::run(&["audit", "TEST04", "--reference", folder, "--test", folder]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("mlperf_log_detail.txt"), "{refused:?}");
    let refused = LoadGen::run(&["audit", "TEST99", "--explain"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("TEST01, TEST04"), "{refused:?}");
    let refused = LoadGen::run(&["audit", "TEST06", "--test", folder, "--unixmode"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("--unixmode is not of TEST06"), "{refused:?}");
    let refused = LoadGen::run(&["audit", "TEST01", "--print-conf", "--benchmark", "resnet5O"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("did you mean resnet50?"), "{refused:?}");
    let page = LoadGen::run(&["audit", "--explain", "TEST04"]);
    assert!(page.code == Some(0) && page.stdout.contains("Not covered"), "{page:?}");
}
