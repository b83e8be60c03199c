//! Due times, one after the other, as the arrival process draws them: [`Schedule`].
//!
//! | file | what it has |
//! |---|---|
//! | `gaps` | draws of gamma and Weibull distributions |
//! | `states` | the walk of a modulated process through its states |
//! | `due_statistics` | [`Drawn`]: mean rate and variation of the due times that were drawn |
//!
//! All draws come from the engine of the round's schedule seed. The gaps of a Poisson process are the official ones,
//! bit by bit. The first query is due at 0, except in a trace.

mod due_statistics;
mod gaps;
mod states;

use std::sync::Arc;

pub use due_statistics::Drawn;
pub(super) use due_statistics::Meter;

use self::gaps::{Gamma, Weibull};
use self::states::States;
use super::rng::Rng;
use crate::traffic::arrivals::{Arrivals, Inverse};

/// The due times of a phase: `next_due_ns` is that of the upcoming query.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    pub(super) next_due_ns: u64,
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    Poisson { rng: Box<Rng>, rate: f64 },
    Constant { gap_ns: u64 },
    Gamma(Box<Gamma>),
    Weibull(Box<Weibull>),
    States(Box<States>),
    Bursts(Box<Bursts>),
    Rated(Box<Rated>),
    Listed(Box<ListedTimes>),
}

impl Schedule {
    /// The due times of a process at a target rate, from a seed.
    pub(super) fn new(arrivals: &Arrivals, target_qps: f64, seed: u64) -> Self {
        let rng = Rng::new(seed);
        let source = match arrivals {
            Arrivals::Poisson => Source::Poisson { rng: Box::new(rng), rate: target_qps },
            Arrivals::Constant => Source::Constant { gap_ns: ((1.0 / target_qps) * 1e9) as u64 },
            Arrivals::Gamma { shape } => Source::Gamma(Box::new(Gamma::new(*shape, 1e9 / target_qps, rng))),
            Arrivals::Weibull { shape } => Source::Weibull(Box::new(Weibull::new(*shape, 1e9 / target_qps, rng))),
            Arrivals::Modulated(modulated) => Source::States(Box::new(States::new(Arc::clone(modulated), rng))),
            Arrivals::Bursts { size, every_ns, is_exponential } => Source::Bursts(Box::new(Bursts {
                size: *size,
                remaining: *size,
                every_ns: *every_ns,
                rng: is_exponential.then_some(rng),
            })),
            Arrivals::Rated { profile, is_even } => Source::Rated(Box::new(Rated {
                inverse: Inverse::of(profile),
                now_ns: 0.0,
                rng: (!is_even).then_some(rng),
            })),
            Arrivals::Listed(listed) => Source::Listed(Box::new(ListedTimes {
                due_ns: listed.due_ns.clone().unwrap_or_else(|| Arc::from([0])),
                next: 0,
                round_ns: 0,
                repeat_ns: listed.repeat_ns,
            })),
        };
        let mut schedule = Schedule { next_due_ns: 0, source };
        if let Source::Listed(_) = schedule.source {
            schedule.advance();
        }
        schedule
    }

    /// Moves on to the query after the upcoming one.
    #[inline]
    pub(super) fn advance(&mut self) {
        let gap_ns = match &mut self.source {
            Source::Poisson { rng, rate } => rng.gap_ns(*rate),
            Source::Constant { gap_ns } => *gap_ns,
            Source::Gamma(gamma) => gamma.next() as u64,
            Source::Weibull(weibull) => weibull.next() as u64,
            Source::Bursts(bursts) => bursts.next_gap_ns(),
            Source::States(states) => return self.next_due_ns = states.next() as u64,
            Source::Rated(rated) => return self.next_due_ns = rated.next() as u64,
            Source::Listed(listed) => return self.next_due_ns = listed.next(),
        };
        self.next_due_ns = self.next_due_ns.saturating_add(gap_ns);
    }
}

/// Bursts of queries that are due at once.
#[derive(Clone, Debug)]
struct Bursts {
    size: u64,
    /// Queries of the burst that are left, the upcoming one among them.
    remaining: u64,
    every_ns: u64,
    /// Draws the times between bursts; equal times without.
    rng: Option<Rng>,
}

impl Bursts {
    #[inline]
    fn next_gap_ns(&mut self) -> u64 {
        self.remaining -= 1;
        if self.remaining > 0 {
            return 0;
        }
        self.remaining = self.size;
        match &mut self.rng {
            Some(rng) => rng.gap_ns(1e9 / self.every_ns as f64),
            None => self.every_ns,
        }
    }
}

/// A rate that changes over time.
#[derive(Clone, Debug)]
struct Rated {
    inverse: Inverse,
    now_ns: f64,
    /// Draws by how much the integral of the rate grows; by one without.
    rng: Option<Rng>,
}

impl Rated {
    #[inline]
    fn next(&mut self) -> f64 {
        let grown = self.rng.as_mut().map_or(1.0, Rng::exponential);
        self.now_ns = self.inverse.after(self.now_ns, grown);
        self.now_ns
    }
}

/// The times of a trace. After the last one of a trace without repetition, the last one again.
#[derive(Clone, Debug)]
struct ListedTimes {
    due_ns: Arc<[u64]>,
    next: usize,
    /// Start of the present round, ns.
    round_ns: u64,
    repeat_ns: Option<u64>,
}

impl ListedTimes {
    #[inline]
    fn next(&mut self) -> u64 {
        if self.next == self.due_ns.len()
            && let Some(repeat_ns) = self.repeat_ns
        {
            self.next = 0;
            self.round_ns = self.round_ns.saturating_add(repeat_ns);
        }
        let due_ns = self.due_ns.get(self.next).or(self.due_ns.last()).copied().unwrap_or(0);
        self.next += usize::from(self.next < self.due_ns.len());
        self.round_ns.saturating_add(due_ns)
    }
}

#[cfg(test)]
mod tests;
