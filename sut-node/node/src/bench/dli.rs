//! Results of `bench` as rows of the DLI benchmark: a row for its latency mode, a row for its throughput mode.
//!
//! A request is a batch of the largest size. Latency mode has the batches that were asked one after the other,
//! throughput mode the batches that were in flight at the same time.

use lon_shell::dli::facts::Facts;
use lon_shell::dli::line;
use lon_shell::dli::row::{HEADS, INFERENCE_FAILURE, Measured, NO_ERROR, Parameters, Row};
use lon_shell::dli::terms::{Mode, blobs, device, infrastructure, stated};
use lon_shell::documents::DescribeDocument;

use super::measure::MeasuredBatches;
use super::samples::Samples;
use crate::config::ServeConfig;

/// Results of `bench`, with the facts that the caller gives.
pub struct DliReport<'a> {
    /// Description of the backend and of this host.
    pub description: &'a DescribeDocument,
    /// Configuration of the measurement.
    pub config: &'a ServeConfig,
    /// Samples that the backend was asked with.
    pub samples: &'a Samples,
    /// Facts that no measurement knows.
    pub facts: &'a Facts,
    /// Results of both phases.
    pub measured: &'a MeasuredBatches,
}

impl DliReport<'_> {
    /// The table as CSV with `;`.
    pub fn csv(&self) -> String {
        let rows = [self.latency_mode(), self.throughput_mode()].map(|row| line(&row.cells()));
        std::iter::once(line(&HEADS.map(str::to_owned))).chain(rows).collect()
    }

    fn batch(&self) -> u64 {
        self.config.model.max_batch.get() as u64
    }

    fn latency_mode(&self) -> Row {
        let requests = &self.measured.requests;
        let times_s: Vec<f64> = requests.iter().map(|request| request.time.as_secs_f64()).collect();
        let tokens = requests.iter().map(|request| u32::try_from(request.tokens).unwrap_or(u32::MAX));
        let measured = Measured::of_latency_mode(&times_s, self.batch());
        let measured = measured.with_tokens(&times_s, &tokens.collect::<Vec<u32>>());
        self.row(Mode::Latency, measured, self.measured.failed_requests == 0 && !requests.is_empty())
    }

    fn throughput_mode(&self) -> Row {
        let saturation = &self.measured.saturation;
        let total_s = saturation.duration.as_secs_f64();
        let measured = Measured::of_throughput_mode(saturation.samples, total_s, self.batch());
        self.row(Mode::Throughput, measured, saturation.failed == 0 && saturation.samples > 0)
    }

    fn row(&self, mode: Mode, measured: Measured, is_whole: bool) -> Row {
        let DliReport { description, facts, .. } = self;
        let backend = &description.backend;
        let settings: Vec<(String, String)> = backend.settings.clone().into_iter().collect();
        let in_flight = self.measured.saturation.in_flight.div_ceil(self.batch());
        let of_throughput = |number: u64| Some(number).filter(|_| mode == Mode::Throughput);
        let parameters = Parameters {
            settings: &settings,
            iterations: measured.iterations,
            requests: of_throughput(in_flight),
            streams: of_throughput(self.config.model.workers.get() as u64),
        };
        Row {
            is_whole,
            task: stated(facts.task.as_deref()),
            topology: stated(facts.topology.as_deref().or(Some(&backend.model))),
            dataset: facts.dataset.clone().unwrap_or_else(|| self.samples.what.clone()),
            framework: stated(facts.framework.as_deref()),
            engine: stated(Some(&backend.engine)),
            blobs: blobs(&backend.inputs, self.batch()),
            image_blobs: blobs(&backend.inputs, 1),
            precision: stated(facts.precision.as_deref()),
            batch: Some(self.batch()),
            mode: Some(mode),
            device: device(&settings),
            parameters: parameters.to_string(),
            infrastructure: infrastructure(&description.host),
            measured,
            error: if is_whole { NO_ERROR } else { INFERENCE_FAILURE },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;
    use std::time::Duration;

    use super::*;
    use crate::backend::{BackendOptions, Backends};
    use crate::bench::measure::{Request, Saturation};
    use crate::service::describe;

    /// Requests of 2 images in 0.1, 0.2, 0.3 and 0.4 s: median 0.25 s, 8 images in 1 s. In throughput mode 100 images
    /// in 4 s are 50 batches of 0.08 s, 25 images a second.
    #[test]
    fn both_modes_have_a_row() {
        let backend = Backends::new().open("synthetic:constant=1ms", &BackendOptions::default()).unwrap();
        let node = "bench".parse().unwrap();
        let description = describe::document(&node, backend.as_ref(), None);
        let mut config = ServeConfig::new(node);
        config.model.max_batch = NonZeroUsize::new(2).unwrap();
        let samples = Samples::for_backend(backend.as_ref(), None).unwrap();
        let request = |ms| Request { time: Duration::from_millis(ms), tokens: 0 };
        let saturation =
            Saturation { samples: 100, failed: 1, tokens: 0, duration: Duration::from_secs(4), in_flight: 8 };
        let measured = MeasuredBatches {
            saturation,
            requests: [400, 100, 300, 200].map(request).to_vec(),
            failed_requests: 0,
            failure: None,
        };
        let facts = "task=classification,precision=FP32".parse().unwrap();
        let report = DliReport {
            description: &description,
            config: &config,
            samples: &samples,
            facts: &facts,
            measured: &measured,
        };
        let (latency, throughput) = (report.latency_mode().cells(), report.throughput_mode().cells());
        assert_eq!([&latency[0], &latency[1], &latency[7], &latency[9]], ["Success", "classification", "FP32", "Sync"]);
        assert_eq!(latency[12..16], ["0.25000", "0.25000", "8.000", "8.000"]);
        assert_eq!([&throughput[0], &throughput[9], &throughput[21]], ["Failed", "Async", INFERENCE_FAILURE]);
        assert_eq!(throughput[12..16], ["0.08000", "N/A", "25.000", "25.000"]);
        let right = "Device: CPU, Iteration count: 50, Async request count: 4, Stream count: 1";
        assert_eq!(throughput[10], right);
        assert_eq!(report.csv().lines().count(), 3);
    }
}
