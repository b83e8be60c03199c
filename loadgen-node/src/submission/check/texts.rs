//! Checks the texts beside the logs: scores, measurements and the submitter's settings.

use std::path::Path;

use loadgen::conf::keys::{self, Owner};
use loadgen::conf::parse::Table;
use loadgen::settings::TestSettings;
use lon_qsl::benchmark::official_scores;
use serde_json::{Map, Value};

use super::super::entry::MODEL_KEYS;
use super::super::kind::Kind;
use super::super::score;
use super::place::Place;
use super::settings::{is_equal, requested};
use super::system::is_empty;
use super::tree::Tree;
use lon_run::audit::AuditedRun;
use lon_run::division::fields;
use lon_run::outputs::logs::audit_folder::ACCURACY;

/// The beginning of the line of the script for classifiers.
const COUNTED: &str = "accuracy=";
/// Digits of a SHA-256.
const SUM_DIGITS: usize = 64;

/// Looks at the scores of an accuracy run or of TEST01.
pub(super) fn accuracy(tree: &mut Tree, place: &Place, kind: Kind, run: Option<&AuditedRun>) {
    let folder = match kind {
        Kind::Compliance(test) => place.test(test.name()).join(ACCURACY),
        Kind::Accuracy | Kind::Performance => place.logs(Kind::Accuracy),
    };
    let path = folder.join(score::FILE);
    let Some(text) = tree.text(&path) else { return };
    let scores = official_scores(&text);
    if kind == Kind::Accuracy && place.division.is_comparable() {
        if let Err(why) = score::reached(&place.official.bounds, &scores) {
            tree.add_fault(&path, format!("{why:#}"));
        }
        for bound in place.official.bounds.iter().filter(|bound| scores.of(&bound.metric).is_none()) {
            tree.unchecked(format!("{}: scores that are not written down", bound.metric));
        }
    } else if place.official.bounds.iter().all(|bound| scores.of(&bound.metric).is_none()) {
        match kind {
            // The checkers read no score of a test whose answers agree.
            Kind::Compliance(_) => tree.advise(&path, "has no score"),
            Kind::Accuracy | Kind::Performance => tree.add_fault(&path, "has no score"),
        }
    }
    let is_sum = |sum: &String| sum.len() == SUM_DIGITS && sum.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !scores.log_sha256.as_ref().is_some_and(is_sum) {
        let what = "has no line hash= with the SHA-256 of the whole accuracy log";
        match kind {
            Kind::Compliance(_) => tree.advise(&path, what),
            Kind::Accuracy | Kind::Performance => tree.add_fault(&path, what),
        }
    }
    if let Some(line) = text.lines().find(|line| line.starts_with(COUNTED) && line.contains("total=")) {
        let what = match counted(line) {
            Some(counted) => wrong_count(&counted, kind, run),
            None => Some(format!("has the line \"{line}\", which the script does not print")),
        };
        what.into_iter().for_each(|what| tree.add_fault(&path, what));
    }
}

/// The line of the script for classifiers.
struct Counted {
    percent: f64,
    good: u64,
    total: u64,
}

fn counted(line: &str) -> Option<Counted> {
    let (percent, counts) = line.strip_prefix(COUNTED)?.split_once("%, good=")?;
    let (good, total) = counts.split_once(", total=")?;
    Some(Counted { percent: percent.parse().ok()?, good: good.parse().ok()?, total: total.trim().parse().ok()? })
}

fn wrong_count(counted: &Counted, kind: Kind, run: Option<&AuditedRun>) -> Option<String> {
    let Counted { percent, good, total } = *counted;
    let computed = 100.0 * good as f64 / total as f64;
    if total == 0 || good > total || (computed - percent).abs() > 0.000_6 {
        return Some(format!("says {percent} %, and {good} of {total} are {computed:.3} %"));
    }
    let detail = &run?.detail;
    let samples = detail.whole("effective_accuracy_sample_count").or(detail.whole("qsl_reported_total_count"))?;
    match kind {
        Kind::Accuracy if total != samples => {
            Some(format!("has the score of {total} samples, and the run had {samples}"))
        }
        Kind::Compliance(_) if total > samples => {
            Some(format!("has the score of {total} samples, and the dataset has {samples}"))
        }
        _ => None,
    }
}

/// Looks at the measurements, `user.conf` and `README.md`.
pub(super) fn measurements(tree: &mut Tree, place: &Place, performance: Option<&AuditedRun>) {
    let folder = place.layout.measurements(&place.folder, &place.word);
    tree.text(&folder.join("README.md"));
    let conf = folder.join("user.conf");
    if let Some(text) = tree.text(&conf) {
        // No official text asks that it be the one that the run had.
        for what in performance.map(|run| unlike_log(place, &text, run)).unwrap_or_default() {
            tree.advise(&conf, what);
        }
    }
    let usual = folder.join(place.layout.measurements_file(&place.word));
    let other = tree.files(&folder).into_iter().find(|name| place.layout.is_measurements(name));
    let path = if usual.is_file() { usual } else { other.map_or(usual, |name| folder.join(name)) };
    if let Some(text) = tree.text(&path) {
        described(tree, &path, &text);
    }
}

fn described(tree: &mut Tree, path: &Path, text: &str) {
    let keys: Map<String, Value> = match serde_json::from_str(text) {
        Ok(keys) => keys,
        Err(error) => return tree.add_fault(path, format!("is no JSON object: {error}")),
    };
    for key in MODEL_KEYS {
        match keys.get(key) {
            None => tree.add_fault(path, format!("lacks the key {key}")),
            Some(value) if is_empty(value) => tree.add_fault(path, format!("has no text under {key}")),
            Some(Value::String(_)) => {}
            Some(value) => tree.advise(path, format!("has {value} under {key}: a text is wanted")),
        }
    }
}

/// The settings of `user.conf` that the log contradicts. A log has the settings of its own scenario alone; of the
/// others it says nothing.
fn unlike_log(place: &Place, text: &str, run: &AuditedRun) -> Vec<String> {
    let table = Table::parse(text);
    let mut faults: Vec<String> = table.faults().iter().map(ToString::to_string).collect();
    let Some(logged) = requested(&run.detail) else { return faults };
    let scenario = place.scenario_of(&run.detail);
    let mut bare = TestSettings { scenario, ..TestSettings::default() };
    place.rules.apply(place.benchmark.name, scenario.name(), &mut bare);
    let mut set = bare.clone();
    keys::apply(&table, Owner::User, place.benchmark.name, scenario.name(), &mut set);
    let [logged, bare, set] = [logged, bare, set].map(|settings| fields(&settings));
    for (field, value) in &set {
        let (Some(logged_value), Some(prescribed)) = (logged.get(field), bare.get(field)) else { continue };
        let is_rate = matches!(field.as_str(), "server_target_qps" | "offline_expected_qps");
        let is_set = is_rate || value != prescribed;
        let is_logged = run.detail.value(&format!("requested_{field}")).is_some();
        if is_set && is_logged && !is_equal(logged_value, value) {
            faults.push(format!("makes {field} {value}, and the log of the performance run has {logged_value}"));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Source: the official checker asks for values that are not empty, whatever they are.
    #[test]
    fn measurements_have_values_and_texts_by_advice() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("m.json");
        let mut keys: Map<String, Value> = MODEL_KEYS.iter().map(|key| ((*key).to_owned(), "x".into())).collect();
        let (empty, list, lacking) = (MODEL_KEYS[0], MODEL_KEYS[1], MODEL_KEYS[2]);
        keys.insert(empty.to_owned(), "".into());
        keys.insert(list.to_owned(), vec!["fp4"].into());
        keys.remove(lacking);
        let text = Value::Object(keys).to_string();
        std::fs::write(&path, &text).unwrap();
        let mut tree = Tree::open(root.path()).unwrap();
        described(&mut tree, &path, &text);
        let notes = tree.end("v6.0");
        let findings: Vec<&str> = notes.findings.iter().map(|finding| finding.what.as_str()).collect();
        assert!(findings.contains(&format!("has no text under {empty}").as_str()), "{findings:?}");
        assert!(findings.contains(&format!("lacks the key {lacking}").as_str()), "{findings:?}");
        let advised = format!("has [\"fp4\"] under {list}: a text is wanted");
        assert!(notes.advice.iter().any(|advice| advice.what == advised), "{:?}", notes.advice);
    }

    #[test]
    fn percent_and_counts_belong_together() {
        let fault_of = |line: &str| wrong_count(&counted(line).unwrap(), Kind::Accuracy, None);
        assert_eq!(fault_of("accuracy=79.833%, good=958, total=1200"), None);
        let wrong = fault_of("accuracy=80.000%, good=958, total=1200").unwrap();
        assert_eq!(wrong, "says 80 %, and 958 of 1200 are 79.833 %");
        assert!(fault_of("accuracy=100.000%, good=0, total=0").is_some());
    }
}
