//! The part of `probe --json` that says what required rates of samples need of a fabric.

use serde::{Deserialize, Serialize};

use crate::network::by_direction::ByDirection;
use crate::network::fabric::{gbit_s, six_digits};
use crate::probe::needs::{Limit, Need, Rate};

/// Needs of the required rates of samples, all of them at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NeedsDocument {
    /// Rates that are required.
    pub rates: Vec<RateDocument>,
    /// Needs of these rates without a codec, and with each codec that one of the benchmarks may use.
    pub by_codec: Vec<NeedDocument>,
}

/// A rate that is required.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RateDocument {
    /// The benchmark's name.
    pub benchmark: String,
    /// Samples per second.
    pub samples_per_s: f64,
}

/// Needs of the rates with one codec.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NeedDocument {
    /// The codec, where a benchmark may use it; `none` without.
    pub codec: String,
    /// Goodput that it takes, Gbit/s.
    pub goodput_gbit_s: ByDirection<f64>,
    /// Rate that links have to carry for this goodput, including packet headers, Gbit/s.
    pub link_rate_gbit_s: ByDirection<f64>,
    /// The protocol and the MTU that packet headers are counted by.
    #[serde(default)]
    pub link_rate_over: String,
    /// Number of links like the probed one; null when its goodput is not known both ways.
    pub links: Option<u64>,
    /// Number of connections to each node of each link; null when it is not known.
    pub connections: Option<u64>,
    /// True when the probed fabric carries the rates, by goodput that was measured both ways.
    pub is_carried: bool,
    /// Resources that the rates need, each with its available amount, the scarcest first. The first one is the first
    /// limit.
    pub limits: Vec<Limit>,
}

impl NeedsDocument {
    /// The document of these rates and of what they need.
    pub fn new(rates: &[Rate], needs: &[Need]) -> NeedsDocument {
        let rate =
            |rate: &Rate| RateDocument { benchmark: rate.benchmark.name.to_owned(), samples_per_s: rate.samples_per_s };
        NeedsDocument {
            rates: rates.iter().map(rate).collect(),
            by_codec: needs.iter().map(NeedDocument::from).collect(),
        }
    }
}

impl From<&Need> for NeedDocument {
    fn from(need: &Need) -> NeedDocument {
        let both = |ingress, egress| ByDirection { ingress: gbit_s(ingress), egress: gbit_s(egress) };
        NeedDocument {
            codec: need.demand.codec.to_string(),
            goodput_gbit_s: both(need.demand.up_bits_per_s, need.demand.down_bits_per_s),
            link_rate_gbit_s: both(need.line_up_bits_per_s, need.line_down_bits_per_s),
            link_rate_over: need.line_over.clone(),
            links: need.links,
            connections: need.connections,
            is_carried: need.is_carried(),
            limits: need.limits.iter().map(rounded).collect(),
        }
    }
}

/// The limit as files have it; the verdict is of the exact share.
fn rounded(limit: &Limit) -> Limit {
    Limit { share: six_digits(limit.share), ..limit.clone() }
}
