//! Rules of this program on a reference and a test.

use super::check::AuditCheck;
use super::rates;
use super::run::AuditedRun;
use super::settings::{both_valid, same_settings, same_sut, untouched};

/// The row on the releases of LoadGen that led two runs.
pub const VERSION_ROW: &str = "version of LoadGen";

/// The rows of an audit whose script reads two summaries and nothing else. `changed`: the settings that it changes.
pub(super) fn by_summary(reference: &AuditedRun, test: &AuditedRun, changed: &[&str]) -> Vec<AuditCheck> {
    let mut checks = vec![summary_row("reference", reference), summary_row("test", test)];
    checks.extend(alike(reference, test, changed));
    checks.push(untouched("reference", reference.own.as_ref()));
    checks.push(untouched("test", test.own.as_ref()));
    checks
}

/// Both are valid runs of one SUT, with the same settings but for those that the audit changes.
pub(super) fn alike(reference: &AuditedRun, test: &AuditedRun, changed: &[&str]) -> Vec<AuditCheck> {
    let settings = same_settings(&reference.detail, &test.detail, changed);
    let valid = both_valid(&reference.detail, &test.detail);
    settings.into_iter().chain([valid]).chain(same_sut(reference, test)).collect()
}

/// Two runs of one system, whatever they are for: the same SUT and the same settings, but for `changed` ones, and not
/// one run under two names.
pub fn same_setup(one: &AuditedRun, other: &AuditedRun, changed: &[&str]) -> Vec<AuditCheck> {
    let version = |run: &AuditedRun| run.detail.text("loadgen_version").unwrap_or("not logged").to_owned();
    let (before, after) = (version(one), version(other));
    let is_own = !one.detail.is_of_same_run(&other.detail);
    let mut checks = Vec::from(same_settings(&one.detail, &other.detail, changed));
    checks.extend([
        AuditCheck::ours(VERSION_ROW, before == after, before, after),
        AuditCheck::ours("run", is_own, "a run of its own", if is_own { "a run of its own" } else { "the same run" }),
    ]);
    checks.extend(same_sut(one, other));
    checks
}

/// The script reads the summary alone; what it reads there must be the result of the detail log.
fn summary_row(name: &str, run: &AuditedRun) -> AuditCheck {
    let title = format!("result in the summary of the {name}");
    let requirement = "that of its detail log";
    match rates::same_result(&run.summary, &run.detail) {
        Ok(finding) => AuditCheck::ours(&title, true, requirement, finding),
        Err(finding) => AuditCheck::ours(&title, false, requirement, finding),
    }
}
