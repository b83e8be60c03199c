//! What every output says of a run beside the findings on rules: what could not be checked, and what was done beyond
//! the plan.

use lon_proto::text::few;
use qdl::{NodeDescription, NodeReport};

use loadgen::run::PhaseOutcome;

/// The mark of a run with nodes, given here, whose answers could be anything: they do not say what their model gives.
pub(crate) fn unchecked<'a>(nodes: impl Iterator<Item = &'a NodeDescription>) -> Option<String> {
    let names: Vec<&str> = nodes.map(|node| node.name.as_str()).collect();
    let who = if names.len() == 1 { "node" } else { "nodes" };
    let say = if names.len() == 1 { "names" } else { "name" };
    let what = "no outputs, so that answers of any size are taken";
    (!names.is_empty()).then(|| format!("answers not checked: {who} {} {say} {what}", few(&names, ", ")))
}

/// The mark of a run that went on beyond its plan.
pub(crate) fn extended(phases: &[PhaseOutcome]) -> Option<String> {
    let beyond: u64 = phases.iter().map(|phase| phase.extended_by).sum();
    (beyond > 0).then(|| format!("extended: {beyond} queries more than planned, for early stopping (--extend)"))
}

/// The mark of a run with nodes, given here, that do not count what crosses their sockets.
pub(crate) fn uncounted(reports: &[NodeReport]) -> Option<String> {
    let counts = |report: &NodeReport| {
        let sut = report.sut.as_ref().ok();
        sut.is_none_or(|sut| sut.socket_bytes_in.is_some() && sut.socket_bytes_out.is_some())
    };
    let names: Vec<&str> = reports.iter().filter(|report| !counts(report)).map(|report| report.name.as_str()).collect();
    let who = if names.len() == 1 { "node" } else { "nodes" };
    let say = if names.len() == 1 { "counts" } else { "count" };
    let what = "no bytes of sockets";
    (!names.is_empty()).then(|| format!("socket bytes not compared: {who} {} {say} {what}", few(&names, ", ")))
}
