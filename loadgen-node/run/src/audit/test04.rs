//! TEST04: a run that asks one sample again and again is not faster than one that asks many (`compliance/TEST04` of
//! mlcommons/inference). A faster one would show that answers are kept and given again.

use super::check::AuditCheck;
use super::findings::{Findings, TestFile};
use super::rates::{self, Against};
use super::run::AuditedRun;
use super::settings::in_force;
use super::{AuditTest, pair};

/// Keys that the audit's config file changes.
const CHANGED: [&str; 4] =
    ["test_mode", "performance_issue_unique", "performance_issue_same", "performance_issue_same_index"];
/// The sample that is asked, counted among those in memory.
const SAME_INDEX: u64 = 3;

/// Judges two runs by TEST04.
pub fn judge(reference: &AuditedRun, test: &AuditedRun) -> Findings {
    let rates = rates::by_summary(&reference.summary, &test.summary, Against::Caching);
    let allowed = rates::allowed_by_summary(&reference.summary, Against::Caching);
    let requirement = format!("not INVALID, the test not faster than the reference by {allowed} or more");
    let is_same = reference.detail.value("effective_performance_issue_same");
    let finding = is_same.map_or_else(|| "not logged".to_owned(), ToString::to_string);
    let mut checks = vec![
        AuditCheck::official("rates", rates.passed, requirement, &*rates.finding),
        in_force(
            &test.detail,
            &[
                ("test_mode", "PerformanceOnly".into()),
                ("performance_issue_unique", false.into()),
                ("performance_issue_same", true.into()),
                ("performance_issue_same_index", SAME_INDEX.into()),
            ],
        ),
        AuditCheck::ours("performance_issue_same, in the reference", finding == "false", "false", finding),
    ];
    checks.extend(pair::by_summary(reference, test, &CHANGED));
    let files = vec![TestFile::new("verify_performance.txt", &rates.text)];
    Findings::new(AuditTest::Test04, test.scenario(), checks, files)
}
