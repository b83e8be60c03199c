//! Traffic: loaded sets, generated queries, and what the SUT saw of them.

use std::rc::Rc;

use super::super::script::{Call, SeriesSamples};
use super::super::test::SeriesOutcome;
use super::facts::Fact;
use super::lists::List;
use super::scripted_run::ScriptedRun;

pub(super) fn facts(run: &ScriptedRun) -> Fact {
    let world = &run.world;
    let padding = |series: &SeriesOutcome| series.phase.set.indices.len() - series.phase.set.end;
    let all = run.outcome.series.iter().zip(&world.series);
    Fact::Some(vec![
        ("order_of_calls", calls(&world.calls)),
        ("padding_per_set", Fact::is(run.outcome.series.first().map(padding))),
        ("loaded_sets", Fact::Row(world.loaded.iter().map(|set| loaded_set(set)).collect())),
        ("unload_same_lists_same_order", Fact::is(world.loaded == world.unloaded)),
        ("series", Fact::Row(all.map(|(series, samples)| of_series(series, samples)).collect())),
    ])
}

/// The calls in their order, by name.
pub(super) fn calls(calls: &[Call]) -> Fact {
    Fact::is(calls.iter().map(|call| call.name()).collect::<Vec<_>>())
}

fn loaded_set(set: &[u32]) -> Fact {
    let list = Rc::new(List::of(set));
    Fact::Some(vec![
        ("count", Fact::is(list.len())),
        ("sha256", Fact::is(list.sha256())),
        ("indices", Fact::Whole(list.clone())),
        ("indices_first", Fact::Begins(list.clone())),
        ("indices_last", Fact::Ends(list)),
    ])
}

fn of_series(series: &SeriesOutcome, samples: &SeriesSamples) -> Fact {
    let (phase, record) = (&series.phase, &series.run.record);
    let queries = Rc::new(List::Groups(samples.samples.clone(), samples.samples_per_query));
    let first = &samples.samples[..samples.samples_per_query];
    let mut facts = vec![
        ("mode", Fact::is(if phase.is_accuracy() { "accuracy" } else { "performance" })),
        ("loaded_set", Fact::is(series.loaded_set)),
        ("generated_queries", Fact::is(phase.generated.queries)),
        ("samples_per_query_setting", Fact::is(series.effective.samples_per_query)),
        ("generated_duration_ns", Fact::is(phase.generated.duration_ns)),
        ("issued_queries", Fact::is(record.queries().len())),
        ("queries_sha256", Fact::is(queries.sha256())),
        ("queries_first", Fact::Begins(queries)),
        ("first_query_len", Fact::is(first.len())),
        ("first_query_first_indices", Fact::Begins(Rc::new(List::of(first)))),
    ];
    if series.effective.shape.has_random_gaps {
        let due = Rc::new(List::Numbers(record.queries().iter().map(|query| query.scheduled_ns).collect()));
        facts.push(("due_ns_sha256", Fact::is(due.sha256())));
        facts.push(("due_ns_first", Fact::Begins(due)));
    }
    Fact::Some(facts)
}
