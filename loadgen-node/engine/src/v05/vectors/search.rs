//! Searches for the peak: trials, bounds and result, loads, and the summary of the series at the peak.

use std::rc::Rc;

use serde_json::Value;

use super::super::script::SeriesSamples;
use super::super::search::{Part, Peak};
use super::super::summary::{Summary, broken_rules};
use super::super::test::{SearchOutcome, SeriesOutcome};
use super::super::trial::Trial;
use super::facts::Fact;
use super::lists::List;
use super::scripted_run::{SUT, ScriptedRun};
use super::traffic::calls;

pub(super) fn facts(run: &ScriptedRun) -> Fact {
    let (outcome, world) = (&run.outcome, &run.world);
    let mut facts = vec![
        ("error_lines_in_detail_log", Fact::is(outcome.errors.len())),
        ("summary_written", Fact::is(outcome.reported.is_some())),
        ("report_latency_results_calls", Fact::is(u64::from(outcome.reported.is_some()))),
        ("order_of_calls", calls(&world.calls)),
        ("loaded_set_counts", Fact::is(world.loaded.iter().map(Vec::len).collect::<Vec<_>>())),
        ("loaded_set_sha256", Fact::is(world.loaded.iter().map(|set| List::of(set).sha256()).collect::<Vec<_>>())),
    ];
    match &outcome.search {
        Some(search) => facts.extend(of_search(run, search)),
        // The log has no event of a search.
        None => facts.push(("events", calls(&world.calls))),
    }
    if let Some((series, reported)) = run.reported() {
        let summary = Summary::new(SUT, &series.effective, &reported.measured, reported.judgement);
        facts.push(("summary", Fact::lines(&summary.result)));
        facts.push(("failed_rules", Fact::is(broken_rules(reported.judgement))));
        facts.push(("reported_latencies_are_sorted", Fact::is(reported.latencies_ns.is_sorted())));
    }
    Fact::Some(facts)
}

fn of_search(run: &ScriptedRun, search: &SearchOutcome) -> Vec<(&'static str, Fact)> {
    let series = run.outcome.series.iter().zip(&run.world.series);
    let trials = search.trials.iter().zip(series).map(|(trial, (series, samples))| of_trial(trial, series, samples));
    let bounds = search.boundaries.map(|(lower, upper)| vec![value(lower), value(upper)]);
    vec![
        ("trials", Fact::Row(trials.collect())),
        ("boundaries", Fact::is(bounds)),
        ("result", Fact::is(search.peak.map(value))),
        ("result_printed", Fact::is(search.peak.map(Peak::printed))),
    ]
}

fn of_trial(trial: &Trial, series: &SeriesOutcome, samples: &SeriesSamples) -> Fact {
    let queries = Rc::new(List::Groups(samples.samples.clone(), samples.samples_per_query));
    let part = match trial.wish.part {
        Part::Base => "base",
        Part::Widen => "widen",
        Part::Bisect => "bisect",
        Part::Verify => "verify",
    };
    let mut facts = vec![
        ("phase", Fact::is(part)),
        ("value", Fact::Is(value(trial.wish.value))),
        ("printed", Fact::is(trial.wish.value.printed())),
        ("passed", Fact::is(trial.passed())),
        ("loaded_set", Fact::is(series.loaded_set)),
        ("queries_issued", Fact::is(series.run.record.queries().len())),
        ("queries_generated", Fact::is(series.phase.generated.queries)),
        ("queries_sha256", Fact::is(queries.sha256())),
        ("queries_first3", Fact::Begins(queries)),
    ];
    facts.extend(trial.wish.lower.map(|lower| ("lower", Fact::Is(value(lower)))));
    facts.extend(trial.wish.upper.map(|upper| ("upper", Fact::Is(value(upper)))));
    Fact::Some(facts)
}

fn value(peak: Peak) -> Value {
    match peak {
        Peak::Samples(samples) => samples.into(),
        Peak::Rate(qps) => qps.into(),
    }
}
