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
/// Letters of a line of an answer, few enough for wide fonts.
const LETTERS: usize = 85;

/// The picture: the verdict, the answers, and the first charts.
pub fn picture(source: &Source) -> String {
    let answers = page::answers(source);
    let lines = answers.iter().flat_map(|(question, answer)| {
        let lines = wrapped(answer).into_iter().enumerate();
        lines.map(move |(at, line)| (if at == 0 { *question } else { "" }, line))
    });
    let lines: Vec<(&str, String)> = lines.collect();
    let drawings = charts::all(source).into_iter().filter_map(|chart| Some((chart.title, chart.names(), chart.svg()?)));
    let charts: Vec<_> = drawings.collect();
    let charts = &charts[..charts.len().min(MOST)];
    let head = 60 + LINE * lines.len() as u32;
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
            @for (number, (question, text)) in (0u32..).zip(&lines) { (line(number, question, text)) }
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

fn line(number: u32, question: &str, text: &str) -> Markup {
    let y = MARGIN + 62 + LINE * number;
    html! {
        text x=(MARGIN) y=(y) font-size="16" fill="#555" { (question) }
        text x=(MARGIN + 240) y=(y) font-size="16" { (text) }
    }
}

/// An answer in lines that have room in the picture.
fn wrapped(answer: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in answer.split_whitespace() {
        let has_room = |line: &String| line.is_empty() || line.chars().count() + 1 + word.chars().count() <= LETTERS;
        match lines.last_mut().filter(|line| has_room(line)) {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) => {
                line.push(' ');
                line.push_str(word);
            }
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_answer_takes_several_lines_and_loses_no_word() {
        let answer = "most of the latency at the median is waiting to be sent ".repeat(4);
        let lines = wrapped(&answer);
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines.iter().all(|line| line.chars().count() <= LETTERS), "{lines:?}");
        assert_eq!(lines.join(" "), answer.trim());
        assert_eq!(wrapped("10.00 samples/s"), ["10.00 samples/s"]);
    }
}
