//! The load of a run: its arrivals, bursts and users, and the trials of a search for the peak.

use lon_proto::figures::{duration_ns, number};
use maud::{Markup, html};

use super::chart::{Axis, Chart, Curve};
use super::charts::latency;
use super::source::Source;
use super::tables::table;
use crate::outputs::documents::bursts::BurstsDocument;
use crate::outputs::documents::find_peak::FindPeakDocument;
use crate::outputs::documents::result_summary::ResultSummary;
use crate::outputs::screen::latencies::latency_text;
use crate::outputs::screen::search_lines;
use loadgen::judge::UsersSummary;
use loadgen::run::Trial;

/// The answers about the load, where the run has something to say of it.
pub(super) fn answers(result: &ResultSummary) -> [(&'static str, Option<String>); 4] {
    let arrivals = result.arrivals.as_ref().filter(|_| result.find_peak.is_none());
    [
        ("Peak", result.find_peak.as_ref().map(|search| peak(result, search))),
        ("Arrivals", arrivals.map(|arrivals| arrivals.text())),
        ("Bursts", result.bursts.as_ref().map(bursts)),
        ("Users", result.users.map(users)),
    ]
}

fn peak(result: &ResultSummary, search: &FindPeakDocument) -> String {
    let load = result.settings.scenario.traffic().load(&result.settings);
    let (setting, unit) = load.map_or(("load", ""), |load| (load.setting, load.unit));
    let holds = |trial: &&Trial| trial.is_verification && trial.passed && Some(trial.load) == search.bracket.low;
    let verified = search.trials.iter().filter(holds).count();
    let spread = |low| search_lines::spread(low, &search.trials).unwrap_or_default();
    let runs = if verified == 1 { "a whole run".to_owned() } else { format!("{verified} whole runs") };
    match search.bracket.low {
        Some(low) if verified > 0 => format!("{setting} {} {unit}, verified by {runs}{}", number(low), spread(low)),
        Some(low) => format!("{setting} {} {unit}, not verified by a whole run{}", number(low), spread(low)),
        None => "none was found".to_owned(),
    }
}

fn bursts(bursts: &BurstsDocument) -> String {
    let BurstsDocument { bursts: count, size, completion_ns, starts_with_backlog, backlog_max, .. } = bursts;
    let (p50, p99) = (latency_text(completion_ns.p50), latency_text(completion_ns.p99));
    format!(
        "{count} of {size} queries, done after {p50} (p50), {p99} (p99); {starts_with_backlog} began with unanswered \
         queries, {backlog_max} at most"
    )
}

fn users(users: UsersSummary) -> String {
    let UsersSummary { users, in_flight, expected_in_flight } = users;
    let (in_flight, expected) = (number(in_flight), number(expected_in_flight));
    format!("{users}, {in_flight} queries in flight on average ({expected} by Little's law)")
}

/// The trials of a search in a table, in order.
pub(super) fn trials(source: &Source) -> Markup {
    let Some(search) = &source.result.find_peak else { return html! {} };
    let row = |(at, trial): (usize, &Trial)| {
        let kind = if trial.is_verification { "whole run" } else { "trial" };
        let ended = if trial.passed { "keeps the limit" } else { "misses the limit" };
        let text = |text: String| html! { (text) };
        let cells = vec![
            text(kind.to_owned()),
            text(number(trial.load)),
            text(ended.to_owned()),
            text(duration_ns(trial.target_percentile_ns)),
            text(duration_ns(trial.p99_ns)),
            text(trial.queries.to_string()),
        ];
        ((at + 1).to_string(), cells)
    };
    let rows: Vec<_> = search.trials.iter().enumerate().map(row).collect();
    let head = ["run", "kind", "load", "limit", "judged percentile", "p99", "queries"];
    table("trials", "Search for the peak", &head, &rows)
}

/// The judged percentile over the load, of trials and of whole runs.
pub(super) fn chart(source: &Source) -> Option<Chart> {
    let search = source.result.find_peak.as_ref()?;
    let mut places: Vec<f64> = search.trials.iter().map(|trial| trial.load).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let curve = |name: &str, is_verification: bool| {
        let worst_at = |load: &f64| {
            let here = search.trials.iter().filter(|trial| trial.load == *load);
            let latencies =
                here.filter(|trial| trial.is_verification == is_verification && trial.target_percentile_ns > 0);
            latencies.map(|trial| trial.target_percentile_ns as f64).reduce(f64::max)
        };
        Curve { name: name.to_owned(), values: places.iter().map(worst_at).collect() }
    };
    let curves = [curve("trial", false), curve("whole run", true)];
    let curves = curves.into_iter().filter(|curve| curve.values.iter().any(Option::is_some)).collect();
    let limit = source
        .result
        .latency_limits
        .iter()
        .map(|limit| (format!("limit of p{}", limit.percentile), limit.limit_ns as f64));
    (places.len() > 1).then(|| Chart {
        id: "peak",
        title: "Latency over the load",
        about: "The judged percentile of the latency at each load of the search, the slowest of its runs.".to_owned(),
        x: Axis { title: "load".into(), is_log: false, is_whole: false, text: number },
        y: latency(),
        places,
        curves,
        limits: limit.collect(),
        marks: Vec::new(),
    })
}
