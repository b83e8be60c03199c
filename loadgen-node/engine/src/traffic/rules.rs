//! The contract of a scenario's file in this folder: from requested settings to what is asked.

use super::arrivals::Arrivals;
use super::error::PlanError;
use super::shape::{Expected, Shape};
use crate::further::FurtherKey;
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

    /// The settings of this scenario beside the official ones. They can be set, shown and documented from this list.
    fn keys(&self) -> &'static [&'static FurtherKey] {
        &[]
    }

    /// The rule by which due times follow one another in performance phases. Only scenarios with a schedule wait for
    /// them; the others count queries with them.
    ///
    /// # Errors
    /// A value is outside its range.
    fn arrivals(&self, _request: &Request<'_, S>) -> Result<Arrivals, PlanError> {
        Ok(Arrivals::Constant)
    }

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

    /// The load that the SUT gets: rate and latencies follow from it, and a search for the peak turns it. `None` when
    /// these settings have none.
    fn load(&self, _settings: &Requested<S>) -> Option<Load> {
        None
    }

    /// The same settings with another load, for a trial of a search for the peak. Every scenario with a
    /// [`Traffic::load`] has this, too.
    fn at_load(&self, settings: &Requested<S>, _value: f64) -> Requested<S>
    where
        S: Clone,
    {
        settings.clone()
    }

    /// Describes the requested settings that this engine treats in another way, as a sentence for the user; mostly
    /// nothing.
    fn without_effect(&self, _settings: &Requested<S>) -> Option<String> {
        None
    }
}

/// The setting of the load that the SUT gets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// The key of the setting: `target_qps`.
    pub setting: &'static str,
    /// The value, in the setting's unit.
    pub value: f64,
    /// Unit of the value, for reports: `queries/s`.
    pub unit: &'static str,
    /// The value is a whole number.
    pub is_whole: bool,
    /// A limit of the latency tells how much is too much, so that a search for the peak can find it.
    pub has_limit: bool,
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
