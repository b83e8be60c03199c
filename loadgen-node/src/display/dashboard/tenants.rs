//! The tenants of a mix beside each other: two rows for each. The first has its numbers, the second its verdict so far
//! and the curve of its rate.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Sparkline};

use super::super::units::{clock, rate, time};
use super::super::viewer::RunView;
use super::history::Point;
use super::numbers;
use super::paint::sign;
use super::picture::{Scene, fitted};
use lon_run::live::live_checks::State;
use lon_run::live::phase::Phase;

/// Rows of one tenant.
const ROWS: u16 = 2;

/// Columns of a name at most.
const LONGEST_NAME: usize = 24;

/// Returns the title of the mix and its state, in two lines.
pub(super) fn head(scene: &Scene<'_>, columns: u16) -> Vec<Line<'static>> {
    let columns = usize::from(columns);
    let Some(longest) = scene.runs.iter().map(|run| run.newest.snapshot.elapsed).max() else {
        return vec![Line::styled(fitted("The tenants are about to begin.", columns), scene.paint.head())];
    };
    let over = scene.runs.iter().filter(|run| !run.goes_on()).count();
    let over = if over > 0 { format!(", {over} over") } else { String::new() };
    let s = if scene.runs.len() == 1 { "" } else { "s" };
    let title = format!("{} tenant{s} · {}{over}", scene.runs.len(), clock(longest));
    let mut transports: Vec<&str> = scene.runs.iter().map(|run| run.newest.about.transport).collect();
    transports.dedup();
    let rates: f64 = scene.runs.iter().filter(|run| run.goes_on()).map(|run| run.newest.snapshot.rate_per_s).sum();
    let second = format!("{} samples/s together, over {}", rate(rates), transports.join(", "));
    vec![
        Line::styled(fitted(&title, columns), scene.paint.head()),
        Line::styled(fitted(&second, columns), scene.paint.quiet()),
    ]
}

/// Draws the heading of the list, and as many tenants as fit.
pub(super) fn draw(frame: &mut Frame<'_>, scene: &Scene<'_>, area: Rect) {
    let [head, list] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area);
    let names = scene.runs.iter().map(|run| Span::raw(name(run)).width());
    let name_width = names.max().unwrap_or(0).clamp(6, LONGEST_NAME);
    frame.render_widget(Paragraph::new(Line::styled(heading(name_width), scene.paint.quiet())), head);
    let room = usize::from(list.height / ROWS);
    let first = scene.controls.first_row.min(scene.runs.len().saturating_sub(room));
    for (run, y) in scene.runs.iter().skip(first).take(room).zip((list.y..).step_by(usize::from(ROWS))) {
        tenant(frame, scene, run, name_width, Rect { y, height: ROWS, ..list });
    }
}

fn name(run: &RunView) -> &str {
    run.tenant.as_deref().unwrap_or_default()
}

fn heading(name: usize) -> String {
    let heads = ["rate/s", "so far", "in flight", "failed", "p50", "p99", "lag p99", "done"];
    format!("{:name$}{}", "tenant", in_columns(heads))
}

/// Draws one tenant.
fn tenant(frame: &mut Frame<'_>, scene: &Scene<'_>, run: &RunView, name_width: usize, area: Rect) {
    let [numbers_row, verdict_row] = Layout::vertical([Constraint::Length(1); 2]).areas(area);
    let short = fitted(name(run), name_width);
    let gap = " ".repeat(name_width.saturating_sub(Span::raw(short.as_str()).width()));
    let parts = [Span::styled(short, scene.paint.head()), Span::raw(format!("{gap}{}", figures(run)))];
    frame.render_widget(Paragraph::new(Line::from_iter(parts)), numbers_row);

    let [words_area, curve] =
        Layout::horizontal([Constraint::Fill(2), Constraint::Fill(1)]).spacing(2).areas(verdict_row);
    let (state, text) = verdict(run);
    let text = fitted(&text, usize::from(words_area.width.saturating_sub(4)));
    let line = Line::styled(format!("  {} {text}", sign(state)), scene.paint.state(state));
    frame.render_widget(Paragraph::new(line), words_area);
    // Thousandths, so that slow runs have a curve, too.
    let thousandths = |point: &Point| (point.rate_per_s * 1e3) as u64;
    let columns = usize::from(curve.width);
    let history = scene.histories.of(run).map(|it| it.columns(scene.controls.span_s(), columns, thousandths));
    let sparkline = Sparkline::default().data(history.unwrap_or_default()).style(scene.paint.bar());
    frame.render_widget(sparkline, curve);
}

/// Numbers of a tenant, in the order of the heading.
fn figures(run: &RunView) -> String {
    let snapshot = &run.newest.snapshot;
    let unknown = || "-".to_owned();
    let so_far = snapshot.latency.so_far;
    let cells = [
        if run.goes_on() { rate(snapshot.rate_per_s) } else { unknown() },
        snapshot.phase.as_ref().map_or_else(unknown, |phase| rate(phase.rate_per_s())),
        snapshot.outstanding().to_string(),
        snapshot.failed().to_string(),
        so_far.map_or_else(unknown, |percentiles| time(percentiles.p50_ns)),
        so_far.map_or_else(unknown, |percentiles| time(percentiles.p99_ns)),
        if snapshot.lag.count > 0 { time(snapshot.lag.p99_ns) } else { unknown() },
        share(snapshot.phase.as_ref()).map_or_else(unknown, |share| format!("{:.0} %", share * 100.0)),
    ];
    in_columns(cells.each_ref().map(String::as_str))
}

/// Cells in columns of these widths, which fit beside a name of ten columns into eighty.
fn in_columns(cells: [&str; 8]) -> String {
    let widths = [8, 8, 10, 8, 9, 9, 9, 7];
    cells.iter().zip(widths).map(|(cell, width)| format!("{cell:>width$}")).collect()
}

fn share(phase: Option<&Phase>) -> Option<f64> {
    phase.and_then(|phase| if phase.is_over { Some(1.0) } else { phase.share_done() })
}

/// The verdict of a tenant as it stands, after its benchmark and scenario.
fn verdict(run: &RunView) -> (State, String) {
    let (state, text) = match run.newest.is_valid {
        Some(true) => (State::Holds, "over: VALID".to_owned()),
        Some(false) => (State::Broken, "over: INVALID".to_owned()),
        None => match (run.newest.snapshot.loading, &run.newest.snapshot.phase) {
            (None, Some(_)) => numbers::verdict(&run.newest.snapshot),
            _ => (State::Open, numbers::how_far(&run.newest.snapshot)),
        },
    };
    (state, format!("{}: {text}", run.newest.about.title()))
}
