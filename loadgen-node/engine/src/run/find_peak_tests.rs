//! Searches for the peak in the simulated world: limits, interruption, resuming, giving up.

use super::noisy::Noisy;
use super::*;
use crate::settings::{Qsl, Scenario, TestSettings};
use crate::sim::{Service, SimOptions, SimWorld};
use crate::world::TimeNs;

fn settings() -> TestSettings {
    TestSettings {
        scenario: Scenario::SERVER,
        mode: Mode::FindPeakPerformance,
        server_target_qps: 100.0,
        server_target_latency_ns: 20_000_000,
        server_find_peak_qps_decimals_of_precision: 0,
        min_query_count: 600,
        min_duration_ms: 0,
        accuracy_log_sampling_target: 30,
        ..TestSettings::default()
    }
}

fn plan(settings: TestSettings) -> Plan {
    Plan::new(settings, Qsl { total: 64, performance: 24 }).unwrap()
}

/// Serves about 1000 samples per second.
fn sut() -> SimOptions {
    SimOptions { service: Service::Constant { ns: 1_000_000 }, ..SimOptions::default() }
}

fn searched(plan: &Plan, sut: SimOptions, find_peak: FindPeakOptions) -> RunOutcome {
    let mut world = SimWorld::new(sut);
    let outcome = run(plan, &mut world, &mut (), RunOptions { find_peak, ..RunOptions::default() });
    assert_eq!(world.loaded, None);
    outcome
}

fn search_of(outcome: &RunOutcome) -> &FindPeakOutcome {
    outcome.find_peak.as_ref().unwrap()
}

#[test]
fn the_peak_of_a_queue_is_near_its_service_rate() {
    let outcome = searched(&plan(settings()), sut(), FindPeakOptions::default());
    let search = search_of(&outcome);
    assert_eq!(search.end, SearchEnd::Found);
    let peak = search.bracket.low.unwrap();
    assert!((700.0..1_300.0).contains(&peak), "{peak}");
    assert_eq!(search.reported.as_ref().unwrap().effective().target_qps, peak);
    assert!(outcome.verdict.official().is_some() && outcome.summary.is_some());
    assert_eq!(outcome.phases.len(), search.trials.len());
    assert_eq!(outcome.phases.iter().filter(|phase| phase.timeline.is_some()).count(), 1, "one record is kept");
}

#[test]
fn trials_that_fail_do_not_count_against_the_peak() {
    let outcome = searched(&plan(settings()), sut(), FindPeakOptions::default());
    let failed = search_of(&outcome).trials.iter().filter(|trial| !trial.passed).count();
    assert!(failed > 2);
    let reasons = outcome.verdict.reasons();
    assert!(reasons.iter().all(|reason| reason.code == "early_stopping"), "{reasons:?}");
}

#[test]
fn a_base_rate_beyond_the_sut_is_reported_and_ends_the_search() {
    let outcome =
        searched(&plan(TestSettings { server_target_qps: 9_000.0, ..settings() }), sut(), FindPeakOptions::default());
    assert_eq!(search_of(&outcome).end, SearchEnd::BaseFails);
    assert_eq!(outcome.phases.len(), 1);
    assert!(outcome.summary.is_some() && outcome.events.errors() == 1);
    assert!(outcome.verdict.reasons().iter().any(|reason| reason.code == "find_peak_base"));
}

#[test]
fn a_sut_without_a_peak_ends_at_a_limit_with_a_reason() {
    let instant = || SimOptions { service: Service::Constant { ns: 0 }, ..SimOptions::default() };
    let limited = FindPeakOptions { max_trials: 5, ..FindPeakOptions::default() };
    let outcome = searched(&plan(settings()), instant(), limited);
    assert_eq!((search_of(&outcome).end.clone(), outcome.phases.len()), (SearchEnd::TooManyTrials, 5));
    assert!(outcome.verdict.reasons().iter().any(|reason| reason.code == "find_peak_trials"));
    assert_eq!(search_of(&outcome).bracket.low, Some(1_600.0));

    let outcome = searched(&plan(settings()), instant(), FindPeakOptions::default());
    assert!(matches!(&search_of(&outcome).end, SearchEnd::OutOfReach(why) if why.contains("server_target_qps")));
    assert!(outcome.verdict.reasons().iter().any(|reason| reason.code == "find_peak_limit"));
    assert!(outcome.summary.is_some(), "the highest rate that passed is reported");
}

#[test]
fn an_interrupted_search_goes_on_where_it_was() {
    let plan = plan(settings());
    let whole = searched(&plan, sut(), FindPeakOptions::default());
    let stopped = searched(
        &plan,
        SimOptions { interrupt_at: Some(TimeNs(whole.ended.0 * 9 / 10)), ..sut() },
        FindPeakOptions::default(),
    );
    assert_eq!((stopped.end.clone(), search_of(&stopped).end.clone()), (End::Interrupted, SearchEnd::Stopped));
    let prior = search_of(&stopped).trials.clone();
    assert!(prior.len() > 3 && stopped.summary.is_some() && !stopped.verdict.is_valid());

    let resumed = searched(&plan, sut(), FindPeakOptions { prior: prior.clone(), ..FindPeakOptions::default() });
    let search = search_of(&resumed);
    assert_eq!(search.bracket, search_of(&whole).bracket);
    assert_eq!(search.trials.iter().filter(|trial| trial.known).count(), prior.len());
    assert!(resumed.phases.len() < whole.phases.len());
}

#[test]
fn a_search_that_is_all_known_measures_its_peak() {
    let plan = plan(settings());
    let whole = searched(&plan, sut(), FindPeakOptions::default());
    let prior = search_of(&whole).trials.clone();
    let resumed = searched(&plan, sut(), FindPeakOptions { prior, max_trials: 0, ..FindPeakOptions::default() });
    assert_eq!(resumed.phases.len(), 1);
    assert_eq!(search_of(&resumed).end, SearchEnd::Found);
    let (again, before) = (resumed.summary.unwrap(), whole.summary.unwrap());
    assert_eq!(again.latency.count, before.latency.count);
    assert_eq!(again.rates.scheduled_samples_per_s, before.rates.scheduled_samples_per_s);
}

#[test]
fn a_record_comes_back_as_it_was_written() {
    let plan = plan(TestSettings { server_target_qps: 100.0 / 3.0, ..settings() });
    let search = search_of(&searched(&plan, sut(), FindPeakOptions::default())).clone();
    let record = SearchRecord {
        schema: 1,
        settings: plan.requested().clone(),
        qsl: plan.qsl(),
        end: search.end,
        bracket: search.bracket,
        trials: search.trials,
    };
    let text = serde_json::to_string(&record).unwrap();
    assert_eq!(serde_json::from_str::<SearchRecord>(&text).unwrap(), record);
}

#[test]
fn a_peak_that_fails_when_it_is_measured_again_is_told() {
    let plan = plan(settings());
    let prior = search_of(&searched(&plan, sut(), FindPeakOptions::default())).trials.clone();
    let slower = SimOptions { service: Service::Constant { ns: 2_000_000 }, ..sut() };
    let outcome = searched(&plan, slower, FindPeakOptions { prior, ..FindPeakOptions::default() });
    assert_eq!(outcome.phases.len(), 1);
    assert!(outcome.verdict.reasons().iter().any(|reason| reason.code == "performance_constraints"));
}

#[test]
fn hopeless_trials_are_given_up_and_nothing_else_changes() {
    let settings = TestSettings { min_query_count: 3_000, ..settings() };
    let patient = searched(&plan(settings.clone()), sut(), FindPeakOptions::default());
    let hasty = FindPeakOptions { give_up_early: true, ..FindPeakOptions::default() };
    let outcome = searched(&plan(settings), sut(), hasty);
    assert_eq!(search_of(&outcome).bracket, search_of(&patient).bracket);
    let given_up = outcome.phases.iter().filter(|phase| matches!(phase.stop, Stop::GivenUp { .. }));
    assert!(given_up.count() >= 2, "{:?}", outcome.phases.iter().map(|phase| phase.stop).collect::<Vec<_>>());
    assert!(outcome.ended < patient.ended);
    let trials = search_of(&outcome).trials.iter().filter(|trial| trial.reason.contains("given up after"));
    assert!(trials.count() >= 2);
}

#[test]
fn token_runs_are_searched_by_their_own_limits() {
    let settings = TestSettings {
        use_token_latencies: true,
        server_ttft_latency: 5_000_000,
        server_tpot_latency: 5_000_000,
        ..settings()
    };
    let hasty = FindPeakOptions { give_up_early: true, ..FindPeakOptions::default() };
    let outcome = searched(&plan(settings), SimOptions { tokens: Some(4), ..sut() }, hasty);
    assert_eq!(search_of(&outcome).end, SearchEnd::Found);
    assert!(outcome.phases.iter().all(|phase| !matches!(phase.stop, Stop::GivenUp { .. })));
}

#[test]
fn a_broken_sut_ends_the_search() {
    let outcome = searched(
        &plan(settings()),
        SimOptions { break_at: Some(TimeNs(8_000_000_000)), ..sut() },
        FindPeakOptions::default(),
    );
    assert_eq!((outcome.end.clone(), search_of(&outcome).end.clone()), (End::Broken, SearchEnd::Stopped));
    assert!(outcome.summary.is_some(), "what passed before is reported");
}

#[test]
fn what_is_logged_follows_the_rate_of_each_trial() {
    #[derive(Default)]
    struct Log(Vec<u64>);
    impl Observer for Log {
        fn accuracy(&mut self, entry: &AccuracyEntry<'_>) {
            self.0.push(entry.seq.0);
        }
    }
    let (plan, mut log) = (plan(settings()), Log::default());
    let outcome = run(&plan, &mut SimWorld::new(sut()), &mut log, RunOptions::default());
    let trials = outcome.phases.len();
    assert!((trials * 10..trials * 60).contains(&log.0.len()), "about 30 a trial: {} of {trials}", log.0.len());
}

fn searched_in_noise(settings: TestSettings, limit: f64, seed: u64, options: FindPeakOptions) -> RunOutcome {
    let (mut world, mut teller) = Noisy::new(limit, seed);
    run(&plan(settings), &mut world, &mut teller, RunOptions { find_peak: options, ..RunOptions::default() })
}

#[test]
fn a_verified_search_finds_the_limit_under_noise_and_never_reports_what_failed() {
    let burst = || {
        let mut burst = TestSettings { scenario: Scenario::BURST, ..settings() };
        for setting in ["burst_size=2", "burst_interval=10ms", "target_latency=5ms"] {
            burst.set(setting).unwrap();
        }
        burst
    };
    let multi = || TestSettings {
        scenario: Scenario::MULTI_STREAM,
        multi_stream_samples_per_query: 2,
        min_query_count: 700,
        ..settings()
    };
    let cases = || [(settings(), 777.0, 1), (settings(), 5_000.0, 5), (burst(), 90.0, 5), (multi(), 40.0, 5)];
    for seed in 0..200_u64 {
        for (settings, limit, verifications) in cases() {
            // MultiStream has no limit of its own.
            let goals = (settings.scenario == Scenario::MULTI_STREAM).then(|| "p99<=20ms".parse().unwrap());
            let scenario = settings.scenario.name();
            let options = FindPeakOptions {
                precision: Some(0.01),
                verifications,
                trial_share: 0.5,
                goals: goals.into_iter().collect(),
                ..FindPeakOptions::default()
            };
            let outcome = searched_in_noise(settings, limit, seed, options);
            let search = search_of(&outcome);
            let case = format!("{scenario}, seed {seed}: {:?} {:?}", search.end, search.trials);
            assert_eq!(search.end, SearchEnd::Found, "{case}");
            let peak = search.bracket.low.unwrap();
            assert!((limit * 0.93..=limit * 1.031).contains(&peak), "{case}");
            let holds =
                search.trials.iter().filter(|trial| trial.is_verification && trial.passed && trial.load == peak);
            assert_eq!(holds.count(), verifications as usize, "{case}");
            let failed = search.trials.iter().filter(|trial| trial.is_verification && !trial.passed);
            assert!(failed.clone().all(|trial| trial.load > peak), "{case}");
            let high = search.bracket.high.unwrap();
            assert!(high > peak && failed.clone().all(|trial| trial.load >= high), "{case}");
            assert!(outcome.verdict.is_valid(), "{case}: {:?}", outcome.verdict);
            assert_eq!(search.reported.as_ref().and_then(|plan| plan.load()).unwrap().value, peak, "{case}");
        }
    }
}

#[test]
fn a_first_load_that_fails_is_tried_once_more() {
    let own = || FindPeakOptions { precision: Some(0.01), verifications: 1, ..FindPeakOptions::default() };
    // The limit is below the first load, whatever the noise.
    let outcome = searched_in_noise(settings(), 50.0, 1, own());
    let search = search_of(&outcome);
    let loads: Vec<f64> = search.trials.iter().map(|trial| trial.load).collect();
    assert_eq!((&search.end, loads), (&SearchEnd::BaseFails, vec![100.0, 100.0]));
    let bounded = searched_in_noise(settings(), 50.0, 1, FindPeakOptions { max_trials: 1, ..own() });
    assert_eq!((search_of(&bounded).trials.len(), &search_of(&bounded).end), (1, &SearchEnd::BaseFails));
    // At the limit the noise decides: a moment of it ends no search.
    let passed_again = (0..50).filter(|seed| {
        let outcome = searched_in_noise(settings(), 100.0, *seed, own());
        let trials = &search_of(&outcome).trials;
        !trials[0].passed && trials[1].passed
    });
    assert!(passed_again.count() > 5);
}

#[test]
fn a_load_that_no_whole_run_verifies_is_not_reported_as_the_peak() {
    // Whole runs are too short for their own rules, so that none of them can be VALID.
    let impossible = TestSettings { max_query_count: 5, ..settings() };
    let options =
        FindPeakOptions { precision: Some(0.5), verifications: 1, step_back: 0.9, ..FindPeakOptions::default() };
    let outcome = searched_in_noise(impossible, 777.0, 1, FindPeakOptions { max_trials: 12, ..options });
    let search = search_of(&outcome);
    assert_eq!((&search.end, search.bracket.low), (&SearchEnd::TooManyTrials, None));
    let lowest = search.trials.iter().filter(|trial| !trial.passed).map(|trial| trial.load).reduce(f64::min);
    assert_eq!(search.bracket.high, lowest, "{:?}", search.trials);
    assert!(!outcome.verdict.is_valid());
}

#[test]
fn a_goal_makes_the_users_of_a_closed_loop_a_load_to_search_for() {
    let mut closed = TestSettings { scenario: Scenario::CLOSED, min_duration_ms: 50, ..settings() };
    closed.set("concurrency=1").unwrap();
    let options = FindPeakOptions {
        precision: Some(0.01),
        verifications: 1,
        goals: vec!["p99<=9ms".parse().unwrap()],
        ..FindPeakOptions::default()
    };
    // Four servers of 2 ms: with n users a query takes 2 ms * n / 4.
    let sut = SimOptions { service: Service::Constant { ns: 2_000_000 }, servers: 4, ..SimOptions::default() };
    let outcome = searched(&plan(closed), sut, options);
    let peak = search_of(&outcome).bracket.low.unwrap();
    assert!((16.0..=18.0).contains(&peak), "{peak}: {:?}", search_of(&outcome).trials);
    assert!(outcome.verdict.is_valid(), "{:?}", outcome.verdict);
}

#[test]
fn a_goal_makes_the_samples_of_a_multi_stream_query_a_load_to_search_for() {
    // One sample after the other: as many of a query as fit into the limit.
    let sut = SimOptions { service: Service::Constant { ns: 1_000_000 }, servers: 1, ..SimOptions::default() };
    let settings = TestSettings { scenario: Scenario::MULTI_STREAM, multi_stream_samples_per_query: 4, ..settings() };
    let find_peak = FindPeakOptions { goals: vec!["p99<=20500us".parse().unwrap()], ..FindPeakOptions::default() };
    let outcome = searched(&plan(settings), sut, find_peak);
    let search = search_of(&outcome);
    assert_eq!((search.end.clone(), search.bracket.low), (SearchEnd::Found, Some(20.0)));
    assert_eq!(search.reported.as_ref().unwrap().effective().samples_per_query, 20);
}
