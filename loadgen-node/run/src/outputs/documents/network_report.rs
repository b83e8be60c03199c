//! `network_report.json`: what crossed the network in a run, counted at both ends.
//!
//! Layers: `tensor` (samples and answers themselves), `encoded` (after the codec), `message` (serialized Dispatch
//! messages, without prefix), `socket` (what was handed to the kernel or taken from it, below TLS; over QUIC the
//! payload of UDP). The last two are counted at both ends.

use std::collections::BTreeMap;

use qdl::{NodeCounts, NodeDescription, NodeReport, Payload, SutCounts};
use serde::{Deserialize, Serialize};

use super::parts::{
    BandwidthDocument, ByEnd, LatencySplit, NameRoundTrip, NicDocument, Percentiles, by_end, message_bytes,
    name_round_trips, to_thousandths,
};
use super::probe::FabricDocument;
use crate::network::by_direction::ByDirection;
use crate::network::nics::NicUse;
use crate::network::traffic::{Bytes, Look};
use crate::test_run::finished::Finished;
use lon_net::thread_time::ThreadTime;
use lon_world::tally::Split;

/// Name in the run folder.
pub const FILE: &str = "network_report.json";

/// The version of [`NetworkReport`].
const SCHEMA: u32 = 1;

/// The whole file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NetworkReport {
    /// Version of this form: 1.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: u32,
    /// Labels of the user (`--label`): each value by its key.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Transport of samples and answers: `grpc`, `tcp`, `quic` or `kserve`.
    pub transport: String,
    /// True when the nodes were verified by their certificates and the connections were encrypted.
    pub tls: bool,
    /// Connections to each node.
    pub connections: u64,
    /// The codec of samples; `none` without.
    pub codec: String,
    /// The codec of answers; `none` without.
    pub response_codec: String,
    /// Bytes of samples before the codec over bytes after it; null when none were sent, and where requests have more
    /// than the sample in them.
    pub ratio: Option<f64>,
    /// The same of answers.
    pub response_ratio: Option<f64>,
    /// Why the first node that gave no counters gave none; null: all nodes gave them.
    pub sut_counters: Option<String>,
    /// Every round trip for a name, before the run and after it, in the order of the nodes.
    pub name_round_trips: Vec<NameRoundTrip>,
    /// The nodes, in the order in which they were given.
    pub nodes: Vec<NodeTrafficDocument>,
    /// All nodes together.
    pub total: LayerBytes,
    /// Differences between the counts of the two ends, in words.
    pub differences: Vec<String>,
    /// The LoadGen node's interfaces that the run used; none on loopback.
    pub nics: Vec<NicDocument>,
    /// Bytes of the connections for control, which are no part of the run's. Warm-up happens inside the SUT nodes.
    pub control_bytes: ByDirection<u64>,
    /// Findings of a probe before the run; null without `--probe`.
    pub probe: Option<FabricDocument>,
    /// Bytes over time.
    pub per_second: PerSecond,
    /// Where the latency went.
    pub latency_split_ns: LatencySplit,
    /// Bandwidth that the rules require, and that the network gives.
    pub bandwidth_gbit_s: BandwidthDocument,
}

/// Traffic between the LoadGen node and one SUT node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NodeTrafficDocument {
    /// The node's name.
    pub name: String,
    /// Its address, `host:port`.
    pub address: String,
    /// Samples sent to it.
    pub samples: u64,
    /// Bytes by layer.
    #[serde(flatten)]
    pub layers: LayerBytes,
    /// TCP segments or QUIC packets that were sent again.
    pub retransmits: Retransmits,
    /// The node's interface; null on loopback and where the node did not tell.
    pub nic: Option<NicDocument>,
    /// Processor time of the node's threads during the run, and their wait for cores; null where the node did not
    /// report it.
    #[serde(default)]
    pub processor_time_s: Option<ProcessorTime>,
    /// Bytes of messages besides those of samples and answers.
    pub other_bytes: OtherBytes,
    /// From a sample's last byte sent to its answer whole, ns; null when the node answered nothing.
    #[serde(default)]
    pub round_trip_ns: Option<Percentiles>,
    /// Where the latency of the node's answers went; null when it answered nothing.
    #[serde(default)]
    pub latency_split_ns: Option<LatencySplit>,
}

/// Bytes by layer and direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LayerBytes {
    /// Samples and answers themselves.
    pub tensor_bytes: ByDirection<u64>,
    /// Samples and answers after their codecs.
    pub encoded_bytes: ByDirection<u64>,
    /// Bytes of serialized Dispatch messages; must be equal at both ends.
    pub message_bytes: ByDirection<ByEnd>,
    /// Bytes that the kernel took and gave.
    pub socket_bytes: ByDirection<ByEnd>,
}

/// Counts of TCP segments or QUIC packets that each end had to send again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Retransmits {
    /// By the LoadGen node; null where its system does not say.
    pub loadgen: Option<u64>,
    /// By the SUT node; null where it could not be asked or its system does not say.
    pub sut: Option<u64>,
}

/// Time of all threads of a SUT node together, s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ProcessorTime {
    /// Threads had a core and ran.
    pub ran: f64,
    /// Threads were ready to run while others had the cores.
    pub waited: f64,
}

/// Bytes of messages that carry no answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OtherBytes {
    /// Heartbeats back to the LoadGen node.
    pub egress: u64,
}

/// Bytes over time: lists of equal length, one element for each step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PerSecond {
    /// End of each step, s since the first look; a second after the step before, the last one less.
    pub t_s: Vec<f64>,
    /// Bytes of messages towards the SUT in each step.
    pub message_ingress: Vec<u64>,
    /// Bytes of messages back in each step.
    pub message_egress: Vec<u64>,
    /// Bytes on the sockets towards the SUT in each step.
    pub socket_ingress: Vec<u64>,
    /// Bytes on the sockets back in each step.
    pub socket_egress: Vec<u64>,
}

impl From<&Finished> for NetworkReport {
    fn from(finished: &Finished) -> NetworkReport {
        let (setup, network) = (&finished.setup, &finished.network);
        let (nodes, reports) = (&finished.nodes.described, &finished.nodes.reports);
        let splits = finished.nodes.tally.by_node().into_iter().chain(std::iter::repeat(None));
        NetworkReport {
            schema: SCHEMA,
            labels: setup.call.labels.by_key().clone(),
            transport: setup.link.transport.name().to_owned(),
            tls: setup.link.has_tls,
            connections: setup.link.connections.get() as u64,
            codec: setup.codecs.samples.to_string(),
            response_codec: setup.codecs.answers.to_string(),
            ratio: ratio(reports, |counts| (counts.tensor_bytes_out, counts.payload_bytes_out)),
            response_ratio: ratio(reports, |counts| (counts.tensor_bytes_in, counts.payload_bytes_in)),
            sut_counters: reports.iter().find_map(|report| report.sut.as_ref().err().cloned()),
            name_round_trips: name_round_trips(finished),
            nodes: nodes
                .iter()
                .zip(reports)
                .zip(splits)
                .map(|((node, report), split)| NodeTrafficDocument::new(node, report, split))
                .collect(),
            total: LayerBytes::of(reports),
            differences: network.differences.clone(),
            nics: network.nics.iter().map(NicDocument::from).collect(),
            control_bytes: network.control,
            probe: network.fabric.as_ref().map(FabricDocument::from),
            per_second: PerSecond::of(&network.looks),
            latency_split_ns: LatencySplit::from(finished.nodes.tally.all_nodes()),
            bandwidth_gbit_s: BandwidthDocument::from(network),
        }
    }
}

impl NodeTrafficDocument {
    fn new(node: &NodeDescription, report: &NodeReport, split: Option<Split>) -> NodeTrafficDocument {
        let sut = report.sut.as_ref().ok();
        NodeTrafficDocument {
            name: node.name.clone(),
            address: node.address.to_string(),
            samples: report.counts.samples_sent,
            layers: LayerBytes::of(std::slice::from_ref(report)),
            retransmits: Retransmits { loadgen: report.traffic.retransmits, sut: sut.and_then(|sut| sut.retransmits) },
            nic: sut.and_then(node_nic).as_ref().map(NicDocument::from),
            processor_time_s: sut.and_then(|sut| sut.processor_time).map(ProcessorTime::from),
            other_bytes: OtherBytes { egress: report.counts.other_bytes_in },
            round_trip_ns: split.map(|split| Percentiles::from(split.round_trip_ns)),
            latency_split_ns: split.map(LatencySplit::from),
        }
    }
}

impl From<ThreadTime> for ProcessorTime {
    fn from(ThreadTime { ran, waited }: ThreadTime) -> ProcessorTime {
        ProcessorTime { ran: to_thousandths(ran.as_secs_f64()), waited: to_thousandths(waited.as_secs_f64()) }
    }
}

impl LayerBytes {
    /// Of these nodes together.
    fn of(reports: &[NodeReport]) -> LayerBytes {
        let ours = |of: fn(&NodeCounts) -> u64| reports.iter().map(|report| of(&report.counts)).sum();
        LayerBytes {
            tensor_bytes: ByDirection {
                ingress: ours(|counts| counts.tensor_bytes_out),
                egress: ours(|counts| counts.tensor_bytes_in),
            },
            encoded_bytes: ByDirection {
                ingress: ours(|counts| counts.payload_bytes_out),
                egress: ours(|counts| counts.payload_bytes_in),
            },
            message_bytes: message_bytes(reports),
            socket_bytes: ByDirection {
                ingress: by_end(reports, |ours| ours.traffic.socket_bytes_out, |sut| sut.socket_bytes_in),
                egress: by_end(reports, |ours| ours.traffic.socket_bytes_in, |sut| sut.socket_bytes_out),
            },
        }
    }
}

impl PerSecond {
    /// Bytes between each look and the one before.
    fn of(looks: &[Look]) -> PerSecond {
        let steps = || looks.windows(2);
        let between = |of: fn(&Look) -> u64| steps().map(|step| of(&step[1]) - of(&step[0])).collect();
        PerSecond {
            t_s: steps().map(|step| to_thousandths(step[1].at_s)).collect(),
            message_ingress: between(|look| look.message.ingress),
            message_egress: between(|look| look.message.egress),
            socket_ingress: between(|look| look.socket.ingress),
            socket_egress: between(|look| look.socket.egress),
        }
    }
}

fn node_nic(sut: &SutCounts) -> Option<NicUse> {
    let sockets = Bytes { ingress: sut.socket_bytes_in?, egress: sut.socket_bytes_out? };
    sut.nic.as_ref().map(|nic| NicUse::of_node(nic, sockets))
}

/// Bytes before the codec over bytes after it. None when nothing was sent, or when what was encoded was not the sample
/// alone: calls of KServe's protocol have the request around it.
pub(crate) fn ratio(reports: &[NodeReport], of: fn(&NodeCounts) -> (u64, u64)) -> Option<f64> {
    if reports.iter().any(|report| report.peer_kind.payload != Payload::Sample) {
        return None;
    }
    let sum = |(a, b): (u64, u64), (c, d): (u64, u64)| (a + c, b + d);
    let (raw, encoded) = reports.iter().map(|report| of(&report.counts)).fold((0, 0), sum);
    (encoded > 0).then(|| raw as f64 / encoded as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_series_adds_up_to_the_totals() {
        let look = |at_s, ingress, egress| Look {
            at_s,
            message: Bytes { ingress, egress },
            socket: Bytes { ingress: ingress + 1, egress: egress + 1 },
        };
        let series = PerSecond::of(&[look(0.0, 0, 0), look(1.0001, 500, 7), look(1.4, 900, 9)]);
        let expected = PerSecond {
            t_s: vec![1.0, 1.4],
            message_ingress: vec![500, 400],
            message_egress: vec![7, 2],
            socket_ingress: vec![500, 400],
            socket_egress: vec![7, 2],
        };
        assert_eq!(series, expected);
        assert_eq!(PerSecond::of(&[]), PerSecond::default());
    }
}
