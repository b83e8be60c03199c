//! The whole picture: which part stands where.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};

use super::keys::HELP;
use super::paint::Paint;
use super::picture::{Picture, Scene};
use super::size::too_small;
use super::{charts, nodes, numbers, tenants};

/// From this width on the picture has two columns.
const WIDE: u16 = 140;

/// Draws the scene.
pub(super) fn draw(frame: &mut Frame<'_>, scene: &Scene<'_>) {
    let area = frame.area();
    if let Some(message) = too_small((area.width, area.height)) {
        return frame.render_widget(Paragraph::new(message).wrap(ratatui::widgets::Wrap { trim: true }), area);
    }
    let [head, body, foot] =
        Layout::vertical([Constraint::Length(2), Constraint::Min(0), Constraint::Length(1)]).areas(area);
    match scene.chosen() {
        Some(picture) => {
            frame.render_widget(Paragraph::new(numbers::head(&picture, head.width)), head);
            let draw = if area.width >= WIDE { wide } else { narrow };
            draw(frame, scene, &picture, body);
        }
        None => {
            frame.render_widget(Paragraph::new(tenants::head(scene, head.width)), head);
            beside_each_other(frame, scene, body);
        }
    }
    frame.render_widget(Paragraph::new(footer(scene)), foot);
    if scene.controls.has_help {
        help(frame, area, scene.paint);
    }
}

/// The tenants of a mix, and the log.
fn beside_each_other(frame: &mut Frame<'_>, scene: &Scene<'_>, area: Rect) {
    let log_rows = (area.height / 3).clamp(2, 12);
    let [of_tenants, of_log] = Layout::vertical([Constraint::Min(3), Constraint::Length(log_rows)]).areas(area);
    tenants::draw(frame, scene, of_tenants);
    log(frame, scene, of_log);
}

/// One column, for terminals of the usual size.
fn narrow(frame: &mut Frame<'_>, scene: &Scene<'_>, picture: &Picture<'_>, area: Rect) {
    let figures = numbers::figures(picture);
    let checks = numbers::checks(picture, area.width, 2);
    let spare = usize::from(area.height).saturating_sub(figures.len() + checks.len() + 2);
    let log_rows = (spare / 3).clamp(2, 8) as u16;
    let rows = [
        Constraint::Length(figures.len() as u16),
        Constraint::Length(checks.len() as u16),
        Constraint::Length(2),
        Constraint::Min(3),
        Constraint::Length(log_rows),
    ];
    let [of_figures, of_checks, of_charts, of_nodes, of_log] = Layout::vertical(rows).areas(area);
    frame.render_widget(Paragraph::new(figures), of_figures);
    frame.render_widget(Paragraph::new(checks), of_checks);
    charts::lines(frame, picture, of_charts);
    nodes::draw(frame, picture, of_nodes);
    log(frame, scene, of_log);
}

/// Two columns: numbers and the log on the left, charts and nodes on the right.
fn wide(frame: &mut Frame<'_>, scene: &Scene<'_>, picture: &Picture<'_>, area: Rect) {
    let [left, right] = Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]).spacing(2).areas(area);
    let figures = numbers::figures(picture);
    let checks = numbers::checks(picture, left.width, 1);
    let rows =
        [Constraint::Length(figures.len() as u16 + 1), Constraint::Length(checks.len() as u16 + 1), Constraint::Min(3)];
    let [of_figures, of_checks, of_log] = Layout::vertical(rows).areas(left);
    frame.render_widget(Paragraph::new(figures), of_figures);
    frame.render_widget(Paragraph::new(checks), of_checks);
    log(frame, scene, of_log);
    let chart_rows = (right.height / 2).min(27);
    let [of_charts, of_nodes] = Layout::vertical([Constraint::Length(chart_rows), Constraint::Min(3)]).areas(right);
    charts::panels(frame, picture, of_charts);
    nodes::draw(frame, picture, of_nodes);
}

/// The last lines of the log that fit.
fn log(frame: &mut Frame<'_>, scene: &Scene<'_>, area: Rect) {
    let rows = usize::from(area.height.saturating_sub(1));
    let last = scene.log.len().saturating_sub(rows);
    let lines = scene.log.iter().skip(last).map(|line| Line::from(line.as_str()));
    let head = Line::styled("log", scene.paint.head());
    frame.render_widget(Paragraph::new(std::iter::once(head).chain(lines).collect::<Vec<_>>()), area);
}

fn footer(scene: &Scene<'_>) -> Line<'static> {
    if scene.controls.asks {
        let style = scene.paint.head();
        return Line::styled("Stop the run? Its measurements are written.  y: stop   any other key: go on", style);
    }
    let (is_mix, is_list) = (scene.controls.tenants > 0, scene.chosen().is_none());
    let keys = [
        Some(("q", "stop")),
        Some(("h", "help")),
        Some(("+ -", "zoom")),
        is_mix.then_some(("tab", "next tenant")),
        Some(("up down", if is_list { "tenants" } else { "nodes" })),
        Some(("l", "progress line")),
    ];
    let spans = keys
        .into_iter()
        .flatten()
        .flat_map(|(key, what)| [Span::styled(key, scene.paint.head()), Span::raw(format!(" {what}   "))]);
    Line::from_iter(spans)
}

/// The keys, in the middle of the picture.
fn help(frame: &mut Frame<'_>, area: Rect, paint: Paint) {
    let lines: Vec<Line<'_>> = HELP
        .into_iter()
        .map(|(key, what)| Line::from(vec![Span::styled(format!(" {key:9} "), paint.head()), Span::raw(what)]))
        .collect();
    let block = ratatui::widgets::Block::bordered().title(" keys ");
    let (width, height) = (area.width.min(76), (lines.len() as u16 + 2).min(area.height));
    let (x, y) = ((area.width - width) / 2, (area.height - height) / 2);
    let place = Rect { x: area.x + x, y: area.y + y, width, height };
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(lines).block(block), place);
}
