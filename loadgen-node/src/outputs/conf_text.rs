//! What the command `conf` prints for people: the tables of its document, one after the other.

use std::fmt::Write as _;

use serde_json::Value;

use super::documents::conf::{ConfDocument, PredictedDocument};
use super::documents::division::RuleDocument;
use loadgen::judge::early_stopping::percent;
use loadgen::settings::IntegerRule;

/// All tables of the document as text for people.
pub(crate) fn text(document: &ConfDocument) -> String {
    let ConfDocument { benchmark, scenario, mode, rules, qsl, .. } = document;
    let total = qsl.total;
    let mut text = format!("{benchmark} {scenario} {mode}, rules of round {rules}, library of {total} samples\n");
    if document.integers != IntegerRule::default() {
        let _ = writeln!(text, "integers are drawn by {}", document.integers.name());
    }
    if let Some(inputs) = &document.inputs {
        let texts = if document.takes_texts { "; or a text, u8[?], for the first" } else { "" };
        let _ = writeln!(text, "a sample has {inputs} (without N){texts}");
    }
    heading(&mut text, "Settings, as requested");
    for (name, setting) in &document.settings {
        let _ = writeln!(text, "  {name:<42} {:<22} {}", plain(&setting.value), setting.origin);
    }
    if let Some(effective) = &document.effective
        && let Ok(Value::Object(fields)) = serde_json::to_value(effective)
    {
        heading(&mut text, "In force, as worked out from these");
        for (name, value) in fields {
            let value = match value.as_f64() {
                // As it is typed and shown everywhere else.
                Some(fraction) if name == "target_latency_percentile" => percent(fraction).to_string(),
                _ => plain(&value),
            };
            let _ = writeln!(text, "  {name:<42} {value}");
        }
    }
    if let Some(lines) = prediction(&document.predicted, document.samples_known) {
        heading(&mut text, "A run takes about");
        for (name, value) in lines {
            let _ = writeln!(text, "  {name:<42} {value}");
        }
    }
    query_counts(&mut text, document);
    if !document.division.rules.is_empty() {
        division_rules(&mut text, &document.division.rules);
    }
    if !document.warnings.is_empty() {
        heading(&mut text, "Warnings");
        for warning in &document.warnings {
            let _ = writeln!(text, "  - {warning}");
        }
    }
    text
}

fn heading(text: &mut String, title: &str) {
    let _ = writeln!(text, "\n{title}");
}

/// Name and value of each line; none where nothing could be predicted.
fn prediction(predicted: &PredictedDocument, samples_known: bool) -> Option<[(&'static str, String); 6]> {
    let known = |bytes: u64| format!("{bytes} bytes{}", if samples_known { "" } else { ", without those of samples" });
    let (log_bytes, answers) = (predicted.log_bytes?, predicted.logged_answers?);
    Some([
        ("queries", predicted.queries?.to_string()),
        ("samples", predicted.samples?.to_string()),
        ("duration", format!("{:.1} s", predicted.duration_s?)),
        ("memory", known(predicted.memory_bytes?)),
        ("bytes of messages to the SUT", known(predicted.wire_bytes?)),
        ("log files", format!("{log_bytes} bytes, and two for each byte of {answers} answers")),
    ])
}

fn query_counts(text: &mut String, document: &ConfDocument) {
    heading(text, "Queries needed");
    let _ = writeln!(
        text,
        "  {:<12} {:<12} {:<26} {:<12}",
        "percentile", "counted", "rounded up to n * 2^13", "early stopping"
    );
    for count in &document.query_counts {
        let percent = percent(count.percentile);
        let _ = writeln!(
            text,
            "  {percent:<12} {:<12} {:<26} {:<12}",
            count.queries, count.rounded, count.early_stopping_minimum
        );
    }
}

fn division_rules(text: &mut String, rules: &[RuleDocument]) {
    heading(text, "Rules of the Network division (sections of rules v5)");
    for RuleDocument { id, section, asks, verdict, why, .. } in rules {
        let _ = writeln!(text, "  {section:<11} {id:<20} {verdict:<9} {asks}");
        if let Some(why) = why {
            let _ = writeln!(text, "  {:<43} {why}", "");
        }
    }
}

/// A JSON value without the quotes of a text.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
