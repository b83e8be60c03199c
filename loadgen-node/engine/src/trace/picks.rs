//! Which samples of a performance phase have their answers logged.
//!
//! One default-seeded stream runs through the whole test, two draws per generated sample in every phase; the
//! user's seed only shifts it. Accuracy phases log everything and merely consume draws.

use super::rng::Rng;

/// The stream of decisions, in the order in which samples are generated.
#[derive(Clone, Debug)]
pub(crate) struct Picks {
    stream: Rng,
    offset: f64,
    probability: f64,
}

impl Picks {
    pub(crate) fn new(accuracy_log_rng_seed: u64, probability: f64) -> Self {
        Self { stream: Rng::unseeded(), offset: Rng::new(accuracy_log_rng_seed).real(), probability }
    }

    /// Goes on with another probability.
    pub(crate) fn set_probability(&mut self, probability: f64) {
        self.probability = probability;
    }

    /// Returns true when any sample can be picked. With probability 0 it takes a sum of exactly 0 or 1 (chance 2^-53 a
    /// sample). Two draws for every sample of every run are too much for that.
    pub(crate) fn possible(&self) -> bool {
        self.probability > 0.0
    }

    /// Decides for the next sample.
    #[inline]
    pub(crate) fn next(&mut self) -> bool {
        let shifted = self.stream.real() + self.offset;
        let weight = if shifted < 1.0 { shifted } else { shifted - 1.0 };
        weight <= self.probability
    }

    /// Consumes the draws of samples for which no decision is needed.
    pub(crate) fn skip(&mut self, samples: u64) {
        if self.possible() {
            for _ in 0..samples {
                self.stream.real();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipping_equals_asking() {
        let (mut stepped, mut skipped) = (Picks::new(4, 0.3), Picks::new(4, 0.3));
        for _ in 0..50 {
            stepped.next();
        }
        skipped.skip(50);
        let picks_of = |picks: &mut Picks| (0..200).map(|_| picks.next()).collect::<Vec<_>>();
        assert_eq!(picks_of(&mut stepped), picks_of(&mut skipped));
    }

    #[test]
    fn infinite_probability_picks_everything_and_share_is_kept() {
        let mut all = Picks::new(1, f64::INFINITY);
        assert!((0..100).all(|_| all.next()));
        let mut some = Picks::new(1, 0.25);
        let picked = (0..10_000).filter(|_| some.next()).count();
        assert!((2_300..2_700).contains(&picked), "{picked}");
    }
}
