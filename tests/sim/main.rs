//! Both ends in virtual time, on one thread, over a network that a seed decides.
//!
//! The code of the QDL and of the SUT node is the real one, with its framing, HTTP/2 and control calls, and the engine
//! drives it; the clock, the network below TLS and the backend are simulated. QUIC and TLS are not part of it. A seed
//! that fails is printed with the command that plays it again, and `LON_SIM_SEEDS` says how many are played.
//!
//! - `rng`: numbers by seed; `record`: what has happened;
//! - `pipe`, `network`: connections and hosts; `backend`, `node`: the nodes;
//! - `lies`: what nodes say that is not so; `plan`: what a seed means;
//! - `world`: the engine's world; `simulation`: one seed, and what must be true of it.

// A simulation that goes wrong is to say so at once.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr)]

mod backend;
mod lies;
mod network;
mod node;
mod pipe;
mod plan;
mod record;
mod rng;
mod simulation;
mod world;

use std::panic::catch_unwind;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Instant;

use self::simulation::{Ended, Outcome, simulate, simulate_lie};

/// Number of seeds that are played, from 0 on, unless [`SEEDS_VAR`] has another number.
const SEEDS: u64 = 400;
/// The variable with the number of seeds.
const SEEDS_VAR: &str = "LON_SIM_SEEDS";
/// The variable with one seed, which is played alone, with all that happens.
const SEED_VAR: &str = "LON_SIM_SEED";

/// Number of lies that are told.
const LIES: u64 = 400;
/// The variable with one lie, which is told alone, with all that happens.
const LIE_VAR: &str = "LON_SIM_LIE";

/// The number in a variable.
fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap())
}

/// The command that plays a seed again.
fn again(seed: u64) -> String {
    format!("play it again: {SEED_VAR}={seed} cargo test -p lon-sim promises -- --nocapture")
}

/// Plays a seed and returns its outcome. Returns `None` when the seed failed, and prints the failure.
fn play(seed: u64) -> Option<Outcome> {
    let outcome = catch_unwind(|| simulate(seed, false));
    outcome.inspect_err(|_| println!("seed {seed} failed; {}", again(seed))).ok()
}

/// Plays so many seeds on two threads, each seed on one of them, and counts.
fn play_all(count: u64) {
    let start = Instant::now();
    let next = AtomicU64::new(0);
    let failed = AtomicU64::new(0);
    let (events, valid, begun_runs) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, SeqCst);
                    if seed >= count {
                        return;
                    }
                    let Some(outcome) = play(seed) else {
                        failed.fetch_add(1, SeqCst);
                        continue;
                    };
                    events.fetch_add(outcome.events, SeqCst);
                    valid.fetch_add(u64::from(outcome.ended == Ended::Valid), SeqCst);
                    begun_runs.fetch_add(u64::from(outcome.ended != Ended::NotBegun), SeqCst);
                }
            });
        }
    });
    let took = start.elapsed();
    println!(
        "{count} seeds, {begun_runs:?} runs begun, {valid:?} VALID, {events:?} events, {took:.1?}: {:.0} seeds/min",
        count as f64 * 60.0 / took.as_secs_f64()
    );
    assert_eq!(failed.load(SeqCst), 0, "seeds that failed");
    assert!(valid.load(SeqCst) > count / 20, "simulations in which nothing works find nothing");
}

#[test]
fn both_ends_keep_their_promises_under_every_seed() {
    let Some(seed) = number(SEED_VAR) else { return play_all(number(SEEDS_VAR).unwrap_or(SEEDS)) };
    println!("{:#?}", plan::Plan::of(seed));
    println!("{:?}", simulate(seed, true));
}

/// Every field of every message that a node sends, changed once: no result is VALID by it.
#[test]
fn no_result_is_valid_by_a_lie() {
    if let Some(seed) = number(LIE_VAR) {
        return println!("{:?}", simulate_lie(seed, true));
    }
    let (mut lies, mut valid) = (0, 0);
    for seed in 0..LIES {
        let outcome = catch_unwind(|| simulate_lie(seed, false));
        let outcome = outcome.unwrap_or_else(|_| panic!("the lie {seed} failed; tell it again: {LIE_VAR}={seed}"));
        lies += u64::from(outcome.is_lie);
        valid += u64::from(outcome.ended == Ended::Valid);
    }
    println!("{LIES} seeds: {lies} lies that matter, {valid} VALID without one");
    assert!(lies > LIES / 3 && valid > LIES / 20);
}
