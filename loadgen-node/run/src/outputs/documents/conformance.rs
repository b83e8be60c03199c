//! Document that `conformance --json` prints: the conformance of a node with the rules of the wire contract.

use qdl::conformance::{Conformance, Finding, Verdict};
use serde::{Deserialize, Serialize};

use crate::outputs::tables::table::Table;

/// The version of [`ConformanceDocument`].
const SCHEMA: u32 = 1;

/// A node held against the wire contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ConformanceDocument {
    /// Version of this form: 1.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: u32,
    /// The node's name; empty when it gives none.
    pub name: String,
    /// Its address, `host:port`.
    pub address: String,
    /// Software of the node, as the node describes it; empty when the node does not describe itself.
    pub software: String,
    /// The transport of its streams.
    pub transport: String,
    /// Number of rules that the node keeps.
    pub kept: usize,
    /// Number of rules that the node breaks.
    pub broken: usize,
    /// Number of rules for which there was nothing to judge by.
    pub not_seen: usize,
    /// Every rule, in the order of the checks.
    pub rules: Vec<RuleSeen>,
}

/// One rule of the wire contract, and how the node keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RuleSeen {
    /// Name of the rule.
    pub id: String,
    /// The sentence of the contract.
    pub sentence: String,
    /// `kept`, `broken` or `not seen`.
    pub verdict: String,
    /// Observation behind the verdict.
    pub why: String,
}

impl ConformanceDocument {
    /// The document about the node at `address`, whose streams went over `transport`.
    pub fn new(conformance: &Conformance, address: &str, transport: &str) -> ConformanceDocument {
        ConformanceDocument {
            schema: SCHEMA,
            name: conformance.name.clone(),
            address: address.to_owned(),
            software: conformance.software.clone(),
            transport: transport.to_owned(),
            kept: conformance.count(Verdict::Kept),
            broken: conformance.count(Verdict::Broken),
            not_seen: conformance.count(Verdict::NotSeen),
            rules: conformance.findings.iter().map(RuleSeen::from).collect(),
        }
    }

    /// A row for each rule.
    pub fn table(&self) -> Table {
        let mut table = Table::new(["rule", "verdict", "sentence", "seen"]);
        self.rules.iter().for_each(|rule| table.row([&rule.id, &rule.verdict, &rule.sentence, &rule.why]));
        table
    }

    /// The text for the screen.
    pub fn text(&self) -> String {
        let ConformanceDocument { name, address, software, transport, kept, broken, not_seen, rules, .. } = self;
        let mut text = format!("Node {name} at {address} ({software}) over {transport}, held against lon.v1:\n\n");
        for RuleSeen { id, sentence, verdict, why } in rules {
            text += &format!("{verdict:<8}  {id:<16}  {sentence}\n{:28}{why}\n", "");
        }
        text + &format!("\n{kept} kept, {broken} broken, {not_seen} not seen\n")
    }
}

impl From<&Finding> for RuleSeen {
    fn from(finding: &Finding) -> RuleSeen {
        RuleSeen {
            id: finding.rule.id.to_owned(),
            sentence: finding.rule.sentence.to_owned(),
            verdict: finding.verdict.word().to_owned(),
            why: finding.why.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use qdl::conformance::{RULES, Rule};

    use super::super::reads_back;
    use super::*;

    #[test]
    fn every_rule_stands_on_the_screen_and_in_the_document() {
        let verdicts = [Verdict::Kept, Verdict::Broken, Verdict::NotSeen];
        let finding = |(number, rule): (usize, &'static Rule)| Finding {
            rule,
            verdict: verdicts[number % 3],
            why: format!("seen {number}"),
        };
        let findings = RULES.into_iter().enumerate().map(finding).collect();
        let conformance = Conformance { name: "N1".to_owned(), software: "mine 1".to_owned(), findings };
        let document = ConformanceDocument::new(&conformance, "h:1", "tcp");
        let json = reads_back(&document);
        assert_eq!((&json["kept"], &json["broken"], &json["not_seen"]), (&9.into(), &9.into(), &8.into()));
        assert_eq!(json["rules"][1]["verdict"], "broken");
        let text = document.text();
        for (number, rule) in RULES.iter().enumerate() {
            assert!(text.contains(rule.sentence) && text.contains(&format!("seen {number}")), "{text}");
        }
        assert!(text.ends_with("9 kept, 9 broken, 8 not seen\n") && text.contains("N1 at h:1 (mine 1) over tcp"));
    }
}
