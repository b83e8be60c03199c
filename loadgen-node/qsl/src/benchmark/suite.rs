//! Suites: which scenarios a benchmark has for datacenters and at the edge, by round.

use serde::Deserialize;

use super::rounds::Rounds;

/// The rounds whose suites the files list.
pub const SUITE_ROUNDS: [&str; 3] = ["v5.0", "v5.1", "v6.0"];

/// A suite of MLPerf Inference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Suite {
    /// Servers. The Network division is part of it.
    Datacenter,
    /// Everything else.
    Edge,
}

/// A scenario, by name alone: what it means is the engine's business.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum ScenarioName {
    /// One query after the other.
    SingleStream,
    /// The same with several samples a query.
    MultiStream,
    /// Queries as they come. What the rules call Interactive is Server with the settings of an `-interactive` variant.
    Server,
    /// Everything at once.
    Offline,
}

/// The scenarios of a benchmark in a suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenarios {
    /// A submission has all of these.
    pub required: Vec<ScenarioName>,
    /// And may have these.
    pub optional: Vec<ScenarioName>,
}

/// What is known of a benchmark's place in a suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Membership<'a> {
    /// Nothing: the suites of that round are not among the data.
    Unknown,
    /// It does not belong to it.
    Absent,
    /// It belongs to it, with these.
    Scenarios(&'a Scenarios),
}

/// One line of the table.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) suite: Suite,
    pub(super) rounds: Rounds,
    pub(super) scenarios: Scenarios,
}

impl ScenarioName {
    /// LoadGen's name.
    pub fn name(self) -> &'static str {
        match self {
            ScenarioName::SingleStream => "SingleStream",
            ScenarioName::MultiStream => "MultiStream",
            ScenarioName::Server => "Server",
            ScenarioName::Offline => "Offline",
        }
    }
}

impl Scenarios {
    /// Whether the scenario of this name is among them.
    pub fn has(&self, scenario: &str) -> bool {
        self.required.iter().chain(&self.optional).any(|known| known.name() == scenario)
    }
}

pub(super) fn membership<'a>(entries: &'a [Entry], suite: Suite, round: &str) -> Membership<'a> {
    if !SUITE_ROUNDS.contains(&round) {
        return Membership::Unknown;
    }
    let found = entries.iter().find(|entry| entry.suite == suite && entry.rounds.has(round));
    found.map_or(Membership::Absent, |entry| Membership::Scenarios(&entry.scenarios))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::benchmark::Benchmark;

    fn datacenter(name: &str, round: &str) -> Membership<'static> {
        Benchmark::find(name).unwrap().membership(Suite::Datacenter, round)
    }

    #[test]
    fn places_change_with_the_rounds() {
        let Membership::Scenarios(scenarios) = datacenter("resnet50", "v5.0") else { panic!() };
        assert!(scenarios.has("Server") && scenarios.has("Offline") && !scenarios.has("SingleStream"));
        assert_eq!(datacenter("resnet50", "v5.1"), Membership::Absent);
        assert_eq!(datacenter("resnet50", "v6.1"), Membership::Unknown);
        assert_eq!(datacenter("bert", "v5.0"), Membership::Absent);
        assert_eq!(datacenter("digits", "v6.0"), Membership::Absent);
    }

    #[test]
    fn interactive_is_a_server_scenario_of_its_variant() {
        let Membership::Scenarios(scenarios) = datacenter("llama3_1-8b-interactive", "v5.1") else { panic!() };
        assert_eq!((scenarios.required.len(), scenarios.optional.as_slice()), (0, &[ScenarioName::Server][..]));
        assert_eq!(datacenter("llama3_1-405b-interactive", "v5.0"), Membership::Absent);
    }
}
