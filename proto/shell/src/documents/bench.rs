//! The performance of a backend without a network. `sut-node bench --json` writes the document, and
//! `loadgen-node run --baseline` reads it.
//!
//! Unknown keys are refused: a file that holds more than its reader knows may mean something else.

use serde::{Deserialize, Serialize};

/// The version of [`BenchReport`] that is written and read.
pub const BENCH_SCHEMA: u32 = 1;

/// The result of `sut-node bench`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BenchReport {
    /// Version of this form: 1.
    #[cfg_attr(feature = "schema", schemars(extend("const" = BENCH_SCHEMA)))]
    pub schema: u32,
    /// The program and its version.
    pub software: String,
    /// The engine and the model.
    pub backend: BenchBackend,
    /// The options that it was measured with.
    pub options: BenchOptions,
    /// The samples that it was given.
    pub samples: BenchSamples,
    /// The measurement with as many samples in flight as it takes.
    pub throughput: BenchThroughput,
    /// The measurement with one sample at a time.
    pub latency_ns: BenchLatency,
    /// Answers with a NaN in the model's outputs.
    pub nan: u64,
}

/// A backend and its model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BenchBackend {
    /// Engine that runs the model, with its version.
    pub engine: String,
    /// The model's name.
    pub model: String,
    /// SHA-256 of the model file, hexadecimal; empty where there is no file.
    pub model_sha256: String,
    /// Tensors that a sample must have, one in each entry: `name dtype[dims]`.
    pub inputs: Vec<String>,
    /// Tensors that an answer has, one in each entry: `name dtype[dims]`.
    pub outputs: Vec<String>,
}

/// The options of the measured backend, as its node would have them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BenchOptions {
    /// Samples in a batch at most.
    pub max_batch: u64,
    /// Longest wait for a batch to fill, ns.
    pub max_delay_ns: u64,
    /// Workers of the backend.
    pub workers: u64,
    /// Threads of each worker.
    pub threads: u64,
    /// Preprocessing of images before the model; null when there is none.
    pub preprocess: Option<String>,
    /// Postprocessing of the model's outputs; `none` when there is none.
    pub postprocess: String,
    /// Target duration of each of the two measurements, ns.
    pub phase_ns: u64,
}

/// The samples that were given to the backend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BenchSamples {
    /// Description of the samples, in words.
    pub what: String,
    /// Number of different samples.
    pub count: u64,
    /// Mean size of a sample, bytes.
    pub mean_bytes: u64,
}

/// The first measurement: as many samples in flight as the backend takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BenchThroughput {
    /// Samples answered per second.
    pub samples_per_s: f64,
    /// Number of samples answered.
    pub samples: u64,
    /// Samples that failed.
    pub failed: u64,
    /// Duration of the measurement, ns.
    pub duration_ns: u64,
    /// Samples in flight.
    pub in_flight: u64,
}

/// The second measurement: latencies of one sample at a time, ns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BenchLatency {
    /// Samples measured; 0: none, and the rest is 0.
    pub count: u64,
    /// The smallest latency, ns.
    pub min: u64,
    /// The mean latency, ns.
    pub mean: f64,
    /// The 50th percentile, ns.
    pub p50: u64,
    /// The 90th percentile, ns.
    pub p90: u64,
    /// The 95th percentile, ns.
    pub p95: u64,
    /// The 97th percentile, ns.
    pub p97: u64,
    /// The 99th percentile, ns.
    pub p99: u64,
    /// The 99.9th percentile, ns.
    pub p99_9: u64,
    /// The largest latency, ns.
    pub max: u64,
}
