//! The contract of a scenario: from requested settings to what is asked.
//!
//! Settings name their scenario, and a scenario reads settings. So these types stand in one file: the official
//! `TestSettings` with their names, units and defaults, the handle of a scenario, and the [`Traffic`] behind it.
//! Requested values only. What they come to in a scenario is worked out in `effective`; reading them from text is
//! `settings` and `conf`. The scenarios that exist are listed in `scenario`.

use std::fmt;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

use super::arrivals::Arrivals;
use super::error::PlanError;
use super::shape::{Expected, Shape};
use crate::further_settings::{Further, FurtherKey, Quantity};
use crate::judge::{Headlines, Judge};
use crate::mode::{Mode, Qsl, Seeds};
use crate::value::Entry;

/// Scenario of a test: the way in which queries reach the SUT, and the rules by which a run is judged.
///
/// Two scenarios are equal when their names are. In JSON a scenario is its name, and only those of [`Scenario::ALL`]
/// can be read back.
#[derive(Clone, Copy)]
pub struct Scenario(&'static Definition);

/// Parts of a scenario.
#[derive(Clone, Copy)]
pub struct Definition {
    /// The official name, without blanks.
    pub name: &'static str,
    /// Traffic of the scenario.
    pub traffic: &'static dyn Traffic,
    /// Rules by which the scenario is judged.
    pub judge: &'static dyn Judge,
    /// The lines and keys that only this scenario has in the reports.
    pub headlines: &'static dyn Headlines,
}

impl Scenario {
    /// A scenario that need not be registered.
    pub const fn new(entry: &'static Definition) -> Scenario {
        Scenario(entry)
    }

    /// The official name, without blanks.
    pub const fn name(self) -> &'static str {
        self.0.name
    }

    /// Returns the traffic of the scenario.
    pub fn traffic(self) -> &'static dyn Traffic {
        self.0.traffic
    }

    /// Returns the rules by which the scenario is judged.
    pub fn judge(self) -> &'static dyn Judge {
        self.0.judge
    }

    /// The lines and keys that only this scenario has in the reports.
    pub fn headlines(self) -> &'static dyn Headlines {
        self.0.headlines
    }
}

impl PartialEq for Scenario {
    fn eq(&self, other: &Scenario) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Scenario {}

impl Hash for Scenario {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl fmt::Debug for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Traffic of a scenario: the queries that it asks of a SUT.
///
/// All of it is answered before a phase starts, as plain values.
pub trait Traffic: Sync {
    /// The queries with these settings: samples, issue, latency.
    ///
    /// # Errors
    /// A value is outside its range.
    fn shape(&self, request: &Request<'_>) -> Result<Shape, PlanError>;

    /// The settings of this scenario beside the official ones. They can be set, shown and documented from this list.
    fn keys(&self) -> &'static [&'static FurtherKey] {
        &[]
    }

    /// The rule by which due times follow one another in performance phases. Only scenarios with a schedule wait for
    /// them; the others count queries with them.
    ///
    /// # Errors
    /// A value is outside its range.
    fn arrivals(&self, _request: &Request<'_>) -> Result<Arrivals, PlanError> {
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
    fn sanitise(&self, request: &Request<'_>, faults: &mut Vec<String>) -> Result<Sanitised, PlanError>;

    /// The settings that only this scenario has, for the `requested_*` keys of the detail log, in official order.
    /// Unless written here: those that it declares, but for texts.
    fn requested(&self, settings: &TestSettings) -> Vec<Entry> {
        let further = &settings.further;
        let entry = |key: &&'static FurtherKey| match key.quantity {
            Quantity::PerSecond | Quantity::Percentile => Some((key.field.into(), further.real(key).into())),
            Quantity::Count { .. } | Quantity::Time => Some((key.field.into(), further.whole(key).into())),
            Quantity::Text(_) => None,
        };
        self.keys().iter().filter_map(entry).collect()
    }

    /// The load that the SUT gets: rate and latencies follow from it, and a search for the peak turns it. `None` when
    /// these settings have none.
    fn load(&self, _settings: &TestSettings) -> Option<Load> {
        None
    }

    /// The same settings with another load, for a trial of a search for the peak. Every scenario with a
    /// [`Traffic::load`] has this, too.
    fn at_load(&self, settings: &TestSettings, _value: f64) -> TestSettings {
        settings.clone()
    }

    /// Describes the requested settings that this engine treats in another way, as a sentence for the user; mostly
    /// nothing.
    fn without_effect(&self, _settings: &TestSettings) -> Option<String> {
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
pub struct Request<'a> {
    /// The settings of the test as requested.
    pub settings: &'a TestSettings,
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

/// The official settings of a test, as requested.
///
/// Unknown keys in the JSON form are an error, missing ones have their default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct TestSettings {
    /// Scenario of the test: the way in which queries reach the SUT.
    pub scenario: Scenario,
    /// Mode of the test: the phases that it consists of.
    pub mode: Mode,

    /// SingleStream: expected time per query, ns; sets how many queries are generated.
    pub single_stream_expected_latency_ns: f64,
    /// SingleStream: the judged percentile, as a fraction.
    pub single_stream_target_latency_percentile: f64,
    /// MultiStream: expected time per query, ns.
    pub multi_stream_expected_latency_ns: f64,
    /// MultiStream: the judged percentile, as a fraction.
    pub multi_stream_target_latency_percentile: f64,
    /// MultiStream: samples in each query.
    pub multi_stream_samples_per_query: u64,
    /// Server: queries per second of the Poisson process.
    pub server_target_qps: f64,
    /// Server: latency that the judged percentile must not exceed, ns.
    pub server_target_latency_ns: u64,
    /// Server: the judged percentile, as a fraction.
    pub server_target_latency_percentile: f64,
    /// Server: merge queries that are due by the time one is issued.
    pub server_coalesce_queries: bool,
    /// Server peak search: decimals of the result.
    pub server_find_peak_qps_decimals_of_precision: i32,
    /// Server peak search: growth of the rate per step, as a fraction.
    pub server_find_peak_qps_boundary_step_size: f64,
    /// Server: end the run when more queries than this are outstanding; 0 = no limit.
    pub server_max_async_queries: u64,
    /// Server: issuing threads of the official implementation, which deals the queries of one schedule out to them in
    /// turn. When queries are due, and with which samples, does not depend on it. What does (`max_query_count` and
    /// merging count by thread) is done here as by one thread, and the plan says so.
    pub server_num_issue_query_threads: u64,
    /// Offline: expected samples per second; sets how many samples the query has.
    pub offline_expected_qps: f64,

    /// Equal issue: every sample of the set is used equally often, in permuted rounds.
    pub sample_concatenate_permutation: bool,
    /// The test lasts at least this long, ms.
    pub min_duration_ms: u64,
    /// The test ends early after this time, ms; 0 = no limit.
    pub max_duration_ms: u64,
    /// The test has at least this many queries.
    pub min_query_count: u64,
    /// The test ends early after this many queries; 0 = no limit.
    pub max_query_count: u64,

    /// Seed of the choice and order of loaded samples. All seeds act modulo 2^32.
    pub qsl_rng_seed: u64,
    /// Seed of the choice of samples for queries.
    pub sample_index_rng_seed: u64,
    /// Seed of the Server schedule.
    pub schedule_rng_seed: u64,
    /// Seed of the offset that decides which samples of a performance phase are logged.
    pub accuracy_log_rng_seed: u64,
    /// Share of samples of a performance phase whose answers are logged.
    pub accuracy_log_probability: f64,
    /// Number of samples to log instead of a share; 0 = use the share.
    pub accuracy_log_sampling_target: u64,

    /// Compliance test 05: performance with the three seeds below.
    pub test05: bool,
    /// Replaces `qsl_rng_seed` in test 05.
    pub test05_qsl_rng_seed: u64,
    /// Replaces `sample_index_rng_seed` in test 05.
    pub test05_sample_index_rng_seed: u64,
    /// Replaces `schedule_rng_seed` in test 05.
    pub test05_schedule_rng_seed: u64,

    /// Official: time stamps on standard output. Only reported here.
    pub print_timestamps: bool,
    /// Use each loaded sample once.
    pub performance_issue_unique: bool,
    /// Use one loaded sample for every query.
    pub performance_issue_same: bool,
    /// Which sample `performance_issue_same` uses: a position in the loaded set.
    pub performance_issue_same_index: u64,
    /// Replaces the library's performance count; 0 = do not.
    pub performance_sample_count_override: u64,
    /// Replaces the library's total count in accuracy phases; 0 = do not.
    pub accuracy_sample_count_override: u64,

    /// Judge the first token and the time per output token instead of the whole latency.
    pub use_token_latencies: bool,
    /// Limit of the first token's latency, ns.
    #[serde(alias = "ttft_latency")]
    pub server_ttft_latency: u64,
    /// Limit of the time per output token, ns.
    #[serde(alias = "tpot_latency")]
    pub server_tpot_latency: u64,
    /// Report token rates as samples times `token_latency_scaling_factor`.
    pub infer_token_latencies: bool,
    /// Tokens that each sample stands for, with `infer_token_latencies`.
    pub token_latency_scaling_factor: u64,

    /// Settings beside the official ones that the scenario declares, by name; only those that were set.
    #[serde(skip_serializing_if = "Further::is_empty")]
    pub further: Further,
}

impl Default for TestSettings {
    fn default() -> Self {
        Self {
            scenario: Scenario::default(),
            mode: Mode::default(),
            single_stream_expected_latency_ns: 1e6,
            single_stream_target_latency_percentile: 0.90,
            multi_stream_expected_latency_ns: 8e6,
            multi_stream_target_latency_percentile: 0.99,
            multi_stream_samples_per_query: 8,
            server_target_qps: 1.0,
            server_target_latency_ns: 100_000_000,
            server_target_latency_percentile: 0.99,
            server_coalesce_queries: false,
            server_find_peak_qps_decimals_of_precision: 1,
            server_find_peak_qps_boundary_step_size: 1.0,
            server_max_async_queries: 0,
            server_num_issue_query_threads: 0,
            offline_expected_qps: 1.0,
            sample_concatenate_permutation: false,
            min_duration_ms: 10_000,
            max_duration_ms: 0,
            min_query_count: 100,
            max_query_count: 0,
            qsl_rng_seed: 0,
            sample_index_rng_seed: 0,
            schedule_rng_seed: 0,
            accuracy_log_rng_seed: 0,
            accuracy_log_probability: 0.0,
            accuracy_log_sampling_target: 0,
            test05: false,
            test05_qsl_rng_seed: 0,
            test05_sample_index_rng_seed: 0,
            test05_schedule_rng_seed: 0,
            print_timestamps: false,
            performance_issue_unique: false,
            performance_issue_same: false,
            performance_issue_same_index: 0,
            performance_sample_count_override: 0,
            accuracy_sample_count_override: 0,
            use_token_latencies: false,
            server_ttft_latency: 100_000_000,
            server_tpot_latency: 100_000_000,
            infer_token_latencies: false,
            token_latency_scaling_factor: 0,
            further: Further::default(),
        }
    }
}

impl TestSettings {
    /// Takes the seeds of an official round.
    pub fn set_seeds(&mut self, seeds: Seeds) {
        self.qsl_rng_seed = seeds.qsl;
        self.sample_index_rng_seed = seeds.sample_index;
        self.schedule_rng_seed = seeds.schedule;
    }

    /// Takes the seeds with which compliance test 05 runs when it is on.
    pub fn set_test05_seeds(&mut self, seeds: Seeds) {
        self.test05_qsl_rng_seed = seeds.qsl;
        self.test05_sample_index_rng_seed = seeds.sample_index;
        self.test05_schedule_rng_seed = seeds.schedule;
    }

    /// The settings that compliance test 05 runs with; unchanged when it is off.
    pub(crate) fn with_test05_applied(mut self) -> Self {
        if self.test05 {
            self.mode = Mode::PerformanceOnly;
            self.set_seeds(Seeds {
                qsl: self.test05_qsl_rng_seed,
                sample_index: self.test05_sample_index_rng_seed,
                schedule: self.test05_schedule_rng_seed,
            });
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_with_an_unknown_key_names_it() {
        let error = serde_json::from_str::<TestSettings>(r#"{"server_target_qpz": 3}"#).unwrap_err();
        assert!(error.to_string().contains("server_target_qpz"), "{error}");
    }

    #[test]
    fn seeds_keep_all_64_bits_through_json() {
        let text = r#"{"scenario":"Server","qsl_rng_seed":18209322760996052031}"#;
        let settings: TestSettings = serde_json::from_str(text).unwrap();
        assert_eq!(settings.qsl_rng_seed, 18_209_322_760_996_052_031);
        let back: TestSettings = serde_json::from_str(&serde_json::to_string(&settings).unwrap()).unwrap();
        assert_eq!(back, settings);
    }

    #[test]
    fn test05_replaces_seeds_and_mode() {
        let requested = TestSettings {
            mode: Mode::SubmissionRun,
            test05: true,
            test05_qsl_rng_seed: 1,
            test05_sample_index_rng_seed: 2,
            test05_schedule_rng_seed: 3,
            ..TestSettings::default()
        };
        let applied = requested.with_test05_applied();
        assert_eq!(applied.mode, Mode::PerformanceOnly);
        assert_eq!((applied.qsl_rng_seed, applied.sample_index_rng_seed, applied.schedule_rng_seed), (1, 2, 3));
    }
}
