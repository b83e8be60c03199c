//! The whole page: the answer first, then why, then everything else.

use base64::Engine as _;
use lon_proto::figures::{bit_rate, duration_ns, length_ns, number};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest as _, Sha256};

use super::source::Source;
use super::{charts, load, tables};
use crate::network::by_direction::ByDirection;
use crate::outputs::documents::limiting_cause::BoundDocument;
use crate::outputs::documents::qdl_result::QdlState;
use crate::outputs::documents::result_summary::{MetricDocument, ResultSummary, Validity};
use crate::outputs::documents::within::WithinDocument;
use crate::outputs::screen::latencies::latency_text;

/// Reasons that are shown; of many nodes each may have its own.
const REASONS: usize = 16;

const STYLE: &str = include_str!("style.css");

/// The page as HTML. It has everything in itself, and no script.
pub fn page(source: &Source) -> String {
    let result = &source.result;
    let charts: Vec<_> = load::chart(source).into_iter().chain(charts::all(source)).collect();
    let main = html! {
        @if !source.never_written.is_empty() {
            p { "The run has not come to write: " (source.never_written.join(", ")) "." }
        }
        @for why in &source.missing { p class="bad" { "Not shown: " (why) } }
        @if let Some(why) = without_curves(source) { p { (why) } }
        div class="charts" { @for chart in &charts { (chart.markup()) } }
        (load::trials(source))
        (tables::latencies(source))
        (tables::split(source))
        (tables::split_by_node(source))
        (tables::nodes(source))
        (tables::network(source))
        @if let Some(svg) = &source.diagram {
            section id="system" {
                h2 { "System" }
                div class="scroll paper" role="region" tabindex="0" aria-label="System" { (PreEscaped(svg)) }
            }
        }
        (tables::rules(source))
        (tables::origin(source))
        (tables::systems(source))
    };
    framed(&title(source), &answer(source), &main, &result.unofficial)
}

/// A page of this header and these contents, without a script.
pub fn framed(title: &str, header: &Markup, main: &Markup, unofficial: &str) -> String {
    scripted(title, header, main, unofficial, None)
}

/// A page with this script, if any. A browser runs no other one, since the page names the checksum of its own.
pub fn scripted(title: &str, header: &Markup, main: &Markup, unofficial: &str, script: Option<&str>) -> String {
    let allowed = script.map_or_else(String::new, |script| {
        let sum = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(script));
        format!("; script-src 'sha256-{sum}'")
    });
    let policy = format!("default-src 'none'; style-src 'unsafe-inline'{allowed}");
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="generator" content="loadgen-node";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(policy);
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header { (header) }
                main { (main) }
                footer { p { (unofficial) } }
                @if let Some(script) = script { script { (PreEscaped(script)) } }
            }
        }
    }
    .into_string()
}

/// Returns the title of the page: the test and its verdict.
pub(super) fn title(source: &Source) -> String {
    let result = &source.result;
    format!("{} {}: {}", result.benchmark, result.scenario, verdict(source))
}

/// Why there are no curves of latencies. None: there are some, or it is said elsewhere.
fn without_curves(source: &Source) -> Option<&'static str> {
    match (&source.series, source.by_another) {
        (Some(series), _) if !series.latencies.is_empty() => None,
        (Some(_), _) => Some("No sample was answered: there are no curves of latencies."),
        (None, _) if !source.missing.is_empty() => None,
        (None, Some(_)) => Some("The latencies are in the logs of the engine that led the run."),
        (None, None) => Some("There are no latencies: nothing was measured."),
    }
}

/// The word for the run. Where another engine led it, it is about that engine's logs, which have the verdict.
fn verdict(source: &Source) -> &'static str {
    match source.by_another {
        Some(QdlState::Usable) => "logs usable",
        Some(QdlState::Unusable) => "logs UNUSABLE",
        None => source.result.result.word(),
    }
}

fn is_good(source: &Source) -> bool {
    source.by_another.map_or(source.result.result == Validity::Valid, |state| state == QdlState::Usable)
}

/// Is it valid, how fast, why not faster, what did the network carry.
fn answer(source: &Source) -> Markup {
    let result = &source.result;
    let class = if is_good(source) { "good" } else { "bad" };
    let official = result.official_result.map(Validity::word);
    html! {
        h1 { (result.benchmark) " " (result.scenario) ": " span class=(class) { (verdict(source)) } }
        p class="about" {
            (result.made.started_utc) ", "
            @if source.by_another.is_some() { "led by another engine, whose logs have the verdict," }
            @else { (result.mode) }
            ", round " (result.rules)
            @if let Some(official) = official { "; LoadGen's own checks say " (official) }
        }
        @if !result.reasons.is_empty() {
            ul class="reasons" {
                @for reason in result.reasons.iter().take(REASONS) { li { (reason) } }
                @if let Some(more) = result.reasons.len().checked_sub(REASONS).filter(|more| *more > 0) {
                    li { "And " (more) " more: result_summary.json has them." }
                }
            }
        }
        @for hint in &result.hints { p { "Try " code { (hint) } } }
        dl class="answers" {
            @for (question, answer) in answers(source) { div { dt { (question) } dd { (answer) } } }
        }
        @if !result.marks.is_empty() {
            details {
                summary { "Why this is not a Network division result" }
                ul { @for mark in &result.marks { li { (mark) } } }
            }
        }
    }
}

/// The questions that a run has an answer to.
pub(super) fn answers(source: &Source) -> Vec<(&'static str, String)> {
    let result = &source.result;
    let all = [
        ("Speed", speed(result)),
        ("Limit", limit(result)),
        ("Within the limits of --within", result.within.as_ref().map(WithinDocument::text)),
        ("Why not faster", slow(source)),
        ("Network traffic", carried(source)),
        ("Is the network the limit", is_limit(source)),
        ("Does it meet the rules", meets_rules(source)),
        ("Samples", samples(result)),
        ("Accuracy", accuracy(result)),
    ];
    let [speed, others @ ..] = all;
    let all = std::iter::once(speed).chain(load::answers(result)).chain(others);
    all.filter_map(|(question, answer)| Some((question, answer?))).collect()
}

fn speed(result: &ResultSummary) -> Option<String> {
    let Some(MetricDocument::Performance(metric)) = &result.metric else { return None };
    let value = match (metric.value, metric.unit.as_str()) {
        (None, _) => "nothing: too little was answered".to_owned(),
        (Some(value), "ns") => duration_ns(value as i64),
        (Some(value), unit) => format!("{value:.2} {unit}"),
    };
    let scheduled = result.scheduled_samples_per_s.map(|rate| format!("; scheduled {rate:.2} samples/s"));
    Some(format!("{value} ({}){}", metric.name, scheduled.unwrap_or_default()))
}

fn limit(result: &ResultSummary) -> Option<String> {
    let limits = result.latency_limits.iter().map(|limit| {
        let verdict = if limit.kept { "kept" } else { "exceeded" };
        let (value, most) = (latency_text(limit.value_ns), length_ns(limit.limit_ns));
        format!("p{} of {} {value}, at most {most}: {verdict}", limit.percentile, limit.of)
    });
    Some(limits.collect::<Vec<_>>().join("; ")).filter(|text| !text.is_empty())
}

fn slow(source: &Source) -> Option<String> {
    let split = &source.network.as_ref()?.latency_split_ns;
    let (name, p50_ns, share) = tables::largest_part(split)?;
    let parts = match source.is_pulled() {
        // All samples are due at the start: the time until its turn is most of any latency.
        true => format!("p99 {}", split.sum(true, |at| at.p99)),
        false => {
            let share = share * 100.0;
            let most = format!("{share:.0} % of the latency at the median is {name} ({})", length_ns(p50_ns));
            format!("{most}; p99 {}", split.sum(false, |at| at.p99))
        }
    };
    let as_asked = || match &source.result.find_peak {
        Some(search) => search.bracket.high.map(|high| format!("{} misses the limit", number(high))),
        None => {
            let is_as_asked = source.result.scheduled_samples_per_s.is_some() && is_good(source);
            is_as_asked.then(|| "target_qps set the rate: a higher target_qps measures a higher one".to_owned())
        }
    };
    let bound = source.result.bound.as_ref().and_then(BoundDocument::text).or_else(as_asked);
    Some(bound.map_or_else(|| parts.clone(), |bound| format!("{bound}. {parts}")))
}

fn carried(source: &Source) -> Option<String> {
    let of = &source.network.as_ref()?.bandwidth_gbit_s;
    let rate = |gbit_s: Option<f64>| gbit_s.map_or_else(|| "not known".to_owned(), |rate| bit_rate(rate * 1e9));
    let required = match of.required {
        ByDirection { ingress: None, egress: None } => "what is required is not known for this benchmark".to_owned(),
        required => {
            let negligible = |bits: Option<f64>| if bits == Some(0.0) { "negligible".to_owned() } else { rate(bits) };
            let [to, back] = [required.ingress, required.egress].map(negligible);
            format!("the rules require {to} and {back}, for samples without a codec")
        }
    };
    Some(match of.carried {
        ByDirection { ingress: None, egress: None } => format!("how much is not known; {required}"),
        carried => format!("{} to the SUT, {} back; {required}", rate(carried.ingress), rate(carried.egress)),
    })
}

/// Sockets that are full for this share of the time show what the links carry.
const SOMETIMES: f64 = 0.1;

/// Of the run as it was, codecs included.
fn is_limit(source: &Source) -> Option<String> {
    let limit = &source.network.as_ref()?.bandwidth_gbit_s.limit;
    // Results of earlier versions do not say.
    let has_probe = source.network.as_ref().is_some_and(|network| network.probe.is_some());
    // Sockets that always had room show what was sent, and not what would fit.
    let bound = source.result.bound.as_ref().filter(|bound| has_probe || bound.sockets_full >= SOMETIMES);
    let fits = bound.and_then(|bound| bound.links_fit_per_s);
    let fits = fits.map(|per_s| format!("; the links would carry {per_s:.0} samples/s like these with 1 % to spare"));
    (!limit.is_empty()).then(|| format!("{limit}{}", fits.unwrap_or_default()))
}

/// Returns the verdict on the network by the rules for this rate, whatever was sent.
fn meets_rules(source: &Source) -> Option<String> {
    let of = &source.network.as_ref()?.bandwidth_gbit_s;
    of.formula.as_ref().map(|_| format!("{} (Appendix B)", of.verdict))
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
