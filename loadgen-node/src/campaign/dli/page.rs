//! The page of a pivot: one file that opens without a network, without a script.

use lon_shell::dli::terms::NONE;
use maud::{Markup, html};

use super::pivot::{COLUMN_HEADS, LINE_HEADS, Pivot, Test, groups};
use lon_run::outputs::report::framed;

/// The last line of the page.
const UNVERIFIED: &str = "Unverified: these are quantities of the DLI benchmark, and no official MLPerf results.";

/// The page with this title.
pub(super) fn page(title: &str, pivot: &Pivot) -> String {
    let header = html! {
        h1 { (title) }
        p class="about" { "FPS, images per second, by model and by machine" }
    };
    let main = html! {
        section id="pivot" {
            h2 { "Performance" }
            p { "A dash stands where the test failed, " (NONE) " where there is none. Repeats have their median." }
            @if pivot.lines.is_empty() { p { "No run has ended yet." } } @else {
                div class="scroll" role="region" tabindex="0" aria-label="Performance" { (table(pivot)) }
            }
        }
    };
    framed(title, &header, &main, UNVERIFIED)
}

fn table(pivot: &Pivot) -> Markup {
    html! {
        table id="table" {
            thead {
                @for (level, head) in COLUMN_HEADS.iter().enumerate() { tr {
                    @if level == 0 {
                        @for name in LINE_HEADS { th scope="col" rowspan=(COLUMN_HEADS.len()) { (name) } }
                    }
                    th scope="row" { (head) }
                    @for (begin, length) in groups(&pivot.columns, level) {
                        th scope="colgroup" colspan=(length) { (pivot.columns[begin][level]) }
                    }
                } }
            }
            tbody {
                @for (at, tests) in pivot.tests.iter().enumerate() { tr {
                    @for level in 0..LINE_HEADS.len() {
                        @if let Some(length) = begins(pivot, level, at) {
                            th scope="rowgroup" rowspan=(length) { (pivot.lines[at][level]) }
                        }
                    }
                    td {}
                    @for column in tests { td { (cell(column)) } }
                } }
            }
        }
    }
}

/// The length of the group of lines that begins here, at this level. None: no group begins here.
fn begins(pivot: &Pivot, level: usize, at: usize) -> Option<usize> {
    groups(&pivot.lines, level).into_iter().find(|(begin, _)| *begin == at).map(|(_, length)| length)
}

/// The tests where a line and a column meet. Of several each has the name of its cell.
fn cell(tests: &[Test]) -> Markup {
    html! {
        @match tests {
            [] => (NONE),
            [test] => span title=(test.cell) { (test.text) },
            several => @for test in several { div { (test.text) " " small { (test.cell) } } },
        }
    }
}

#[cfg(test)]
mod tests {
    use lon_shell::dli::row::{Measured, Row};
    use lon_shell::dli::terms::Mode;

    use super::super::row::{CellRow, example};
    use super::*;

    fn row(topology: &str, batch: u64, mode: Mode, fps: Option<f64>) -> CellRow {
        let row = Row {
            topology: topology.to_owned(),
            batch: Some(batch),
            mode: Some(mode),
            is_whole: fps.is_some(),
            measured: Measured { fps, ..Measured::default() },
            ..example().row
        };
        CellRow { cell: format!("{topology}-{batch}"), row }
    }

    /// Two models: the first with batches of 1 and 2, the second with one of 1 that failed.
    fn page_of_runs() -> String {
        page(
            "Campaign <x>",
            &Pivot::of(&[
                row("alexnet", 1, Mode::Latency, Some(8.0)),
                row("alexnet", 2, Mode::Latency, Some(16.0)),
                row("alexnet", 2, Mode::Throughput, Some(32.0)),
                row("<ssd>", 1, Mode::Latency, None),
            ]),
        )
    }

    #[test]
    fn lines_and_columns_are_nested() {
        let page = page_of_runs();
        assert_eq!(page.matches("<tr>").count(), 5 + 3, "{page}");
        assert!(page.contains("<th scope=\"rowgroup\" rowspan=\"3\">classification</th>"), "{page}");
        assert!(page.contains("<th scope=\"rowgroup\" rowspan=\"2\">alexnet</th>"), "{page}");
        assert!(page.contains("<th scope=\"colgroup\" colspan=\"2\">CPU: Intel</th>"), "{page}");
        assert!(page.contains("<th scope=\"colgroup\" colspan=\"1\">Throughput Mode</th>"), "{page}");
    }

    #[test]
    fn cells_are_rates_dashes_or_not_there() {
        let page = page_of_runs();
        for text in [">8.000<", ">16.000<", ">32.000<", "<span title=\"&lt;ssd&gt;-1\">-</span>"] {
            assert_eq!(page.matches(text).count(), 1, "{text}: {page}");
        }
        assert_eq!(page.matches("<td>N/A</td>").count(), 2, "alexnet 1 and ssd 1 in throughput mode: {page}");
    }

    #[test]
    fn the_page_is_escaped_whole_and_says_that_nothing_is_verified() {
        let page = page_of_runs();
        assert!(page.contains("&lt;ssd&gt;") && page.contains("Campaign &lt;x&gt;") && !page.contains("<ssd>"));
        assert!(page.contains(UNVERIFIED) && !page.contains("VALID"));
        let nothing_outside = ["http:", "https:", "<script", "src=", "href="];
        assert!(nothing_outside.iter().all(|word| !page.contains(word)), "{page}");
        assert!(super::page("x", &Pivot::of(&[])).contains("No run has ended yet."));
    }
}
