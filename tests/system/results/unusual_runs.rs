//! Runs that are not as most are: without an answer, of one sample, broken off, killed, with tokens, of 128 nodes.
//! Their pages show what their documents say, and the commands that read run folders say it in a line.

use std::fs;
use std::path::Path;

use lon_run::documents::network_report::NetworkReport;
use lon_run::documents::result_summary::ResultSummary;
use lon_run::documents::run_list::RunList;
use lon_tests::export::exported;
use lon_tests::page::{Table, answer, section, shows, stands_alone, text};
use lon_tests::process::LoadGen;
use lon_tests::unusual_runs::UnusualRuns;
use serde::de::DeserializeOwned;

/// Most steps of time of a page.
const STEPS: u64 = 120;

/// A run folder, read.
struct Run {
    name: String,
    page: String,
    result: ResultSummary,
    /// Network report. Is `None` for a run that was killed: it leaves no such report.
    network: Option<NetworkReport>,
    /// Start and latency of each sample, ns; none: it has no answer.
    samples: Vec<(u64, Option<u64>)>,
}

impl Run {
    fn read(folder: &Path) -> Run {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let page = fs::read_to_string(folder.join("report.html")).unwrap_or_else(|error| panic!("{name}: {error}"));
        let table = exported(folder);
        let starts_ns = table.texts("start_ns").map(|cell| cell.parse().unwrap());
        let samples = starts_ns.zip(table.texts("latency_ns").map(|cell| cell.parse().ok())).collect();
        let result: ResultSummary = document(folder, "result_summary.json");
        let has_network = result.files.contains_key("network_report.json");
        let network = has_network.then(|| document(folder, "network_report.json"));
        Run { name, page, result, network, samples }
    }

    fn answered(&self) -> u64 {
        self.samples.iter().filter(|(_, latency_ns)| latency_ns.is_some()).count() as u64
    }

    /// The charts that apply, by what was recorded, each with its number of places where that is known.
    fn charts(&self) -> Vec<(&'static str, Option<usize>)> {
        let (sample_count, answered) = (self.samples.len() as u64, self.answered());
        let (steps, lags) = (sample_count.clamp(1, STEPS) as usize, self.result.schedule_lag_course.largest_ns.len());
        let of_tokens = self.result.tokens.is_some_and(|tokens| tokens.ttft_ns.is_some());
        let all = [
            ("distribution", answered > 0, None),
            ("rate", answered > 0, Some(steps)),
            ("outstanding", sample_count > 0, Some(steps)),
            ("tokens", of_tokens, None),
            ("lag", lags > 1, Some(lags)),
            (
                "bytes",
                self.network
                    .as_ref()
                    .is_some_and(|network| !network.per_second.t_s.iter().all(|looked_s| *looked_s == 0.0)),
                None,
            ),
        ];
        all.into_iter().filter(|(_, applies, _)| *applies).map(|(id, _, places)| (id, places)).collect()
    }
}

fn document<T: DeserializeOwned>(folder: &Path, name: &str) -> T {
    let path = folder.join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Each chart has a zone and a row for every place, and draws a point for every value in its table.
fn assert_chart(run: &Run, id: &str, places: Option<usize>) {
    let name = &run.name;
    let chart = section(&run.page, id).unwrap_or_else(|| panic!("{name}: no chart {id}"));
    let table = Table::of(&run.page, id);
    // A single place has a value, and no curve.
    if let [row] = &table.rows[..] {
        assert!(!chart.contains("<svg") && row.len() > 1 && places.is_none_or(|places| places == 1), "{name} {id}");
        return;
    }
    let zones = chart.matches("class=\"zone\"").count();
    assert!(zones > 0 && zones == table.rows.len(), "{name} {id}: {zones} zones, {} rows", table.rows.len());
    assert!(places.is_none_or(|places| places == zones), "{name} {id}: {zones} zones, not {places:?}");
    let values = table.rows.iter().flat_map(|row| &row[1..]).filter(|cell| *cell != "none").count();
    let limits = chart.matches("<li>").count() - (table.heads.len() - 1);
    // Marks of the axes are lines, too, and thinner.
    let lines = chart.split("<polyline").skip(1).map(|tail| tail.split_once("/>").unwrap().0);
    let lines = lines.filter(|line| line.contains("stroke-width=\"2\""));
    let points: usize = lines.map(|line| line.split("points=\"").nth(1).unwrap().matches(',').count()).sum();
    assert_eq!(points, values + 2 * limits, "{name} {id}: points of curves and ends of {limits} lines");
    let dots = chart.matches("<circle").count();
    assert!(values > 0 && (dots > 0 || values > 40), "{name} {id}: {values} values, {dots} dots");
    for odd in ["NaN", "inf", "Infinity"] {
        assert!(!chart.contains(&format!("\"{odd}")) && !chart.contains(&format!(">{odd}")), "{name} {id}: {odd}");
    }
}

/// The values of charts are those of the timeline and of the documents.
fn assert_values(run: &Run) {
    let (name, answered, sample_count) = (&run.name, run.answered(), run.samples.len() as u64);
    assert_eq!((answered, sample_count), (run.result.counts.completed, run.result.counts.issued), "{name}");
    if let Some(chart) = section(&run.page, "distribution") {
        assert!(chart.contains(&format!("of {answered} answered samples")), "{name}: {chart}");
        let least_ns = run.samples.iter().filter_map(|(_, latency_ns)| *latency_ns).min().unwrap() as f64;
        let (shown_ns, half_ns) = lon_tests::page::figure(&Table::of(&run.page, "distribution").row("p0")[0]);
        // Histograms have three digits.
        assert!((shown_ns - least_ns).abs() <= half_ns + least_ns * 1e-3, "{name}: {shown_ns} of {least_ns}");
        // The end of the phase is not in the export: the last answer came before it, and the last step holds it.
        let rates = Table::of(&run.page, "rate");
        assert!(rates.column("answered").iter().any(|rate| *rate != "0/s"), "{name}: {rates:?}");
    }
    if let Some(spread) = run.result.latency_ns {
        let listed = serde_json::to_value(spread).unwrap();
        let unknown = listed.as_object().unwrap().values().filter(|value| value.is_null()).count();
        let latencies = Table::of(&run.page, "latencies");
        let no_answers = latencies.row("latency").iter().filter(|cell| *cell == "no answer").count();
        assert_eq!(
            (spread.max.is_none(), no_answers),
            (answered < sample_count || sample_count == 0, unknown),
            "{name}: {latencies:?}"
        );
    }
    let outstanding = Table::of(&run.page, "outstanding");
    shows(outstanding.column("outstanding").last().unwrap(), (sample_count - answered) as f64);
    if section(&run.page, "lag").is_some() {
        let lags = Table::of(&run.page, "lag");
        let expected = &run.result.schedule_lag_course.largest_ns;
        for (cell, lag_ns) in lags.column("largest lag").into_iter().zip(expected) {
            if *lag_ns == 0 { assert_eq!(cell, "none", "{name}") } else { shows(cell, *lag_ns as f64) }
        }
    }
}

#[test]
fn pages_of_unusual_runs_show_what_was_recorded() {
    let odd = UnusualRuns::make();
    for folder in odd.whole() {
        let run = Run::read(&folder);
        stands_alone(&run.page);
        for (id, places) in run.charts() {
            assert_chart(&run, id, places);
        }
        assert_values(&run);
        assert!(!run.page.contains("It cannot be drawn"), "{}", run.name);
        let counts = &run.result.counts;
        let line = format!("{} issued, {} answered", counts.issued, counts.completed);
        assert_eq!(answer(&run.page, "Samples"), line, "{}", run.name);
    }
    let read = |name: &str| Run::read(&odd.folder(name));
    for name in ["silent", "lost"] {
        let run = read(name);
        assert_eq!(run.answered(), 0, "{name}: {:?}", run.result.counts);
        assert!(run.page.contains("No sample was answered: there are no curves of latencies."), "{name}");
        assert!(run.page.contains("Samples without an answer count as the slowest ones"), "{name}");
        assert!(answer(&run.page, "Speed").starts_with("nothing: too little was answered"), "{name}");
    }
    assert_eq!(read("single").samples.len(), 1);
    let tokens = read("tokens");
    let token_times = section(&tokens.page, "tokens").unwrap();
    assert!(token_times.contains(&format!("Of {} samples: time to first token", tokens.answered())), "{token_times}");
    for (name, reason) in [("interrupted", "interrupted"), ("killed", "the program was killed")] {
        let run = read(name);
        assert!(run.result.reasons.iter().any(|entry| entry.contains(reason)), "{name}: {:?}", run.result.reasons);
        assert!(text(&run.page).contains(reason) && run.answered() > 0, "{name}");
        assert!(!run.page.contains("os error") && !run.page.contains("late by 0.0ns"), "{name}");
    }
    assert!(read("killed").page.contains("The run has not come to write: network_report.json, system_desc.json."));
    let many = read("many");
    let nodes = Table::of(&many.page, "nodes");
    let network = many.network.unwrap();
    // Ten of them at most: the first, the slowest, the one with the fewest samples; and all together.
    let (all, rows) = nodes.rows.split_last().unwrap();
    assert!(network.nodes.len() == 128 && (8..=10).contains(&rows.len()), "{} rows", nodes.rows.len());
    assert_eq!((rows[0][0].as_str(), all[0].as_str()), (network.nodes[0].name.as_str(), "all 128"));
    let samples: u64 = network.nodes.iter().map(|node| node.samples).sum();
    assert!(all.contains(&samples.to_string()), "{all:?}");
    for row in rows {
        let node = network.nodes.iter().find(|node| node.name == row[0]).unwrap();
        assert!(row[2].starts_with(&format!("{} (", node.samples)), "{row:?}");
    }
}

/// One line for each, and no panic.
#[test]
fn commands_say_what_unusual_runs_are_in_a_line() {
    let odd = UnusualRuns::make();
    let above = odd.above().to_str().unwrap();
    let listed = LoadGen::run(&["list", above, "--json"]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    let listed: RunList = serde_json::from_str(&listed.stdout).unwrap();
    let names = odd.names();
    assert!(listed.runs.len() == names.len() && listed.unreadable.is_empty(), "{listed:?}");
    let list = LoadGen::run(&["list", above]);
    assert_eq!(list.stdout.lines().count(), names.len() + 1, "a line of heads, and one for each: {}", list.stdout);
    let usual = odd.folder("tokens");
    for name in names {
        let folder = odd.folder(name);
        let folder = folder.to_str().unwrap();
        let line = list.stdout.lines().find(|line| line.contains(folder)).unwrap_or_else(|| panic!("{name}"));
        assert!(line.contains("VALID") && !line.contains("NaN") && !line.contains("null"), "{line}");
        if let "silent" | "lost" | "unfinished" = name {
            assert!(line.contains(" none "), "{name} has no metric: {line}");
        }
        let (show, compare) =
            (LoadGen::run(&["show", folder]), LoadGen::run(&["compare", folder, usual.to_str().unwrap()]));
        for finished in [&show, &compare] {
            let output = format!("{}{}", finished.stdout, finished.stderr);
            assert!(!output.contains("panicked") && !output.contains("NaN"), "{name}: {output}");
        }
        assert!(show.code == Some(0) && show.stdout.starts_with("Result    "), "{name}: {show:?}");
        assert_eq!(compare.code, Some(0), "{name}: {compare:?}");
    }
}
