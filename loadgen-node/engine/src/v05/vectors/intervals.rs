//! Intervals: the ticks of MultiStream, and what follows from those that were skipped.

use super::super::judge::{Judgement, Measured};
use super::super::summary::{
    Lines, Summary, broken_rules, errors_line, interval_line, per_query_line, verdict, yes_or_no,
};
use super::facts::Fact;
use super::scripted_run::{SUT, ScriptedRun};

pub(super) fn facts(run: &ScriptedRun) -> Fact {
    let Some((series, reported)) = run.reported() else { return Fact::Some(Vec::new()) };
    let (measured, judgement) = (&reported.measured, reported.judgement);
    let summary = Summary::new(SUT, &series.effective, measured, judgement);
    let mut facts = of_verdict(judgement);
    facts.extend(of_ticks(run, measured));
    facts.extend([
        ("interval_line", Fact::is(interval_line(&series.effective))),
        ("per_query_line", Fact::is(per_query_line(&series.effective))),
        ("summary", Fact::lines(&summary.result)),
        ("error_lines_in_detail_log", Fact::is(run.outcome.errors.len())),
        ("errors_line", Fact::is(errors_line(run.outcome.errors.len()))),
    ]);
    for (section, lines) in &summary.stats {
        match *section {
            "stats intervals" => facts.push(("interval_percentiles", numbers(lines))),
            "stats per query" => facts.push(("stats_per_query", Fact::lines(lines))),
            _ => facts.push(("stats_per_sample", Fact::lines(lines))),
        }
    }
    Fact::Some(facts)
}

fn of_verdict(judgement: Judgement) -> Vec<(&'static str, Fact)> {
    vec![
        ("verdict", Fact::is(verdict(judgement.is_valid()))),
        ("performance", Fact::is(judgement.latency.map(yes_or_no))),
        ("min_duration", Fact::is(yes_or_no(judgement.min_duration))),
        ("min_queries", Fact::is(yes_or_no(judgement.min_queries))),
        ("recommendations", Fact::is(broken_rules(judgement))),
    ]
}

fn of_ticks(run: &ScriptedRun, measured: &Measured) -> Vec<(&'static str, Fact)> {
    let Some((series, _)) = run.reported() else { return Vec::new() };
    let queries = series.run.record.queries();
    let mut ticks = Vec::new();
    for query in queries {
        ticks.push(query.intervals_before + ticks.last().copied().unwrap_or(0));
    }
    let of =
        |value: fn(&super::super::record::IssuedQuery) -> u64| Fact::is(queries.iter().map(value).collect::<Vec<_>>());
    // No query waited for the last ones.
    let tail = series.effective.max_async_queries.min(measured.queries_issued);
    vec![
        ("queries_issued", Fact::is(measured.queries_issued)),
        ("ticks_passed", Fact::is(ticks.last().copied())),
        ("tick_number", Fact::is(ticks)),
        ("scheduled_ns_from_start", of(|query| query.scheduled_ns)),
        ("intervals_before_query", of(|query| query.intervals_before)),
        ("query_latency_ns_from_schedule", of(|query| query.latency_ns())),
        ("intervals_caused_by_query", Fact::is(measured.query_intervals.clone())),
        ("tail_queries_by_latency_formula", Fact::is(tail)),
    ]
}

/// Lines whose values are numbers, less the one that is text.
fn numbers(lines: &Lines) -> Fact {
    let number = |(label, value): &(String, String)| Some((label.clone(), Fact::is(value.parse::<u64>().ok()?)));
    Fact::All(lines.iter().filter_map(number).collect())
}
