//! How fast the engine is on this machine: generating traffic, and driving a world that answers at once.
//!
//! `cargo run --release -p loadgen-node --no-default-features --example throughput`
#![allow(clippy::print_stdout, reason = "a measurement prints its result")]

use std::error::Error;
use std::time::Instant;

use loadgen::plan::Plan;
use loadgen::run::{RunOptions, run};
use loadgen::settings::{OFFICIAL_SEEDS, Qsl, Scenario, TestSettings};
use loadgen::trace::Trace;
use loadgen::world::{Arrival, ArrivalKind, Issued, QuerySeq, SampleIndex, TimeNs, Wake, World};

const QUERIES: u64 = 5_000_000;
const QSL: Qsl = Qsl { total: 50_000, performance: 1_024 };

fn main() -> Result<(), Box<dyn Error>> {
    for scenario in Scenario::ALL {
        let plan = Plan::new(settings(scenario), QSL)?;
        report(scenario, "counting", plan.phases()[0].generated.samples(), || Plan::new(settings(scenario), QSL));
        report(scenario, "generating", plan.phases()[0].generated.samples(), || generate(&plan));
    }
    for scenario in Scenario::ALL {
        let plan = Plan::new(settings(scenario), QSL)?;
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
