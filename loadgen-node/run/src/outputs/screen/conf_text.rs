//! Text that the command `conf` prints for people: the tables of its document, one after the other.

use std::fmt::Write as _;

use lon_proto::figures::{bytes, length_ns};
use serde_json::{Map, Value};

use crate::outputs::documents::conf::{ConfDocument, PredictedDocument, QueryCountDocument, SettingDocument};
use crate::outputs::documents::division::RuleDocument;
use crate::outputs::tables::table::Table;
use loadgen::settings::{IntegerRule, Scenario};

/// The column of the counts that follow from the confidence interval alone.
const FORMULA: &str = "by the confidence formula";
/// The column of the fewest queries with which early stopping can judge.
const EARLY_STOPPING: &str = "least for early stopping";

/// All tables of the document as text for people.
pub fn text(document: &ConfDocument) -> String {
    let ConfDocument { benchmark, scenario, mode, rules, qsl, .. } = document;
    let total = qsl.total;
    let round = match document.seeds_only {
        false => format!("rules of round {rules}"),
        true => format!("seeds of round {rules} (--rules {rules} also takes its other settings, such as min_duration)"),
    };
    let mut text = format!("{benchmark} {scenario} {mode}, {round}, QSL of {total} samples\n");
    if document.integers != IntegerRule::default() {
        let _ = writeln!(text, "integers are drawn by {}", document.integers.name());
    }
    if let Some(inputs) = &document.inputs {
        let texts = if document.takes_texts { "; or a text, u8[?], for the first" } else { "" };
        let _ = writeln!(text, "a sample has {inputs} (without N){texts}");
    }
    heading(&mut text, "Requested settings");
    for (name, setting) in document.settings.iter().filter(|(name, _)| !is_of_another(name, scenario)) {
        let _ = writeln!(text, "  {name:<42} {:<22} {}", requested(name, setting), setting.origin);
    }
    if document.effective.is_some() {
        let auto = document.settings.iter().find(|(_, setting)| setting.auto);
        let stand_in = auto.map(|(name, setting)| format!(", with {} in place of {name}=auto", plain(&setting.value)));
        heading(&mut text, &format!("Effective settings{}", stand_in.unwrap_or_default()));
        for (name, value) in in_force(document) {
            let _ = writeln!(text, "  {name:<42} {}", with_unit(&name, &value));
        }
    }
    if let Some(lines) = prediction(&document.predicted, document.samples_known) {
        heading(&mut text, "A run takes about");
        for (name, value) in lines {
            let _ = writeln!(text, "  {name:<42} {value}");
        }
    }
    if let Some(arrivals) = &document.arrivals {
        heading(&mut text, "Arrivals");
        let _ = writeln!(text, "  {}", arrivals.text());
    }
    query_counts(&mut text, document);
    if !document.division.rules.is_empty() {
        text.push('\n');
        text.push_str(&rules_text(&document.division.rules));
    }
    if !document.warnings.is_empty() {
        heading(&mut text, "Warnings");
        for warning in &document.warnings {
            let _ = writeln!(text, "  - {warning}");
        }
    }
    text
}

/// All tables of the document in one: which table a row is of, what it is about, its value, and where that is from or
/// why it is so.
pub fn table(document: &ConfDocument) -> Table {
    let mut table = Table::new(["table", "name", "value", "origin"]);
    for (name, setting) in &document.settings {
        let value = if setting.auto { "auto".to_owned() } else { plain(&setting.value) };
        table.row(["settings", name, &value, &setting.origin]);
    }
    in_force(document).for_each(|(name, value)| table.row(["in force", &name, &plain(&value), ""]));
    for (name, value) in prediction(&document.predicted, document.samples_known).into_iter().flatten() {
        table.row(["predicted", name, &value, ""]);
    }
    for count in &document.query_counts {
        let percentile = format!("p{}", count.percentile);
        table.row(["queries needed", &percentile, &count.queries.to_string(), FORMULA]);
        table.row(["queries needed", &percentile, &count.rounded.to_string(), "rounded up to n * 2^13"]);
        table.row(["queries needed", &percentile, &least(count), EARLY_STOPPING]);
    }
    for RuleDocument { id, verdict, why, .. } in &document.division.rules {
        table.row(["rules", id, verdict, why.as_deref().unwrap_or_default()]);
    }
    document.warnings.iter().for_each(|warning| table.row(["warnings", "", warning, ""]));
    table
}

/// Returns true for a setting that only another scenario has: its name begins with that scenario's, `single_stream_`.
fn is_of_another(name: &str, scenario: &str) -> bool {
    let begin = |scenario: &str| {
        let is_start = |at: usize, letter: char| at > 0 && letter.is_ascii_uppercase();
        let letters = scenario.char_indices().flat_map(|(at, letter)| {
            [is_start(at, letter).then_some('_'), Some(letter.to_ascii_lowercase())].into_iter().flatten()
        });
        letters.chain(['_']).collect::<String>()
    };
    let others = Scenario::OFFICIAL.map(Scenario::name).into_iter().filter(|other| *other != scenario);
    others.map(begin).any(|begin| name.starts_with(&begin))
}

/// The value of a setting, with the unit that fits.
fn requested(name: &str, setting: &SettingDocument) -> String {
    if setting.auto { "auto".to_owned() } else { with_unit(name, &setting.value) }
}

/// Returns the effective settings: name and value.
fn in_force(document: &ConfDocument) -> impl Iterator<Item = (String, Value)> {
    let effective = document.effective.as_ref().and_then(|effective| serde_json::to_value(effective).ok());
    let fields = match effective {
        Some(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    fields.into_iter()
}

fn heading(text: &mut String, title: &str) {
    let _ = writeln!(text, "\n{title}");
}

/// Name and value of each line; none where nothing could be predicted.
fn prediction(predicted: &PredictedDocument, samples_known: bool) -> Option<[(&'static str, String); 6]> {
    let size_text =
        |count: u64| format!("{}{}", bytes(count), if samples_known { "" } else { ", without the samples" });
    let (log_bytes, answers) = (bytes(predicted.log_bytes?), predicted.logged_answers?);
    Some([
        ("queries", predicted.queries?.to_string()),
        ("samples", predicted.samples?.to_string()),
        ("duration", format!("{:.1} s", predicted.duration_s?)),
        ("memory", size_text(predicted.memory_bytes?)),
        ("bytes of messages to the SUT", size_text(predicted.wire_bytes?)),
        ("log files", logs(&log_bytes, answers)),
    ])
}

/// The size of the log files. An answer that is logged takes two digits for each of its bytes.
fn logs(log_bytes: &str, answers: u64) -> String {
    match answers {
        0 => log_bytes.to_owned(),
        _ => format!("{log_bytes}, plus 2 bytes for each byte of {answers} logged answers"),
    }
}

fn query_counts(text: &mut String, document: &ConfDocument) {
    heading(text, "Queries needed");
    let _ = writeln!(
        text,
        "  {:<12} {:<26} {:<26} {:<12}",
        "percentile", FORMULA, "rounded up to n * 2^13", EARLY_STOPPING
    );
    for count in &document.query_counts {
        let _ = writeln!(
            text,
            "  {:<12} {:<26} {:<26} {:<12}",
            count.percentile,
            count.queries,
            count.rounded,
            least(count)
        );
    }
}

/// The fewest queries for early stopping; a scenario without early stopping says so.
fn least(count: &QueryCountDocument) -> String {
    match count.early_stopping_minimum {
        0 => "none".to_owned(),
        least => least.to_string(),
    }
}

/// The rules of the Network division, each with its verdict and the reason.
pub fn rules_text(rules: &[RuleDocument]) -> String {
    let mut text = "Rules of the Network division (sections of the rules document, version 5)\n".to_owned();
    for RuleDocument { id, section, asks, verdict, why, .. } in rules {
        let _ = writeln!(text, "  {section:<11} {id:<20} {verdict:<11} {asks}");
        if let Some(why) = why {
            let _ = writeln!(text, "  {:<45} {why}", "");
        }
    }
    text
}

/// The value; a time, whose name ends in its unit, with the unit that fits beside it.
fn with_unit(name: &str, value: &Value) -> String {
    let text = plain(value);
    let unit_ns = match name.rsplit_once('_') {
        // LoadGen's names of these two have no unit.
        _ if ["server_ttft_latency", "server_tpot_latency"].contains(&name) => 1.0,
        Some((_, "ns")) => 1.0,
        Some((_, "ms")) => 1e6,
        _ => return text,
    };
    let ns = value.as_f64().map(|number| number * unit_ns).filter(|ns| (1.0..1e18).contains(ns));
    ns.map_or_else(|| text.clone(), |ns| format!("{text} ({})", length_ns(ns as u64)))
}

/// A JSON value without the quotes of a text.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_scenario_without_early_stopping_says_so() {
        let count = |early_stopping_minimum| QueryCountDocument {
            percentile: 99.0,
            margin: 0.05,
            confidence: 99.0,
            queries: 262_742,
            rounded: 270_336,
            early_stopping_minimum,
        };
        assert_eq!([count(459), count(0)].map(|count| least(&count)), ["459", "none"]);
    }

    #[test]
    fn times_have_the_unit_that_fits_beside_them() {
        for (name, value, text) in [
            ("server_target_latency_ns", json!(15_000_000), "15000000 (15.0ms)"),
            ("min_duration_ms", json!(600_000), "600000 (600.0s)"),
            ("single_stream_expected_latency_ns", json!(1e6), "1000000.0 (1.0ms)"),
            ("max_duration_ms", json!(0), "0"),
            ("min_query_count", json!(100), "100"),
            ("mode", json!("PerformanceOnly"), "PerformanceOnly"),
        ] {
            assert_eq!(with_unit(name, &value), text, "{name}");
        }
    }
}
