//! Traffic: the loaded sets of a test, and the queries of a series over one of them.
//!
//! Queries are those of [`Trace`]; the rules of the round go into its recipe. The sample engine is advanced over one
//! shuffle of the possible starts, and over another one before it in accuracy series. Later rounds then draw rounds of
//! equal issue; this one knows none.

use super::effective::Effective;
use crate::settings::{IntegerRule, Profile, Qsl, SetRule};
use crate::trace::{Cut, Demand, LoadableSet, PhasePlan, Recipe, loadable_sets};
use crate::traffic::{Arrivals, PlanError};
use crate::world::{QuerySeq, SampleSeq};

pub use crate::trace::Trace;

/// The loaded sets, in the order in which accuracy series run them; a performance series uses the first.
///
/// # Errors
/// There are no samples, or more than can be counted.
pub fn sets(effective: &Effective, qsl: Qsl, integers: IntegerRule) -> Result<Vec<LoadableSet>, PlanError> {
    let total = u32::try_from(qsl.total)
        .map_err(|_| PlanError::value("total_sample_count", &qsl.total, "at most 4294967295 samples"))?;
    for (count, name) in
        [(qsl.total, "total_sample_count"), (effective.performance_sample_count, "performance_sample_count")]
    {
        if count == 0 {
            return Err(PlanError::EmptyLibrary { count: name });
        }
    }
    Ok(loadable_sets(Cut {
        count: qsl.total,
        total,
        per_set: effective.performance_sample_count,
        padding: effective.shape.layout.set_padding(effective.samples_per_query),
        seed: effective.requested.qsl_rng_seed,
        profile: Profile { integers, set: SetRule::WholeLibrary },
    }))
}

/// The first ids of a series: queries and samples are counted through the whole test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct First {
    /// Id of the first query.
    pub query: QuerySeq,
    /// Id of the first sample.
    pub sample: SampleSeq,
}

/// The queries of a series over a loaded set. Each series seeds its engines anew.
///
/// # Errors
/// The series would have nothing to issue, never end, read beyond its set, or not fit.
pub fn phase(
    effective: &Effective,
    is_accuracy: bool,
    set: LoadableSet,
    integers: IntegerRule,
    first: First,
) -> Result<PhasePlan, PlanError> {
    let settings = &effective.requested;
    let layout = effective.shape.layout;
    let samples_per_query = if is_accuracy {
        layout.accuracy_samples_per_query(effective.samples_per_query, set.end as u64)
    } else {
        effective.samples_per_query
    };
    let by_set = is_accuracy || settings.performance_issue_unique || settings.performance_issue_same;
    let demand = Demand {
        layout,
        arrivals: if effective.shape.has_random_gaps { Arrivals::Poisson } else { Arrivals::Constant },
        target_qps: effective.target_qps,
        generate_ns: if by_set { 0 } else { effective.generation_ns },
        min_queries: if by_set {
            (set.indices.len() as u64).checked_div(samples_per_query).unwrap_or(0)
        } else {
            effective.min_query_count
        },
        samples_per_query,
        accuracy: is_accuracy,
        unique: settings.performance_issue_unique,
        same: settings.performance_issue_same.then_some(settings.performance_issue_same_index),
        equal: false,
        draws_rounds: false,
        sample_index_seed: settings.sample_index_rng_seed,
        schedule_seed: settings.schedule_rng_seed,
        integers,
        group: 1,
    };
    PhasePlan::of(Recipe::of(demand, &set), effective.shape.name, set, first.query, first.sample)
}

/// The series of a test, one after another. A search has that of its first trial.
///
/// # Errors
/// As [`sets`] and [`phase`].
pub fn phases(effective: &Effective, qsl: Qsl, integers: IntegerRule) -> Result<Vec<PhasePlan>, PlanError> {
    let mode = effective.requested.mode;
    let sets = sets(effective, qsl, integers)?;
    let accuracy = sets.iter().filter(|_| mode.has_accuracy()).map(|set| (set, true));
    let performance = sets.iter().take(usize::from(mode.has_performance())).map(|set| (set, false));
    let mut first = First::default();
    let mut phases = Vec::new();
    for (set, is_accuracy) in accuracy.chain(performance) {
        let phase = phase(effective, is_accuracy, set.clone(), integers, first)?;
        first = First::after(&phase);
        phases.push(phase);
    }
    Ok(phases)
}

impl First {
    /// The ids that follow those of a series.
    pub fn after(phase: &PhasePlan) -> First {
        First { query: phase.end_query(), sample: phase.end_sample() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::scenario::Scenario;
    use super::super::settings::Settings;
    use super::*;

    fn phases(change: impl FnOnce(&mut Settings), qsl: Qsl) -> Vec<Result<PhasePlan, PlanError>> {
        let mut settings = Settings { min_duration_ms: 0, ..Settings::default() };
        change(&mut settings);
        let effective = Effective::new(&settings, qsl, &mut Vec::new()).unwrap();
        let is_accuracy = settings.mode.has_accuracy();
        let sets = sets(&effective, qsl, IntegerRule::Division).unwrap();
        sets.into_iter()
            .map(|set| phase(&effective, is_accuracy, set, IntegerRule::Division, First::default()))
            .collect()
    }

    #[test]
    fn a_query_is_made_while_the_one_before_is_early() {
        let timed = |s: &mut Settings| {
            s.min_duration_ms = 30;
            s.min_query_count = 1;
        };
        let phase = phases(timed, Qsl { total: 9, performance: 9 }).remove(0).unwrap();
        assert_eq!(
            (phase.generated.queries, phase.generated.duration_ns),
            (61, 61_000_000),
            "twice 30 ms, and one more"
        );
    }

    #[test]
    fn accuracy_asks_each_set_once() {
        let multi = |s: &mut Settings| {
            s.scenario = Scenario::MultiStream;
            s.mode = crate::settings::Mode::AccuracyOnly;
            s.multi_stream_samples_per_query = 3;
        };
        let phases = phases(multi, Qsl { total: 25, performance: 10 });
        let lengths: Vec<_> =
            phases.iter().map(|p| p.as_ref().map(|p| (p.set.indices.len(), p.generated.queries))).collect();
        assert_eq!(lengths, [Ok((12, 4)), Ok((12, 4)), Ok((7, 2))]);
    }

    #[test]
    fn the_repeated_sample_has_to_be_loaded() {
        let beyond = |s: &mut Settings| {
            s.performance_issue_same = true;
            s.performance_issue_same_index = 9;
        };
        let refused = phases(beyond, Qsl { total: 9, performance: 9 }).remove(0);
        assert_eq!(refused.unwrap_err(), PlanError::SameIndex { index: 9, set_len: 9 });
    }
}
