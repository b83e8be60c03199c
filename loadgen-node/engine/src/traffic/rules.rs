//! The contract of a scenario's file in this folder: from requested settings to what is asked.

use super::error::PlanError;
use super::shape::{Expected, Shape};
use crate::requested::{Qsl, Requested};
use crate::value::Entry;

/// Traffic of a scenario: the queries that it asks of a SUT.
///
/// All of it is answered before a phase starts, as plain values. `S` is the type of the scenario in the settings;
/// nothing here looks at it.
pub trait Traffic<S>: Sync {
    /// The queries with these settings: samples, issue, latency.
    ///
    /// # Errors
    /// A value is outside its range.
    fn shape(&self, request: &Request<'_, S>) -> Result<Shape, PlanError>;

    /// The setting that says how fast the SUT is expected to be. A look at the nodes finds it, and a run that was too
    /// short becomes longer by it.
    fn expected(&self) -> Expected;

    /// Works out the effective values from the requested ones. Objections that do not stop a test go to `faults`,
    /// which are logged as errors.
    ///
    /// # Errors
    /// A value is outside its range.
    fn sanitise(&self, request: &Request<'_, S>, faults: &mut Vec<String>) -> Result<Sanitised, PlanError>;

    /// The settings that only this scenario has, for the `requested_*` keys of the detail log, in official order.
    fn requested(&self, settings: &Requested<S>) -> Vec<Entry>;

    /// The same settings at another rate of queries, for a trial of a search for the peak; `None` when the scenario has
    /// no such search.
    fn at_rate(&self, _settings: &Requested<S>, _qps: f64) -> Option<Requested<S>> {
        None
    }

    /// The setting of the load that the SUT gets, with its value: rate and latencies follow from it. `None` when the
    /// scenario has none.
    fn offered(&self, _settings: &Requested<S>) -> Option<(&'static str, f64)> {
        None
    }

    /// Describes the requested settings that this engine treats in another way, as a sentence for the user; mostly
    /// nothing.
    fn without_effect(&self, _settings: &Requested<S>) -> Option<String> {
        None
    }
}

/// Input from which a scenario works out effective values.
#[derive(Debug)]
pub struct Request<'a, S> {
    /// The settings of the test as requested.
    pub settings: &'a Requested<S>,
    /// The sizes that the library reports.
    pub qsl: Qsl,
    /// Samples loaded at once: the library's number, or the one that overrides it.
    pub performance_sample_count: u64,
}

/// Effective values that a scenario works out from the requested settings; named as the `effective_*` keys of the
/// detail log.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names are the official ones")]
pub struct Sanitised {
    pub samples_per_query: u64,
    pub target_qps: f64,
    pub target_latency_ns: u64,
    pub target_latency_percentile: f64,
    pub max_async_queries: u64,
    pub target_duration_ms: u64,
    pub min_query_count: u64,
}
