//! The compliance tests of a result: what their scripts have written is what follows from the logs.

use std::path::Path;

use loadgen::official::{ACCURACY_FILE, DETAIL_FILE};
use lon_proto::files;
use lon_qsl::benchmark::{Bound, official_scores};

use super::super::kind::Kind;
use super::super::score;
use super::place::Place;
use super::tree::{LARGEST, Tree};
use super::{answers, logs, texts};
use crate::audit::second_chance::{BASELINE_FILE, COMPLIANCE_FILE, SecondChance};
use crate::audit::{self, AnswerLog, AuditTest, AuditedRun, Findings};
use crate::outputs::audit_folder::ACCURACY;

/// Looks at the folder of a test.
pub(super) fn check(tree: &mut Tree, place: &Place, name: &str, performance: Option<&AuditedRun>) {
    let folder = place.test(name);
    if !folder.is_dir() {
        return tree.found(&folder, format!("is missing: round {} asks for {name}", place.rules.round.name));
    }
    match name.parse() {
        Ok(AuditTest::Test01) => test01(tree, place, &folder, performance),
        Ok(AuditTest::Test04) => test04(tree, place, performance),
        Ok(AuditTest::Test06) => test06(tree, place, &folder),
        Ok(AuditTest::Test07) => test07(tree, place, &folder),
        Ok(AuditTest::Test08) => test08(tree, place, &folder, performance),
        Ok(AuditTest::Test09) => test09(tree, place, &folder),
        _ => {
            tree.unchecked(format!("{name}: what its folder has is not looked at"));
            tree.allow(&folder);
        }
    }
}

fn test01(tree: &mut Tree, place: &Place, folder: &Path, performance: Option<&AuditedRun>) {
    let kind = Kind::Compliance(AuditTest::Test01);
    let path = folder.join("verify_accuracy.txt");
    let has_second = [BASELINE_FILE, COMPLIANCE_FILE].iter().any(|name| folder.join(name).exists());
    let verified = match has_second {
        true => tree.text(&path),
        false => passes(tree, &path),
    };
    if has_second {
        second_chance(tree, place, folder, verified.as_deref());
    }
    let test = logs::run(tree, place, kind);
    let of_logs = |performance, test| audit::test01::of_logs(performance, test, place.benchmark.name);
    let findings = performance.zip(test.as_ref()).map(|(performance, test)| of_logs(performance, test));
    judged(tree, place, kind, findings);
    if let Some(test) = &test {
        let reference = place.logs(Kind::Accuracy);
        let test = answers::Test { run: test, verified: verified.as_deref(), may_differ: has_second };
        answers::check_picks(tree, &folder.join(ACCURACY), &reference, &test);
    }
    texts::accuracy(tree, place, kind, test.as_ref());
}

/// Answers differ, and the scores of both logs have to be near.
fn second_chance(tree: &mut Tree, place: &Place, folder: &Path, verified: Option<&str>) {
    let [baseline_path, compliance_path] = [BASELINE_FILE, COMPLIANCE_FILE].map(|name| folder.join(name));
    if verified.is_some_and(|text| !text.contains("TEST FAIL")) {
        tree.found(&baseline_path, "is there although verify_accuracy.txt does not say TEST FAIL");
    }
    let (Some(baseline), Some(compliance)) = (tree.text(&baseline_path), tree.text(&compliance_path)) else { return };
    let scores = official_scores(&compliance);
    // That it is missing is said elsewhere.
    let of_test = files::text(&folder.join(ACCURACY).join(score::FILE), LARGEST).ok();
    let of_test = of_test.map(|text| official_scores(&text));
    let differs = |bound: &&Bound| {
        let of_test = of_test.as_ref().and_then(|of_test| of_test.of(&bound.metric));
        of_test.is_some_and(|of_test| scores.of(&bound.metric) != Some(of_test))
    };
    if let Some(Bound { metric, .. }) = place.official.bounds.iter().find(differs) {
        tree.found(&compliance_path, format!("has another score in {metric} than accuracy.txt beside it"));
    }
    let chance = SecondChance { baseline, compliance };
    if let Err(why) = chance.judge(&audit::second_chance::nears(place.official)) {
        tree.found(&compliance_path, format!("TEST01's answers differ, and the scores are not near: {why}"));
    }
    tree.unchecked("TEST01: its scores are read, and not worked out again: the middles of the logs are cut out");
}

fn test04(tree: &mut Tree, place: &Place, performance: Option<&AuditedRun>) {
    let kind = Kind::Compliance(AuditTest::Test04);
    let test = logs::run(tree, place, kind);
    let findings = performance.zip(test.as_ref()).map(|(performance, test)| audit::test04::judge(performance, test));
    judged(tree, place, kind, findings);
}

fn test06(tree: &mut Tree, place: &Place, folder: &Path) {
    let path = folder.join("verify_accuracy.txt");
    let text = tree.text(&path);
    let Some(answers) = whole_log(tree, folder) else { return };
    let end = audit::test06::end_of(place.benchmark.name);
    let has_first = place.scenario.name() != "Offline";
    let again = match audit::test06::again(&answers, has_first, end) {
        Ok(again) => again,
        Err(why) => return tree.found(&folder.join(ACCURACY).join(ACCURACY_FILE), why),
    };
    let missing = |line: &&str| text.as_ref().is_some_and(|text| !text.lines().any(|found| found == *line));
    if let Some(line) = again.lines().find(missing) {
        tree.found(&path, format!("does not say \"{line}\", which follows from the answers"));
    }
    if let Some(line) = again.lines().find(|line| line.ends_with("False")) {
        tree.found(&path, format!("TEST06: {line}"));
    }
    if end.is_none() {
        tree.unchecked(format!("TEST06: the token that ends answers of {} is not known", place.benchmark.name));
    }
    tree.unchecked("TEST06: a submission has no logs of its run");
}

fn test08(tree: &mut Tree, place: &Place, folder: &Path, performance: Option<&AuditedRun>) {
    let path = folder.join("verify_accuracy.txt");
    let text = passes(tree, &path);
    let Some(run) = logged(tree, place, AuditTest::Test08) else { return };
    let accuracy = files::text(&place.logs(Kind::Accuracy).join(ACCURACY_FILE), LARGEST).unwrap_or_default();
    let reference = answers::whole_of(&accuracy);
    let rows = audit::test08::of_logs(performance, reference.as_ref(), &run);
    tree.rows(&path, "TEST08", rows);
    let count = run.answers.as_ref().map_or(0, AnswerLog::len);
    let wanted =
        [("num_perf_log_entries", count), ("num_matched", count), ("num_unmatched", 0), ("num_ne_mismatch", 0)];
    for (name, wanted) in wanted {
        let said = text.as_ref().is_none_or(|text| text.lines().any(|line| line == format!("{name} = {wanted}")));
        if !said {
            tree.found(&path, format!("does not say \"{name} = {wanted}\", which follows from the answers"));
        }
    }
    tree.unchecked("TEST08: entropies of samples whose answers are cut out of the accuracy run's log");
}

fn test07(tree: &mut Tree, place: &Place, folder: &Path) {
    let path = folder.join("verify_accuracy.txt");
    let text = passes(tree, &path);
    let number =
        |words: &str| text.as_ref()?.lines().find_map(|line| line.strip_prefix(words)?.trim().parse::<f64>().ok());
    let (score, written) = (number("Accuracy score: "), number("Accuracy threshold: "));
    let Some(at_least) = audit::test07::least_of(place.benchmark.name) else {
        return tree.unchecked(format!("TEST07: the least score of {} is not known", place.benchmark.name));
    };
    if text.is_some() && written.is_none_or(|written| written < at_least) {
        let found = written.map_or_else(|| "none".to_owned(), |written| written.to_string());
        tree.found(&path, format!("has the threshold {found}, and the official one is {at_least}"));
    }
    tree.unchecked("TEST07: its score is read, and not worked out again from the answers");
    if let (Some(run), Some(_)) = (logged(tree, place, AuditTest::Test07), text) {
        let findings = audit::test07::judge(&run, score.unwrap_or(f64::NAN), at_least);
        tree.rows(&path, "TEST07", findings.checks);
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
    tree.rows(&path, "TEST09", findings.checks);
}

/// The run of a test whose answers the submission has as a whole.
fn logged(tree: &mut Tree, place: &Place, test: AuditTest) -> Option<AuditedRun> {
    let run = logs::run(tree, place, Kind::Compliance(test));
    let answers = whole_log(tree, &place.test(test.name()))?;
    run.map(|run| AuditedRun { answers: Some(answers), ..run })
}

/// The accuracy log of a test, of which nothing may be cut out.
fn whole_log(tree: &mut Tree, folder: &Path) -> Option<AnswerLog> {
    let path = folder.join(ACCURACY).join(ACCURACY_FILE);
    let answers = AnswerLog::read(tree.text(&path)?);
    answers.map_err(|why| tree.found(&path, format!("is no whole accuracy log: {why}"))).ok()
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
    tree.rows(&place.logs(kind).join(DETAIL_FILE), kind.name(), findings.checks);
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
