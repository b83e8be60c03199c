//! Numbers: what runs, how fast, and what is judged so far.

use ratatui::text::{Line, Span};

use super::super::units::{clock, rate, time};
use super::paint::sign;
use super::picture::{Picture, fitted};
use lon_run::live::latencies::{Percentiles, Spread};
use lon_run::live::live_checks::{Check, State};
use lon_run::live::phase::Phase;
use lon_run::live::snapshot::Snapshot;

/// Returns the title of the run and its progress, in two lines.
pub(super) fn head(picture: &Picture<'_>, columns: u16) -> Vec<Line<'static>> {
    let columns = usize::from(columns);
    let how_far = match picture.is_valid {
        Some(is_valid) => format!("over: {}", if is_valid { "VALID" } else { "INVALID" }),
        None => how_far(picture.snapshot),
    };
    let title = &picture.title;
    let sut = format!("{} over {}", picture.about.sut_name, picture.about.transport);
    let first = fitted(&format!("{title} · {how_far}"), columns);
    vec![Line::styled(first, picture.paint.head()), Line::styled(fitted(&sut, columns), picture.paint.quiet())]
}

/// Returns the progress of a run that goes on.
pub(super) fn how_far(snapshot: &Snapshot) -> String {
    match (snapshot.loading, &snapshot.phase) {
        (Some((loaded, loading)), _) => format!("loading {loaded} of {loading} samples"),
        (None, Some(phase)) => progress(phase),
        (None, None) => "about to begin".to_owned(),
    }
}

/// Returns the progress of a phase: name, time, a bar.
fn progress(phase: &Phase) -> String {
    const BAR: usize = 16;
    let bar = |share: f64| {
        let done = (share * BAR as f64) as usize;
        format!("  {}{} {:.0} %", "█".repeat(done), "░".repeat(BAR - done), share * 100.0)
    };
    let bar = phase.share_done().map(bar).unwrap_or_default();
    let end_text = if phase.is_over { "over".to_owned() } else { format!("{} left", clock(phase.remaining_time())) };
    format!("{} · {}, about {end_text}{bar}", phase.name(), clock(phase.elapsed))
}

/// Rate, latencies and lag.
pub(super) fn figures(picture: &Picture<'_>) -> Vec<Line<'static>> {
    let snapshot = picture.snapshot;
    let so_far = snapshot.phase.as_ref().map_or(0.0, Phase::rate_per_s);
    let tokens = snapshot.tokens_per_s.map(|per_s| format!("{} tokens/s", rate(per_s))).unwrap_or_default();
    let mut lines = vec![Line::from(format!(
        "rate {}/s, {}/s so far   {} answered   {} outstanding   {} failed",
        rate(snapshot.rate_per_s),
        rate(so_far),
        snapshot.ended.saturating_sub(snapshot.failed()),
        snapshot.outstanding(),
        snapshot.failed(),
    ))];
    let names = ["p50", "p90", "p99", "p99.9", "max"];
    let heads: String = names.iter().map(|name| format!("{name:>10}")).collect();
    lines.push(Line::styled(format!("{tokens:18}{heads}"), picture.paint.quiet()));
    let is_token_run = picture.about.terms.tokens.is_some();
    let all = [("latency", snapshot.latency), ("TTFT", snapshot.first_token), ("TPOT", snapshot.per_token)];
    for (name, Spread { recent, so_far }) in all.into_iter().take(if is_token_run { 3 } else { 1 }) {
        lines.push(Line::from(format!("{:18}{}", format!("{name}, last 5 s"), row(recent))));
        lines.push(Line::from(format!("{:18}{}", format!("{name}, so far"), row(so_far))));
    }
    let lag = snapshot.lag;
    let text = match lag.count {
        0 => "schedule lag      not known yet".to_owned(),
        _ => format!(
            "{:18}{:>10}{:>10}{:>10}{:>10}{:>10} {} now",
            "schedule lag",
            time(lag.p50_ns),
            "",
            time(lag.p99_ns),
            "",
            time(lag.max_ns),
            time(snapshot.recent_lag_ns),
        ),
    };
    lines.push(Line::from(text));
    lines
}

fn row(percentiles: Option<Percentiles>) -> String {
    let Some(percentiles) = percentiles else { return "      none".to_owned() };
    let values = [percentiles.p50_ns, percentiles.p90_ns, percentiles.p99_ns, percentiles.p99_9_ns, percentiles.max_ns];
    values.map(|ns| format!("{:>10}", time(ns))).concat()
}

/// Returns the verdict as it stands, in words.
pub(super) fn verdict(snapshot: &Snapshot) -> (State, String) {
    let standing = &snapshot.standing;
    let state = standing.against().map_or(State::Open, |check| check.state);
    let text = match &snapshot.phase {
        Some(phase) if phase.is_accuracy && state < State::Fails => {
            "nothing against it so far; this phase is judged by its answers, after the run".to_owned()
        }
        Some(_) => standing.text(),
        None => "nothing is judged yet".to_owned(),
    };
    (state, text)
}

/// Returns the judgement so far: the verdict as it stands, then the rules in so many columns.
pub(super) fn checks(picture: &Picture<'_>, width: u16, columns: usize) -> Vec<Line<'static>> {
    let (standing, paint) = (&picture.snapshot.standing, picture.paint);
    let width = usize::from(width);
    let (state, verdict_text) = verdict(picture.snapshot);
    let head = vec![
        Span::styled("verdict so far  ", paint.head()),
        Span::styled(fitted(&verdict_text, width - 16), paint.state(state)),
    ];
    let mut lines = vec![Line::from(head)];
    let mut worst_first: Vec<&Check> = standing.checks.iter().collect();
    worst_first.sort_by_key(|check| std::cmp::Reverse(check.state));
    let column = width / columns;
    for rules in worst_first.chunks(columns) {
        let cells = rules.iter().flat_map(|check| {
            let text = fitted(&check.text(), column.saturating_sub(3));
            let gap = column.saturating_sub(2 + Span::raw(text.as_str()).width());
            let sign = Span::styled(format!("{} ", sign(check.state)), paint.state(check.state));
            [sign, Span::raw(text), Span::raw(" ".repeat(gap))]
        });
        lines.push(Line::from_iter(cells));
    }
    lines
}
