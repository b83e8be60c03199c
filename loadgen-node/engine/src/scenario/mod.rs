//! What distinguishes the scenarios: one file each, one entry in [`rules`] each.
//!
//! A scenario is a set of decisions (how settings are read, what queries look like, what an issuer waits for, what is
//! judged and reported), not a loop: generating, issuing and recording are the same code for all.

mod multi_stream;
mod offline;
mod server;
mod single_stream;

use crate::early_stopping::Rule;
use crate::plan::{Effective, PlanError, Request, Sanitised};
use crate::report::Value;
use crate::results::Measured;
use crate::settings::{Scenario, TestSettings};
use crate::summary::{Metric, Summary};

/// Times between the due times of queries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Gap {
    /// Exponential, at the target rate.
    Poisson,
    /// The same each time: 1 / target rate.
    Constant,
}

/// How the samples of a query are taken from the loaded set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// One sample.
    One,
    /// Consecutive samples from a start position on.
    Window,
    /// The whole set, repeated and cut to length.
    WholeSet,
}

/// What queries look like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traffic {
    pub(crate) gap: Gap,
    pub(crate) layout: Layout,
    /// Queries are generated for this many times the target duration.
    pub(crate) duration_factor: u64,
}

/// What a query waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pacing {
    /// The end of all samples of the query before it; its latency starts when it is issued.
    Reply,
    /// Its due time; its latency starts then, late or not.
    Schedule,
    /// Nothing; its latency starts with the phase. Handed over in pieces, as the world has room.
    Nothing,
}

/// A line of the summary file: label, as printed up to the value, and value.
pub(crate) type Line = (String, Value);

/// An entry of the detail log.
pub(crate) type Entry = (String, Value);

/// The decisions of one scenario.
pub(crate) trait Rules: Sync {
    /// Requested settings to effective ones; objections that are only logged go to `faults`.
    fn sanitise(&self, request: Request<'_>, faults: &mut Vec<String>) -> Result<Sanitised, PlanError>;

    /// What queries look like.
    fn traffic(&self) -> Traffic;

    /// What a query waits for.
    fn pacing(&self) -> Pacing;

    /// Entries repeated at the end of a loaded set.
    fn set_padding(&self, _effective: &Effective) -> u64 {
        0
    }

    /// Samples in a query of an accuracy phase over `set_end` samples.
    fn accuracy_samples_per_query(&self, effective: &Effective, _set_end: u64) -> u64 {
        effective.samples_per_query
    }

    /// Samples that an expected query counts for when a number of samples to log is turned into a probability.
    fn samples_per_expected_query(&self, effective: &Effective) -> u64 {
        effective.samples_per_query
    }

    /// Limit on outstanding queries, where the scenario has one; 0 = none.
    fn outstanding_limit(&self, _effective: &Effective) -> u64 {
        0
    }

    /// Whether queries that are due together are merged.
    fn coalesces(&self, _effective: &Effective) -> bool {
        false
    }

    /// The `requested_*` keys that only this scenario has.
    fn requested(&self, settings: &TestSettings) -> Vec<Entry>;

    /// The duration that must reach `min_duration`, and what to do if it does not.
    fn judged_duration(&self, measured: &Measured) -> (f64, &'static str);

    /// Whether the judged percentile must stay within a limit.
    fn has_latency_limit(&self) -> bool {
        false
    }

    /// The early-stopping rule.
    fn early_stopping(&self) -> Rule;

    /// The number by which runs are compared.
    fn metric(&self, summary: &Summary) -> Metric;

    /// First line of the summary file after the mode.
    fn headline(&self, summary: &Summary) -> Line;

    /// The same for tokens.
    fn token_headline(&self, summary: &Summary) -> Line;

    /// The same for inferred tokens, where it exists.
    fn inferred_headline(&self, _summary: &Summary) -> Option<Line> {
        None
    }

    /// What precedes the latencies in the summary's statistics; an empty label is an empty line.
    fn leading_stats(&self, summary: &Summary) -> Vec<Line>;

    /// The same for tokens.
    fn leading_token_stats(&self, _summary: &Summary) -> Vec<Line> {
        Vec::new()
    }

    /// The result keys that only this scenario has.
    fn results(&self, summary: &Summary) -> Vec<Entry>;

    /// Whether first tokens and times per token are reported.
    fn reports_token_latencies(&self) -> bool {
        true
    }
}

/// The registered scenarios.
pub(crate) fn rules(scenario: Scenario) -> &'static dyn Rules {
    match scenario {
        Scenario::SingleStream => &single_stream::SingleStream,
        Scenario::MultiStream => &multi_stream::MultiStream,
        Scenario::Server => &server::Server,
        Scenario::Offline => &offline::Offline,
    }
}

impl Scenario {
    /// Whether the judged percentile of the latency must stay within a limit.
    pub fn has_latency_limit(self) -> bool {
        rules(self).has_latency_limit()
    }

    /// The early-stopping rule by which a test of this scenario is judged.
    pub fn early_stopping(self) -> Rule {
        rules(self).early_stopping()
    }
}

/// Bounds of an expected latency: at least one generated query per ns, at most ten years.
fn check_expected_latency(setting: &'static str, ns: f64) -> Result<(), PlanError> {
    if (1.0..=3.2e17).contains(&ns) { Ok(()) } else { Err(PlanError::value(setting, &ns, "from 1 ns to ten years")) }
}

/// A requested rate as it will be used: negative ones become 1 and are logged.
fn effective_rate(setting: &'static str, requested: f64, faults: &mut Vec<String>) -> Result<f64, PlanError> {
    if requested < 0.0 {
        let shown = crate::report::g(requested);
        faults.push(format!("Invalid value for {setting} requested. requested: {shown} using: 1"));
        return Ok(1.0);
    }
    if (1e-6..=1e15).contains(&requested) {
        Ok(requested)
    } else {
        Err(PlanError::value(setting, &requested, "a positive rate, from 1e-6 to 1e15 per second"))
    }
}

const DECREASE_EXPECTED_LATENCY: &str = "Decrease the expected latency so the loadgen pre-generates more queries.";

/// Headline of the scenarios that are judged by a percentile.
fn percentile_headline(summary: &Summary) -> Line {
    let label = format!("{:.1}th percentile latency (ns) : ", summary.target_percentile * 100.0);
    (label, summary.judged_latency().target_ns.into())
}

fn first_token_headline(summary: &Summary) -> Line {
    let label = format!("{:.1}th first token percentile latency (ns) : ", summary.target_percentile * 100.0);
    let target_ns = summary.tokens.as_ref().map_or(0, |tokens| tokens.first_token.target_ns);
    (label, target_ns.into())
}

fn empty_line() -> Line {
    (String::new(), Value::from(""))
}
