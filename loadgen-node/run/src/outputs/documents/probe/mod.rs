//! Document that `probe --json` prints: what a fabric carries. `network_report.json` has the first part, too.

use std::collections::BTreeMap;

use lon_machine::nic::Interface;
use lon_net::path::Path;
use serde::{Deserialize, Serialize};

use self::changes::AgainstDocument;
use self::matrix::MatrixDocument;
use self::needs::NeedsDocument;
use super::parts::{Percentiles, to_thousandths};
use crate::network::by_direction::ByDirection;
use crate::network::by_way::ByWay;
use crate::network::ends::{End, Spent};
use crate::network::fabric::{AtConnections, Fabric, NodeFabric, Repeats, gbit_s};
use crate::network::spread;
use crate::probe::capacity::Row;
use crate::probe::plan::ProbePlan;

pub mod changes;
pub mod matrix;
pub mod needs;
pub mod watch;

/// The version of [`FabricDocument`].
const SCHEMA: u32 = 1;

/// A probe: the fabric, and what it would carry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ProbeDocument {
    /// Findings of the probe.
    #[serde(flatten)]
    pub fabric: FabricDocument,
    /// Flags of the probe that change the goodput; null in a file of an earlier version.
    #[serde(default)]
    pub asked: Option<AskedDocument>,
    /// With `--transport all`: what was found over the other transports.
    #[serde(default)]
    pub other_transports: Vec<FabricDocument>,
    /// Rates that the fabric allows each benchmark, without and with codecs; empty when goodput is not known both ways.
    pub carries: Vec<CarriedDocument>,
    /// With `--require`: what the required rates need, without a codec and with each that may be used.
    #[serde(default)]
    pub needs: Option<NeedsDocument>,
    /// With `--matrix`: what SUT nodes have measured among each other, over each transport; empty without.
    #[serde(default)]
    pub matrix: Vec<MatrixDocument>,
    /// With `--against`: each goodput beside that of the stored probe, and the verdict.
    #[serde(default)]
    pub against: Option<AgainstDocument>,
    /// Why the probe ended before everything was measured; null when it did not.
    pub ended_early: Option<String>,
}

/// Flags of a probe that change the goodput.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AskedDocument {
    /// Duration of each goodput measurement (`--duration`), s.
    pub duration_s: f64,
    /// Numbers of connections that were tried (`--connections`), the fewest first.
    pub connections: Vec<usize>,
}

impl From<&ProbePlan> for AskedDocument {
    fn from(plan: &ProbePlan) -> AskedDocument {
        AskedDocument { duration_s: plan.duration.as_secs_f64(), connections: plan.connections().collect() }
    }
}

/// Findings of a probe over one transport.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FabricDocument {
    /// Version of this form: 1.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
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

/// Findings of a probe on one node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NodeFabricDocument {
    /// The node's name.
    pub name: String,
    /// Its address, `host:port`.
    pub address: String,
    /// Round trips, one entry for each size of request.
    pub rtt_ns: Vec<RttDocument>,
    /// Payload that came through; null where it was not measured.
    pub goodput_gbit_s: ByWay<Option<f64>>,
    /// Why a goodput is null that was tried; null where all of them are known, or the probe ended early.
    pub goodput_reason: Option<String>,
    /// Round trips of 64 bytes while both directions were full; null where there was no time for any.
    pub loaded_rtt_ns: Option<Percentiles>,
    /// Where the mean goodput is with a confidence of 95 %, lower and upper end, Gbit/s; null without repeats.
    #[serde(default)]
    pub goodput_interval_gbit_s: ByWay<Option<[f64; 2]>>,
    /// Every repeat of the goodput, Gbit/s.
    #[serde(default)]
    pub goodput_repeats_gbit_s: ByWay<Vec<f64>>,
    /// Goodput over each number of connections that was tried, the fewest first.
    #[serde(default)]
    pub by_connections: Vec<AtConnectionsDocument>,
    /// The fewest connections that bring what more of them bring, too. The goodput above is over so many.
    #[serde(default)]
    pub fills_with: Option<usize>,
    /// The LoadGen node's end of the connections to the node.
    #[serde(default)]
    pub loadgen: Option<EndDocument>,
    /// The node's end; null when it does not tell.
    #[serde(default)]
    pub sut: Option<EndDocument>,
}

/// Goodput over one number of connections.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AtConnectionsDocument {
    /// Connections to the node.
    pub connections: usize,
    /// Towards the SUT, Gbit/s; null when it was not measured.
    pub up_gbit_s: Option<f64>,
    /// Back from the SUT, Gbit/s; null when it was not measured.
    pub down_gbit_s: Option<f64>,
}

/// Processor time and counters of one end of the connections to a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EndDocument {
    /// Processor time of the end's process for 10^9 bytes of payload, s.
    pub cpu_s_per_gb: ByWay<Option<f64>>,
    /// Time for which threads of the process waited for a core that others had, all threads together, s a second; null
    /// when its system does not say.
    #[serde(default)]
    pub core_wait_s_per_s: ByWay<Option<f64>>,
    /// Processors that the process may use; 0 when it is not known.
    pub cores: u32,
    /// Segments (over QUIC: packets) that this end sent again; null when its system does not say.
    pub retransmits: Option<u64>,
    /// Largest packet that the way takes, bytes; null when it is not known.
    pub mtu_bytes: Option<u32>,
    /// Payload of one segment (over QUIC: of one datagram), bytes; null when it is not known.
    pub segment_bytes: Option<u32>,
    /// Congestion control, such as `cubic`: the sender's way to find out what the way to the node carries; null when it
    /// is not known.
    pub congestion_control: Option<String>,
    /// The interface that the connections leave by; null on loopback.
    pub interface: Option<Interface>,
    /// Counters of the kernel and of the interface that grew meanwhile, by name: what was lost, late or refused.
    pub counters_moved: BTreeMap<String, u64>,
}

/// Round trips of requests of one size, each answered by 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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

/// Findings of a probe on all nodes at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TogetherDocument {
    /// Payload that came through; null where it was not measured.
    pub goodput_gbit_s: ByWay<Option<f64>>,
    /// Why a goodput is null that was tried; null where all of them are known, or the probe ended early.
    #[serde(default)]
    pub goodput_reason: Option<String>,
    /// Where its mean is with a confidence of 95 %, lower and upper end, Gbit/s; null without repeats.
    #[serde(default)]
    pub goodput_interval_gbit_s: ByWay<Option<[f64; 2]>>,
    /// Every repeat of it, Gbit/s.
    #[serde(default)]
    pub goodput_repeats_gbit_s: ByWay<Vec<f64>>,
}

/// Rate that the fabric allows one benchmark with one codec.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CarriedDocument {
    /// The benchmark's name.
    pub benchmark: String,
    /// The type that samples are sent as; null: as the formula of the rules counts it.
    #[serde(default)]
    pub dtype: Option<String>,
    /// The codec of samples; `none` without.
    pub codec: String,
    /// Bytes before the codec over bytes after it, on generated data like the benchmark's, to a thousandth.
    pub ratio: f64,
    /// Samples per second that the fabric allows; with a codec no more than the SUT's decode threads decompress.
    pub samples_per_s: f64,
    /// `link`, or `decompression` where the SUT's decode threads are slower than the link.
    #[serde(default)]
    pub bound: String,
    /// The last round whose suite has the benchmark; null: that of the selected round has it, or it is one of the
    /// user's.
    #[serde(default)]
    pub last_round: Option<String>,
}

impl ProbeDocument {
    /// Returns the findings over each transport.
    pub fn fabrics(&self) -> impl Iterator<Item = &FabricDocument> {
        std::iter::once(&self.fabric).chain(&self.other_transports)
    }
}

impl NodeFabricDocument {
    /// Every repeat of the goodput, Gbit/s.
    pub fn repeats(&self) -> ByWay<Vec<f64>> {
        repeats_of(self.goodput_gbit_s, &self.goodput_repeats_gbit_s)
    }
}

impl TogetherDocument {
    /// Every repeat of the goodput, Gbit/s.
    pub fn repeats(&self) -> ByWay<Vec<f64>> {
        repeats_of(self.goodput_gbit_s, &self.goodput_repeats_gbit_s)
    }
}

/// The repeats that goodputs are the means of; where none were written, each is the only one.
fn repeats_of(means: ByWay<Option<f64>>, repeats: &ByWay<Vec<f64>>) -> ByWay<Vec<f64>> {
    let of = |values: &Vec<f64>, mean: Option<f64>| match values[..] {
        [] => mean.into_iter().collect(),
        _ => values.clone(),
    };
    let ByWay { up, down, both } = repeats;
    ByWay { up: of(up, means.up), down: of(down, means.down), both: of(both, means.both) }
}

impl From<&Fabric> for FabricDocument {
    fn from(fabric: &Fabric) -> FabricDocument {
        FabricDocument {
            schema: SCHEMA,
            transport: fabric.transport.to_owned(),
            nodes: fabric.nodes.iter().map(NodeFabricDocument::from).collect(),
            together: TogetherDocument {
                goodput_gbit_s: fabric.together.map(|bits_per_s| bits_per_s.map(gbit_s)),
                goodput_reason: fabric.together_missing.reason(),
                goodput_interval_gbit_s: intervals(&fabric.together_repeats),
                goodput_repeats_gbit_s: repeats(&fabric.together_repeats),
            },
            socket_bytes: fabric.socket_bytes,
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
            goodput_gbit_s: node.goodput.map(|bits_per_s| bits_per_s.map(gbit_s)),
            goodput_reason: node.missing.reason(),
            loaded_rtt_ns: node.loaded.map(|rtt| {
                let at = rtt.percentiles;
                Percentiles { p50: at.p50_ns, p90: at.p90_ns, p99: at.p99_ns }
            }),
            goodput_interval_gbit_s: intervals(&node.repeats),
            goodput_repeats_gbit_s: repeats(&node.repeats),
            by_connections: node.by_connections.iter().map(AtConnectionsDocument::from).collect(),
            fills_with: node.fills_with,
            loadgen: node.loadgen.as_ref().map(EndDocument::from),
            sut: node.sut.as_ref().map(EndDocument::from),
        }
    }
}

fn repeats(of: &Repeats) -> ByWay<Vec<f64>> {
    of.as_ref().map(|values| values.iter().copied().map(gbit_s).collect())
}

fn intervals(of: &Repeats) -> ByWay<Option<[f64; 2]>> {
    of.as_ref().map(|values| spread::interval(values).map(|it| it.map(gbit_s)))
}

impl From<&AtConnections> for AtConnectionsDocument {
    fn from(tried: &AtConnections) -> AtConnectionsDocument {
        let [up_gbit_s, down_gbit_s] = [tried.up, tried.down].map(|bits_per_s| bits_per_s.map(gbit_s));
        AtConnectionsDocument { connections: tried.connections, up_gbit_s, down_gbit_s }
    }
}

impl From<&End> for EndDocument {
    fn from(end: &End) -> EndDocument {
        let by_way = |of: fn(&Spent) -> Option<f64>| end.spent.map(|spent| of(&spent).map(to_thousandths));
        let size = |bytes: fn(&Path) -> u32| end.path.as_ref().map(bytes).filter(|bytes| *bytes > 0);
        let control = end.path.as_ref().map(|path| path.congestion_control.clone());
        EndDocument {
            cpu_s_per_gb: by_way(|spent| spent.cpu_s_per_gb),
            core_wait_s_per_s: by_way(|spent| spent.core_wait_s_per_s),
            cores: end.cores,
            retransmits: end.retransmits,
            mtu_bytes: size(|path| path.mtu_bytes),
            segment_bytes: size(|path| path.segment_bytes),
            congestion_control: control.filter(|name| !name.is_empty()),
            interface: end.interface.clone(),
            counters_moved: end.troubles.iter().map(|(name, count)| (name.to_owned(), count)).collect(),
        }
    }
}

impl From<&Row> for CarriedDocument {
    fn from(row: &Row) -> CarriedDocument {
        CarriedDocument {
            benchmark: row.benchmark.to_owned(),
            dtype: row.dtype.map(|dtype| dtype.to_string()),
            codec: row.codec.to_string(),
            ratio: to_thousandths(row.ratio),
            samples_per_s: row.samples_per_s,
            bound: if row.is_decoding { "decompression" } else { "link" }.to_owned(),
            last_round: row.last_round.map(str::to_owned),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::fabric::{Goodput, Missing, Percentiles as FabricPercentiles, Rtt};
    use crate::network::traffic::Bytes;
    use crate::outputs::documents::reads_back;
    use crate::probe::capacity::table;
    use crate::probe::capacity::tests::selection;
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
        assert_eq!(json["nodes"][0]["goodput_reason"], Value::Null, "nothing was tried");
        let missing = ByWay { up: Some(Missing::Cut), ..ByWay::default() };
        (cut.nodes[0].missing, cut.together_missing) = (missing, missing);
        let json = reads_back(&FabricDocument::from(&cut));
        let reason = "up: stopped by --max-bytes before there was enough to measure";
        assert_eq!(json["nodes"][0]["goodput_reason"], reason);
        assert_eq!(json["together"]["goodput_reason"], reason);
    }

    #[test]
    fn a_probe_has_the_keys_of_its_form_in_their_order() {
        let mut fabric = fabric();
        let percentiles = FabricPercentiles { p50_ns: 1, p90_ns: 2, p99_ns: 3 };
        let rtt = Rtt { bytes: 64, trips: 9, percentiles };
        fabric.nodes[0].rtt.push(rtt);
        fabric.nodes[0].loaded = Some(rtt);
        fabric.together = Goodput { up: Some(94_123_456.7), down: Some(0.0), ..Goodput::default() };
        fabric.together_repeats.up = vec![1e9, 1e9];
        fabric.socket_bytes = Bytes { ingress: 1, egress: 2 };
        let one = AtConnections { connections: 1, up: Some(1e9), down: None };
        fabric.nodes[0].by_connections.push(one);
        fabric.nodes[0].loadgen = Some(End {
            spent: ByWay {
                up: Spent { cpu_s_per_gb: Some(0.1234), core_wait_s_per_s: Some(0.0126) },
                ..ByWay::default()
            },
            retransmits: Some(7),
            path: Some(Path { segment_bytes: 1448, mtu_bytes: 1500, congestion_control: "cubic".to_owned() }),
            cores: 2,
            ..End::default()
        });
        let carries = table(Some(1e9), Some(1e9), 1, &selection("v6.1"));
        let document = ProbeDocument {
            asked: Some(AskedDocument { duration_s: 2.0, connections: vec![1] }),
            fabric: FabricDocument::from(&fabric),
            other_transports: Vec::new(),
            carries: carries[..1].iter().map(CarriedDocument::from).collect(),
            needs: None,
            matrix: Vec::new(),
            against: None,
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
                    "goodput_interval_gbit_s": { "up": null, "down": null, "both": null },
                    "goodput_repeats_gbit_s": { "up": [], "down": [], "both": [] },
                    "by_connections": [{ "connections": 1, "up_gbit_s": 1.0, "down_gbit_s": null }],
                    "fills_with": null,
                    "loadgen": {
                        "cpu_s_per_gb": { "up": 0.123, "down": null, "both": null },
                        "core_wait_s_per_s": { "up": 0.013, "down": null, "both": null },
                        "cores": 2,
                        "retransmits": 7,
                        "mtu_bytes": 1500,
                        "segment_bytes": 1448,
                        "congestion_control": "cubic",
                        "interface": null,
                        "counters_moved": {},
                    },
                    "sut": null,
                }],
                "together": {
                    "goodput_gbit_s": { "up": 0.0941235, "down": 0.0, "both": null },
                    "goodput_reason": null,
                    "goodput_interval_gbit_s": { "up": [1.0, 1.0], "down": null, "both": null },
                    "goodput_repeats_gbit_s": { "up": [1.0, 1.0], "down": [], "both": [] },
                },
                "socket_bytes": { "ingress": 1, "egress": 2 },
                "asked": { "duration_s": 2.0, "connections": [1] },
                "other_transports": [],
                "carries": [{
                    "benchmark": first.benchmark, "dtype": null, "codec": "none", "ratio": 1.0,
                    "samples_per_s": first.samples_per_s, "bound": "link", "last_round": null,
                }],
                "needs": null,
                "matrix": [],
                "against": null,
                "ended_early": "lost",
            })
            .to_string()
        );
    }
}
