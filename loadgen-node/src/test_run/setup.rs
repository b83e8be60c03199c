//! From flags to a checked plan: everything that can be wrong before a SUT node is asked anything.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use lon_qsl::benchmark::Benchmark;
use lon_qsl::dataset::OpenOptions;
use lon_qsl::dataset::{Dataset, SLOT_BYTES};
use lon_qsl::memory;
use lon_qsl::{Codec, PART_BYTES};

use crate::cli::{Compression, ConfFiles, RunArgs, TestArgs};
use crate::exit::{Exit, OrExit as _, Outcome};
use crate::outputs::folder::FolderError;
use crate::test_run::stated::Stated;
use crate::verdict::baseline::Baseline;
use crate::verdict::division::{self, DivisionFacts};
use crate::world::kserve;
use loadgen::conf::keys::Owner;
use loadgen::conf::origin::{File, Origin, Sourced, Strictness};
use loadgen::conf::rules::Rules;
use loadgen::plan::Plan;
use loadgen::plan::predict::{SampleSize, predict};
use loadgen::settings::{Assignment, Mode, Qsl, Scenario};

/// A test that can be run as far as this side is concerned.
pub(crate) struct Setup {
    pub(crate) benchmark: &'static Benchmark,
    pub(crate) dataset: Dataset,
    pub(crate) codec: Codec,
    pub(crate) plan: Plan,
    pub(crate) rules: &'static Rules,
    /// What the run is not by the rules of the Network division, where it need not be.
    pub(crate) marks: Vec<String>,
    /// Of the system, by the user.
    pub(crate) stated: Stated,
    /// What the same backend does without a network.
    pub(crate) baseline: Option<Baseline>,
    pub(crate) out: PathBuf,
}

/// Checks benchmark, dataset and settings, and works out the plan.
pub(crate) fn prepare(args: &RunArgs) -> Outcome<Setup> {
    let benchmark = Benchmark::named(&args.benchmark).or_exit(Exit::Usage)?;
    let (dataset, codec) = dataset(args, benchmark)?;
    let qsl = Qsl { total: dataset.total_count() as u64, performance: dataset.performance_count() as u64 };
    let Wanted { sourced, rules } = settings(&Sources {
        model: benchmark.name,
        data: &benchmark.settings,
        scenario: args.scenario,
        mode: args.test.mode,
        set: &args.test.set,
        files: &args.test.files,
    })?;
    let misfit = benchmark.fits(&dataset).err().map(|error| error.to_string());
    let facts = DivisionFacts {
        scenario: args.scenario,
        benchmark,
        codec,
        response_codec: args.codecs.response_compression,
        round: rules.round.name,
        kserve: kserve::is_on(&args.dial),
        misfit: misfit.as_deref(),
    };
    let marks = division::check(args.division, &facts).context("--division network").or_exit(Exit::Usage)?;
    for warning in sourced.warnings() {
        tracing::warn!("{warning}");
    }
    // The plan itself lists the samples.
    let set = match sourced.settings().performance_sample_count_override {
        0 => qsl.performance,
        count => count.min(qsl.total),
    };
    check_available(sample_size(&dataset)?.memory_bytes.saturating_mul(set), &dataset)?;
    let plan = Plan::with_profile(sourced.settings().clone(), qsl, rules.profile);
    let plan = plan.context("these settings cannot be run").or_exit(Exit::Usage)?;
    check_labels(&plan, benchmark, &dataset)?;
    kserve::check(args, &plan).context("--transport kserve").or_exit(Exit::Usage)?;
    let stated = args.system_desc.as_deref().map(Stated::read).transpose();
    let stated = stated.context("--system-desc").or_exit(Exit::Usage)?.unwrap_or_default();
    let baseline =
        args.baseline.as_deref().map(Baseline::read).transpose().context("--baseline").or_exit(Exit::Usage)?;
    let out = args.out.clone().unwrap_or_else(|| default_out(benchmark, args.scenario.name()));
    // Found here, before any node is bothered; made once they have all agreed to the run.
    if out.exists() {
        return Err(FolderError::Exists(out)).or_exit(Exit::Usage);
    }
    check_memory(&plan, &dataset)?;
    Ok(Setup { benchmark, dataset, codec, plan, rules, marks, stated, baseline, out })
}

/// What is asked, and what it is wrapped in.
fn dataset(args: &RunArgs, benchmark: &Benchmark) -> Outcome<(Dataset, Codec)> {
    let codec = match args.codecs.compression {
        Compression::Codec(codec) => codec,
        Compression::Auto => Codec::None,
    };
    if args.codecs.response_compression == Codec::Original {
        return Err(anyhow!("--response-compression original: answers have no files of their own"))
            .or_exit(Exit::Usage);
    }
    let mut dataset = open(benchmark, &args.test, codec)?;
    dataset.fits_codec(codec).or_exit(Exit::Usage)?;
    dataset.set_codec(codec);
    limit(&mut dataset, benchmark)?;
    Ok((dataset, codec))
}

/// The dataset that is asked for, as it is.
pub(crate) fn open(benchmark: &Benchmark, args: &TestArgs, codec: Codec) -> Outcome<Dataset> {
    let (preprocess, original) = (args.preprocess.clone(), codec == Codec::Original);
    let options = OpenOptions { preprocess, original, ..OpenOptions::default() };
    let dataset = benchmark.open_with(args.dataset.as_deref(), &options).or_exit(Exit::Usage)?;
    if let Some(note) = dataset.note() {
        tracing::info!("{note}");
    }
    Ok(dataset)
}

/// Samples in memory together at most: what the official QSL has, and what fits.
fn limit(dataset: &mut Dataset, benchmark: &Benchmark) -> Outcome<()> {
    // Other datasets may stand in for the official one, of whatever size.
    let is_official = benchmark.qsl.total_samples == Some(dataset.total_count());
    if let Some(official) = benchmark.qsl.performance_samples.filter(|_| is_official) {
        dataset.limit_performance_count(official);
    }
    let sample_bytes = sample_size(dataset)?.memory_bytes.max(1);
    let Some(available_bytes) = memory::available_bytes() else { return Ok(()) };
    let (wanted, fit) = (dataset.performance_count(), available_bytes / 4 * 3 / sample_bytes);
    if fit < wanted as u64 && dataset.is_read_when_needed() {
        dataset.limit_performance_count(fit as usize);
        let count = dataset.performance_count();
        tracing::warn!(
            "{wanted} samples do not fit into memory together, {count} do: a performance run draws from so many, \
             an accuracy run loads so many at a time"
        );
    }
    Ok(())
}

/// An accuracy run whose score would fail at its end fails here.
fn check_labels(plan: &Plan, benchmark: &Benchmark, dataset: &Dataset) -> Outcome<()> {
    let Some(target) = benchmark.accuracy.filter(|_| plan.effective().mode.has_accuracy()) else { return Ok(()) };
    if dataset.truths().is_none() {
        tracing::warn!("{} has no labels: answers are logged, but not scored", dataset.name());
    }
    dataset.fits_metric(target.metric).or_exit(Exit::Usage)
}

/// A run that cannot fit is refused here, not killed in the middle.
fn check_memory(plan: &Plan, dataset: &Dataset) -> Outcome<()> {
    check_available(predict(plan, sample_size(dataset)?).memory_bytes, dataset)
}

/// Whether so much and what the dataset keeps of samples that are not loaded can be had.
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

/// A message's fields beside its payload, about.
pub(crate) const MESSAGE_FIELDS_BYTES: u64 = 24;

/// What a loaded sample takes on the heap beside its bytes: the count of its owners, and what an allocator rounds up.
const HANDLE_BYTES: u64 = 48;

/// What one sample takes in memory and on the wire, judged by the first.
pub(crate) fn sample_size(dataset: &Dataset) -> Outcome<SampleSize> {
    let bytes = dataset.sample_bytes().or_exit(Exit::Usage)?;
    let messages = bytes.div_ceil(PART_BYTES as u64).max(1);
    let wire_bytes = bytes + messages * MESSAGE_FIELDS_BYTES;
    Ok(SampleSize { memory_bytes: bytes + HANDLE_BYTES, wire_bytes })
}

/// All that settings are made of, as typed.
pub(crate) struct Sources<'a> {
    /// The benchmark's name in config files.
    pub(crate) model: &'a str,
    /// What is known about the benchmark, as `[SCENARIO.]KEY=VALUE`.
    pub(crate) data: &'a [&'a str],
    pub(crate) scenario: Scenario,
    pub(crate) mode: Option<Mode>,
    pub(crate) set: &'a [Assignment],
    pub(crate) files: &'a ConfFiles,
}

/// The settings, and the round they follow.
pub(crate) struct Wanted {
    pub(crate) sourced: Sourced,
    pub(crate) rules: &'static Rules,
}

/// Lays the sources over each other, in the order that `Sourced` explains.
///
/// A round's wildcards would give every benchmark of ours the ten minutes of a submission, so its settings apply to
/// the benchmarks of MLPerf and to whoever asks for a round; the others take its seeds.
pub(crate) fn settings(sources: &Sources<'_>) -> Outcome<Wanted> {
    let Sources { model, data, scenario, mode, set, files } = *sources;
    let rules = files.rules.unwrap_or_else(Rules::newest);
    let mut sourced = Sourced::new(model, scenario);
    if files.rules.is_some() || rules.knows(model) {
        sourced.apply_round(rules);
    } else {
        sourced.apply_seeds(rules);
    }
    for text in data {
        let known = Origin::Benchmark(model.to_owned());
        let assignment = text.parse().and_then(|assignment| sourced.assign(&assignment, &known));
        assignment.with_context(|| format!("benchmark {model}")).or_exit(Exit::Bug)?;
    }
    apply_file(&mut sourced, files.mlperf_conf.as_deref(), Owner::Official, files.strict_conf)?;
    apply_file(&mut sourced, files.user_conf.as_deref(), Owner::User, files.strict_conf)?;
    if let Some(mode) = mode {
        sourced.set_mode(mode);
    }
    for assignment in set {
        let typed = Origin::Flag(format!("--set {assignment}"));
        if !sourced.assign(assignment, &typed).context("--set").or_exit(Exit::Usage)? {
            tracing::debug!("--set {assignment} is for another scenario");
        }
    }
    apply_file(&mut sourced, files.audit_conf.as_deref(), Owner::Audit, files.strict_conf)?;
    Ok(Wanted { sourced, rules })
}

fn apply_file(sourced: &mut Sourced, path: Option<&Path>, owner: Owner, strict: bool) -> Outcome<()> {
    let Some(path) = path else { return Ok(()) };
    let name = path.display().to_string();
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {name}")).or_exit(Exit::Usage)?;
    // Comments may be in any encoding; keys and values are ASCII.
    let text = String::from_utf8_lossy(&bytes);
    let strictness = if strict { Strictness::Refuse } else { Strictness::Warn };
    sourced.apply_file(File { name: &name, owner, text: &text }, strictness).or_exit(Exit::Usage)
}

/// `results/<UTC>-<benchmark>-<what>`.
pub(crate) fn default_out(benchmark: &Benchmark, what: &str) -> PathBuf {
    let time = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
    let name = format!("{time}-{}-{what}", benchmark.name);
    let free = |path: &PathBuf| !path.exists();
    // Several runs may begin within a second.
    let numbered = (2..=1000).map(|number| Path::new("results").join(format!("{name}-{number}")));
    let plain = Path::new("results").join(&name);
    std::iter::once(plain.clone()).chain(numbered).find(free).unwrap_or(plain)
}
