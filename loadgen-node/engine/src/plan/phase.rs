//! One phase of a test: its loaded set and the size of its traffic.

use serde::{Deserialize, Serialize};

use super::{Effective, MAX_SAMPLES_PER_PHASE, PlanError};
use crate::profile::IntegerRule;
use crate::sets::LoadableSet;
use crate::trace::Recipe;
use crate::world::{QuerySeq, SampleSeq};

/// What a phase is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PhaseMode {
    /// Each loaded sample once; all answers are logged, nothing is judged.
    AccuracyOnly,
    /// The timed, judged phase.
    PerformanceOnly,
}

impl PhaseMode {
    /// The official name of the mode that consists of such phases.
    pub fn name(self) -> &'static str {
        match self {
            Self::AccuracyOnly => "AccuracyOnly",
            Self::PerformanceOnly => "PerformanceOnly",
        }
    }
}

/// The size of generated traffic, as the `generated_*` log keys give it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generated {
    /// Queries generated; closed-loop scenarios may issue fewer.
    pub queries: u64,
    /// Samples in each of them.
    pub samples_per_query: u64,
    /// Due time that the query after the last would have, from the start of the phase.
    pub duration_ns: u64,
}

impl Generated {
    /// Samples in all.
    pub fn samples(self) -> u64 {
        self.queries * self.samples_per_query
    }
}

/// One phase.
#[derive(Clone, Debug)]
pub struct PhasePlan {
    /// What it is for.
    pub mode: PhaseMode,
    /// The samples in memory.
    pub set: LoadableSet,
    /// The size of its traffic.
    pub generated: Generated,
    /// Id of its first query.
    pub first_query: QuerySeq,
    /// Id of its first sample.
    pub first_sample: SampleSeq,
    pub(crate) recipe: Recipe,
}

impl PhasePlan {
    pub(super) fn new(
        effective: &Effective,
        mode: PhaseMode,
        set: LoadableSet,
        integers: IntegerRule,
        first_query: QuerySeq,
        first_sample: SampleSeq,
    ) -> Result<Self, PlanError> {
        let recipe = Recipe::new(effective, mode, &set, integers);
        recipe.check(effective, &set)?;
        let generated = recipe
            .count()
            .ok_or(PlanError::TooManySamples { limit: MAX_SAMPLES_PER_PHASE, expected: recipe.expected_samples() })?;
        if generated.samples() == 0 {
            return Err(PlanError::NothingToIssue { scenario: effective.scenario });
        }
        if recipe.unique_exhausted(generated.queries, &set) {
            return Err(PlanError::UniqueExhausted);
        }
        Ok(Self { mode, set, generated, first_query, first_sample, recipe })
    }

    /// Whether all answers are logged and nothing is judged.
    pub fn is_accuracy(&self) -> bool {
        self.mode == PhaseMode::AccuracyOnly
    }

    /// The id after the last generated query.
    pub fn end_query(&self) -> QuerySeq {
        QuerySeq(self.first_query.0 + self.generated.queries)
    }

    /// The id after the last generated sample.
    pub fn end_sample(&self) -> SampleSeq {
        SampleSeq(self.first_sample.0 + self.generated.samples())
    }
}
