//! The verdict on a run: the one value from which every file, the screen and the exit code take their word.
//!
//! It is made from how the samples ended, so that it cannot be VALID unless each of them was answered once. After that
//! reasons are only added: `run::reasons` says which official rules are not met, and the LoadGen node adds what it
//! alone can know, lost nodes and files that could not be written among them.

use serde::{Deserialize, Serialize};

use super::counts::Counts;
use super::summary::Summary;

/// Measurement or rule that a reason speaks against. Reasons of the first kind stand first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Against {
    /// The measurement itself: something is missing from it, or it cannot be believed. No file says VALID then, those
    /// in the official formats included.
    Measurement,
    /// An official rule.
    Rule,
    /// A rule of this program's own, such as that on stalls. The files in the official formats know no such rule
    /// and say nothing of it.
    OwnRule,
}

/// One reason against a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    /// A stable word for programs, for example `failed_samples`.
    pub code: String,
    /// A sentence for people, on one line.
    pub text: String,
    /// Measurement or rule that the reason speaks against.
    pub against: Against,
}

/// Verdict on a run: VALID or not, with the reasons against it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// True when the official rules are met; `None` when no performance phase was judged.
    rules: Option<bool>,
    reasons: Vec<Reason>,
}

impl Verdict {
    /// The verdict on samples that ended like this, with the summary of the performance phase, if there was one.
    pub fn new(summary: Option<&Summary>, counts: &Counts) -> Verdict {
        let Counts { issued, completed, failed, lost, duplicate, late, unknown, token_faults } = *counts;
        let mut verdict = Verdict { rules: summary.map(Summary::meets_rules), reasons: Vec::new() };
        for (code, samples, what) in [
            ("failed_samples", failed, "failed"),
            ("lost_samples", lost, "got no answer"),
            ("duplicate_samples", duplicate, "were answered again"),
            ("late_samples", late, "were answered after they had been given up"),
            ("unknown_samples", unknown, "were answered that had not been issued"),
        ] {
            verdict.add_samples(Against::Measurement, code, samples, what);
        }
        // An unanswered sample counts against the run, whatever the cause, even if no counter has it.
        if issued != completed && verdict.is_whole() {
            verdict.add("unanswered_samples", format!("{issued} samples were issued, {completed} were answered"));
        }
        verdict.add_samples(Against::OwnRule, "token_faults", token_faults, "had unusable token information");
        verdict
    }

    /// Returns true when the run is VALID: the official rules are met, and there is no reason against it.
    pub fn is_valid(&self) -> bool {
        self.reasons.is_empty() && self.rules.unwrap_or(true)
    }

    /// Returns the verdict of the files in the official formats. It is true when a measurement without a fault meets
    /// the official rules. `None` when no performance phase was judged.
    pub fn official(&self) -> Option<bool> {
        self.rules.map(|met| met && self.is_whole())
    }

    /// Returns true when nothing speaks against the measurement itself.
    pub fn is_whole(&self) -> bool {
        self.faults().next().is_none()
    }

    /// The reasons against the measurement itself.
    pub fn faults(&self) -> impl Iterator<Item = &Reason> {
        self.reasons.iter().filter(|reason| reason.against == Against::Measurement)
    }

    /// All reasons, those against the measurement first.
    pub fn reasons(&self) -> &[Reason] {
        &self.reasons
    }

    /// Adds a reason against the measurement itself.
    pub fn add(&mut self, code: &str, text: impl AsRef<str>) {
        self.insert(Against::Measurement, code, text.as_ref());
    }

    /// Adds a reason by a rule of this program's own.
    pub fn add_own_rule(&mut self, code: &str, text: impl AsRef<str>) {
        self.insert(Against::OwnRule, code, text.as_ref());
    }

    /// Says which official rule is not met, and by how much.
    pub(crate) fn add_rule(&mut self, code: &str, text: impl AsRef<str>) {
        self.rules = Some(false);
        self.insert(Against::Rule, code, text.as_ref());
    }

    /// Adds reasons that are known from elsewhere. Those with the same code that were found in counts give way, since
    /// these know more.
    pub fn carry(&mut self, reasons: impl IntoIterator<Item = Reason>) {
        let additions: Vec<Reason> = reasons.into_iter().collect();
        self.reasons.retain(|reason| additions.iter().all(|other| other.code != reason.code));
        for Reason { code, text, against } in additions {
            self.insert(against, &code, &text);
        }
    }

    /// Takes away the reasons with these codes, which follow from another one. None is taken away where no other reason
    /// against the measurement is left, and what the official rules come to stays as it is.
    pub fn explain(&mut self, codes: &[&str]) {
        let stays = |reason: &Reason| !codes.contains(&reason.code.as_str());
        if self.faults().any(stays) {
            self.reasons.retain(stays);
        }
    }

    /// The reasons that hold whatever the official rules are set to.
    pub fn lasting(&self) -> Vec<Reason> {
        self.reasons.iter().filter(|reason| reason.against != Against::Rule).cloned().collect()
    }

    fn add_samples(&mut self, against: Against, code: &str, samples: u64, what: &str) {
        match samples {
            0 => {}
            1 => self.insert(against, code, &format!("1 sample {what}")),
            n => self.insert(against, code, &format!("{n} samples {what}")),
        }
    }

    /// Parts of a text can come from the other end of the network, and must not pass for lines of a report.
    fn insert(&mut self, against: Against, code: &str, text: &str) {
        let at = self.reasons.partition_point(|reason| reason.against <= against);
        let text = text.replace(char::is_control, " ");
        self.reasons.insert(at, Reason { code: code.to_owned(), text, against });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(verdict: &Verdict) -> Vec<&str> {
        verdict.reasons().iter().map(|reason| reason.code.as_str()).collect()
    }

    #[test]
    fn only_samples_that_were_each_answered_once_can_be_valid() {
        let all = Counts::all_answered(9);
        assert!(Verdict::new(None, &all).is_valid());
        type Change = fn(&mut Counts);
        let cases: [(Change, &str); 6] = [
            (|counts| counts.failed = 1, "failed_samples"),
            (|counts| counts.lost = 2, "lost_samples"),
            (|counts| counts.duplicate = 1, "duplicate_samples"),
            (|counts| counts.late = 1, "late_samples"),
            (|counts| counts.unknown = 1, "unknown_samples"),
            (|counts| counts.completed = 8, "unanswered_samples"),
        ];
        for (change, code) in cases {
            let mut counts = all;
            change(&mut counts);
            let verdict = Verdict::new(None, &counts);
            assert_eq!((verdict.is_valid(), verdict.is_whole(), codes(&verdict)), (false, false, vec![code]));
        }
    }

    #[test]
    fn a_reason_for_each_kind_of_rule() {
        let mut verdict = Verdict { rules: Some(true), ..Verdict::new(None, &Counts::all_answered(1)) };
        verdict.add_own_rule("own", "x");
        assert_eq!((verdict.is_valid(), verdict.official()), (false, Some(true)));
        verdict.add("node_lost", "x\nResult is : VALID");
        assert_eq!((verdict.is_valid(), verdict.official()), (false, Some(false)));
        verdict.add_rule("rule", "x");
        assert_eq!(codes(&verdict), ["node_lost", "rule", "own"]);
        assert_eq!(verdict.reasons()[0].text, "x Result is : VALID", "on one line");
        assert_eq!(verdict.lasting().len(), 2);
    }

    #[test]
    fn what_follows_from_another_reason_is_none_of_its_own() {
        let mut verdict = Verdict { rules: Some(true), ..Verdict::new(None, &Counts::all_answered(1)) };
        verdict.add_rule("min_duration", "too short");
        verdict.add_own_rule("own", "x");
        verdict.explain(&["min_duration"]);
        assert_eq!(codes(&verdict), ["min_duration", "own"], "nothing else is wrong with the measurement");
        verdict.add("node_lost", "a node was lost");
        verdict.explain(&["min_duration"]);
        assert_eq!(codes(&verdict), ["node_lost", "own"]);
        assert_eq!((verdict.is_valid(), verdict.official()), (false, Some(false)));
    }

    #[test]
    fn what_is_known_from_elsewhere_takes_the_place_of_a_number() {
        let mut verdict = Verdict::new(None, &Counts { issued: 3, completed: 1, failed: 2, ..Counts::default() });
        let reason = |text: &str| Reason {
            code: "failed_samples".to_owned(),
            text: text.to_owned(),
            against: Against::Measurement,
        };
        verdict.carry([]);
        assert_eq!(verdict.reasons(), [reason("2 samples failed")]);
        verdict.carry([reason("1 timed out"), reason("1 refused")]);
        assert_eq!(verdict.reasons(), [reason("1 timed out"), reason("1 refused")]);
    }
}
