//! A new scenario is what it asks, how it is judged and a line in the registry: here is one that no other file knows.
//!
//! It is a camera: a frame is due at every tick, and is dropped while too many are unanswered. It is planned, run in
//! the simulated world, judged and reported by the code that does so for the official ones. The first part of this file
//! would be its file in `traffic`, the second its file in `judge`, the third its line in the registry.
#![allow(clippy::unwrap_used, reason = "a test that cannot set up has failed")]

use loadgen::judge::early_stopping::Rule;
use loadgen::judge::{Headlines, Judge, JudgedDuration, Measured, Metric, Rates, Summary};
use loadgen::plan::{Plan, PlanError, predict};
use loadgen::recorder::{About, Timeline};
use loadgen::report::detail::{self, DetailContext};
use loadgen::report::{Entry, Line, Trailer, Value, summary_text, trace_log};
use loadgen::run::{End, RunOptions, RunOutcome, Stop, run};
use loadgen::scenarios::{Definition, Scenario, TestSettings};
use loadgen::settings::{Assigned, FurtherKey, Mode, Qsl, Quantity};
use loadgen::sim::{Service, SimOptions, SimWorld};
use loadgen::traffic::{Expected, LatencyStart, Layout, Request, Sanitised, Shape, Traffic, Trigger};
use loadgen::world::TimeNs;

/// Traffic of the scenario: one sample a query, at each tick at which fewer than a number are outstanding. Latencies
/// run from the tick.
struct AsksFrames;

/// Samples outstanding at one time: a setting that the scenario declares.
static OUTSTANDING: FurtherKey = FurtherKey {
    name: "outstanding",
    field: "frames_outstanding",
    quantity: Quantity::Count { least: 1, most: 100 },
    default: 1.0,
    help: "Samples outstanding at one time.",
};

impl Traffic for AsksFrames {
    fn shape(&self, request: &Request<'_>) -> Result<Shape, PlanError> {
        Ok(Shape {
            layout: Layout::One,
            trigger: Trigger::Ticks {
                interval_ns: request.settings.single_stream_expected_latency_ns as u64,
                below: request.settings.further.whole(&OUTSTANDING),
            },
            latency_start: LatencyStart::Due,
            duration_factor: 2,
            group: 1,
        })
    }

    fn keys(&self) -> &'static [&'static FurtherKey] {
        static KEYS: [&FurtherKey; 1] = [&OUTSTANDING];
        &KEYS
    }

    fn expected(&self) -> Expected {
        Expected::Latency
    }

    fn sanitise(&self, request: &Request<'_>, _faults: &mut Vec<String>) -> Result<Sanitised, PlanError> {
        let s = request.settings;
        let (expected_ns, outstanding) = (s.single_stream_expected_latency_ns, s.further.whole(&OUTSTANDING));
        if expected_ns < 1.0 {
            return Err(PlanError::value("single_stream_expected_latency_ns", &expected_ns, "at least 1 ns"));
        }
        Ok(Sanitised {
            samples_per_query: 1,
            target_qps: 1e9 / expected_ns,
            target_latency_ns: 0,
            target_latency_percentile: s.single_stream_target_latency_percentile,
            max_async_queries: outstanding,
            target_duration_ms: s.min_duration_ms,
            min_query_count: s.min_query_count,
        })
    }

    fn requested(&self, s: &TestSettings) -> Vec<Entry> {
        vec![("frames_expected_latency_ns".into(), s.single_stream_expected_latency_ns.into())]
    }
}

/// Rules by which the scenario is judged: by its rate, with an estimate of the percentile.
struct JudgesFrames;

impl Judge for JudgesFrames {
    fn judged_duration(&self, measured: &Measured) -> JudgedDuration {
        JudgedDuration { seconds: measured.final_query_issued_s, advice: "Expect a lower latency." }
    }

    fn early_stopping(&self) -> Rule {
        Rule::Estimate { with_99th: false }
    }

    fn metric(&self, rates: &Rates, _estimate_ns: Option<f64>) -> Metric {
        Metric::new("result_frames_samples_per_second", Some(rates.completed_samples_per_s), "samples/s")
    }
}

impl Headlines for JudgesFrames {
    fn headline(&self, summary: &Summary) -> Line {
        ("Samples per second, frames: ".into(), Value::Fixed(summary.rates.completed_samples_per_s))
    }

    fn token_headline(&self, summary: &Summary) -> Line {
        self.headline(summary)
    }

    fn results(&self, summary: &Summary) -> Vec<Entry> {
        vec![("result_frames_samples_per_second".into(), summary.rates.completed_samples_per_s.into())]
    }
}

const FRAMES: Scenario =
    Scenario::new(&Definition { name: "Frames", traffic: &AsksFrames, judge: &JudgesFrames, headlines: &JudgesFrames });

const QSL: Qsl = Qsl { total: 64, performance: 24 };

fn settings(mode: Mode) -> TestSettings {
    TestSettings {
        scenario: FRAMES,
        mode,
        min_duration_ms: 50,
        min_query_count: 100,
        single_stream_expected_latency_ns: 1e6,
        ..TestSettings::default()
    }
}

fn ran(settings: TestSettings) -> (Plan, SimWorld, RunOutcome) {
    served(settings, Service::Exponential { mean_ns: 1_000_000.0 })
}

fn served(settings: TestSettings, service: Service) -> (Plan, SimWorld, RunOutcome) {
    let plan = Plan::new(settings, QSL).unwrap();
    let mut world = SimWorld::new(SimOptions { service, servers: 8, ..SimOptions::default() });
    let options = RunOptions { keep_issue_times: true, ..RunOptions::default() };
    let outcome = run(&plan, &mut world, &mut (), options);
    (plan, world, outcome)
}

#[test]
fn it_is_planned_and_run_as_it_asks() {
    let (plan, world, outcome) = ran(settings(Mode::PerformanceOnly));
    let phase = outcome.performance().unwrap();
    assert_eq!(plan.effective().target_qps, 1_000.0);
    assert_eq!(predict::predict(&plan, predict::SampleSize { memory_bytes: 1, wire_bytes: 1 }).queries, 100);
    assert_eq!((outcome.end.clone(), phase.stop), (End::Completed, Stop::Naturally));
    assert_eq!(world.max_in_flight, 1, "eight servers would take more");
    assert!(phase.queries_issued >= 100 && phase.counts.completed == phase.counts.issued);
}

#[test]
fn its_own_setting_is_set_by_name_and_kept_with_the_official_ones() {
    let mut settings = settings(Mode::PerformanceOnly);
    assert_eq!(settings.set("outstanding=2"), Ok(Assigned::Here("frames_outstanding")));
    let json = serde_json::to_value(&settings).unwrap();
    assert_eq!(json["further"]["frames_outstanding"], 2);
    assert_eq!(ran(settings).1.max_in_flight, 2);

    let refused = self::settings(Mode::PerformanceOnly).set("outstanding=101").unwrap_err().to_string();
    assert_eq!(refused, "outstanding: '101' is not a whole number from 1 to 100");
    let unknown = self::settings(Mode::PerformanceOnly).set("outstandig=2").unwrap_err().to_string();
    assert!(unknown.ends_with("no setting 'outstandig' in Frames (did you mean 'outstanding'?)"), "{unknown}");
    let other = TestSettings::default().set("outstanding=2").unwrap_err().to_string();
    assert!(other.starts_with("no setting 'outstanding' in SingleStream"), "{other}");
}

#[test]
fn ticks_are_skipped_while_an_answer_is_missing_and_latencies_run_from_the_tick() {
    let (plan, _, outcome) = served(settings(Mode::PerformanceOnly), Service::Constant { ns: 2_500_000 });
    let timeline = outcome.performance().unwrap().timeline.as_ref().unwrap();
    let starts: Vec<u64> = timeline.starts(&plan.phases()[0], plan.effective().shape).collect();
    assert_eq!(starts[..4], [1_000_000, 4_000_000, 7_000_000, 10_000_000], "two ticks of three are skipped");
    assert_eq!(timeline.issued_ns(), Some(&starts[..]));
    let last_s = *starts.last().unwrap() as f64 / 1e9;
    assert_eq!(timeline.measured(plan.effective()).final_query_scheduled_s, last_s);

    let mut two = settings(Mode::PerformanceOnly);
    two.set("outstanding=2").unwrap();
    let (plan, _, outcome) = served(two, Service::Constant { ns: 2_500_000 });
    let timeline = outcome.performance().unwrap().timeline.as_ref().unwrap();
    let starts: Vec<u64> = timeline.starts(&plan.phases()[0], plan.effective().shape).collect();
    assert_eq!(starts[..5], [1_000_000, 2_000_000, 4_000_000, 5_000_000, 7_000_000], "one tick of three is skipped");
    assert_eq!(timeline.issued_ns(), Some(&starts[..]));
}

#[test]
fn it_is_judged_by_its_own_rules() {
    let (_, _, outcome) = ran(settings(Mode::PerformanceOnly));
    let summary = outcome.summary.as_ref().unwrap();
    assert!(outcome.verdict.is_valid(), "{:?}", outcome.verdict);
    assert_eq!(summary.checks.performance_constraints, None, "it has no limit");
    assert_eq!(summary.metric.name, "result_frames_samples_per_second");
    assert_eq!(summary.metric.value, Some(summary.rates.completed_samples_per_s));

    let too_long = TestSettings { min_duration_ms: 600, ..settings(Mode::PerformanceOnly) };
    let (_, _, outcome) = ran(TestSettings { max_query_count: 300, ..too_long });
    let reasons = outcome.verdict.reasons();
    assert!(reasons.iter().any(|reason| reason.code == "min_duration"), "{reasons:?}");
    assert_eq!(outcome.summary.unwrap().advice[0].summary, "Expect a lower latency.");
}

#[test]
fn its_reports_have_its_lines() {
    let (plan, _, outcome) = ran(settings(Mode::SubmissionRun));
    let summary = outcome.summary.as_ref().unwrap();
    let text = summary_text(&plan, summary, &outcome.verdict, "a SUT", Trailer::default());
    assert!(text.contains("Scenario : Frames\n") && text.contains("Samples per second, frames: "), "{text}");
    let context = DetailContext {
        version: "0",
        sut_name: "a SUT",
        sut_name_duration_ns: 0,
        qsl_name: "a QSL",
        start: TimeNs(0),
        start_unix_ns: 0,
        pid: 1,
        tid: 1,
    };
    let log = detail::render(&plan, &outcome, &context);
    for key in ["requested_frames_expected_latency_ns", "result_frames_samples_per_second"] {
        assert!(log.contains(key), "{key}");
    }
    let mut trace = Vec::new();
    trace_log::write(&plan, &outcome, &context, &mut trace).unwrap();
    assert!(serde_json::from_slice::<serde_json::Value>(&trace).is_ok());
}

#[test]
fn files_can_name_only_registered_scenarios() {
    let (plan, _, outcome) = ran(settings(Mode::PerformanceOnly));
    let timeline = outcome.performance().unwrap().timeline.as_ref().unwrap();
    let (settings, qsl) = (plan.requested().clone(), plan.qsl());
    let about = About { settings, qsl, sut_name: String::new(), warnings: 0, errors: 0, reasons: Vec::new() };
    let mut bytes = Vec::new();
    timeline.write_to(&about, &mut bytes).unwrap();
    let message = Timeline::read_from(&mut bytes.as_slice()).unwrap_err().to_string();
    assert!(message.contains("unknown variant `Frames`"), "{message}");
    assert_eq!(plan.effective().judge(timeline.measured(plan.effective())), outcome.summary.unwrap());
}

#[test]
fn it_has_no_search_for_the_peak() {
    let message = Plan::new(settings(Mode::FindPeakPerformance), QSL).unwrap_err().to_string();
    assert!(message.starts_with("FindPeakPerformance is not available for Frames: its queries wait"), "{message}");
}
