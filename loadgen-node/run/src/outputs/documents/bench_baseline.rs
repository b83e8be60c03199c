//! Cost of the network: the part of `result_summary.json` that compares a run with the file of `--baseline`.

use lon_shell::documents::BenchOptions;
use serde::{Deserialize, Serialize};

use crate::verdict::bench_baseline::{Baseline, Tax};

/// Cost of the network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BaselineDocument {
    /// Path of the file that `--baseline` named.
    pub file: String,
    /// The program that measured it, and its version.
    pub software: String,
    /// Samples of the baseline, in words.
    pub samples: String,
    /// Options of the baseline's backend, for people to compare: a node does not report its own options.
    pub options: BenchOptions,
    /// Rate of the run over that of as many backends without a network; null in scenarios whose rate is what was asked.
    pub throughput_ratio: Option<f64>,
    /// The two rates; null where the ratio is.
    pub samples_per_s: Option<RatesDocument>,
    /// Latency of the run minus that of one sample at a time without a network; null in scenarios whose latency is not
    /// that of one sample.
    pub added_latency_ns: Option<AddedLatency>,
}

/// Two rates, samples/s.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RatesDocument {
    /// Of as many backends as the run had nodes, without a network.
    pub baseline: f64,
    /// Of the run.
    pub run: f64,
}

/// Differences of latency percentiles, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AddedLatency {
    /// The 50th percentile, ns.
    pub p50: i64,
    /// The 90th percentile, ns.
    pub p90: i64,
    /// The 95th percentile, ns.
    pub p95: i64,
    /// The 97th percentile, ns.
    pub p97: i64,
    /// The 99th percentile, ns.
    pub p99: i64,
    /// The 99.9th percentile, ns.
    pub p99_9: i64,
}

impl BaselineDocument {
    pub(super) fn new(baseline: &Baseline, tax: &Tax) -> BaselineDocument {
        let Baseline { path, report } = baseline;
        BaselineDocument {
            file: path.display().to_string(),
            software: report.software.clone(),
            samples: report.samples.what.clone(),
            options: report.options.clone(),
            throughput_ratio: tax.ratio(),
            samples_per_s: tax.rates.map(|(baseline, run)| RatesDocument { baseline, run }),
            added_latency_ns: tax.added_ns.map(AddedLatency::from),
        }
    }
}

impl From<[i64; 6]> for AddedLatency {
    fn from([p50, p90, p95, p97, p99, p99_9]: [i64; 6]) -> AddedLatency {
        AddedLatency { p50, p90, p95, p97, p99, p99_9 }
    }
}
