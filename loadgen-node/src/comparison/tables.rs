//! A comparison as text, CSV and Markdown.

use std::fmt::Write as _;

use lon_proto::text::on_one_line;

use super::metric::Unit;
use lon_run::outputs::documents::comparison::{
    Comparison, DifferenceDocument, DifferentDocument, Finding, MetricComparison, SideDocument,
};
use lon_run::outputs::documents::result_summary::Validity;
use lon_run::outputs::screen::labels::labels_text;
use lon_run::outputs::tables::table::{Table, in_markdown};

/// Differences of settings and hosts that the screen shows; the documents have all.
const SHOWN: usize = 20;
/// Letters of a value that the screen shows.
const LETTERS: usize = 40;
/// The heads of the CSV.
const COLUMNS: [&str; 11] = [
    "kind",
    "from",
    "to",
    "name",
    "unit",
    "from_value",
    "to_value",
    "difference_percent",
    "interval_low_percent",
    "interval_high_percent",
    "finding",
];
/// The heads of the table of quantities, behind the one for each side.
const HEADS: [&str; 3] = ["difference", "95 % interval", "finding"];

/// Returns the comparison as text for the screen.
pub(crate) fn text(comparison: &Comparison) -> String {
    let mut text = String::new();
    for side in &comparison.sides {
        let _ = writeln!(text, "{}  {}", side.name, side_text(side));
    }
    for why in &comparison.not_comparable {
        let _ = writeln!(text, "\nNot comparable: {why}");
    }
    if !comparison.different.is_empty() {
        text.push_str("\nNot the same\n");
        let mut facts = facts(comparison);
        facts.rows.truncate(SHOWN);
        text.push_str(&facts.aligned());
        let more = comparison.different.len().saturating_sub(SHOWN);
        if more > 0 {
            let _ = writeln!(text, "  and {more} more (--json has all)");
        }
    }
    if !comparison.notes.is_empty() {
        text.push('\n');
    }
    for note in &comparison.notes {
        let _ = writeln!(text, "Note: {note}");
    }
    for (title, table) in tables(comparison) {
        let _ = writeln!(text, "\n{title}");
        text.push_str(&table.aligned());
    }
    text.push('\n');
    for failed in &comparison.failed {
        let _ = writeln!(text, "Failed: {failed}");
    }
    text.push_str("Unverified: no official MLPerf results.\n");
    text
}

/// A row for each fact that is not the same and for each quantity, of each side but the first.
pub(crate) fn csv(comparison: &Comparison) -> String {
    let side = |at: usize| comparison.sides[at].name.clone();
    let value = |fact: &DifferentDocument, at: usize| fact.values[at].clone().unwrap_or_default();
    let fact = |fact: &DifferentDocument, at: usize| {
        let cells = ["different".to_owned(), side(0), side(at), fact.what.clone(), String::new()];
        let values = [value(fact, 0), value(fact, at)];
        cells.into_iter().chain(values).chain([const { String::new() }; 4]).collect()
    };
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let row = |metric: &MetricComparison, at: usize| {
        let difference = metric.differences[at - 1];
        let interval = difference.and_then(|difference| difference.interval_percent);
        vec![
            "quantity".to_owned(),
            side(0),
            side(at),
            metric.name.clone(),
            metric.unit.clone(),
            number(metric.values[0]),
            number(metric.values[at]),
            number(difference.map(|difference| difference.percent)),
            number(interval.map(|[low, _]| low)),
            number(interval.map(|[_, high]| high)),
            finding(comparison, metric, at).to_owned(),
        ]
    };
    let others = 1..comparison.sides.len();
    let facts = comparison.different.iter().flat_map(|one| others.clone().map(move |at| fact(one, at)));
    let rows = comparison.metrics.iter().flat_map(|metric| others.clone().map(move |at| row(metric, at)));
    Table { heads: COLUMNS.map(str::to_owned).to_vec(), rows: facts.chain(rows).collect() }.csv()
}

/// For a page of text, such as a comment on a change.
pub(crate) fn markdown(comparison: &Comparison) -> String {
    let mut text = String::new();
    for side in &comparison.sides {
        let _ = writeln!(text, "- **{}** {}", side.name, in_markdown(&side_text(side)));
    }
    for why in &comparison.not_comparable {
        let _ = writeln!(text, "\n**Not comparable:** {}", in_markdown(why));
    }
    if !comparison.different.is_empty() {
        let mut facts = facts(comparison);
        facts.heads[0] = "not the same".to_owned();
        text.push_str(&format!("\n{}", facts.markdown()));
    }
    for note in &comparison.notes {
        let _ = writeln!(text, "\n{}", in_markdown(note));
    }
    for (_, table) in tables(comparison) {
        text.push_str(&format!("\n{}", table.markdown()));
    }
    for failed in &comparison.failed {
        let _ = writeln!(text, "\n{}", in_markdown(failed));
    }
    text.push_str("\nUnverified: no official MLPerf results.\n");
    text
}

/// A side in a line.
pub(super) fn side_text(side: &SideDocument) -> String {
    let [first, repeats @ ..] = side.runs.as_slice() else { return String::new() };
    let more = if repeats.is_empty() { String::new() } else { format!(" and {} repeats", repeats.len()) };
    let valid = side.runs.iter().filter(|run| run.result == Validity::Valid).count();
    let verdict = match (valid, repeats.len()) {
        (0, 0) => "INVALID".to_owned(),
        (1, 0) => "VALID".to_owned(),
        (valid, _) => format!("{valid} of {} VALID", side.runs.len()),
    };
    let note = first.note.as_ref().map_or_else(String::new, |note| format!(", {note}"));
    let labels = if first.labels.is_empty() { String::new() } else { format!(", {}", labels_text(&first.labels)) };
    let what = format!("{} {}, {}{labels}{note}", first.benchmark, first.scenario, first.started_utc);
    on_one_line(&format!("{}{more}: {verdict}, {what}", first.folder))
}

/// Returns the facts that are not the same: a row each, with what each side has.
pub(super) fn facts(comparison: &Comparison) -> Table {
    let row = |fact: &DifferentDocument| {
        let values = fact.values.iter().map(|value| short(value.as_deref().unwrap_or("not there")));
        std::iter::once(fact.what.clone()).chain(values).collect()
    };
    let names = comparison.sides.iter().map(|side| side.name.clone());
    Table {
        heads: std::iter::once("what".to_owned()).chain(names).collect(),
        rows: comparison.different.iter().map(row).collect(),
    }
}

fn short(text: &str) -> String {
    match text.char_indices().nth(LETTERS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// The tables of quantities, each with its title. Sides that cannot be compared have those that both sides have.
pub(super) fn tables(comparison: &Comparison) -> Vec<(String, Table)> {
    let of_side = |other: usize| {
        let title = format!("From {} to {}", comparison.sides[0].name, comparison.sides[other].name);
        (title, table(comparison, other))
    };
    (1..comparison.sides.len()).map(of_side).filter(|(_, table)| !table.rows.is_empty()).collect()
}

/// The quantities of the first side and another one.
fn table(comparison: &Comparison, other: usize) -> Table {
    let names = [0, other].map(|at| comparison.sides[at].name.clone());
    let heads = std::iter::once("quantity".to_owned()).chain(names).chain(HEADS.map(str::to_owned)).collect();
    let is_shown = |metric: &&MetricComparison| comparison.not_comparable.is_empty() || is_in_both(metric, other);
    let rows = comparison.metrics.iter().filter(is_shown).map(|metric| {
        let unit = Unit::named(&metric.unit);
        let value = |at: usize| metric.values[at].map_or_else(|| "none".to_owned(), |value| unit.text(value));
        let difference = metric.differences[other - 1];
        vec![
            format!("{} ({})", metric.about, metric.name),
            value(0),
            value(other),
            difference.map_or_else(String::new, |difference| format!("{:+.1} %", difference.percent)),
            difference.and_then(interval).unwrap_or_default(),
            finding(comparison, metric, other).to_owned(),
        ]
    });
    Table { heads, rows: rows.collect() }
}

fn interval(difference: DifferenceDocument) -> Option<String> {
    let [low, high] = difference.interval_percent?;
    Some(format!("{low:+.1} .. {high:+.1} %"))
}

fn is_in_both(metric: &MetricComparison, other: usize) -> bool {
    metric.values[0].is_some() && metric.values[other].is_some()
}

/// The finding on a quantity of the first side and another one, or the reason why there is none.
fn finding(comparison: &Comparison, metric: &MetricComparison, other: usize) -> &'static str {
    match metric.differences[other - 1] {
        Some(difference) => word(difference.finding),
        None if !comparison.not_comparable.is_empty() => "not comparable",
        None if !is_in_both(metric, other) => "not in both",
        None => "no percentage of 0",
    }
}

fn word(finding: Finding) -> &'static str {
    match finding {
        Finding::Same => "same",
        Finding::Noise => "noise",
        Finding::Better => "better",
        Finding::Worse => "worse",
        Finding::Differs => "differs",
        Finding::AsAsked => "as asked",
        Finding::NotJudged => "not judged",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use lon_run::outputs::documents::comparison::{Better, ComparedRun, IntervalOf};

    fn comparison() -> Comparison {
        let run = |folder: &str| ComparedRun {
            folder: folder.to_owned(),
            result: Validity::Valid,
            benchmark: "b".to_owned(),
            scenario: "Server".to_owned(),
            started_utc: "2026-11-24T12:00:00Z".to_owned(),
            note: None,
            labels: BTreeMap::new(),
        };
        let side = |name: &str, folder: &str| SideDocument { name: name.to_owned(), runs: vec![run(folder)] };
        let difference = DifferenceDocument {
            percent: -10.0,
            interval_percent: Some([-12.25, -8.0]),
            interval_of: Some(IntervalOf::Blocks),
            finding: Finding::Better,
        };
        Comparison {
            schema: 1,
            sides: vec![side("A", "x|y"), side("B", "z")],
            not_comparable: Vec::new(),
            notes: vec!["a note".to_owned()],
            different: vec![DifferentDocument {
                what: "codec".to_owned(),
                values: vec![Some("none".to_owned()), None],
            }],
            metrics: vec![MetricComparison {
                name: "p99".to_owned(),
                about: "latency, p99".to_owned(),
                unit: "ns".to_owned(),
                better: Better::Lower,
                values: vec![Some(2e6), Some(1.8e6)],
                differences: vec![Some(difference)],
            }],
            failed: Vec::new(),
        }
    }

    #[test]
    fn every_form_has_the_same_numbers() {
        let expected = "\
A  x|y: VALID, b Server, 2026-11-24T12:00:00Z
B  z: VALID, b Server, 2026-11-24T12:00:00Z

Not the same
  what   A     B
  codec  none  not there

Note: a note

From A to B
  quantity            A      B      difference  95 % interval    finding
  latency, p99 (p99)  2.0ms  1.8ms  -10.0 %     -12.2 .. -8.0 %  better

Unverified: no official MLPerf results.
";
        assert_eq!(text(&comparison()), expected);
        let csv = csv(&comparison());
        assert_eq!(csv.lines().nth(1), Some("different,A,B,codec,,none,,,,,"));
        assert_eq!(csv.lines().nth(2), Some("quantity,A,B,p99,ns,2000000,1800000,-10,-12.25,-8,better"));
        let markdown = markdown(&comparison());
        assert!(
            markdown.contains("- **A** x\\|y: VALID") && markdown.contains("| latency, p99 (p99) | 2.0ms | 1.8ms |")
        );
    }

    #[test]
    fn labels_stand_at_their_side() {
        let mut labelled = comparison();
        labelled.sides[1].runs[0].labels = BTreeMap::from([("rack".to_owned(), "7".to_owned())]);
        let text = text(&labelled);
        assert!(text.contains("B  z: VALID, b Server, 2026-11-24T12:00:00Z, rack=7\n"), "{text}");
    }

    #[test]
    fn a_quantity_without_a_finding_has_the_reason() {
        let mut apart = comparison();
        apart.metrics[0] =
            MetricComparison { values: vec![Some(2e6), None], differences: vec![None], ..apart.metrics[0].clone() };
        assert!(text(&apart).contains(" not in both\n"), "{}", text(&apart));
        apart.not_comparable.push("mode".to_owned());
        assert!(!text(&apart).contains("From A to B"), "{}", text(&apart));
        assert!(csv(&apart).ends_with(",not comparable\n"), "{}", csv(&apart));
    }
}
