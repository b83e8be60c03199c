//! A search for the peak: the official LoadGen's rates, messages, loaded sets and schedules, in its order.

use std::cell::Cell;

use loadgen::plan::Plan;
use loadgen::report::{Trailer, Value, summary_text};
use loadgen::run::SearchEnd;
use loadgen::run::{AccuracyEntry, Observer, RunOptions, RunOutcome, TrialStart, run};
use loadgen::settings::{Qsl, TestSettings};
use loadgen::world::{Arrival, ArrivalKind, Issued, QuerySeq, SampleIndex, SampleSeq, TimeNs, Wake, World};
use serde::Deserialize;

use crate::vectors;

#[derive(Deserialize)]
struct Case {
    qsl: Qsl,
    settings: TestSettings,
    /// Rates up to this one passed.
    peak_qps: f64,
    events: Vec<(String, serde_json::Value)>,
}

/// Answers at once up to the peak, and far too late beyond it.
struct Threshold<'a> {
    peak_qps: f64,
    qps: &'a Cell<f64>,
    now: TimeNs,
    pending: Vec<(SampleSeq, TimeNs)>,
    loaded: i32,
    last: Option<SampleSeq>,
}

impl World for Threshold<'_> {
    type Data = [u8; 0];

    fn now(&mut self) -> TimeNs {
        self.now
    }

    fn load(&mut self, _set: &[SampleIndex]) -> Result<(), String> {
        self.loaded += 1;
        Ok(())
    }

    fn unload(&mut self, _set: &[SampleIndex]) {
        self.loaded -= 1;
    }

    fn issue(&mut self, _query: QuerySeq, samples: &[Issued]) {
        assert_eq!(self.loaded, 1);
        for sample in samples {
            assert!(self.last.is_none_or(|last| last < sample.seq), "ids count on over all trials");
            self.last = Some(sample.seq);
            self.pending.push((sample.seq, self.now));
        }
    }

    fn flush(&mut self) {}

    fn wait(&mut self, until: Option<TimeNs>, _: bool, arrivals: &mut Vec<Arrival<[u8; 0]>>) -> Wake {
        let prompt = self.qps.get() <= self.peak_qps;
        let drained = if prompt { self.now } else { self.now + 10_000_000_000 };
        self.now = until.map_or(drained, |until| until.max(self.now));
        let now = self.now;
        let at = |issued| if prompt { issued } else { now };
        let done = |(seq, issued)| Arrival {
            seq,
            at: at(issued),
            sent_at: None,
            kind: ArrivalKind::Done { data: [], n_tokens: 0 },
        };
        if prompt || until.is_none() {
            arrivals.extend(self.pending.drain(..).map(done));
        }
        Wake::Ready
    }
}

/// Tells the world at which rate it is asked, which a real SUT need not know.
struct Teller<'a>(&'a Cell<f64>);

impl Observer for Teller<'_> {
    fn accuracy(&mut self, _entry: &AccuracyEntry<'_>) {}

    fn trial_started(&mut self, trial: TrialStart) {
        self.0.set(trial.load);
    }
}

fn searched() -> (Case, Plan, RunOutcome) {
    let case: Case = serde_json::from_str(&vectors("find_peak").remove(0).1).unwrap();
    let plan = Plan::new(case.settings.clone(), case.qsl).unwrap();
    let qps = Cell::new(0.0);
    let (now, pending) = (TimeNs(0), Vec::new());
    let mut world = Threshold { peak_qps: case.peak_qps, qps: &qps, now, pending, loaded: 0, last: None };
    let outcome = run(&plan, &mut world, &mut Teller(&qps), RunOptions::default());
    assert_eq!(world.loaded, 0, "every set was unloaded");
    (case, plan, outcome)
}

#[test]
fn messages_sets_and_schedules_are_official() {
    let (case, _, outcome) = searched();
    let keys = ["generic_message", "loaded_qsl_set", "generated_query_count", "generated_samples_per_query"];
    let ours: Vec<(String, serde_json::Value)> = outcome
        .events
        .iter()
        .filter(|event| keys.contains(&event.key.as_ref()) || event.key == "generated_query_duration")
        .map(|event| (event.key.to_string(), json(&event.value)))
        .collect();
    for (ours, official) in ours.iter().zip(&case.events) {
        assert_eq!(ours, official);
    }
    assert_eq!(ours.len(), case.events.len());
}

#[test]
fn the_run_at_the_peak_is_reported() {
    let (case, plan, outcome) = searched();
    let search = outcome.find_peak.as_ref().unwrap();
    assert_eq!(search.end, SearchEnd::Found);
    assert_eq!(search.trials.len(), 16);
    assert!(search.trials.iter().all(|trial| trial.passed == (trial.load <= case.peak_qps)));
    assert_eq!(outcome.verdict.official(), Some(false), "100 queries are too few for early stopping");
    assert_eq!(outcome.verdict.reasons().len(), 1, "{:?}", outcome.verdict.reasons());
    let summary = outcome.summary.as_ref().unwrap();
    let text = summary_text(outcome.judged_plan(&plan), summary, &outcome.verdict, "x", Trailer::default());
    for line in
        ["Mode     : FindPeakPerformance\n", "target_qps : 1640.62\n", "Scheduled samples per second : 1500.53\n"]
    {
        assert!(text.contains(line), "{line}: {text}");
    }
}

fn json(value: &Value) -> serde_json::Value {
    match value {
        Value::U64(number) => (*number).into(),
        Value::Text(text) => text.as_str().into(),
        Value::List(list) => list.clone().into(),
        other => panic!("{other:?}"),
    }
}
