//! The parameters with which the rules have models generate their answers, by round.

use serde::Deserialize;

use super::rounds::{ROUNDS, Rounds, count};

/// The parameters of generation of a benchmark in some rounds. What the rules leave open is absent.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Generation {
    /// The rounds that prescribe it.
    pub(super) rounds: Rounds,
    /// The width of the beam search.
    pub beams: Option<u32>,
    /// The least tokens of an answer.
    pub min_tokens: Option<u32>,
    /// The most tokens of an answer.
    pub max_tokens: u32,
    /// The same where performance is measured, if it differs.
    pub max_tokens_performance: Option<u32>,
    /// The source of these numbers.
    pub source: String,
}

/// Checks that every round is there once at most, and that no answer is shorter and longer than it may be.
pub(super) fn checked(all: Vec<Generation>) -> Result<Vec<Generation>, String> {
    let counts = count(all.iter().map(|generation| &generation.rounds), &ROUNDS)?;
    if let Some((round, times)) = counts.iter().find(|(_, times)| **times > 1) {
        return Err(format!("round {round} has parameters of generation {times} times"));
    }
    let least = |generation: &Generation| {
        generation.max_tokens_performance.map_or(generation.max_tokens, |it| it.min(generation.max_tokens))
    };
    match all.iter().any(|generation| generation.min_tokens > Some(least(generation)) || generation.beams == Some(0)) {
        true => Err("generation: min_tokens is more than max_tokens, or beams is 0".to_owned()),
        false => Ok(all),
    }
}

#[cfg(test)]
mod tests {
    use crate::benchmark::Benchmark;

    /// Source: the table of additional inference parameters in the rules, 4.1.3: mlcommons/inference_policies 88a21a19
    /// (v5.0), 095037a4 (v5.1), 21b9330 and ac93e89c (v6.0 and v6.1).
    #[test]
    fn parameters_are_those_of_the_rules() {
        for (name, round, expected) in [
            ("gptj", "v5.0", Some((Some(4), Some(30), 128, None))),
            ("gptj", "v5.1", None),
            ("llama2-70b", "v5.0", Some((None, None, 1_024, None))),
            ("llama2-70b-interactive", "v6.1", Some((None, None, 1_024, None))),
            ("llama3_1-405b", "v5.0", Some((None, Some(2), 20_000, None))),
            ("llama3_1-405b-interactive", "v6.0", Some((None, Some(2), 20_000, None))),
            ("llama3_1-8b", "v5.0", None),
            ("llama3_1-8b", "v5.1", Some((None, Some(1), 128, None))),
            ("mixtral-8x7b", "v5.1", Some((None, Some(2), 1_024, None))),
            ("deepseek-r1", "v5.1", Some((None, Some(1), 32_768, None))),
            ("deepseek-r1", "v6.0", Some((None, Some(1), 20_000, None))),
            ("gpt-oss-120b", "v5.1", None),
            ("gpt-oss-120b", "v6.1", Some((None, Some(1), 32_768, Some(10_000)))),
            ("resnet50", "v5.0", None),
        ] {
            let parameters = Benchmark::find(name).unwrap().generation(round);
            let parameters = parameters.map(|it| (it.beams, it.min_tokens, it.max_tokens, it.max_tokens_performance));
            assert_eq!(parameters, expected, "{name} {round}");
        }
    }
}
