//! A short look at the nodes, for a setting that is `auto`: how fast they answer. Nothing of it is judged or kept but
//! the value.

use anyhow::{Context as _, anyhow};

use super::finished::Finished;
use super::settings::{self, Subject};
use super::spec::{FindPeakSpec, SettingsSpec, TestSpec};
use super::test::Test;
use crate::division::Division;
use crate::exit::{Exit, OrExit as _, Outcome};
use crate::signals::StopRequests;
use loadgen::run::End;
use loadgen::settings::{Assignment, Mode, Scenario};
use loadgen::traffic::Pacing;

/// The rate with which the first look begins, samples per second: few, because a language model takes seconds for one.
const FIRST_RATE: f64 = 8.0;

/// Looks at most. Each asks for as much as the one before could answer in a second.
const LOOKS: usize = 6;

/// A look that was not this long says little of the rate, in seconds.
const LONG_ENOUGH_S: f64 = 0.5;

/// The part of what the nodes can answer at once that Server asks for: queries come in bursts there.
const SERVER_SHARE: f64 = 0.5;

/// How much more than the nodes answered Offline asks for. A look takes a second, and machines are faster or slower in
/// the next: what is asked for beyond need only makes the run longer.
const OFFLINE_SHARE: f64 = 1.5;

/// The part of the median latency that is expected: LoadGen prepares more queries the less it expects.
const LATENCY_SHARE: f64 = 0.5;

impl TestSpec {
    /// Whether a setting is to be found by a look at the nodes.
    ///
    /// # Errors
    /// The settings cannot be read (exit code 2).
    pub fn wants_a_look(&self) -> Outcome<bool> {
        let subject = Subject { model: self.benchmark.name, known: &self.benchmark.settings, scenario: self.scenario };
        Ok(settings::to_find(&settings::layer(subject, &self.settings)?.sourced).is_some())
    }

    /// Looks at the nodes, for a few seconds, and sets what is to be found.
    ///
    /// # Errors
    /// The look failed as a test can fail, or nothing was answered.
    pub fn look(mut self, stop: &dyn StopRequests) -> Outcome<TestSpec> {
        tracing::info!("looking at the nodes first, for a few seconds: how fast do they answer?");
        let found = match self.scenario.pacing() {
            Pacing::Room => format!("target_qps={}", three_digits(self.rate(stop)? * OFFLINE_SHARE)),
            Pacing::Schedule => format!("target_qps={}", three_digits(self.rate(stop)? * SERVER_SHARE)),
            Pacing::Reply { .. } => format!("target_latency={}ms", self.latency_ms(stop)?),
        };
        let (setting, value) = found.split_once('=').unwrap_or_default();
        tracing::info!(setting, value, "found by a look at the nodes");
        self.settings.found = Some(found.parse::<Assignment>().or_exit(Exit::Bug)?);
        Ok(self)
    }

    /// Samples per second that the nodes answer when they have all at once.
    fn rate(&self, stop: &dyn StopRequests) -> Outcome<f64> {
        let mut rate = FIRST_RATE;
        for _ in 0..LOOKS {
            let asked = rate;
            let finished = self.one(Scenario::OFFLINE, &format!("target_qps={asked}"), stop)?;
            let summary = finished.outcome.summary.as_ref();
            let measured = summary.map(|summary| summary.rates.samples_per_s).filter(|rate| rate.is_finite());
            rate = measured.filter(|rate| *rate > 0.0).context(NOTHING).or_exit(Exit::Network)?;
            if asked / rate >= LONG_ENOUGH_S {
                break;
            }
        }
        Ok(three_digits(rate))
    }

    /// The latency to expect, in ms.
    fn latency_ms(&self, stop: &dyn StopRequests) -> Outcome<f64> {
        let finished = self.one(self.scenario, "target_latency=1ms", stop)?;
        let summary = finished.outcome.summary.as_ref().context(NOTHING).or_exit(Exit::Network)?;
        let [p50_ns, ..] = summary.judged_latency().percentiles_ns;
        Ok(three_digits((p50_ns as f64 / 1e6 * LATENCY_SHARE).max(1e-4)))
    }

    /// One look of about a second.
    fn one(&self, scenario: Scenario, expected: &str, stop: &dyn StopRequests) -> Outcome<Finished> {
        let set = [expected, "min_duration=1s", "min_query_count=8"];
        let set = set.iter().map(|text| text.parse()).collect::<Result<_, _>>().or_exit(Exit::Bug)?;
        let settings = SettingsSpec { mode: Some(Mode::PerformanceOnly), set, ..SettingsSpec::default() };
        let spec = TestSpec {
            scenario,
            settings,
            division: Division::Open,
            find_peak: FindPeakSpec::default(),
            probe: false,
            trace_log: false,
            record_stages: false,
            baseline: None,
            anyway: true,
            extend: false,
            ..self.clone()
        };
        let finished = Test::new(spec)?.run(stop, &mut ())?;
        match finished.outcome.end {
            End::Completed => Ok(finished),
            End::Interrupted => Err(anyhow!("interrupted before the run")).or_exit(Exit::Interrupted),
            _ => {
                let reasons: Vec<&str> =
                    finished.outcome.verdict.reasons().iter().map(|reason| reason.text.as_str()).collect();
                Err(anyhow!("the look at the nodes ended early: {}", reasons.join("; "))).or_exit(Exit::Network)
            }
        }
    }
}

/// The error of a look that gave no number.
const NOTHING: &str = "the look at the nodes found no rate: too little was answered";

/// A number with three digits: more would look as if it were measured that well.
fn three_digits(number: f64) -> f64 {
    if !(1e-9..1e15).contains(&number) {
        return number;
    }
    let places = 2 - number.log10().floor() as i32;
    let step = 10_f64.powi(places.abs());
    let rounded = if places < 0 { (number / step).round() * step } else { (number * step).round() / step };
    format!("{rounded:.*}", usize::try_from(places).unwrap_or(0)).parse().unwrap_or(rounded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_are_kept() {
        assert_eq!([28_345.0, 5.017, 0.012_345, 1e9].map(three_digits), [28_300.0, 5.02, 0.0123, 1e9]);
    }
}
