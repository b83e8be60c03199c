//! At which position of the loaded set the next query starts.
//!
//! The sample engine is advanced in the official way first, used or not: permutations for accuracy, for unique issue
//! and for equal issue are drawn by every phase.

use std::collections::HashMap;

use super::recipe::Recipe;
use super::rng::Rng;
use super::sets::LoadableSet;
use crate::traffic::Layout;

/// Where start positions come from.
#[derive(Clone, Debug)]
pub(super) enum Choice {
    /// A permutation of the possible positions, each once.
    Listed { positions: std::vec::IntoIter<u32> },
    /// The positions that a trace says, from the first again after the last.
    Traced { positions: Vec<u32>, next: usize },
    /// Always the same one.
    Same { position: u32 },
    /// Rounds of permutations of the whole set.
    Rounds(Box<Rounds>),
    /// Independent draws, each below `end`.
    Random { rng: Box<Rng>, end: u32 },
    /// The query is the whole set.
    Start,
}

/// Equal issue: each round is a further shuffle of the same list; after the last round the first comes again.
#[derive(Clone, Debug)]
pub(super) struct Rounds {
    at_start: Rng,
    rng: Rng,
    list: Vec<u32>,
    next: usize,
    round: u64,
    rounds: u64,
}

impl Choice {
    /// Advances `rng` over all permutations and keeps the one that counts.
    pub(super) fn new(recipe: &Recipe, rng: &mut Rng, set: &LoadableSet) -> Self {
        let starts: Vec<u32> = (0..set.end as u32).step_by(recipe.stride).collect();
        let permuted = |rng: &mut Rng| {
            let mut list = starts.clone();
            rng.shuffle(&mut list);
            list
        };
        let main = recipe.accuracy.then(|| permuted(rng));
        let unique = permuted(rng);
        let rounds = if recipe.draws_rounds { recipe.min_queries } else { 0 };
        let equal = Rounds::new(rounds, rng, set.indices.len());
        // Within the set, whose positions fit: the recipe was checked.
        let same = recipe.same.map(|position| position as u32);

        if recipe.layout == Layout::WholeSet {
            return same.map_or(Self::Start, |position| Self::Same { position });
        }
        if let Some(samples) = recipe.listed_samples() {
            return Self::traced(samples, set);
        }
        match (same, main) {
            _ if recipe.unique => Self::Listed { positions: unique.into_iter() },
            (Some(position), _) => Self::Same { position },
            _ if recipe.equal && recipe.layout == Layout::One => Self::Rounds(Box::new(equal)),
            (None, Some(main)) => Self::Listed { positions: main.into_iter() },
            (None, None) => Self::Random { rng: Box::new(rng.clone()), end: set.end as u32 },
        }
    }

    /// The positions of these samples in the set, which has them all: the recipe was checked.
    fn traced(samples: &[u32], set: &LoadableSet) -> Self {
        let positions: HashMap<u32, u32> = set.indices.iter().map(|index| index.0).zip(0..).collect();
        let position = |sample: &u32| positions.get(sample).copied().unwrap_or(0);
        Self::Traced { positions: samples.iter().map(position).collect(), next: 0 }
    }

    #[inline]
    pub(super) fn next(&mut self) -> u32 {
        match self {
            Self::Random { rng, end } => rng.below(*end),
            Self::Listed { positions } => positions.next().unwrap_or(0),
            Self::Traced { positions, next } => {
                let position = positions[*next];
                *next = (*next + 1) % positions.len();
                position
            }
            Self::Same { position } => *position,
            Self::Rounds(rounds) => rounds.next(),
            Self::Start => 0,
        }
    }
}

impl Rounds {
    /// Notes where the rounds begin and advances `rng` past them.
    fn new(queries: u64, rng: &mut Rng, set_len: usize) -> Self {
        let at_start = rng.clone();
        let rounds = queries.div_ceil(set_len as u64);
        for _ in 0..rounds {
            rng.skip_shuffle(set_len);
        }
        let list = (0..set_len as u32).collect();
        Self { rng: at_start.clone(), at_start, list, next: set_len, round: 0, rounds }
    }

    fn next(&mut self) -> u32 {
        if self.next == self.list.len() {
            self.begin_round();
        }
        self.next += 1;
        self.list[self.next - 1]
    }

    fn begin_round(&mut self) {
        if self.round.is_multiple_of(self.rounds.max(1)) {
            self.rng = self.at_start.clone();
            self.list = (0..self.list.len() as u32).collect();
        }
        self.rng.shuffle(&mut self.list);
        self.round += 1;
        self.next = 0;
    }
}
