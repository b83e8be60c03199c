//! The verdict of a comparison with a stored probe, for people.

use std::fmt::Write as _;

use lon_run::outputs::documents::probe::changes::{AgainstDocument, ChangeDocument, ChangeKind, LikelyDocument, Place};

/// Changes that are shown, those for the worse first; of many nodes each may have some.
const SHOWN: usize = 32;

/// All that was compared, a line each, differences first, and what is likely; then the verdict.
pub(crate) fn text(against: &AgainstDocument) -> String {
    let mut text = format!("\nAgainst {} (tolerance {} %)\n", against.file, against.tolerance_percent);
    let mut changes: Vec<&ChangeDocument> = against.changes.iter().chain(&against.unchanged).collect();
    if changes.len() > SHOWN {
        changes.sort_by_key(|change| change.kind != ChangeKind::Worse);
    }
    for change in changes.iter().take(SHOWN) {
        let _ = writeln!(text, "  {}", line(change, against.tolerance_percent));
        if let Some(likely) = &change.likely {
            let _ = writeln!(text, "    likely {}", place(likely));
        }
    }
    if let Some(more) = changes.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        let _ = writeln!(text, "  and {more} more (--json has all)");
    }
    let _ = writeln!(text, "  {}", verdict(against));
    text
}

fn verdict(against: &AgainstDocument) -> String {
    let tolerance = against.tolerance_percent;
    let has = |kind: ChangeKind| against.changes.iter().any(|change| change.kind == kind);
    if against.passed {
        format!("passed: no goodput fell by more than {tolerance} %")
    } else if against.is_undecided() {
        format!("UNDECIDED: a goodput may have fallen by more than {tolerance} %; the repeats do not decide")
    } else if has(ChangeKind::Worse) {
        format!("FAILED: goodput fell by more than {tolerance} %")
    } else {
        "FAILED: an end is configured in another way".to_owned()
    }
}

/// The reason why a goodput is undecided, and the remedy.
fn doubt(change: &ChangeDocument, tolerance: f64) -> String {
    match (change.change_percent, change.interval_percent) {
        (None, _) => "; not measured in both probes".to_owned(),
        (Some(_), None) => "; an interval takes 3 --repeats in both probes".to_owned(),
        (Some(mean), Some([_, high])) if mean < -tolerance && high < 0.0 => {
            "; the best repeat is as it was: --watch shows how often it falls".to_owned()
        }
        (Some(_), Some(_)) => {
            format!(
                "; the interval reaches below -{tolerance} %: more --repeats, or both probes with a longer --duration"
            )
        }
    }
}

fn line(change: &ChangeDocument, tolerance: f64) -> String {
    let word = change.kind.word();
    let node = change.node.as_deref().unwrap_or("all at once");
    let percent = change.change_percent.map(|percent| {
        let interval = change.interval_percent.map(|[low, high]| format!(", 95 %: {low:+.1} to {high:+.1}"));
        format!(" ({percent:+.1} %{})", interval.unwrap_or_default())
    });
    let hint = if change.kind == ChangeKind::Undecided { doubt(change, tolerance) } else { String::new() };
    format!(
        "{word:<11}{} {node}: {} was {}, is {}{}{hint}",
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
        one => format!("direction {one}"),
    };
    format!("{place}, {direction}: {}", likely.why)
}
