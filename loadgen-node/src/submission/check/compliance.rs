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
use lon_run::audit::second_chance::{BASELINE_FILE, COMPLIANCE_FILE, SecondChance};
use lon_run::audit::{self, AnswerLog, AuditTest, AuditedRun, Findings};
use lon_run::outputs::logs::accuracy_log::GAP;
use lon_run::outputs::logs::audit_folder::ACCURACY;

/// The first round whose official file for TEST07 asks every sample once.
const ASKS_ONCE: &str = "v6.1";

/// Looks at the folder of a test.
pub(super) fn check(tree: &mut Tree, place: &Place, name: &str, performance: Option<&AuditedRun>) {
    let folder = place.test(name);
    if !folder.is_dir() {
        return tree.add_fault(&folder, format!("is missing: round {} asks for {name}", place.rules.round.name));
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
    match &test {
        Some(test) => {
            let reference = place.logs(Kind::Accuracy);
            let test = answers::Test { run: test, verified: verified.as_deref(), may_differ: has_second };
            answers::check_picks(tree, &folder.join(ACCURACY), &reference, &test);
        }
        None => {
            tree.allow(&folder.join(ACCURACY).join(ACCURACY_FILE));
            tree.unchecked("TEST01: its answers, where the detail log of its run cannot be read");
        }
    }
    texts::accuracy(tree, place, kind, test.as_ref());
}

/// Answers differ, and the scores of both logs have to be near.
fn second_chance(tree: &mut Tree, place: &Place, folder: &Path, verified: Option<&str>) {
    let [baseline_path, compliance_path] = [BASELINE_FILE, COMPLIANCE_FILE].map(|name| folder.join(name));
    if verified.is_some_and(|text| !text.contains("TEST FAIL")) {
        tree.add_fault(&baseline_path, "is there although verify_accuracy.txt does not say TEST FAIL");
    }
    let (Some(baseline), Some(compliance)) = (tree.text(&baseline_path), tree.text(&compliance_path)) else { return };
    let scores = official_scores(&compliance);
    // Another check reports a missing file.
    let of_test = files::text(&folder.join(ACCURACY).join(score::FILE), LARGEST).ok();
    let of_test = of_test.map(|text| official_scores(&text));
    let differs = |bound: &&Bound| {
        let of_test = of_test.as_ref().and_then(|of_test| of_test.of(&bound.metric));
        of_test.is_some_and(|of_test| scores.of(&bound.metric) != Some(of_test))
    };
    if let Some(Bound { metric, .. }) = place.official.bounds.iter().find(differs) {
        tree.add_fault(&compliance_path, format!("has another score in {metric} than accuracy.txt beside it"));
    }
    let chance = SecondChance { baseline, compliance };
    if let Err(why) = chance.judge(&audit::second_chance::nears(place.official)) {
        tree.add_fault(&compliance_path, format!("TEST01's answers differ, and the scores are not near: {why}"));
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
    if let Some(line) = text.as_ref().and_then(|text| text.lines().find(|line| line.ends_with("False"))) {
        tree.add_fault(&path, format!("TEST06: {line}"));
    }
    let Some(answers) = whole_log(tree, folder, "TEST06") else { return };
    let end = audit::test06::end_of(place.benchmark.name);
    let has_first = !place.scenario.is_one_query();
    let script_text = match audit::test06::log_text(&answers, has_first, end) {
        Ok(script_text) => script_text,
        Err(why) => return tree.add_fault(&folder.join(ACCURACY).join(ACCURACY_FILE), why),
    };
    let missing = |line: &&str| text.as_ref().is_some_and(|text| !text.lines().any(|own_line| own_line == *line));
    if let Some(line) = script_text.lines().find(missing) {
        tree.add_fault(&path, format!("does not say \"{line}\", which follows from the answers"));
    }
    if let Some(line) = script_text.lines().find(|line| line.ends_with("False")) {
        tree.add_fault(&path, format!("TEST06: {line}"));
    }
    if end.is_none() {
        tree.unchecked(format!("TEST06: the token that ends answers of {} is not known", place.benchmark.name));
    }
    tree.unchecked("TEST06: a submission has no logs of its run");
}

fn test08(tree: &mut Tree, place: &Place, folder: &Path, performance: Option<&AuditedRun>) {
    let path = folder.join("verify_accuracy.txt");
    let text = passes(tree, &path);
    let run = logged(tree, place, AuditTest::Test08);
    let Some(run) = run.filter(|run| run.answers.is_some()) else { return };
    let accuracy = files::text(&place.logs(Kind::Accuracy).join(ACCURACY_FILE), LARGEST).unwrap_or_default();
    let reference = answers::whole_of(&accuracy);
    let rows = audit::test08::of_logs(performance, reference.as_ref(), &run);
    tree.rows(&path, "TEST08", rows);
    let count = run.answers.as_ref().map_or(0, AnswerLog::len);
    let counts =
        [("num_perf_log_entries", count), ("num_matched", count), ("num_unmatched", 0), ("num_ne_mismatch", 0)];
    for (name, number) in counts {
        let has_line = text.as_ref().is_none_or(|text| text.lines().any(|line| line == format!("{name} = {number}")));
        if !has_line {
            tree.add_fault(&path, format!("does not say \"{name} = {number}\", which follows from the answers"));
        }
    }
    tree.unchecked("TEST08: entropies of samples whose answers are cut out of the accuracy run's log");
}

fn test07(tree: &mut Tree, place: &Place, folder: &Path) {
    let path = folder.join("verify_accuracy.txt");
    let text = passes(tree, &path);
    let number =
        |prefix: &str| text.as_ref()?.lines().find_map(|line| line.strip_prefix(prefix)?.trim().parse::<f64>().ok());
    let (score, threshold) = (number("Accuracy score: "), number("Accuracy threshold: "));
    let Some(at_least) = audit::test07::least_of(place.benchmark.name) else {
        return tree.unchecked(format!("TEST07: the least score of {} is not known", place.benchmark.name));
    };
    if text.is_some() && threshold.is_none_or(|threshold| threshold < at_least) {
        let value = threshold.map_or_else(|| "none".to_owned(), |threshold| threshold.to_string());
        tree.add_fault(&path, format!("has the threshold {value}, and the official one is {at_least}"));
    }
    tree.unchecked("TEST07: its score is read, and not worked out again from the answers");
    let Some(run) = logged(tree, place, AuditTest::Test07) else { return };
    // The official file asked for less in earlier rounds than in later ones.
    let asks_once = place.rules.round.name >= ASKS_ONCE;
    if let (true, Some(_), Some(_)) = (asks_once, &run.answers, text) {
        let findings = audit::test07::judge(&run, score.unwrap_or(f64::NAN), at_least);
        return tree.rows(&path, "TEST07", findings.checks);
    }
    if let Some(score) = score.filter(|score| *score < at_least) {
        tree.add_fault(&path, format!("has the score {score}, {at_least} at least"));
    }
    tree.rows(&path, "TEST07", audit::test07::of_detail(&run.detail, asks_once).into());
}

fn test09(tree: &mut Tree, place: &Place, folder: &Path) {
    let path = folder.join("verify_output_len.txt");
    let text = passes(tree, &path);
    let Some(bounds) = audit::test09::Bounds::of(place.benchmark.name) else {
        return tree.unchecked(format!("TEST09: the bounds of {} are not known", place.benchmark.name));
    };
    let Some(run) = logged(tree, place, AuditTest::Test09) else { return };
    if run.answers.is_none() {
        return tree.rows(&path, "TEST09", audit::test09::of_detail(&run.detail).into());
    }
    let findings = audit::test09::judge(&run, bounds, None);
    let missing = |line: &&str| text.as_ref().is_some_and(|text| !text.lines().any(|own_line| own_line == *line));
    let ours = findings.files.iter().flat_map(|file| file.text.lines());
    if let Some(line) = ours.filter(|line| line.contains(": ")).find(missing) {
        tree.add_fault(&path, format!("does not say \"{line}\", which follows from the answers"));
    }
    tree.rows(&path, "TEST09", findings.checks);
}

/// The run of a test, with its answers where the submission has all of them. The official checker asks for neither.
fn logged(tree: &mut Tree, place: &Place, test: AuditTest) -> Option<AuditedRun> {
    let (kind, name) = (Kind::Compliance(test), test.name());
    let answers = whole_log(tree, &place.test(name), name);
    if !place.logs(kind).is_dir() {
        tree.unchecked(format!("{name}: the logs of its run, where a submission has none"));
        return None;
    }
    logs::run(tree, place, kind).map(|run| AuditedRun { answers, ..run })
}

/// The accuracy log of a test. None: it is not there, or its middle is cut out, as the official script does.
fn whole_log(tree: &mut Tree, folder: &Path, name: &str) -> Option<AnswerLog> {
    let path = folder.join(ACCURACY).join(ACCURACY_FILE);
    if !path.exists() {
        tree.unchecked(format!("{name}: its answers, where a submission has none"));
        return None;
    }
    let text = tree.text(&path)?.replace("\r\n", "\n");
    if text.contains(GAP) {
        tree.unchecked(format!("{name}: answers that are cut out of its log"));
        return None;
    }
    AnswerLog::read(text).map_err(|why| tree.add_fault(&path, format!("is no accuracy log: {why}"))).ok()
}

/// Looks at what the script has written of both runs, and notes what was found when they were judged again.
fn judged(tree: &mut Tree, place: &Place, kind: Kind, findings: Option<Findings>) {
    let path = place.test(kind.name()).join("verify_performance.txt");
    let text = passes(tree, &path);
    let Some(findings) = findings else { return };
    let ours = findings.files.iter().find(|file| path.ends_with(file.name)).map(|file| scores(&file.text));
    // The scripts of some rounds print none.
    if let (Some(theirs), Some(ours)) = (text.map(|text| scores(&text)), ours)
        && !theirs.is_empty()
        && theirs != ours
    {
        tree.add_fault(
            &path,
            format!("has the scores {}, and the logs have {}", theirs.join(" and "), ours.join(" and ")),
        );
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
        tree.add_fault(path, "does not say TEST PASS in a line of its own, or says TEST FAIL, too");
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::place::closed;
    use super::*;

    /// Returns the findings on a test in a tree of v6.0 with these files in its folder, and the notes on things left
    /// unchecked.
    fn notes_of(benchmark: &str, name: &str, files: &[(&str, &str)]) -> (String, Vec<String>) {
        let root = tempfile::tempdir().unwrap();
        let place = closed(root.path(), "v6.0", benchmark, "Offline");
        for (path, text) in files {
            let path = place.test(name).join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let mut tree = Tree::open(root.path()).unwrap();
        check(&mut tree, &place, name, None);
        let outcome = tree.end("v6.0");
        (outcome.findings.iter().map(|finding| format!("{}\n", finding.what)).collect(), outcome.unchecked)
    }

    /// Sources: the official checker asks for what the scripts have written alone, and the official script cuts the
    /// logs of TEST07 and TEST09.
    #[test]
    fn what_a_submission_may_leave_out_of_a_test_is_unchecked() {
        let score = "Accuracy score: 70.0\nAccuracy threshold: 60.698\nTEST PASS\n";
        let cut = "[\n{ \"seq_id\" : 0, \"qsl_idx\" : 7, \"data\" : \"45\n\n...\n\nAB\" }\n]\n";
        let answers = format!("{ACCURACY}/{ACCURACY_FILE}");
        let first = "First token check pass: Skipped\nEOS check pass: True\nSample length check pass: True\n";
        for (benchmark, name, files) in [
            ("dlrm-v3", "TEST08", vec![("verify_accuracy.txt", "TEST PASS\n")]),
            ("gpt-oss-120b", "TEST07", vec![("verify_accuracy.txt", score)]),
            ("gpt-oss-120b", "TEST07", vec![("verify_accuracy.txt", score), (answers.as_str(), cut)]),
            ("gpt-oss-120b", "TEST09", vec![("verify_output_len.txt", "TEST PASS\n"), (answers.as_str(), cut)]),
            ("llama2-70b-99", "TEST06", vec![("verify_accuracy.txt", first)]),
        ] {
            let (findings, unchecked) = notes_of(benchmark, name, &files);
            assert_eq!(findings, "", "{name}");
            assert!(unchecked.iter().any(|what| what.starts_with(&format!("{name}: "))), "{name}: {unchecked:?}");
        }
    }

    #[test]
    fn answers_of_a_run_without_a_detail_log_are_unchecked() {
        let answers = format!("{ACCURACY}/{ACCURACY_FILE}");
        let (findings, unchecked) =
            notes_of("rgat", "TEST01", &[(&answers, "[\n]\n"), ("verify_accuracy.txt", "TEST PASS\n")]);
        assert!(findings.contains("is missing") && !findings.contains("does not belong here"), "{findings}");
        assert!(unchecked.iter().any(|what| what.starts_with("TEST01: its answers")), "{unchecked:?}");
    }

    #[test]
    fn what_a_test_must_have_is_missed_and_low_scores_are_named() {
        assert!(notes_of("dlrm-v3", "TEST08", &[("note.txt", "x")]).0.contains("is missing"));
        let empty = format!("{ACCURACY}/{ACCURACY_FILE}");
        let (findings, _) = notes_of("llama2-70b-99", "TEST06", &[("verify_accuracy.txt", "x\n"), (&empty, "[\n]\n")]);
        assert!(findings.contains("has no answers"), "{findings}");
        let (findings, _) = notes_of("llama2-70b-99", "TEST06", &[("verify_accuracy.txt", "EOS check pass: False\n")]);
        assert!(findings.contains("TEST06: EOS check pass: False"), "{findings}");
    }
}
