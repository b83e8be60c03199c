//! Random numbers exactly as the official LoadGen draws them: engine, bounded integers, shuffles, reals.
//!
//! The standard fixes only the engine; how a library turns its draws into integers, reals and permutations is fixed
//! here, and every rule decides which sample is asked when. Not a general random library: nothing may be added that
//! draws differently.

use rand_mt::Mt;

use crate::settings::IntegerRule;

/// Lists up to this length are shuffled with two positions per draw: the product of two bounds still fits a draw.
const PAIRED_SHUFFLE_MAX: usize = 65_535;

/// The largest real below 1.
const BELOW_ONE: f64 = 1.0 - f64::EPSILON / 2.0;

/// The 32-bit Mersenne Twister, with integers, reals and permutations made of its draws.
#[derive(Clone, Debug)]
pub(crate) struct Rng {
    engine: Mt,
    integers: IntegerRule,
}

impl Rng {
    /// Seeds the engine; only the low 32 bits of the seed act.
    pub(crate) fn new(seed: u64) -> Self {
        Self::with_rule(seed, IntegerRule::default())
    }

    /// A seeded engine that draws integers by the given rule.
    pub(crate) fn with_rule(seed: u64, integers: IntegerRule) -> Self {
        Self { engine: Mt::new(seed as u32), integers }
    }

    /// The engine with its default seed.
    pub(crate) fn unseeded() -> Self {
        Self { engine: Mt::new_unseeded(), integers: IntegerRule::default() }
    }

    /// Uniform integer in `0..n`, for `n` of at least 1: the high half of a product, redrawn where it would be biased.
    #[inline]
    pub(crate) fn below(&mut self, n: u32) -> u32 {
        match self.integers {
            IntegerRule::Product => {}
            IntegerRule::Division | IntegerRule::Division6 => return self.below_by_division(n),
            IntegerRule::Mask => return self.below_by_mask(n),
        }
        let mut product = u64::from(self.engine.next_u32()) * u64::from(n);
        if (product as u32) < n {
            let threshold = n.wrapping_neg() % n;
            while (product as u32) < threshold {
                product = u64::from(self.engine.next_u32()) * u64::from(n);
            }
        }
        (product >> 32) as u32
    }

    /// [`Rng::below`] by the older rule: a quotient, redrawn beyond the last whole multiple.
    fn below_by_division(&mut self, n: u32) -> u32 {
        let scale = u32::MAX / n;
        let past = scale * n;
        loop {
            let draw = self.engine.next_u32();
            if draw < past {
                return draw / scale;
            }
        }
    }

    /// [`Rng::below`] by the rule of libc++: as many low bits as the largest integer has, redrawn where that is too
    /// much.
    fn below_by_mask(&mut self, n: u32) -> u32 {
        // Of one integer nothing is drawn.
        let Some(bits) = (n - 1).checked_ilog2() else { return 0 };
        let mask = u32::MAX >> (31 - bits);
        loop {
            let draw = self.engine.next_u32() & mask;
            if draw < n {
                return draw;
            }
        }
    }

    /// Uniform real in `[0, 1)` from two draws, low half first.
    #[inline]
    pub(crate) fn real(&mut self) -> f64 {
        let low = f64::from(self.engine.next_u32());
        let high = f64::from(self.engine.next_u32());
        let real = (low + high * 4_294_967_296.0) / 18_446_744_073_709_551_616.0;
        if real < 1.0 { real } else { BELOW_ONE }
    }

    /// Time to the next event of a Poisson process with `rate` events per second, in whole ns.
    #[inline]
    pub(crate) fn gap_ns(&mut self, rate: f64) -> u64 {
        ((-(1.0 - self.real()).ln() / rate) * 1e9) as u64
    }

    /// An exponential number of mean 1.
    #[inline]
    pub(crate) fn exponential(&mut self) -> f64 {
        -(1.0 - self.real()).ln()
    }

    /// Permutes a list in place, as `std::shuffle` of the library does.
    pub(crate) fn shuffle<T>(&mut self, list: &mut [T]) {
        self.permute(list.len(), |i, j| list.swap(i, j));
    }

    /// Draws what permuting a list of this length draws.
    pub(crate) fn skip_shuffle(&mut self, len: usize) {
        self.permute(len, |_, _| ());
    }

    /// The swaps that permute a list of `len` items.
    #[inline]
    fn permute(&mut self, len: usize, mut swap: impl FnMut(usize, usize)) {
        if self.integers == IntegerRule::Mask {
            for i in 1..len {
                swap(i - 1, i - 1 + self.below((len - i) as u32 + 1) as usize);
            }
            return;
        }
        if len > PAIRED_SHUFFLE_MAX || self.integers == IntegerRule::Division6 {
            for i in 1..len {
                swap(i, self.below(i as u32 + 1) as usize);
            }
            return;
        }
        let mut i = 1;
        if len.is_multiple_of(2) && len > 0 {
            swap(1, self.below(2) as usize);
            i = 2;
        }
        while i < len {
            let bound = i as u32 + 2;
            let both = self.below((bound - 1) * bound);
            swap(i, (both / bound) as usize);
            swap(i + 1, (both % bound) as usize);
            i += 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_engine_matches_the_standard() {
        let mut rng = Rng::unseeded();
        let last = (0..10_000).map(|_| rng.engine.next_u32()).last();
        assert_eq!(last, Some(4_123_659_995));
    }

    #[test]
    fn seeds_act_modulo_two_to_the_32() {
        let (mut long, mut short) = (Rng::new((1 << 32) + 1), Rng::new(1));
        assert!((0..100).all(|_| long.engine.next_u32() == short.engine.next_u32()));
    }

    #[test]
    fn below_stays_below_and_reaches_both_ends() {
        let mut rng = Rng::new(7);
        let integers: Vec<u32> = (0..1_000).map(|_| rng.below(10)).collect();
        assert!(integers.iter().all(|x| *x < 10));
        assert!(integers.contains(&0) && integers.contains(&9));
    }

    #[test]
    fn below_redraws_where_the_product_would_be_biased() {
        // For n = 3 * 2^30 a quarter of the draws is rejected; count draws against a twin engine.
        let (mut rng, mut twin) = (Rng::new(1), Rng::new(1));
        for _ in 0..1_000 {
            rng.below(3 << 30);
        }
        let next = rng.engine.next_u32();
        let draws = (0..3_000).position(|_| twin.engine.next_u32() == next).unwrap();
        assert!((1_200..1_500).contains(&draws), "{draws}");
    }

    #[test]
    fn the_older_rule_divides() {
        let (mut rng, mut twin) = (Rng::with_rule(9, IntegerRule::Division), Rng::new(9));
        for n in [1, 2, 3, 10, 1_000, 3 << 30] {
            let scale = u32::MAX / n;
            let draw = std::iter::repeat_with(|| twin.engine.next_u32()).find(|draw| *draw < n * scale).unwrap();
            assert_eq!(rng.below(n), draw / scale, "{n}");
        }
    }

    /// Number of engine draws that shuffling `n` items takes.
    fn draws_of_shuffle(n: usize) -> usize {
        let (mut rng, mut twin) = (Rng::new(3), Rng::new(3));
        let mut list: Vec<u32> = (0..n as u32).collect();
        rng.shuffle(&mut list);
        let mut sorted = list;
        sorted.sort_unstable();
        assert!(sorted.iter().enumerate().all(|(i, x)| i == *x as usize), "a permutation");
        let next = rng.engine.next_u32();
        (0..2 * n + 10).position(|_| twin.engine.next_u32() == next).unwrap()
    }

    #[test]
    fn shuffles_switch_to_one_draw_per_item_at_65536() {
        assert!(draws_of_shuffle(65_535) < 50_000, "two items per draw");
        assert!(draws_of_shuffle(65_536) >= 65_535, "one item per draw");
        assert!(draws_of_shuffle(65_537) >= 65_536, "one item per draw");
    }

    #[test]
    fn the_oldest_rule_draws_for_each_item_of_a_shuffle() {
        let rule = IntegerRule::Division6;
        let (mut rng, mut twin) = (Rng::with_rule(9, rule), Rng::with_rule(9, IntegerRule::Division));
        let (mut list, mut swapped) = ([0, 1, 2, 3, 4, 5, 6], [0, 1, 2, 3, 4, 5, 6]);
        rng.shuffle(&mut list);
        for i in 1..swapped.len() {
            swapped.swap(i, twin.below(i as u32 + 1) as usize);
        }
        assert_eq!(list, swapped);
        assert_eq!(rng.below(1_000), twin.below(1_000), "integers are those of the newer rule");
    }

    #[test]
    fn a_skipped_shuffle_draws_the_same() {
        for len in [0, 1, 2, 3, 1_024, 65_535, 65_536] {
            let (mut rng, mut twin) = (Rng::new(5), Rng::new(5));
            rng.shuffle(&mut vec![0_u8; len]);
            twin.skip_shuffle(len);
            assert_eq!(rng.engine.next_u32(), twin.engine.next_u32(), "{len}");
        }
    }

    #[test]
    fn lists_of_zero_and_one_draw_nothing() {
        assert_eq!(draws_of_shuffle(0), 0);
        assert_eq!(draws_of_shuffle(1), 0);
        assert_eq!(draws_of_shuffle(2), 1);
    }

    #[test]
    fn reals_take_their_low_half_first() {
        let (mut rng, mut twin) = (Rng::new(11), Rng::new(11));
        let (low, high) = (twin.engine.next_u32(), twin.engine.next_u32());
        let expected = (f64::from(low) + f64::from(high) * 2f64.powi(32)) / 2f64.powi(64);
        assert_eq!(rng.real(), expected);
    }
}
