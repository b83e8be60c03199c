//! A test of the round in the records of later rounds, for all who predict, show and store tests.
//!
//! These records decide nothing: traffic is that of `traffic`, the verdict that of `judge`. Settings that later rounds
//! lack are left out; the rate of MultiStream becomes the latency that it expects.

use std::sync::LazyLock;

use super::effective::Effective;
use super::scenario::{JudgedDuration, LatencyRule, Pacing, Scenario, Shape};
use super::settings::Settings;
use super::summary;
use super::test::{SeriesOutcome, TestInput};
use super::traffic::phases;
use crate::judge::{self, Judge, Measured, Metric, Rates, Terms};
use crate::plan;
use crate::scenarios::{self, Definition, TestSettings};
use crate::settings::{Mode, Profile, SetRule};
use crate::trace::PhasePlan;
use crate::traffic::{self, Arrivals, LatencyStart, PlanError, Trigger};

/// The rules of a scenario, as far as later rounds ask for them.
struct Rules(Shape);

impl Judge for Rules {
    fn judged_duration(&self, measured: &Measured) -> judge::JudgedDuration {
        let seconds = match self.0.judged_duration {
            JudgedDuration::LastIssue => measured.final_query_issued_s,
            JudgedDuration::LastDue => measured.final_query_scheduled_s,
            JudgedDuration::LargestLatency => measured.max_latency_s,
        };
        judge::JudgedDuration { seconds, advice: summary::duration_advice(self.0) }
    }

    /// The limit on intervals is none of a latency.
    fn has_latency_limit(&self, _terms: &Terms) -> bool {
        matches!(self.0.latency_rule, LatencyRule::Queries | LatencyRule::Samples)
    }

    /// No metric: it is made of the record of a series, see [`summary::metric`].
    fn metric(&self, _rates: &Rates, _estimate_ns: Option<f64>) -> Metric {
        Metric::new("", None, "")
    }
}

static RULES: LazyLock<[Rules; Scenario::ALL.len()]> =
    LazyLock::new(|| Scenario::ALL.map(|scenario| Rules(scenario.shape())));

/// The scenarios that later rounds have by the same name, with the rules of this one.
static DEFINITIONS: LazyLock<Vec<Definition>> = LazyLock::new(|| {
    let definition = |rules: &'static Rules| {
        let today = scenarios::Scenario::from_name(rules.0.name)?;
        let (name, traffic, headlines) = (today.name(), today.traffic(), today.headlines());
        Some(Definition { name, traffic, judge: rules, headlines })
    };
    RULES.iter().filter_map(definition).collect()
});

/// The scenario as later rounds have scenarios. One that they have not is shown as the one by whose name config files
/// give its settings.
fn scenario(scenario: Scenario) -> scenarios::Scenario {
    let section = scenario.shape().section;
    let same_name = DEFINITIONS.iter().find(|definition| definition.name == section);
    same_name.map_or_else(scenarios::Scenario::default, scenarios::Scenario::new)
}

/// The settings by the names of later rounds.
pub fn settings(s: &Settings) -> TestSettings {
    TestSettings {
        scenario: scenario(s.scenario),
        mode: s.mode,
        single_stream_expected_latency_ns: s.single_stream_expected_latency_ns as f64,
        single_stream_target_latency_percentile: s.single_stream_target_latency_percentile,
        multi_stream_expected_latency_ns: 1e9 / s.multi_stream_target_qps,
        multi_stream_target_latency_percentile: s.multi_stream_target_latency_percentile,
        multi_stream_samples_per_query: s.multi_stream_samples_per_query,
        server_target_qps: s.server_target_qps,
        server_target_latency_ns: s.server_target_latency_ns,
        server_target_latency_percentile: s.server_target_latency_percentile,
        server_coalesce_queries: s.server_coalesce_queries,
        server_find_peak_qps_decimals_of_precision: s.server_find_peak_qps_decimals_of_precision,
        server_find_peak_qps_boundary_step_size: s.server_find_peak_qps_boundary_step_size,
        server_max_async_queries: s.server_max_async_queries,
        offline_expected_qps: s.offline_expected_qps,
        min_duration_ms: s.min_duration_ms,
        max_duration_ms: s.max_duration_ms,
        min_query_count: s.min_query_count,
        max_query_count: s.max_query_count,
        qsl_rng_seed: s.qsl_rng_seed,
        sample_index_rng_seed: s.sample_index_rng_seed,
        schedule_rng_seed: s.schedule_rng_seed,
        accuracy_log_rng_seed: s.accuracy_log_rng_seed,
        accuracy_log_probability: s.accuracy_log_probability,
        print_timestamps: s.print_timestamps,
        performance_issue_unique: s.performance_issue_unique,
        performance_issue_same: s.performance_issue_same,
        performance_issue_same_index: s.performance_issue_same_index,
        performance_sample_count_override: s.performance_sample_count_override,
        ..TestSettings::default()
    }
}

/// The plan of a test, with the phases that it runs. A search has that of its first trial.
///
/// # Errors
/// The settings cannot be run.
pub fn plan(input: &TestInput) -> Result<plan::Plan, PlanError> {
    let mut faults = Vec::new();
    let effective = Effective::new(&input.settings, input.qsl, &mut faults)?;
    if input.settings.mode == Mode::FindPeakPerformance && effective.shape.searched.is_none() {
        let scenario = scenario(input.settings.scenario);
        return Err(PlanError::no_peak(scenario.name(), scenario.traffic().expected()));
    }
    let phases = phases(&effective, input.qsl, input.integers)?;
    plan_of(input, &effective, faults, phases)
}

/// The plan of one series: that of a trial of a search has other values in force than the test.
///
/// # Errors
/// A value is outside the range of later rounds.
pub(super) fn plan_of_series(input: &TestInput, series: &SeriesOutcome) -> Result<plan::Plan, PlanError> {
    plan_of(input, &series.effective, Vec::new(), vec![series.phase.clone()])
}

fn plan_of(
    input: &TestInput,
    effective: &Effective,
    faults: Vec<String>,
    phases: Vec<PhasePlan>,
) -> Result<plan::Plan, PlanError> {
    let today = plan::Plan::for_judging(settings(&effective.requested), input.qsl)?;
    let effective = in_force(effective, today.effective());
    let profile = Profile { integers: input.integers, set: SetRule::WholeLibrary };
    Ok(today.with_values(effective, profile, faults, phases))
}

/// The values in force by the names of later rounds. Values that the round has not are as today.
fn in_force(e: &Effective, today: &plan::Effective) -> plan::Effective {
    plan::Effective {
        shape: shape(e),
        arrivals: if e.shape.has_random_gaps { Arrivals::Poisson } else { Arrivals::Constant },
        samples_per_query: e.samples_per_query,
        target_qps: e.target_qps,
        target_latency_ns: e.target_latency_ns,
        target_latency_percentile: e.target_latency_percentile.unwrap_or(USUAL_PERCENTILE),
        max_async_queries: e.max_async_queries,
        target_duration_ms: e.requested.min_duration_ms,
        min_query_count: e.min_query_count,
        min_sample_count: e.min_sample_count,
        performance_sample_count: e.performance_sample_count,
        ..today.clone()
    }
}

/// The percentile that is shown where none is judged.
const USUAL_PERCENTILE: f64 = 0.9;

/// The traffic as later rounds describe it. The plan shows every tick as a due time.
fn shape(e: &Effective) -> traffic::Shape {
    let below = e.max_async_queries.saturating_mul(e.samples_per_query);
    let (trigger, latency_start) = match e.shape.pacing {
        Pacing::AfterAnswer => (Trigger::Reply { below: 1 }, LatencyStart::Issue),
        Pacing::Ticks => (Trigger::Ticks { interval_ns: (1.0 / e.target_qps * 1e9) as u64, below }, LatencyStart::Due),
        Pacing::AtAnswer => (Trigger::Reply { below }, LatencyStart::Issue),
        Pacing::Due => (Trigger::Schedule, LatencyStart::Due),
        Pacing::AtOnce => (Trigger::Room, LatencyStart::Phase),
    };
    let Shape { layout, duration_factor, .. } = e.shape;
    traffic::Shape { layout, trigger, latency_start, duration_factor, group: 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::early_stopping::Rule;
    use crate::plan::predict::{self, SampleSize};
    use crate::settings::{IntegerRule, Qsl};

    fn input(scenario: Scenario, change: impl FnOnce(&mut Settings)) -> TestInput {
        let mut settings = Settings { scenario, min_duration_ms: 2_000, min_query_count: 20, ..Settings::default() };
        settings.multi_stream_target_qps = 20.0;
        change(&mut settings);
        TestInput { settings, qsl: Qsl { total: 50, performance: 20 }, integers: IntegerRule::Division }
    }

    #[test]
    fn plans_have_the_traffic_of_the_round_and_the_names_of_today() {
        for scenario in Scenario::ALL {
            let plan = plan(&input(scenario, |_| ())).unwrap();
            let effective = plan.effective();
            assert_eq!(effective.scenario.name(), scenario.shape().section);
            assert_eq!(effective.scenario.judge().early_stopping(), Rule::None);
            assert_eq!(plan.profile(), Profile::GCC_10);
            assert_eq!(plan.phases().len(), 1);
        }
        let multi = plan(&input(Scenario::MultiStream, |_| ())).unwrap();
        assert_eq!((multi.effective().target_latency_ns, multi.effective().samples_per_query), (50_000_000, 4));
        assert_eq!(multi.requested().multi_stream_expected_latency_ns, 5e7);
        assert!(
            !multi.effective().scenario.judge().has_latency_limit(&multi.effective().terms()),
            "its limit counts intervals"
        );
    }

    #[test]
    fn runs_are_predicted_without_early_stopping() {
        let plan = plan(&input(Scenario::SingleStream, |s| s.single_stream_expected_latency_ns = 10_000_000)).unwrap();
        let predicted = predict::predict(&plan, SampleSize { memory_bytes: 1, wire_bytes: 1 });
        assert_eq!(predicted.queries, 200);
        assert_eq!(predict::obstacles(&plan, false), [""; 0]);
    }

    #[test]
    fn scenarios_without_a_search_are_refused() {
        let search = |s: &mut Settings| s.mode = Mode::FindPeakPerformance;
        for scenario in [Scenario::SingleStream, Scenario::Offline] {
            let message = plan(&input(scenario, search)).unwrap_err().to_string();
            assert!(message.contains("FindPeakPerformance is not available for"), "{message}");
        }
        assert!(plan(&input(Scenario::Server, search)).is_ok() && plan(&input(Scenario::MultiStream, search)).is_ok());
    }
}
