//! What `bench` found, for people and for `loadgen-node run --baseline`.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde_json::{Value, json};

use super::Measured;
use super::samples::Samples;
use crate::backend::BackendInfo;
use crate::config::ServeConfig;
use crate::pipeline::images;
use crate::tensor::TensorSpec;

/// The file's version; a reader refuses others.
const SCHEMA: u32 = 1;

/// What was measured, on what.
pub(crate) struct Report<'a> {
    pub(crate) info: &'a BackendInfo,
    pub(crate) config: &'a ServeConfig,
    pub(crate) threads: usize,
    pub(crate) postprocess: String,
    pub(crate) samples: &'a Samples,
    pub(crate) phase: Duration,
    pub(crate) measured: &'a Measured,
}

impl Report<'_> {
    pub(crate) fn samples_per_s(&self) -> f64 {
        self.measured.saturation.samples as f64 / self.measured.saturation.duration.as_secs_f64()
    }

    /// `--json`. Its reader, in loadgen-node, knows these keys and no others.
    pub(crate) fn json(&self) -> Value {
        let Report { info, config, samples, measured, .. } = self;
        let saturation = &measured.saturation;
        let specs = |specs: &[TensorSpec]| specs.iter().map(ToString::to_string).collect::<Vec<_>>();
        let inputs = if config.preprocess.is_some() { images::inputs() } else { info.inputs.clone() };
        json!({
            "schema": SCHEMA,
            "software": concat!("sut-node ", env!("CARGO_PKG_VERSION")),
            "backend": {
                "engine": info.engine,
                "model": info.model,
                "model_sha256": info.model_sha256.as_deref().unwrap_or_default(),
                "inputs": specs(&inputs),
                "outputs": specs(&info.outputs),
            },
            "options": {
                "max_batch": config.max_batch,
                "max_delay_ns": ns(config.max_delay),
                "workers": config.workers,
                "threads": self.threads,
                "preprocess": config.preprocess.as_ref().map(ToString::to_string),
                "postprocess": self.postprocess,
                "phase_ns": ns(self.phase),
            },
            "samples": { "what": samples.what, "count": samples.count(), "mean_bytes": samples.mean_bytes() },
            "throughput": {
                "samples_per_s": self.samples_per_s(),
                "samples": saturation.samples,
                "failed": saturation.failed,
                "duration_ns": ns(saturation.duration),
                "in_flight": saturation.in_flight,
            },
            "latency_ns": latency(&measured.latency_ns),
            "nan": measured.nan,
        })
    }

    /// For people.
    pub(crate) fn text(&self) -> String {
        let Report { info, samples, measured, .. } = self;
        let saturation = &measured.saturation;
        let at = |quantile| Duration::from_nanos(measured.latency_ns.value_at_quantile(quantile));
        let model = if info.model.is_empty() { String::new() } else { format!(", {}", info.model) };
        let failed = measured.failure.as_ref().map_or_else(String::new, |reason| {
            let (first, second) = (saturation.failed, measured.failed_alone);
            format!("Failed      {first} samples in the first phase, {second} one at a time: {reason}\n")
        });
        let tokens_per_s = saturation.tokens as f64 / saturation.duration.as_secs_f64();
        let tokens =
            if saturation.tokens > 0 { format!("Tokens      {tokens_per_s:.2} tokens/s\n") } else { String::new() };
        let nan = if measured.nan > 0 { format!("NaN         in {} answers\n", measured.nan) } else { String::new() };
        format!(
            "Backend     {}{model}\n\
             Samples     {} ({} different ones of {} bytes)\n\
             Throughput  {:.2} samples/s ({} in {:.1?}, {} in flight)\n{tokens}\
             Latency     p50 {:.1?}, p90 {:.1?}, p99 {:.1?}, max {:.1?} (one at a time, {} samples)\n{failed}{nan}",
            info.engine,
            samples.what,
            samples.count(),
            samples.mean_bytes(),
            self.samples_per_s(),
            saturation.samples,
            saturation.duration,
            saturation.in_flight,
            at(0.5),
            at(0.9),
            at(0.99),
            at(1.0),
            measured.latency_ns.len(),
        )
    }
}

/// The keys of `latency_ns` in a run's results, and how many samples there were.
fn latency(histogram: &Histogram<u64>) -> Value {
    let at = |quantile| histogram.value_at_quantile(quantile);
    json!({
        "count": histogram.len(),
        "min": histogram.min(),
        "mean": histogram.mean(),
        "p50": at(0.5), "p90": at(0.9), "p95": at(0.95), "p97": at(0.97), "p99": at(0.99), "p99_9": at(0.999),
        "max": histogram.max(),
    })
}

fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
