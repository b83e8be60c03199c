//! Findings about each rule while a node is checked.

use lon_proto::text::printable;
use tonic::{Code, Status};

use super::rules::{RULES, Rule};

/// Verdict on a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The node did as the rule says.
    Kept,
    /// The node did otherwise.
    Broken,
    /// There was nothing to judge by.
    NotSeen,
}

impl Verdict {
    /// The word for documents and the screen.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Kept => "kept",
            Verdict::Broken => "broken",
            Verdict::NotSeen => "not seen",
        }
    }
}

/// Finding about one rule.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule that this is about.
    pub rule: &'static Rule,
    /// Verdict on the rule.
    pub verdict: Verdict,
    /// Observation that led to the verdict, printable.
    pub why: String,
}

/// Findings so far. A rule that was found broken stays broken.
#[derive(Debug, Default)]
pub(super) struct Notes {
    findings: Vec<Finding>,
    stopped: Option<String>,
}

impl Notes {
    /// The rule is kept, or why it is not.
    pub(super) fn judge(&mut self, rule: &'static Rule, outcome: Result<String, String>) {
        match outcome {
            Ok(why) => self.note(rule, Verdict::Kept, &why),
            Err(why) => self.note(rule, Verdict::Broken, &why),
        }
    }

    /// There is nothing to judge the rule by.
    pub(super) fn not_seen(&mut self, rule: &'static Rule, why: impl Into<String>) {
        self.note(rule, Verdict::NotSeen, &why.into());
    }

    fn note(&mut self, rule: &'static Rule, verdict: Verdict, why: &str) {
        let why = printable(why);
        match self.findings.iter_mut().find(|finding| finding.rule == rule) {
            Some(finding) if finding.verdict == Verdict::Broken => {}
            Some(finding) => (finding.verdict, finding.why) = (verdict, why),
            None => self.findings.push(Finding { rule, verdict, why }),
        }
    }

    /// Why the rules that follow cannot be seen.
    pub(super) fn stop(&mut self, why: impl Into<String>) {
        self.stopped.get_or_insert(why.into());
    }

    /// All rules in their order.
    pub(super) fn findings(self) -> Vec<Finding> {
        let why = self.stopped.unwrap_or_else(|| "nothing came to judge it by".to_owned());
        let finding = |rule: &&'static Rule| match self.findings.iter().find(|finding| finding.rule == *rule) {
            Some(finding) => finding.clone(),
            None => Finding { rule, verdict: Verdict::NotSeen, why: printable(&why) },
        };
        RULES.iter().map(finding).collect()
    }
}

/// Checks that a call was refused with this code. Returns the outcome of the call in words.
pub(super) fn refused<T>(what: &str, code: Code, outcome: Result<T, Status>) -> Result<String, String> {
    match outcome {
        Ok(_) => Err(format!("{what} was accepted")),
        Err(status) if status.code() == code => Ok(format!("{what} was refused: {}", status.message())),
        Err(status) => Err(format!("{what} was refused with {:?}: {}", status.code(), status.message())),
    }
}

/// A status in one line.
pub(super) fn status_text(status: &Status) -> String {
    format!("{:?}: {}", status.code(), status.message())
}

#[cfg(test)]
mod tests {
    use super::super::rules::{COUNTERS, FLUSH, NAME_FORM};
    use super::*;

    #[test]
    fn every_rule_has_a_finding_and_what_is_broken_stays_so() {
        let mut notes = Notes::default();
        notes.judge(&FLUSH, Err("too soon".to_owned()));
        notes.judge(&FLUSH, Ok("later".to_owned()));
        notes.judge(&NAME_FORM, Ok("N1\n".to_owned()));
        notes.stop("it hung up");
        let findings = notes.findings();
        assert_eq!(findings.len(), RULES.len());
        let finding_of = |rule: &Rule| {
            let finding = findings.iter().find(|finding| finding.rule == rule).unwrap();
            (finding.verdict, finding.why.as_str())
        };
        assert_eq!(finding_of(&FLUSH), (Verdict::Broken, "too soon"));
        assert_eq!(finding_of(&NAME_FORM).0, Verdict::Kept);
        assert!(!finding_of(&NAME_FORM).1.contains('\n'));
        assert_eq!(finding_of(&COUNTERS), (Verdict::NotSeen, "it hung up"));
    }

    #[test]
    fn a_refusal_has_the_code_that_it_should_have() {
        let no_run = || Err::<(), _>(Status::not_found("no such run"));
        assert!(refused("Flush", Code::NotFound, no_run()).unwrap().contains("no such run"));
        assert!(refused("Flush", Code::Aborted, no_run()).unwrap_err().contains("NotFound"));
        assert_eq!(refused("Flush", Code::NotFound, Ok(())), Err("Flush was accepted".to_owned()));
    }
}
