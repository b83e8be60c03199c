//! The phase that goes on, and how far it is.

use std::time::Duration;

use loadgen::run::TrialStart;

/// The phase that goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phase {
    /// Its number, from 1.
    pub number: u64,
    /// All its answers are logged, and it is not judged.
    pub is_accuracy: bool,
    /// The trial of a search for the peak that it is.
    pub trial: Option<TrialStart>,
    /// Duration of the phase so far.
    pub elapsed: Duration,
    /// Least duration of the phase, where that is known.
    pub planned: Option<Duration>,
    /// Samples that it will have; none where time decides.
    pub planned_samples: Option<u64>,
    /// Samples of it that have ended.
    pub ended: u64,
    /// It is over.
    pub is_over: bool,
}

impl Phase {
    /// Samples that ended, a second, from the start of the phase.
    pub fn rate_per_s(&self) -> f64 {
        self.ended as f64 / self.elapsed.as_secs_f64().max(1e-3)
    }

    /// Returns the part of the phase that is done, as a fraction; `None` where that is not known.
    pub fn share_done(&self) -> Option<f64> {
        let by_time = self.planned.map(|planned| self.elapsed.as_secs_f64() / planned.as_secs_f64().max(1e-9));
        let by_samples = self.planned_samples.map(|planned| self.ended as f64 / planned.max(1) as f64);
        by_samples.or(by_time).map(|share| share.clamp(0.0, 1.0))
    }

    /// Returns the time that the phase will still take, as far as it can be estimated.
    pub fn remaining_time(&self) -> Duration {
        if self.is_over {
            return Duration::ZERO;
        }
        if let Some(planned) = self.planned {
            return planned.saturating_sub(self.elapsed);
        }
        let samples = self.planned_samples.unwrap_or(0).saturating_sub(self.ended);
        Duration::from_secs_f64((samples as f64 / self.rate_per_s().max(1e-3)).min(1e7))
    }

    /// Returns the name of the phase, in words.
    pub fn name(&self) -> String {
        match (self.trial, self.is_accuracy) {
            (Some(trial), _) if trial.is_verification => format!("verification at {}", trial.load),
            (Some(trial), _) => format!("trial {} at {:.1}", trial.number, trial.load),
            (None, true) => "accuracy".to_owned(),
            (None, false) => "performance".to_owned(),
        }
    }
}
