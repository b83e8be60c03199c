//! Rules on the traffic that crosses the network: names, queries and answers, counted at both ends.

use std::collections::BTreeSet;

use super::facts::{Facts, NodeFacts};
use super::rule::Verdict;

/// Section 6.2.1: the QDL neither processes nor batches.
///
/// Ours moves opaque bytes, one part of one sample a message; the counters of both ends show that none were changed.
pub(super) fn untouched(facts: &Facts<'_>) -> Verdict {
    counters(facts)
}

/// Section 6.2.1: the SUT's name.
pub(super) fn name(facts: &Facts<'_>) -> Verdict {
    let Some(run) = facts.run else { return Verdict::unchecked("known after the run") };
    let odd = run.names.iter().filter(|name| !name.contains(NETWORK_SUT));
    Verdict::of(odd.map(|name| format!("the SUT's name is '{name}', without '{NETWORK_SUT}'")))
}

/// Section 6.2.3: the parts of the SUT are named, each by a name of its own.
pub(super) fn unique_names(facts: &Facts<'_>) -> Verdict {
    let Some(NodeFacts { nodes, .. }) = facts.nodes else {
        return Verdict::unchecked("the nodes have not been asked");
    };
    let mut names = BTreeSet::new();
    let odd = nodes.iter().filter(|node| node.name.is_empty() || !names.insert(node.name.as_str()));
    Verdict::of(odd.map(|node| format!("'{}' is no name that one node alone has", node.name)))
}

/// Section 6.2.3: everything crosses the network, so both ends must be able to count it.
pub(super) fn countable(facts: &Facts<'_>) -> Verdict {
    match facts.planned.no_counters {
        None => Verdict::Kept,
        Some(why) => Verdict::broken(format!(
            "nodes that speak KServe's protocol show neither names nor stage times nor counters of their own ({why})"
        )),
    }
}

/// Section 6.2.3: everything has crossed the network.
pub(super) fn counters(facts: &Facts<'_>) -> Verdict {
    let Some(run) = facts.run else { return Verdict::unchecked("known after the run") };
    if !run.differences.is_empty() {
        if !run.is_whole {
            return Verdict::unchecked("the run was broken off while samples were under way, and the ends differ");
        }
        return Verdict::broken(format!("the ends have counted differently: {}", run.differences.join("; ")));
    }
    match run.reports.iter().find(|report| report.sut.is_err()) {
        Some(report) => Verdict::unchecked(format!("node {} gave no counters", report.name)),
        None => Verdict::Kept,
    }
}

/// The words that the SUT's name must contain.
const NETWORK_SUT: &str = "Network SUT";
