//! Logs of submitters: the traffic that follows from the settings in one, and the words on its result.
//!
//! Such a case has no SUT. Latencies, and what follows from them alone, were measured by those who published the log:
//! these words are held against the words that there are, and the verdict against the rules that the log says are kept.

use std::rc::Rc;

use serde_json::Value;

use super::super::effective::Effective;
use super::super::scenario::{LatencyRule, Pacing};
use super::super::summary::{scheduled_rate, verdict};
use super::super::test::TestInput;
use super::super::traffic::{Trace, phases};
use super::accuracy_log::log;
use super::facts::{Difference, Fact};
use super::form::{Input, Kind, VectorError};
use super::lists::List;
use crate::trace::{PhasePlan, Picks};
use crate::world::Issued;

/// The lines of the rules in a summary.
const RULES: [&str; 3] = ["performance_constraints_satisfied", "min_duration_satisfied", "min_queries_satisfied"];
const RESULT: &str = "summary_result_is";

pub(super) fn facts(input: &Input) -> Result<Fact, VectorError> {
    let test = input.test()?;
    let effective = Effective::new(&test.settings, test.qsl, &mut Vec::new())?;
    let phases = phases(&effective, test.qsl, test.integers)?;
    let loaded: Vec<List> = phases.iter().map(loaded).collect();
    let generated = phases.iter().map(|phase| {
        Fact::Some(vec![
            ("queries", Fact::is(phase.generated.queries)),
            ("samples_per_query_setting", Fact::is(effective.samples_per_query)),
            ("duration_ns", Fact::is(phase.generated.duration_ns)),
        ])
    });
    let mut facts = vec![
        ("loaded_sets_logged", Fact::is(loaded.len())),
        ("loaded_set_counts", Fact::is(loaded.iter().map(List::len).collect::<Vec<_>>())),
        ("loaded_set_sha256", Fact::is(loaded.iter().map(List::sha256).collect::<Vec<_>>())),
        ("generated", Fact::Row(generated.collect())),
    ];
    facts.extend(loaded.into_iter().next().map(|set| ("loaded_set_0_first", Fact::Begins(Rc::new(set)))));
    if input.source.accuracy_log.is_some() {
        facts.push(("accuracy_log", Fact::Log(Rc::new(logged(&test, &phases)))));
    }
    if let Some(phase) = phases.last().filter(|phase| !phase.is_accuracy()) {
        facts.extend(results(&effective, phase));
    }
    Ok(Fact::Some(facts))
}

fn loaded(phase: &PhasePlan) -> List {
    List::Numbers(phase.set.indices.iter().map(|index| u64::from(index.0)).collect())
}

/// The log of all generated queries. The published one ends with the queries that were issued, or where it was cut.
fn logged(test: &TestInput, phases: &[PhasePlan]) -> List {
    let settings = &test.settings;
    let mut picks = Picks::new(settings.accuracy_log_rng_seed, settings.accuracy_log_probability);
    let (mut logged, mut samples) = (Vec::<Issued>::new(), Vec::new());
    for phase in phases {
        if !phase.is_accuracy() && !picks.possible() {
            continue;
        }
        let mut trace = Trace::new(phase);
        while let Some(query) = trace.next() {
            samples.clear();
            trace.samples(&query, 0, usize::MAX, &mut samples);
            let is_logged = |_: &&Issued| phase.is_accuracy() || picks.next();
            logged.extend(samples.iter().filter(is_logged));
        }
        if phase.is_accuracy() {
            picks.skip(phase.generated.samples());
        }
    }
    log(&logged)
}

/// The results as far as settings alone decide them.
fn results(effective: &Effective, phase: &PhasePlan) -> Vec<(&'static str, Fact)> {
    let settings = &effective.requested;
    let pacing = effective.shape.pacing;
    let ends_early = settings.max_query_count != 0 || settings.max_duration_ms != 0;
    let is_whole = !ends_early && (pacing != Pacing::Due || effective.max_async_queries == 0);
    let enough = settings.max_duration_ms == 0 && settings.max_query_count >= effective.min_query_count;
    let yes_no = |is_certain: bool| if is_certain { Fact::is("Yes") } else { Fact::OneOf(&["Yes", "NO"]) };
    let mut facts = vec![
        (RESULT, Fact::OneOf(&["VALID", "INVALID"])),
        // A series goes on until then, unless it is ended; in SingleStream it may run out of queries.
        ("min_duration_satisfied", yes_no(is_whole && matches!(pacing, Pacing::Due | Pacing::Ticks))),
        ("min_queries_satisfied", yes_no(is_whole || pacing == Pacing::AtOnce || (pacing != Pacing::Due && enough))),
        (
            "performance_constraints_satisfied",
            match effective.shape.latency_rule {
                LatencyRule::None => Fact::Is(Value::Null),
                _ => Fact::OneOf(&["Yes", "NO"]),
            },
        ),
    ];
    if pacing == Pacing::Due && is_whole {
        let last = Trace::new(phase).last().map_or(0, |query| query.due_ns);
        let rate = scheduled_rate(phase.generated.samples() as f64, last);
        facts.push(("scheduled_samples_per_second", Fact::is(rate)));
    }
    facts
}

/// A published verdict that does not follow from the rules that the same log says are kept.
pub(super) fn contradiction(input: &Input, stated: &[(&str, Value)]) -> Option<Difference> {
    let (_, expected) = stated.iter().find(|(part, _)| input.kind == Kind::Official && *part == "expected")?;
    let result = expected.get(RESULT)?;
    let follows = verdict(RULES.iter().all(|rule| expected.get(rule).is_none_or(|answer| answer != "NO")));
    Fact::is(follows).difference(result, &format!("expected.{RESULT}"))
}
