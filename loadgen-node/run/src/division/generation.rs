//! Parameters of generation: those that the rules prescribe, against those that nodes say they have.

use super::facts::{Facts, NodeFacts};
use super::rule::Verdict;
use super::suite::published;

/// Section 4.1.3: the additional parameters of inference.
pub(super) fn parameters(facts: &Facts<'_>) -> Verdict {
    let planned = facts.planned;
    let Some(generation) = planned.benchmark.generation(planned.round) else { return published(facts) };
    let Some(NodeFacts { nodes, .. }) = facts.nodes else {
        return Verdict::unchecked("the nodes have not been asked");
    };
    let of_performance = generation.max_tokens_performance.filter(|_| planned.mode.has_performance());
    let max_tokens = of_performance.unwrap_or(generation.max_tokens);
    let parameters =
        [("beams", generation.beams), ("min_tokens", generation.min_tokens), ("max_tokens", Some(max_tokens))];
    let (mut odd, mut silent) = (Vec::new(), Vec::new());
    for node in nodes {
        for (name, number) in parameters.into_iter().filter_map(|(name, number)| Some((name, number?))) {
            match node.settings.iter().find(|setting| setting.name == name) {
                Some(setting) if setting.value == number.to_string() => {}
                Some(setting) => {
                    let (node, value, round) = (&node.name, &setting.value, planned.round);
                    odd.push(format!("node {node}: {name} is {value}, {number} in round {round}"));
                }
                None => silent.push(format!("node {} does not say its {name}", node.name)),
            }
        }
    }
    match silent.first() {
        Some(why) if odd.is_empty() => Verdict::unchecked(why.clone()),
        _ => Verdict::of(odd),
    }
}
