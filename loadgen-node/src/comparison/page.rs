//! A comparison as an HTML page, with curves over each other.

use hdrhistogram::Histogram;
use maud::{Markup, html};

use super::side::Side;
use super::tables;
use lon_run::outputs::documents::comparison::Comparison;
use lon_run::outputs::report::{
    Axis, Chart, Curve, MOST_CURVES, Series, Step, framed, latency_axis, of_percentiles, rate_axis, seconds_axis,
};
use lon_run::outputs::tables::table::Table;

/// Places of curves over time.
const PLACES: usize = 120;
/// Caption of a chart, which says whose curves it shows.
const OF_FIRST: &str = "Of the first run of each side.";

/// The whole page. It loads nothing, and has no script.
pub(crate) fn page(comparison: &Comparison, sides: &[Side]) -> String {
    let names: Vec<&str> = comparison.sides.iter().map(|side| side.name.as_str()).collect();
    let title = format!("Comparison of {}", names.join(", "));
    let header = html! {
        h1 { (title) }
        ul { @for side in &comparison.sides { li { strong { (side.name) } " " (tables::side_text(side)) } } }
        @for why in &comparison.not_comparable { p class="bad" { "Not comparable: " (why) } }
        @for failed in &comparison.failed { p class="bad" { (failed) } }
    };
    let main = html! {
        @if comparison.different.is_empty() { p { "Settings, hosts and versions are the same." } }
        @else { (table("different", "Not the same", tables::facts(comparison))) }
        @for note in &comparison.notes { p { (note) } }
        @for (title, quantities) in tables::tables(comparison) {
            (table(&title.replace(' ', "-").to_lowercase(), &title, quantities))
        }
        div class="charts" { @for chart in charts(sides) { (chart.markup()) } }
    };
    framed(&title, &header, &main, "Unverified: no official MLPerf results.")
}

/// A table with its title.
pub(crate) fn table(id: &str, title: &str, table: Table) -> Markup {
    html! {
        section id=(id) {
            h2 { (title) }
            div class="scroll" role="region" tabindex="0" aria-label=(title) { table {
                thead { tr { @for head in table.heads { th { (head) } } } }
                tbody { @for row in table.rows { tr { @for cell in row { td class=[class(&cell)] { (cell) } } } } }
            } }
        }
    }
}

/// Findings have colours.
fn class(cell: &str) -> Option<&'static str> {
    match cell {
        "better" | "VALID" => Some("good"),
        "worse" | "INVALID" => Some("bad"),
        _ => None,
    }
}

/// The curves of the first run of each side that has measured something.
fn charts(sides: &[Side]) -> Vec<Chart> {
    let names: Vec<String> = sides.iter().map(|side| side.name.to_string()).collect();
    let all = names.iter().zip(sides).filter_map(|(name, side)| Some((name.as_str(), side.series().next()?)));
    over_each_other(&all.collect::<Vec<_>>(), OF_FIRST)
}

/// The latencies and rates of several runs over each other, by their names. Runs without an answer are left out.
pub(crate) fn over_each_other(all: &[(&str, &Series)], about: &'static str) -> Vec<Chart> {
    let all: Vec<(&str, &Series)> =
        all.iter().copied().filter(|(_, series)| !series.latencies.is_empty()).take(MOST_CURVES).collect();
    let Some(longest_s) = all.iter().map(|(_, series)| series.length_s()).reduce(f64::max) else { return Vec::new() };
    let p99 = |step: &Step| (!step.latencies.is_empty()).then(|| step.latencies.value_at_quantile(0.99) as f64);
    let latencies: Vec<(&str, &Histogram<u64>)> = all.iter().map(|(name, series)| (*name, &series.latencies)).collect();
    vec![
        of_percentiles("distribution", "Latency distribution", about.to_owned(), &latencies, Vec::new()),
        over_time(["latency", "p99 over time", about], &all, longest_s, latency_axis(), |step, _| p99(step)),
        over_time(["rate", "Answers per second over time", about], &all, longest_s, rate_axis(), |step, step_s| {
            Some(step.answered as f64 / step_s)
        }),
    ]
}

fn over_time(
    [id, title, about]: [&'static str; 3],
    all: &[(&str, &Series)],
    longest_s: f64,
    y: Axis,
    of: impl Fn(&Step, f64) -> Option<f64>,
) -> Chart {
    let places: Vec<f64> = (0..PLACES).map(|place| (place as f64 + 0.5) / PLACES as f64 * longest_s).collect();
    let curve = |(name, series): &(&str, &Series)| {
        let value = |at_s: &f64| of(series.steps.get((at_s / series.step_s) as usize)?, series.step_s);
        Curve { name: (*name).to_owned(), values: places.iter().map(value).collect() }
    };
    let curves = all.iter().map(curve).collect();
    let x = seconds_axis("time since the first sample", longest_s / PLACES as f64);
    Chart { id, title, about: about.to_owned(), x, y, places, curves, limits: Vec::new(), marks: Vec::new() }
}
