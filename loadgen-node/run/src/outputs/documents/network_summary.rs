//! The network side in short: a part of `result_summary.json`. `network_report` has it in full.

use lon_qsl::accuracy::Rows;
use qdl::{NodeDescription, NodeReport};
use serde::{Deserialize, Serialize};

use super::parts::{BandwidthDocument, ByEnd, LatencySplit, NameRoundTrip, message_bytes, name_round_trips};
use crate::network::by_direction::ByDirection;
use crate::test_run::finished::Finished;
use crate::test_run::score;

/// The network side in short.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct NetworkSummary {
    /// Transport of samples and answers: `grpc`, `tcp`, `quic` or `kserve`.
    pub transport: String,
    /// True when the nodes were verified by their certificates and the connections were encrypted.
    pub tls: bool,
    /// The codec of samples; `none` without.
    pub codec: String,
    /// The codec of answers; `none` without.
    pub response_codec: String,
    /// Connections to each node.
    pub connections: u64,
    /// The nodes, in the order in which they were given.
    pub nodes: Vec<NodeSummary>,
    /// Every round trip for a name, before the run and after it, in the order of the nodes.
    pub name_round_trips: Vec<NameRoundTrip>,
    /// Where the latency went.
    pub latency_split_ns: LatencySplit,
    /// Bandwidth that the rules require, and that the network gives.
    pub bandwidth_gbit_s: BandwidthDocument,
}

/// One node: what it is, and what crossed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct NodeSummary {
    /// Its unique name.
    pub name: String,
    /// Its address, `host:port`.
    pub address: String,
    /// The name of its machine; empty where it does not tell.
    pub hostname: String,
    /// Its program and version.
    pub software: String,
    /// Engine that runs the node's model, with its version.
    pub engine: String,
    /// Its model's name.
    pub model: String,
    /// SHA-256 of its model file, hexadecimal; empty where there is no file.
    pub model_sha256: String,
    /// Its model's outputs, by which answers are scored: `name dtype[dims]`, separated by commas; empty: not known.
    pub outputs: String,
    /// Samples sent to it.
    pub samples: u64,
    /// Bytes of serialized Dispatch messages.
    pub message_bytes: ByDirection<ByEnd>,
    /// Why the node was lost; null: it was not.
    pub lost: Option<String>,
}

impl From<&Finished> for NetworkSummary {
    fn from(finished: &Finished) -> NetworkSummary {
        let setup = &finished.setup;
        let (nodes, reports) = (&finished.nodes.described, &finished.nodes.reports);
        NetworkSummary {
            transport: setup.link.transport.name().to_owned(),
            tls: setup.link.has_tls,
            codec: setup.codecs.samples.to_string(),
            response_codec: setup.codecs.answers.to_string(),
            connections: setup.link.connections.get() as u64,
            nodes: nodes.iter().zip(reports).map(|(node, report)| NodeSummary::new(node, report)).collect(),
            name_round_trips: name_round_trips(finished),
            latency_split_ns: LatencySplit::from(finished.nodes.tally.all_nodes()),
            bandwidth_gbit_s: BandwidthDocument::from(&finished.network),
        }
    }
}

impl NetworkSummary {
    /// Returns the layout of the answers of all nodes. `None` where it is not known, or nodes differ.
    pub fn rows(&self) -> Option<Rows> {
        score::agreed(self.nodes.iter().map(|node| Rows::from_text(&node.outputs)))
    }
}

impl NodeSummary {
    fn new(node: &NodeDescription, report: &NodeReport) -> NodeSummary {
        NodeSummary {
            name: node.name.clone(),
            address: node.address.to_string(),
            hostname: node.host.hostname.clone(),
            software: node.software.clone(),
            engine: node.engine.clone(),
            model: node.model.clone(),
            model_sha256: node.model_sha256.clone(),
            outputs: node.outputs.to_string(),
            samples: report.counts.samples_sent,
            message_bytes: message_bytes(std::slice::from_ref(report)),
            lost: report.lost.as_ref().map(ToString::to_string),
        }
    }
}
