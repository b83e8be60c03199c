//! Loadable sets: which samples of the library are in memory during a phase, and in which order.
//!
//! A performance phase only touches indices below the performance count; by the older rule of [`SetRule`] it gets the
//! first part of the whole library, shuffled.

use super::rng::Rng;
use crate::settings::{Profile, SetRule};
use crate::world::SampleIndex;

/// The samples that are loaded for one phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadableSet {
    /// The indices as they are handed to the library, padding included.
    pub indices: Vec<SampleIndex>,
    /// Length without padding; queries start at positions below it.
    pub end: usize,
}

impl LoadableSet {
    /// The same set with this padding.
    pub(crate) fn with_padding(&self, padding: u64) -> LoadableSet {
        padded(&self.indices[..self.end], padding)
    }
}

/// Rule by which the library is cut into sets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    /// Samples wanted in all.
    pub(crate) count: u64,
    /// Samples the library has.
    pub(crate) total: u32,
    /// Samples per set; 0 = all in one.
    pub(crate) per_set: u64,
    /// Entries appended so that a query may start at the last sample and run on.
    pub(crate) padding: u64,
    /// The seed `qsl_rng_seed`, which orders the library.
    pub(crate) seed: u64,
    /// The release by whose rules the library is cut.
    pub(crate) profile: Profile,
}

/// The sets, in the order in which accuracy phases run them; a performance phase uses the first.
pub(crate) fn loadable_sets(cut: Cut) -> Vec<LoadableSet> {
    let count = match cut.profile.set {
        SetRule::BelowPerformanceCount => cut.count.min(u64::from(cut.total)) as u32,
        SetRule::WholeLibrary => cut.total,
    };
    let mut all: Vec<SampleIndex> = (0..count).map(SampleIndex).collect();
    Rng::with_rule(cut.seed, cut.profile.integers).shuffle(&mut all);
    let per_set = if cut.per_set == 0 { all.len() } else { cut.per_set.min(u64::from(count)) as usize };
    all.chunks(per_set.max(1)).map(|chunk| padded(chunk, cut.padding)).collect()
}

fn padded(chunk: &[SampleIndex], padding: u64) -> LoadableSet {
    let mut indices = chunk.to_vec();
    for i in 0..padding as usize {
        indices.push(indices[i]);
    }
    LoadableSet { indices, end: chunk.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(total: u32) -> Cut {
        Cut { count: u64::from(total), total, per_set: 0, padding: 0, seed: 5, profile: Profile::NEWEST }
    }

    #[test]
    fn cuts_everything_once_and_pads_from_the_front() {
        let sets = loadable_sets(Cut { count: 10, per_set: 4, padding: 6, ..cut(10) });
        assert_eq!(sets.iter().map(|set| set.end).collect::<Vec<_>>(), [4, 4, 2]);
        let mut positions: Vec<u32> = sets.iter().flat_map(|set| &set.indices[..set.end]).map(|i| i.0).collect();
        positions.sort_unstable();
        assert_eq!(positions, (0..10).collect::<Vec<_>>());
        let short = &sets[2].indices;
        assert_eq!(short.len(), 8);
        assert!((2..8).all(|i| short[i] == short[i - 2]), "padding repeats a set shorter than itself");
    }

    #[test]
    fn zero_per_set_is_one_set() {
        assert_eq!(loadable_sets(Cut { count: 9, ..cut(7) }).len(), 1);
    }

    /// First samples of performance and of accuracy runs on macOS, as they were published: round v5.1, open division,
    /// resnet50 on an M1 Pro, LoadGen 5.1.0. The library has 50,000 samples, of which 1,024 are loaded at once.
    #[test]
    fn sets_of_macos_are_those_that_were_published() {
        let integers = crate::settings::IntegerRule::Mask;
        let profile = Profile { integers, set: crate::settings::SetRule::WholeLibrary };
        let seed = 1_780_908_523_862_526_354;
        let sets = loadable_sets(Cut { count: 1_024, per_set: 1_024, seed, profile, ..cut(50_000) });
        let first = |set: &LoadableSet| set.indices[..6].iter().map(|index| index.0).collect::<Vec<_>>();
        assert_eq!(first(&sets[0]), [48_336, 14_652, 6_037, 8_911, 32_278, 540]);
        assert_eq!(first(&sets[1]), [41_785, 43_633, 29_553, 45_717, 28_161, 33_325]);
    }

    #[test]
    fn the_older_rule_takes_from_the_whole_library() {
        let performance = Cut { count: 4, per_set: 4, ..cut(100) };
        let newest = loadable_sets(performance).remove(0);
        assert!(newest.indices.iter().all(|index| index.0 < 4));
        let older = loadable_sets(Cut { profile: Profile::BEFORE_6_0_6, ..performance }).remove(0);
        assert!(older.end == 4 && older.indices.iter().any(|index| index.0 >= 4));
        let all = loadable_sets(Cut { count: 100, per_set: 4, ..cut(100) }).remove(0);
        assert_eq!(older, all, "the first set of an accuracy run");
    }
}
