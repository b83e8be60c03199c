//! The scenarios of the round as plain values: all other files ask these, and none chooses among scenarios.

use serde::{Deserialize, Serialize};

use crate::traffic::Layout;

/// A scenario of the round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ScenarioOfRoundV05"))]
pub enum Scenario {
    /// One sample at a time, the next when the last was answered.
    #[default]
    SingleStream,
    /// A fixed number of samples at a fixed interval; an interval is skipped while an answer is missing.
    MultiStream,
    /// The same without an interval: the next query when an earlier one was answered.
    MultiStreamFree,
    /// One sample per query at random times of a Poisson process.
    Server,
    /// One query with all samples.
    Offline,
}

/// The event that lets a query be issued, and where its latency starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// The answer to the query before it; the latency starts at the issue.
    AfterAnswer,
    /// The first tick of the target rate at which an earlier query has been answered; the latency starts at the tick.
    Ticks,
    /// The answer to an earlier query, at which the latency starts.
    AtAnswer,
    /// The due time, at which the latency starts.
    Due,
    /// The start of the series, at which the latency starts.
    AtOnce,
}

/// The moment that is compared with the minimum duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JudgedDuration {
    /// The issue of the last query.
    LastIssue,
    /// The due time of the last query.
    LastDue,
    /// The largest latency.
    LargestLatency,
}

/// The rule on latencies that a result has to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatencyRule {
    /// No rule: the latency is the result.
    None,
    /// Fewer than two intervals caused, at the judged percentile.
    Intervals,
    /// Query latencies within the limit, at the judged percentile.
    Queries,
    /// Sample latencies within the limit, at the judged percentile.
    Samples,
}

/// The number that a search for the peak varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Searched {
    /// Samples in each query.
    SamplesPerQuery,
    /// Rate of queries.
    QueryRate,
}

/// A scenario as plain values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The name of the scenario.
    pub name: &'static str,
    /// The name of the scenario in the summary.
    pub title: &'static str,
    /// The scenario by whose name config files give its settings.
    pub section: &'static str,
    /// The way in which the samples of a query are taken from the loaded set.
    pub layout: Layout,
    /// The times between due times are exponential, and not equal.
    pub has_random_gaps: bool,
    /// Queries are generated for this many times the minimum duration.
    pub duration_factor: u64,
    /// The event that lets a query be issued.
    pub pacing: Pacing,
    /// The moment that is compared with the minimum duration.
    pub judged_duration: JudgedDuration,
    /// The rule on latencies.
    pub latency_rule: LatencyRule,
    /// The number that a search varies; `None`: there is no search.
    pub searched: Option<Searched>,
}

impl Scenario {
    /// All scenarios, in the order of the official enumeration.
    pub const ALL: [Scenario; 5] =
        [Self::SingleStream, Self::MultiStream, Self::MultiStreamFree, Self::Server, Self::Offline];

    /// The scenario as plain values.
    pub fn shape(self) -> Shape {
        match self {
            Self::SingleStream => Shape {
                name: "SingleStream",
                title: "Single Stream",
                section: "SingleStream",
                layout: Layout::One,
                has_random_gaps: false,
                duration_factor: 2,
                pacing: Pacing::AfterAnswer,
                judged_duration: JudgedDuration::LastIssue,
                latency_rule: LatencyRule::None,
                searched: None,
            },
            Self::MultiStream => Shape {
                name: "MultiStream",
                title: "Multi Stream",
                section: "MultiStream",
                layout: Layout::Window,
                has_random_gaps: false,
                duration_factor: 2,
                pacing: Pacing::Ticks,
                judged_duration: JudgedDuration::LastIssue,
                latency_rule: LatencyRule::Intervals,
                searched: Some(Searched::SamplesPerQuery),
            },
            Self::MultiStreamFree => Shape {
                name: "MultiStreamFree",
                title: "Multi Stream Free",
                pacing: Pacing::AtAnswer,
                latency_rule: LatencyRule::Queries,
                ..Self::MultiStream.shape()
            },
            Self::Server => Shape {
                name: "Server",
                title: "Server",
                section: "Server",
                layout: Layout::One,
                has_random_gaps: true,
                duration_factor: 1,
                pacing: Pacing::Due,
                judged_duration: JudgedDuration::LastDue,
                latency_rule: LatencyRule::Samples,
                searched: Some(Searched::QueryRate),
            },
            Self::Offline => Shape {
                name: "Offline",
                title: "Offline",
                section: "Offline",
                layout: Layout::WholeSet,
                has_random_gaps: false,
                duration_factor: 0,
                pacing: Pacing::AtOnce,
                judged_duration: JudgedDuration::LargestLatency,
                latency_rule: LatencyRule::None,
                searched: None,
            },
        }
    }

    /// The scenario with this name.
    pub fn from_name(name: &str) -> Option<Scenario> {
        Self::ALL.into_iter().find(|scenario| scenario.shape().name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_and_are_those_of_documents() {
        for scenario in Scenario::ALL {
            let name = scenario.shape().name;
            assert_eq!(Scenario::from_name(name), Some(scenario));
            assert_eq!(serde_json::to_string(&scenario).unwrap(), format!("\"{name}\""));
        }
        assert_eq!(Scenario::from_name("Sever"), None);
    }
}
