//! A warm-up: a short run with the settings of the test before it, which nothing judges and no log has.

use super::spec::{SettingsSpec, TestSpec, WarmUp};
use crate::exit::{Exit, OrExit as _, Outcome};
use crate::signals::StopRequests;
use loadgen::settings::Mode;

impl TestSpec {
    /// Sends the warm-up that is asked for, and notes how it went.
    ///
    /// # Errors
    /// It failed as a test can fail, or was interrupted.
    pub fn warm(mut self, stop: &dyn StopRequests) -> Outcome<TestSpec> {
        let Some(wanted) = self.warm_up.take() else { return Ok(self) };
        let ms = wanted.as_millis();
        tracing::info!(ms, "warm-up before the run");
        let mut settings = SettingsSpec { mode: Some(Mode::PerformanceOnly), ..self.settings.clone() };
        for text in [format!("min_duration={ms}ms"), format!("max_duration={ms}ms"), "min_query_count=1".to_owned()] {
            settings.set.push(text.parse().or_exit(Exit::Bug)?);
        }
        let finished = self.short(self.scenario, settings, stop)?;
        let (counts, summary) = (finished.outcome.counts(), finished.outcome.summary.as_ref());
        let latency = summary.map(|summary| summary.latency);
        let at = |fraction: f64, position: usize| {
            latency.filter(|latency| latency.is_measured(fraction)).map(|latency| latency.percentiles_ns[position])
        };
        let rate = summary.map(|summary| summary.rates.completed_samples_per_s);
        let warm_up = WarmUp {
            wanted,
            answered: counts.completed,
            failed: counts.failed,
            samples_per_s: rate.filter(|rate| rate.is_finite() && *rate > 0.0),
            p50_ns: at(0.5, 0),
            p99_ns: at(0.99, 4),
        };
        tracing::info!(answered = warm_up.answered, failed = warm_up.failed, "warm-up ended");
        self.call.warm_up = Some(warm_up);
        Ok(self)
    }
}
