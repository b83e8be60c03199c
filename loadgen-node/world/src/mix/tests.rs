//! Mixes of two to eight tenants in virtual time. Each tenant has a thread, and one thread runs at a time: the one
//! whose wait ends first.

use std::num::NonZeroU64;
use std::sync::Condvar;

use loadgen::plan::Plan;
use loadgen::run::{RunOptions, RunOutcome, run};
use loadgen::settings::{Qsl, Scenario, TestSettings};
use loadgen::sim::{Service, SimOptions, SimWorld};

use super::*;

const SECOND_NS: u64 = 1_000_000_000;

/// Seeds of a run of the tests. `LON_MIX_SEEDS` has another number.
const SEEDS: u64 = 40;

/// The order of the tenants' turns: when the wait of each ends.
struct Turns {
    waits: Mutex<Vec<Wait>>,
    /// Signal that it is the turn of a tenant, one for each.
    turn: Vec<Condvar>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    Until(TimeNs),
    Runs,
    Over,
}

impl Turns {
    fn new(tenants: usize) -> Turns {
        Turns { waits: Mutex::new(vec![Wait::Runs; tenants]), turn: (0..tenants).map(|_| Condvar::new()).collect() }
    }

    /// Returns when it is this tenant's turn.
    fn wait(&self, place: usize, until: TimeNs) {
        let mut waits = self.waits.lock().unwrap();
        waits[place] = Wait::Until(until);
        self.hand_over(&mut waits);
        while waits[place] != Wait::Runs {
            waits = self.turn[place].wait(waits).unwrap();
        }
    }

    fn over(&self, place: usize) {
        let mut waits = self.waits.lock().unwrap();
        waits[place] = Wait::Over;
        self.hand_over(&mut waits);
    }

    /// Gives the turn to the tenant whose wait ends first, once all of them wait.
    fn hand_over(&self, waits: &mut [Wait]) {
        let until = |(place, wait): (usize, &Wait)| match wait {
            Wait::Until(at) => Some((*at, place)),
            Wait::Runs | Wait::Over => None,
        };
        let next = waits.iter().enumerate().filter_map(until).min();
        if let Some((_, place)) = next.filter(|_| !waits.contains(&Wait::Runs)) {
            waits[place] = Wait::Runs;
            self.turn[place].notify_one();
        }
    }
}

/// A simulated world that waits for its turn.
struct TurnWorld<'a> {
    world: SimWorld,
    turns: &'a Turns,
    place: usize,
}

impl World for TurnWorld<'_> {
    type Data = Vec<u8>;

    fn now(&mut self) -> TimeNs {
        self.world.now()
    }

    fn load(&mut self, set: &[SampleIndex]) -> Result<(), String> {
        self.turns.wait(self.place, TimeNs(self.place as u64));
        self.world.load(set)
    }

    fn unload(&mut self, set: &[SampleIndex]) {
        self.world.unload(set);
    }

    fn issue(&mut self, query: QuerySeq, samples: &[Issued]) {
        self.world.issue(query, samples);
    }

    fn flush(&mut self) {
        self.world.flush();
    }

    fn wait(&mut self, until: Option<TimeNs>, wake_on_arrival: bool, arrivals: &mut Vec<Arrival<Vec<u8>>>) -> Wake {
        if let Some(wake) = self.world.next_wake(until, wake_on_arrival) {
            self.turns.wait(self.place, wake);
        }
        self.world.wait(until, wake_on_arrival, arrivals)
    }
}

/// The fate of a tenant's model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Works,
    /// It is gone after this time.
    Breaks(TimeNs),
    /// It fails some samples.
    Fails,
    /// It answers more slowly than samples come.
    Saturated,
}

#[derive(Clone, Copy, Debug)]
struct Tenant {
    scenario: Scenario,
    seed: u64,
    min_duration_ms: u64,
    start_ns: u64,
    fate: Fate,
}

/// A sequence of numbers that follows from a seed: SplitMix64.
fn draws(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |below| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = state;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (number ^ (number >> 31)) % below
    }
}

fn tenants(seed: u64) -> Vec<Tenant> {
    let mut draw = draws(seed);
    let scenarios = [Scenario::SERVER, Scenario::CLOSED, Scenario::SINGLE_STREAM, Scenario::BURST];
    let count = 2 + draw(7);
    let tenant = |_| Tenant {
        scenario: scenarios[draw(4) as usize],
        seed: draw(u64::from(u32::MAX)),
        min_duration_ms: 200 + draw(800),
        start_ns: draw(4) * 100_000_000,
        fate: match draw(12) {
            0 => Fate::Breaks(TimeNs(200_000_000 + draw(600_000_000))),
            1 => Fate::Fails,
            2 => Fate::Saturated,
            _ => Fate::Works,
        },
    };
    (0..count).map(tenant).collect()
}

fn ran(tenant: Tenant, place: usize, mix: &Mix, turns: &Turns) -> RunOutcome {
    let Tenant { scenario, seed, min_duration_ms, start_ns, fate } = tenant;
    let mut settings = TestSettings {
        scenario,
        min_query_count: 5,
        min_duration_ms,
        schedule_rng_seed: seed,
        server_target_qps: 40.0,
        server_target_latency_ns: SECOND_NS,
        single_stream_expected_latency_ns: 20_000_000.0,
        ..TestSettings::default()
    };
    if scenario == Scenario::BURST {
        for setting in ["burst_size=4", "burst_interval=100ms"] {
            settings.set(setting).unwrap();
        }
    }
    let plan = Plan::new(settings, Qsl { total: 64, performance: 64 }).unwrap();
    let mean_ns = if fate == Fate::Saturated { 200_000_000.0 } else { 5_000_000.0 };
    let options = SimOptions {
        seed,
        service: Service::Exponential { mean_ns },
        failing: if fate == Fate::Fails { 0.5 } else { 0.0 },
        break_at: match fate {
            Fate::Breaks(at) => Some(at),
            _ => None,
        },
        ..SimOptions::default()
    };
    let mut world = TurnWorld { world: SimWorld::new(options), turns, place };
    let mut mixed = MixedWorld::new(&mut world, mix.seat(place), start_ns);
    let outcome =
        run(&plan, &mut mixed, &mut (), RunOptions { goes_on: NonZeroU64::new(200), ..RunOptions::default() });
    drop(mixed);
    turns.over(place);
    outcome
}

fn together(tenants: &[Tenant]) -> (Mix, Vec<RunOutcome>) {
    let mix = Mix::new(tenants.len());
    let turns = Turns::new(tenants.len());
    let outcomes = std::thread::scope(|scope| {
        let start = |(place, tenant): (usize, &Tenant)| {
            let (mix, turns, tenant) = (&mix, &turns, *tenant);
            scope.spawn(move || ran(tenant, place, mix, turns))
        };
        let threads: Vec<_> = tenants.iter().enumerate().map(start).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    (mix, outcomes)
}

fn seeds() -> u64 {
    std::env::var("LON_MIX_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(SEEDS)
}

#[test]
fn every_tenant_goes_on_until_all_have_what_they_need_and_every_sample_ends_once() {
    for seed in 0..seeds() {
        let tenants = tenants(seed);
        let (mix, outcomes) = together(&tenants);
        let begin = mix.begin().unwrap();
        let ends = tenants.iter().zip(&outcomes).filter(|(tenant, _)| tenant.fate == Fate::Works);
        let needed = ends.clone().map(|(tenant, _)| begin + tenant.start_ns + tenant.min_duration_ms * 1_000_000);
        let needed = needed.max().unwrap_or_default();
        for (place, (tenant, outcome)) in tenants.iter().zip(&outcomes).enumerate() {
            let who = format!("seed {seed}, tenant {place} of {tenants:?}");
            let Some(phase) = outcome.phases.first() else {
                assert!(matches!(tenant.fate, Fate::Breaks(_)), "{who}");
                continue;
            };
            let counts = phase.counts;
            assert_eq!(counts.issued, counts.completed + counts.failed + counts.lost, "{who}: {counts:?}");
            assert_eq!((counts.unknown, counts.duplicate, counts.late), (0, 0, 0), "{who}");
            let is_whole = counts.completed == counts.issued;
            match tenant.fate {
                Fate::Works => {
                    // Some have too few queries for their percentile.
                    let is_good = outcome.verdict.reasons().iter().all(|reason| reason.code == "early_stopping");
                    assert!(is_whole && is_good, "{who}: {:?}", outcome.verdict);
                    assert!(phase.started >= begin + tenant.start_ns, "{who}");
                    assert!(!mix.left_early(place), "{who}");
                    // Up to the answer after the last query, for those that wait for one.
                    assert!(phase.ended + 200_000_000 >= needed, "{who}: {:?} before {needed:?}", phase.ended);
                }
                Fate::Fails => assert!(!outcome.verdict.is_valid() && counts.failed > 0, "{who}"),
                Fate::Breaks(at) => assert!(phase.ended < at || !outcome.verdict.is_valid(), "{who}"),
                Fate::Saturated => assert!(is_whole, "{who}"),
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_mix() {
    let counts = |seed| {
        let (_, outcomes) = together(&tenants(seed));
        outcomes.iter().map(|outcome| outcome.counts()).collect::<Vec<_>>()
    };
    assert_eq!(counts(7), counts(7));
}
