//! The table as an HTML page that opens without a network: a click on a head sorts, a word filters.

use std::path::Path;

use anyhow::Result;
use maud::{Markup, html};

use super::chart::{self, ChartOf};
use super::forms::{self, Report};
use lon_run::outputs::documents::campaign_table::{CampaignTable, TableRow};
use lon_run::outputs::report::scripted;

/// Sorts and filters the table.
const SCRIPT: &str = include_str!("page.js");

/// The whole page. Links lead from `links_from`, the path of the campaign's folder as the page has to write it.
///
/// # Errors
/// The chart has a column that is not there.
pub(crate) fn page(
    title: &str,
    cell_table: &CampaignTable,
    out: &Path,
    links_from: &str,
    of: &ChartOf,
) -> Result<String> {
    let chart = chart::chart(cell_table, of)?;
    let valid = cell_table.rows.iter().filter(|row| row.verdict == "VALID").count();
    let header = html! {
        h1 { (title) }
        p class="about" { (cell_table.rows.len()) " cells, " (valid) " of them VALID" }
    };
    let main = html! {
        @if let Some(chart) = &chart { div class="charts" { (chart.markup()) } }
        section id="cells" {
            h2 { "Cells" }
            p {
                "Rows with "
                input id="filter" type="search" aria-label="Words of rows" placeholder="words, such as tcp VALID";
                " " span id="shown" {}
            }
            div class="scroll" role="region" tabindex="0" aria-label="Cells" { (table(cell_table, out, links_from)) }
        }
    };
    Ok(scripted(title, &header, &main, "Unverified: no official MLPerf results.", Some(SCRIPT)))
}

fn table(cell_table: &CampaignTable, out: &Path, links_from: &str) -> Markup {
    let has_scores = forms::has_scores(cell_table);
    let cell = cell_table.axes.is_empty().then(|| "cell".to_owned());
    let axes: Vec<String> = cell.into_iter().chain(cell_table.axes.iter().cloned()).collect();
    html! {
        table id="table" {
            thead { tr {
                @for axis in &axes { th aria-sort="none" { button type="button" { (axis) } } }
                th aria-sort="none" { button type="button" { "verdict" } }
                @if has_scores { th aria-sort="none" { button type="button" { "accuracy run" } } }
                @for column in &cell_table.columns {
                    th aria-sort="none" { button type="button" title=(column.about) { (column.name) } }
                }
                th { "reports" }
                th { "reasons" }
            } }
            tbody {
                @for row in &cell_table.rows {
                    (body_row(cell_table, row, has_scores, &forms::reports(row, out), links_from))
                }
            }
        }
    }
}

fn body_row(
    cell_table: &CampaignTable,
    row: &TableRow,
    has_scores: bool,
    reports: &[Report],
    links_from: &str,
) -> Markup {
    let class = if row.verdict == "VALID" { "good" } else { "bad" };
    html! {
        tr {
            @for value in forms::axis_values(cell_table, row) { td data-value=(value) { (value) } }
            td class=(class) data-value=(row.verdict) { (row.verdict) }
            @if has_scores {
                td data-value=[row.accuracy.as_ref().map(|score| score.value)] {
                    (row.accuracy.as_ref().map_or_else(|| "-".to_owned(), forms::score_text))
                }
            }
            @for column in &cell_table.columns {
                @let quantity = row.quantity(&column.name);
                td data-value=[quantity.map(|quantity| quantity.median)] { (forms::quantity_text(quantity)) }
            }
            td { @for report in reports { a href=(href(links_from, &report.path)) { (report.name) } " " } }
            td { (row.reasons.join("; ")) }
        }
    }
}

/// The address of a file of the campaign. Names of cells have letters, digits and `-_.+=~` alone; the path of the
/// folder may have anything.
fn href(links_from: &str, path: &str) -> String {
    let mut address = String::new();
    for byte in links_from.bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' => address.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => address.push(char::from(byte)),
            byte => address.push_str(&format!("%{byte:02X}")),
        }
    }
    if address.is_empty() { format!("./{path}") } else { format!("{}/{path}", address.trim_end_matches('/')) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page_of(links_from: &str) -> String {
        page("Campaign <x>", &forms::example(), Path::new("/none"), links_from, &ChartOf::default()).unwrap()
    }

    #[test]
    fn the_page_has_every_cell_with_its_numbers_and_links() {
        let page = page_of("");
        assert_eq!(page.matches("<tr>").count(), 1 + 4 + 1 + 2, "the table, and that of the chart");
        assert!(page.contains("<td data-value=\"1000000\">1.0ms</td>"), "{page}");
        assert!(
            page.contains("href=\"./transport=tcp+target_qps=100/1/result.txt\"") && page.contains("a node is gone")
        );
        assert!(page.contains("Campaign &lt;x&gt;") && page.contains("<svg"));
    }

    #[test]
    fn the_page_runs_its_own_script_alone() {
        let page = page_of("");
        let (_, policy) = page.split_once("script-src 'sha256-").unwrap();
        assert_eq!(policy.find('\''), Some(44), "the checksum in base64");
        assert_eq!(page.matches("<script>").count(), 1);
        assert!(!SCRIPT.contains("</"), "the script ends where the page says");
    }

    #[test]
    fn links_from_elsewhere_have_the_path_of_the_folder() {
        assert!(page_of("/a b/c").contains("href=\"/a%20b/c/transport=tcp+target_qps=100/1/result.txt\""));
    }
}
