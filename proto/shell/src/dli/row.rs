//! A performance test with its 22 columns.

use std::fmt;

use super::metrics::{LatencyMode, ThroughputMode, by_tokens};
use super::terms::{Mode, NONE, device, setting, stated};

/// The heads of the columns, as DLI has them.
pub const HEADS: [&str; 22] = [
    "Status",
    "Task type",
    "Topology name",
    "Dataset",
    "Framework",
    "Inference Framework",
    "Input blob sizes",
    "Precision",
    "Batch size",
    "Mode",
    "Parameters",
    "Infrastructure",
    "Average time of single pass (s)",
    "Latency",
    "FPS",
    "BATCH FPS",
    "Latency per token",
    "Median tokens num",
    "Average audio length",
    "Audio sampling rate (Hz)",
    "Latency per second",
    "Error type",
];

/// The error type of a test without an error.
pub const NO_ERROR: &str = "NO_ERROR";
/// The error type of a test whose cause of failure has no word of its own.
pub const INFERENCE_FAILURE: &str = "INFERENCE_FAILURE";

/// A performance test. A text is `N/A` where it is not known.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Every sample was answered.
    pub is_whole: bool,
    /// Task of the model, such as `classification`.
    pub task: String,
    /// Name of the model.
    pub topology: String,
    /// Name of the dataset.
    pub dataset: String,
    /// Framework in which the model was trained.
    pub framework: String,
    /// Engine that ran the model.
    pub engine: String,
    /// The sizes of the inputs, with the batch in front.
    pub blobs: String,
    /// The sizes of the inputs of one image.
    pub image_blobs: String,
    /// Precision of the weights.
    pub precision: String,
    /// Images of a batch.
    pub batch: Option<u64>,
    /// Latency mode or throughput mode.
    pub mode: Option<Mode>,
    /// The processor, or the execution provider.
    pub device: String,
    /// Parameters of the test: see [`Parameters`].
    pub parameters: String,
    /// The host that ran the model.
    pub infrastructure: String,
    /// Quantities of the test.
    pub measured: Measured,
    /// The error type.
    pub error: &'static str,
}

/// Quantities of a test. None: the test has no such quantity.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measured {
    /// Number of batches.
    pub iterations: u64,
    /// Average time of a batch, s.
    pub average_s: Option<f64>,
    /// Median time of a batch, s; of latency mode.
    pub latency_s: Option<f64>,
    /// Images per second over the total time.
    pub fps: Option<f64>,
    /// Images of a batch over its time, per second.
    pub batch_fps: Option<f64>,
    /// Median latency of a token, s.
    pub token_latency_s: Option<f64>,
    /// Median number of tokens of an answer.
    pub tokens: Option<f64>,
}

/// Parameters of a test.
#[derive(Clone, Copy, Debug)]
pub struct Parameters<'a> {
    /// Settings of the node, by name: `threads`, `execution_provider`.
    pub settings: &'a [(String, String)],
    /// Number of batches.
    pub iterations: u64,
    /// Batches in flight in throughput mode, where the test sets their number.
    pub requests: Option<u64>,
    /// Batches that are computed at one time, in throughput mode.
    pub streams: Option<u64>,
}

impl fmt::Display for Parameters<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device: {}, Iteration count: {}", device(self.settings), self.iterations)?;
        if let Some(requests) = self.requests {
            write!(f, ", Async request count: {requests}")?;
        }
        if let Some(threads) = setting(self.settings, "threads") {
            write!(f, ", Thread count: {threads}")?;
        }
        if let Some(streams) = self.streams {
            write!(f, ", Stream count: {streams}")?;
        }
        match setting(self.settings, "execution_provider") {
            Some(provider) => write!(f, ", Execution Providers: {provider}"),
            None => Ok(()),
        }
    }
}

impl Measured {
    /// Of requests one after the other, each of so many images, with their times in s.
    pub fn of_latency_mode(requests_s: &[f64], batch: u64) -> Measured {
        let of = LatencyMode::of(requests_s, batch as f64);
        Measured {
            iterations: requests_s.len() as u64,
            average_s: of.map(|of| of.average_s),
            latency_s: of.map(|of| of.latency_s),
            fps: of.map(|of| of.fps),
            batch_fps: of.map(|of| of.batch_fps),
            ..Measured::default()
        }
    }

    /// Of so many images in so much time, with requests in flight at the same time.
    pub fn of_throughput_mode(images: u64, total_s: f64, batch: u64) -> Measured {
        let of = ThroughputMode::of(images, total_s, batch as f64);
        Measured {
            iterations: images.div_ceil(batch),
            average_s: of.map(|of| of.average_s),
            latency_s: None,
            fps: of.map(|of| of.fps),
            batch_fps: of.map(|of| of.fps),
            ..Measured::default()
        }
    }

    /// The same with the tokens of answers, whose latencies are in s.
    pub fn with_tokens(self, latencies_s: &[f64], tokens: &[u32]) -> Measured {
        let (token_latency_s, tokens) = by_tokens(latencies_s, tokens).unzip();
        Measured { token_latency_s, tokens, ..self }
    }
}

impl Row {
    /// The 22 cells.
    pub fn cells(&self) -> [String; HEADS.len()] {
        let seconds = |value: Option<f64>| stated(value.map(|value| format!("{value:.5}")).as_deref());
        let rate = |value: Option<f64>| stated(value.map(rate_text).as_deref());
        let measured = &self.measured;
        [
            if self.is_whole { "Success" } else { "Failed" }.to_owned(),
            self.task.clone(),
            self.topology.clone(),
            self.dataset.clone(),
            self.framework.clone(),
            self.engine.clone(),
            self.blobs.clone(),
            self.precision.clone(),
            stated(self.batch.map(|batch| batch.to_string()).as_deref()),
            stated(self.mode.map(Mode::word)),
            self.parameters.clone(),
            self.infrastructure.clone(),
            seconds(measured.average_s),
            seconds(measured.latency_s),
            rate(measured.fps),
            rate(measured.batch_fps),
            seconds(measured.token_latency_s),
            stated(measured.tokens.map(|tokens| tokens.to_string()).as_deref()),
            NONE.to_owned(),
            NONE.to_owned(),
            NONE.to_owned(),
            self.error.to_owned(),
        ]
    }
}

/// A rate as DLI rounds it.
pub fn rate_text(rate: f64) -> String {
    format!("{rate:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_in_the_words_of_dli() {
        let settings = [("threads", "3"), ("execution_provider", "CUDA")];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let all = Parameters { settings: &settings, iterations: 13, requests: Some(4), streams: Some(2) };
        let right = "Device: CUDA, Iteration count: 13, Async request count: 4, Thread count: 3, Stream count: 2, \
                     Execution Providers: CUDA";
        assert_eq!(all.to_string(), right);
        let least = Parameters { settings: &[], iterations: 1, requests: None, streams: None };
        assert_eq!(least.to_string(), "Device: CPU, Iteration count: 1");
    }

    #[test]
    fn modes_have_their_own_formulas() {
        let sync = Measured::of_latency_mode(&[0.4, 0.1, 0.3, 0.2], 2);
        assert_eq!(
            (sync.iterations, sync.latency_s, sync.fps.map(rate_text)),
            (4, Some(0.25), Some("8.000".to_owned()))
        );
        let other = Measured::of_throughput_mode(100, 4.0, 8);
        assert_eq!((other.iterations, other.average_s, other.latency_s, other.fps), (13, Some(0.32), None, Some(25.0)));
        let tokens = other.with_tokens(&[1.0, 3.0, 2.0], &[10, 10, 20]);
        assert_eq!((tokens.token_latency_s, tokens.tokens), (Some(0.1), Some(10.0)));
    }
}
