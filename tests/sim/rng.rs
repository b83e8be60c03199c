//! Numbers that a seed decides. The same seed gives the same numbers, here and on every machine.

use std::ops::Range;
use std::time::Duration;

/// A generator (SplitMix64). Clones go on alike.
#[derive(Clone, Debug)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    /// Another generator, which does not depend on how often this one is asked afterwards.
    pub(crate) fn split(&mut self) -> Rng {
        Rng(self.next())
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number in the range, which is not empty.
    pub(crate) fn within(&mut self, range: Range<u64>) -> u64 {
        range.start + self.next() % (range.end - range.start)
    }

    /// A duration of so many milliseconds.
    pub(crate) fn millis(&mut self, range: Range<u64>) -> Duration {
        Duration::from_millis(self.within(range))
    }

    /// True so many times in a thousand.
    pub(crate) fn chance(&mut self, in_a_thousand: u64) -> bool {
        self.within(0..1000) < in_a_thousand
    }

    /// One of these.
    pub(crate) fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.within(0..choices.len() as u64) as usize]
    }
}
