//! A test of the round that is run for a caller of later rounds: its outcome in their records.
//!
//! Statistics are those of all rounds; rules, metric and verdict are the round's own. Our strict rule stays on top:
//! a sample without an answer makes the verdict INVALID.

use super::effective::Effective;
use super::judge::{Judgement, Measured, at_percentile, sorted};
use super::scenario::LatencyRule;
use super::search::Peak;
use super::test::{self, SearchOutcome, SeriesOutcome, TestInput, TestOutcome};
use super::{later_records, summary};
use crate::judge::early_stopping::percent;
use crate::judge::{Advice, Checks, Counts, Summary, Verdict};
use crate::plan::Plan;
use crate::run::{
    self, Bracket, End, EventLog, FindPeakOutcome, Observer, PhaseOutcome, RunOptions, RunOutcome, SearchEnd,
    verdict_of,
};
use crate::world::World;

/// Runs the test that `plan` shows. Returns its outcome as later rounds have it, and as the round has it.
pub fn run<W: World, O: Observer + ?Sized>(
    input: &TestInput,
    plan: &Plan,
    options: &RunOptions,
    world: &mut W,
    observer: &mut O,
) -> (RunOutcome, TestOutcome) {
    let ran = test::run_test(input, options, world, observer);
    // A plan was made of the same settings, so that they can be run.
    let mut outcome = ran.unwrap_or_else(|error| TestOutcome::not_run(End::LoadFailed(error.to_string())));
    let ended = world.now();
    let mut events = EventLog::default();
    outcome.errors.iter().for_each(|error| events.error(ended, error.as_str()));
    let find_peak = outcome.search.as_ref().map(|search| find_peak(input, search, &outcome));
    let (summary, verdict) = world.meanwhile(|| judge(plan, &outcome, find_peak.as_ref()));
    let phases = std::mem::take(&mut outcome.phases);
    (RunOutcome { end: outcome.end.clone(), phases, events, summary, find_peak, verdict, ended }, outcome)
}

/// The summary of the reported series, if there is one, and the verdict on the test.
fn judge(plan: &Plan, outcome: &TestOutcome, find_peak: Option<&FindPeakOutcome>) -> (Option<Summary>, Verdict) {
    let plan = find_peak.and_then(|search| search.reported.as_deref()).unwrap_or(plan);
    let reported = outcome.reported.as_ref().and_then(|reported| {
        let (series, phase) = (outcome.series.get(reported.series)?, outcome.phases.get(reported.series)?);
        Some((summary_of(plan, series, phase, &reported.measured, reported.judgement)?, series, reported))
    });
    // The trials of a search that fail are no fault of the one that is reported.
    let counts = match (find_peak, &outcome.reported) {
        (Some(_), Some(reported)) => outcome.phases.get(reported.series).map(|phase| phase.counts).unwrap_or_default(),
        _ => counts(&outcome.phases),
    };
    let mut verdict = match &reported {
        Some((summary, series, reported)) => {
            verdict_on(plan, summary, &counts, skipped_too_many(series, &reported.measured, reported.judgement))
        }
        None => verdict_of(plan.effective(), None, &counts),
    };
    match &outcome.end {
        End::Completed => {}
        End::Interrupted => verdict.add("interrupted", "the run was interrupted"),
        End::Broken => verdict.add("broken", "the SUT became unusable during the run"),
        End::LoadFailed(text) => verdict.add("load_failed", format!("samples could not be made ready: {text}")),
    }
    if let Some(search) = find_peak {
        run::add_search_reasons(&mut verdict, search);
    }
    (reported.map(|(summary, ..)| summary), verdict)
}

fn counts(phases: &[PhaseOutcome]) -> Counts {
    let mut sum = Counts::default();
    phases.iter().for_each(|phase| sum.add(&phase.counts));
    sum
}

/// The summary of a series: statistics of all rounds, with the rules and the metric of this one.
fn summary_of(
    plan: &Plan,
    series: &SeriesOutcome,
    phase: &PhaseOutcome,
    measured: &Measured,
    judgement: Judgement,
) -> Option<Summary> {
    let timeline = phase.timeline.as_ref()?;
    let judged = plan.effective().judge(timeline.measured(plan.effective()));
    let has_answers = phase.counts.completed > 0;
    let metric = summary::metric(&series.effective, measured);
    Some(Summary {
        checks: Checks {
            performance_constraints: judgement.latency,
            min_duration: judgement.min_duration,
            min_queries: judgement.min_queries,
            early_stopping: true,
        },
        advice: summary::recommendations(series.effective.shape, judgement)
            .into_iter()
            .map(|text| Advice { summary: text.to_owned(), detail: text.replace("\n  ", "") })
            .collect(),
        metric: crate::judge::Metric { value: metric.value.filter(|_| has_answers), ..metric },
        ..judged
    })
}

/// The verdict by the rules of the round. A rule on intervals has words of its own.
fn verdict_on(plan: &Plan, summary: &Summary, counts: &Counts, skipped: Option<String>) -> Verdict {
    let Some(skipped) = skipped else { return verdict_of(plan.effective(), Some(summary), counts) };
    let others = Summary { checks: Checks { performance_constraints: None, ..summary.checks }, ..summary.clone() };
    let mut verdict = verdict_of(plan.effective(), Some(&others), counts);
    verdict.add_rule("performance_constraints", skipped);
    verdict
}

/// The rule on intervals, where it is broken, in words.
fn skipped_too_many(series: &SeriesOutcome, measured: &Measured, judgement: Judgement) -> Option<String> {
    let Effective { shape, target_latency_percentile, .. } = series.effective;
    if shape.latency_rule != LatencyRule::Intervals || judgement.latency != Some(false) {
        return None;
    }
    let percentile = target_latency_percentile?;
    let intervals = at_percentile(&sorted(&measured.query_intervals), percentile);
    let percent = percent(percentile);
    Some(format!(
        "at the {percent}th percentile a query caused {intervals} intervals up to the next one, and 1 is allowed: \
         answers took longer than an interval (samples_per_query, target_qps)"
    ))
}

/// The search by the names of later rounds. In both kinds of MultiStream a rate stands for samples in a query.
fn find_peak(input: &TestInput, search: &SearchOutcome, outcome: &TestOutcome) -> FindPeakOutcome {
    let trials_alone = search.trials.iter().filter(|trial| !trial.wish.is_verification());
    let mut bracket = trials_alone.fold(Bracket::default(), |mut bracket, trial| {
        let bound = if trial.passed() { &mut bracket.low } else { &mut bracket.high };
        *bound = Some(trial.wish.value.number());
        bracket
    });
    if matches!(search.end, SearchEnd::Found | SearchEnd::NotVerified) {
        // A value that failed its verification is no lower bound.
        bracket.low = search.peak.map(Peak::number);
    }
    let trials = search.trials.iter().map(|trial| trial.result.clone());
    let reported = outcome.reported.as_ref().and_then(|reported| outcome.series.get(reported.series));
    let reported = reported.and_then(|series| later_records::plan_of_series(input, series).ok());
    FindPeakOutcome { end: search.end.clone(), trials: trials.collect(), bracket, reported: reported.map(Box::new) }
}

#[cfg(test)]
mod tests {
    use super::super::scenario::Scenario;
    use super::super::script::{Script, ScriptedWorld};
    use super::super::settings::Settings;
    use super::*;
    use crate::run::FindPeakOptions;
    use crate::run::noisy::Noisy;
    use crate::settings::{IntegerRule, Mode, Qsl};

    fn ran(scenario: Scenario, script: &str, change: impl FnOnce(&mut Settings)) -> (RunOutcome, TestOutcome) {
        ran_with(scenario, script, &RunOptions::default(), change)
    }

    fn ran_with(
        scenario: Scenario,
        script: &str,
        options: &RunOptions,
        change: impl FnOnce(&mut Settings),
    ) -> (RunOutcome, TestOutcome) {
        let mut settings = Settings { scenario, min_duration_ms: 500, min_query_count: 20, ..Settings::default() };
        settings.multi_stream_target_qps = 20.0;
        settings.server_target_qps = 100.0;
        settings.offline_expected_qps = 100.0;
        change(&mut settings);
        let qsl = Qsl { total: 50, performance: 20 };
        let input = TestInput { settings, qsl, integers: IntegerRule::Division };
        let plan = later_records::plan(&input).unwrap();
        let script: Script = serde_json::from_str(script).unwrap();
        run(&input, &plan, options, &mut ScriptedWorld::new(script), &mut ())
    }

    #[test]
    fn metrics_are_those_of_the_round() {
        for (scenario, name, value) in [
            (Scenario::SingleStream, "percentile_latency", Some(3e6)),
            (Scenario::MultiStream, "samples_per_query", Some(4.0)),
            (Scenario::Offline, "samples_per_second", Some(55.0 / 0.003)),
        ] {
            let (outcome, test) = ran(scenario, r#"{"latency_ns": 3000000}"#, |s| s.min_query_count = 55);
            let metric = outcome.summary.as_ref().unwrap().metric;
            assert_eq!((metric.name, metric.value.map(f64::round)), (name, value.map(f64::round)), "{scenario:?}");
            assert_eq!(outcome.counts().completed, test.reported.unwrap().latencies_ns.len() as u64);
        }
        let (outcome, test) = ran(Scenario::Server, r#"{"latency_ns": 3000000}"#, |_| ());
        let metric = outcome.summary.as_ref().unwrap().metric;
        let queries = test.series[0].run.record.queries();
        let last_s = queries.last().unwrap().scheduled_ns as f64 / 1e9;
        assert_eq!(metric.value, Some((queries.len() as f64 - 1.0) / last_s), "{metric:?}");
        assert!(outcome.verdict.is_valid(), "{:?}", outcome.verdict);
    }

    #[test]
    fn skipped_intervals_are_the_reason_and_no_latency() {
        let (outcome, _) = ran(Scenario::MultiStream, r#"{"latency_ns": 70000000}"#, |_| ());
        let reasons = outcome.verdict.reasons();
        assert_eq!((reasons.len(), outcome.verdict.official()), (1, Some(false)), "{reasons:?}");
        assert!(reasons[0].text.starts_with("at the 90th percentile a query caused 2 intervals"), "{reasons:?}");
        assert_eq!(outcome.summary.unwrap().advice[0].summary, "Reduce samples per query to improve latency.");
    }

    #[test]
    fn a_submission_has_its_accuracy_first_and_its_performance_judged() {
        let submission = |s: &mut Settings| s.mode = Mode::SubmissionRun;
        let (outcome, test) = ran(Scenario::SingleStream, r#"{"latency_ns": 3000000}"#, submission);
        assert_eq!((outcome.phases.len(), test.reported.as_ref().map(|it| it.series)), (4, Some(3)));
        assert!(outcome.performance().is_some_and(|phase| phase.queries_issued == outcome.phases[3].queries_issued));
        assert!(outcome.verdict.is_valid(), "{:?}", outcome.verdict);
    }

    #[test]
    fn a_search_is_told_by_the_names_of_later_rounds() {
        let script = r#"{"latency_by_n": {"n_limit": 13, "ok_ns": 1000000, "slow_ns": 90000000}}"#;
        let search = |s: &mut Settings| s.mode = Mode::FindPeakPerformance;
        let (outcome, test) = ran(Scenario::MultiStream, script, search);
        let record = outcome.find_peak.as_ref().unwrap();
        assert_eq!((&record.end, record.bracket.low, record.bracket.high), (&SearchEnd::Found, Some(13.0), Some(14.0)));
        assert_eq!(record.reported.as_ref().unwrap().effective().samples_per_query, 13);
        assert_eq!(outcome.summary.as_ref().unwrap().metric.value, Some(13.0));
        assert_eq!(outcome.phases.iter().filter(|phase| phase.timeline.is_some()).count(), 1);
        assert_eq!(record.trials.len(), test.search.unwrap().trials.len());
        assert!(outcome.verdict.is_valid(), "{:?}", outcome.verdict);
        let (failed, _) = ran(Scenario::MultiStream, r#"{"latency_ns": 90000000}"#, search);
        assert_eq!(failed.find_peak.unwrap().end, SearchEnd::BaseFails);
        assert!(!failed.verdict.is_valid());
    }

    /// A search with five verifications, in which series have these latencies, in ms, and all others 1 ms.
    fn verified(scenario: Scenario, latencies_ms: &[u64], max_trials: u64) -> RunOutcome {
        resumed(scenario, latencies_ms, max_trials, &[])
    }

    /// The same search that goes on with trials of an earlier one.
    fn resumed(scenario: Scenario, latencies_ms: &[u64], max_trials: u64, prior: &[run::Trial]) -> RunOutcome {
        let prior = prior.to_vec();
        let latencies_ns: Vec<u64> = latencies_ms.iter().map(|ms| ms * 1_000_000).collect();
        let script = format!(r#"{{"latency_by_series_ns": {latencies_ns:?}, "latency_rest_ns": 1000000}}"#);
        let unchanged = FindPeakOptions::default();
        let find_peak = FindPeakOptions { prior, verifications: 5, step_back: 0.1, max_trials, ..unchanged };
        let options = RunOptions { find_peak, ..RunOptions::default() };
        ran_with(scenario, &script, &options, |s| s.mode = Mode::FindPeakPerformance).0
    }

    #[test]
    fn five_whole_runs_verify_the_value_that_was_found_and_a_failure_lowers_it() {
        // 4 passes, 8 fails, 6 passes, 7 fails: 6 is found. Its third verification fails, and 5 passes all five.
        let outcome = verified(Scenario::MultiStream, &[1, 90, 1, 90, 1, 1, 90], 64);
        let search = outcome.find_peak.as_ref().unwrap();
        let loads: Vec<(f64, bool)> = search.trials[4..].iter().map(|trial| (trial.load, trial.passed)).collect();
        assert!(search.trials[..4].iter().all(|trial| !trial.is_verification));
        assert!(search.trials[4..].iter().all(|trial| trial.is_verification));
        let fives = [(5.0, true); 5];
        assert_eq!(loads, [&[(6.0, true), (6.0, true), (6.0, false)][..], &fives].concat());
        assert_eq!((&search.end, search.bracket.low), (&SearchEnd::Found, Some(5.0)));
        assert_eq!(outcome.summary.as_ref().unwrap().metric.value, Some(5.0));
        assert!(outcome.verdict.is_valid(), "{:?}", outcome.verdict);
    }

    #[test]
    fn a_search_without_a_value_that_holds_is_invalid() {
        let always = [&[1, 90, 1, 90][..], &[90; 9]].concat();
        let outcome = verified(Scenario::MultiStream, &always, 64);
        let search = outcome.find_peak.as_ref().unwrap();
        assert_eq!((&search.end, search.bracket.low), (&SearchEnd::NotVerified, None));
        assert_eq!(search.trials.last().map(|trial| trial.load), Some(1.0));
        assert!(!outcome.verdict.is_valid());
        let outcome = verified(Scenario::MultiStream, &always, 6);
        let search = outcome.find_peak.as_ref().unwrap();
        assert_eq!((&search.end, search.trials.len()), (&SearchEnd::TooManyTrials, 6));
        assert!(!outcome.verdict.is_valid());
    }

    #[test]
    fn a_rate_is_lowered_by_a_share() {
        // 100 passes, 200 fails, then halving passes until its end; the first verification fails.
        let outcome = verified(Scenario::Server, &[1, 900, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 900], 64);
        let search = outcome.find_peak.as_ref().unwrap();
        let failed = search.trials.iter().find(|trial| trial.is_verification && !trial.passed).unwrap();
        assert_eq!((&search.end, search.bracket.low), (&SearchEnd::Found, Some(failed.load * 0.9)));
        assert!(outcome.verdict.is_valid(), "{:?}", outcome.verdict);
    }

    #[test]
    fn a_search_goes_on_where_an_earlier_one_stopped() {
        let latencies = [1, 90, 1, 90, 1, 1, 90];
        let whole = verified(Scenario::MultiStream, &latencies, 64);
        let whole = whole.find_peak.as_ref().unwrap();
        for stopped_after in 1..whole.trials.len() {
            let first = verified(Scenario::MultiStream, &latencies, stopped_after as u64);
            let prior = &first.find_peak.as_ref().unwrap().trials;
            assert_eq!(prior.len(), stopped_after);
            let remaining = latencies.get(stopped_after..).unwrap_or_default();
            let outcome = resumed(Scenario::MultiStream, remaining, 64, prior);
            let search = outcome.find_peak.as_ref().unwrap();
            let loads = |trials: &[run::Trial]| -> Vec<(f64, bool)> {
                trials.iter().map(|trial| (trial.load, trial.passed)).collect()
            };
            assert_eq!(loads(&search.trials), loads(&whole.trials), "stopped after {stopped_after}");
            assert_eq!((&search.end, search.bracket), (&whole.end, whole.bracket));
            assert_eq!(search.trials.iter().filter(|trial| trial.known).count(), stopped_after);
            assert_eq!(outcome.phases.len(), whole.trials.len() - stopped_after);
            assert_eq!(outcome.summary.as_ref().unwrap().metric.value, Some(5.0));
            assert!(outcome.verdict.is_valid(), "{:?}", outcome.verdict);
        }
    }

    #[test]
    fn of_a_search_that_is_known_whole_the_last_run_is_measured_again() {
        let latencies = [1, 90, 1, 90];
        let whole = verified(Scenario::MultiStream, &latencies, 64).find_peak.unwrap();
        let outcome = resumed(Scenario::MultiStream, &[], 64, &whole.trials);
        assert_eq!((outcome.phases.len(), outcome.summary.as_ref().unwrap().metric.value), (1, Some(6.0)));
        assert!(outcome.verdict.is_valid(), "{:?}", outcome.verdict);
        // The value that was known to pass fails now.
        let outcome = resumed(Scenario::MultiStream, &[90], 5, &whole.trials);
        let search = outcome.find_peak.as_ref().unwrap();
        let last = search.trials.iter().rfind(|trial| !trial.known).unwrap();
        assert_eq!((search.trials[8].load, search.trials[8].passed, last.load), (6.0, false, 5.0));
        // A base that is known to fail is measured, so that there is something to report.
        let failing = verified(Scenario::MultiStream, &[90], 64).find_peak.unwrap();
        let outcome = resumed(Scenario::MultiStream, &[90], 64, &failing.trials);
        assert_eq!((outcome.phases.len(), outcome.find_peak.unwrap().end), (1, SearchEnd::BaseFails));
        assert!(!outcome.verdict.is_valid());
    }

    #[test]
    fn searches_find_the_limit_under_noise_and_never_report_what_failed() {
        for seed in 0..200 {
            for (scenario, limit) in [(Scenario::MultiStream, 90.0), (Scenario::Server, 777.0)] {
                let mut settings = Settings { scenario, mode: Mode::FindPeakPerformance, ..Settings::default() };
                (settings.min_duration_ms, settings.min_query_count) = (100, 20);
                settings.multi_stream_target_qps = 20.0;
                settings.server_target_qps = 100.0;
                let qsl = Qsl { total: 50, performance: 20 };
                let input = TestInput { settings, qsl, integers: IntegerRule::Division };
                let plan = later_records::plan(&input).unwrap();
                let find_peak = FindPeakOptions { verifications: 5, step_back: 0.01, ..FindPeakOptions::default() };
                let options = RunOptions { find_peak, ..RunOptions::default() };
                let (mut world, mut teller) = Noisy::new(limit, seed);
                let (outcome, _) = run(&input, &plan, &options, &mut world, &mut teller);
                let search = outcome.find_peak.as_ref().unwrap();
                let case = format!("{scenario:?}, seed {seed}: {search:?}");
                assert_eq!(search.end, SearchEnd::Found, "{case}");
                let peak = search.bracket.low.unwrap();
                assert!((limit * 0.93..=limit * 1.031).contains(&peak), "{case}");
                let verified =
                    |passed| search.trials.iter().filter(move |trial| trial.is_verification && trial.passed == passed);
                assert_eq!(verified(true).filter(|trial| trial.load == peak).count(), 5, "{case}");
                assert!(verified(false).all(|trial| trial.load > peak), "{case}");
                assert!(outcome.verdict.is_valid(), "{case}: {:?}", outcome.verdict);
            }
        }
    }
}
