//! The nodes: a sign for each, however many there are, and a list of as many as fit.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::super::units::{bandwidth, rate};
use super::paint::Paint;
use super::picture::{Picture, fitted};
use lon_run::live::live_checks::State;
use lon_run::live::snapshot::Node;

/// A node's rate beside the largest one.
const LEVELS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// Draws heading, signs and list.
pub(super) fn draw(frame: &mut Frame<'_>, picture: &Picture<'_>, area: Rect) {
    let (nodes, paint) = (&picture.snapshot.nodes, picture.paint);
    let (width, height) = (usize::from(area.width), usize::from(area.height));
    let mut lines = vec![Line::styled(fitted(&heading(nodes), width), paint.head())];
    let fits_all = nodes.len() < height;
    if !fits_all {
        let rows = (height.saturating_sub(3) / 2).max(1);
        lines.extend(signs(nodes, width, rows, paint));
    }
    // The heading of the list is left out before a node is.
    let has_head = !fits_all || nodes.len() + 1 < height;
    let room = height.saturating_sub(lines.len() + usize::from(has_head));
    let name_width = nodes.iter().map(|node| Span::raw(node.now.name.as_str()).width()).max().unwrap_or(0);
    let table = Table { name: name_width.clamp(4, (width / 4).max(12)), bar: width.saturating_sub(90).min(24), paint };
    let first = picture.controls.first_row.min(nodes.len().saturating_sub(room));
    if room > 0 && !nodes.is_empty() {
        lines.extend(has_head.then(|| table.head()));
        lines.extend(nodes.iter().skip(first).take(room).map(|node| table.row(node)));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

/// Returns the heading: the number of nodes, the spread of their shares, and the number of lost nodes.
fn heading(nodes: &[Node]) -> String {
    let percent = |node: &Node| format!("{:.1} % ({})", node.share * 100.0, node.now.name);
    let by_share = |a: &&Node, b: &&Node| a.share.total_cmp(&b.share);
    let (least, most) = (nodes.iter().min_by(by_share), nodes.iter().max_by(by_share));
    let spread = match (least, most, nodes.len()) {
        (Some(least), Some(most), 3..) => format!(", shares from {} to {}", percent(least), percent(most)),
        _ => String::new(),
    };
    let lost = nodes.iter().filter(|node| node.now.lost.is_some()).count();
    let lost = if lost > 0 { format!(", {lost} LOST") } else { String::new() };
    let s = if nodes.len() == 1 { "" } else { "s" };
    format!("{} node{s}{lost}{spread}", nodes.len())
}

/// A sign for each node by its rate, in `rows` rows at most; where they do not fit, one for the slowest of several.
fn signs(nodes: &[Node], width: usize, rows: usize, paint: Paint) -> Vec<Line<'static>> {
    let largest = nodes.iter().map(|node| node.samples_per_s).fold(0.0, f64::max);
    let together = nodes.len().div_ceil((width * rows).max(1)).max(1);
    let sign = |nodes: &[Node]| {
        if nodes.iter().any(|node| node.now.lost.is_some()) {
            return Span::styled("x", paint.state(State::Broken));
        }
        let least = nodes.iter().map(|node| node.samples_per_s).fold(f64::INFINITY, f64::min);
        let level = (least / largest.max(1e-9) * LEVELS.len() as f64).ceil().clamp(1.0, LEVELS.len() as f64);
        Span::styled(if least > 0.0 { LEVELS[level as usize - 1] } else { "_" }, paint.bar())
    };
    let signs: Vec<Span<'static>> = nodes.chunks(together).map(sign).collect();
    signs.chunks(width.max(1)).map(|row| Line::from_iter(row.iter().cloned())).collect()
}

/// The list and the widths of its columns.
struct Table {
    name: usize,
    bar: usize,
    paint: Paint,
}

impl Table {
    fn head(&self) -> Line<'static> {
        let Table { name, bar, paint } = self;
        let bar = if *bar > 0 { format!(" {:bar$}", "") } else { String::new() };
        let text = format!(
            "{:name$} {:>7}{bar} {:>8} {:>9} {:>11} {:>11}",
            "node", "share", "rate/s", "in flight", "to node", "from node"
        );
        Line::styled(text, paint.quiet())
    }

    fn row(&self, node: &Node) -> Line<'static> {
        let name = fitted(&node.now.name, self.name);
        let gap = self.name.saturating_sub(Span::raw(name.as_str()).width());
        let name = Span::raw(format!("{name}{} ", " ".repeat(gap)));
        if let Some(why) = &node.now.lost {
            let style = self.paint.state(State::Broken);
            return Line::from(vec![name, Span::styled(format!("LOST: {why}"), style)]);
        }
        let filled = ((node.share * self.bar as f64).round() as usize).min(self.bar);
        let bar = match self.bar {
            0 => String::new(),
            bar => format!(" {}{}", "█".repeat(filled), "░".repeat(bar - filled)),
        };
        let numbers = format!(
            " {:>8} {:>9} {:>11} {:>11}",
            rate(node.samples_per_s),
            node.now.outstanding,
            bandwidth(node.ingress_per_s),
            bandwidth(node.egress_per_s)
        );
        let share = Span::raw(format!("{:>6.1}%", node.share * 100.0));
        Line::from(vec![name, share, Span::styled(bar, self.paint.bar()), Span::raw(numbers)])
    }
}
