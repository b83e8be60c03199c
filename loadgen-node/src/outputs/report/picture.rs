//! The first screen of a page as one SVG picture, for documents that take no HTML.

use maud::{Markup, PreEscaped, html};

use super::chart::SIZE;
use super::source::Source;
use super::{charts, page};

/// Pixels around everything, and of a line of text.
const MARGIN: u32 = 24;
const LINE: u32 = 26;
/// Charts beside each other.
const COLUMNS: u32 = 2;
/// Most charts of a picture.
const MOST: usize = 4;
/// Letters of an answer that have room in the picture.
const LETTERS: usize = 95;

/// The picture: the verdict, the answers, and the first charts.
pub(crate) fn picture(source: &Source) -> String {
    let answers = page::answers(source);
    let drawn = charts::all(source).into_iter().filter_map(|chart| Some((chart.title, chart.names(), chart.svg()?)));
    let charts: Vec<_> = drawn.collect();
    let charts = &charts[..charts.len().min(MOST)];
    let head = 60 + LINE * answers.len() as u32;
    let rows = (charts.len() as u32).div_ceil(COLUMNS);
    let [width, height] = [MARGIN * 3 + SIZE.0 * COLUMNS, MARGIN * 2 + head + rows * (SIZE.1 + LINE + MARGIN)];
    let view = format!("0 0 {width} {height}");
    let at = |number: usize| {
        let number = number as u32;
        (MARGIN + (number % COLUMNS) * (SIZE.0 + MARGIN), MARGIN + head + (number / COLUMNS) * (SIZE.1 + LINE + MARGIN))
    };
    let title = page::title(source);
    html! {
        svg xmlns="http://www.w3.org/2000/svg" class="loadgen-node" viewBox=(view) width=(width) height=(height)
            font-family="sans-serif" role="img" aria-label=(title) {
            rect width=(width) height=(height) fill="#fff" {}
            text x=(MARGIN) y=(MARGIN + 24) font-size="26" font-weight="bold" { (title) }
            @for (number, (question, answer)) in (0u32..).zip(&answers) { (line(number, question, answer)) }
            @for (number, (title, names, svg)) in charts.iter().enumerate() {
                @let (x, y) = at(number);
                text x=(x) y=(y + LINE - 8) font-size="17" {
                    tspan font-weight="bold" { (title) }
                    @for (name, colour) in names { tspan dx="14" fill=(colour) font-size="14" { (name) } }
                }
                (PreEscaped(svg.replacen("<svg ", &format!("<svg x=\"{x}\" y=\"{}\" ", y + LINE), 1)))
            }
        }
    }
    .into_string()
}

fn line(number: u32, question: &str, answer: &str) -> Markup {
    let y = MARGIN + 62 + LINE * number;
    let shown: String = answer.chars().take(LETTERS).collect();
    let more = if shown.len() < answer.len() { "..." } else { "" };
    html! {
        text x=(MARGIN) y=(y) font-size="16" fill="#555" { (question) }
        text x=(MARGIN + 240) y=(y) font-size="16" { (shown) (more) }
    }
}
