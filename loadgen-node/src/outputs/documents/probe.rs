//! What `probe --json` prints: what a fabric carries. `network_report.json` has the first part, too.

use serde::{Deserialize, Serialize};

use super::parts::{ByDirection, Percentiles, to_thousandths};
use crate::network::fabric::{CUT, Fabric, Goodput, NodeFabric, gbit_s};
use crate::probe::carries::Row;

/// The version of [`FabricDocument`].
const SCHEMA: u32 = 1;

/// A probe: the fabric, and what it would carry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbeDocument {
    /// What was found.
    #[serde(flatten)]
    pub fabric: FabricDocument,
    /// What the fabric allows each benchmark, without and with codecs; empty when goodput is not known both ways.
    pub carries: Vec<CarriedDocument>,
    /// Why the probe ended before everything was measured; null when it did not.
    pub ended_early: Option<String>,
}

/// What a probe found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FabricDocument {
    /// Version of this form: 1.
    pub schema: u32,
    /// The transport that was probed.
    pub transport: String,
    /// Each node alone.
    pub nodes: Vec<NodeFabricDocument>,
    /// All nodes at once.
    pub together: TogetherDocument,
    /// Bytes that the probe itself took on the sockets; no part of a run's bytes.
    pub socket_bytes: ByDirection<u64>,
}

/// What a probe found of one node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeFabricDocument {
    /// The node's name.
    pub name: String,
    /// Its address, `host:port`.
    pub address: String,
    /// Round trips, one entry for each size of request.
    pub rtt_ns: Vec<RttDocument>,
    /// Payload that came through.
    pub goodput_gbit_s: GoodputDocument,
    /// Why a goodput is null though the probe did not end early; null where no such reason is known.
    pub goodput_reason: Option<String>,
    /// Round trips of 64 bytes while both directions were full; null where there was no time for any.
    pub loaded_rtt_ns: Option<Percentiles>,
}

/// Round trips of requests of one size, each answered by 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RttDocument {
    /// Size of the request, bytes.
    pub bytes: u64,
    /// 50th percentile, ns.
    pub p50: u64,
    /// 90th percentile, ns.
    pub p90: u64,
    /// 99th percentile, ns.
    pub p99: u64,
    /// Round trips measured.
    pub trips: u64,
}

/// What a probe found of all nodes at once.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TogetherDocument {
    /// Payload that came through.
    pub goodput_gbit_s: GoodputDocument,
}

/// Payload that came through, Gbit/s; null where it was not measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GoodputDocument {
    /// Towards the SUT, with nothing coming back.
    pub up: Option<f64>,
    /// Back from the SUT, with nothing going there.
    pub down: Option<f64>,
    /// Both directions at once, added up.
    pub both: Option<f64>,
}

/// What the fabric allows one benchmark with one codec.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CarriedDocument {
    /// The benchmark's name.
    pub benchmark: String,
    /// The codec of samples; `none` without.
    pub codec: String,
    /// Bytes before the codec over bytes after it, on generated data like the benchmark's, to a thousandth.
    pub ratio: f64,
    /// Samples per second that the fabric allows.
    pub samples_per_s: f64,
}

impl From<&Fabric> for FabricDocument {
    fn from(fabric: &Fabric) -> FabricDocument {
        FabricDocument {
            schema: SCHEMA,
            transport: fabric.transport.to_owned(),
            nodes: fabric.nodes.iter().map(NodeFabricDocument::from).collect(),
            together: TogetherDocument { goodput_gbit_s: fabric.together.into() },
            socket_bytes: fabric.socket_bytes.into(),
        }
    }
}

impl From<&NodeFabric> for NodeFabricDocument {
    fn from(node: &NodeFabric) -> NodeFabricDocument {
        let rtt = node.rtt.iter().map(|rtt| {
            let at = rtt.percentiles;
            RttDocument { bytes: rtt.bytes, p50: at.p50_ns, p90: at.p90_ns, p99: at.p99_ns, trips: rtt.trips }
        });
        NodeFabricDocument {
            name: node.name.clone(),
            address: node.address.clone(),
            rtt_ns: rtt.collect(),
            goodput_gbit_s: node.goodput.into(),
            goodput_reason: node.goodput.is_cut.then(|| CUT.to_owned()),
            loaded_rtt_ns: node.loaded.map(|at| Percentiles { p50: at.p50_ns, p90: at.p90_ns, p99: at.p99_ns }),
        }
    }
}

impl From<Goodput> for GoodputDocument {
    fn from(goodput: Goodput) -> GoodputDocument {
        let [up, down, both] = [goodput.up, goodput.down, goodput.both].map(|bits_per_s| bits_per_s.map(gbit_s));
        GoodputDocument { up, down, both }
    }
}

impl From<&Row> for CarriedDocument {
    fn from(row: &Row) -> CarriedDocument {
        CarriedDocument {
            benchmark: row.benchmark.to_owned(),
            codec: row.codec.to_string(),
            ratio: to_thousandths(row.ratio),
            samples_per_s: row.samples_per_s,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::reads_back;
    use super::*;
    use crate::network::fabric::{Percentiles as FabricPercentiles, Rtt};
    use crate::network::traffic::Bytes;
    use serde_json::{Value, json};

    fn fabric() -> Fabric {
        let node = NodeFabric { name: "N1".to_owned(), address: "a:1".to_owned(), ..NodeFabric::default() };
        Fabric { transport: "tcp", nodes: vec![node], ..Fabric::default() }
    }

    #[test]
    fn what_was_not_measured_is_null() {
        let mut cut = fabric();
        let json = reads_back(&FabricDocument::from(&cut));
        assert_eq!(json["nodes"][0]["loaded_rtt_ns"], Value::Null);
        assert_eq!(json["nodes"][0]["goodput_gbit_s"], json!({ "up": null, "down": null, "both": null }));
        cut.nodes[0].goodput.is_cut = true;
        assert_eq!(reads_back(&FabricDocument::from(&cut))["nodes"][0]["goodput_reason"], CUT);
    }

    #[test]
    fn a_probe_has_the_keys_of_its_form_in_their_order() {
        let mut fabric = fabric();
        let percentiles = FabricPercentiles { p50_ns: 1, p90_ns: 2, p99_ns: 3 };
        fabric.nodes[0].rtt.push(Rtt { bytes: 64, trips: 9, percentiles });
        fabric.nodes[0].loaded = Some(percentiles);
        fabric.together = Goodput { up: Some(94_123_456.7), down: Some(0.0), both: None, is_cut: false };
        fabric.socket_bytes = Bytes { ingress: 1, egress: 2 };
        let carries = crate::probe::carries::table(Some(1e9), Some(1e9), "v6.1");
        let document = ProbeDocument {
            fabric: FabricDocument::from(&fabric),
            carries: carries[..1].iter().map(CarriedDocument::from).collect(),
            ended_early: Some("lost".to_owned()),
        };
        let json = reads_back(&document);
        let first = &carries[0];
        assert_eq!(
            json.to_string(),
            json!({
                "schema": 1,
                "transport": "tcp",
                "nodes": [{
                    "name": "N1",
                    "address": "a:1",
                    "rtt_ns": [{ "bytes": 64, "p50": 1, "p90": 2, "p99": 3, "trips": 9 }],
                    "goodput_gbit_s": { "up": null, "down": null, "both": null },
                    "goodput_reason": null,
                    "loaded_rtt_ns": { "p50": 1, "p90": 2, "p99": 3 },
                }],
                "together": { "goodput_gbit_s": { "up": 0.0941235, "down": 0.0, "both": null } },
                "socket_bytes": { "ingress": 1, "egress": 2 },
                "carries": [{
                    "benchmark": first.benchmark, "codec": "none", "ratio": 1.0, "samples_per_s": first.samples_per_s,
                }],
                "ended_early": "lost",
            })
            .to_string()
        );
    }
}
