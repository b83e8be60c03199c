//! A [`Test`]: everything that can be wrong before a SUT node is asked anything has been checked.

use std::time::Duration;

use anyhow::{Context as _, anyhow};
use lon_machine::memory;
use lon_net::slice::Priority;
use lon_qsl::accuracy::ScoreError;
use lon_qsl::benchmark::Benchmark;
use lon_qsl::dataset::Dataset;

use super::finished::{AutoSetting, Link, Setup};
use super::settings::{self, Beforehand, Layered};
use super::spec::{DataSpec, FindPeakSpec, TestSpec};
use super::system_facts::SystemFacts;
use super::{find_peak, kserve, samples};
use crate::division::{self, Data, Division, Facts, Findings, NodeFacts, Planned};
use crate::exit::{Exit, OrExit as _, Outcome};
use crate::nodes::target::Target;
use crate::verdict::bench_baseline::Baseline;
use crate::verdict::lag_limit::LagLimit;
use loadgen::plan::{Plan, predict};
use loadgen::run::RunOptions;
use loadgen::settings::Mode;
use lon_world::pace::PacingSpec;

/// A test that takes longer is not run when it is known beforehand that its result is INVALID, in seconds.
const LONG_S: f64 = 60.0;

/// One test, checked: benchmark, samples, settings and files fit together. It owns all that it needs, so that a process
/// can make many of them, one after the other.
pub struct Test {
    pub(super) setup: Setup,
    pub(super) dataset: Dataset,
    pub(super) target: Target,
    pub(super) pacing: PacingSpec,
    pub(super) priority: Priority,
    pub(super) options: RunOptions,
    pub(super) probe: bool,
    /// The test is run although its result cannot become VALID.
    pub(super) anyway: bool,
    /// Nodes that are not one SUT are run, and marked.
    pub(super) mixed_nodes: bool,
    /// Every sample is read before the test.
    pub(super) verify: bool,
    /// The things that could not be checked.
    pub(super) notes: Vec<String>,
    /// Oddities of its settings, and obstacles that keep its result from becoming VALID.
    doubts: Vec<String>,
}

impl Test {
    /// Opens and checks everything that the test needs on this side, and works out its plan. No node is asked anything.
    ///
    /// # Errors
    /// Something is missing or does not fit; the failure names it, and has exit code 2.
    pub fn new(spec: TestSpec) -> Outcome<Test> {
        let (benchmark, codecs, target) = (spec.benchmark, spec.codecs, spec.target.clone());
        let dataset = samples::open_for_run(benchmark, &spec.data, codecs)?;
        let layered = Layered::of_test(&spec)?;
        let plan = plan(&layered, &dataset)?;
        let data = Data::of(benchmark, &dataset, layered.sourced.settings().performance_sample_count_override);
        let planned = layered.planned(Beforehand::from(&spec), Some(data), Some(&plan));
        if let Some(doubt) = settings::default_rate(&layered, &plan) {
            tracing::warn!(doubt, "settings");
        }
        let doubts = settings::doubts(&layered, &plan, spec.extend);
        refuse(spec.division, &planned, &target)?;
        let auto_setting = spec
            .settings
            .auto_value
            .as_ref()
            .map(|set| AutoSetting { set: set.to_string(), how: spec.settings.auto_reason.clone() });
        check_labels(&plan, benchmark, &dataset)?;
        kserve::check(target.kind(), codecs, spec.probe, &plan).context("--transport kserve").or_exit(Exit::Usage)?;
        let stated = spec.system_desc.as_deref().map(SystemFacts::read).transpose();
        let stated = stated.context("--system-desc").or_exit(Exit::Usage)?.unwrap_or_default();
        let baseline = spec.baseline.as_deref().map(Baseline::read).transpose();
        let baseline = baseline.context("--baseline").or_exit(Exit::Usage)?;
        let within = spec.within.map_or(Ok(()), |limits| limits.check(plan.effective()));
        within.context("--within").or_exit(Exit::Usage)?;
        samples::check_memory(&plan, &dataset)?;
        if spec.record_stages && plan.effective().mode == Mode::FindPeakPerformance {
            let error = anyhow!("a search for the peak keeps no stages: run its rate with --mode PerformanceOnly");
            return Err(error).context("--record-stages").or_exit(Exit::Usage);
        }
        let v05 = layered.v05(samples::counts(&dataset));
        if v05.is_some() {
            refuse_v0_5(&spec)?;
        }
        let find_peak = match v05 {
            None => find_peak::options(&spec.find_peak, &plan, layered.sets_decimals())?,
            Some(_) => find_peak::of_round_v0_5(&spec.find_peak, &plan)?,
        };
        let setup = Setup {
            benchmark,
            dataset_name: dataset.name().to_owned(),
            aggregation: dataset.aggregation(),
            codecs,
            rules: layered.rules,
            v05,
            division: spec.division,
            planned,
            link: Link {
                transport: target.peers.transport(),
                has_tls: target.tls.is_some(),
                connections: spec.connections,
            },
            limits: spec.limits,
            within: spec.within,
            lag_limit: LagLimit::new(spec.limits.max_lag, plan.effective()),
            call: spec.call,
            auto_setting,
            stated,
            baseline,
            trace_log: spec.trace_log,
            record_stages: spec.record_stages,
            report: spec.report,
            beside_others: false,
            bandwidth: benchmark.bandwidth().cloned(),
            plan,
        };
        let (keep_issue_times, extend) = (spec.trace_log, spec.extend);
        let options = RunOptions { keep_issue_times, extend, find_peak, ..RunOptions::default() };
        let TestSpec { pacing, priority, probe, anyway, mixed_nodes, data: DataSpec { verify, .. }, .. } = spec;
        let notes = layered.sourced.warnings().iter().map(|warning| format!("settings: {warning}")).collect();
        Ok(Test {
            setup,
            dataset,
            target,
            pacing,
            priority,
            options,
            probe,
            anyway,
            mixed_nodes,
            verify,
            notes,
            doubts,
        })
    }

    /// Returns the size of the run, as far as it can be known beforehand.
    ///
    /// # Errors
    /// A sample cannot be read.
    pub fn predicted(&self) -> Outcome<predict::Prediction> {
        let plan = &self.setup.plan;
        let predicted = predict::predict(plan, samples::sample_size(&self.dataset)?);
        Ok(match plan.effective().mode {
            Mode::FindPeakPerformance => {
                predict::Prediction { duration_s: find_peak::predicted_s(&self.options.find_peak, plan), ..predicted }
            }
            _ => predicted,
        })
    }

    /// The plan of the test.
    pub fn plan(&self) -> &Plan {
        &self.setup.plan
    }

    /// The doubts about its settings, in words: those that `conf` shows.
    pub fn doubts(&self) -> &[String] {
        &self.doubts
    }

    /// Returns true when the dataset has what answers are scored against.
    pub fn has_labels(&self) -> bool {
        self.dataset.truths().is_some()
    }

    /// Returns the findings on the rules of the Network division that can be had before any node is asked.
    pub fn findings(&self) -> Findings {
        division::judge(&Facts { planned: &self.setup.planned, nodes: None, run: None })
    }

    /// Holds the dataset's files against their sums, where it has any, and reads every sample, where that is asked for.
    /// Tells `progress` how many of how many are done. The number of files.
    ///
    /// # Errors
    /// A file is not what its sum says, or a sample cannot be read.
    pub fn verify(&self, progress: &dyn Fn(usize, usize)) -> Outcome<usize> {
        let verified = self.dataset.verify(progress).or_exit(Exit::Usage)?;
        tracing::debug!(files = verified, "files are as their list of sums says");
        if self.verify {
            let samples = self.dataset.read_all(progress).context("--verify-dataset").or_exit(Exit::Usage)?;
            tracing::info!(samples, "every sample can be read");
        }
        Ok(verified)
    }
}

/// The findings on the rules of the Network division that need no samples: those of a test whose dataset is missing.
///
/// # Errors
/// The settings cannot be read (exit code 2).
pub fn findings_without_samples(spec: &TestSpec) -> Outcome<Findings> {
    let layered = Layered::of_test(spec)?;
    let plan = layered.plan(samples::unknown_counts(layered.sourced.settings())).ok();
    let planned = layered.planned(Beforehand::from(spec), None, plan.as_ref());
    Ok(division::judge(&Facts { planned: &planned, nodes: None, run: None }))
}

/// Returns the size of a run whose dataset is missing: that of the whole dataset of its benchmark.
///
/// # Errors
/// The settings contradict each other, or the benchmark prescribes no dataset.
pub fn predicted_without_samples(spec: &TestSpec) -> Outcome<predict::Prediction> {
    let layered = Layered::of_test(spec)?;
    let counts =
        samples::official_counts(spec.benchmark).context("the dataset has no known size").or_exit(Exit::Usage)?;
    let plan = layered.plan(counts).context("these settings cannot be run").or_exit(Exit::Usage)?;
    Ok(predict::predict(&plan, predict::SampleSize { memory_bytes: 0, wire_bytes: 0 }))
}

/// Refuses what breaks a rule of the Network division. All broken rules are named together, those among them that only
/// the nodes can tell of: they are asked once, if they can be reached.
fn refuse(division: Division, planned: &Planned, target: &Target) -> Outcome<()> {
    let facts = Facts { planned, nodes: None, run: None };
    if division == Division::None || division::judge(&facts).refuse().is_ok() {
        return Ok(());
    }
    let has_descriptions = target.kind().no_counters.is_none();
    let target = Target { wait_ready: Duration::ZERO, ..target.clone() };
    let qdl = has_descriptions.then(|| target.connect().ok()).flatten();
    let here = qdl.as_ref().map(|qdl| qdl.here()).unwrap_or_default();
    let nodes = qdl.as_ref().map(|qdl| NodeFacts { here: &here, nodes: qdl.nodes() });
    division::judge(&Facts { nodes, ..facts }).refuse().context("--division network").or_exit(Exit::Usage)
}

/// Refuses options that runs of round v0.5 have not.
fn refuse_v0_5(spec: &TestSpec) -> Outcome<()> {
    let FindPeakSpec { precision, by_decimals, trial_share, goals, give_up_early, .. } = &spec.find_peak;
    let has_precision = precision.is_some() || *by_decimals;
    let flags = [
        (has_precision, "--find-peak-precision", "the search ends at LoadGen's decimals"),
        (trial_share.is_some(), "--find-peak-trial", "each trial is a whole run"),
        (!goals.is_empty(), "--find-peak-goal", "the limit is the scenario's own"),
        (spec.extend, "--extend", "the round knows no early stopping that asks for more queries"),
        (spec.trace_log, "--trace-log", "the trace log is that of later rounds"),
        (*give_up_early, "--find-peak-give-up", "trials of the round are run to their end"),
    ];
    match flags.into_iter().find(|(is_given, ..)| *is_given) {
        Some((_, flag, why)) => Err(anyhow!("{flag} is not for --rules v0.5: {why}")).or_exit(Exit::Usage),
        None => Ok(()),
    }
}

fn plan(layered: &Layered, dataset: &Dataset) -> Outcome<Plan> {
    let sourced = &layered.sourced;
    if let Some(field) = settings::to_find(sourced) {
        tracing::warn!(setting = field, "it was left to be found, and was not looked for");
    }
    let (mode, auto) = (sourced.settings().mode, sourced.to_find().next());
    if let Some(field) = auto.filter(|_| mode == Mode::FindPeakPerformance) {
        tracing::warn!(setting = field, "auto is not for a search, which begins at the number that is set without it");
    }
    for warning in sourced.warnings() {
        tracing::warn!(%warning, "settings");
    }
    let qsl = samples::counts(dataset);
    let set = match sourced.settings().performance_sample_count_override {
        0 => qsl.performance,
        count => count.min(qsl.total),
    };
    let override_count = sourced.settings().performance_sample_count_override;
    if override_count > qsl.total {
        tracing::warn!(
            performance_sample_count_override = override_count,
            samples = qsl.total,
            dataset = dataset.name(),
            "the dataset has fewer samples than the performance set: all of them are used"
        );
    }
    samples::check_set(set, dataset)?;
    layered.plan(qsl).context("these settings cannot be run").or_exit(Exit::Usage)
}

/// The flags that find a rate, or a latency, at which a run can become VALID.
const AUTO: &str = "--set target_qps=auto, in SingleStream and MultiStream target_latency=auto,";

/// Says what keeps the result from becoming VALID, and refuses to spend minutes on it.
pub(super) fn worth_running(plan: &Plan, extended: bool, anyway: bool) -> Outcome<()> {
    if plan.effective().mode == Mode::FindPeakPerformance {
        return Ok(());
    }
    let records = predict::predict(plan, predict::SampleSize { memory_bytes: 0, wire_bytes: 0 }).memory_bytes;
    if !anyway {
        fits_memory(records, memory::total_bytes().unwrap_or(0)).or_exit(Exit::Usage)?;
    }
    let obstacles = predict::obstacles(plan, extended);
    let seconds = predict::duration_s(plan);
    if !obstacles.is_empty() && seconds > LONG_S && !anyway {
        let message = obstacles.join("; ");
        return Err(anyhow!(
            "the run cannot become VALID: {message}; and it takes about {seconds:.0} s ({AUTO} finds a rate that does; \
             --anyway runs it as it is)"
        ))
        .or_exit(Exit::Usage);
    }
    obstacles.iter().for_each(|obstacle| tracing::warn!(obstacle, "the result cannot become VALID"));
    Ok(())
}

/// The records of a run find room in the memory of this host, which is 0 where it is not known.
fn fits_memory(records_bytes: u64, memory_bytes: u64) -> anyhow::Result<()> {
    let [records, memory] = [records_bytes, memory_bytes].map(|bytes| bytes as f64 / 1e9);
    anyhow::ensure!(
        records_bytes <= memory_bytes || memory_bytes == 0,
        "the run would keep {records:.1} GB of records, and this host has {memory:.1} GB: lower target_qps or \
         min_duration (--anyway runs it as it is)"
    );
    Ok(())
}

/// An accuracy run whose score would fail at its end fails here.
fn check_labels(plan: &Plan, benchmark: &Benchmark, dataset: &Dataset) -> Outcome<()> {
    if !plan.effective().mode.has_accuracy() {
        return Ok(());
    }
    if let Some(why) = benchmark.no_metric() {
        tracing::warn!(why, "answers are logged, and accuracy is not scored");
    }
    let Some(target) = benchmark.accuracy else { return Ok(()) };
    if let Some(ScoreError::NoTruths { target, lacks }) = benchmark.no_truths(dataset) {
        tracing::warn!(target, why = lacks, "the result cannot become VALID: this accuracy target cannot be judged");
    }
    dataset.fits_metric(target).or_exit(Exit::Usage)
}

#[cfg(test)]
mod tests {
    use super::fits_memory;

    #[test]
    fn records_that_memory_cannot_hold_are_refused() {
        let message = fits_memory(34_000_000_000, 25_000_000_000).unwrap_err().to_string();
        assert!(
            message.contains("34.0 GB") && message.contains("25.0 GB") && message.contains("target_qps"),
            "{message}"
        );
        assert!(fits_memory(25, 25).is_ok() && fits_memory(25, 0).is_ok());
    }
}
