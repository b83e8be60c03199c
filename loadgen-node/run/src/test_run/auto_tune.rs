//! A short look at the nodes, for a setting that is `auto`: how fast they answer. Nothing of it is kept but the value,
//! and what bounds it.
//!
//! A rate for Server is tried by a short run at it, which is held to what the run itself will be held to: its limits of
//! latency at their percentile, the time on the wire included, and its schedule lag. A rate that keeps one by less than
//! a fifth is lowered, since the run itself meets other bursts. The run has a part of the rate that held, since hosts
//! are slower in one minute than in the next: three quarters, or less where the looks before differed by more.

use anyhow::{Context as _, anyhow};
use lon_proto::figures::length_ns;

use super::finished::Finished;
use super::settings::{self, Subject};
use super::spec::{FindPeakSpec, SettingsSpec, TestSpec};
use super::test::Test;
use crate::division::Division;
use crate::exit::{Exit, OrExit as _, Outcome};
use crate::network::cause::Cause;
use crate::signals::StopRequests;
use crate::verdict::limits::LatencyLimit;
use loadgen::judge::Summary;
use loadgen::judge::early_stopping::{Bound, CONFIDENCE};
use loadgen::plan::Effective;
use loadgen::run::End;
use loadgen::settings::{Assignment, Mode, Scenario};
use loadgen::traffic::Expected;

/// The rate with which the first look begins, samples per second: few, because a language model takes seconds for one.
const FIRST_RATE: f64 = 8.0;

/// Looks at most. Each asks for as much as the one before could answer in a second.
const LOOKS: usize = 6;

/// A look that was not this long says little of the rate, in seconds.
const LONG_ENOUGH_S: f64 = 0.8;

/// The part of what the nodes can answer at once that Server tries first: queries come in bursts there.
const SERVER_SHARE: f64 = 0.5;

/// The part of a rate that missed a limit that is tried next.
const STEP_BACK: f64 = 0.6;

/// The part of a limit of latency that a rate may use in its trial.
const LIMIT_SHARE: f64 = 0.8;

/// The part of a rate that held which the run has at most.
const HEADROOM: f64 = 0.75;

/// Rates that are tried at most: the last one is a hundredth of the first.
const TRIES: usize = 10;

/// The queries of a trial, for a percentile that is one; where queries are few, its time ends it.
const TRY_QUERIES: u64 = 500;

/// Factor between the rate that the nodes answered and the rate that Offline asks for. A look takes a second, and
/// machines are faster or slower in the next. A rate that is too high only makes the run longer.
const OFFLINE_SHARE: f64 = 1.5;

/// Further looks of the same length. For Offline the fastest one counts, since its run is too short where other
/// programs slowed the look; for Server they show how far the hosts' rate moves.
const FURTHER_LOOKS: usize = 2;

/// The part of the median latency that is expected: LoadGen prepares more queries the less it expects.
const LATENCY_SHARE: f64 = 0.5;

impl TestSpec {
    /// Returns true when a setting is to be found by a look at the nodes.
    ///
    /// # Errors
    /// The settings cannot be read (exit code 2).
    pub fn wants_a_look(&self) -> Outcome<bool> {
        Ok(settings::to_find(&settings::layer(Subject::of(self), &self.settings)?.sourced).is_some())
    }

    /// Looks at the nodes, for some seconds or minutes, and sets what is to be found.
    ///
    /// # Errors
    /// The look failed as a test can fail, or nothing was answered.
    pub fn look(mut self, stop: &dyn StopRequests) -> Outcome<TestSpec> {
        let takes = match self.scenario.traffic().expected() {
            Expected::QueryRate => "a few seconds, and up to ten tries of 3 to 60 s each",
            _ => "a few seconds",
        };
        tracing::info!(takes, "looking at the nodes first: how fast do they answer?");
        let Value { set, how } = match self.scenario.traffic().expected() {
            Expected::SampleRate => {
                let Looks { highest: rate, fastest: finished, .. } = self.looks(stop)?;
                let set = format!("target_qps={}", three_digits(rate * OFFLINE_SHARE));
                let how = format!(
                    "{OFFLINE_SHARE} times the {rate} samples/s of the fastest of {} short trials, so that a faster \
                     run still lasts min_duration{}",
                    FURTHER_LOOKS + 1,
                    bound_by(&finished)
                );
                Value { set, how }
            }
            Expected::QueryRate => self.rate_that_holds(stop)?,
            Expected::Bursts | Expected::MostQps => {
                let scenario = self.scenario.name();
                return Err(anyhow!("{scenario} has no setting that a short trial could find")).or_exit(Exit::Usage);
            }
            Expected::Latency => {
                let set = format!("target_latency={}ms", self.latency_ms(stop)?);
                Value { set, how: "half of the median latency of a short trial".to_owned() }
            }
        };
        let (setting, value) = set.split_once('=').unwrap_or_default();
        tracing::info!(setting, value, how, "found by short trials");
        self.settings.auto_value = Some(set.parse::<Assignment>().or_exit(Exit::Bug)?);
        self.settings.auto_reason = how;
        Ok(self)
    }

    /// A rate at which a short run keeps the limits of this one.
    fn rate_that_holds(&self, stop: &dyn StopRequests) -> Outcome<Value> {
        let looks = self.looks(stop)?;
        let (mut rate, mut bound) = (three_digits(looks.highest * SERVER_SHARE), bound_by(&looks.fastest));
        let part = HEADROOM.min(looks.lowest / looks.highest);
        for _ in 0..TRIES {
            let finished = self.trial(&format!("target_qps={rate}"), stop)?;
            if holds(&finished) {
                let how = format!(
                    "a safe rate, {:.0} % of {rate}/s: {}, at least 20 % below it as wanted; the nodes answered {} to \
                     {} samples/s in short trials of Offline{bound}; --mode FindPeakPerformance finds the highest rate",
                    part * 100.0,
                    latencies_text(&finished, rate),
                    looks.lowest,
                    looks.highest,
                );
                return Ok(Value { set: format!("target_qps={}", three_digits(rate * part)), how });
            }
            bound = Some(bound_by(&finished)).filter(|bound| !bound.is_empty()).unwrap_or(bound);
            can_hold(&finished, &bound).or_exit(Exit::Invalid)?;
            let why = bound.trim_start_matches("; the limit of higher rates is ");
            tracing::info!(rate, missed = missed(&finished), why, "a rate that does not hold");
            rate = three_digits(rate * STEP_BACK);
        }
        Err(anyhow!("no rate was found that keeps the limits of this run, down to {rate}/s{bound}"))
            .or_exit(Exit::Invalid)
    }

    /// A short run at a rate, with the settings of this one.
    fn trial(&self, rate: &str, stop: &dyn StopRequests) -> Outcome<Finished> {
        let mut settings = SettingsSpec { mode: Some(Mode::PerformanceOnly), ..self.settings.clone() };
        settings.set.extend(assignments(&[
            "min_duration=3s",
            &format!("min_query_count={TRY_QUERIES}"),
            "max_duration=60s",
        ])?);
        settings.auto_value = Some(rate.parse().or_exit(Exit::Bug)?);
        self.short(self.scenario, settings, stop)
    }

    /// Looks of about a second each, after those that have found its rate.
    fn looks(&self, stop: &dyn StopRequests) -> Outcome<Looks> {
        let (rate, fastest) = self.rate(stop)?;
        let mut looks = Looks { lowest: rate, highest: rate, fastest };
        for _ in 0..FURTHER_LOOKS {
            let finished = self.one(Scenario::OFFLINE, &format!("target_qps={}", looks.highest), stop)?;
            let Some(rate) = answered_rate(&finished).map(three_digits) else { continue };
            looks.lowest = looks.lowest.min(rate);
            if rate > looks.highest {
                (looks.highest, looks.fastest) = (rate, finished);
            }
        }
        Ok(looks)
    }

    /// Samples per second that the nodes answer when they have all at once, and the look that has found it.
    fn rate(&self, stop: &dyn StopRequests) -> Outcome<(f64, Finished)> {
        let (mut rate, mut looks) = (FIRST_RATE, 0);
        loop {
            let target_rate = rate;
            let finished = self.one(Scenario::OFFLINE, &format!("target_qps={target_rate}"), stop)?;
            rate = answered_rate(&finished).context(NOTHING).or_exit(Exit::Network)?;
            looks += 1;
            if target_rate / rate >= LONG_ENOUGH_S || looks == LOOKS {
                return Ok((three_digits(rate), finished));
            }
        }
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
        let set = assignments(&[expected, "min_duration=1s", "min_query_count=8"])?;
        let settings = SettingsSpec { mode: Some(Mode::PerformanceOnly), set, ..SettingsSpec::default() };
        self.short(scenario, settings, stop)
    }

    /// A run that nobody keeps. What it would tell, the run itself tells again, so only a log of details has it.
    pub(super) fn short(
        &self,
        scenario: Scenario,
        settings: SettingsSpec,
        stop: &dyn StopRequests,
    ) -> Outcome<Finished> {
        let spec = TestSpec {
            scenario,
            settings,
            division: Division::None,
            find_peak: FindPeakSpec::default(),
            probe: false,
            trace_log: false,
            record_stages: false,
            baseline: None,
            within: None,
            warm_up: None,
            anyway: true,
            extend: false,
            ..self.clone()
        };
        let run = || Test::new(spec)?.run(stop, &mut ());
        let finished = match tracing::enabled!(tracing::Level::DEBUG) {
            true => run()?,
            false => tracing::subscriber::with_default(tracing::subscriber::NoSubscriber::new(), run)?,
        };
        match finished.outcome.end {
            End::Completed => Ok(finished),
            End::Interrupted => Err(anyhow!("interrupted before the run")).or_exit(Exit::Interrupted),
            _ => {
                let reasons: Vec<&str> =
                    finished.outcome.verdict.reasons().iter().map(|reason| reason.text.as_str()).collect();
                Err(anyhow!("the short run before the test ended early: {}", reasons.join("; "))).or_exit(Exit::Network)
            }
        }
    }
}

/// Rates at which the nodes answered when they had all samples at once, samples per second.
struct Looks {
    lowest: f64,
    highest: f64,
    /// The look with the highest rate.
    fastest: Finished,
}

/// The rate of a look in which something was answered, samples per second.
fn answered_rate(finished: &Finished) -> Option<f64> {
    let summary = finished.outcome.summary.as_ref()?;
    Some(summary.rates.samples_per_s).filter(|rate| rate.is_finite() && *rate > 0.0)
}

/// True where a trial kept its limits, and would keep them if they were shorter by a fifth: percentile and early
/// stopping. So few queries may not have one late answer among them, and the run itself may have no more. A trial that
/// its time has ended before has fewer queries still, and is held to the same by the limits themselves.
fn holds(finished: &Finished) -> bool {
    let timeline = finished.outcome.performance().and_then(|phase| phase.timeline.as_ref());
    let Some(timeline) = timeline else { return false };
    let effective = finished.setup.plan.effective();
    let shorter = |limit_ns: u64| (limit_ns as f64 * LIMIT_SHARE) as u64;
    let mut strict = Effective { target_latency_ns: shorter(effective.target_latency_ns), ..effective.clone() };
    for limit_ns in [&mut strict.settings.server_ttft_latency, &mut strict.settings.server_tpot_latency] {
        *limit_ns = shorter(*limit_ns);
    }
    let summary = strict.judge(timeline.measured(&strict));
    finished.judgement.bound.is_none()
        && finished.outcome.counts().failed == 0
        && summary.checks.performance_constraints != Some(false)
        && (summary.checks.early_stopping || summary.queries < TRY_QUERIES)
        && late(&effective.judge(timeline.measured(effective)), effective) <= tolerated(effective, summary.queries)
}

/// Answers of a trial beyond the limit of the run's latency; 0 where tokens have the limits.
fn late(summary: &Summary, effective: &Effective) -> u64 {
    if effective.settings.use_token_latencies { 0 } else { summary.overlatency_count }
}

/// Late answers that a trial of so few queries may have, where its time has ended it before early stopping judges it:
/// the share that early stopping grants to a trial of all queries.
fn tolerated(effective: &Effective, queries: u64) -> u64 {
    let percentile = effective.terms().target_percentile;
    if queries >= TRY_QUERIES || !(0.0..1.0).contains(&percentile) {
        return u64::MAX;
    }
    let bound = Bound::new(percentile, 0.0, CONFIDENCE);
    let grants_one = bound.min_passing(1) < TRY_QUERIES;
    if grants_one { bound.max_tolerated(TRY_QUERIES) * queries / TRY_QUERIES } else { 0 }
}

/// The latencies of a trial at this rate beside their limits, in words.
fn latencies_text(finished: &Finished, rate: f64) -> String {
    let limits = finished.outcome.summary.iter();
    let limits = limits.flat_map(|summary| LatencyLimit::all(summary, finished.setup.plan.effective()));
    let text_of = |limit: LatencyLimit| {
        let value = limit.value_ns.map_or("no answer".to_owned(), |ns| length_ns(ns.max(0).unsigned_abs()));
        format!("{} p{} {value} (limit {})", limit.of, limit.percentile, length_ns(limit.limit_ns))
    };
    format!("a short trial of {rate}/s had {}", limits.map(text_of).collect::<Vec<_>>().join(", "))
}

/// The limits that a trial does not keep by a fifth, in words.
fn missed(finished: &Finished) -> String {
    let effective = finished.setup.plan.effective();
    let limits = finished.outcome.summary.as_ref().map(|summary| LatencyLimit::all(summary, effective));
    let mut missed: Vec<String> = limits.unwrap_or_default().iter().filter_map(over).collect();
    let failed = finished.outcome.counts().failed;
    if failed > 0 {
        missed.push(format!("{failed} samples failed"));
    }
    if missed.is_empty() {
        missed.push("the schedule lag, or too many late queries for early stopping".to_owned());
    }
    missed.join("; ")
}

/// A limit that is not kept by a fifth, in words.
fn over(limit: &LatencyLimit) -> Option<String> {
    let most_ns = (limit.limit_ns as f64 * LIMIT_SHARE) as u64;
    let value_ns = limit.value_ns.map(|ns| ns.max(0) as u64);
    if value_ns.is_some_and(|ns| ns <= most_ns) {
        return None;
    }
    let value = value_ns.map_or_else(|| "of samples without an answer".to_owned(), length_ns);
    Some(format!("p{} of {} {value}, a trial wants {}", limit.percentile, limit.of, length_ns(most_ns)))
}

/// Checks that there is a rate at all. There is none where the quickest answer took longer than the limit of the
/// latency.
fn can_hold(finished: &Finished, bound: &str) -> anyhow::Result<()> {
    let effective = finished.setup.plan.effective();
    let Some(summary) = finished.outcome.summary.as_ref().filter(|_| !effective.settings.use_token_latencies) else {
        return Ok(());
    };
    let (least_ns, limit_ns) = (summary.judged_latency().min_ns.max(0) as u64, effective.target_latency_ns);
    anyhow::ensure!(
        least_ns <= limit_ns,
        "no rate keeps the limit of the latency: the fastest of {} answers/s took {}, {} are allowed{bound}",
        effective.target_qps,
        length_ns(least_ns),
        length_ns(limit_ns)
    );
    Ok(())
}

/// A setting that a look found, and how.
struct Value {
    /// The setting as an assignment.
    set: String,
    how: String,
}

fn assignments(set: &[&str]) -> Outcome<Vec<Assignment>> {
    set.iter().map(|text| text.parse()).collect::<Result<_, _>>().or_exit(Exit::Bug)
}

/// Returns the bound of a rate, as the end of a sentence; empty where nothing bounds it, or the bound is not known.
fn bound_by(finished: &Finished) -> String {
    let bound = finished.judgement.bound.as_ref().filter(|bound| bound.cause != Cause::Unknown);
    bound.map_or_else(String::new, |bound| format!("; the limit of higher rates is {}", bound.text()))
}

/// The error of a look that gave no number.
const NOTHING: &str = "the short trials found no rate: too little was answered";

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
    use loadgen::run::LatencyKind;

    #[test]
    fn a_trial_names_the_limit_that_it_missed() {
        let limit = |ms: i64| LatencyLimit {
            of: LatencyKind::Latency,
            percentile: 99.0,
            value_ns: Some(ms * 1_000_000),
            limit_ns: 100_000_000,
            kept: ms <= 100,
        };
        assert_eq!(over(&limit(80)), None, "80 % of it");
        assert_eq!(over(&limit(95)).unwrap(), "p99 of latency 95.0ms, a trial wants 80.0ms");
        let none = LatencyLimit { value_ns: None, ..limit(1) };
        assert_eq!(over(&none).unwrap(), "p99 of latency of samples without an answer, a trial wants 80.0ms");
    }

    #[test]
    fn a_trial_that_its_time_has_ended_may_have_no_late_answer_where_early_stopping_grants_none() {
        let effective = |percentile| {
            let settings = loadgen::settings::TestSettings {
                scenario: Scenario::SERVER,
                server_target_latency_percentile: percentile,
                ..Default::default()
            };
            let qsl = loadgen::settings::Qsl { total: 9, performance: 9 };
            loadgen::plan::Plan::new(settings, qsl).unwrap().effective().clone()
        };
        assert_eq!([1, TRY_QUERIES - 1].map(|queries| tolerated(&effective(0.99), queries)), [0, 0]);
        assert!((1..TRY_QUERIES / 10).contains(&tolerated(&effective(0.9), TRY_QUERIES - 1)));
        assert_eq!(tolerated(&effective(0.99), TRY_QUERIES), u64::MAX, "early stopping itself judges");
    }

    #[test]
    fn three_digits_are_kept() {
        assert_eq!([28_345.0, 5.017, 0.012_345, 1e9].map(three_digits), [28_300.0, 5.02, 0.0123, 1e9]);
    }
}
