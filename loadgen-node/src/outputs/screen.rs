//! What a person sees at the end of a run, on standard output.

use lon_shell::figures::duration_ns as human;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;

use super::documents::accuracy;
use super::network_lines as lines;
use super::tokens;
use crate::test_run::finished::Finished;
use loadgen::run::End;
use loadgen::traffic::Pacing;

/// Prints the result of a run.
pub(crate) fn show(finished: &Finished, folder: &Path) -> io::Result<()> {
    let text = text(finished, folder);
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome,
    }
}

fn text(finished: &Finished, folder: &Path) -> String {
    let mut lines: Vec<(&str, String)> = Vec::new();
    let outcome = &finished.outcome;
    lines.push(("Result", verdict(finished)));
    for reason in &outcome.verdict.reasons {
        lines.push(("", format!("- {}", reason.text)));
    }
    for advice in outcome.summary.iter().flat_map(|summary| &summary.advice) {
        lines.push(("", format!("  LoadGen's advice: {}", advice.detail)));
    }
    lines.push(("SUT", format!("{} ({})", finished.nodes.last_name.text, engines(finished))));
    lines.push(("Test", test(finished)));
    if let Some(summary) = &outcome.summary {
        let metric = summary.metric;
        let value = finished.metric_value(&metric).map(|value| format!("{value:.2} {}", metric.unit));
        let value = value.as_deref().unwrap_or("none: too little was answered");
        lines.push(("Metric", format!("{} = {value}", metric.name)));
        let latency = summary.judged_latency();
        let [p50, p90, _, _, p99, p99_9] = latency.percentiles_ns.map(human);
        let max = human(latency.max_ns);
        let unanswered = outcome.counts().failed + outcome.counts().lost;
        let note = if unanswered > 0 { " (failed samples count as slower than all others)" } else { "" };
        lines.push(("Latency", format!("p50 {p50}, p90 {p90}, p99 {p99}, p99.9 {p99_9}, max {max}{note}")));
        lines.extend(tokens::lines(summary, finished.setup.plan.effective()));
    }
    if let Some(search) = &outcome.find_peak {
        let bound = |qps: Option<f64>| qps.map_or("?".to_owned(), |qps| format!("{qps:.3}"));
        let (low, high) = (bound(search.bracket.low_qps), bound(search.bracket.high_qps));
        lines.push(("Peak", format!("in [{low}, {high}) queries/s, {} trials", search.trials.len())));
    }
    let settings = finished.setup.plan.requested();
    let lag = outcome.lag();
    // Offline has no schedule, since all of it is due at once.
    if lag.count > 0 && settings.scenario.pacing() != Pacing::Room {
        let [p50, p99, max] =
            [lag.p50_ns, lag.p99_ns, lag.max_ns].map(|ns| human(i64::try_from(ns).unwrap_or(i64::MAX)));
        lines.push(("Lag", format!("p50 {p50}, p99 {p99}, max {max} (due until sent)")));
    }
    if let (Some(Ok(score)), Some(target)) = (&finished.judgement.score, finished.setup.benchmark.accuracy) {
        lines.push(("Accuracy", accuracy::line(*score, target)));
    }
    if let Some(note) = finished.not_scored() {
        lines.push(("Accuracy", note));
    }
    lines.push(("Samples", samples(finished)));
    if let Some(nan) = finished.nan().filter(|nan| *nan > 0) {
        lines
            .push(("NaN", format!("in the outputs behind {nan} answers: the model or what it was given is not right")));
    }
    if let Some((_, tax)) = finished.tax() {
        lines.push(("Fabric", tax.text(human)));
    }
    lines.extend(lines::lines(finished));
    for mark in &finished.judgement.marks {
        lines.push(("Mark", mark.clone()));
    }
    lines.push(("Files", folder.display().to_string()));
    lines.push(("", "Unverified: not an official MLPerf result.".to_owned()));
    let mut text = String::new();
    for (name, line) in lines {
        let _ = writeln!(text, "{name:<10}{line}");
    }
    text
}

fn verdict(finished: &Finished) -> String {
    let verdict = &finished.outcome.verdict;
    let word = |valid: bool| if valid { "VALID" } else { "INVALID" };
    let how = match finished.outcome.end {
        End::Interrupted => ", interrupted: what had been measured was written",
        End::Broken => ", the SUT failed: what had been measured was written",
        _ => "",
    };
    let official = match verdict.official {
        Some(official) => format!("official rules alone: {}", word(official)),
        None => "nothing judged by the official rules".to_owned(),
    };
    format!("{} ({official}){how}", word(verdict.is_valid()))
}

fn engines(finished: &Finished) -> String {
    let mut engines: Vec<&str> = finished.nodes.described.iter().map(|node| node.engine.as_str()).collect();
    engines.dedup();
    format!("{} over {}", engines.join(", "), finished.setup.link.transport.name())
}

fn test(finished: &Finished) -> String {
    let settings = finished.setup.plan.requested();
    format!("{} {} on {}", settings.scenario.name(), settings.mode.name(), finished.setup.dataset_name)
}

fn samples(finished: &Finished) -> String {
    let counts = finished.outcome.counts();
    let share = finished.nodes.reports.iter().map(|report| format!("{} {}", report.name, report.counts.samples_sent));
    let share = share.collect::<Vec<_>>().join(", ");
    format!("{} issued, {} answered, {} failed ({share})", counts.issued, counts.completed, counts.failed + counts.lost)
}
