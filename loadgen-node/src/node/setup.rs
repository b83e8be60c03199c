//! From flags to a checked plan: everything that can be wrong before a SUT node is asked anything.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use lon_qsl::benchmark::Benchmark;
use lon_qsl::dataset::Dataset;

use super::args::RunArgs;
use super::exit::{Exit, OrExit as _, Outcome};
use super::folder::FolderError;
use crate::plan::Plan;
use crate::settings::{Assignment, Mode, OFFICIAL_SEEDS, Qsl, Scenario, TestSettings};

/// A test that can be run as far as this side is concerned.
pub(crate) struct Setup {
    pub(crate) benchmark: &'static Benchmark,
    pub(crate) dataset: Dataset,
    pub(crate) plan: Plan,
    pub(crate) out: PathBuf,
}

/// Checks benchmark, dataset and settings, and works out the plan.
pub(crate) fn prepare(args: &RunArgs) -> Outcome<Setup> {
    let benchmark = Benchmark::find(&args.benchmark).or_exit(Exit::Usage)?;
    let dataset = benchmark.open(args.dataset.as_deref()).or_exit(Exit::Usage)?;
    let qsl = Qsl { total: dataset.total_count() as u64, performance: dataset.performance_count() as u64 };
    let settings = settings(benchmark, args.scenario, args.mode, &args.set)?;
    let plan = Plan::new(settings, qsl).context("these settings cannot be run").or_exit(Exit::Usage)?;
    let out = args.out.clone().unwrap_or_else(|| default_out(benchmark, args.scenario.name()));
    // Found here, before any node is bothered; made once they have all agreed to the run.
    if out.exists() {
        return Err(FolderError::Exists(out)).or_exit(Exit::Usage);
    }
    Ok(Setup { benchmark, dataset, plan, out })
}

/// LoadGen's defaults, then the newest official seeds, then the benchmark, then what the user set.
fn settings(benchmark: &Benchmark, scenario: Scenario, mode: Mode, set: &[Assignment]) -> Outcome<TestSettings> {
    let mut settings = TestSettings { scenario, mode, ..TestSettings::default() };
    if let Some(newest) = OFFICIAL_SEEDS.last() {
        settings.set_seeds(newest.seeds);
    }
    for text in benchmark.settings {
        settings.set(text).with_context(|| format!("benchmark {}", benchmark.name)).or_exit(Exit::Bug)?;
    }
    for assignment in set {
        let applies = settings.assign(assignment).context("--set").or_exit(Exit::Usage)?;
        if !applies {
            tracing::debug!("--set {}={} is for another scenario", assignment.key, assignment.value);
        }
    }
    Ok(settings)
}

/// `results/<UTC>-<benchmark>-<what>`.
pub(crate) fn default_out(benchmark: &Benchmark, what: &str) -> PathBuf {
    let time = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
    Path::new("results").join(format!("{time}-{}-{what}", benchmark.name))
}
