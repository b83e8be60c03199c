//! Tables of a run: where the time went, the nodes, the network, the rules, settings and systems.

use std::collections::BTreeSet;

use lon_machine::host::Host;
use lon_proto::figures::{bit_rate, bytes, length_ns};
use lon_proto::node_name::short_sut_name;
use maud::{Markup, html};

use super::source::Source;
use crate::network::by_direction::ByDirection;
use crate::outputs::documents::network_report::{NetworkReport, NodeTrafficDocument};
use crate::outputs::documents::parts::{BandwidthDocument, LatencySplit, LatencySpread, LinkDocument, Percentiles};
use crate::outputs::documents::result_summary::TokensDocument;
use crate::outputs::screen::labels::labels_text;
use crate::outputs::screen::latencies::latency_text;

/// Nodes that are shown one by one; the documents have all.
const NODES: usize = 16;

/// Of more nodes, as many of the slowest.
const SLOWEST: usize = 8;

/// The columns of the table of latencies.
const LATENCIES: [&str; 10] = ["what", "min", "mean", "p50", "p90", "p95", "p97", "p99", "p99.9", "max"];

/// A table with a heading in each row.
pub(super) fn table(id: &str, title: &str, head: &[&str], rows: &[(String, Vec<Markup>)]) -> Markup {
    html! {
        section id=(id) {
            h2 { (title) }
            div class="scroll" role="region" tabindex="0" aria-label=(title) { table {
                thead { tr { @for name in head { th { (name) } } } }
                tbody { @for (name, cells) in rows { tr { th { (name) } @for cell in cells { td { (cell) } } } } }
            } }
        }
    }
}

fn ns(value: u64) -> Markup {
    html! { (length_ns(value)) }
}

fn text(value: impl std::fmt::Display) -> Markup {
    html! { (value.to_string()) }
}

/// The part of the latency at the median that is the largest.
pub(super) fn largest_part(split: &LatencySplit) -> Option<(&'static str, u64, f64)> {
    let whole = split.latency.p50;
    let (name, part) = split.parts(false).into_iter().max_by_key(|(_, part)| part.p50)?;
    (whole > 0).then(|| (name, part.p50, part.p50 as f64 / whole as f64))
}

/// Where the time of a sample went. Parts that take none are left out.
pub(super) fn split(source: &Source) -> Markup {
    let Some(network) = &source.network else { return html! {} };
    let of = &network.latency_split_ns;
    let all = of.parts(source.is_pulled());
    let longest = all.iter().map(|(_, part)| part.p50).max().unwrap_or_default();
    let bar = |value: u64| {
        let width = 100.0 * value as f64 / longest as f64;
        html! { span class="bar" style=(format!("width:{width:.1}%")) {} }
    };
    if longest == 0 {
        return html! { p { "The parts of the latency are not known: no sample was answered." } };
    }
    let cells = |of: Percentiles, bar| vec![ns(of.p50), ns(of.p90), ns(of.p99), bar];
    let rows = all.into_iter().filter(|(_, part)| part.p99 > 0 || part.p50 > 0);
    let rows = rows.map(|(name, part)| (name.to_owned(), cells(part, bar(part.p50))));
    // Results of earlier versions have no sum.
    let sum = (of.latency.p50 > 0).then(|| ("latency".to_owned(), cells(of.latency, html! {})));
    let rows: Vec<_> = rows.chain(sum).collect();
    table("split", "Latency by part", &["part of the latency", "at p50", "at p90", "at p99", "p50 as a bar"], &rows)
}

/// All nodes; of many the first, the slowest, and the one with the fewest samples, in the order of the run.
fn row_nodes(nodes: &[NodeTrafficDocument]) -> Vec<&NodeTrafficDocument> {
    if nodes.len() <= NODES {
        return nodes.iter().collect();
    }
    // One that has answered nothing is slower than all others.
    let p99 = |node: &NodeTrafficDocument| node.round_trip_ns.map_or(u64::MAX, |trip| trip.p99);
    let mut by_p99: Vec<usize> = (0..nodes.len()).collect();
    by_p99.sort_by_key(|&at| std::cmp::Reverse(p99(&nodes[at])));
    let fewest = (0..nodes.len()).min_by_key(|&at| nodes[at].samples);
    let all = by_p99.into_iter().take(SLOWEST).chain([0]).chain(fewest);
    all.collect::<BTreeSet<usize>>().into_iter().map(|at| &nodes[at]).collect()
}

/// Where the time went at each node, at the median.
pub(super) fn split_by_node(source: &Source) -> Markup {
    let Some(network) = source.network.as_ref().filter(|network| network.nodes.len() > 1) else { return html! {} };
    let all = network.latency_split_ns.parts(source.is_pulled());
    let used: Vec<usize> = (0..all.len()).filter(|part| all[*part].1.p99 > 0).collect();
    let head: Vec<&str> = std::iter::once("node").chain(used.iter().map(|part| all[*part].0)).collect();
    let row = |node: &NodeTrafficDocument| {
        let own = node.latency_split_ns?.parts(false);
        let cell = |part: &usize| html! { (ns(own[*part].1.p50)) ", p99 " (ns(own[*part].1.p99)) };
        Some((node.name.clone(), used.iter().map(cell).collect()))
    };
    let rows: Vec<(String, Vec<Markup>)> = row_nodes(&network.nodes).into_iter().filter_map(row).collect();
    html! {
        details {
            summary { "Latency by part, node by node" }
            (table("split-by-node", "Each part of the latency, in the samples around its p50 and p99", &head, &rows))
        }
    }
}

/// Each node: its share, and what was slow there.
pub(super) fn nodes(source: &Source) -> Markup {
    let Some(network) = &source.network else { return html! {} };
    let sum: u64 = network.nodes.iter().map(|node| node.samples).sum();
    let row = |node: &NodeTrafficDocument| {
        // Of a node that has answered nothing.
        let duration_cell = |value: Option<u64>| value.map_or_else(|| text("none"), ns);
        let (trip, split) = (node.round_trip_ns, node.latency_split_ns);
        let share = 100.0 * node.samples as f64 / sum.max(1) as f64;
        let sockets = node.layers.socket_bytes;
        let again = node.retransmits.loadgen.map_or_else(|| "not known".to_owned(), |count| count.to_string());
        let cells = vec![
            text(&node.address),
            text(format!("{} ({share:.1} %)", node.samples)),
            duration_cell(trip.map(|trip| trip.p50)),
            duration_cell(trip.map(|trip| trip.p99)),
            duration_cell(split.map(|split| split.inference.p50)),
            text(bytes(sockets.ingress.loadgen)),
            text(bytes(sockets.egress.loadgen)),
            text(again),
        ];
        (node.name.clone(), cells)
    };
    let head =
        ["node", "address", "samples", "round trip p50", "p99", "inference p50", "sent", "received", "retransmits"];
    let count = network.nodes.len();
    let mut rows: Vec<(String, Vec<Markup>)> = row_nodes(&network.nodes).into_iter().map(row).collect();
    if count > NODES {
        rows.push(all_nodes(network, sum));
    }
    html! {
        (table("nodes", "SUT nodes", &head, &rows))
        @if count > NODES {
            p {
                "Of " (count) " nodes the first, the " (SLOWEST) " slowest by the p99 of their round trips and the one "
                "with the fewest samples. network_report.json has all."
            }
        }
    }
}

/// The row of all nodes together.
fn all_nodes(network: &NetworkReport, samples: u64) -> (String, Vec<Markup>) {
    let sockets = network.total.socket_bytes;
    let again: Option<u64> = network.nodes.iter().map(|node| node.retransmits.loadgen).sum();
    let cells = vec![
        text(""),
        text(samples),
        text(""),
        text(""),
        text(""),
        text(bytes(sockets.ingress.loadgen)),
        text(bytes(sockets.egress.loadgen)),
        text(again.map_or_else(|| "not known".to_owned(), |count| count.to_string())),
    ];
    (format!("all {}", network.nodes.len()), cells)
}

/// Returns the table of the bandwidth that the rules require and that the network gives.
pub(super) fn network(source: &Source) -> Markup {
    let Some(network) = &source.network else { return html! {} };
    let of = &network.bandwidth_gbit_s;
    let rate = |gbit_s: Option<f64>| gbit_s.map_or_else(|| "not known".to_owned(), |rate| bit_rate(rate * 1e9));
    let row = |name: &str, of: &ByDirection<Option<f64>>| {
        (name.to_owned(), vec![text(rate(of.ingress)), text(rate(of.egress))])
    };
    let size =
        |name: &str, of: ByDirection<u64>| (name.to_owned(), vec![text(bytes(of.ingress)), text(bytes(of.egress))]);
    let ours = ByDirection {
        ingress: network.total.socket_bytes.ingress.loadgen,
        egress: network.total.socket_bytes.egress.loadgen,
    };
    let rows = vec![
        row("carried (messages a second)", &of.carried),
        row("required by the rules", &of.required),
        row("probed before the run", &of.probed),
        row("claimed by the interfaces", &of.nic_claim),
        size("tensors (samples, answers)", network.total.tensor_bytes),
        size("encoded (after their codecs)", network.total.encoded_bytes),
        size("sockets", ours),
    ];
    html! {
        (table("network", "Network", &["what", "to the SUT", "back"], &rows))
        p {
            (network.transport) @if network.tls { " with TLS" } ", samples " (network.codec) ", answers "
            (network.response_codec) "; " (of.limit)
        }
        (links(of))
        p { (ends(network)) }
        @for difference in network.differences.iter().take(NODES) { p class="bad" { (difference) } }
        @if let Some(more) = network.differences.len().checked_sub(NODES).filter(|more| *more > 0) {
            p class="bad" { "And " (more) " more: network_report.json has them." }
        }
    }
}

/// Returns the table of the share of each link that was used. Of many links it has the fullest.
fn links(of: &BandwidthDocument) -> Markup {
    let most = |link: &LinkDocument| link.used.ingress.unwrap_or(0.0).max(link.used.egress.unwrap_or(0.0));
    let mut entries: Vec<&LinkDocument> = of.links.iter().filter(|link| most(link) > 0.0).collect();
    entries.sort_by(|a, b| most(b).total_cmp(&most(a)));
    let rows = entries.into_iter().take(NODES).map(|link| {
        let percent =
            |share: Option<f64>| share.map_or_else(|| "not known".to_owned(), |it| format!("{:.0} %", 100.0 * it));
        let name = link.node.clone().unwrap_or_else(|| "all together".to_owned());
        (name, vec![text(percent(link.used.ingress)), text(percent(link.used.egress))])
    });
    let rows: Vec<_> = rows.collect();
    html! { @if !rows.is_empty() { (table("links", "Links used", &["node", "to the SUT", "back"], &rows)) } }
}

/// Describes whether both ends counted the same bytes, as far as they were compared.
fn ends(network: &NetworkReport) -> String {
    let silent = network.nodes.iter().filter(|node| node.layers.message_bytes.ingress.sut.is_none()).count();
    match (&network.sut_counters, silent, network.differences.len()) {
        (Some(why), silent, 0) if silent >= network.nodes.len() => format!("No node's counters were compared: {why}."),
        (Some(why), silent, 0) => {
            format!("{silent} of {} nodes gave no counters ({why}); the others counted as we did.", network.nodes.len())
        }
        (_, _, 0) => "Both ends counted the same bytes, as far as they were compared.".to_owned(),
        (_, _, count) => format!("Both ends counted differently, in {count} counters:"),
    }
}

/// Latencies of the result, which are the official numbers.
pub(super) fn latencies(source: &Source) -> Markup {
    if source.by_another.is_some() {
        return html! {};
    }
    let row = |name: &str, of: LatencySpread| {
        let values = [of.min, of.mean, of.p50, of.p90, of.p95, of.p97, of.p99, of.p99_9, of.max];
        (name.to_owned(), values.map(|value| text(latency_text(value))).to_vec())
    };
    let mut rows: Vec<(String, Vec<Markup>)> = source.result.latency_ns.iter().map(|of| row("latency", *of)).collect();
    if let Some(TokensDocument { ttft_ns, tpot_ns, .. }) = &source.result.tokens {
        rows.extend(ttft_ns.map(|of| row("time to first token", of)));
        rows.extend(tpot_ns.map(|of| row("time per output token", of)));
    }
    html! {
        @if !rows.is_empty() {
            (table("latencies", "Latencies", &LATENCIES, &rows))
            @if source.result.counts.unanswered() > 0 {
                p {
                    "Samples without an answer count as the slowest ones, as LoadGen counts them."
                }
            }
        }
        p {
            @if let Some(lag) = source.result.schedule_lag_ns.filter(|lag| lag.max > 0) {
                @if source.is_pulled() { "Samples waited for their turn by " }
                @else { "Samples were sent late by " }
                 (ns(lag.p50)) " (p50), " (ns(lag.p99)) " (p99), " (ns(lag.max)) " at most."
            }
            @for stall in &source.result.stalls {
                " " (stall.end) " stood still for " (ns(stall.duration_ns)) ", " (ns(stall.start_ns))
                " after the start."
            }
        }
    }
}

/// The rules of the Network division.
pub(super) fn rules(source: &Source) -> Markup {
    let rules = &source.result.division.rules;
    if rules.is_empty() {
        return html! {};
    }
    let rows = rules.iter().map(|rule| {
        let class = match rule.verdict.as_str() {
            "kept" => "good",
            "broken" => "bad",
            _ => "open",
        };
        let why = rule.why.as_deref().unwrap_or_default();
        (rule.asks.clone(), vec![text(&rule.section), html! { span class=(class) { (rule.verdict) } }, text(why)])
    });
    let head = ["rule", "section", "found", "why"];
    html! {
        details {
            summary { "Rules of the Network division" }
            (table("rules", "Rules", &head, &rows.collect::<Vec<_>>()))
        }
    }
}

/// Returns the tables of how the run was made, and of its settings.
pub(super) fn origin(source: &Source) -> Markup {
    let result = &source.result;
    let provenance = &result.made;
    let settings = match &result.settings_v0_5 {
        Some(settings) => serde_json::to_value(settings).unwrap_or_default(),
        None => serde_json::to_value(&result.settings).unwrap_or_default(),
    };
    let settings = settings.as_object().into_iter().flatten();
    let settings = settings.map(|(key, value)| (key.clone(), vec![text(value)])).collect::<Vec<_>>();
    let row = |name: &str, value: &str| (name.to_owned(), vec![text(value)]);
    let command = provenance.command.join(" ");
    let mut rows = vec![
        row("benchmark", &result.benchmark),
        row("dataset", &result.dataset),
        row("scenario and mode", &format!("{} {}", result.scenario, result.mode)),
        row("round", &result.rules),
        row("SUT", &short_sut_name(&result.sut_name)),
        row("program", &result.loadgen_version),
        row("revision", provenance.revision.as_deref().unwrap_or("not known")),
        row("command", &command),
    ];
    let is_own = source.by_another.is_none();
    let lag = || format!("{} ({})", length_ns(provenance.max_lag_ns), provenance.max_lag_origin);
    rows.extend(is_own.then(|| row("largest lag allowed", &lag())));
    rows.extend(provenance.note.as_deref().map(|note| row("note", note)));
    rows.extend((!provenance.labels.is_empty()).then(|| row("labels", &labels_text(&provenance.labels))));
    html! {
        (table("made", "Origin of the run", &["what", "value"], &rows))
        @if is_own {
            details { summary { "Settings" } (table("settings", "Settings", &["key", "value"], &settings)) }
        }
    }
}

/// The machines at both ends.
pub(super) fn systems(source: &Source) -> Markup {
    let Some(system) = &source.system else { return html! {} };
    let row = |name: &str, host: &Host, software: &str| {
        let memory = format!("{} GiB", host.memory_bytes >> 30);
        let cells = [&host.hostname, &host.cpu, &host.cores.to_string(), &memory, &host.os, &host.kernel, software]
            .map(text)
            .to_vec();
        (name.to_owned(), cells)
    };
    let mut rows = vec![row("LoadGen node", &system.loadgen.host, &system.loadgen.software)];
    let count = system.sut.len();
    let nodes = system.sut.iter().take(if count > NODES { SLOWEST } else { NODES });
    rows.extend(nodes.map(|node| row(&node.name, &node.host, &format!("{}, {}", node.software, node.engine))));
    let head = ["name", "host", "processor", "cores", "memory", "system", "kernel", "software"];
    let more = count + 1 - rows.len();
    html! {
        (table("systems", "Systems", &head, &rows))
        @if more > 0 { p { "And " (more) " more: system_desc.json has them." } }
    }
}
