//! A warm-up: short runs with the settings of the test before it, which nothing judges and no log has.

use std::time::Duration;

use super::finished::Finished;
use super::spec::{SettingsSpec, TestSpec, WarmUp};
use crate::exit::{Exit, OrExit as _, Outcome};
use crate::signals::StopRequests;
use crate::verdict::hints;
use loadgen::settings::{Assignment, Mode};

/// Most runs of a warm-up. One that was too short, since the SUT is faster than the settings expect, is followed by a
/// longer one.
const MOST_RUNS: u32 = 5;

/// A warm-up may be shorter by this share.
const SHORTER: f64 = 0.1;

impl TestSpec {
    /// Sends the warm-up that is asked for, and notes how it went.
    ///
    /// # Errors
    /// It failed as a test can fail, or was interrupted.
    pub fn warm(mut self, stop: &dyn StopRequests) -> Outcome<TestSpec> {
        let Some(duration) = self.warm_up.take() else { return Ok(self) };
        tracing::info!(ms = duration.as_millis(), "warm-up before the run");
        let wanted_ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let mut warm_up = WarmUp { wanted_ns, ..WarmUp::default() };
        let (mut took, mut faster) = (Duration::ZERO, None);
        for _ in 0..MOST_RUNS {
            let finished = self.warm_for(duration.saturating_sub(took), faster.as_ref(), stop)?;
            took += length(&finished);
            warm_up.add(&finished, took);
            let summary = finished.outcome.summary.as_ref();
            let set = summary.and_then(|summary| hints::long_enough(summary, finished.setup.plan.effective()));
            faster = set.and_then(|text| text.parse::<Assignment>().ok());
            if faster.is_none() || took >= duration.mul_f64(1.0 - SHORTER) {
                break;
            }
        }
        tracing::info!(answered = warm_up.answered, failed = warm_up.failed, "warm-up ended");
        self.call.warm_up = Some(warm_up);
        Ok(self)
    }

    /// One run of about this length. `faster` is the speed that was measured.
    fn warm_for(&self, time: Duration, faster: Option<&Assignment>, stop: &dyn StopRequests) -> Outcome<Finished> {
        let ms = time.as_millis().max(1);
        let mut settings = SettingsSpec { mode: Some(Mode::PerformanceOnly), ..self.settings.clone() };
        for text in [format!("min_duration={ms}ms"), format!("max_duration={ms}ms"), "min_query_count=1".to_owned()] {
            settings.set.push(text.parse().or_exit(Exit::Bug)?);
        }
        settings.set.extend(faster.cloned());
        self.short(self.scenario, settings, stop)
    }
}

/// Time from the start of a run to its last answer.
fn length(finished: &Finished) -> Duration {
    let phases = finished.outcome.phases.iter();
    Duration::from_nanos(phases.map(|phase| phase.latest_end.since(phase.started)).sum())
}

impl WarmUp {
    /// Adds a run. All runs together took this long.
    fn add(&mut self, finished: &Finished, took: Duration) {
        let counts = finished.outcome.counts();
        self.answered += counts.completed;
        self.failed += counts.failed;
        let rate = self.answered as f64 / took.as_secs_f64();
        self.samples_per_s = Some(rate).filter(|rate| rate.is_finite() && *rate > 0.0);
        let latency = finished.outcome.summary.as_ref().map(|summary| summary.latency);
        let at = |fraction: f64, position: usize| {
            latency.filter(|latency| latency.is_measured(fraction)).map(|latency| latency.percentiles_ns[position])
        };
        (self.p50_ns, self.p99_ns) = (at(0.5, 0), at(0.99, 4));
    }
}
