//! The logs of one run: what they say is what the round asks for, and what stands in them follows from them.

use std::path::Path;

use jiff::Timestamp;
use loadgen::official::{self, Agreement, DETAIL_FILE, Logs, MARK, SUMMARY_FILE};
use serde_json::Value;

use super::super::kind::Kind;
use super::loadgen_files::{Built, built};
use super::place::Place;
use super::settings::{self, Unlike};
use super::tree::Tree;
use super::tree_division::TreeDivision;
use lon_run::audit::{AuditedRun, Detail};

/// The most contradictions that findings name of a pair of logs.
const SHOWN: usize = 3;
/// The words that the name of a SUT over a network has (rules v5, Network division).
const NETWORK_SUT: &str = "Network SUT";
/// Fault of a log of this program.
const OWN_LOG: &str = "is of loadgen-node: a submission needs logs of the official LoadGen (engine = \"official\")";
/// The words of a mark that says so.
const NO_RESULT: &str = "not a Network result";

/// Reads the detail log and the summary of a folder. None: one is missing or no log, and that is noted.
fn read(tree: &mut Tree, folder: &Path) -> Option<AuditedRun> {
    let path = folder.join(DETAIL_FILE);
    let (detail, summary) = (tree.text(&path), tree.text(&folder.join(SUMMARY_FILE)));
    let detail =
        Detail::read(&detail?).map_err(|why| tree.add_fault(&path, format!("is no detail log: {why}"))).ok()?;
    Some(AuditedRun { detail, summary: summary?, answers: None, own: None })
}

/// Reads the logs of a run of a place and looks at them. None: one is missing or no log.
pub(super) fn run(tree: &mut Tree, place: &Place, kind: Kind) -> Option<AuditedRun> {
    let run = read(tree, &place.logs(kind))?;
    check(tree, place, kind, &run);
    Some(run)
}

/// Looks at the logs of a run.
fn check(tree: &mut Tree, place: &Place, kind: Kind, run: &AuditedRun) {
    let path = place.logs(kind).join(DETAIL_FILE);
    let mut faults = fact_faults(place, kind, &run.detail);
    faults.extend(counts(place, kind, &run.detail));
    let of_verdict = if kind == Kind::Accuracy { Vec::new() } else { verdict(&run.detail) };
    let ended = errors(&run.detail).into_iter().chain(of_verdict);
    match kind {
        // Its script asks for no verdict, and a dataset that ends is an error to LoadGen.
        Kind::Compliance(test) if test.sets_length() => ended.for_each(|what| tree.advise(&path, what)),
        Kind::Compliance(_) | Kind::Performance | Kind::Accuracy => faults.extend(ended),
    }
    match settings::unlike(place, kind, &run.detail) {
        Ok(Unlike { faults: of_settings, advice }) => {
            faults.extend(of_settings);
            advice.into_iter().for_each(|what| tree.advise(&path, what));
        }
        Err(unchecked) => tree.unchecked(unchecked),
    }
    match built(&run.detail) {
        Built::Unmodified => {}
        // A rehearsal is not to be submitted.
        Built::Own if place.is_rehearsal => tree.advise(&path, OWN_LOG),
        Built::Own => faults.push(OWN_LOG.to_owned()),
        Built::Modified(of_files) => faults.extend(of_files),
        Built::Unchecked(why) => tree.unchecked(format!("files of the LoadGen that led the runs: {why}")),
    }
    for what in faults {
        tree.add_fault(&path, what);
    }
    for mark in run.summary.lines().filter_map(|line| line.strip_prefix(MARK)) {
        // Runs of compliance tests have settings that no result may have, and rehearsals are none.
        let is_result = place.division == TreeDivision::Network && !place.is_rehearsal;
        if is_result && !matches!(kind, Kind::Compliance(_)) && mark.contains(NO_RESULT) {
            tree.add_fault(&path.with_file_name(SUMMARY_FILE), format!("says of the run: {mark}"));
        }
    }
    judged_again(tree, &path, run);
}

/// Returns the faults in the facts of a run that its log states: scenario, test mode, seeds, name of the SUT and date.
fn fact_faults(place: &Place, kind: Kind, detail: &Detail) -> Vec<String> {
    let mut faults = Vec::new();
    let mode = if kind == Kind::Accuracy { "AccuracyOnly" } else { "PerformanceOnly" };
    let seeds = place.rules.round.seeds;
    let facts: [(&str, Value); 5] = [
        ("effective_scenario", place.scenario_of(detail).name().into()),
        ("effective_test_mode", mode.into()),
        ("effective_qsl_rng_seed", seeds.qsl.into()),
        ("effective_sample_index_rng_seed", seeds.sample_index.into()),
        ("effective_schedule_rng_seed", seeds.schedule.into()),
    ];
    for (key, value) in facts {
        if detail.value(key) != Some(&value) {
            faults.push(format!("{key} is {}, {value} is wanted", value_text(detail.value(key))));
        }
    }
    let name = detail.text("sut_name").unwrap_or_default();
    if place.is_networked && !name.contains(NETWORK_SUT) {
        faults.push(format!("sut_name is \"{name}\": it has to contain \"{NETWORK_SUT}\""));
    }
    let date = detail.text("test_datetime").unwrap_or_default();
    match date.parse::<Timestamp>() {
        Ok(moment) if moment > Timestamp::now() => faults.push(format!("test_datetime is {date}, in the future")),
        Ok(_) => {}
        Err(_) => faults.push(format!("test_datetime is \"{date}\": a date and a time are wanted")),
    }
    faults
}

/// Returns the faults in the numbers of samples of the run.
fn counts(place: &Place, kind: Kind, detail: &Detail) -> Vec<String> {
    let mut faults = Vec::new();
    let mut least = |key: &str, least: Option<u64>| {
        if let Some(least) = least
            && detail.whole(key).is_none_or(|count| count < least)
        {
            faults.push(format!("{key} is {}, {least} at least are wanted", value_text(detail.value(key))));
        }
    };
    let official = place.official;
    match kind {
        Kind::Accuracy if place.is_rehearsal => {}
        Kind::Accuracy => {
            // Releases before 6.0 do not log it.
            let sample_key = "effective_accuracy_sample_count";
            let key = if detail.value(sample_key).is_some() { sample_key } else { "qsl_reported_total_count" };
            let samples = official.accuracy_samples.or(official.dataset_samples);
            if samples.is_some() && detail.whole(key) != samples {
                let samples = samples.unwrap_or_default();
                faults.push(format!("{key} is {}, {samples} is wanted", value_text(detail.value(key))));
            }
        }
        Kind::Compliance(test) if test.sets_length() => {}
        Kind::Performance | Kind::Compliance(_) => {
            least("effective_performance_sample_count", official.performance_samples);
            if place.scenario_of(detail).is_one_query() {
                least("effective_samples_per_query", official.offline_samples);
            }
        }
    }
    faults
}

/// The errors of a run.
fn errors(detail: &Detail) -> Option<String> {
    let (count, lines) = (value_text(detail.value("num_errors")), detail.error_lines());
    let has_errors = detail.has_errors() || lines > 0;
    has_errors.then(|| format!("the run had errors: num_errors is {count}, lines that are errors: {lines}"))
}

/// Returns the faults in the conclusions of the logs of a measured run.
fn verdict(detail: &Detail) -> Vec<String> {
    let mut faults = Vec::new();
    if !detail.is_valid() {
        faults
            .push(format!("result_validity is {}: the run is not VALID", value_text(detail.value("result_validity"))));
    }
    if detail.value("early_stopping_met").is_some_and(|met| *met != true) {
        let keys = ["early_stopping_result", "early_stopping_ttft_result", "early_stopping_tpot_result"];
        let texts: Vec<&str> = keys.iter().filter_map(|key| detail.value(key)?.as_str()).map(str::trim).collect();
        faults.push(format!("early_stopping_met is not true: too few queries for the percentile: {}", texts.join(" ")));
    }
    faults
}

/// Holds both logs against what this engine makes of the same settings and results. A log that was edited in one place
/// contradicts itself in another.
fn judged_again(tree: &mut Tree, path: &Path, run: &AuditedRun) {
    let logs = match run.detail.log() {
        Ok(detail) => Logs { detail: detail.clone(), summary: run.summary.clone(), trace: None, tokens: None },
        Err(error) => return tree.add_fault(path, error.to_string()),
    };
    if let Err(old) = official::is_read(&logs.detail) {
        return tree.unchecked(format!("logs, judged again: {}", old.why));
    }
    let compared = match official::compare_by(&logs, None) {
        Ok(compared) => compared,
        Err(error) => return tree.add_fault(path, error.to_string()),
    };
    // This program's own marks are no lines of the official LoadGen.
    let is_mark = |name: &str| MARK.trim_end_matches([' ', ':']) == name.split(" (").next().unwrap_or(name);
    let of_logs = compared.quantities.iter().filter(|quantity| !is_mark(&quantity.name));
    let differing = of_logs.filter(|quantity| quantity.agreement == Agreement::Differs);
    let differing: Vec<String> = differing
        .map(|quantity| {
            let [official, ours] =
                [&quantity.official, &quantity.ours].map(|text| text.as_deref().unwrap_or("nothing"));
            format!("{}: {official} is there, and {ours} follows from the rest", quantity.name)
        })
        .collect();
    for what in differing.iter().take(SHOWN) {
        tree.add_fault(path, format!("the logs contradict themselves in {what}"));
    }
    if differing.len() > SHOWN {
        let more = differing.len() - SHOWN;
        tree.add_fault(
            path,
            format!("the logs contradict themselves in {more} more places: `replay --official` lists them"),
        );
    }
}

fn value_text(value: Option<&Value>) -> String {
    value.map_or_else(|| "not there".to_owned(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::place::{closed, logged};
    use super::*;
    use lon_run::audit::AuditTest;

    /// Source: trees of v5.1 with logs of LoadGen 4.1, which the official checker takes.
    #[test]
    fn logs_of_old_releases_are_unchecked() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("note.md"), "x").unwrap();
        let mut tree = Tree::open(root.path()).unwrap();
        let detail = Detail::read(&logged(&[("loadgen_version", "\"4.1 @ 1\"")])).unwrap();
        let run = AuditedRun { detail, summary: String::new(), answers: None, own: None };
        judged_again(&mut tree, &root.path().join(DETAIL_FILE), &run);
        let outcome = tree.end("v5.1");
        assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
        assert!(outcome.unchecked[0].contains("loadgen_version is 4.1 @ 1"), "{:?}", outcome.unchecked);
    }

    /// Source: the official scripts: those of TEST01 and TEST04 ask for runs that are VALID, that of TEST07 does not.
    #[test]
    fn verdicts_are_wrong_where_they_are_asked_for() {
        for (kind, is_wrong) in [
            (Kind::Performance, true),
            (Kind::Compliance(AuditTest::Test01), true),
            (Kind::Compliance(AuditTest::Test07), false),
            (Kind::Compliance(AuditTest::Test09), false),
        ] {
            let root = tempfile::tempdir().unwrap();
            let place = closed(root.path(), "v6.0", "gpt-oss-120b", "Offline");
            let folder = place.logs(kind);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(SUMMARY_FILE), "x\n").unwrap();
            let log = logged(&[("result_validity", "\"INVALID\""), ("num_errors", "1")]);
            fs::write(folder.join(DETAIL_FILE), log).unwrap();
            let mut tree = Tree::open(root.path()).unwrap();
            assert!(run(&mut tree, &place, kind).is_some());
            let outcome = tree.end("v6.0");
            let has = |list: &[lon_run::outputs::documents::submission_check::TreeFinding], part: &str| {
                list.iter().any(|finding| finding.what.contains(part))
            };
            for part in ["the run is not VALID", "the run had errors: num_errors is 1"] {
                let (is_finding, advised) = (has(&outcome.findings, part), has(&outcome.advice, part));
                assert_eq!((is_finding, advised), (is_wrong, !is_wrong), "{kind:?}: {:?}", outcome.findings);
            }
        }
    }
}
