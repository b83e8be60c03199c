//! Samples that `bench` asks the backend with.

use std::path::Path;

use anyhow::Context as _;
use lon_qsl::dataset::{Dataset, OpenOptions};
use lon_shell::failure::OrExit as _;
use lon_sut::backend::Backend;
use lon_sut::bench::samples::{MOST_BYTES, Samples};
use lon_sut::pipeline::Preprocessing;
use lon_sut::tensor::Signature;
use lon_sut::{ServeConfig, ServeError, describe};

use super::args::BenchArgs;
use super::exit::{Exit, Failure};

/// Samples for the backend: the user's, else samples that are made for the model.
pub(super) fn bench_samples(args: &BenchArgs, config: &ServeConfig, backend: &dyn Backend) -> Result<Samples, Failure> {
    let takes_files = config.model.preprocess.as_ref().is_some_and(Preprocessing::takes_files);
    let inputs = || describe::inputs(backend.info(), config.model.preprocess.as_ref());
    match &args.samples {
        Some(folder) if takes_files => Samples::jpegs(folder).or_exit(Exit::Usage),
        Some(path) => samples_of(path, &inputs()).context("--samples").or_exit(Exit::Usage),
        None if config.model.preprocess.is_some() => Samples::synthetic(&inputs(), args.free_size).or_exit(Exit::Usage),
        None => Samples::for_backend(backend, args.free_size).or_exit(Exit::Usage),
    }
}

/// The most samples of a dataset that are taken.
const MOST_SAMPLES: usize = 1024;

/// The first samples of a dataset, as `loadgen-node run --dataset` takes it, for a model of these inputs.
fn samples_of(path: &Path, inputs: &Signature) -> anyhow::Result<Samples> {
    let text = path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))?;
    let mut dataset = Dataset::open(text, &OpenOptions::default())?;
    dataset.fit_to(inputs)?;
    dataset.fits_model(inputs)?;
    let fit = (MOST_BYTES as u64 / dataset.sample_bytes()?.max(1)).max(1);
    let count = dataset.total_count().min(MOST_SAMPLES).min(usize::try_from(fit).unwrap_or(usize::MAX));
    dataset.load(0..count)?;
    let payloads: Vec<_> = (0..count).map(|index| dataset.payload(index)).collect();
    let varies = payloads.windows(2).any(|pair| pair[0].len() != pair[1].len());
    let others = if varies { " and other sizes" } else { "" };
    Ok(Samples::of_payloads(payloads, format!("{}{others} of {text}", dataset.first_sample()?.shapes()))?)
}

/// The failure of a backend that cannot be measured.
pub(super) fn bench_failure(error: ServeError) -> Failure {
    match error {
        ServeError::Os { .. } => Failure::new(Exit::Bug, error),
        error => Failure::new(Exit::Usage, error),
    }
}
