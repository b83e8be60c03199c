//! Results of `bench`, for people and for `loadgen-node run --baseline`.

use std::time::Duration;

use hdrhistogram::Histogram;
use lon_proto::stages::duration_ns;
use lon_shell::documents::{
    BENCH_SCHEMA, BenchBackend, BenchLatency, BenchOptions, BenchReport, BenchSamples, BenchThroughput,
};

use super::measure::Measured;
use super::samples::Samples;
use crate::backend::BackendInfo;
use crate::config::ServeConfig;
use crate::service::describe::{SOFTWARE, inputs, texts};

/// Results of `bench`, with the backend, the configuration and the samples of the measurement.
pub struct Report<'a> {
    /// The backend that was asked.
    pub info: &'a BackendInfo,
    /// Configuration of the measurement.
    pub config: &'a ServeConfig,
    /// Threads inside one inference.
    pub threads: usize,
    /// Post-processing of the model's outputs.
    pub postprocess: String,
    /// Samples that the backend was asked with.
    pub samples: &'a Samples,
    /// Time that each phase was to last.
    pub phase: Duration,
    /// Results of both phases.
    pub measured: &'a Measured,
}

impl Report<'_> {
    /// Samples answered per second in the first phase.
    fn samples_per_s(&self) -> f64 {
        self.measured.saturation.samples as f64 / self.measured.saturation.duration.as_secs_f64()
    }

    /// The document that `--json` prints and `--out` writes.
    pub fn document(&self) -> BenchReport {
        let Report { info, config, samples, measured, .. } = self;
        let saturation = &measured.saturation;
        BenchReport {
            schema: BENCH_SCHEMA,
            software: SOFTWARE.to_owned(),
            backend: BenchBackend {
                engine: info.engine.clone(),
                model: info.model.clone(),
                model_sha256: info.model_sha256.clone().unwrap_or_default(),
                inputs: texts(&inputs(info, config.model.preprocess.as_ref())),
                outputs: texts(&info.outputs),
            },
            options: BenchOptions {
                max_batch: config.model.max_batch.get() as u64,
                max_delay_ns: duration_ns(config.model.max_delay),
                workers: config.model.workers.get() as u64,
                threads: self.threads as u64,
                preprocess: config.model.preprocess.as_ref().map(ToString::to_string),
                postprocess: self.postprocess.clone(),
                phase_ns: duration_ns(self.phase),
            },
            samples: BenchSamples {
                what: samples.what.clone(),
                count: samples.count() as u64,
                mean_bytes: samples.mean_bytes() as u64,
            },
            throughput: BenchThroughput {
                samples_per_s: self.samples_per_s(),
                samples: saturation.samples,
                failed: saturation.failed,
                duration_ns: duration_ns(saturation.duration),
                in_flight: saturation.in_flight,
            },
            latency_ns: latency(&measured.latency_ns),
            nan: measured.nan,
        }
    }

    /// The same for people, on several lines.
    pub fn text(&self) -> String {
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

/// The latencies of the second phase.
fn latency(histogram: &Histogram<u64>) -> BenchLatency {
    let at = |quantile| histogram.value_at_quantile(quantile);
    BenchLatency {
        count: histogram.len(),
        min: histogram.min(),
        mean: histogram.mean(),
        p50: at(0.5),
        p90: at(0.9),
        p95: at(0.95),
        p97: at(0.97),
        p99: at(0.99),
        p99_9: at(0.999),
        max: histogram.max(),
    }
}
