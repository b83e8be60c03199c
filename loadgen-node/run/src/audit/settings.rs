//! Rules of this program on the settings of two runs, and on the folders that they are read from.

use std::collections::BTreeSet;

use serde_json::Value;

use super::check::AuditCheck;
use super::detail::Detail;
use super::run::{AuditedRun, OwnFacts};

/// The most names that a row shows.
const SHOWN: usize = 4;
/// Settings in force that a submitter chooses run by run: how long a run is and how fast it asks.
pub const LENGTHS: [&str; 8] = [
    "target_qps",
    "target_duration_ms",
    "min_duration_ms",
    "max_duration_ms",
    "min_query_count",
    "max_query_count",
    "min_sample_count",
    "samples_per_query",
];
/// The row on them.
pub const LENGTHS_ROW: &str = "rates and lengths of both runs";
/// The row on the verdict of a run that has no reference.
pub const VERDICT_ROW: &str = "verdict in the detail log";

/// Every run has the settings of the reference, but for those that the audit changes. A row of its own has those that a
/// submitter chooses.
pub(super) fn same_settings(reference: &Detail, test: &Detail, changed: &[&str]) -> [AuditCheck; 2] {
    let is_in = |list: &[&str], key: &str| list.contains(&key.trim_start_matches("effective_"));
    let is_rule = |key: &str| !is_in(changed, key) && !is_in(&LENGTHS, key);
    let is_length = |key: &str| !is_in(changed, key) && is_in(&LENGTHS, key);
    [same("settings of both runs", reference, test, &is_rule), same(LENGTHS_ROW, reference, test, &is_length)]
}

/// A row on the settings that are kept: the same in both logs.
fn same(name: &str, reference: &Detail, test: &Detail, is_kept: &dyn Fn(&str) -> bool) -> AuditCheck {
    let keys = |log: &'_ Detail| -> Vec<(String, Value)> {
        let all = log.beginning("effective_").chain(log.beginning("qsl_reported_"));
        all.filter(|(key, _)| is_kept(key)).map(|(key, value)| (key.to_owned(), value.clone())).collect()
    };
    let (before, after) = (keys(reference), keys(test));
    let of = |list: &'_ [(String, Value)], key: &str| list.iter().find(|(own, _)| own == key).map(|(_, v)| v.clone());
    // A release that does not log a setting says nothing of it.
    let release = |log: &Detail| log.text("loadgen_version").map(str::to_owned);
    let is_silent = release(reference) != release(test);
    let mut different: Vec<String> = before
        .iter()
        .filter_map(|(key, value)| match of(&after, key) {
            Some(other) if other != *value => Some(format!("{key} {other} instead of {value}")),
            None if !is_silent => Some(format!("{key} none instead of {value}")),
            _ => None,
        })
        .collect();
    let new = after.iter().filter(|(key, _)| !is_silent && of(&before, key).is_none());
    different.extend(new.map(|(key, _)| format!("{key} is new")));
    let requirement = "the same, but for what the audit changes";
    if reference.beginning("effective_").next().is_none() {
        return AuditCheck::ours(name, false, requirement, "the detail log of the reference has no settings");
    }
    let both = before.iter().filter(|(key, _)| of(&after, key).is_some()).count();
    let finding = if different.is_empty() { format!("{both} settings are the same") } else { list(&different) };
    AuditCheck::ours(name, different.is_empty(), requirement, finding)
}

/// Both runs were of the same SUT, by its name, and of the same models where the folders have them.
pub(super) fn same_sut(reference: &AuditedRun, test: &AuditedRun) -> Vec<AuditCheck> {
    let name = |run: &AuditedRun| run.detail.text("sut_name").unwrap_or_default().to_owned();
    let (before, after) = (name(reference), name(test));
    let is_same = !before.is_empty() && before == after;
    let mut checks = vec![AuditCheck::ours("name of the SUT", is_same, before, after)];
    let title = "models of the nodes";
    checks.push(match (&reference.own, &test.own) {
        (Some(before), Some(after)) => {
            let [before, after] = [before, after].map(|own| own.models.join(", "));
            AuditCheck::ours(title, before == after, before, after)
        }
        _ => AuditCheck::unchecked(title, "the same in both runs", "only folders of this program name the models"),
    });
    checks
}

/// The settings that the audit's config file has were in force.
pub(super) fn in_force(test: &Detail, values: &[(&str, Value)]) -> AuditCheck {
    let value_text =
        |key: &str| test.value(&format!("effective_{key}")).map_or_else(|| "none".to_owned(), Value::to_string);
    let texts = |value: &dyn Fn(&(&str, Value)) -> String| {
        values.iter().map(|one| format!("{} {}", one.0, value(one))).collect::<Vec<_>>().join(", ")
    };
    let is_so = values.iter().all(|(key, value)| test.value(&format!("effective_{key}")) == Some(value));
    let [requirement, finding] = [texts(&|one| one.1.to_string()), texts(&|one| value_text(one.0))];
    AuditCheck::ours("settings of the audit, in the test", is_so, requirement, finding)
}

/// Both runs are VALID and without errors by their detail logs.
pub(super) fn both_valid(reference: &Detail, test: &Detail) -> AuditCheck {
    let finding = format!("reference {}, test {}", verdict_of(reference), verdict_of(test));
    let passed = [reference, test].iter().all(|log| log.is_valid() && !log.has_errors());
    AuditCheck::ours("verdicts in the detail logs", passed, "both VALID, without errors", finding)
}

/// The one run of an audit without reference is VALID and without errors by its detail log.
pub(super) fn valid(test: &Detail) -> AuditCheck {
    let passed = test.is_valid() && !test.has_errors();
    AuditCheck::ours(VERDICT_ROW, passed, "VALID, without errors", verdict_of(test))
}

/// Every sample of the library was answered. Scripts take any number of answers, so bad ones could be left out.
pub(super) fn every_sample(test: &AuditedRun) -> AuditCheck {
    let (name, requirement) = ("samples that were answered", "every sample of the library");
    let Some(total) = test.detail.whole("qsl_reported_total_count") else {
        return AuditCheck::ours(name, false, requirement, "the detail log has no qsl_reported_total_count");
    };
    let answers = test.answers.as_ref().map(|log| log.answers.as_slice()).unwrap_or_default();
    let samples: BTreeSet<u64> = answers.iter().map(|answer| answer.qsl_idx).collect();
    AuditCheck::ours(name, samples.len() as u64 == total, requirement, format!("{} of {total}", samples.len()))
}

fn verdict_of(log: &Detail) -> String {
    let verdict = log.text("result_validity").unwrap_or("without a verdict");
    format!("{verdict}{}", if log.has_errors() { " with errors" } else { "" })
}

/// Files are those that a run wrote, by the sums in its result.
pub(super) fn untouched(name: &str, own: Option<&OwnFacts>) -> AuditCheck {
    let name = format!("files of the {name}");
    let requirement = "the SHA-256 that the run wrote down";
    match own {
        None => AuditCheck::unchecked(&name, requirement, "only folders of this program have sums"),
        Some(own) if own.altered.is_empty() => AuditCheck::ours(&name, true, requirement, "all are the same"),
        Some(own) => AuditCheck::ours(&name, false, requirement, format!("another: {}", list(&own.altered))),
    }
}

/// Some of these texts.
fn list(texts: &[String]) -> String {
    let more = if texts.len() > SHOWN { format!(", and {} more", texts.len() - SHOWN) } else { String::new() };
    texts.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ") + &more
}

#[cfg(test)]
mod tests {
    use super::super::check::CheckOutcome;
    use super::*;

    fn log(values: &[(&str, &str)]) -> Detail {
        let line = |(key, value): &(&str, &str)| format!(":::MLLOG {{\"key\": \"{key}\", \"value\": {value}}}\n");
        Detail::read(&values.iter().map(line).collect::<String>()).unwrap()
    }

    #[test]
    fn a_setting_that_the_audit_does_not_change_is_named() {
        let reference = log(&[("effective_a", "1"), ("effective_b", "2"), ("qsl_reported_total_count", "5")]);
        let test = log(&[("effective_a", "7"), ("effective_b", "3"), ("qsl_reported_total_count", "5")]);
        let [row, lengths] = same_settings(&reference, &test, &["a"]);
        assert_eq!([row.outcome, lengths.outcome], [CheckOutcome::Failed, CheckOutcome::Passed]);
        assert_eq!(row.found, "effective_b 3 instead of 2");
        let first = |reference: &Detail, changed: &[&str]| same_settings(reference, &test, changed)[0].outcome;
        assert_eq!(first(&reference, &["a", "b"]), CheckOutcome::Passed);
        assert_eq!(first(&log(&[("x", "1")]), &[]), CheckOutcome::Failed);
        let more = log(&[("effective_a", "1"), ("effective_b", "2"), ("effective_c", "2")]);
        assert_eq!(first(&more, &["a", "b"]), CheckOutcome::Failed);
    }

    /// Releases until 5.1 do not log `effective_accuracy_sample_count`.
    #[test]
    fn a_setting_that_another_release_does_not_log_is_no_difference() {
        let of = |version: &str, more: &[(&str, &str)]| {
            log(&[&[("loadgen_version", version), ("effective_b", "2")], more].concat())
        };
        let count = [("effective_accuracy_sample_count", "5")];
        let (older, newer) = (of("\"5.1.0 @ a\"", &[]), of("\"6.0.5 @ b\"", &count));
        for [reference, test] in [[&older, &newer], [&newer, &older]] {
            let [row, _] = same_settings(reference, test, &[]);
            assert_eq!((row.outcome, &*row.found), (CheckOutcome::Passed, "1 settings are the same"));
        }
        let [row, _] = same_settings(&of("\"6.0.5 @ b\"", &[]), &newer, &[]);
        assert_eq!(row.found, "effective_accuracy_sample_count is new");
        let [row, _] = same_settings(
            &of("\"5.1.0 @ a\"", &[("effective_c", "1")]),
            &of("\"6.0.5 @ b\"", &[("effective_c", "2")]),
            &[],
        );
        assert_eq!(row.found, "effective_c 2 instead of 1");
    }

    #[test]
    fn rates_and_lengths_have_a_row_of_their_own() {
        let of = |rate: &str, limit: &str| log(&[("effective_target_qps", rate), ("effective_b", limit)]);
        let rows = |test: &Detail, changed: &[&str]| same_settings(&of("87", "2"), test, changed);
        let outcomes = |test: &Detail, changed: &[&str]| rows(test, changed).map(|row| row.outcome);
        let (passed, failed) = (CheckOutcome::Passed, CheckOutcome::Failed);
        assert_eq!(outcomes(&of("87", "2"), &[]), [passed, passed]);
        assert_eq!(outcomes(&of("88", "2"), &[]), [passed, failed]);
        assert_eq!(outcomes(&of("87", "3"), &[]), [failed, passed]);
        assert_eq!(outcomes(&of("88", "2"), &LENGTHS), [passed, passed]);
    }

    #[test]
    fn a_valid_result_with_errors_does_not_pass() {
        let valid_log = |errors: &str| log(&[("result_validity", "\"VALID\""), ("num_errors", errors)]);
        let (good, bad) = (valid_log("0"), valid_log("7"));
        assert_eq!([both_valid(&good, &good), valid(&good)].map(|row| row.outcome), [CheckOutcome::Passed; 2]);
        for row in [both_valid(&good, &bad), both_valid(&bad, &good), valid(&bad), valid(&log(&[("x", "1")]))] {
            assert_eq!(row.outcome, CheckOutcome::Failed, "{row:?}");
        }
        assert_eq!(both_valid(&good, &bad).found, "reference VALID, test VALID with errors");
    }

    #[test]
    fn a_log_without_the_size_of_the_library_fails() {
        let run = AuditedRun { detail: log(&[("a", "1")]), summary: String::new(), answers: None, own: None };
        let row = every_sample(&run);
        assert_eq!(row.outcome, CheckOutcome::Failed, "{row:?}");
    }

    #[test]
    fn settings_of_the_audit_have_to_be_there() {
        let test = log(&[("effective_performance_issue_same", "true")]);
        let values = [("performance_issue_same", true.into())];
        assert_eq!(in_force(&test, &values).outcome, CheckOutcome::Passed);
        assert_eq!(in_force(&log(&[("x", "1")]), &values).outcome, CheckOutcome::Failed);
    }
}
