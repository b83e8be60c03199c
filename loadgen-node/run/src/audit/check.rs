//! A check, its outcome, and what all checks of an audit come to.

use serde::{Deserialize, Serialize};

/// The outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    /// The folders have the wanted facts.
    Passed,
    /// The folders have other facts than the wanted ones.
    Failed,
    /// The folders do not have what the check needs.
    Unchecked,
}

/// The source of the rule that a check applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CheckRule {
    /// A rule of the official script.
    Official,
    /// A rule of this program, beyond the official script.
    Ours,
}

/// One row of an audit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AuditCheck {
    /// The subject of the check, in words.
    pub name: String,
    /// The source of the rule: `official` or `ours`.
    pub rule: CheckRule,
    /// `passed`, `failed` or `unchecked`.
    pub outcome: CheckOutcome,
    /// The result that the check wants.
    pub wanted: String,
    /// The result that the check found, or why it found none.
    pub found: String,
}

impl AuditCheck {
    /// A rule of the official script.
    pub(super) fn official(
        name: &str,
        passed: bool,
        requirement: impl Into<String>,
        finding: impl Into<String>,
    ) -> AuditCheck {
        AuditCheck::new(CheckRule::Official, name, outcome(passed), requirement, finding)
    }

    /// A rule of this program.
    pub(super) fn ours(
        name: &str,
        passed: bool,
        requirement: impl Into<String>,
        finding: impl Into<String>,
    ) -> AuditCheck {
        AuditCheck::new(CheckRule::Ours, name, outcome(passed), requirement, finding)
    }

    /// A rule of this program for which the folders do not have enough.
    pub(super) fn unchecked(name: &str, requirement: impl Into<String>, why: impl Into<String>) -> AuditCheck {
        AuditCheck::new(CheckRule::Ours, name, CheckOutcome::Unchecked, requirement, why)
    }

    fn new(
        rule: CheckRule,
        name: &str,
        outcome: CheckOutcome,
        requirement: impl Into<String>,
        finding: impl Into<String>,
    ) -> AuditCheck {
        AuditCheck { name: name.to_owned(), rule, outcome, wanted: requirement.into(), found: finding.into() }
    }
}

/// Returns the outcome of the checks of one rule, or of all: failed as soon as one is.
pub(super) fn outcome_of<'a>(checks: impl Iterator<Item = &'a AuditCheck>) -> CheckOutcome {
    let mut outcome = CheckOutcome::Unchecked;
    for check in checks {
        match check.outcome {
            CheckOutcome::Failed => return CheckOutcome::Failed,
            CheckOutcome::Passed => outcome = CheckOutcome::Passed,
            CheckOutcome::Unchecked => {}
        }
    }
    outcome
}

fn outcome(passed: bool) -> CheckOutcome {
    if passed { CheckOutcome::Passed } else { CheckOutcome::Failed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_failure_decides_and_nothing_checked_is_no_pass() {
        let unchecked = AuditCheck::unchecked("a", "", "");
        let [passed, failed] = [true, false].map(|passed| AuditCheck::ours("b", passed, "", ""));
        assert_eq!(outcome_of([&unchecked].into_iter()), CheckOutcome::Unchecked);
        assert_eq!(outcome_of([&unchecked, &passed].into_iter()), CheckOutcome::Passed);
        assert_eq!(outcome_of([&passed, &failed, &unchecked].into_iter()), CheckOutcome::Failed);
    }
}
