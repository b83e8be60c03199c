//! The rounds of MLPerf Inference, as the benchmarks' files name them.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The rounds whose rules the files contain, oldest first.
pub const ROUNDS: [&str; 4] = ["v5.0", "v5.1", "v6.0", "v6.1"];

/// A list of rounds, or the word `"all"`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(super) enum Rounds {
    /// The word `all`: every round that is known.
    All(All),
    /// Their names: `v6.1`.
    These(Vec<String>),
}

/// The word for every round that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum All {
    /// Every round that is known.
    All,
}

impl Rounds {
    /// Tells whether a round is among them.
    pub(super) fn has(&self, round: &str) -> bool {
        match self {
            Rounds::All(All::All) => ROUNDS.contains(&round),
            Rounds::These(rounds) => rounds.iter().any(|other| other == round),
        }
    }

    /// Returns the names of the rounds.
    pub(super) fn names(&self) -> Vec<&str> {
        match self {
            Rounds::All(All::All) => ROUNDS.to_vec(),
            Rounds::These(rounds) => rounds.iter().map(String::as_str).collect(),
        }
    }
}

/// Counts how often each round of `rounds` is named. A round that is not in `rounds` is an error.
pub(super) fn count<'a>(
    lists: impl Iterator<Item = &'a Rounds>,
    rounds: &[&'static str],
) -> Result<BTreeMap<&'static str, usize>, String> {
    let mut counts: BTreeMap<&str, usize> = rounds.iter().map(|round| (*round, 0)).collect();
    for round in lists.flat_map(Rounds::names) {
        let times = counts.get_mut(round).ok_or_else(|| format!("nothing is known of round {round} here"))?;
        *times += 1;
    }
    Ok(counts)
}
