//! Parts that several documents have.

use lon_machine::nic::Interface;
use lon_proto::figures::length_ns;
use qdl::{NameTrip, NodeDescription, NodeReport};
use serde::{Deserialize, Serialize};

use crate::network::NetworkFacts;
use crate::network::bandwidth::PerDirection;
use crate::network::by_direction::ByDirection;
use crate::network::fabric::gbit_s;
use crate::network::links::{Link, Used};
use crate::network::nics::NicUse;
use crate::test_run::finished::{Finished, Nodes};
use loadgen::judge::{LatencyStats, PERCENTILES};
use lon_world::tally::{BEFORE_SENDING, Split};

/// Bytes that both ends counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ByEnd {
    /// The LoadGen node's count.
    pub loadgen: u64,
    /// The SUT nodes' count; null where one of them could not be asked.
    pub sut: Option<u64>,
}

/// Three percentiles of durations, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Percentiles {
    /// The 50th percentile, ns.
    pub p50: u64,
    /// The 90th percentile, ns.
    pub p90: u64,
    /// The 99th percentile, ns.
    pub p99: u64,
}

/// Spread of latencies, ns. A sample that was never answered counts as slower than all others. A value that depends on
/// such a sample was not measured, and is null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LatencySpread {
    /// The smallest latency, ns.
    pub min: Option<i64>,
    /// Mean, rounded towards zero.
    pub mean: Option<i64>,
    /// The 50th percentile, ns.
    pub p50: Option<i64>,
    /// The 90th percentile, ns.
    pub p90: Option<i64>,
    /// The 95th percentile, ns.
    pub p95: Option<i64>,
    /// The 97th percentile, ns.
    pub p97: Option<i64>,
    /// The 99th percentile, ns.
    pub p99: Option<i64>,
    /// The 99.9th percentile, ns.
    pub p99_9: Option<i64>,
    /// The largest latency, ns.
    pub max: Option<i64>,
}

/// Where the time of answered samples went, at three percentiles of their latency, ns. All parts at a percentile are
/// those of the same samples, so that they add up to the latency there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LatencySplit {
    /// Sum of the parts: from when a sample was due to its answer whole. It is the mean of the samples at the
    /// percentile, which are less than a hundredth apart. 0 in results of earlier versions, whose parts have
    /// percentiles of their own.
    #[serde(default)]
    pub latency: Percentiles,
    /// From when a sample was due until its last byte was given to the network.
    #[serde(default)]
    pub before_sending: Percentiles,
    /// Rest of the round trip without the stages below: the network, and both ends' sending and receiving.
    pub outside_sut: Percentiles,
    /// From the parts of a sample to its tensors, codec included.
    pub decode: Percentiles,
    /// From pixels to the model's input, where the SUT node does that.
    pub preprocess: Percentiles,
    /// Waiting for a free worker.
    pub queue: Percentiles,
    /// From when a worker was free until it took the sample: waiting for the batch to fill (`--max-delay`), and for the
    /// worker's thread to run.
    pub batch: Percentiles,
    /// The backend at work.
    pub inference: Percentiles,
    /// From the model's outputs to the answer.
    pub postprocess: Percentiles,
    /// From the answer to the bytes of its codec.
    pub encode: Percentiles,
    /// From the arrival of an answer with a codec until the LoadGen node had inflated it.
    pub inflate: Percentiles,
}

/// Name for people of the time before a sample is sent.
const WAITING: &str = "waiting to be sent";

/// Its name in Offline, whose samples are all due at the start.
const TURN: &str = "until its turn";

/// One round trip for a node's name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NameRoundTrip {
    /// The node's name.
    pub node: String,
    /// From sending to receiving, ns.
    pub rtt_ns: u64,
    /// True when the node returned the nonce of this request; null for servers of protocols without one.
    pub nonce_ok: Option<bool>,
}

/// Bandwidth that the rules require, and that the network gives. Rates are in Gbit/s and null where they are not known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BandwidthDocument {
    /// Samples answered per second, for which the next two are; null when nothing was answered.
    pub samples_per_s: Option<f64>,
    /// By the formula of Appendix B of the rules.
    pub required: ByDirection<Option<f64>>,
    /// Bits of Dispatch messages a second, as of the layer `messages`: no heads of the transport, no TLS.
    pub carried: ByDirection<Option<f64>>,
    /// Goodput that a probe found before the run.
    pub probed: ByDirection<Option<f64>>,
    /// Rate that the drivers of the interfaces claim, the slower end of both.
    pub nic_claim: ByDirection<Option<f64>>,
    /// Derivation of `required`; null for benchmarks without a formula.
    pub formula: Option<String>,
    /// Verdict of the rules on the network at this rate, in words. It says whether the probed goodput is enough for the
    /// required one.
    pub verdict: String,
    /// The same in short: `enough`, `not probed` or `too little`, the worse direction; null where nothing is required.
    #[serde(default)]
    pub judged: Option<String>,
    /// True when the network was the limit of this run, codecs included; null where that is not known.
    #[serde(default)]
    pub is_limit: Option<bool>,
    /// The same in words, with the link that was used most.
    #[serde(default)]
    pub limit: String,
    /// Utilisation of each link.
    #[serde(default)]
    pub links: Vec<LinkDocument>,
}

/// Utilisation of a link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LinkDocument {
    /// The node at its other end; null: the links to all nodes together.
    pub node: Option<String>,
    /// Bits of Dispatch messages a second, as in `bandwidth_gbit_s`.
    pub carried: ByDirection<Option<f64>>,
    /// The most that is possible: by the probe, or by what the sockets took while the link was full; null where neither
    /// is known.
    pub possible: ByDirection<Option<f64>>,
    /// Share that was used, to a thousandth; null where it is not known.
    pub used: ByDirection<Option<f64>>,
}

/// An interface that the run used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NicDocument {
    /// Description of the interface.
    #[serde(flatten)]
    pub interface: Interface,
    /// Bytes that crossed it during the run, those of other programs included.
    pub bytes: ByDirection<u64>,
    /// The share of these bytes that the run's sockets do not account for, to a thousandth; null when there are none.
    pub unexplained_share: ByDirection<Option<f64>>,
}

impl From<[u64; 3]> for Percentiles {
    fn from([p50, p90, p99]: [u64; 3]) -> Percentiles {
        Percentiles { p50, p90, p99 }
    }
}

impl From<&LatencyStats> for LatencySpread {
    fn from(stats: &LatencyStats) -> LatencySpread {
        let measured = |fraction, ns| stats.is_measured(fraction).then_some(ns);
        let [p50, p90, p95, p97, p99, p99_9] =
            std::array::from_fn(|at| measured(PERCENTILES[at], stats.percentiles_ns[at]));
        let min = measured(0.0, stats.min_ns);
        // Both are of all of them.
        let [mean, max] = [stats.mean_ns, stats.max_ns].map(|ns| measured(1.0, ns));
        LatencySpread { min, mean, p50, p90, p95, p97, p99, p99_9, max }
    }
}

impl From<Split> for LatencySplit {
    fn from(split: Split) -> LatencySplit {
        let part = |name| split.parts().find(|(part, _)| *part == name).map(|(_, values)| values).unwrap_or_default();
        let at = |name| Percentiles::from(part(name));
        LatencySplit {
            latency: Percentiles::from(split.latency_ns),
            before_sending: at(BEFORE_SENDING),
            outside_sut: at("outside_sut"),
            decode: at("decode"),
            preprocess: at("preprocess"),
            queue: at("queue"),
            batch: at("batch"),
            inference: at("inference"),
            postprocess: at("postprocess"),
            encode: at("encode"),
            inflate: at("inflate"),
        }
    }
}

impl LatencySplit {
    /// Each part by the words for it, in the order in which a sample goes through them.
    pub fn parts(&self, is_pulled: bool) -> [(&'static str, Percentiles); 10] {
        [
            (if is_pulled { TURN } else { WAITING }, self.before_sending),
            ("network and both ends", self.outside_sut),
            ("decode", self.decode),
            ("preprocess", self.preprocess),
            ("queue", self.queue),
            ("waiting for the batch or its worker", self.batch),
            ("inference", self.inference),
            ("postprocess", self.postprocess),
            ("encode", self.encode),
            ("inflate", self.inflate),
        ]
    }

    /// The latency at a percentile as the sum of its parts: `1.6s = 1.5s waiting to be sent + 90.1ms network and both
    /// ends`.
    /// Parts below a thousandth are left out.
    pub(crate) fn sum(&self, is_pulled: bool, at: fn(&Percentiles) -> u64) -> String {
        let whole = at(&self.latency);
        let is_shown = |part: &(&str, u64)| part.1 > whole / 1_000;
        let parts = self.parts(is_pulled).map(|(name, part)| (name, at(&part)));
        let parts: Vec<String> =
            parts.into_iter().filter(is_shown).map(|(name, ns)| format!("{} {name}", length_ns(ns))).collect();
        match whole {
            0 => "not known: no sample was answered".to_owned(),
            whole => format!("{} = {}", length_ns(whole), parts.join(" + ")),
        }
    }
}

impl From<&Link> for LinkDocument {
    fn from(link: &Link) -> LinkDocument {
        let by = |of: fn(&Used) -> Option<f64>| ByDirection {
            ingress: of(&link.directions[0]),
            egress: of(&link.directions[1]),
        };
        LinkDocument {
            node: link.node.clone(),
            carried: by(|usage| Some(gbit_s(usage.carried))),
            possible: by(|usage| usage.possible.map(gbit_s)),
            used: by(|usage| usage.share().map(to_thousandths)),
        }
    }
}

impl From<&NetworkFacts> for BandwidthDocument {
    fn from(NetworkFacts { bandwidth, links, .. }: &NetworkFacts) -> BandwidthDocument {
        let gbit = |of: PerDirection| of.map(|bits_per_s| bits_per_s.map(gbit_s));
        BandwidthDocument {
            samples_per_s: bandwidth.samples_per_s,
            required: gbit(bandwidth.required),
            carried: gbit(bandwidth.carried),
            probed: gbit(bandwidth.probed),
            nic_claim: gbit(bandwidth.nic_claim),
            formula: bandwidth.formula.clone(),
            verdict: bandwidth.verdict.clone(),
            judged: bandwidth.worst().map(|verdict| verdict.name().to_owned()),
            is_limit: links.is_limit(),
            limit: links.text(),
            links: links.all.iter().map(LinkDocument::from).collect(),
        }
    }
}

impl From<&NicUse> for NicDocument {
    fn from(nic: &NicUse) -> NicDocument {
        NicDocument {
            interface: nic.interface.clone(),
            bytes: nic.carried,
            unexplained_share: ByDirection {
                ingress: unexplained(nic.carried.ingress, nic.explained.ingress),
                egress: unexplained(nic.carried.egress, nic.explained.egress),
            },
        }
    }
}

/// The share of what an interface carried that the run's sockets do not account for, to a thousandth.
fn unexplained(carried: u64, explained: u64) -> Option<f64> {
    (carried > 0).then(|| to_thousandths(carried.saturating_sub(explained) as f64 / carried as f64))
}

/// Rounds to three digits after the point: more would say more than was measured.
pub(super) fn to_thousandths(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// Bytes of messages that crossed, of these nodes together.
pub(super) fn message_bytes(reports: &[NodeReport]) -> ByDirection<ByEnd> {
    ByDirection {
        ingress: by_end(reports, |ours| ours.counts.message_bytes_out, |sut| Some(sut.message_bytes_in)),
        egress: by_end(reports, |ours| ours.counts.message_bytes_in, |sut| Some(sut.message_bytes_out)),
    }
}

/// Sums of what both ends of these nodes' connections counted.
pub(super) fn by_end(
    reports: &[NodeReport],
    ours: fn(&NodeReport) -> u64,
    theirs: fn(&qdl::SutCounts) -> Option<u64>,
) -> ByEnd {
    ByEnd {
        loadgen: reports.iter().map(ours).sum(),
        sut: reports.iter().map(|report| report.sut.as_ref().ok().and_then(theirs)).sum(),
    }
}

/// Every round trip for a name, before the run and after it.
pub(super) fn name_round_trips(finished: &Finished) -> Vec<NameRoundTrip> {
    let has_nonce = finished.setup.link.transport.peer_kind().has_nonce;
    let Nodes { described, first_name, last_name, .. } = &finished.nodes;
    let trip = |(trip, node): (&NameTrip, &NodeDescription)| NameRoundTrip {
        node: node.name.clone(),
        rtt_ns: trip.rtt.as_nanos() as u64,
        nonce_ok: has_nonce.then(|| trip.nonce_ok()),
    };
    let trips = first_name.trips.iter().chain(&last_name.trips);
    trips.zip(described.iter().cycle()).map(trip).collect()
}

#[cfg(test)]
mod tests {
    use lon_world::tally::{Answered, STAGES};

    use super::*;

    #[test]
    fn nothing_carried_has_no_share() {
        assert_eq!(unexplained(0, 0), None);
        assert_eq!(unexplained(1000, 960), Some(0.04));
        assert_eq!(unexplained(10, 20), Some(0.0));
    }

    #[test]
    fn every_stage_is_in_the_split() {
        let mut tally = lon_world::tally::Tally::default();
        let stages = qdl::Stages {
            decode_ns: 1,
            preprocess_ns: 2,
            queue_ns: 3,
            batch_ns: 4,
            inference_ns: 5,
            postprocess_ns: 6,
            encode_ns: 7,
            inflate_ns: 8,
        };
        let answer = Answered::new(qdl::NodeIndex(0), &stages, Some(100));
        tally.answered(&Answered { latency_ns: Some(120), ..answer });
        let json = serde_json::to_value(LatencySplit::from(tally.all_nodes())).unwrap();
        let names: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(names, [["latency", BEFORE_SENDING].as_slice(), &STAGES].concat());
        let p50: Vec<u64> = json.as_object().unwrap().values().map(|at| at["p50"].as_u64().unwrap()).collect();
        assert_eq!(p50, [120, 20, 64, 1, 2, 3, 4, 5, 6, 7, 8]);
    }
}
