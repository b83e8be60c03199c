//! No file says VALID of a run in which a sample was not answered once.

use super::tests::{Change, Ran, ran, settings, sut};
use super::*;
use crate::recorder::{About, Timeline};
use crate::report::detail::{DetailContext, render};
use crate::report::{Trailer, summary_text};
use crate::settings::{Scenario, TestSettings};
use crate::sim::SimOptions;
use crate::world::TimeNs;

#[test]
fn a_sut_that_answers_nothing_has_no_rate_and_no_file_that_says_valid() {
    for scenario in Scenario::ALL {
        for token_run in [false, true] {
            let settings = TestSettings { use_token_latencies: token_run, ..settings(scenario, 2) };
            let run = ran(settings, SimOptions { failing: 1.0, tokens: token_run.then_some(4), ..sut(2) });
            let case = format!("{scenario:?}, tokens {token_run}");
            assert_eq!(run.outcome.counts().completed, 0, "{case}");
            let summary = run.outcome.summary.as_ref().unwrap();
            let rates = summary.rates;
            let answered = [rates.samples_per_s, rates.completed_samples_per_s, rates.qps_without_overhead];
            assert_eq!((summary.metric.value, answered), (None, [0.0; 3]), "{case}");
            assert_eq!(summary.tokens.map_or(0.0, |tokens| tokens.tokens_per_s), 0.0, "{case}");
            assert_says_invalid(&run, &case);
        }
    }
}

#[test]
fn a_single_loss_makes_every_file_invalid() {
    let faults: [Change<SimOptions>; 3] =
        [|sim| sim.failing = 0.02, |sim| sim.duplicated = 0.02, |sim| sim.break_at = Some(TimeNs(1_000_000_000))];
    for scenario in Scenario::ALL {
        for fault in faults {
            let mut sim = sut(2);
            fault(&mut sim);
            let lenient = TestSettings {
                server_target_latency_ns: u64::MAX / 4,
                server_target_latency_percentile: 0.5,
                min_query_count: 200,
                ..settings(scenario, 2)
            };
            let run = ran(lenient, sim);
            let counts = run.outcome.counts();
            if counts == Counts::all_answered(counts.issued) {
                continue;
            }
            assert_says_invalid(&run, &format!("{scenario:?} {counts:?}"));
        }
    }
}

/// Summary file, detail log and the stored timeline say INVALID, and none says VALID.
fn assert_says_invalid(run: &Ran, case: &str) {
    let outcome = &run.outcome;
    let summary = outcome.summary.as_ref().unwrap();
    let text = summary_text(&run.plan, summary, &outcome.verdict, "s", Trailer::default());
    assert!(text.contains("Result is : INVALID\n") && text.contains("  Not valid, because: "), "{case}: {text}");
    let context = DetailContext {
        version: "0",
        sut_name: "s",
        sut_name_duration_ns: 0,
        qsl_name: "q",
        start: TimeNs(0),
        start_unix_ns: 0,
        pid: 1,
        tid: 1,
    };
    let detail = render(&run.plan, outcome, &context);
    assert!(!detail.contains("\"VALID\"") && detail.contains("\"result_validity\", \"value\": \"INVALID\""), "{case}");
    let (settings, qsl, reasons) = (run.plan.requested().clone(), run.plan.qsl(), outcome.verdict.lasting());
    let about = About { settings: settings.clone(), qsl, sut_name: "s".to_owned(), warnings: 0, errors: 0, reasons };
    let mut bytes = Vec::new();
    outcome.performance().unwrap().timeline.as_ref().unwrap().write_to(&about, &mut bytes).unwrap();
    let stored = Timeline::read_from(&mut bytes.as_slice()).unwrap();
    let again = crate::vectors::replay_timeline(&stored, settings).unwrap();
    assert_eq!((again.verdict, again.report.summary), (outcome.verdict.clone(), text), "{case}");
}
