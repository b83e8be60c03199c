//! The numbers from which a phase's traffic follows, and the counting pass over its schedule.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::schedule::{Drawn, Meter, Schedule};
use super::sets::LoadableSet;
use crate::effective::Effective;
use crate::settings::IntegerRule;
use crate::traffic::{Arrivals, Layout, PlanError, Shape};

/// Most samples in one phase: what the recorder's offsets hold.
pub const MAX_SAMPLES_PER_PHASE: u64 = 1 << 32;

/// Mode of a phase: accuracy or performance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// Samples in each query.
    pub samples_per_query: u64,
    /// Due time that the query after the last would have, from the start of the phase, ns.
    pub duration_ns: u64,
}

impl Generated {
    /// Samples of all queries.
    pub fn samples(self) -> u64 {
        self.queries * self.samples_per_query
    }
}

/// Everything that generating traffic needs beside the loaded set.
#[derive(Clone, Debug)]
pub(crate) struct Recipe {
    pub(super) layout: Layout,
    arrivals: Arrivals,
    target_qps: f64,
    /// Queries are generated until one is due at this time or later ...
    generate_ns: u64,
    /// ... and there are this many. Before padding: the length that fixes how many draws equal issue consumes.
    pub(super) min_queries: u64,
    padded_min_queries: u64,
    pub(super) samples_per_query: u64,
    /// Distance between positions at which queries may start.
    pub(super) stride: usize,
    /// Equal issue grows by whole sets of this size.
    set_len: u64,
    pub(super) accuracy: bool,
    pub(super) unique: bool,
    pub(super) same: Option<u64>,
    pub(super) equal: bool,
    pub(super) draws_rounds: bool,
    pub(super) sample_index_seed: u64,
    schedule_seed: u64,
    pub(super) integers: IntegerRule,
    /// Queries come in whole groups of this many.
    pub(super) group: u64,
}

/// The queries that a round's rules ask of a phase, as plain values: how many, until when, by which draws.
#[derive(Clone, Debug)]
pub(crate) struct Demand {
    pub(crate) layout: Layout,
    pub(crate) arrivals: Arrivals,
    pub(crate) target_qps: f64,
    /// Queries are generated until one is due at this time or later ...
    pub(crate) generate_ns: u64,
    /// ... and there are this many.
    pub(crate) min_queries: u64,
    pub(crate) samples_per_query: u64,
    pub(crate) accuracy: bool,
    pub(crate) unique: bool,
    /// Position of the sample that all queries have.
    pub(crate) same: Option<u64>,
    pub(crate) equal: bool,
    /// The sample engine is advanced over the rounds of equal issue, used or not; LoadGen of round v0.5 knows none.
    pub(crate) draws_rounds: bool,
    pub(crate) sample_index_seed: u64,
    pub(crate) schedule_seed: u64,
    pub(crate) integers: IntegerRule,
    /// Queries come in whole groups of this many; at least 1.
    pub(crate) group: u64,
}

impl Recipe {
    pub(crate) fn new(effective: &Effective, mode: PhaseMode, set: &LoadableSet, integers: IntegerRule) -> Self {
        let Shape { layout, duration_factor, .. } = effective.shape;
        let accuracy = mode == PhaseMode::AccuracyOnly;
        let set_len = set.indices.len() as u64;
        let samples_per_query = if accuracy {
            layout.accuracy_samples_per_query(effective.samples_per_query, set.end as u64)
        } else {
            effective.samples_per_query
        };
        let each_once = accuracy || effective.settings.performance_issue_unique;
        let duration_ns = effective.target_duration_ms * 1_000_000 * duration_factor;
        let arrivals = match &effective.arrivals {
            // A library is asked once: at the mean rate, since no other process has as many queries.
            arrivals if each_once && arrivals.has_own_rate() => Arrivals::Poisson,
            arrivals => arrivals.clone(),
        };
        let demand = Demand {
            layout,
            target_qps: effective.target_qps,
            generate_ns: if each_once { 0 } else { duration_ns.max(arrivals.span_ns()) },
            arrivals,
            min_queries: if each_once {
                set_len.checked_div(samples_per_query).unwrap_or(0)
            } else {
                effective.min_query_count
            },
            samples_per_query,
            accuracy,
            unique: effective.settings.performance_issue_unique,
            same: effective.settings.performance_issue_same.then_some(effective.settings.performance_issue_same_index),
            equal: effective.settings.sample_concatenate_permutation,
            draws_rounds: true,
            sample_index_seed: effective.settings.sample_index_rng_seed,
            schedule_seed: effective.settings.schedule_rng_seed,
            integers,
            group: if each_once { 1 } else { effective.shape.group },
        };
        Self::of(demand, set)
    }

    /// The recipe of a demand over a loaded set.
    pub(crate) fn of(demand: Demand, set: &LoadableSet) -> Self {
        let Demand { layout, min_queries, equal, accuracy, .. } = demand;
        let set_len = set.indices.len() as u64;
        let (mut samples_per_query, mut padded_min_queries) = (demand.samples_per_query, min_queries);
        if equal && !accuracy {
            let padded = if layout == Layout::WholeSet { &mut samples_per_query } else { &mut padded_min_queries };
            *padded = padded.checked_next_multiple_of(set_len.max(1)).unwrap_or(u64::MAX);
        }
        Self {
            layout,
            arrivals: demand.arrivals,
            target_qps: demand.target_qps,
            generate_ns: demand.generate_ns,
            min_queries,
            padded_min_queries,
            samples_per_query,
            stride: layout.stride(samples_per_query),
            set_len,
            accuracy,
            unique: demand.unique,
            same: demand.same,
            equal,
            draws_rounds: demand.draws_rounds,
            sample_index_seed: demand.sample_index_seed,
            schedule_seed: demand.schedule_seed,
            integers: demand.integers,
            group: demand.group.max(1),
        }
    }

    /// Refuses what would never end, read beyond the set, or not fit.
    pub(crate) fn check(&self, scenario: &'static str, set: &LoadableSet) -> Result<(), PlanError> {
        if self.expected_samples() > MAX_SAMPLES_PER_PHASE as f64 {
            return Err(PlanError::TooManySamples { limit: MAX_SAMPLES_PER_PHASE, expected: self.expected_samples() });
        }
        let draws_rounds = self.equal && !self.unique && self.same.is_none() && self.layout == Layout::One;
        if draws_rounds && self.min_queries == 0 {
            return Err(PlanError::NothingToIssue { scenario });
        }
        let window = if self.layout == Layout::Window { self.samples_per_query } else { 1 };
        let same = self.same.filter(|_| !self.unique || self.layout == Layout::WholeSet);
        if let Some(index) = same.filter(|index| index.saturating_add(window) > self.set_len) {
            return Err(PlanError::SameIndex { index, set_len: set.end });
        }
        if let Some(listed) = self.listed_samples() {
            let loaded: HashSet<u32> = set.indices.iter().map(|index| index.0).collect();
            if let Some(index) = listed.iter().copied().find(|index| !loaded.contains(index)) {
                return Err(PlanError::TraceSample { index, loaded: set.end });
            }
        }
        Ok(())
    }

    /// The sample of each query, where a trace says it; not where each sample is asked once.
    pub(super) fn listed_samples(&self) -> Option<&[u32]> {
        match &self.arrivals {
            Arrivals::Listed(listed) => listed.samples.as_deref(),
            _ => None,
        }
    }

    /// Number of samples to expect, without generating.
    pub(crate) fn expected_samples(&self) -> f64 {
        let by_duration = self.generate_ns as f64 / 1e9 * self.target_qps;
        (by_duration + self.padded_min_queries as f64) * self.samples_per_query as f64
    }

    /// Counts the queries, and measures their due times; `None` when there are too many.
    pub(crate) fn count(&self) -> Option<(Generated, Drawn)> {
        let limit = MAX_SAMPLES_PER_PHASE / self.samples_per_query.max(1);
        let (mut schedule, mut meter) = (self.schedule(), Meter::default());
        let (mut queries, mut minimum, mut last_ns) = (0_u64, self.padded_min_queries, 0);
        let grows = self.equal && self.layout != Layout::WholeSet;
        let most = self.most_queries();
        while queries < most && (last_ns < self.generate_ns || queries < minimum || !queries.is_multiple_of(self.group))
        {
            queries += 1;
            if queries > limit {
                return None;
            }
            last_ns = schedule.next_due_ns;
            meter.add(last_ns);
            schedule.advance();
            if grows && queries >= minimum && last_ns < self.generate_ns {
                minimum += self.set_len;
            }
        }
        let generated =
            Generated { queries, samples_per_query: self.samples_per_query, duration_ns: schedule.next_due_ns };
        Some((generated, meter.statistics(generated.duration_ns)))
    }

    /// Most queries that the arrivals have.
    pub(super) fn most_queries(&self) -> u64 {
        self.arrivals.most_queries()
    }

    /// Returns true when the settings want more queries than there are unique samples to start them with.
    pub(crate) fn unique_exhausted(&self, queries: u64, set: &LoadableSet) -> bool {
        self.unique && self.layout != Layout::WholeSet && queries > set.end.div_ceil(self.stride) as u64
    }

    pub(super) fn schedule(&self) -> Schedule {
        Schedule::new(&self.arrivals, self.target_qps, self.schedule_seed)
    }
}
