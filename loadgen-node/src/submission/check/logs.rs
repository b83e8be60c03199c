//! The logs of one run: what they say is what the round asks for, and what stands in them follows from them.

use std::path::Path;

use jiff::Timestamp;
use loadgen::official::{self, Agreement, DETAIL_FILE, Logs, MARK, SUMMARY_FILE};
use serde_json::Value;

use super::super::kind::Kind;
use super::loadgen_files::{Built, built};
use super::place::Place;
use super::settings;
use super::tree::Tree;
use super::tree_division::TreeDivision;
use crate::audit::{AuditedRun, Detail};

/// How many contradictions of a pair of logs are named.
const SHOWN: usize = 3;
/// The words that the name of a SUT over a network has (rules v5, Network division).
const NETWORK_SUT: &str = "Network SUT";
/// The scenario whose query has a least number of samples.
const ONE_QUERY: &str = "Offline";
/// The words of a mark that says so.
const NO_RESULT: &str = "not a Network result";

/// Reads the detail log and the summary of a folder. None: one is missing or no log, and that is noted.
fn read(tree: &mut Tree, folder: &Path) -> Option<AuditedRun> {
    let path = folder.join(DETAIL_FILE);
    let (detail, summary) = (tree.text(&path), tree.text(&folder.join(SUMMARY_FILE)));
    let detail = Detail::read(&detail?).map_err(|why| tree.found(&path, format!("is no detail log: {why}"))).ok()?;
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
    let mut faults = said(place, kind, &run.detail);
    faults.extend(counts(place, kind, &run.detail));
    if kind != Kind::Accuracy {
        faults.extend(verdict(&run.detail));
    }
    match settings::faults(place, kind, &run.detail) {
        Ok(of_settings) => faults.extend(of_settings),
        Err(unchecked) => tree.unchecked(unchecked),
    }
    match built(&run.detail) {
        Built::Unmodified => {}
        Built::Modified(of_files) => faults.extend(of_files),
        Built::NotSeen(why) => tree.unchecked(format!("files of the LoadGen that led the runs: {why}")),
    }
    for what in faults {
        tree.found(&path, what);
    }
    for mark in run.summary.lines().filter_map(|line| line.strip_prefix(MARK)) {
        // Runs of compliance tests have settings that no result may have, and rehearsals are none.
        let is_result = place.division == TreeDivision::Network && !place.is_rehearsal;
        if is_result && !matches!(kind, Kind::Compliance(_)) && mark.contains(NO_RESULT) {
            tree.found(&path.with_file_name(SUMMARY_FILE), format!("says of the run: {mark}"));
        }
    }
    judged_again(tree, &path, run);
}

/// What a log says of its run.
fn said(place: &Place, kind: Kind, detail: &Detail) -> Vec<String> {
    let mut faults = Vec::new();
    let mode = if kind == Kind::Accuracy { "AccuracyOnly" } else { "PerformanceOnly" };
    let seeds = place.rules.round.seeds;
    let wanted: [(&str, Value); 5] = [
        ("effective_scenario", place.scenario_of(detail).name().into()),
        ("effective_test_mode", mode.into()),
        ("effective_qsl_rng_seed", seeds.qsl.into()),
        ("effective_sample_index_rng_seed", seeds.sample_index.into()),
        ("effective_schedule_rng_seed", seeds.schedule.into()),
    ];
    for (key, wanted) in wanted {
        if detail.value(key) != Some(&wanted) {
            faults.push(format!("{key} is {}, {wanted} is wanted", shown(detail.value(key))));
        }
    }
    if detail.has_errors() || detail.error_lines() > 0 {
        let (count, lines) = (shown(detail.value("num_errors")), detail.error_lines());
        faults.push(format!("the run had errors: num_errors is {count}, lines that are errors: {lines}"));
    }
    let name = detail.text("sut_name").unwrap_or_default();
    if place.is_networked && !name.contains(NETWORK_SUT) {
        faults.push(format!("sut_name is \"{name}\": it has to contain \"{NETWORK_SUT}\""));
    }
    let written = detail.text("test_datetime").unwrap_or_default();
    match written.parse::<Timestamp>() {
        Ok(moment) if moment > Timestamp::now() => faults.push(format!("test_datetime is {written}, in the future")),
        Ok(_) => {}
        Err(_) => faults.push(format!("test_datetime is \"{written}\": a date and a time are wanted")),
    }
    faults
}

/// How many samples the run was about.
fn counts(place: &Place, kind: Kind, detail: &Detail) -> Vec<String> {
    let mut faults = Vec::new();
    let mut least = |key: &str, least: Option<u64>| {
        if let Some(least) = least
            && detail.whole(key).is_none_or(|found| found < least)
        {
            faults.push(format!("{key} is {}, {least} at least are wanted", shown(detail.value(key))));
        }
    };
    let official = place.official;
    match kind {
        Kind::Accuracy if place.is_rehearsal => {}
        Kind::Accuracy => {
            // Releases before 6.0 do not log it.
            let asked = "effective_accuracy_sample_count";
            let key = if detail.value(asked).is_some() { asked } else { "qsl_reported_total_count" };
            let wanted = official.accuracy_samples.or(official.dataset_samples);
            if wanted.is_some() && detail.whole(key) != wanted {
                let wanted = wanted.unwrap_or_default();
                faults.push(format!("{key} is {}, {wanted} is wanted", shown(detail.value(key))));
            }
        }
        Kind::Compliance(test) if test.sets_length() => {}
        Kind::Performance | Kind::Compliance(_) => {
            least("effective_performance_sample_count", official.performance_samples);
            if place.scenario_of(detail).name() == ONE_QUERY {
                least("effective_samples_per_query", official.offline_samples);
            }
        }
    }
    faults
}

/// What the logs of a measured run conclude.
fn verdict(detail: &Detail) -> Vec<String> {
    let mut faults = Vec::new();
    if !detail.is_valid() {
        faults.push(format!("result_validity is {}: the run is not VALID", shown(detail.value("result_validity"))));
    }
    if detail.value("early_stopping_met").is_some_and(|met| *met != true) {
        let keys = ["early_stopping_result", "early_stopping_ttft_result", "early_stopping_tpot_result"];
        let said: Vec<&str> = keys.iter().filter_map(|key| detail.value(key)?.as_str()).map(str::trim).collect();
        faults.push(format!("early_stopping_met is not true: too few queries for the percentile: {}", said.join(" ")));
    }
    faults
}

/// Holds both logs against what this engine makes of the same settings and results. A log that was edited in one place
/// contradicts itself in another.
fn judged_again(tree: &mut Tree, path: &Path, run: &AuditedRun) {
    let logs = match run.detail.log() {
        Ok(detail) => Logs { detail: detail.clone(), summary: run.summary.clone(), trace: None, tokens: None },
        Err(error) => return tree.found(path, error.to_string()),
    };
    let compared = match official::compare_by(&logs, None) {
        Ok(compared) => compared,
        Err(error) => return tree.found(path, error.to_string()),
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
        tree.found(path, format!("the logs contradict themselves in {what}"));
    }
    if differing.len() > SHOWN {
        let more = differing.len() - SHOWN;
        tree.found(
            path,
            format!("the logs contradict themselves in {more} more places: `replay --official` lists them"),
        );
    }
}

fn shown(value: Option<&Value>) -> String {
    value.map_or_else(|| "not there".to_owned(), ToString::to_string)
}
