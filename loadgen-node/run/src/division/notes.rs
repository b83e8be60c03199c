//! The notes on a run that every output repeats, beside the findings on rules: things that could not be checked, and
//! things that were done beyond the plan.

use lon_proto::text::few;
use qdl::{AnswersChecked, NodeDescription, NodeReport};

use loadgen::run::PhaseOutcome;
use lon_world::odd_answers::OddAnswers;

/// The marks of a run with nodes whose answers could be anything, or of any length: they do not say what their model
/// gives, or leave sizes of it free.
pub(crate) fn unchecked(nodes: &[NodeDescription]) -> Vec<String> {
    let mut marks = Vec::new();
    let who_have = |checked: &AnswersChecked| {
        let alike = nodes.iter().filter(|node| node.answers_checked == *checked);
        names(alike.map(|node| node.name.as_str()))
    };
    if let Some((who, is_one)) = who_have(&AnswersChecked::No) {
        let say = if is_one { "names" } else { "name" };
        marks.push(format!("answers not checked: {who} {say} no outputs, so that answers of any size are taken"));
    }
    let mut free_lists: Vec<&[String]> = Vec::new();
    for node in nodes {
        let AnswersChecked::InPart(free) = &node.answers_checked else { continue };
        if free_lists.contains(&free.as_slice()) {
            continue;
        }
        free_lists.push(free);
        let Some((who, is_one)) = who_have(&node.answers_checked) else { continue };
        let leave = if is_one { "leaves" } else { "leave" };
        marks.push(format!("lengths of answers checked in part: {who} {leave} {} of any size", few(free, ", ")));
    }
    marks
}

/// Nodes in a sentence, and whether it is a single one; none without a name.
fn names<'a>(names: impl Iterator<Item = &'a str>) -> Option<(String, bool)> {
    let names: Vec<&str> = names.collect();
    match &names[..] {
        [] => None,
        [one] => Some((format!("node {one}"), true)),
        all => Some((format!("nodes {}", few(all, ", ")), false)),
    }
}

/// The mark of a run that went on beyond its plan: for other tenants of its mix, or for early stopping.
pub(crate) fn extended(phases: &[PhaseOutcome], beside_others: bool) -> Option<String> {
    let beyond: u64 = phases.iter().map(|phase| phase.extended_by).sum();
    let why = if beside_others { "until the other tenants had theirs" } else { "for early stopping (--extend)" };
    (beyond > 0).then(|| format!("extended: {beyond} queries more than planned, {why}"))
}

/// The mark of a run with nodes, given here, that do not count what crosses their sockets.
pub(crate) fn uncounted(reports: &[NodeReport]) -> Option<String> {
    let counts = |report: &NodeReport| {
        let sut = report.sut.as_ref().ok();
        sut.is_none_or(|sut| sut.socket_bytes_in.is_some() && sut.socket_bytes_out.is_some())
    };
    let (who, is_one) = names(reports.iter().filter(|report| !counts(report)).map(|report| report.name.as_str()))?;
    let count = if is_one { "counts" } else { "count" };
    Some(format!("socket bytes not compared: {who} {count} no bytes of sockets"))
}

/// The marks of nodes that gave answers as no honest node often does. `odd` has them by the places of the reports.
pub(crate) fn odd(reports: &[NodeReport], odd: &[OddAnswers]) -> Vec<String> {
    let marks = |(report, odd): (&NodeReport, &OddAnswers)| {
        let (name, OddAnswers { answers, empty, too_long }) = (&report.name, *odd);
        [
            (empty, "empty answers", "have not a byte"),
            (too_long, "stages not plausible", "have stages that took longer than sample and answer were under way"),
        ]
        .map(|(count, mark, what)| {
            (count > 0).then(|| format!("{mark}: {count} of the {answers} answers of node {name} {what}"))
        })
    };
    reports.iter().zip(odd).flat_map(marks).flatten().collect()
}
