//! Runs that go on for the queries that early stopping asks for.

use super::tests::{Change, settings, sut};
use super::*;
use crate::settings::{Qsl, Scenario, TestSettings};
use crate::sim::SimWorld;

/// A run of a few dozen queries, whose latencies are limited to 100 ms.
fn ran(scenario: Scenario, extend: bool, change: Change<TestSettings>) -> RunOutcome {
    let mut settings = settings(scenario, 5);
    (settings.min_query_count, settings.server_target_latency_ns) = (1, 100_000_000);
    change(&mut settings);
    let plan = Plan::new(settings, Qsl { total: 64, performance: 24 }).unwrap();
    let options = RunOptions { extend, ..RunOptions::default() };
    run(&plan, &mut SimWorld::new(sut(5)), &mut (), options)
}

/// Queries issued, those of them beyond the planned, and whether early stopping is met.
fn of(outcome: &RunOutcome) -> (u64, u64, bool) {
    let phase = &outcome.phases[0];
    (phase.queries_issued, phase.extended_by, outcome.summary.as_ref().unwrap().checks.early_stopping)
}

#[test]
fn a_run_goes_on_as_a_longer_plan_would_have() {
    for scenario in [Scenario::SERVER, Scenario::SINGLE_STREAM, Scenario::MULTI_STREAM] {
        let short = ran(scenario, false, |settings| settings.min_duration_ms = 5);
        let (planned, none, met) = of(&short);
        assert!(none == 0 && !met, "{scenario:?}: {planned}");
        let extended = ran(scenario, true, |settings| settings.min_duration_ms = 5);
        let (queries, beyond, met) = of(&extended);
        let least = [64, 459, 662];
        assert!(least.contains(&queries) && beyond == queries - planned && met, "{scenario:?}: {queries} {beyond}");
        assert!(extended.events.iter().any(|event| format!("{:?}", event.value).contains("Went on beyond")));
        let longer = match queries {
            64 => ran(scenario, false, |s| (s.min_duration_ms, s.min_query_count) = (5, 64)),
            459 => ran(scenario, false, |s| (s.min_duration_ms, s.min_query_count) = (5, 459)),
            _ => ran(scenario, false, |s| (s.min_duration_ms, s.min_query_count) = (5, 662)),
        };
        let cells = |outcome: &RunOutcome| outcome.phases[0].timeline.as_ref().unwrap().cells.clone();
        assert_eq!(cells(&extended), cells(&longer), "{scenario:?}");
    }
}

#[test]
fn late_queries_ask_for_more_until_they_ask_for_too_many() {
    // About one in two hundred is late.
    let late: Change<TestSettings> = |s| (s.min_duration_ms, s.server_target_latency_ns) = (400, 2_100_000);
    let (planned, _, _) = of(&ran(Scenario::SERVER, false, late));
    let (queries, beyond, met) = of(&ran(Scenario::SERVER, true, late));
    assert!(met && beyond > 0 && queries <= planned * 4, "{planned} {queries} {beyond} {met}");
    // Nearly all are.
    let hopeless: Change<TestSettings> = |s| s.server_target_latency_ns = 1_000;
    let (planned, _, _) = of(&ran(Scenario::SERVER, false, hopeless));
    assert_eq!(of(&ran(Scenario::SERVER, true, hopeless)), (planned, 0, false));
}

#[test]
fn what_needs_no_more_ends_as_planned() {
    for (scenario, change) in [
        (Scenario::SERVER, (|s| s.min_query_count = 500) as Change<TestSettings>),
        (Scenario::SINGLE_STREAM, |s| s.min_query_count = 70),
        (Scenario::OFFLINE, |_| {}),
        (Scenario::SERVER, |s| (s.performance_issue_unique, s.min_duration_ms) = (true, 0)),
        (Scenario::SERVER, |s| (s.server_coalesce_queries, s.min_duration_ms) = (true, 5)),
    ] {
        let [plain, extended] = [false, true].map(|extend| of(&ran(scenario, extend, change)));
        assert_eq!(plain, extended, "{scenario:?}");
        assert_eq!(extended.1, 0);
    }
}

/// Latencies far beyond the expected one leave most of the generated queries unissued; that asks for no more of them.
#[test]
fn slow_answers_are_no_reason_to_go_on_where_nothing_is_late() {
    for (scenario, change) in [
        (Scenario::SINGLE_STREAM, (|s| s.single_stream_expected_latency_ns = 1_000.0) as Change<TestSettings>),
        (Scenario::MULTI_STREAM, |s| s.multi_stream_expected_latency_ns = 1_000.0),
    ] {
        let settings = |extend| {
            let mut settings = settings(scenario, 5);
            change(&mut settings);
            (settings.min_duration_ms, settings.min_query_count) = (2_000, 1);
            let plan = Plan::new(settings, Qsl { total: 64, performance: 24 }).unwrap();
            let options = RunOptions { extend, ..RunOptions::default() };
            of(&run(&plan, &mut SimWorld::new(sut(5)), &mut (), options))
        };
        let [plain, extended] = [false, true].map(settings);
        assert!(plain.2, "{scenario:?}: {plain:?}");
        assert_eq!(plain, extended, "{scenario:?}");
    }
}

#[test]
fn equal_issue_goes_on_by_whole_sets() {
    let equal: Change<TestSettings> = |s| (s.sample_concatenate_permutation, s.min_duration_ms) = (true, 5);
    let (queries, beyond, met) = of(&ran(Scenario::SERVER, true, equal));
    // The next multiple of 24 from 459 on.
    assert!((queries, met) == (480, true) && beyond > 0, "{queries} {beyond}");
}
