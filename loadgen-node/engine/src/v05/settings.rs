//! The record of what a test of the round asks for: the official `TestSettings` of r0.5, names, units and defaults.

use serde::{Deserialize, Serialize};

use super::scenario::Scenario;
use crate::settings::Mode;

/// The settings of a test, as requested.
///
/// Unknown keys in the JSON form are an error, missing ones have their default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "SettingsOfRoundV05"))]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// The way in which queries reach the SUT.
    pub scenario: Scenario,
    /// The series that the test consists of.
    pub mode: Mode,
    /// SingleStream: expected time per query, ns; sets how many queries are generated.
    pub single_stream_expected_latency_ns: u64,
    /// SingleStream: the judged percentile, as a fraction.
    pub single_stream_target_latency_percentile: f64,
    /// MultiStream: queries per second.
    pub multi_stream_target_qps: f64,
    /// MultiStreamFree: latency that the judged percentile must not exceed, ns.
    pub multi_stream_target_latency_ns: u64,
    /// MultiStream: the judged percentile, as a fraction.
    pub multi_stream_target_latency_percentile: f64,
    /// MultiStream: samples in each query.
    pub multi_stream_samples_per_query: u64,
    /// MultiStream: queries in flight at most.
    pub multi_stream_max_async_queries: u64,
    /// Server: queries per second of the Poisson process.
    pub server_target_qps: f64,
    /// Server: latency that the judged percentile must not exceed, ns.
    pub server_target_latency_ns: u64,
    /// Server: the judged percentile, as a fraction.
    pub server_target_latency_percentile: f64,
    /// Server: merge queries; without effect in this round.
    pub server_coalesce_queries: bool,
    /// Server peak search: decimals of the result.
    pub server_find_peak_qps_decimals_of_precision: i32,
    /// Server peak search: growth of the rate per step, as a fraction.
    pub server_find_peak_qps_boundary_step_size: f64,
    /// Server: end the series when more queries than this are outstanding; 0 = no limit.
    pub server_max_async_queries: u64,
    /// Offline: expected samples per second; sets how many samples the query has.
    pub offline_expected_qps: f64,
    /// The series lasts longer than this, ms.
    pub min_duration_ms: u64,
    /// The series ends early after this time, ms; 0 = no limit.
    pub max_duration_ms: u64,
    /// The series has at least this many queries.
    pub min_query_count: u64,
    /// The series ends early after this many queries; 0 = no limit.
    pub max_query_count: u64,
    /// Seed of the choice and order of loaded samples. All seeds act modulo 2^32.
    pub qsl_rng_seed: u64,
    /// Seed of the choice of samples for queries.
    pub sample_index_rng_seed: u64,
    /// Seed of the Server schedule.
    pub schedule_rng_seed: u64,
    /// Seed of the offset that decides which samples of a performance series are logged.
    pub accuracy_log_rng_seed: u64,
    /// Share of samples of a performance series whose answers are logged.
    pub accuracy_log_probability: f64,
    /// Official: time stamps on standard output. Only reported here.
    pub print_timestamps: bool,
    /// Use each loaded sample once.
    pub performance_issue_unique: bool,
    /// Use one loaded sample for every query.
    pub performance_issue_same: bool,
    /// The sample that `performance_issue_same` uses: a position in the loaded set.
    pub performance_issue_same_index: u64,
    /// Replaces the library's performance count; 0 = do not.
    pub performance_sample_count_override: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            scenario: Scenario::default(),
            mode: Mode::default(),
            single_stream_expected_latency_ns: 1_000_000,
            single_stream_target_latency_percentile: 0.90,
            multi_stream_target_qps: 10.0,
            multi_stream_target_latency_ns: 100_000_000,
            multi_stream_target_latency_percentile: 0.9,
            multi_stream_samples_per_query: 4,
            multi_stream_max_async_queries: 1,
            server_target_qps: 1.0,
            server_target_latency_ns: 100_000_000,
            server_target_latency_percentile: 0.99,
            server_coalesce_queries: false,
            server_find_peak_qps_decimals_of_precision: 1,
            server_find_peak_qps_boundary_step_size: 1.0,
            server_max_async_queries: 0,
            offline_expected_qps: 1.0,
            min_duration_ms: 10_000,
            max_duration_ms: 0,
            min_query_count: 100,
            max_query_count: 0,
            qsl_rng_seed: 0,
            sample_index_rng_seed: 0,
            schedule_rng_seed: 0,
            accuracy_log_rng_seed: 0,
            accuracy_log_probability: 0.0,
            print_timestamps: false,
            performance_issue_unique: false,
            performance_issue_same: false,
            performance_issue_same_index: 0,
            performance_sample_count_override: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_with_an_unknown_key_names_it_and_missing_ones_have_defaults() {
        let error = serde_json::from_str::<Settings>(r#"{"server_target_qpz": 3}"#).unwrap_err();
        assert!(error.to_string().contains("server_target_qpz"), "{error}");
        assert_eq!(serde_json::from_str::<Settings>("{}").unwrap(), Settings::default());
    }
}
