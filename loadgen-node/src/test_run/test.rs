//! A [`Test`]: everything that can be wrong before a SUT node is asked anything has been checked.

use anyhow::Context as _;
use lon_qsl::benchmark::Benchmark;
use lon_qsl::dataset::Dataset;

use super::finished::{Link, Setup};
use super::settings::{self, Layered, Subject};
use super::spec::{Limits, TestSpec};
use super::stated::Stated;
use super::{find_peak, kserve, samples};
use crate::exit::{Exit, OrExit as _, Outcome};
use crate::verdict::baseline::Baseline;
use crate::verdict::division::{self, DivisionFacts};
use crate::world::pace::PacingSpec;
use crate::world::target::Target;
use loadgen::plan::Plan;
use loadgen::run::RunOptions;

/// One test, checked: benchmark, samples, settings and files fit together. It owns all that it needs, so that a process
/// can make many of them, one after the other.
pub struct Test {
    pub(super) setup: Setup,
    pub(super) dataset: Dataset,
    pub(super) target: Target,
    pub(super) pacing: PacingSpec,
    pub(super) limits: Limits,
    pub(super) options: RunOptions,
    pub(super) probe: bool,
    /// Why this is no result of the Network division, as far as it is known before the nodes are.
    pub(super) marks: Vec<String>,
}

impl Test {
    /// Opens and checks everything that the test needs on this side, and works out its plan. No node is asked anything.
    ///
    /// # Errors
    /// Something is missing or does not fit; the failure names it, and has exit code 2.
    pub fn new(spec: TestSpec) -> Outcome<Test> {
        let TestSpec { benchmark, codecs, target, .. } = spec;
        let dataset = samples::open_for_run(benchmark, &spec.data, codecs)?;
        let subject = Subject { model: benchmark.name, known: &benchmark.settings, scenario: spec.scenario };
        let layered = settings::layer(subject, &spec.settings)?;
        let misfit = benchmark.fits(&dataset).err().map(|error| error.to_string());
        let facts = DivisionFacts {
            scenario: spec.scenario,
            benchmark,
            codec: codecs.samples,
            response_codec: codecs.answers,
            round: layered.rules.round.name,
            no_counters: target.kind().no_counters,
            misfit: misfit.as_deref(),
        };
        let marks = division::check(spec.division, &facts).context("--division network").or_exit(Exit::Usage)?;
        let plan = plan(&layered, &dataset)?;
        check_labels(&plan, benchmark, &dataset)?;
        kserve::check(target.kind(), codecs, spec.probe, &plan).context("--transport kserve").or_exit(Exit::Usage)?;
        let stated = spec.system_desc.as_deref().map(Stated::read).transpose();
        let stated = stated.context("--system-desc").or_exit(Exit::Usage)?.unwrap_or_default();
        let baseline = spec.baseline.as_deref().map(Baseline::read).transpose();
        let baseline = baseline.context("--baseline").or_exit(Exit::Usage)?;
        samples::check_memory(&plan, &dataset)?;
        let find_peak = find_peak::options(&spec.find_peak, &plan)?;
        let setup = Setup {
            benchmark,
            dataset_name: dataset.name().to_owned(),
            codecs,
            rules: layered.rules,
            division: spec.division,
            link: Link {
                transport: target.peers.transport(),
                has_tls: target.tls.is_some(),
                connections: spec.connections,
            },
            stated,
            baseline,
            trace_log: spec.trace_log,
            plan,
        };
        let options = RunOptions { keep_issue_times: spec.trace_log, find_peak, ..RunOptions::default() };
        let (pacing, limits, probe) = (spec.pacing, spec.limits, spec.probe);
        Ok(Test { setup, dataset, target, pacing, limits, options, probe, marks })
    }

    /// Holds the dataset's files against their sums, where it has any, and tells `progress` how many of how many are
    /// done. The number of files.
    ///
    /// # Errors
    /// A file is not what its sum says.
    pub fn verify(&self, progress: &dyn Fn(usize, usize)) -> Outcome<usize> {
        let verified = self.dataset.verify(progress).or_exit(Exit::Usage)?;
        tracing::debug!("{verified} files are as their list of sums says");
        Ok(verified)
    }
}

fn plan(layered: &Layered, dataset: &Dataset) -> Outcome<Plan> {
    let Layered { sourced, rules } = layered;
    for warning in sourced.warnings() {
        tracing::warn!("{warning}");
    }
    let qsl = samples::counts(dataset);
    let set = match sourced.settings().performance_sample_count_override {
        0 => qsl.performance,
        count => count.min(qsl.total),
    };
    samples::check_set(set, dataset)?;
    let plan = Plan::with_profile(sourced.settings().clone(), qsl, rules.profile);
    plan.context("these settings cannot be run").or_exit(Exit::Usage)
}

/// An accuracy run whose score would fail at its end fails here.
fn check_labels(plan: &Plan, benchmark: &Benchmark, dataset: &Dataset) -> Outcome<()> {
    let Some(target) = benchmark.accuracy.filter(|_| plan.effective().mode.has_accuracy()) else { return Ok(()) };
    if dataset.truths().is_none() {
        tracing::warn!("{} has no labels: answers are logged, but not scored", dataset.name());
    }
    dataset.fits_metric(target.metric).or_exit(Exit::Usage)
}
