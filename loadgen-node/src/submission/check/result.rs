//! One result: its performance run, its accuracy run and its compliance tests, each alone and then together.

use std::path::Path;

use loadgen::official::{ACCURACY_FILE, DETAIL_FILE};

use super::super::kind::Kind;
use super::place::Place;
use super::tree::Tree;
use super::{answers, logs, texts};
use crate::audit::{self, AnswerLog, AuditCheck, AuditTest, AuditedRun, CheckOutcome, Findings};
use crate::outputs::audit_folder::ACCURACY;

/// What an accuracy run has other settings than the performance run in.
const ACCURACY_CHANGES: [&str; 1] = ["test_mode"];
/// Files that the checkers allow beside the logs of a performance run.
const OPTIONAL: [&str; 3] = ["mlperf_log_trace.json", "mlperf_log_accuracy.json", "results.json"];
/// Folders of a submission with power, beside that of the measured run.
const POWER: [&str; 2] = ["power", "ranging"];
/// What the script of TEST06 has to say of every answer.
const TEST06_PASSES: [&[&str]; 3] = [
    &["First token check pass: True", "First token check pass: Skipped"],
    &["EOS check pass: True"],
    &["Sample length check pass: True"],
];

/// Looks at a result.
pub(super) fn check(tree: &mut Tree, place: &Place) {
    for name in OPTIONAL {
        tree.allow(&place.logs(Kind::Performance).join(name));
    }
    for name in POWER {
        let folder = place.logs(Kind::Performance).with_file_name(name);
        if folder.is_dir() {
            tree.unchecked("power: what was measured of it is not looked at");
            tree.allow(&folder);
        }
    }
    let performance = run(tree, place, Kind::Performance);
    let accuracy = run(tree, place, Kind::Accuracy);
    if let Some(run) = &accuracy {
        answers::check_all(tree, &place.logs(Kind::Accuracy), &run.detail);
    }
    texts::accuracy(tree, place, Kind::Accuracy, accuracy.as_ref());
    if let (Some(performance), Some(accuracy)) = (&performance, &accuracy) {
        let rows = audit::same_setup(performance, accuracy, &ACCURACY_CHANGES);
        told(tree, &place.logs(Kind::Accuracy).join(DETAIL_FILE), "against the performance run", rows);
    }
    texts::measurements(tree, place, performance.as_ref());
    for name in place.tests() {
        compliance(tree, place, name, performance.as_ref());
    }
}

fn run(tree: &mut Tree, place: &Place, kind: Kind) -> Option<AuditedRun> {
    let run = logs::read(tree, &place.logs(kind))?;
    logs::check(tree, place, kind, &run);
    Some(run)
}

fn compliance(tree: &mut Tree, place: &Place, name: &str, performance: Option<&AuditedRun>) {
    let folder = place.test(name);
    if !folder.is_dir() {
        return tree.found(&folder, format!("is missing: round {} asks for {name}", place.rules.round.name));
    }
    match name.parse() {
        Ok(AuditTest::Test01) => test01(tree, place, &folder, performance),
        Ok(AuditTest::Test04) => test04(tree, place, performance),
        Ok(AuditTest::Test06) => {
            if let Some(text) = tree.text(&folder.join("verify_accuracy.txt")) {
                for passes in TEST06_PASSES.iter().filter(|words| !words.iter().any(|word| text.contains(word))) {
                    tree.found(&folder.join("verify_accuracy.txt"), format!("does not say \"{}\"", passes[0]));
                }
            }
            tree.unchecked("TEST06: its verdict is read, and not worked out again from the answers");
            tree.allow(&folder.join(ACCURACY));
        }
        Ok(AuditTest::Test07) => test07(tree, place, &folder),
        Ok(AuditTest::Test09) => test09(tree, place, &folder),
        _ => {
            tree.unchecked(format!("{name}: what its folder has is not looked at"));
            tree.allow(&folder);
        }
    }
}

fn test01(tree: &mut Tree, place: &Place, folder: &Path, performance: Option<&AuditedRun>) {
    let kind = Kind::Compliance(AuditTest::Test01);
    let verified = passes(tree, &folder.join("verify_accuracy.txt"));
    let test = run(tree, place, kind);
    let of_logs = |performance, test| audit::test01::of_logs(performance, test, place.benchmark.name);
    let findings = performance.zip(test.as_ref()).map(|(performance, test)| of_logs(performance, test));
    judged(tree, place, kind, findings);
    if let Some(test) = &test {
        let reference = place.logs(Kind::Accuracy);
        answers::check_picks(tree, &folder.join(ACCURACY), &reference, test, verified.as_deref());
    }
    texts::accuracy(tree, place, kind, test.as_ref());
}

fn test04(tree: &mut Tree, place: &Place, performance: Option<&AuditedRun>) {
    let kind = Kind::Compliance(AuditTest::Test04);
    let test = run(tree, place, kind);
    let findings = performance.zip(test.as_ref()).map(|(performance, test)| audit::test04::judge(performance, test));
    judged(tree, place, kind, findings);
}

fn test07(tree: &mut Tree, place: &Place, folder: &Path) {
    let path = folder.join("verify_accuracy.txt");
    let text = passes(tree, &path).unwrap_or_default();
    let number = |words: &str| text.lines().find_map(|line| line.strip_prefix(words)?.trim().parse::<f64>().ok());
    let (score, written) = (number("Accuracy score: "), number("Accuracy threshold: "));
    let Some(at_least) = audit::test07::least_of(place.benchmark.name) else {
        return tree.unchecked(format!("TEST07: the least score of {} is not known", place.benchmark.name));
    };
    if written.is_none_or(|written| written < at_least) {
        let found = written.map_or_else(|| "none".to_owned(), |written| written.to_string());
        tree.found(&path, format!("has the threshold {found}, and the official one is {at_least}"));
    }
    tree.unchecked("TEST07: its score is read, and not worked out again from the answers");
    if let Some(run) = logged(tree, place, AuditTest::Test07) {
        let findings = audit::test07::judge(&run, score.unwrap_or(f64::NAN), at_least);
        told(tree, &path, "TEST07", findings.checks);
    }
}

fn test09(tree: &mut Tree, place: &Place, folder: &Path) {
    let path = folder.join("verify_output_len.txt");
    let text = passes(tree, &path);
    let Some(bounds) = audit::test09::Bounds::of(place.benchmark.name) else {
        return tree.unchecked(format!("TEST09: the bounds of {} are not known", place.benchmark.name));
    };
    let Some(run) = logged(tree, place, AuditTest::Test09) else { return };
    let findings = audit::test09::judge(&run, bounds, None);
    let missing = |line: &&str| text.as_ref().is_some_and(|text| !text.lines().any(|found| found == *line));
    let ours = findings.files.iter().flat_map(|file| file.text.lines());
    if let Some(line) = ours.filter(|line| line.contains(": ")).find(missing) {
        tree.found(&path, format!("does not say \"{line}\", which follows from the answers"));
    }
    told(tree, &path, "TEST09", findings.checks);
}

/// The run of a test whose answers the submission has as a whole.
fn logged(tree: &mut Tree, place: &Place, test: AuditTest) -> Option<AuditedRun> {
    let run = run(tree, place, Kind::Compliance(test));
    let path = place.test(test.name()).join(ACCURACY).join(ACCURACY_FILE);
    let answers = AnswerLog::read(tree.text(&path)?);
    let answers = answers.map_err(|why| tree.found(&path, format!("is no whole accuracy log: {why}"))).ok()?;
    run.map(|run| AuditedRun { answers: Some(answers), ..run })
}

/// Looks at what the script has written of both runs, and notes what was found when they were judged again.
fn judged(tree: &mut Tree, place: &Place, kind: Kind, findings: Option<Findings>) {
    let path = place.test(kind.name()).join("verify_performance.txt");
    let text = passes(tree, &path);
    let Some(findings) = findings else { return };
    let ours = findings.files.iter().find(|file| path.ends_with(file.name)).map(|file| scores(&file.text));
    // The scripts of some rounds print none.
    if let (Some(found), Some(ours)) = (text.map(|text| scores(&text)), ours)
        && !found.is_empty()
        && found != ours
    {
        tree.found(&path, format!("has the scores {}, and the logs have {}", found.join(" and "), ours.join(" and ")));
    }
    told(tree, &place.logs(kind).join(DETAIL_FILE), kind.name(), findings.checks);
}

/// The scores that a script has printed.
fn scores(text: &str) -> Vec<String> {
    text.lines().filter_map(|line| line.split_once("score = ")).map(|(_, score)| score.trim().to_owned()).collect()
}

/// The text of a script's file, which has to say that the test has passed.
fn passes(tree: &mut Tree, path: &Path) -> Option<String> {
    let text = tree.text(path)?;
    if !text.lines().any(|line| line == "TEST PASS") || text.contains("TEST FAIL") {
        tree.found(path, "does not say TEST PASS in a line of its own, or says TEST FAIL, too");
    }
    Some(text)
}

/// Notes the rows of an audit that did not pass.
fn told(tree: &mut Tree, path: &Path, of: &str, rows: Vec<AuditCheck>) {
    for AuditCheck { name, outcome, wanted, found, .. } in rows {
        match outcome {
            CheckOutcome::Passed => {}
            CheckOutcome::Failed => tree.found(path, format!("{of}, {name}: {found} (wanted: {wanted})")),
            CheckOutcome::Unchecked => tree.unchecked(format!("{name}: {found}")),
        }
    }
}
