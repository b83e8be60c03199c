//! Effective settings: what the requested ones come to in the chosen scenario.

use super::scenario::{Pacing, Scenario, Shape};
use super::settings::Settings;
use crate::settings::Qsl;
use crate::traffic::PlanError;
use crate::value::g;

/// Offline has this many times the samples that are expected to be processed in the minimum duration.
const OFFLINE_SLACK: f64 = 1.1;
/// Most samples in a query of MultiStream. Every loaded set is padded by this number.
const MAX_SAMPLES_PER_QUERY: u64 = 1 << 24;
/// Longest minimum duration: ten years.
const MAX_DURATION_MS: u64 = 10 * 365 * 24 * 3_600 * 1_000;

/// The settings in force.
#[derive(Clone, Debug, PartialEq)]
pub struct Effective {
    /// The settings as requested.
    pub requested: Settings,
    /// The scenario as plain values.
    pub shape: Shape,
    /// Samples loaded at once: the library's number, or the one that overrides it.
    pub performance_sample_count: u64,
    /// Samples in a query.
    pub samples_per_query: u64,
    /// Queries per second; samples per second in Offline.
    pub target_qps: f64,
    /// The limit of latencies, ns; 0: none.
    pub target_latency_ns: u64,
    /// The judged percentile, as a fraction; `None`: none is judged.
    pub target_latency_percentile: Option<f64>,
    /// Queries in flight at most; 0: no limit.
    pub max_async_queries: u64,
    /// Queries are generated for this time, ns.
    pub generation_ns: u64,
    /// The series has at least this many queries.
    pub min_query_count: u64,
    /// The series has at least this many samples.
    pub min_sample_count: u64,
}

impl Effective {
    /// Works out the values in force. Objections that do not stop a test go to `errors`.
    ///
    /// # Errors
    /// A value is outside its range.
    pub fn new(requested: &Settings, qsl: Qsl, errors: &mut Vec<String>) -> Result<Self, PlanError> {
        let shape = requested.scenario.shape();
        let performance_sample_count = match requested.performance_sample_count_override {
            0 => qsl.performance,
            count => count,
        };
        if requested.min_duration_ms > MAX_DURATION_MS {
            return Err(PlanError::value("min_duration", &requested.min_duration_ms, "at most ten years"));
        }
        let common = Self {
            requested: requested.clone(),
            shape,
            performance_sample_count,
            samples_per_query: 1,
            target_qps: 0.0,
            target_latency_ns: 0,
            target_latency_percentile: None,
            max_async_queries: 1,
            generation_ns: requested.min_duration_ms * 1_000_000 * shape.duration_factor,
            min_query_count: requested.min_query_count,
            min_sample_count: 0,
        };
        let mut effective = common.of_scenario(errors)?;
        effective.check()?;
        effective.min_sample_count =
            effective.min_query_count.checked_mul(effective.samples_per_query).ok_or_else(|| {
                PlanError::value(
                    "min_query_count",
                    &requested.min_query_count,
                    "too large with these samples per query",
                )
            })?;
        Ok(effective)
    }

    /// True where queries are issued at ticks, and cause intervals.
    pub fn has_ticks(&self) -> bool {
        self.shape.pacing == Pacing::Ticks
    }

    fn of_scenario(self, errors: &mut Vec<String>) -> Result<Self, PlanError> {
        let s = &self.requested;
        Ok(match s.scenario {
            Scenario::SingleStream => Self {
                target_qps: 1e9 / s.single_stream_expected_latency_ns as f64,
                target_latency_percentile: Some(s.single_stream_target_latency_percentile),
                ..self
            },
            Scenario::MultiStream => Self {
                target_latency_ns: (s.multi_stream_max_async_queries as f64 / s.multi_stream_target_qps * 1e9) as u64,
                ..self.multi_stream()
            },
            Scenario::MultiStreamFree => {
                Self { target_latency_ns: s.multi_stream_target_latency_ns, ..self.multi_stream() }
            }
            Scenario::Server => Self {
                target_qps: server_rate(s.server_target_qps, errors),
                target_latency_ns: s.server_target_latency_ns,
                target_latency_percentile: Some(s.server_target_latency_percentile),
                max_async_queries: s.server_max_async_queries,
                ..self
            },
            Scenario::Offline => Self {
                target_qps: s.offline_expected_qps,
                samples_per_query: self.offline_samples()?,
                min_query_count: 1,
                ..self
            },
        })
    }

    fn multi_stream(&self) -> Self {
        let s = &self.requested;
        Self {
            samples_per_query: s.multi_stream_samples_per_query,
            target_qps: s.multi_stream_target_qps,
            target_latency_percentile: Some(s.multi_stream_target_latency_percentile),
            max_async_queries: s.multi_stream_max_async_queries,
            ..self.clone()
        }
    }

    /// The samples of the one query of Offline, which the round counts in 32 bits.
    fn offline_samples(&self) -> Result<u64, PlanError> {
        let s = &self.requested;
        if s.performance_issue_unique || s.performance_issue_same {
            return Ok(self.performance_sample_count);
        }
        let by_duration = OFFLINE_SLACK * (s.min_duration_ms as f64 / 1000.0) * s.offline_expected_qps;
        let samples = s.min_query_count.max(by_duration as u64);
        match i32::try_from(samples) {
            Ok(_) => Ok(samples),
            Err(_) => {
                Err(PlanError::value("samples_per_query", &samples, "at most 2147483647: the round counts in 32 bits"))
            }
        }
    }

    fn check(&self) -> Result<(), PlanError> {
        if !(1e-9..=1e15).contains(&self.target_qps) {
            return Err(PlanError::value(
                "target_qps",
                &self.target_qps,
                "a positive rate, from 1e-9 to 1e15 per second",
            ));
        }
        if self.shape.layout.set_padding(2) > 0 {
            if !(1..=MAX_SAMPLES_PER_QUERY).contains(&self.samples_per_query) {
                return Err(PlanError::value("samples_per_query", &self.samples_per_query, "from 1 to 16777216"));
            }
            if self.max_async_queries == 0 {
                return Err(PlanError::value("max_async_queries", &0, "at least 1"));
            }
        }
        Ok(())
    }
}

/// The rate of Server. A negative rate becomes 1, and that is an error of the log.
fn server_rate(requested: f64, errors: &mut Vec<String>) -> f64 {
    if requested < 0.0 {
        errors.push(format!("Invalid value for server_target_qps requested. requested: {} using: 1", g(requested)));
        return 1.0;
    }
    requested
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effective(change: impl FnOnce(&mut Settings)) -> Result<Effective, PlanError> {
        let mut settings = Settings::default();
        change(&mut settings);
        Effective::new(&settings, Qsl { total: 100, performance: 40 }, &mut Vec::new())
    }

    #[test]
    fn the_limit_of_multi_stream_follows_from_its_rate() {
        let effective_settings = effective(|s| {
            s.scenario = Scenario::MultiStream;
            s.multi_stream_target_qps = 15.0;
        });
        assert_eq!(effective_settings.unwrap().target_latency_ns, 66_666_666);
    }

    #[test]
    fn offline_has_one_query_of_at_least_the_minimum() {
        let offline = |s: &mut Settings| {
            s.scenario = Scenario::Offline;
            s.offline_expected_qps = 7.0;
        };
        let effective_settings = effective(offline).unwrap();
        assert_eq!(
            (
                effective_settings.samples_per_query,
                effective_settings.min_query_count,
                effective_settings.min_sample_count
            ),
            (100, 1, 100)
        );
        assert_eq!((effective_settings.generation_ns, effective_settings.target_latency_percentile), (0, None));
        let longer = effective(|s| {
            offline(s);
            s.min_duration_ms = 60_000;
        });
        assert_eq!(longer.unwrap().samples_per_query, 462);
        let unique = effective(|s| {
            offline(s);
            s.performance_issue_unique = true;
        });
        assert_eq!(unique.unwrap().samples_per_query, 40);
        let many = effective(|s| {
            offline(s);
            s.offline_expected_qps = 1e9;
        });
        assert!(many.unwrap_err().to_string().contains("32 bits"));
    }

    #[test]
    fn a_negative_rate_of_server_becomes_one() {
        let settings = Settings { scenario: Scenario::Server, server_target_qps: -5.0, ..Settings::default() };
        let mut errors = Vec::new();
        let effective_settings = Effective::new(&settings, Qsl { total: 9, performance: 9 }, &mut errors).unwrap();
        assert_eq!((effective_settings.target_qps, errors.len()), (1.0, 1));
    }

    #[test]
    fn what_never_ends_is_refused() {
        for change in [
            (|s| s.multi_stream_max_async_queries = 0) as fn(&mut Settings),
            |s| s.multi_stream_samples_per_query = 0,
            |s| s.multi_stream_target_qps = 0.0,
        ] {
            let refused = effective(|s| {
                s.scenario = Scenario::MultiStream;
                change(s);
            });
            assert!(refused.is_err(), "{refused:?}");
        }
    }
}
