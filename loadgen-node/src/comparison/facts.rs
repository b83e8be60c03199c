//! Facts that are not the same on all sides, and reasons why sides cannot be compared.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde::Serialize;
use serde_json::Value;

use super::side::Side;
use lon_run::outputs::documents::comparison::DifferentDocument;
use lon_run::outputs::documents::result_summary::Validity;
use lon_run::outputs::report::Source;

/// Facts without which two runs did not do the same work.
const SAME_WORK: [&str; 4] = ["benchmark", "scenario", "dataset", "sums of the dataset"];

/// Keys whose values are made anew for each run, so that folders that are shared do not say which machine it was.
const MADE_ANEW: [&str; 2] = ["machine_id", "boot_id"];

/// Settings that are facts of their own.
const TWICE: [&str; 2] = ["settings, mode", "settings, scenario"];

/// Fact that has the limits of `--within`.
const LIMITS: &str = "limits of --within";

/// A fact of a run: what it is, and what the run has.
type Fact = (String, String);

/// Returns the facts that are not the same on all sides. Repeats of a side that differ are shown with all that they
/// have.
pub(super) fn different(sides: &[Side]) -> Vec<DifferentDocument> {
    // Each of a thousand nodes has dozens of facts, so they are looked up by their names.
    let (mut names, mut name_set) = (Vec::<String>::new(), HashSet::new());
    let mut of_sides: Vec<HashMap<String, BTreeSet<String>>> = Vec::new();
    for side in sides {
        let mut facts: HashMap<String, BTreeSet<String>> = HashMap::new();
        for (name, value) in side.sources().flat_map(of_run) {
            if name_set.insert(name.clone()) {
                names.push(name.clone());
            }
            facts.entry(name).or_default().insert(value);
        }
        of_sides.push(facts);
    }
    let value = |own: &BTreeSet<String>| own.iter().map(String::as_str).collect::<Vec<_>>().join(" or ");
    let document = |name: &String| {
        let values: Vec<Option<String>> = of_sides.iter().map(|facts| facts.get(name).map(value)).collect();
        let is_same = values.windows(2).all(|pair| pair[0] == pair[1]);
        let is_one = values.iter().flatten().all(|value| !value.contains(" or "));
        (!is_same || !is_one).then(|| DifferentDocument { what: name.clone(), values })
    };
    names.iter().filter_map(document).collect()
}

/// Why the sides cannot be compared.
pub(super) fn not_comparable(sides: &[Side], different: &[DifferentDocument]) -> Vec<String> {
    let other_work = different.iter().filter(|fact| SAME_WORK.contains(&fact.what.as_str()));
    let mut why: Vec<String> = other_work.map(|fact| format!("{} is not the same", fact.what)).collect();
    for (folder, source) in sides.iter().flat_map(|side| &side.runs) {
        if source.result.metric.is_none() {
            why.push(format!("{} has measured nothing", folder.display()));
        }
    }
    why
}

/// The setting of the load, where the sides asked for different loads, with the load of each side.
pub(super) fn other_load(sides: &[Side]) -> Option<(&'static str, Vec<f64>)> {
    let offered: Option<Vec<(&'static str, f64)>> = sides.iter().map(Side::offered).collect();
    let offered = offered?;
    let (name, first) = *offered.first()?;
    let is_comparable = first > 0.0 && offered.iter().all(|(other, _)| *other == name);
    let is_other = offered.iter().any(|(_, load)| *load != first);
    (is_comparable && is_other).then(|| (name, offered.iter().map(|(_, load)| *load).collect()))
}

/// A note where runs have other limits of `--within`, so that what is counted by them is not compared.
pub(super) fn other_limits(different: &[DifferentDocument]) -> Option<String> {
    let note = "within_share and within_rate are left out: the limits of --within are not the same".to_owned();
    let limits = different.iter().filter(|fact| fact.what == LIMITS).flat_map(|fact| fact.values.iter().flatten());
    let limits: BTreeSet<&String> = limits.collect();
    (limits.len() > 1 || limits.iter().any(|text| text.contains(" or "))).then_some(note)
}

/// Returns true when two sides sent the same bytes for a sample, but for chance: over one transport, by one codec.
pub(super) fn is_framed_alike(one: &Side, other: &Side) -> bool {
    let framing = |side: &Side| -> BTreeSet<[String; 3]> {
        let networks = side.sources().map(|run| &run.result.network);
        networks.map(|net| [&net.transport, &net.codec, &net.response_codec].map(String::clone)).collect()
    };
    framing(one) == framing(other)
}

/// Returns the limits of the comparison, in words.
pub(super) fn notes(sides: &[Side]) -> Vec<String> {
    let runs = || sides.iter().flat_map(|side| side.runs.iter().map(move |run| (side.name, run)));
    let invalid = runs().filter(|(_, (_, source))| source.result.result == Validity::Invalid);
    let invalid = invalid.map(|(name, (folder, source))| {
        let reason = source.result.reasons.first().map_or("without a reason", String::as_str);
        format!("{name} is INVALID ({}): {reason}", folder.display())
    });
    let unanswered = runs().filter_map(|(name, (folder, source))| {
        let count = source.result.counts.unanswered();
        let note = || {
            format!(
                "{name} has {count} samples without an answer ({}): it has no percentiles that fall on them, no mean \
                 and no largest latency, and what is noise is not known",
                folder.display()
            )
        };
        (count > 0).then(note)
    });
    let lacks =
        runs().flat_map(|(name, (_, source))| source.missing.iter().map(move |why| format!("{name} lacks {why}")));
    let load = other_load(sides).map(|(name, loads)| {
        let loads = sides.iter().zip(&loads).map(|(side, load)| format!("{} {load}", side.name));
        format!("{name} differs ({}): rate and latencies follow from it", loads.collect::<Vec<_>>().join(", "))
    });
    load.into_iter().chain(invalid).chain(unanswered).chain(lacks).collect()
}

/// Returns the known facts of how a run was made. Facts that follow from the clock are left out.
fn of_run(source: &Source) -> Vec<Fact> {
    let result = &source.result;
    let mut facts: Vec<Fact> = Vec::new();
    let mut add = |name: &str, value: Option<String>| facts.extend(value.map(|value| (name.to_owned(), value)));
    add("benchmark", Some(result.benchmark.clone()));
    add("scenario", Some(result.scenario.clone()));
    add("dataset", Some(result.dataset.clone()));
    add("sums of the dataset", result.dataset_sums_sha256.clone());
    add("mode", Some(result.mode.clone()));
    add("rules", Some(result.rules.clone()));
    add("preprocess", result.preprocess.clone());
    add(LIMITS, result.within.map(|within| within.limits().to_string()));
    let network = &result.network;
    add("codec", Some(network.codec.clone()));
    add("codec of answers", Some(network.response_codec.clone()));
    add("transport", Some(network.transport.clone()));
    add("TLS", Some(network.tls.to_string()));
    add("connections", Some(network.connections.to_string()));
    add("SUT nodes", Some(network.nodes.len().to_string()));
    add("version", Some(result.loadgen_version.clone()));
    add("revision", result.made.revision.clone());
    add("I/O threads", result.saturation.as_ref().map(|saturation| saturation.io_threads.to_string()));
    add("spin", result.saturation.as_ref().map(|saturation| saturation.spin_ns.to_string()));
    let priority = result.saturation.as_ref().map(|saturation| saturation.priority.clone());
    add("priority", priority.filter(|priority| !priority.is_empty()));
    flattened("settings", &result.settings, &mut facts);
    facts.retain(|(name, _)| !TWICE.contains(&name.as_str()));
    if let Some(system) = &source.system {
        flattened("LoadGen node", &system.loadgen.host, &mut facts);
    }
    for (position, node) in result.sut.iter().enumerate() {
        flattened(&format!("SUT node {}", position + 1), node, &mut facts);
    }
    facts
}

/// Every value of a document, by its way through it.
fn flattened(name: &str, document: &impl Serialize, facts: &mut Vec<Fact>) {
    if let Ok(value) = serde_json::to_value(document) {
        flat(name, &value, facts);
    }
}

fn flat(name: &str, value: &Value, facts: &mut Vec<Fact>) {
    match value {
        Value::Null => {}
        Value::Object(keys) => {
            let entries = keys.iter().filter(|(key, _)| !MADE_ANEW.contains(&key.as_str()));
            entries.for_each(|(key, value)| flat(&format!("{name}, {key}"), value, facts));
        }
        Value::Array(values) => {
            values.iter().zip(1..).for_each(|(value, number)| flat(&format!("{name} {number}"), value, facts));
        }
        Value::String(text) => facts.push((name.to_owned(), text.clone())),
        other => facts.push((name.to_owned(), other.to_string())),
    }
}
