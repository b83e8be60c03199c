//! The samples of a test: the dataset is opened, and it is checked that the samples fit into memory.

use anyhow::anyhow;
use lon_machine::memory;
use lon_qsl::benchmark::Benchmark;
use lon_qsl::dataset::{Dataset, OpenOptions, SLOT_BYTES};
use lon_qsl::{Codec, PART_BYTES};

use super::spec::{Codecs, DataSpec};
use crate::exit::{Exit, OrExit as _, Outcome};
use loadgen::plan::Plan;
use loadgen::plan::predict::{SampleSize, predict};
use loadgen::settings::{Qsl, TestSettings};

/// About as many bytes as a message's fields take beside its payload.
pub const MESSAGE_FIELDS_BYTES: u64 = 24;

/// The memory of a loaded sample on the heap beside its bytes: the count of its owners, and the bytes by which an
/// allocator rounds up.
const HANDLE_BYTES: u64 = 48;

/// Opens the dataset as it is. `codec` says whether samples will be the dataset's own files.
pub fn open(benchmark: &Benchmark, spec: &DataSpec, codec: Codec) -> Outcome<Dataset> {
    let (preprocess, original) = (spec.preprocess.clone(), codec == Codec::Original);
    let (aggregate, ids_alone) = (spec.aggregate.clone(), spec.ids_alone);
    let options = OpenOptions { preprocess, original, aggregate, ids_alone, ..OpenOptions::default() };
    let dataset = benchmark.open_with(spec.dataset.as_deref(), &options).or_exit(Exit::Usage)?;
    if let Some(note) = dataset.note() {
        tracing::info!(note, "dataset");
    }
    Ok(dataset)
}

/// Opens the dataset for a run: with the codec of its samples, and with no more samples in memory together than fit.
///
/// # Errors
/// The dataset cannot be opened, or cannot be sent with this codec (exit code 2).
pub fn open_for_run(benchmark: &Benchmark, spec: &DataSpec, codecs: Codecs) -> Outcome<Dataset> {
    if codecs.answers == Codec::Original {
        return Err(anyhow!("--response-compression original: answers have no files of their own"))
            .or_exit(Exit::Usage);
    }
    let mut dataset = open(benchmark, spec, codecs.samples)?;
    dataset.fits_codec(codecs.samples).or_exit(Exit::Usage)?;
    dataset.set_codec(codecs.samples);
    limit(&mut dataset, benchmark)?;
    Ok(dataset)
}

/// The counts that the engine plans with.
pub fn counts(dataset: &Dataset) -> Qsl {
    Qsl { total: dataset.total_count() as u64, performance: dataset.performance_count() as u64 }
}

/// Samples of a library of which nothing is known.
pub const UNKNOWN_COUNT: u64 = 1_024;

/// The counts that the engine plans with where there is no dataset: one that official settings give, or any.
pub fn unknown_counts(settings: &TestSettings) -> Qsl {
    let count = match settings.performance_sample_count_override {
        0 => UNKNOWN_COUNT,
        count => count,
    };
    Qsl { total: count, performance: count }
}

/// The counts of the dataset that a benchmark prescribes. None where it prescribes no number of samples.
pub(crate) fn official_counts(benchmark: &Benchmark) -> Option<Qsl> {
    let total = benchmark.qsl.total_samples?;
    let performance = benchmark.qsl.performance_samples.unwrap_or(total);
    Some(Qsl { total: total as u64, performance: performance as u64 })
}

/// Returns the size of one sample in memory and in messages, judged by the first.
pub fn sample_size(dataset: &Dataset) -> Outcome<SampleSize> {
    let bytes = dataset.sample_bytes().or_exit(Exit::Usage)?;
    let messages = bytes.div_ceil(PART_BYTES as u64).max(1);
    let wire_bytes = bytes + messages * MESSAGE_FIELDS_BYTES;
    Ok(SampleSize { memory_bytes: bytes + HANDLE_BYTES, wire_bytes })
}

/// Limits the samples that are in memory together to what the official QSL has, and to what fits.
fn limit(dataset: &mut Dataset, benchmark: &Benchmark) -> Outcome<()> {
    // Datasets of any size may stand in for the official one, which alone has the official limit.
    let is_official = benchmark.qsl.total_samples == Some(dataset.total_count());
    if let Some(official) = benchmark.qsl.performance_samples.filter(|_| is_official) {
        dataset.limit_performance_count(official);
    }
    let sample_bytes = sample_size(dataset)?.memory_bytes.max(1);
    let Some(available_bytes) = memory::available_bytes() else { return Ok(()) };
    let (sample_count, fit) = (dataset.performance_count(), available_bytes / 4 * 3 / sample_bytes);
    if fit < sample_count as u64 && dataset.is_read_when_needed() {
        dataset.limit_performance_count(fit as usize);
        let count = dataset.performance_count();
        tracing::warn!(
            wanted = sample_count,
            fit = count,
            "not all samples fit into memory together: a performance run draws from those that do, an accuracy run \
             loads so many at a time"
        );
    }
    Ok(())
}

/// Refuses a set of `samples` samples that cannot be loaded together. For before the plan, which lists the samples.
pub(super) fn check_set(samples: u64, dataset: &Dataset) -> Outcome<()> {
    check_available(sample_size(dataset)?.memory_bytes.saturating_mul(samples), dataset)
}

/// Refuses a run whose samples and records do not fit into memory, before it is killed half way.
pub(super) fn check_memory(plan: &Plan, dataset: &Dataset) -> Outcome<()> {
    check_available(predict(plan, sample_size(dataset)?).memory_bytes, dataset)
}

/// Checks that `needed_bytes` can be had, together with the memory in which the dataset keeps samples that are not
/// loaded.
fn check_available(needed_bytes: u64, dataset: &Dataset) -> Outcome<()> {
    let needed_bytes = needed_bytes.saturating_add(SLOT_BYTES * dataset.total_count() as u64);
    match memory::available_bytes() {
        Some(available_bytes) if needed_bytes > available_bytes => Err(anyhow!(
            "samples and records of this run need {needed_bytes} bytes of memory, {available_bytes} are available: \
             fewer samples, a shorter duration or a lower rate need less"
        ))
        .or_exit(Exit::Usage),
        _ => Ok(()),
    }
}
