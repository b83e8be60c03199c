//! The command `run`: one test, from flags to run folder.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use anyhow::{Context as _, anyhow};
use lon_qsl::Codec;
use lon_qsl::accuracy::{Rows, Score, ScoreError};
use lon_qsl::dataset::Dataset;
use qdl::{Driver, Host, NodeDescription, Policy, Qdl, RunConfig};

use super::advise;
use crate::cli::{Compression, ProbeLimits, RunArgs};
use crate::exit::{Exit, OrExit as _, Outcome};
use crate::network::traffic::Sampler;
use crate::network::{Gathered, NetworkFacts, nics};
use crate::outputs::documents::{network_report, result_summary, system_desc};
use crate::outputs::folder::{FolderError, RunFolder};
use crate::outputs::logs::{AccuracyLog, Logs};
use crate::outputs::progress::{self, Progress};
use crate::outputs::screen;
use crate::probe;
use crate::probe::Fabric;
use crate::test_run::finished::Finished;
use crate::test_run::peak;
use crate::test_run::setup::{self, Setup};
use crate::verdict::saturation::Watch;
use crate::verdict::{division, reasons};
use crate::world::counts::Counts;
use crate::world::dial::dial;
use crate::world::inbox::Inbox;
use crate::world::kserve;
use crate::world::net_world::NetWorld;
use crate::world::pace::{Circumstances, Pacing};
use crate::world::signals::Signals;
use loadgen::plan::Plan;
use loadgen::run::RunOptions;
use loadgen::traffic;

/// Runs one test and leaves a run folder.
pub(crate) fn run(args: &RunArgs) -> Outcome {
    let mut setup = setup::prepare(args)?;
    let find_peak = peak::options(&args.find_peak, &setup.plan)?;
    let options = RunOptions { keep_issue_times: args.trace_log, find_peak, ..RunOptions::default() };
    let Compression::Codec(_) = args.codecs.compression else {
        return advise::advise(setup.benchmark, &setup.dataset, setup.rules.round.name);
    };
    let verified = setup.dataset.verify(&progress::steps("verifying files")).or_exit(Exit::Usage)?;
    tracing::debug!("{verified} files are as their list of sums says");
    let signals = Signals::catch().context("cannot handle signals").or_exit(Exit::Bug)?;
    let qdl = dial(&args.dial, &args.kserve)?;
    fit(args, &mut setup, qdl.nodes())?;
    let fabric = args.probe.then(|| probe_first(args, &qdl, &signals)).transpose()?;
    let (finished, written, folder) = drive(args, setup, options, &qdl, fabric, &signals)?;
    let written = written.and_then(|()| write(&finished, &folder));
    // Whatever became of the files, what was measured is shown.
    screen::show(&finished, folder.path()).or_exit(Exit::Bug)?;
    written.context("the run is over, but its files are not complete").or_exit(Exit::Bug)?;
    Ok(finished.exit())
}

/// Whether the nodes take the samples, and are those of the baseline. Samples for other servers are made to fit here.
fn fit(args: &RunArgs, setup: &mut Setup, nodes: &[NodeDescription]) -> Outcome<()> {
    if kserve::is_on(&args.dial) {
        kserve::fit(&mut setup.dataset, nodes, &args.kserve.inputs).or_exit(Exit::Usage)?;
    } else if setup.codec != Codec::Original {
        // In that codec a sample is a file, and what it becomes is for the node that takes the codec to say.
        for node in nodes {
            let told = || format!("the model of SUT node {} ({}) does not fit the dataset", node.name, node.address);
            setup.dataset.fits_model(&node.inputs).with_context(told).or_exit(Exit::Usage)?;
        }
    }
    if setup.plan.effective().mode.has_accuracy()
        && setup.benchmark.accuracy.is_some()
        && let (Some(truths), Some(rows)) = (setup.dataset.truths(), rows(nodes))
        && let Err(fault) = truths.fits(rows)
    {
        return Err(anyhow!("the answers could not be scored: {fault}")).or_exit(Exit::Usage);
    }
    match &setup.baseline {
        Some(baseline) => baseline.fits(nodes).context("--baseline").or_exit(Exit::Usage),
        None => Ok(()),
    }
}

/// Writes what can only be written when all is over. The verdict comes first: if the disk fills up, that is there.
fn write(finished: &Finished<'_>, folder: &RunFolder) -> Result<(), FolderError> {
    folder.write("result_summary.json", format!("{:#}\n", result_summary::json(finished)).as_bytes())?;
    folder.write("network_report.json", format!("{:#}\n", network_report::json(finished)).as_bytes())?;
    folder.write("system_desc.json", format!("{:#}\n", system_desc::json(finished)).as_bytes())?;
    Logs::new(finished).write(folder)?;
    peak::write(folder, &finished.plan, &finished.outcome)
}

/// `--probe`. A fabric that cannot be measured to the end is none to run on.
fn probe_first(args: &RunArgs, qdl: &Qdl, signals: &Signals) -> Outcome<Fabric> {
    let limits = ProbeLimits::usual(args.connections);
    let (fabric, outcome) = probe::measure(qdl, args.dial.transport.name(), limits, signals)?;
    outcome.map(|()| fabric).map_err(|error| probe::failed(error, "--probe ended early, and nothing was run"))
}

/// The run itself: what is known afterwards, whether the accuracy log could be written, and where.
fn drive<'a>(
    args: &'a RunArgs,
    setup: Setup,
    options: RunOptions,
    qdl: &Qdl,
    fabric: Option<Fabric>,
    signals: &Signals,
) -> Outcome<(Finished<'a>, Result<(), FolderError>, RunFolder)> {
    let Setup { benchmark, dataset, codec, plan, rules, mut marks, stated, baseline, out } = setup;
    let host = Host::here();
    marks.extend(division::one_host(&host, qdl.nodes().iter().map(|node| (node.name.as_str(), &node.host))));
    let asked = Instant::now();
    let first_name = qdl.name();
    tracing::info!("{} answered in {:?}", first_name.text, asked.elapsed());
    let pacing = pacing(args, &host, qdl.nodes());
    tracing::debug!("{pacing:?}");
    let stop = signals.run_begins().context("cannot listen to signals").or_exit(Exit::Bug)?;
    let inbox = Arc::new(Inbox::new());
    let counters = nics::Counters::now();
    let run = qdl.start(&run_config(args, codec, pacing), Arc::clone(&inbox) as _).or_exit(Exit::Network)?;
    let sampler = Sampler::start(run.meter());
    let folder = match RunFolder::create(&out) {
        Ok(folder) => folder,
        Err(error) => {
            // The nodes are free again at once, not when their claims lapse.
            run.end();
            return Err(error).or_exit(Exit::Usage);
        }
    };
    let counts = Arc::new(Counts::default());
    let progress = Progress::start(Arc::clone(&counts), format!("{} {}", benchmark.name, args.scenario.name()));
    let mut log =
        AccuracyLog::create(&folder, &plan, Arc::clone(&counts), benchmark.accuracy.is_some()).or_exit(Exit::Bug)?;
    let dataset_name = dataset.name().to_owned();
    let mut world = NetWorld::new(run, inbox, dataset, pacing, stop, counts);
    let started = SystemTime::now();
    tracing::info!("run started: {} {}", args.scenario.name(), plan.requested().mode.name());
    let watch = Watch::begin();
    let outcome = loadgen::run::run(&plan, &mut world, &mut log, options);
    let saturation = watch.end(pacing, world.capacity());
    drop(progress);
    let (run, dataset, tally) = world.into_parts();
    let reports = run.end();
    let network = NetworkFacts::gather(Gathered {
        benchmark,
        outcome: &outcome,
        reports: &reports,
        looks: sampler.end(),
        counters: &counters,
        fabric,
        control: qdl.control_traffic(),
    });
    let names = [first_name, qdl.name()];
    let (answers, written) = log.finish();
    let nodes = qdl.nodes().to_vec();
    let accuracy = score(&plan, benchmark, &dataset, &answers, rows(&nodes));
    let mut finished = Finished {
        args,
        benchmark,
        dataset_name,
        codec,
        plan,
        rules,
        marks,
        outcome,
        host,
        stated,
        nodes,
        reports,
        names,
        tally,
        accuracy,
        saturation,
        network,
        baseline,
        started,
    };
    reasons::add_reasons(&mut finished);
    Ok((finished, written, folder))
}

fn pacing(args: &RunArgs, here: &Host, nodes: &[NodeDescription]) -> Pacing {
    let circumstances = Circumstances {
        scenario: args.scenario,
        cores: std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
        sut_is_here: nodes.iter().any(|node| node.host.boot_id == here.boot_id),
    };
    Pacing::decide(args.io_threads.map(usize::from), args.spin, args.busy_poll, circumstances)
}

fn run_config(args: &RunArgs, codec: Codec, pacing: Pacing) -> RunConfig {
    let policy = match args.scenario.pacing() {
        traffic::Pacing::Room => Policy::Pull,
        traffic::Pacing::Schedule | traffic::Pacing::Reply { .. } => Policy::LeastOutstanding,
    };
    let driver = NonZeroUsize::new(pacing.io_threads).map_or(Driver::Inline, Driver::Threads);
    let mut config = RunConfig::new(policy, driver);
    config.connections = args.connections;
    config.response_timeout = args.response_timeout;
    config.codec = codec;
    config.response_codec = args.codecs.response_compression;
    config
}

/// What answers are, when all nodes say the same.
fn rows(nodes: &[NodeDescription]) -> Option<Rows> {
    crate::commands::accuracy::agreed(nodes.iter().map(|node| Rows::of(&node.outputs)))
}

/// Scores the accuracy phases, if there were any and the benchmark can be scored.
fn score(
    plan: &Plan,
    benchmark: &lon_qsl::benchmark::Benchmark,
    dataset: &Dataset,
    answers: &[(usize, Vec<u8>)],
    rows: Option<Rows>,
) -> Option<Result<Score, ScoreError>> {
    let (target, truths) = (benchmark.accuracy?, dataset.truths()?);
    if !plan.effective().mode.has_accuracy() {
        return None;
    }
    let answers = answers.iter().map(|(index, data)| (*index, data.as_slice()));
    Some(target.score(answers, truths, rows))
}
