//! The findings on all rules, and the words for them.

use super::rule::{Finding, Judged, Verdict};

/// The findings on all rules, in the order of the table.
#[derive(Clone, Debug, Default)]
pub struct Findings(pub Vec<Finding>);

/// The remedy for a run that need not keep the rules.
const ANYWAY: &str = "without --division network the run is possible";

/// Why a run is none for the Network division.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Refusal(String);

/// The numbers of rules that are kept, that are broken, and that are not seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) kept: usize,
    pub(crate) broken: usize,
    pub(crate) unchecked: usize,
}

impl Findings {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Finding> {
        self.0.iter()
    }

    /// The broken rules, each with why.
    pub fn broken(&self) -> impl Iterator<Item = (&Finding, &str)> {
        self.0.iter().filter_map(|finding| match &finding.verdict {
            Verdict::Broken(why) => Some((finding, why.as_str())),
            Verdict::Kept | Verdict::KeptBecause(_) | Verdict::Unchecked(_) => None,
        })
    }

    pub(crate) fn tally(&self) -> Tally {
        let broken = self.broken().count();
        let unchecked = self.0.iter().filter(|finding| matches!(finding.verdict, Verdict::Unchecked(_))).count();
        Tally { kept: self.0.len() - broken - unchecked, broken, unchecked }
    }

    /// Refuses a run that breaks rules. The error names all of them, each on a line of its own.
    pub(crate) fn refuse(&self) -> Result<(), Refusal> {
        let broken: Vec<String> =
            self.broken().map(|(finding, why)| format!("\n  - {}", sentence(finding, why))).collect();
        let rules = match broken.len() {
            0 => return Ok(()),
            1 => "1 rule".to_owned(),
            count => format!("{count} rules"),
        };
        let list = broken.concat();
        Err(Refusal(format!("refused, {rules} of the Network division broken ({ANYWAY}):{list}")))
    }

    /// Why this is no Network result, one text a broken rule.
    pub(crate) fn marks(&self) -> Vec<String> {
        self.broken().map(|(finding, why)| format!("not a Network result: {}", sentence(finding, why))).collect()
    }

    /// Rules that were broken during the run or by it, for the verdict.
    pub(crate) fn broken_afterwards(&self) -> impl Iterator<Item = String> {
        let after = self.broken().filter(|(finding, _)| finding.rule.judged == Judged::After);
        after.map(|(finding, why)| format!("a rule of the Network division is broken: {}", sentence(finding, why)))
    }
}

impl Tally {
    /// The counts for a screen. `ids` is a clause that names the broken rules, or empty.
    pub(crate) fn text(self, ids: &str) -> String {
        let Tally { kept, broken, unchecked } = self;
        let all = kept + broken + unchecked;
        format!("{broken} of {all} rules broken{ids}, {kept} kept, {unchecked} not checked")
    }
}

/// The section of a rule in words.
pub fn place(section: &str) -> String {
    let kind = if section.starts_with("Appendix") { "" } else { "section " };
    format!("{kind}{section} of the division's rules")
}

/// One finding as a sentence, with the section of its rule.
fn sentence(finding: &Finding, why: &str) -> String {
    format!("{why} ({}, {})", finding.rule.id, place(finding.rule.section))
}
