//! The verdict of a comparison with a stored probe, for people.

use std::fmt::Write as _;

use crate::outputs::documents::against::{AgainstDocument, ChangeDocument, ChangeKind, LikelyDocument, Place};

/// Changes that are shown, those for the worse first; of many nodes each may have some.
const SHOWN: usize = 32;

/// All that differs, a line each, and what is likely; then the verdict.
pub(crate) fn text(against: &AgainstDocument) -> String {
    let mut text = format!("\nAgainst {} (up to {} % lower is the same)\n", against.file, against.tolerance_percent);
    let mut changes: Vec<&ChangeDocument> = against.changes.iter().collect();
    if changes.len() > SHOWN {
        changes.sort_by_key(|change| change.kind != ChangeKind::Worse);
    }
    for change in changes.iter().take(SHOWN) {
        let _ = writeln!(text, "  {}", line(change));
        if let Some(likely) = &change.likely {
            let _ = writeln!(text, "    likely {}", place(likely));
        }
    }
    if let Some(more) = changes.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        let _ = writeln!(text, "  and {more} more (--json has all)");
    }
    let verdict =
        if against.passed { "passed: the fabric is what it was" } else { "FAILED: the fabric is not what it was" };
    let _ = writeln!(text, "  {verdict}");
    text
}

fn line(change: &ChangeDocument) -> String {
    let word = change.kind.word();
    let node = change.node.as_deref().unwrap_or("all at once");
    let percent = change.change_percent.map(|percent| {
        let interval = change.interval_percent.map(|[low, high]| format!(", 95 %: {low:+.1} to {high:+.1}"));
        format!(" ({percent:+.1} %{})", interval.unwrap_or_default())
    });
    let hint = if change.kind == ChangeKind::Uncertain { "; more --repeats or --watch tell" } else { "" };
    format!(
        "{word:<10}{} {node}: {} was {}, is {}{}{hint}",
        change.transport,
        change.quantity,
        change.before,
        change.now,
        percent.unwrap_or_default()
    )
}

fn place(likely: &LikelyDocument) -> String {
    let name = likely.name.as_deref();
    let place = match (likely.place, name) {
        (Place::Host, Some(name)) => format!("host {name}"),
        (Place::Link, Some(name)) => format!("the link of {name}"),
        (Place::SharedLink, Some(name)) => format!("the link of {name}, which all nodes share"),
        (Place::SharedLink, None) => "a link that the nodes share".to_owned(),
        _ => "unknown".to_owned(),
    };
    let direction = match likely.direction.as_str() {
        "both" => "both directions".to_owned(),
        way => format!("direction {way}"),
    };
    format!("{place}, {direction}: {}", likely.why)
}
