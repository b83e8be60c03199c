//! Suites: the scenarios that a benchmark has for datacenters and at the edge, by round.

use serde::Deserialize;
use strum::IntoStaticStr;

use super::rounds::Rounds;

/// The rounds whose suites the files list.
pub const SUITE_ROUNDS: [&str; 4] = ["v5.0", "v5.1", "v6.0", "v6.1"];

/// A suite of MLPerf Inference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Suite {
    /// The suite for servers, which the Network division is part of.
    Datacenter,
    /// The suite for all other systems.
    Edge,
}

/// The name of a scenario. Only the engine knows its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, IntoStaticStr)]
pub enum ScenarioName {
    /// One query of one sample after the other.
    SingleStream,
    /// One query of several samples after the other.
    MultiStream,
    /// Queries at random times. The rules' scenario Interactive is Server with the settings of an `-interactive`
    /// variant.
    Server,
    /// All samples in one query.
    Offline,
}

/// The scenarios of a benchmark in a suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenarios {
    /// The scenarios that a submission must have.
    pub required: Vec<ScenarioName>,
    /// The scenarios that a submission may have.
    pub optional: Vec<ScenarioName>,
}

/// The place of a benchmark in a suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Membership<'a> {
    /// The suites of the round are not known.
    Unknown,
    /// The suite does not have the benchmark.
    Absent,
    /// The suite has the benchmark with these scenarios.
    Scenarios(&'a Scenarios),
}

/// The scenarios of a benchmark in one suite, for some rounds.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) suite: Suite,
    pub(super) rounds: Rounds,
    pub(super) scenarios: Scenarios,
}

impl ScenarioName {
    /// Returns LoadGen's name of the scenario.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl Scenarios {
    /// Tells whether the scenario of this name is among them, by LoadGen's name.
    pub fn has(&self, scenario: &str) -> bool {
        self.required.iter().chain(&self.optional).any(|other| other.name() == scenario)
    }
}

/// Finds the place of a benchmark with these entries.
pub(super) fn membership<'a>(entries: &'a [Entry], suite: Suite, round: &str) -> Membership<'a> {
    if !SUITE_ROUNDS.contains(&round) {
        return Membership::Unknown;
    }
    let first = entries.iter().find(|entry| entry.suite == suite && entry.rounds.has(round));
    first.map_or(Membership::Absent, |entry| Membership::Scenarios(&entry.scenarios))
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
        assert_eq!(datacenter("resnet50", "v6.1"), Membership::Absent);
        assert_eq!(datacenter("resnet50", "v9.9"), Membership::Unknown);
        let Membership::Scenarios(scenarios) = datacenter("qwen3-vl-235b-a22b", "v6.1") else { panic!() };
        assert_eq!((scenarios.required.len(), scenarios.optional.as_slice()), (1, &[ScenarioName::Server][..]));
        assert_eq!(datacenter("bert", "v5.0"), Membership::Absent);
        assert_eq!(datacenter("digits", "v6.0"), Membership::Absent);
        let [old, new] = ["v5.0", "v6.1"].map(|round| Benchmark::of_suite(Suite::Datacenter, round));
        assert!(old.contains(&"resnet50") && !new.contains(&"resnet50") && !new.contains(&"digits"), "{new:?}");
        assert!(Benchmark::of_suite(Suite::Edge, "v6.1").contains(&"bert"));
    }

    #[test]
    fn interactive_is_a_server_scenario_of_its_variant() {
        let Membership::Scenarios(scenarios) = datacenter("llama3_1-8b-interactive", "v5.1") else { panic!() };
        assert_eq!((scenarios.required.len(), scenarios.optional.as_slice()), (0, &[ScenarioName::Server][..]));
        assert_eq!(datacenter("llama3_1-405b-interactive", "v5.0"), Membership::Absent);
    }
}
