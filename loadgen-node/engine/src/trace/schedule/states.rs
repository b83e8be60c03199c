//! The walk of a modulated process through its states, with exponential gaps at the rate of each.

use std::sync::Arc;

use crate::trace::rng::Rng;
use crate::traffic::arrivals::Modulated;

/// The present state, and the moment at which it ends.
#[derive(Clone, Debug)]
pub(super) struct States {
    process: Arc<Modulated>,
    rng: Rng,
    now_ns: f64,
    state: usize,
    /// Rate in the present state, queries per ns.
    rate: f64,
    ends_ns: f64,
}

impl States {
    pub(super) fn new(process: Arc<Modulated>, mut rng: Rng) -> States {
        let state = process.first(rng.real());
        let mut states = States { process, rng, now_ns: 0.0, state, rate: 0.0, ends_ns: 0.0 };
        states.enter(state);
        states
    }

    fn enter(&mut self, state: usize) {
        self.state = state;
        self.rate = self.process.rate_per_ns(state);
        self.ends_ns = self.now_ns + self.process.stay_ns(state) * self.rng.exponential();
    }

    /// The next due time, ns. A gap that reaches beyond the present state is drawn anew from its end on, which an
    /// exponential distribution allows.
    #[inline]
    pub(super) fn next(&mut self) -> f64 {
        loop {
            let due_ns = self.now_ns + self.rng.exponential() / self.rate;
            if due_ns < self.ends_ns {
                self.now_ns = due_ns;
                return due_ns;
            }
            self.now_ns = self.ends_ns;
            let draw = self.rng.real();
            let state = self.process.next(self.state, draw);
            self.enter(state);
        }
    }
}
