//! Measures rows: the reference, then ours, again and again.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::args::Kind;
use crate::load::Moment;
use crate::process::Place;
use crate::product::{self, Run, Spec};
use crate::reference::iperf;
use crate::report::show;
use crate::row::{Cpu, Figure, IMAGE, LARGE, Model, Ours, Outcome, Reference, Row, SMALL, Transport};
use crate::search::Search;

mod context;
mod official;
mod soak;

pub(crate) use context::Context;
use context::tell;

/// Length of one measurement of a reference, and of one of ours where we can set it, in seconds.
const SECONDS: f64 = 1.5;
/// A process of ours or of a reference that takes longer than this has failed.
const PATIENCE: Duration = Duration::from_secs(30);
/// Samples of the Offline run that finds out how many fill [`SECONDS`].
const FIRST_GUESS: f64 = 1_000.0;
/// Where the search for the largest Server rate begins, and its first and its later steps.
const FIRST_RATE: f64 = 50e3;
const COARSE: f64 = 2.0;
const FINE: f64 = 1.15;
/// A model's figures need longer: an inference of a large one takes tens of milliseconds.
const MODEL_SECONDS: u64 = 10;
const FIRST_GUESS_OF_MODELS: f64 = 64.0;
/// Rate that batches of one can nearly reach, samples per second, and the p99 that all batches must hold.
const FIRST_BATCHING_RATE: f64 = 600.0;
const BATCHING_LATENCY_MS: u32 = 20;
/// Users of a closed loop, of all tenants together.
const USERS: u32 = 64;
/// Arrival processes whose due times are generated.
const PROCESSES: [&str; 11] = [
    "constant",
    "gamma:cv=0.5",
    "gamma:cv=3",
    "weibull:cv=2",
    "onoff:high=2000000,low=100000,mean-high=10ms,mean-low=20ms",
    "burst:size=16,every=16us",
    "burst:size=16,every=16us,gaps=exponential",
    "stages:1000000x1s,2000000x1s",
    "ramp:from=1000,to=1000000,over=9s",
    "sine:mean=1000000,amplitude=800000,period=1s",
    "trace:a-query-each-microsecond,repeat=1s",
];
/// Limits of a rate that holds, ns.
const LARGEST_LAG_NS: f64 = 1e6;
const LARGEST_LATENCY_MS: u32 = 10;

/// Figures that one round of a row passes on to the next.
#[derive(Debug, Default)]
struct Rates {
    /// Samples per second, by number of nodes.
    offline: Vec<(usize, f64)>,
    server_rate: Option<f64>,
}

/// Measures a row. A failure ends the row and is part of the outcome.
pub(crate) fn measure(context: &Context, row: Row) -> Outcome {
    let mut outcome = Outcome::new(row);
    let begin = Moment::now().ok();
    if let Err(error) = rounds(context, &mut outcome) {
        tell(&format!("{}: failed: {error:#}", row.name));
        outcome.failure = Some(format!("{error:#}"));
    }
    let end = Moment::now().ok();
    outcome.others = end.zip(begin).map(|(end, begin)| end.others_since(&begin));
    outcome
}

fn rounds(context: &Context, outcome: &mut Outcome) -> Result<()> {
    let row = outcome.row;
    if matches!(row.ours, Ours::Soak) {
        return soak::measure(context, outcome);
    }
    let mut rates = Rates::default();
    for round in 1..=context.rounds {
        let reference = reference(context, row.reference, &mut rates)?;
        outcome.reference.push(reference);
        let figure = ours(context, row.ours, &mut rates)?;
        let [reference, value] = [reference, figure.value].map(|value| show(row.unit, value));
        tell(&format!("{} {round}/{}: reference {reference}, ours {value}", row.name, context.rounds));
        outcome.ours.push(figure);
    }
    Ok(())
}

fn reference(context: &Context, reference: Reference, rates: &mut Rates) -> Result<f64> {
    match reference {
        Reference::Pair { kind, size } => pair(context, kind, size),
        Reference::Sleeper { rate } => {
            let mut command = Command::new(&context.myself);
            command.args(["reference", "sleep"]).arg(format!("--rate={rate}")).arg(format!("--seconds={SECONDS}"));
            context.starter.start(&mut command, Place::Asking)?.wait(PATIENCE)?.number()
        }
        Reference::Iperf => iperf::goodput(&context.starter, SECONDS, PATIENCE),
        Reference::OneNode => Ok(nodes(context, 1, rates)?.value),
        Reference::OneTenant => {
            let run = context.run(&Spec::new("Closed", SMALL, users(USERS)))?.all_answered()?;
            run.number("/metric/value")
        }
        Reference::Bench(model) => {
            let (programs, folder) = (&context.programs, context.folder.path());
            product::bench(&context.starter, programs, folder, &model_spec(model)?, MODEL_SECONDS)
        }
        Reference::BatchOne => Ok(batching(context, 1, &mut None)?.value),
        Reference::InProcess(face) => official::in_process(context, face),
        Reference::RunLatency { rate } => {
            let run = context.run(&server(f64::from(rate)))?.all_answered()?;
            run.number("/latency_ns/p50")
        }
        Reference::RunOffline => {
            let spec = Spec::new("Offline", IMAGE, String::new());
            Ok(offline(context, &spec, rates)?.value * IMAGE as f64)
        }
        Reference::PoissonDueTimes => due_times(context, &["poisson"]),
        Reference::FirstTenth => bail!("the soak measures its own reference"),
    }
}

/// Two processes of this program. Pinned where ours are: only the ping-pong.
fn pair(context: &Context, kind: Kind, size: usize) -> Result<f64> {
    let place = |place| if kind == Kind::PingPong { place } else { Place::Anywhere };
    let command = |part: &str| {
        let mut command = Command::new(&context.myself);
        command.args(["reference", part, kind.name()]).arg(format!("--size={size}"));
        command
    };
    let mut serve = command("serve");
    if kind.has_tls() {
        serve.arg("--tls-cert").arg(&context.tls.certificate).arg("--tls-key").arg(&context.tls.key);
    }
    let mut server = context.starter.start(&mut serve, place(Place::Answering))?;
    let address = server.first_line()?;
    let mut drive = command("drive");
    drive.arg(address).arg(format!("--seconds={SECONDS}"));
    if kind.has_tls() {
        drive.arg("--tls-ca").arg(&context.tls.authority);
    }
    let value = context.starter.start(&mut drive, place(Place::Asking))?.wait(PATIENCE)?.number()?;
    Ok(match kind {
        Kind::PingPong | Kind::Unary => value,
        Kind::Pipeline | Kind::StreamTls | Kind::Quic => value * size as f64,
    })
}

fn ours(context: &Context, ours: Ours, rates: &mut Rates) -> Result<Figure> {
    match ours {
        Ours::Single { size, transport, busy_poll } => single(context, size, transport, busy_poll),
        Ours::ServerRate => server_rate(context, rates),
        Ours::Offline { transport, tls } => {
            let spec = Spec { transport, tls, ..Spec::new("Offline", LARGE, String::new()) };
            let figure = offline(context, &spec, rates)?;
            Ok(Figure { value: figure.value * LARGE as f64, ..figure })
        }
        Ours::Lag { rate } => lag(context, rate),
        Ours::Nodes(count) => nodes(context, count, rates),
        Ours::Tenants(count) => {
            let (programs, folder) = (&context.programs, context.folder.path());
            let set = users(USERS / count);
            product::tenants(&context.starter, programs, folder, count, &Spec::new("Closed", SMALL, set))
        }
        Ours::Model(model) => offline_for(context, &model_spec(model)?, rates, MODEL_SECONDS as f64),
        Ours::Batching(most) => batching(context, most, &mut rates.server_rate),
        Ours::OfficialRate(face) => official::rate(context, face),
        Ours::OfficialLatency { rate } => official::latency(context, rate),
        Ours::OfficialOffline => {
            let rate = rates.offline.first().map(|&(_, rate)| rate).context("its reference was not measured")?;
            official::goodput(context, rate * SECONDS)
        }
        Ours::DueTimes => Ok(Figure { value: due_times(context, &PROCESSES)?, cpu: Cpu::default() }),
        Ours::Soak => bail!("the soak has no rounds"),
    }
}

/// Due times per second of the slowest of these processes, generated by a process of this program.
fn due_times(context: &Context, processes: &[&str]) -> Result<f64> {
    let mut command = Command::new(&context.myself);
    command.args(["reference", "due-times"]).args(processes);
    context.starter.start(&mut command, Place::Anywhere)?.wait(PATIENCE)?.number()
}

/// Settings of a closed loop of about [`SECONDS`] with so many users.
fn users(count: u32) -> String {
    format!("concurrency={count},min_query_count=1,min_duration={:.0}ms", SECONDS * 1e3)
}

fn single(context: &Context, size: usize, transport: Transport, busy_poll: bool) -> Result<Figure> {
    // The expected latency only says how many queries are prepared: enough for whatever comes.
    let set = format!("target_latency=0.01,min_query_count=1,min_duration={:.0}ms", SECONDS * 1e3);
    let spec = Spec { transport, busy_poll, is_pinned: true, ..Spec::new("SingleStream", size, set) };
    let run = context.run(&spec)?.all_answered()?;
    Ok(Figure { value: run.number("/latency_ns/p50")?, cpu: run.cpu })
}

fn lag(context: &Context, rate: u32) -> Result<Figure> {
    let spec = Spec { is_pinned: true, busy_poll: true, ..server(f64::from(rate)) };
    let run = context.run(&spec)?.all_answered()?;
    Ok(Figure { value: run.number("/schedule_lag_ns/p99")?, cpu: run.cpu })
}

/// A Server run of about [`SECONDS`].
fn server(rate: f64) -> Spec {
    let latency = LARGEST_LATENCY_MS;
    let duration = SECONDS * 1e3;
    let set = format!("target_qps={rate:.0},target_latency={latency},min_query_count=1,min_duration={duration:.0}ms");
    Spec::new("Server", SMALL, set)
}

/// The largest rate whose p99 holds, of a backend that takes 1 ms for a batch and 50 us for each sample in it.
fn batching(context: &Context, max_batch: u32, last_rate: &mut Option<f64>) -> Result<Figure> {
    let spec = |rate: f64| Spec {
        backend: "synthetic:base=1ms,per_sample=50us".to_owned(),
        max_batch,
        set: format!(
            "target_qps={rate:.0},target_latency={BATCHING_LATENCY_MS},min_query_count=1,min_duration={:.0}ms",
            SECONDS * 1e3
        ),
        ..Spec::new("Server", SMALL, String::new())
    };
    let first_rate = FIRST_BATCHING_RATE * f64::from(max_batch.min(4));
    let holds = |run: &Run| {
        let is_in_time = run.number("/latency_ns/p99")? <= f64::from(BATCHING_LATENCY_MS) * 1e6;
        Ok(is_in_time && run.number("/counts/issued")? == run.number("/counts/completed")?)
    };
    largest_rate(context, last_rate, first_rate, &spec, &holds)
}

/// A node that runs the model, and samples for it.
fn model_spec(model: Model) -> Result<Spec> {
    let (path, dataset) = match model {
        Model::Digits => {
            let repository = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
            (repository.join("loadgen-node/qsl/digits/digits.onnx"), "synthetic:u8[1,8,8]x64")
        }
        Model::Resnet50 => {
            let folder = std::env::var_os("LON_TEST_MODELS");
            let folder = folder.context("set LON_TEST_MODELS to the folder that tests/models/make.py wrote")?;
            (PathBuf::from(folder).join("resnet50.onnx"), "synthetic:f32[3,224,224]x64")
        }
    };
    let backend = format!("onnx:{}", path.display());
    Ok(Spec { backend, dataset: Some(dataset), ..Spec::new("Offline", SMALL, String::new()) })
}

fn server_rate(context: &Context, rates: &mut Rates) -> Result<Figure> {
    largest_rate(context, &mut rates.server_rate, FIRST_RATE, &server, &holds)
}

fn largest_rate(
    context: &Context,
    last_rate: &mut Option<f64>,
    first_rate: f64,
    spec: &dyn Fn(f64) -> Spec,
    holds: &dyn Fn(&Run) -> Result<bool>,
) -> Result<Figure> {
    let mut search = match *last_rate {
        None => Search::new(first_rate, COARSE),
        Some(rate) => Search::new(rate, FINE),
    };
    let (mut cpu, mut reasons) = (Cpu::default(), String::new());
    while let Some(rate) = search.next() {
        // A second chance: what another program did to one run says nothing of the rate.
        let mut run_cpu = None;
        for _ in 0..2 {
            let run = context.run(&spec(rate))?;
            if holds(&run)? {
                run_cpu = Some(run.cpu);
                break;
            }
            reasons = run.summary["reasons"].to_string();
        }
        tell(&format!("  {rate:.0} per second {}", if run_cpu.is_some() { "holds" } else { "does not hold" }));
        cpu = run_cpu.unwrap_or(cpu);
        search.record(rate, run_cpu.is_some());
    }
    let rate = search.best().with_context(|| format!("no rate holds: {reasons}"))?;
    *last_rate = Some(rate);
    Ok(Figure { value: rate, cpu })
}

fn holds(run: &Run) -> Result<bool> {
    Ok(run.is_valid()
        && run.number("/schedule_lag_ns/p99")? < LARGEST_LAG_NS
        && run.number("/latency_ns/p99")? <= f64::from(LARGEST_LATENCY_MS) * 1e6)
}

/// Samples per second.
fn offline(context: &Context, spec: &Spec, rates: &mut Rates) -> Result<Figure> {
    offline_for(context, spec, rates, SECONDS)
}

/// Samples per second, over about so many seconds.
fn offline_for(context: &Context, spec: &Spec, rates: &mut Rates, seconds: f64) -> Result<Figure> {
    // A model may take seconds for what costs others nothing.
    let first_guess = if spec.dataset.is_some() { FIRST_GUESS_OF_MODELS } else { FIRST_GUESS };
    let expected = rates.offline.iter().find(|(nodes, _)| *nodes == spec.nodes).map(|&(_, rate)| rate);
    let run = |samples: f64| -> Result<Figure> {
        let set = format!("target_qps={samples:.0},min_duration=1000,min_query_count=1");
        let run = context.run(&Spec { set, ..spec.clone() })?.all_answered()?;
        Ok(Figure { value: run.number("/metric/value")?, cpu: run.cpu })
    };
    let expected = match expected {
        Some(rate) => rate,
        // Twice: the first run is short, and so says little.
        None => run((run(first_guess)?.value * seconds / 5.0).max(first_guess))?.value,
    };
    let figure = run(expected * seconds)?;
    rates.offline.retain(|(nodes, _)| *nodes != spec.nodes);
    rates.offline.push((spec.nodes, figure.value));
    Ok(figure)
}

fn nodes(context: &Context, count: usize, rates: &mut Rates) -> Result<Figure> {
    let spec = Spec {
        nodes: count,
        backend: "synthetic:constant=2ms".to_owned(),
        workers: 8,
        ..Spec::new("Offline", SMALL, String::new())
    };
    offline(context, &spec, rates)
}
