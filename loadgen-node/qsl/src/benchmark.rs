//! The benchmarks that are known, as data. Adding one is adding a row.

use std::path::Path;

use crate::accuracy::Metric;
use crate::dataset::{Dataset, DatasetError};
use crate::{digits, synthetic};

/// A benchmark: what is asked, within which limits, and what counts as right.
#[derive(Clone, Copy, Debug)]
pub struct Benchmark {
    /// As given to `--benchmark`.
    pub name: &'static str,
    /// For `--help` and error messages.
    pub about: &'static str,
    /// Settings that differ from LoadGen's defaults, as `[SCENARIO.]KEY=VALUE` with LoadGen config keys.
    pub settings: &'static [&'static str],
    /// How answers are scored; none: there is nothing to score.
    pub accuracy: Option<Target>,
    open: fn(Option<&str>) -> Result<Dataset, DatasetError>,
}

/// An accuracy metric and what it must reach.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The metric.
    pub metric: Metric,
    /// In the metric's unit.
    pub value: f64,
}

/// Every benchmark.
pub const BENCHMARKS: &[Benchmark] = &[
    Benchmark {
        name: "digits",
        about: "450 handwritten digits of 8x8 pixels, classified by a small convolutional net; ships with the program",
        // The target of 97 % is the one that the model of the digits folder must pass on every backend.
        settings: &["Server.target_latency=100"],
        accuracy: Some(Target { metric: Metric::Top1, value: 97.0 }),
        open: open_digits,
    },
    Benchmark {
        name: "synthetic",
        about: "any shape of sample on any backend, no accuracy; needs --dataset synthetic:DTYPE[DIMS]xCOUNT",
        settings: &[],
        accuracy: None,
        open: open_synthetic,
    },
];

/// A name that is no benchmark.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a benchmark (known: {known})", known = known())]
pub struct UnknownBenchmark(pub String);

fn known() -> String {
    BENCHMARKS.iter().map(|benchmark| benchmark.name).collect::<Vec<_>>().join(", ")
}

impl Benchmark {
    /// The benchmark of this name.
    ///
    /// # Errors
    /// There is none; the error lists those there are.
    pub fn find(name: &str) -> Result<&'static Benchmark, UnknownBenchmark> {
        let found = BENCHMARKS.iter().find(|benchmark| benchmark.name == name);
        found.ok_or_else(|| UnknownBenchmark(name.to_owned()))
    }

    /// Opens its dataset, or the one given with `--dataset`.
    ///
    /// # Errors
    /// The dataset is missing, altered, or not what this benchmark takes.
    pub fn open(&self, dataset: Option<&str>) -> Result<Dataset, DatasetError> {
        (self.open)(dataset)
    }
}

fn open_digits(dataset: Option<&str>) -> Result<Dataset, DatasetError> {
    match dataset {
        None => digits::embedded(),
        Some(text) if text.starts_with(synthetic::PREFIX) => synthetic::open(text),
        Some(folder) => digits::from_folder(Path::new(folder)),
    }
}

fn open_synthetic(dataset: Option<&str>) -> Result<Dataset, DatasetError> {
    match dataset {
        None => Err(DatasetError::Needed("synthetic", "synthetic:u8[64]x1024")),
        Some(text) if text.starts_with(synthetic::PREFIX) => synthetic::open(text),
        // Any dataset on any backend: digits are the only folder kind there is so far.
        Some(folder) => digits::from_folder(Path::new(folder)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_list_the_known() {
        let error = Benchmark::find("resnet").unwrap_err().to_string();
        assert!(error.contains("'resnet'") && error.contains("digits"), "{error}");
    }

    #[test]
    fn synthetic_asks_for_a_dataset() {
        let error = Benchmark::find("synthetic").unwrap().open(None).unwrap_err().to_string();
        assert!(error.contains("--dataset synthetic:u8[64]x1024"), "{error}");
    }
}
