//! A world for tests of searches: a SUT with a known limit, in noise.

use std::cell::Cell;
use std::rc::Rc;

use super::observer::{AccuracyEntry, Observer};
use super::search_record::TrialStart;
use crate::world::{Arrival, ArrivalKind, Issued, QuerySeq, SampleIndex, SampleSeq, TimeNs, Wake, World};

/// Serves whatever is asked at once below a limit that moves a little from trial to trial, and far too late above it.
pub(crate) struct Noisy {
    limit: f64,
    /// Largest share by which the limit of a trial differs.
    noise: f64,
    dice: u64,
    load: Rc<Cell<f64>>,
    is_fast: bool,
    now: TimeNs,
    pending: Vec<(SampleSeq, TimeNs)>,
}

impl Noisy {
    /// A world with this limit, whose noise is at most 3 % of it, and the observer that it needs.
    pub(crate) fn new(limit: f64, seed: u64) -> (Noisy, Teller) {
        let load = Rc::<Cell<f64>>::default();
        let world = Noisy {
            limit,
            noise: 0.03,
            dice: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            load: Rc::clone(&load),
            is_fast: true,
            now: TimeNs(0),
            pending: Vec::new(),
        };
        (world, Teller(load))
    }

    fn roll(&mut self) -> f64 {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.dice >> 11) as f64 / (1_u64 << 53) as f64
    }
}

impl World for Noisy {
    type Data = [u8; 0];

    fn now(&mut self) -> TimeNs {
        self.now
    }

    fn load(&mut self, _: &[SampleIndex]) -> Result<(), String> {
        Ok(())
    }

    fn unload(&mut self, _: &[SampleIndex]) {}

    fn issue(&mut self, _: QuerySeq, samples: &[Issued]) {
        if self.load.get() > 0.0 {
            let noise = self.noise * (2.0 * self.roll() - 1.0);
            self.is_fast = self.load.take() <= self.limit * (1.0 + noise);
        }
        self.pending.extend(samples.iter().map(|issued| (issued.seq, self.now)));
    }

    fn flush(&mut self) {}

    fn wait(&mut self, until: Option<TimeNs>, _: bool, arrivals: &mut Vec<Arrival<[u8; 0]>>) -> Wake {
        let takes_ns = if self.is_fast { 0 } else { 500_000_000 };
        self.now = until.map_or(self.now + takes_ns, |until| until.max(self.now));
        let (now, is_fast) = (self.now, self.is_fast);
        if is_fast || until.is_none() {
            arrivals.extend(self.pending.drain(..).map(|(seq, issued)| Arrival {
                seq,
                at: if is_fast { issued } else { now },
                sent_at: None,
                kind: ArrivalKind::Done { data: [], n_tokens: 0 },
            }));
        }
        Wake::Ready
    }
}

/// Passes the load of each trial to the world, which a real SUT need not know.
pub(crate) struct Teller(Rc<Cell<f64>>);

impl Observer for Teller {
    fn accuracy(&mut self, _: &AccuracyEntry<'_>) {}

    fn trial_started(&mut self, trial: TrialStart) {
        self.0.set(trial.load);
    }
}
