//! The order of the runs of a campaign.

use rand_mt::Mt64;

/// The order of the runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// All repeats of a cell, then the next cell.
    ByCell,
    /// A repeat of each cell, then the next repeat: a drift of the machines meets all cells alike.
    Interleaved,
    /// A random order with this seed.
    Random(u64),
}

/// Every order is equally likely, by Durstenfeld (Communications of the ACM 7, 1964).
pub(super) fn shuffled(mut list: Vec<usize>, seed: u64) -> Vec<usize> {
    let mut random = Mt64::new(seed);
    for at in (1..list.len()).rev() {
        let other = random.next_u64() % (at as u64 + 1);
        list.swap(at, other as usize);
    }
    list
}
