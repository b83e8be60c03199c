//! Cost of counting: per query and end, in the path, on this machine.
//!
//! It runs the code that lanes count with, on the way out (messages, payload, tensors, samples) and back. A burst of 1
//! is a query at a time; under load a read or a write brings many, and the counters are touched once for all of them.
//!
//! `cargo run --release -p qdl --example accounting`
#![allow(clippy::print_stdout, reason = "a measurement prints its result")]

use std::hint::black_box;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// The module is compiled in here, since the crate does not export it.
#[path = "../src/account/counters.rs"]
#[allow(dead_code, unreachable_pub)]
mod counters;

use counters::{Burst, LaneCounters};

const QUERIES: u64 = 50_000_000;
const ROUNDS: usize = 5;

fn main() -> nix::Result<()> {
    for burst in [1, 64] {
        let mut costs = (0..ROUNDS).map(|_| cost_ns(burst)).collect::<Result<Vec<_>, _>>()?;
        costs.sort_by(f64::total_cmp);
        let [least, median] = [costs[0], costs[ROUNDS / 2]];
        println!("bursts of {burst:>2}: {median:5.2} ns per query, sent and answered (least {least:.2}); goal 20 ns");
    }
    Ok(())
}

/// Time that this thread had a processor: what else runs on the machine is not counted.
fn processor_time() -> nix::Result<Duration> {
    Ok(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)?.into())
}

/// Per query, its sending and its answer.
fn cost_ns(burst: u64) -> nix::Result<f64> {
    let counters = LaneCounters::default();
    let started = processor_time()?;
    for _ in 0..QUERIES / burst {
        let mut out = Burst::default();
        let mut back = Burst::default();
        for _ in 0..burst {
            out.message(black_box(150_550), black_box(150_528));
            out.sample(black_box(150_528));
            back.message(black_box(40), black_box(8));
        }
        let counters = black_box(&counters);
        counters.add_burst(black_box(&out));
        counters.received(black_box(&back));
    }
    let took = processor_time()? - started;
    let counts = black_box(&counters).read();
    assert_eq!(counts.samples_sent, QUERIES / burst * burst);
    Ok(took.as_nanos() as f64 / QUERIES as f64)
}
