//! The tables and the judgement of `probe --matrix`, for people.

use std::fmt::Write as _;
use std::time::Duration;

use lon_run::network::fabric::rate;
use lon_run::outputs::documents::probe::matrix::{MatrixDocument, WayDocument};

/// Most nodes whose ways are shown as a table; of more only the slowest ways are.
const MOST_IN_A_TABLE: usize = 16;

/// Number of the slowest ways that are shown instead of a table.
const SLOWEST: usize = 10;

/// Most failures that are shown.
const MOST_FAILURES: usize = 5;

/// Most characters of a node's name.
const NAME_CHARS: usize = 16;

/// Returns the measurements of a matrix, and the judgement on them, as text.
pub(super) fn text(matrix: &MatrixDocument) -> String {
    let mut text = format!("\nBetween SUT nodes over {}\n", matrix.transport);
    if matrix.nodes.len() <= MOST_IN_A_TABLE {
        let goodput = |direction: &WayDocument| direction.goodput_gbit_s.map_or("-".to_owned(), number);
        table(&mut text, matrix, "Goodput in Gbit/s, from the node of a row to that of a column", goodput);
        let trip = |direction: &WayDocument| direction.rtt_ns.map_or("-".to_owned(), |ns| number(ns as f64 / 1e3));
        table(&mut text, matrix, "Round trip in \u{b5}s", trip);
    } else {
        slowest(&mut text, matrix);
    }
    failures(&mut text, matrix);
    judgement(&mut text, matrix);
    text
}

/// A row for each node that sends, a column for each that receives.
fn table(text: &mut String, matrix: &MatrixDocument, head: &str, cell: impl Fn(&WayDocument) -> String) {
    let _ = writeln!(text, "  {head}");
    let numbers: String = (1..=matrix.nodes.len()).map(|number| format!("{:>6}", format!("#{number}"))).collect();
    let _ = writeln!(text, "  {:<21}{numbers}", "");
    for (number, from) in matrix.nodes.iter().enumerate() {
        let name: String = match from.chars().count() > NAME_CHARS {
            true => from.chars().take(NAME_CHARS - 1).chain(['\u{2026}']).collect(),
            false => from.clone(),
        };
        let cells: String = matrix
            .nodes
            .iter()
            .map(|to| format!("{:>6}", matrix.way(from, to).map(&cell).unwrap_or_default()))
            .collect();
        let line = format!("  {:<4} {name:<16}{cells}", format!("#{}", number + 1));
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

/// Of many nodes the slowest ways, and the longest round trips.
fn slowest(text: &mut String, matrix: &MatrixDocument) {
    let _ = writeln!(
        text,
        "  {} nodes; the {SLOWEST} slowest of {} links, each direction by itself:",
        matrix.nodes.len(),
        matrix.ways.len()
    );
    let mut directions: Vec<(&WayDocument, f64)> =
        matrix.ways.iter().filter_map(|direction| Some((direction, direction.goodput_gbit_s?))).collect();
    directions.sort_by(|a, b| a.1.total_cmp(&b.1));
    for (direction, gbit_s) in directions.iter().take(SLOWEST) {
        let _ = writeln!(text, "    {:>14}  {} -> {}", rate(Some(gbit_s * 1e9)), direction.from, direction.to);
    }
    let mut trips: Vec<u64> = matrix.ways.iter().filter_map(|direction| direction.rtt_ns).collect();
    trips.sort_unstable();
    if let (Some(middle), Some(longest)) = (trips.get(trips.len() / 2), trips.last()) {
        let [middle, longest] = [*middle, *longest].map(Duration::from_nanos);
        let _ = writeln!(text, "  Round trips: median {middle:.1?}, longest {longest:.1?}");
    }
}

fn failures(text: &mut String, matrix: &MatrixDocument) {
    let failed: Vec<(&WayDocument, &String)> =
        matrix.ways.iter().filter_map(|direction| Some((direction, direction.error.as_ref()?))).collect();
    // Both directions of a pair fail together.
    let pairs = failed.iter().filter(|(direction, _)| direction.measured_by == direction.from);
    for (direction, why) in pairs.take(MOST_FAILURES) {
        let _ = writeln!(text, "  NOT measured, {} <-> {}: {why}", direction.from, direction.to);
    }
    if failed.len() > 2 * MOST_FAILURES {
        let more = failed.len() / 2 - MOST_FAILURES;
        let _ = writeln!(text, "  and {more} more pair{}", if more == 1 { "" } else { "s" });
    }
}

fn judgement(text: &mut String, matrix: &MatrixDocument) {
    let judged = &matrix.judgement;
    let (Some(usual), Some(least)) = (judged.usual_gbit_s, judged.least_gbit_s) else {
        text.push_str("  Not judged: that takes links between three hosts, and four hosts tell a host from a link\n");
        return;
    };
    let below = (1.0 - least / usual) * 100.0;
    let [usual, least] = [usual, least].map(|gbit_s| rate(Some(gbit_s * 1e9)));
    let why = match below > judged.tolerance_percent + 0.05 {
        true => format!("the links differ among themselves; --tolerance is {} %", judged.tolerance_percent),
        false => "--tolerance".to_owned(),
    };
    let _ = writeln!(text, "  Median {usual}. A link below {least} is slow: {below:.0} % below the median ({why}).");
    if !judged.tells_hosts_from_links {
        text.push_str(
            "  A bad host and a bad link look the same here: four nodes, all links measured, tell them apart\n",
        );
    }
    for suspect in &judged.suspects {
        let (what, cause) = suspect.why.split_once(": ").unwrap_or((&suspect.why, ""));
        let _ = writeln!(text, "  SLOW: {what}\n        {cause}");
    }
    if judged.suspects.is_empty() {
        text.push_str("  No link and no host is slow. Round trips are shown, and not judged.\n");
    }
}

/// Three digits at least, five characters at most where that can be.
fn number(value: f64) -> String {
    let digits = match value {
        value if value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        value if value >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use lon_run::examples::{judged, matrix};

    #[test]
    fn up_to_sixteen_nodes_are_a_table_of_120_columns() {
        let mut rates = vec![vec![94.123; 16]; 16];
        rates[2][5] = 0.1234;
        let text = text(&judged(&matrix(&rates)));
        assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
        let row = text.lines().find(|line| line.contains("#3   n3")).unwrap();
        assert!(row.contains(" 0.123") && row.contains(" 94.1"), "{row}");
        assert!(text.contains("SLOW: the link n3 -> n6 carries 123 Mbit/s instead of 94.1 Gbit/s"), "{text}");
        assert!(text.contains("  90.0"), "round trips: {text}");
    }

    #[test]
    fn of_more_nodes_the_slowest_ways_are_shown() {
        let mut rates = vec![vec![10.0; 20]; 20];
        rates[3] = vec![1.0; 20];
        let text = text(&judged(&matrix(&rates)));
        assert!(text.lines().count() < 20 && text.contains("1.00 Gbit/s  n4 -> n1"), "{text}");
        assert!(text.contains("SLOW: host n4 sends") && text.contains("median 90.0\u{b5}s"), "{text}");
    }

    #[test]
    fn too_few_nodes_and_failures_are_said() {
        let three = text(&judged(&matrix(&[vec![0.0, 1.0, 1.0], vec![1.0, 0.0, 1.0], vec![1.0, 1.0, 0.0]])));
        assert!(three.contains("four nodes") && three.contains("No link and no host is slow"), "{three}");
        let mut two = matrix(&[vec![0.0, 1.0], vec![0.5, 0.0]]);
        let uneven = text(&judged(&two));
        assert!(uneven.contains("Not judged: ") && !uneven.contains("SLOW"), "{uneven}");
        for direction in two.routes.values_mut() {
            direction.repeats_bits_per_s.clear();
            direction.error = Some("no route".to_owned());
        }
        let failed = text(&judged(&two));
        assert!(failed.contains("NOT measured, n1 <-> n2: no route") && failed.contains("Not judged"), "{failed}");
    }
}
