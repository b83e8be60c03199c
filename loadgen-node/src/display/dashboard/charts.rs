//! Charts of what was seen so far: rate, latency, schedule lag.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Sparkline};

use super::super::units::{rate, time};
use super::history::Point;
use super::picture::Picture;

/// One chart: its name, its values, and how one is written.
type Chart = (&'static str, fn(&Point) -> u64, fn(u64) -> String);

const CHARTS: [Chart; 3] = [
    // Thousandths, so that slow runs have a curve, too.
    ("rate", |point| (point.rate_per_s * 1e3) as u64, |value| format!("{}/s", rate(value as f64 / 1e3))),
    ("p99 latency", |point| point.p99_ns, time),
    ("largest lag", |point| point.lag_ns, time),
];

/// A chart a line: rate and latency.
pub(super) fn lines(frame: &mut Frame<'_>, picture: &Picture<'_>, area: Rect) {
    let rows: [Rect; 2] = Layout::vertical([Constraint::Length(1); 2]).areas(area);
    for (row, chart) in rows.into_iter().zip(CHARTS) {
        let parts = [Constraint::Length(12), Constraint::Min(10), Constraint::Length(28)];
        let [name, curve, scale] = Layout::horizontal(parts).areas(row);
        let largest = curve_of(frame, picture, chart, curve);
        frame.render_widget(Paragraph::new(chart.0), name);
        let scale_text =
            format!(" up to {}, {}", largest.map_or_else(|| "0".to_owned(), chart.2), picture.controls.span_words());
        frame.render_widget(Paragraph::new(scale_text).style(picture.paint.quiet()), scale);
    }
}

/// All charts below each other, each with a heading.
pub(super) fn panels(frame: &mut Frame<'_>, picture: &Picture<'_>, area: Rect) {
    let panels: [Rect; 3] = Layout::vertical([Constraint::Fill(1); 3]).areas(area);
    for (panel, chart) in panels.into_iter().zip(CHARTS) {
        let [head, curve, _] =
            Layout::vertical([Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)]).areas(panel);
        let largest = curve_of(frame, picture, chart, curve);
        let scale = largest.map_or_else(|| "nothing yet".to_owned(), |value| format!("up to {}", (chart.2)(value)));
        let text = format!("{}, {scale}, {}", chart.0, picture.controls.span_words());
        frame.render_widget(Paragraph::new(Line::styled(text, picture.paint.head())), head);
    }
}

/// Draws the curve; the largest value in it.
fn curve_of(frame: &mut Frame<'_>, picture: &Picture<'_>, (_, value, _): Chart, area: Rect) -> Option<u64> {
    let columns = usize::from(area.width);
    let data = picture.history.map(|history| history.columns(picture.controls.span_s(), columns, value));
    let data = data.unwrap_or_default();
    let largest = data.iter().copied().max().filter(|largest| *largest > 0);
    frame.render_widget(Sparkline::default().data(data).style(picture.paint.bar()), area);
    largest
}
