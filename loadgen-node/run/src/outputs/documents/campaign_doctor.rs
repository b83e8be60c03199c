//! Document that `campaign doctor --json` prints: the condition of every machine of a campaign before its start.

use serde::{Deserialize, Serialize};

use crate::outputs::tables::table::Table;

/// The version of [`CampaignDoctor`].
pub const SCHEMA: u32 = 1;

/// The whole document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CampaignDoctor {
    /// Version of this form: 1.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: u32,
    /// The machine of the LoadGen node, then each SUT node.
    pub machines: Vec<DoctorMachine>,
}

/// An end of the campaign's runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DoctorMachine {
    /// `LoadGen node`, or the name that the node gave itself; its address where it gave none.
    pub name: String,
    /// The address of a node; null of the LoadGen node.
    pub address: Option<String>,
    /// Findings about the machine.
    pub findings: Vec<DoctorFinding>,
}

/// A finding about a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DoctorFinding {
    /// Subject of the finding: `reached`, `version`, `clock`, `MTU`, `machine`, `free memory`, `governor`, `turbo` or
    /// `stolen time`.
    pub what: String,
    /// Conclusion from it.
    pub state: DoctorState,
    /// The value, what it spoils, or why it is not known, in words.
    pub text: String,
}

/// Conclusion from a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DoctorState {
    /// Nothing speaks against it.
    Good,
    /// It may spoil the numbers.
    Doubtful,
    /// No run is possible.
    Bad,
    /// It is not known.
    NotKnown,
}

impl DoctorState {
    /// The word in tables.
    pub(crate) fn word(self) -> &'static str {
        match self {
            DoctorState::Good => "good",
            DoctorState::Doubtful => "DOUBTFUL",
            DoctorState::Bad => "BAD",
            DoctorState::NotKnown => "not known",
        }
    }
}

impl CampaignDoctor {
    /// Returns true when a finding has this state.
    pub fn has(&self, state: DoctorState) -> bool {
        self.machines.iter().flat_map(|machine| &machine.findings).any(|finding| finding.state == state)
    }

    /// A row for each finding.
    pub fn table(&self) -> Table {
        let mut table = Table::new(["machine", "what", "state", "finding"]);
        for machine in &self.machines {
            for finding in &machine.findings {
                table.row([&machine.name, &finding.what, finding.state.word(), &finding.text]);
            }
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::super::reads_back;
    use super::*;

    #[test]
    fn a_finding_is_a_row_with_its_state() {
        let finding =
            DoctorFinding { what: "clock".to_owned(), state: DoctorState::NotKnown, text: "nobody says".to_owned() };
        let machine = DoctorMachine { name: "N1".to_owned(), address: None, findings: vec![finding] };
        let document = CampaignDoctor { schema: SCHEMA, machines: vec![machine] };
        assert_eq!(document.table().rows, [["N1", "clock", "not known", "nobody says"].map(str::to_owned).to_vec()]);
        assert_eq!(reads_back(&document)["machines"][0]["findings"][0]["state"], "not_known");
        assert!(document.has(DoctorState::NotKnown) && !document.has(DoctorState::Bad));
    }
}
