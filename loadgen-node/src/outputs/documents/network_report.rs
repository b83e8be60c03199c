//! `network_report.json`. Pure: what happened goes in, JSON comes out.
//!
//! Ingress is towards the SUT. Layers: `tensor` (samples and answers themselves), `encoded` (after the codec), `message`
//! (serialized Dispatch messages, without prefix), `socket` (what was handed to the kernel or taken from it, below TLS;
//! over QUIC the payload of UDP). The last two are counted at both ends.

use qdl::{NodeReport, Payload, SutCounts};
use serde_json::{Value, json};

use crate::network::nics::NicUse;
use crate::network::traffic::{self, Bytes};
use crate::test_run::finished::Finished;

/// The whole file.
pub(crate) fn json(finished: &Finished) -> Value {
    let (link, network) = (&finished.setup.link, &finished.network);
    let reports = &finished.nodes.reports;
    let nodes = finished.nodes.described.iter().zip(reports).map(|(node, report)| {
        let mut json = json!({
            "name": node.name,
            "address": node.address.to_string(),
            "samples": report.counts.samples_sent,
        });
        if let (Value::Object(json), Value::Object(layers)) = (&mut json, layers(std::slice::from_ref(report))) {
            json.extend(layers);
        }
        json["retransmits"] = retransmits(report);
        json["nic"] = report.sut.as_ref().ok().and_then(node_nic).map_or(Value::Null, |nic| nic.json());
        json["other_bytes"] = json!({ "egress": report.counts.other_bytes_in });
        json
    });
    json!({
        "schema": 1,
        "transport": link.transport.name(),
        // Nodes were verified by their certificates, and nobody could read along.
        "tls": link.has_tls,
        "connections": link.connections,
        "codec": finished.setup.codecs.samples.to_string(),
        "response_codec": finished.setup.codecs.answers.to_string(),
        "ratio": ratio(reports, |counts| (counts.tensor_bytes_out, counts.payload_bytes_out)),
        "response_ratio": ratio(reports, |counts| (counts.tensor_bytes_in, counts.payload_bytes_in)),
        "sut_counters": reports.iter().find_map(|report| report.sut.as_ref().err()),
        "name_round_trips": name_round_trips(finished),
        "nodes": nodes.collect::<Vec<_>>(),
        "total": layers(reports),
        "differences": network.differences,
        "nics": network.nics.iter().map(NicUse::json).collect::<Vec<_>>(),
        // No part of the run's own bytes, as are those of a probe (see there). Warm-up happens inside the SUT nodes.
        "control_bytes": { "ingress": network.control.ingress, "egress": network.control.egress },
        "probe": network.fabric.as_ref().map(crate::network::fabric::Fabric::json),
        "per_second": traffic::per_second(&network.looks),
        "latency_split_ns": split(finished),
        "bandwidth_gbit_s": network.bandwidth.json(),
    })
}

/// Where the latency went.
pub(crate) fn split(finished: &Finished) -> Value {
    let split = finished.nodes.tally.split();
    Value::Object(
        split.map(|(name, [p50, p90, p99])| (name.to_owned(), json!({ "p50": p50, "p90": p90, "p99": p99 }))).collect(),
    )
}

/// Every round trip for a name, before the run and after it.
pub(crate) fn name_round_trips(finished: &Finished) -> Value {
    let trips = [&finished.nodes.first_name, &finished.nodes.last_name]
        .into_iter()
        .flat_map(|name| &name.trips)
        .zip(finished.nodes.described.iter().cycle());
    let trip = |(trip, node): (&qdl::NameTrip, &qdl::NodeDescription)| {
        let rtt_ns = trip.rtt.as_nanos() as u64;
        // Servers of other protocols have no nonce to return.
        let nonce_ok = finished.setup.link.transport.peer_kind().has_nonce.then(|| trip.nonce_ok());
        json!({ "node": node.name, "rtt_ns": rtt_ns, "nonce_ok": nonce_ok })
    };
    trips.map(trip).collect()
}

/// Bytes by layer and direction, of these nodes together; null where an end could not be asked.
fn layers(reports: &[NodeReport]) -> Value {
    let ours = |of: fn(&NodeReport) -> u64| reports.iter().map(of).sum::<u64>();
    let theirs = |of: fn(&qdl::SutCounts) -> u64| -> Option<u64> {
        reports.iter().map(|report| report.sut.as_ref().ok().map(of)).sum()
    };
    json!({
        "tensor_bytes": { "ingress": ours(|r| r.counts.tensor_bytes_out), "egress": ours(|r| r.counts.tensor_bytes_in) },
        "encoded_bytes": {
            "ingress": ours(|r| r.counts.payload_bytes_out),
            "egress": ours(|r| r.counts.payload_bytes_in),
        },
        "message_bytes": {
            "ingress": { "loadgen": ours(|r| r.counts.message_bytes_out), "sut": theirs(|sut| sut.message_bytes_in) },
            "egress": { "loadgen": ours(|r| r.counts.message_bytes_in), "sut": theirs(|sut| sut.message_bytes_out) },
        },
        "socket_bytes": {
            "ingress": { "loadgen": ours(|r| r.traffic.socket_bytes_out), "sut": theirs(|sut| sut.socket_bytes_in) },
            "egress": { "loadgen": ours(|r| r.traffic.socket_bytes_in), "sut": theirs(|sut| sut.socket_bytes_out) },
        },
    })
}

fn retransmits(report: &NodeReport) -> Value {
    let sut = report.sut.as_ref().ok().and_then(|sut| sut.retransmits);
    json!({ "loadgen": report.traffic.retransmits, "sut": sut })
}

fn node_nic(sut: &SutCounts) -> Option<NicUse> {
    let sockets = Bytes { ingress: sut.socket_bytes_in, egress: sut.socket_bytes_out };
    sut.nic.as_ref().map(|nic| NicUse::of_node(nic, sockets))
}

/// Bytes before the codec over bytes after it; none when nothing was sent, or when what was encoded was not the sample
/// alone: calls of KServe's protocol have the request around it.
pub(crate) fn ratio(reports: &[NodeReport], of: fn(&qdl::NodeCounts) -> (u64, u64)) -> Option<f64> {
    if reports.iter().any(|report| report.peer_kind.payload != Payload::Sample) {
        return None;
    }
    let sum = |(a, b): (u64, u64), (c, d): (u64, u64)| (a + c, b + d);
    let (raw, encoded) = reports.iter().map(|report| of(&report.counts)).fold((0, 0), sum);
    (encoded > 0).then(|| raw as f64 / encoded as f64)
}
