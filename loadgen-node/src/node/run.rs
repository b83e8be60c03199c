//! The command `run`: one test, from flags to run folder.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use anyhow::Context as _;
use lon_qsl::accuracy::{Score, ScoreError};
use lon_qsl::dataset::Dataset;
use qdl::{Config, Driver, NodeReport, Policy, Qdl, RunConfig, SutName};

use super::args::RunArgs;
use super::exit::{Exit, OrExit as _, Outcome};
use super::folder::RunFolder;
use super::inbox::Inbox;
use super::logs::{AccuracyLog, Logs};
use super::net_world::NetWorld;
use super::progress::{Counts, Progress};
use super::setup::{self, Setup};
use super::signals::Signals;
use super::tally::Tally;
use super::{peak, result, screen, targets};
use crate::plan::Plan;
use crate::run::{RunOptions, RunOutcome};
use crate::settings::Scenario;

/// Everything that is known when a test is over; what is written and shown is made of this and nothing else.
pub(crate) struct Finished<'a> {
    pub(crate) args: &'a RunArgs,
    pub(crate) benchmark: &'static lon_qsl::benchmark::Benchmark,
    pub(crate) dataset_name: String,
    pub(crate) plan: Plan,
    pub(crate) outcome: RunOutcome,
    pub(crate) nodes: Vec<qdl::NodeDescription>,
    pub(crate) reports: Vec<NodeReport>,
    /// The name asked before the run, and the one asked after it.
    pub(crate) names: [SutName; 2],
    pub(crate) tally: Tally,
    pub(crate) accuracy: Option<Result<Score, ScoreError>>,
    pub(crate) started: SystemTime,
}

/// Runs one test and leaves a run folder.
pub(crate) fn run(args: &RunArgs) -> Outcome {
    let setup = setup::prepare(args)?;
    let nodes = targets::parse(&args.sut).context("--sut").or_exit(Exit::Usage)?;
    let signals = Signals::catch().context("cannot handle signals").or_exit(Exit::Bug)?;
    let qdl = connect(args, nodes)?;
    for node in qdl.nodes() {
        let told = || format!("the model of SUT node {} ({}) does not fit the dataset", node.name, node.address);
        setup.dataset.fits(&node.inputs).with_context(told).or_exit(Exit::Usage)?;
    }
    let folder = RunFolder::create(&setup.out).or_exit(Exit::Usage)?;
    let finished = match drive(args, setup, &qdl, &folder, &signals) {
        Ok(finished) => finished,
        Err(failure) => {
            folder.discard_if_empty();
            return Err(failure);
        }
    };
    Logs::new(&finished).write(&folder).or_exit(Exit::Bug)?;
    peak::write(&folder, &finished.plan, &finished.outcome).or_exit(Exit::Bug)?;
    let json = result::json(&finished);
    let text = serde_json::to_string_pretty(&json).or_exit(Exit::Bug)?;
    folder.write("result_summary.json", text.as_bytes()).or_exit(Exit::Bug)?;
    screen::show(&finished, folder.path()).or_exit(Exit::Bug)?;
    Ok(exit_of(&finished))
}

fn connect(args: &RunArgs, nodes: Vec<qdl::NodeAddress>) -> Outcome<Qdl> {
    let host = nix::unistd::gethostname().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut config = Config::new(nodes);
    config.client = format!("{host} (pid {})", std::process::id());
    config.wait_ready = args.wait_ready;
    if !args.wait_ready.is_zero() {
        tracing::info!("waiting for SUT nodes at {}, {:?} at most", args.sut, args.wait_ready);
    }
    Qdl::connect(config).or_exit(Exit::Network)
}

fn drive<'a>(
    args: &'a RunArgs,
    setup: Setup,
    qdl: &Qdl,
    folder: &RunFolder,
    signals: &Signals,
) -> Outcome<Finished<'a>> {
    let Setup { benchmark, dataset, plan, .. } = setup;
    let find_peak = peak::options(&args.find_peak, &plan)?;
    let options = RunOptions { keep_issue_times: args.trace_log, find_peak, ..RunOptions::default() };
    let asked = Instant::now();
    let first_name = qdl.name();
    tracing::info!("{} answered in {:?}", first_name.text, asked.elapsed());
    let inline = matches!(args.scenario, Scenario::SingleStream | Scenario::MultiStream);
    let inbox = Arc::new(Inbox::default());
    let run = qdl.start(&run_config(args, inline), Arc::clone(&inbox) as _).or_exit(Exit::Network)?;
    let counts = Arc::new(Counts::default());
    let progress = Progress::start(Arc::clone(&counts), format!("{} {}", benchmark.name, args.scenario.name()));
    let mut log =
        AccuracyLog::create(folder, &plan, Arc::clone(&counts), benchmark.accuracy.is_some()).or_exit(Exit::Bug)?;
    let dataset_name = dataset.name().to_owned();
    let mut world = NetWorld::new(run, inbox, dataset, inline, signals.run_begins(), counts);
    let started = SystemTime::now();
    tracing::info!("run started: {} {}", args.scenario.name(), plan.requested().mode.name());
    let mut outcome = crate::run::run(&plan, &mut world, &mut log, options);
    drop(progress);
    let (run, dataset, tally) = world.into_parts();
    let reports = run.end();
    let last_name = qdl.name();
    let answers = log.finish().or_exit(Exit::Bug)?;
    let accuracy = score(&plan, benchmark, &dataset, &answers);
    let names = [first_name, last_name];
    result::add_reasons(&mut outcome, &reports, &names, &tally, benchmark, accuracy.as_ref());
    Ok(Finished {
        args,
        benchmark,
        dataset_name,
        plan,
        outcome,
        nodes: qdl.nodes().to_vec(),
        reports,
        names,
        tally,
        accuracy,
        started,
    })
}

fn run_config(args: &RunArgs, inline: bool) -> RunConfig {
    let policy = match args.scenario {
        Scenario::Offline => Policy::Pull,
        _ => Policy::LeastOutstanding,
    };
    let driver = if inline { Driver::Inline } else { Driver::Threads(args.io_threads) };
    let mut config = RunConfig::new(policy, driver);
    config.connections = args.connections;
    config.response_timeout = args.response_timeout;
    config
}

/// Scores the accuracy phases, if there were any and the benchmark can be scored.
fn score(
    plan: &Plan,
    benchmark: &lon_qsl::benchmark::Benchmark,
    dataset: &Dataset,
    answers: &[(usize, Vec<u8>)],
) -> Option<Result<Score, ScoreError>> {
    let (target, labels) = (benchmark.accuracy?, dataset.labels()?);
    if !plan.effective().mode.has_accuracy() {
        return None;
    }
    let answers = answers.iter().map(|(index, data)| (*index, data.as_slice()));
    Some(target.metric.score(answers, labels))
}

/// The strictest meaning of what happened.
fn exit_of(finished: &Finished<'_>) -> Exit {
    let lost = finished.reports.iter().any(|report| report.lost.is_some());
    let nameless = finished.names.iter().any(|name| !name.is_complete());
    match finished.outcome.end {
        crate::run::End::Interrupted => Exit::Interrupted,
        crate::run::End::Broken => Exit::Network,
        _ if lost || nameless => Exit::Network,
        _ if finished.outcome.verdict.is_valid() => Exit::Ok,
        _ => Exit::Invalid,
    }
}
