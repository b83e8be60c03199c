//! Speed of the engine on this machine: it generates traffic, and drives a world that answers at once. Also measures
//! the memory of a long run, and the time of its judging.
//!
//! `cargo run --release -p loadgen --example throughput`
#![allow(clippy::print_stdout, reason = "a measurement prints its result")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a measurement reads the clock and its memory")]

use std::error::Error;
use std::time::Instant;

use loadgen::plan::Plan;
use loadgen::run::{RunOptions, run};
use loadgen::settings::{OFFICIAL_SEEDS, Qsl, Scenario, TestSettings};
use loadgen::trace::Trace;
use loadgen::world::{Arrival, ArrivalKind, Issued, QuerySeq, SampleIndex, TimeNs, Wake, World};

const QUERIES: u64 = 5_000_000;
/// Of the run whose memory and judging are measured.
const LONG_QUERIES: u64 = 20_000_000;
const QSL: Qsl = Qsl { total: 50_000, performance: 1_024 };

fn main() -> Result<(), Box<dyn Error>> {
    // First, so that the peak of memory is its own.
    long_run()?;
    for scenario in Scenario::ALL {
        let plan = Plan::new(settings(scenario), QSL)?;
        report(scenario, "counting", plan.phases()[0].generated.samples(), || Plan::new(settings(scenario), QSL));
        report(scenario, "generating", plan.phases()[0].generated.samples(), || generate(&plan));
    }
    for scenario in Scenario::ALL {
        let mut settings = settings(scenario);
        if scenario == Scenario::BURST {
            // A burst follows the answers to the one before, and no clock.
            settings.set("burst_interval=0")?;
        }
        let plan = Plan::new(settings, QSL)?;
        let mut world = Null::new();
        let begin = Instant::now();
        let outcome = run(&plan, &mut world, &mut (), RunOptions::default());
        let phase = &outcome.phases[0];
        let (end, seconds) = (begin.elapsed().as_secs_f64(), phase.latest_end.since(phase.started) as f64 / 1e9);
        println!(
            "{:<13} running     {:>7.1} M queries/s, {:>7.1} M samples/s, setup and judging {:.2} s",
            scenario.name(),
            phase.queries_issued as f64 / seconds / 1e6,
            phase.counts.completed as f64 / seconds / 1e6,
            end - seconds,
        );
    }
    Ok(())
}

/// Memory and judging time of a long Server run.
fn long_run() -> Result<(), Box<dyn Error>> {
    let plan = Plan::new(TestSettings { min_query_count: LONG_QUERIES, ..settings(Scenario::SERVER) }, QSL)?;
    let before = peak_bytes()?;
    let outcome = run(&plan, &mut Null::new(), &mut (), RunOptions::default());
    let grown = peak_bytes()?.saturating_sub(before);
    let timeline = outcome.performance().and_then(|phase| phase.timeline.as_ref()).ok_or("nothing was recorded")?;
    println!(
        "{} M samples: {:.1} bytes of memory a sample, recorded and judged",
        timeline.len() / 1_000_000,
        grown as f64 / timeline.len() as f64,
    );
    let mut measured = timeline.measured(plan.effective());
    // Those of the run are nearly sorted, which real ones are not.
    let mut state = 1_u64;
    let any = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 34) as i64
    };
    measured.sample_latencies_ns = (0..timeline.len()).map(any).collect::<Vec<_>>().into();
    let begin = Instant::now();
    std::hint::black_box(plan.effective().judge(measured));
    println!("{} M samples: judged in {:.2} s", timeline.len() / 1_000_000, begin.elapsed().as_secs_f64());
    Ok(())
}

/// Most memory that the process has had resident.
fn peak_bytes() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM on this system")?;
    let kib: u64 = line.trim_end_matches("kB").trim().parse()?;
    Ok(kib * 1_024)
}

fn settings(scenario: Scenario) -> TestSettings {
    let mut settings = TestSettings {
        scenario,
        min_duration_ms: 0,
        min_query_count: QUERIES,
        // Due at once, so that the schedule never makes the issuer wait.
        server_target_qps: 1e12,
        ..TestSettings::default()
    };
    settings.set_seeds(OFFICIAL_SEEDS[3].seeds);
    settings
}

fn report<T>(scenario: Scenario, what: &str, samples: u64, work: impl FnOnce() -> T) {
    let begin = Instant::now();
    std::hint::black_box(work());
    let seconds = begin.elapsed().as_secs_f64();
    println!("{:<13} {what:<11} {:>7.1} M samples/s", scenario.name(), samples as f64 / seconds / 1e6);
}

/// Goes over all samples of a phase; the sum keeps the compiler honest.
fn generate(plan: &Plan) -> u64 {
    let mut trace = Trace::new(&plan.phases()[0]);
    let (mut sum, mut buffer) = (0, Vec::new());
    while let Some(query) = trace.next() {
        sum += query.due_ns;
        let mut from = 0;
        while from < query.samples {
            buffer.clear();
            trace.samples(&query, from, 1_024, &mut buffer);
            from += buffer.len() as u64;
            sum += buffer.iter().map(|sample| u64::from(sample.index.0)).sum::<u64>();
        }
    }
    sum
}

/// A world on the real clock that answers at once.
struct Null {
    origin: Instant,
    pending: Vec<Issued>,
}

impl Null {
    fn new() -> Self {
        Self { origin: Instant::now(), pending: Vec::new() }
    }
}

impl World for Null {
    type Data = [u8; 0];

    fn now(&mut self) -> TimeNs {
        TimeNs(self.origin.elapsed().as_nanos() as u64)
    }

    fn load(&mut self, _set: &[SampleIndex]) -> Result<(), String> {
        Ok(())
    }

    fn unload(&mut self, _set: &[SampleIndex]) {}

    fn issue(&mut self, _query: QuerySeq, samples: &[Issued]) {
        self.pending.extend_from_slice(samples);
    }

    fn flush(&mut self) {}

    fn wait(
        &mut self,
        _until: Option<TimeNs>,
        _wake_on_arrival: bool,
        arrivals: &mut Vec<Arrival<Self::Data>>,
    ) -> Wake {
        let at = self.now();
        let done = || ArrivalKind::Done { data: [], n_tokens: 0 };
        arrivals.extend(self.pending.drain(..).map(|sample| Arrival {
            seq: sample.seq,
            at,
            sent_at: Some(at),
            kind: done(),
        }));
        Wake::Ready
    }
}
