//! Document that `probe --watch --json` prints: a line for each interval, and the sum in the last line.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::network::fabric::{Percentiles as FabricPercentiles, gbit_s};
use crate::outputs::documents::parts::Percentiles;
use crate::probe::watch::{Interval, Sum};
use lon_net::link_errors::Troubles;

/// One interval of a fabric under watch. All nodes are filled towards the SUT in its first half, and back in its
/// second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WatchDocument {
    /// Counts the intervals from 1.
    pub interval: u64,
    /// When it ended, UTC.
    pub at: String,
    /// Payload of all nodes together towards the SUT, Gbit/s; null when too little came through to say.
    pub up_gbit_s: Option<f64>,
    /// Payload of all nodes together back from the SUT, Gbit/s; null when too little came through to say.
    pub down_gbit_s: Option<f64>,
    /// The node that got least towards the SUT; null with one node.
    pub slowest_up: Option<SlowestDocument>,
    /// The node that got least back from the SUT; null with one node.
    pub slowest_down: Option<SlowestDocument>,
    /// Round trips of 64 bytes to the first node while it was filled towards the SUT; null where there was no time for
    /// any.
    pub loaded_up_rtt_ns: Option<Percentiles>,
    /// Round trips of 64 bytes to the first node while it was filled back from the SUT; null where there was no time
    /// for any.
    pub loaded_down_rtt_ns: Option<Percentiles>,
    /// Segments (over QUIC: packets) that either end sent again; null when a system does not say.
    pub retransmits: Option<u64>,
    /// Counters of trouble that grew at the LoadGen node, by name.
    pub loadgen_counters_moved: BTreeMap<String, u64>,
    /// Counters of trouble that grew at the SUT nodes, added up, by name.
    pub sut_counters_moved: BTreeMap<String, u64>,
}

/// The node that got least.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SlowestDocument {
    /// The node's name.
    pub node: String,
    /// Payload that the node got, Gbit/s.
    pub gbit_s: f64,
}

/// The sum of all intervals: the last line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WatchSum {
    /// Number of intervals.
    pub intervals: u64,
    /// Payload of all nodes together towards the SUT; null when nothing was measured.
    pub up_gbit_s: Option<WatchSpread>,
    /// Payload of all nodes together back from the SUT; null when nothing was measured.
    pub down_gbit_s: Option<WatchSpread>,
    /// Segments (over QUIC: packets) that either end sent again; null when a system does not say.
    pub retransmits: Option<u64>,
    /// Counters of trouble that grew at the LoadGen node, by name.
    pub loadgen_counters_moved: BTreeMap<String, u64>,
    /// Counters of trouble that grew at the SUT nodes, added up, by name.
    pub sut_counters_moved: BTreeMap<String, u64>,
    /// Why the watch ended; null when the user wanted it to.
    pub ended_early: Option<String>,
}

/// Spread of the intervals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WatchSpread {
    /// The lowest interval, Gbit/s.
    pub min: f64,
    /// Their mean, Gbit/s.
    pub mean: f64,
    /// The highest interval, Gbit/s.
    pub max: f64,
}

impl WatchDocument {
    /// `names`: of the nodes, in their order.
    pub fn new(interval: &Interval, names: &[String]) -> WatchDocument {
        let at = interval.at.and_then(|at| jiff::Timestamp::try_from(at).ok());
        let slowest = |slowest: Option<(usize, f64)>| {
            let (place, bits_per_s) = slowest?;
            Some(SlowestDocument { node: names.get(place)?.clone(), gbit_s: gbit_s(bits_per_s) })
        };
        let percentiles = |at: FabricPercentiles| Percentiles { p50: at.p50_ns, p90: at.p90_ns, p99: at.p99_ns };
        WatchDocument {
            interval: interval.number,
            at: at.map(|at| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()).unwrap_or_default(),
            up_gbit_s: interval.up.map(gbit_s),
            down_gbit_s: interval.down.map(gbit_s),
            slowest_up: slowest(interval.slowest_up),
            slowest_down: slowest(interval.slowest_down),
            loaded_up_rtt_ns: interval.loaded_up.map(percentiles),
            loaded_down_rtt_ns: interval.loaded_down.map(percentiles),
            retransmits: interval.retransmits,
            loadgen_counters_moved: moved(&interval.own_troubles),
            sut_counters_moved: moved(&interval.sut_troubles),
        }
    }
}

impl WatchSum {
    /// `ended_early`: why it ended, unless the user wanted it to.
    pub fn new(sum: &Sum, ended_early: Option<String>) -> WatchSum {
        let spread = |values: &[f64]| {
            let [min, mean, max] = Sum::spread(values)?.map(gbit_s);
            Some(WatchSpread { min, mean, max })
        };
        WatchSum {
            intervals: sum.intervals,
            up_gbit_s: spread(&sum.up),
            down_gbit_s: spread(&sum.down),
            retransmits: sum.retransmits,
            loadgen_counters_moved: moved(&sum.own_troubles),
            sut_counters_moved: moved(&sum.sut_troubles),
            ended_early,
        }
    }
}

fn moved(troubles: &Troubles) -> BTreeMap<String, u64> {
    troubles.iter().map(|(name, count)| (name.to_owned(), count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outputs::documents::reads_back;

    #[test]
    fn an_interval_and_the_sum_read_back() {
        let interval = Interval {
            number: 3,
            up: Some(1e9),
            slowest_up: Some((1, 4e8)),
            retransmits: Some(2),
            own_troubles: [("tcp.RetransSegs".to_owned(), 2)].into_iter().collect(),
            ..Interval::default()
        };
        let json = reads_back(&WatchDocument::new(&interval, &["N1".to_owned(), "N2".to_owned()]));
        assert_eq!((&json["slowest_up"]["node"], &json["up_gbit_s"]), (&"N2".into(), &1.0.into()));
        assert_eq!(json["loadgen_counters_moved"]["tcp.RetransSegs"], 2);
        let sum = Sum { intervals: 2, up: vec![1e9, 3e9], ..Sum::default() };
        let json = reads_back(&WatchSum::new(&sum, None));
        assert_eq!((&json["up_gbit_s"]["mean"], &json["down_gbit_s"]), (&2.0.into(), &serde_json::Value::Null));
    }
}
