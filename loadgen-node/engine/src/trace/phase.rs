//! One phase of a test: its loaded set and the size of its traffic.

use super::recipe::{Generated, MAX_SAMPLES_PER_PHASE, PhaseMode, Recipe};
use super::schedule::Drawn;
use super::sets::LoadableSet;
use crate::effective::Effective;
use crate::settings::IntegerRule;
use crate::traffic::{Layout, PlanError};
use crate::world::{QuerySeq, SampleSeq};

/// One phase of a test, with everything that generating its traffic needs.
#[derive(Clone, Debug)]
pub struct PhasePlan {
    /// Mode of the phase: accuracy or performance.
    pub mode: PhaseMode,
    /// The samples in memory while the phase runs.
    pub set: LoadableSet,
    /// The size of the generated traffic.
    pub generated: Generated,
    /// Mean rate and variation of the due times.
    pub drawn: Drawn,
    /// Id of the first query.
    pub first_query: QuerySeq,
    /// Id of the first sample.
    pub first_sample: SampleSeq,
    pub(super) recipe: Recipe,
}

impl PhasePlan {
    /// Checks what the settings come to in this phase, and counts its queries.
    ///
    /// # Errors
    /// The phase would have nothing to issue, never end, read beyond its set, or not fit.
    pub(crate) fn new(
        effective: &Effective,
        mode: PhaseMode,
        set: LoadableSet,
        integers: IntegerRule,
        first_query: QuerySeq,
        first_sample: SampleSeq,
    ) -> Result<Self, PlanError> {
        let recipe = Recipe::new(effective, mode, &set, integers);
        Self::of(recipe, effective.scenario.name(), set, first_query, first_sample)
    }

    /// Checks what a recipe comes to, and counts its queries.
    ///
    /// # Errors
    /// The phase would have nothing to issue, never end, read beyond its set, or not fit.
    pub(crate) fn of(
        recipe: Recipe,
        scenario: &'static str,
        set: LoadableSet,
        first_query: QuerySeq,
        first_sample: SampleSeq,
    ) -> Result<Self, PlanError> {
        recipe.check(scenario, &set)?;
        let (generated, drawn) = recipe
            .count()
            .ok_or(PlanError::TooManySamples { limit: MAX_SAMPLES_PER_PHASE, expected: recipe.expected_samples() })?;
        if generated.samples() == 0 {
            return Err(PlanError::NothingToIssue { scenario });
        }
        if recipe.unique_exhausted(generated.queries, &set) {
            return Err(PlanError::UniqueExhausted);
        }
        let mode = if recipe.accuracy { PhaseMode::AccuracyOnly } else { PhaseMode::PerformanceOnly };
        Ok(Self { mode, set, generated, drawn, first_query, first_sample, recipe })
    }

    /// Further queries can follow those that are planned in multiples of this; none: the phase cannot go on.
    pub fn unit(&self) -> Option<u64> {
        let ends = self.recipe.most_queries() < u64::MAX;
        let whole = self.recipe.layout == Layout::WholeSet || self.recipe.unique || self.is_accuracy() || ends;
        let set = if self.recipe.equal { self.set.indices.len() as u64 } else { 1 };
        (!whole).then_some(set.max(1).checked_next_multiple_of(self.recipe.group)?)
    }

    /// Returns true when all answers are logged and nothing is judged.
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
