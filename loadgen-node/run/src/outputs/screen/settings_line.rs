//! The settings that shape a measurement, as a line of the screen.

use std::time::Duration;

use lon_proto::figures::length_ns;

use crate::test_run::finished::Finished;
use loadgen::plan::Effective;
use loadgen::traffic::Expected;

/// The settings that shape the measurement, beside the rate or the limit that stands in another line. None where
/// nothing is measured. Those of a search are those of each trial.
pub(crate) fn text(finished: &Finished) -> Option<String> {
    let effective = finished.setup.plan.effective();
    let is_search = finished.outcome.find_peak.is_some();
    // The queries of MultiStream have a rate in round v0.5 alone.
    let v05 = finished.setup.v05.as_ref();
    let ticks = v05.filter(|_| effective.shape.has_query_latencies()).map(|_| effective.max_async_queries);
    let load = finished.setup.plan.load().map(|load| load.setting).filter(|_| is_search);
    let phases = finished.setup.plan.phases().iter().filter(|phase| !phase.is_accuracy());
    let set_size = phases.map(|phase| phase.set.indices.len() as u64).max();
    effective.mode.has_performance().then(|| of(effective, ticks, load, set_size))
}

/// The settings in force. `ticks`: the queries that may be outstanding where they have a rate of their own.
/// `searched`: the setting that each trial of a search has for itself. `set_size`: the samples from which queries are
/// drawn, of which a small dataset has fewer than the setting asks for.
fn of(effective: &Effective, ticks: Option<u64>, searched: Option<&str>, set_size: Option<u64>) -> String {
    let time = |name: &str, ms: u64| (ms > 0).then(|| format!("{name} {:?}", Duration::from_millis(ms)));
    let count = |name: &str, count: u64| (count > 0).then(|| format!("{name} {count}"));
    let is_asked_at_once = effective.shape.is_pulled();
    let has_rate = (is_asked_at_once || ticks.is_some()) && searched != Some("target_qps");
    let performance_count = effective.performance_sample_count;
    // The expected latency decides how many queries are prepared.
    let is_expected = effective.scenario.traffic().expected() == Expected::Latency && ticks.is_none();
    let all = [
        has_rate.then(|| format!("target_qps {}", effective.target_qps)),
        is_expected.then(|| format!("target_latency {} (expected)", length_ns((1e9 / effective.target_qps) as u64))),
        ticks.map(|queries| format!("max_async_queries {queries}")),
        time("min_duration", effective.settings.min_duration_ms),
        // The one query of Offline has the samples of all.
        count("min_query_count", effective.min_query_count).filter(|_| !is_asked_at_once),
        count("min_sample_count", effective.min_sample_count).filter(|_| is_asked_at_once),
        time("max_duration", effective.settings.max_duration_ms),
        count("max_query_count", effective.settings.max_query_count),
        count("samples_per_query", effective.samples_per_query)
            .filter(|_| !is_asked_at_once && effective.samples_per_query > 1 && searched != Some("samples_per_query")),
        count(
            "performance_sample_count",
            set_size.map_or(performance_count, |set_size| set_size.min(performance_count)),
        ),
        searched.map(|setting| format!("{setting} by trial")),
    ];
    all.into_iter().flatten().collect::<Vec<String>>().join(", ")
}

#[cfg(test)]
mod tests {
    use loadgen::plan::Plan;
    use loadgen::settings::{Qsl, Scenario, TestSettings};

    use super::*;

    fn effective(scenario: Scenario, change: impl FnOnce(&mut TestSettings)) -> Effective {
        let mut settings = TestSettings { scenario, ..TestSettings::default() };
        change(&mut settings);
        let qsl = Qsl { total: 64, performance: 64 };
        Plan::new(settings, qsl).unwrap().effective().clone()
    }

    #[test]
    fn streams_name_the_latency_that_they_expect() {
        let single = effective(Scenario::SINGLE_STREAM, |settings| settings.single_stream_expected_latency_ns = 5e6);
        let text = of(&single, None, None, None);
        assert!(text.starts_with("target_latency 5.0ms (expected), min_duration 10s, "), "{text}");
    }

    #[test]
    fn a_small_dataset_is_shown_with_the_samples_that_it_has() {
        let large = effective(Scenario::SERVER, |settings| settings.performance_sample_count_override = 1_024);
        assert!(of(&large, None, None, Some(64)).ends_with("performance_sample_count 64"));
        assert!(of(&large, None, None, None).ends_with("performance_sample_count 1024"));
    }

    #[test]
    fn a_search_has_the_settings_of_its_trials() {
        let server = effective(Scenario::SERVER, |settings| settings.min_duration_ms = 2_000);
        let text = of(&server, None, Some("target_qps"), None);
        assert!(text.starts_with("min_duration 2s, ") && text.ends_with(", target_qps by trial"), "{text}");
    }
}
