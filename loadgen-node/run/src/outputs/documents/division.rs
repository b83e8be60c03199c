//! The division, and what is found of its rules: a part of `result_summary.json` and of `conf --json`.

use serde::{Deserialize, Serialize};

use crate::division::{Division, Finding, Findings};

/// The division whose rules were asked for, and what is found of the rules of the Network division.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(from = "Stored")]
pub struct DivisionDocument {
    /// `network` or `none`.
    pub name: String,
    /// Every rule of the Network division with what was found of it, in the order of the rules' sections. Empty in a
    /// result until the run has ended, and in `conf` without `--division network`.
    pub rules: Vec<RuleDocument>,
}

/// The name that earlier versions had for `none`.
const EARLIER_NONE: &str = "open";

/// The forms that a division has in files: earlier versions wrote its name alone.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
enum Stored {
    Name(String),
    Whole { name: String, rules: Vec<RuleDocument> },
}

/// One rule, and what is found of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct RuleDocument {
    /// A stable word for the rule.
    pub id: String,
    /// The section of MLPerf's rules v5.
    pub section: String,
    /// The rounds whose settings and tables it is held against.
    pub rounds: Vec<String>,
    /// Requirement of the rule, in words.
    pub asks: String,
    /// When it can be judged: `before` or `after` the run, or by the submitter's `word` alone.
    pub judged: String,
    /// Verdict on the rule: `kept`, `broken` or `not checked`.
    pub verdict: String,
    /// Reason of the verdict; null where the facts show that the rule is kept.
    pub why: Option<String>,
}

impl DivisionDocument {
    /// With all findings, in the order of the sections.
    pub(crate) fn new(division: Division, findings: &Findings) -> DivisionDocument {
        let rules = findings.iter().map(RuleDocument::from).collect();
        DivisionDocument { name: division.name().to_owned(), rules }
    }
}

impl From<Stored> for DivisionDocument {
    fn from(stored: Stored) -> DivisionDocument {
        let (name, rules) = match stored {
            Stored::Name(name) => (name, Vec::new()),
            Stored::Whole { name, rules } => (name, rules),
        };
        let name = if name == EARLIER_NONE { Division::None.name().to_owned() } else { name };
        DivisionDocument { name, rules }
    }
}

impl From<&Finding> for RuleDocument {
    fn from(finding: &Finding) -> RuleDocument {
        let Finding { rule, verdict } = finding;
        RuleDocument {
            id: rule.id.to_owned(),
            section: rule.section.to_owned(),
            rounds: rule.rounds.iter().map(ToString::to_string).collect(),
            asks: rule.asks.to_owned(),
            judged: rule.judged.name().to_owned(),
            verdict: verdict.name().to_owned(),
            why: verdict.why().map(str::to_owned),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_alone_and_the_earlier_name_are_read_too() {
        let document_of = |text: &str| serde_json::from_str::<DivisionDocument>(text).unwrap();
        let none = DivisionDocument::new(Division::None, &Findings::default());
        assert_eq!(document_of(r#""open""#), none);
        assert_eq!(document_of(r#"{"name": "open", "rules": []}"#), none);
        assert_eq!(document_of(&serde_json::to_string(&none).unwrap()), none);
        assert_eq!(none.name, "none");
    }
}
