//! The whole page: the answer first, then why, then everything else.

use lon_shell::figures::duration_ns;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::source::Source;
use super::{charts, tables};
use crate::outputs::documents::parts::ByDirection;
use crate::outputs::documents::result_summary::{MetricDocument, ResultSummary, Validity};

const STYLE: &str = include_str!("style.css");

/// The page as HTML. It has everything in itself, and no script.
pub(crate) fn page(source: &Source) -> String {
    let result = &source.result;
    let charts = charts::all(source);
    let main = html! {
        @for why in &source.missing { p class="bad" { "Not shown: " (why) } }
        @if source.series.is_none() && source.missing.is_empty() {
            p { "There are no latencies: nothing was measured." }
        }
        div class="charts" { @for chart in &charts { (chart.markup()) } }
        (tables::latencies(source))
        (tables::split(source))
        (tables::split_by_node(source))
        (tables::nodes(source))
        (tables::network(source))
        @if let Some(svg) = &source.diagram {
            section id="system" {
                h3 { "System" }
                div class="scroll paper" tabindex="0" { (PreEscaped(svg)) }
            }
        }
        (tables::rules(source))
        (tables::made(source))
        (tables::systems(source))
    };
    framed(&title(source), &answer(source), &main, &result.unofficial)
}

/// A page of this header and these contents.
pub(crate) fn framed(title: &str, header: &Markup, main: &Markup, unofficial: &str) -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header { (header) }
                main { (main) }
                footer { p { (unofficial) } }
            }
        }
    }
    .into_string()
}

/// What was run, and its verdict.
pub(super) fn title(source: &Source) -> String {
    let result = &source.result;
    format!("{} {}: {}", result.benchmark, result.scenario, word(result.result))
}

fn word(validity: Validity) -> &'static str {
    match validity {
        Validity::Valid => "VALID",
        Validity::Invalid => "INVALID",
    }
}

/// Is it valid, how fast, why not faster, what did the network carry.
fn answer(source: &Source) -> Markup {
    let result = &source.result;
    let verdict = word(result.result);
    let class = if result.result == Validity::Valid { "good" } else { "bad" };
    let official = result.official_result.map(word);
    html! {
        h1 { (result.benchmark) " " (result.scenario) ": " span class=(class) { (verdict) } }
        p class="about" {
            (result.made.started_utc) ", " (result.mode) " by the rules of round " (result.rules)
            @if let Some(official) = official { "; the official rules alone say " (official) }
        }
        @if !result.reasons.is_empty() { ul class="reasons" { @for reason in &result.reasons { li { (reason) } } } }
        @for hint in &result.hints { p { "Try " code { (hint) } } }
        dl class="answers" {
            @for (question, answer) in answers(source) { div { dt { (question) } dd { (answer) } } }
        }
        @if !result.marks.is_empty() {
            details {
                summary { "No result of the Network division" }
                ul { @for mark in &result.marks { li { (mark) } } }
            }
        }
    }
}

/// The questions that a run has an answer to.
pub(super) fn answers(source: &Source) -> Vec<(&'static str, String)> {
    let result = &source.result;
    let all = [
        ("How fast", speed(result)),
        ("Limit", limit(result)),
        ("Why not faster", slow(source)),
        ("What the network carried", carried(source)),
        ("Samples", samples(result)),
        ("Accuracy", accuracy(result)),
    ];
    all.into_iter().filter_map(|(question, answer)| Some((question, answer?))).collect()
}

fn speed(result: &ResultSummary) -> Option<String> {
    let Some(MetricDocument::Performance(metric)) = &result.metric else { return None };
    let value = match (metric.value, metric.unit.as_str()) {
        (None, _) => "nothing: too little was answered".to_owned(),
        (Some(value), "ns") => duration_ns(value as i64),
        (Some(value), unit) => format!("{value:.2} {unit}"),
    };
    Some(format!("{value} ({})", metric.name))
}

fn limit(result: &ResultSummary) -> Option<String> {
    let said = result.latency_limits.iter().map(|limit| {
        let kept = if limit.kept { "kept" } else { "exceeded" };
        let [value, most] = [limit.value_ns, limit.limit_ns as i64].map(duration_ns);
        format!("p{} of {} {value}, at most {most}: {kept}", limit.percentile, limit.of)
    });
    Some(said.collect::<Vec<_>>().join("; ")).filter(|said| !said.is_empty())
}

fn slow(source: &Source) -> Option<String> {
    let (name, p50_ns, share) = tables::slowest_stage(&source.network.as_ref()?.latency_split_ns)?;
    Some(format!("{:.0} % of the time at the median goes to: {name} ({})", share * 100.0, duration_ns(p50_ns as i64)))
}

fn carried(source: &Source) -> Option<String> {
    let of = &source.network.as_ref()?.bandwidth_gbit_s;
    let rate =
        |gbit_s: Option<f64>| gbit_s.map_or_else(|| "not known".to_owned(), |rate| charts::bits_text(rate * 1e9));
    let required = match of.required {
        ByDirection { ingress: None, egress: None } => "what is required is not known for this benchmark".to_owned(),
        required => format!("required {} and {}", rate(required.ingress), rate(required.egress)),
    };
    Some(format!("{} to the SUT, {} back; {required}", rate(of.carried.ingress), rate(of.carried.egress)))
}

fn samples(result: &ResultSummary) -> Option<String> {
    let counts = &result.counts;
    Some(format!("{} issued, {} answered", counts.issued, counts.completed))
}

fn accuracy(result: &ResultSummary) -> Option<String> {
    let score = result.accuracy.as_ref();
    let score = score.map(|score| {
        let passed = if score.passed { "reached" } else { "missed" };
        let unit = if score.unit == "%" { " %" } else { "" };
        format!("{} {:.3}{unit} of {} samples, target {passed}", score.metric, score.value, score.samples)
    });
    score.or_else(|| result.accuracy_note.clone())
}
