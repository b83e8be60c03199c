//! Whole runs in the simulated world: all scenarios, many seeds, faults.

use super::*;
use crate::recorder::{About, Timeline};
use crate::settings::{Mode, Qsl, Scenario, TestSettings};
use crate::sim::{Service, SimOptions, SimWorld};
use crate::trace::Trace;
use crate::vectors::{LoggedSamples, Numbers};
use crate::world::{SampleIndex, TimeNs};

const QSL: Qsl = Qsl { total: 64, performance: 24 };
const GRACE_NS: u64 = 50_000_000;

/// Keeps the accuracy log's entries.
#[derive(Default)]
struct Log(Vec<(u64, u32, Vec<u8>)>);

impl Observer for Log {
    fn accuracy(&mut self, entry: &AccuracyEntry<'_>) {
        assert_eq!(entry.data, entry.index.0.to_le_bytes(), "the answer belongs to the sample");
        self.0.push((entry.seq.0, entry.index.0, entry.token_data.unwrap_or_default().to_vec()));
    }
}

pub(super) fn settings(scenario: Scenario, seed: u64) -> TestSettings {
    let mut settings = TestSettings {
        scenario,
        min_duration_ms: 40,
        min_query_count: 30,
        server_target_qps: 2_000.0,
        offline_expected_qps: 2_000.0,
        single_stream_expected_latency_ns: 300_000.0,
        multi_stream_expected_latency_ns: 1_000_000.0,
        multi_stream_samples_per_query: 3,
        qsl_rng_seed: seed,
        sample_index_rng_seed: seed + 1,
        schedule_rng_seed: seed + 2,
        accuracy_log_rng_seed: seed,
        accuracy_log_probability: 0.2,
        ..TestSettings::default()
    };
    if scenario == Scenario::BURST {
        for setting in ["burst_size=8", "burst_interval=4ms"] {
            settings.set(setting).unwrap();
        }
    }
    settings
}

pub(super) fn sut(seed: u64) -> SimOptions {
    SimOptions { seed, service: Service::Exponential { mean_ns: 400_000.0 }, servers: 3, ..SimOptions::default() }
}

pub(super) struct Ran {
    pub(super) plan: Plan,
    world: SimWorld,
    log: Log,
    pub(super) outcome: RunOutcome,
}

pub(super) fn ran(settings: TestSettings, options: SimOptions) -> Ran {
    let plan = Plan::new(settings, QSL).unwrap();
    let mut world = SimWorld::new(options);
    let mut log = Log::default();
    let outcome = run(&plan, &mut world, &mut log, RunOptions { drain_grace_ns: GRACE_NS, ..RunOptions::default() });
    Ran { plan, world, log, outcome }
}

fn messages(outcome: &RunOutcome) -> String {
    outcome.events.iter().map(|event| format!("{} {:?}\n", event.key, event.value)).collect()
}

/// Changes the settings or the SUT of one test case.
pub(super) type Change<T> = fn(&mut T);

fn server_with(change: Change<TestSettings>, sim: Change<SimOptions>) -> Ran {
    let (mut settings, mut options) = (settings(Scenario::SERVER, 5), sut(5));
    change(&mut settings);
    sim(&mut options);
    ran(settings, options)
}

#[test]
fn a_library_smaller_than_what_is_asked_of_it_is_said_as_it_is() {
    let has_warning = |count| {
        let outcome = server_with(
            match count {
                1_024 => |s| s.performance_sample_count_override = 1_024,
                _ => |s| s.performance_sample_count_override = 64,
            },
            |_| {},
        );
        messages(&outcome.outcome).contains("Performance samples: 64, all that the library has, instead of 1024.")
    };
    assert!(has_warning(1_024) && !has_warning(64));
}

/// Memory for a hundred million samples takes seconds. A node gives up on a peer that sends nothing for so long.
#[test]
fn the_world_is_attended_to_while_a_phase_is_set_up_and_judged() {
    for scenario in Scenario::ALL {
        let Ran { world, .. } = ran(settings(scenario, 3), sut(3));
        assert_eq!(world.works, [0, world.calls.len()], "{}", scenario.name());
    }
}

#[test]
fn every_sample_ends_once_in_every_scenario_and_mode() {
    for seed in 0..150 {
        for scenario in Scenario::ALL {
            for mode in [Mode::PerformanceOnly, Mode::AccuracyOnly, Mode::SubmissionRun] {
                let run = ran(TestSettings { mode, ..settings(scenario, seed) }, sut(seed));
                let counts = run.outcome.counts();
                assert_eq!(run.outcome.end, End::Completed);
                assert_eq!(counts.completed, counts.issued, "{scenario:?} {mode:?} {seed}");
                assert_eq!(counts.ended() + counts.duplicate + counts.late + counts.unknown, counts.issued);
                assert_eq!(run.world.flushes, run.plan.phases().len());
                assert_eq!(run.world.loaded, None, "every set was unloaded");
                assert_eq!(run.outcome.summary.is_some(), mode.has_performance());
            }
        }
    }
}

#[test]
fn server_issues_every_query_never_before_it_is_due() {
    for seed in 0..100 {
        let run = ran(settings(Scenario::SERVER, seed), SimOptions { issue_cost_ns: 700, ..sut(seed) });
        let start = run.outcome.phases[0].started;
        let queries: Vec<_> = Trace::new(&run.plan.phases()[0]).collect();
        assert_eq!(run.world.calls.len(), queries.len());
        for (call, query) in run.world.calls.iter().zip(&queries) {
            assert_eq!(call.query, query.seq);
            assert!(call.at >= start + query.due_ns, "{} before {}", call.at.0, query.due_ns);
        }
        assert_eq!(run.outcome.phases[0].stop, Stop::AllIssued);
        assert!(run.outcome.lag().max_ns >= 700, "waiting for the issuer is lag");
    }
}

#[test]
fn a_server_latency_includes_the_wait_of_a_late_query() {
    let run = server_with(
        |_| (),
        |sim| {
            sim.service = Service::Constant { ns: 10 };
            sim.issue_cost_ns = 1_000_000;
        },
    );
    let summary = run.outcome.summary.unwrap();
    assert!(summary.latency.max_ns > 10_000_000, "issuing cannot keep up: {}", summary.latency.max_ns);
}

#[test]
fn stream_scenarios_have_one_query_outstanding_and_end_naturally() {
    for (scenario, samples) in [(Scenario::SINGLE_STREAM, 1), (Scenario::MULTI_STREAM, 3)] {
        for seed in 0..50 {
            let run = ran(settings(scenario, seed), sut(seed));
            let phase = &run.outcome.phases[0];
            assert_eq!(run.world.max_in_flight, samples);
            assert_eq!(phase.stop, Stop::Naturally);
            let last = run.world.calls.last().unwrap().at;
            let before = run.world.calls[run.world.calls.len() - 2].at;
            let end = phase.started + 40_000_000;
            assert!(last >= end && before < end, "the first query after the minimum duration is the last");
            assert!(phase.queries_issued >= 30);
        }
    }
}

#[test]
fn a_fast_sut_makes_single_stream_run_out_of_queries() {
    let run = ran(
        settings(Scenario::SINGLE_STREAM, 1),
        SimOptions { service: Service::Constant { ns: 1_000 }, ..SimOptions::default() },
    );
    assert_eq!(run.outcome.phases[0].stop, Stop::RanOut);
    assert_eq!(run.outcome.phases[0].queries_issued, run.plan.phases()[0].generated.queries);
    assert!(messages(&run.outcome).contains("Ran out of generated queries"));
    assert_eq!(run.outcome.verdict.official(), Some(false));
}

#[test]
fn offline_respects_the_window_and_counts_latency_from_the_start() {
    for window in [0, 1, 7, 1_000] {
        let options = SimOptions { window, service: Service::Constant { ns: 10_000 }, ..SimOptions::default() };
        let run = ran(settings(Scenario::OFFLINE, 3), options);
        let phase = &run.outcome.phases[0];
        let samples = run.plan.phases()[0].generated.samples();
        assert_eq!((phase.queries_issued, phase.counts.issued), (1, samples));
        assert!(window == 0 || run.world.max_in_flight <= window);
        let latency = run.outcome.summary.as_ref().unwrap().latency;
        assert_eq!(latency.max_ns as u64, samples * 10_000, "window {window}");
        assert_eq!(phase.stop, Stop::Naturally);
    }
}

#[test]
fn accuracy_asks_every_sample_once_and_logs_all_answers() {
    for scenario in [Scenario::SINGLE_STREAM, Scenario::SERVER, Scenario::OFFLINE] {
        let run = ran(TestSettings { mode: Mode::AccuracyOnly, ..settings(scenario, 9) }, sut(9));
        let mut indices: Vec<u32> = run.log.0.iter().map(|entry| entry.1).collect();
        indices.sort_unstable();
        assert_eq!(indices, (0..64).collect::<Vec<_>>(), "{scenario:?}");
        assert_eq!(run.outcome.phases.len(), 3, "64 samples in sets of 24");
        assert!(run.outcome.verdict.is_valid() && run.outcome.verdict.official().is_none());
    }
}

#[test]
fn performance_logs_what_the_vectors_say() {
    let settings = settings(Scenario::SERVER, 12);
    let input = serde_json::json!({ "qsl": QSL, "settings": settings }).to_string();
    let trace = crate::vectors::trace(&input, false).unwrap();
    let LoggedSamples::Some(Numbers::Full(expected)) = &trace.phases[0].accuracy_log_seq_ids else {
        panic!("{:?}", trace.phases[0].accuracy_log_seq_ids)
    };
    let mut logged: Vec<u64> = ran(settings, sut(12)).log.0.iter().map(|entry| entry.0).collect();
    logged.sort_unstable();
    assert!(!logged.is_empty());
    assert_eq!(logged, *expected);
}

#[test]
fn runs_are_reproducible() {
    let once = || {
        let run = ran(settings(Scenario::SERVER, 8), sut(8));
        (run.outcome.summary, run.log.0, run.world.calls)
    };
    assert_eq!(once(), once());
}

#[test]
fn limits_end_a_run_early_with_the_official_words() {
    let cases: [(Change<TestSettings>, &str); 3] = [
        (|s| s.max_query_count = 25, "Max query count reached. query_count 25"),
        (|s| s.max_duration_ms = 5, "Max test duration reached. duration_ns 5"),
        (|s| s.server_max_async_queries = 1, "Too many outstanding queries. issued"),
    ];
    for (change, part) in cases {
        let run = server_with(change, |_| ());
        let text = messages(&run.outcome);
        assert!(text.contains(part), "{part}: {text}");
        assert_eq!(run.outcome.verdict.official(), Some(false));
        assert_eq!(run.outcome.counts().completed, run.outcome.counts().issued, "what was issued is still awaited");
    }
}

#[test]
fn answers_that_have_arrived_do_not_count_as_outstanding() {
    let run = server_with(
        |s| s.server_max_async_queries = 1,
        |sim| {
            sim.service = Service::Constant { ns: 0 };
            sim.issue_cost_ns = 600_000;
        },
    );
    assert_eq!(run.outcome.phases[0].stop, Stop::AllIssued);
}

#[test]
fn coalescing_merges_what_is_due_and_counts_each_query() {
    let run = server_with(|s| s.server_coalesce_queries = true, |sim| sim.issue_cost_ns = 3_000_000);
    let generated = run.plan.phases()[0].generated.queries;
    assert_eq!(run.outcome.phases[0].queries_issued, generated);
    assert!((run.world.calls.len() as u64) < generated / 2, "{} calls", run.world.calls.len());
    assert_eq!(run.outcome.counts().completed, generated);
}

#[test]
fn failed_samples_end_and_make_the_strict_verdict_invalid() {
    for scenario in Scenario::ALL {
        let run = ran(settings(scenario, 2), SimOptions { failing: 0.1, ..sut(2) });
        let counts = run.outcome.counts();
        assert!(counts.failed > 0 && counts.failed + counts.completed == counts.issued, "{scenario:?} {counts:?}");
        assert!(!run.outcome.verdict.is_valid());
        assert!(run.outcome.verdict.reasons().iter().any(|reason| reason.code == "failed_samples"));
    }
}

#[test]
fn failed_samples_count_against_the_percentile() {
    let run = server_with(|_| (), |sim| sim.failing = 0.1);
    let summary = run.outcome.summary.unwrap();
    assert_eq!(summary.overlatency_count, run.outcome.phases[0].counts.failed);
    assert_eq!(summary.checks.performance_constraints, Some(false));
}

#[test]
fn second_answers_are_counted_and_logged_once() {
    let run = server_with(|s| s.mode = Mode::AccuracyOnly, |sim| sim.duplicated = 0.5);
    let counts = run.outcome.counts();
    assert!(counts.duplicate > 0 && counts.completed == counts.issued, "{counts:?}");
    assert_eq!(run.log.0.len(), 64);
    assert!(run.outcome.events.errors() > 0 && !run.outcome.verdict.is_valid());
}

#[test]
fn an_interrupted_run_drains_and_is_judged() {
    let run = server_with(|_| (), |sim| sim.interrupt_at = Some(TimeNs(15_000_000)));
    let counts = run.outcome.counts();
    assert_eq!(run.outcome.end, End::Interrupted);
    assert!(counts.issued > 0 && counts.issued < run.plan.phases()[0].generated.queries);
    assert_eq!(counts.completed, counts.issued, "answers that still come are taken");
    assert!(run.outcome.summary.is_some() && !run.outcome.verdict.is_valid());
}

#[test]
fn a_broken_run_ends_within_the_grace_time_in_every_scenario() {
    for scenario in Scenario::ALL {
        let options = SimOptions { break_at: Some(TimeNs(5_000_000)), ..sut(4) };
        let run = ran(settings(scenario, 4), options);
        let counts = run.outcome.counts();
        assert_eq!(run.outcome.end, End::Broken, "{scenario:?}");
        assert!(counts.lost > 0 && counts.ended() == counts.issued, "{scenario:?} {counts:?}");
        assert!(run.outcome.ended <= TimeNs(5_000_000 + GRACE_NS));
        assert!(messages(&run.outcome).contains("incomplete samples"));
        assert_eq!(run.world.loaded, None);
    }
}

#[test]
fn a_swallowed_sample_does_not_hang_a_world_that_says_so() {
    let run = ran(settings(Scenario::SINGLE_STREAM, 4), SimOptions { swallowed: 0.2, ..sut(4) });
    assert_eq!(run.outcome.end, End::Broken);
    assert_eq!(run.outcome.counts().lost, 1);
}

#[test]
fn later_phases_do_not_run_after_a_break() {
    let run = server_with(|s| s.mode = Mode::SubmissionRun, |sim| sim.break_at = Some(TimeNs(1_000_000)));
    assert_eq!(run.outcome.phases.len(), 1);
    assert!(run.outcome.summary.is_none());
}

#[test]
fn a_set_that_cannot_be_loaded_ends_the_run_with_its_reason() {
    let plan = Plan::new(settings(Scenario::OFFLINE, 1), QSL).unwrap();
    let mut world = SimWorld::new(sut(1));
    world.fail_load = Some("no such file".to_owned());
    let outcome = run(&plan, &mut world, &mut (), RunOptions::default());
    assert_eq!(outcome.end, End::LoadFailed("no such file".to_owned()));
    assert!(outcome.phases.is_empty() && !outcome.verdict.is_valid());
}

#[test]
fn token_runs_measure_first_tokens_and_time_per_token() {
    let run = server_with(
        |s| {
            s.use_token_latencies = true;
            s.accuracy_log_probability = 1.0;
        },
        |sim| {
            sim.tokens = Some(4);
            sim.service = Service::Constant { ns: 400_000 };
            sim.servers = 100;
        },
    );
    let summary = run.outcome.summary.unwrap();
    let tokens = summary.tokens.unwrap();
    assert_eq!((tokens.first_token.max_ns, tokens.first_token.min_ns), (100_000, 100_000));
    assert_eq!((tokens.per_token.max_ns, tokens.per_token.count), (100_000, summary.queries));
    assert!(run.log.0.iter().all(|entry| entry.2 == [0xf1]), "first tokens are logged");
    assert_eq!(run.log.0.len() as u64, summary.queries);
}

#[test]
fn answers_without_a_usable_token_count_are_faults() {
    let run = server_with(|s| s.use_token_latencies = true, |sim| sim.tokens = Some(1));
    let counts = run.outcome.counts();
    assert_eq!(counts.token_faults, counts.issued);
    assert!(messages(&run.outcome).contains("Number of tokens need to be greater than 1"));
    assert!(run.outcome.verdict.reasons().iter().any(|reason| reason.code == "token_faults"));
}

#[test]
fn equal_issue_uses_every_sample_equally_often() {
    let mut settings = settings(Scenario::SERVER, 3);
    settings.sample_concatenate_permutation = true;
    settings.accuracy_log_probability = 1.0;
    let run = ran(settings, sut(3));
    let mut uses = [0_u64; 24];
    for (_, index, _) in &run.log.0 {
        uses[*index as usize] += 1;
    }
    assert!(uses.iter().all(|n| *n == uses[0] && *n > 1), "{uses:?}");
    assert_eq!(run.plan.phases()[0].set.indices.len(), uses.len());
    assert!(run.plan.phases()[0].set.indices.contains(&SampleIndex(23)));
}

#[test]
fn a_stored_timeline_is_judged_as_the_run_was() {
    let run = ran(settings(Scenario::MULTI_STREAM, 6), SimOptions { failing: 0.05, ..sut(6) });
    let timeline = run.outcome.performance().unwrap().timeline.as_ref().unwrap();
    let mut bytes = Vec::new();
    let (settings, qsl) = (run.plan.requested().clone(), run.plan.qsl());
    let about = About {
        settings,
        qsl,
        sut_name: String::new(),
        warnings: 0,
        errors: 0,
        reasons: run.outcome.verdict.lasting(),
    };
    timeline.write_to(&about, &mut bytes).unwrap();
    let stored = Timeline::read_from(&mut bytes.as_slice()).unwrap();
    let plan = Plan::for_judging(stored.about.settings, stored.about.qsl).unwrap();
    let again = plan.effective().judge(stored.timeline.measured(plan.effective()));
    assert_eq!(Some(again), run.outcome.summary);
}
