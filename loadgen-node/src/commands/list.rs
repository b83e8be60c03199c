//! The command `list`: the runs below a folder.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, anyhow};
use lon_proto::figures::duration_ns;
use lon_proto::text::on_one_line;

use super::io::{path_text, print_in, print_text};
use super::list_related::Related;
use crate::cli::{Format, ListArgs};
use lon_run::exit::{Exit, OrExit as _, Outcome};
use lon_run::outputs::documents::accuracy::AccuracyDocument;
use lon_run::outputs::documents::mix_result::MixResult;
use lon_run::outputs::documents::result_read::of_official;
use lon_run::outputs::documents::result_summary::{FILE as RESULT, MetricDocument, Validity};
use lon_run::outputs::documents::run_list::{ListedRun, RunList};
use lon_run::outputs::logs::own_result;
use lon_run::outputs::report;
use lon_run::outputs::run_folder::recover::goes_on;
use lon_run::outputs::screen::labels::labels_text;
use lon_run::outputs::tables::table::Table;
use lon_run::test_run::Label;

const HEADS: [&str; 8] = ["started (UTC)", "benchmark", "scenario", "mode", "result", "metric", "SUT", "folder"];
/// Heads of columns that only some lists have: a column that is the same, or empty, in all rows says nothing.
const MORE: [&str; 6] = ["transport", "codec", "codec of answers", "within limits", "labels", "note"];
/// Columns of `MORE` that are shown where one of the runs has something in them.
const IF_ANY: [usize; 3] = [3, 4, 5];
/// Heads of the CSV.
const COLUMNS: [&str; 24] = [
    "started_utc",
    "benchmark",
    "scenario",
    "mode",
    "result",
    "state",
    "metric",
    "metric_value",
    "metric_unit",
    "p99_ns",
    "target_qps",
    "samples_per_query",
    "accuracy_metric",
    "accuracy",
    "accuracy_unit",
    "transport",
    "codec",
    "response_codec",
    "sut_name",
    "folder",
    "note",
    "within_share",
    "within_per_s",
    "labels",
];

/// Prints the runs, or opens the page of the last of them.
pub(crate) fn list(args: &ListArgs) -> Outcome {
    let run_list = runs(args)?;
    if args.open {
        return open(&run_list.runs);
    }
    if args.related {
        return related(&run_list, args.form.check());
    }
    let text = || match run_list.runs.is_empty() && run_list.unreadable.is_empty() {
        true => print_text(&format!(
            "no {} in {} (of folders below it, only mixes are searched)\n",
            if is_filtered(args) { "run folders that fit the flags" } else { "run folders" },
            path_text(&args.folder)
        )),
        false => print_text(&(table(&run_list.runs).aligned() + &unreadable(&run_list.unreadable))),
    };
    let form = args.form.check();
    if matches!(form, Format::Csv | Format::Md) {
        // The rows have no place for them.
        run_list.unreadable.iter().for_each(|why| tracing::warn!(why, "a run cannot be read"));
    }
    print_in(
        form,
        &run_list,
        text,
        || if form == Format::Csv { columns(&run_list.runs) } else { table(&run_list.runs) },
    )
}

/// Prints the tables that relate the runs to each other.
fn related(run_list: &RunList, form: Format) -> Outcome {
    run_list.unreadable.iter().for_each(|why| tracing::warn!(why, "a run cannot be read"));
    let related = Related::of(&run_list.runs);
    let titled = |head: &str, print: fn(&Table) -> String| -> String {
        let tables = related.tables();
        let tables = tables.iter().filter(|(_, table)| !table.rows.is_empty());
        tables
            .map(|(title, table)| format!("{head}{title}\n{}{}", if head.is_empty() { "" } else { "\n" }, print(table)))
            .collect::<Vec<_>>()
            .join("\n")
    };
    match form {
        Format::Text => print_text(&(titled("", Table::aligned) + "Unverified: no official MLPerf results.\n")),
        Format::Md => print_text(&titled("## ", Table::markdown)),
        Format::Csv => print_text(&related.long_table().csv()),
        Format::Json => {
            Err(anyhow!("--related prints no JSON: --format csv has a number in each row")).or_exit(Exit::Usage)
        }
    }
}

fn is_filtered(args: &ListArgs) -> bool {
    let texts = [&args.benchmark, &args.sut, &args.note];
    texts.iter().any(|text| text.is_some())
        || !args.label.is_empty()
        || args.scenario.is_some()
        || args.result.is_some()
        || args.last == Some(0)
}

/// The runs that are asked for, by the time at which they began.
fn runs(args: &ListArgs) -> Outcome<RunList> {
    let entries = fs::read_dir(&args.folder).map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            anyhow!("no runs yet: the folder {} does not exist", path_text(&args.folder))
        }
        _ => anyhow!(error).context(format!("cannot read {}", path_text(&args.folder))),
    });
    let entries = entries.or_exit(Exit::Usage)?;
    let (mut runs, mut unreadable) = (Vec::new(), Vec::new());
    let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    for folder in folders.clone() {
        match own_result::read_mix(&folder) {
            Ok(mix) => folders.extend(mix.into_iter().flat_map(|mix| tenants(&folder, &mix))),
            Err(error) => unreadable.push(format!("{error:#}")),
        }
    }
    unreadable.extend(folders.iter().filter_map(|folder| of_official(folder)));
    for folder in folders.iter().filter(|folder| folder.join(RESULT).exists()) {
        match own_result::read(folder) {
            Ok(result) => {
                let goes_on = result.is_unfinished() && goes_on(folder);
                runs.push(ListedRun::new(path_text(folder), result, goes_on, folder.join(report::FILE).exists()));
            }
            Err(error) => unreadable.push(format!("{}: {error:#}", path_text(folder))),
        }
    }
    let is_wanted = |run: &ListedRun| {
        let same = |filter: &Option<String>, own: &str| filter.as_ref().is_none_or(|filter| filter == own);
        let verdict = args.result.is_none_or(|filter| filter == run.result);
        let scenario = args.scenario.is_none_or(|filter| filter.name() == run.scenario);
        let has = |filter: &Option<String>, own: &str| filter.as_ref().is_none_or(|filter| own.contains(filter));
        let texts = has(&args.sut, &run.sut_name) && has(&args.note, run.note.as_deref().unwrap_or_default());
        let labels = args.label.iter().all(|Label { key, value }| run.labels.get(key) == Some(value));
        same(&args.benchmark, &run.benchmark) && scenario && verdict && texts && labels
    };
    runs.retain(is_wanted);
    runs.sort_by(|one, other| (&one.started_utc, &one.folder).cmp(&(&other.started_utc, &other.folder)));
    runs.drain(..runs.len().saturating_sub(args.last.unwrap_or(usize::MAX)));
    unreadable.sort();
    Ok(RunList::new(runs, unreadable))
}

/// The run folders of the tenants of a mix. Their runs alone are a measure for these.
fn tenants(folder: &Path, mix: &MixResult) -> Vec<PathBuf> {
    mix.tenants.iter().filter_map(|tenant| own_result::tenant_folder(folder, tenant).ok()).collect()
}

/// For programs: each number in a column of its own, with the unit in its name or beside it.
fn columns(runs: &[ListedRun]) -> Table {
    let row = |run: &ListedRun| {
        let [metric, value, unit] = match &run.metric {
            Some(MetricDocument::Performance(metric)) => [metric.name.clone(), cell(metric.value), metric.unit.clone()],
            Some(MetricDocument::Accuracy(score)) => score_cells(Some(score)),
            None => score_cells(None),
        };
        let [accuracy_metric, accuracy, accuracy_unit] = score_cells(run.accuracy.as_ref());
        let state = match (run.goes_on, run.interrupted) {
            (true, _) => "goes on",
            (false, true) => "interrupted",
            (false, false) => "ended",
        };
        let verdict = if run.result == Validity::Valid { "VALID" } else { "INVALID" };
        vec![
            run.started_utc.clone(),
            run.benchmark.clone(),
            run.scenario.clone(),
            run.mode.clone(),
            verdict.to_owned(),
            state.to_owned(),
            metric,
            value,
            unit,
            cell(run.p99_ns),
            cell(run.target_qps),
            cell(run.samples_per_query),
            accuracy_metric,
            accuracy,
            accuracy_unit,
            run.transport.clone(),
            run.codec.clone(),
            run.response_codec.clone(),
            run.sut_name.clone(),
            run.folder.clone(),
            run.note.clone().unwrap_or_default(),
            cell(run.within_share),
            cell(run.within_per_s),
            labels_text(&run.labels),
        ]
    };
    Table { heads: COLUMNS.map(str::to_owned).to_vec(), rows: runs.iter().map(row).collect() }
}

/// A number in a cell; empty where there is none.
fn cell(number: Option<impl ToString>) -> String {
    number.map_or_else(String::new, |number| number.to_string())
}

/// The metric, the value and the unit of a score; empty without one.
fn score_cells(score: Option<&AccuracyDocument>) -> [String; 3] {
    score.map_or_else(Default::default, |score| [score.metric.clone(), score.value.to_string(), score.unit.clone()])
}

/// The cells of a run in the columns of `MORE`.
fn more(run: &ListedRun) -> [String; MORE.len()] {
    let rate = run.within_per_s.map_or_else(String::new, |rate| format!(", {rate:.2}/s"));
    let within = run.within_share.map(|share| format!("{:.2} %{rate}", 100.0 * share));
    let note = run.note.clone().unwrap_or_default();
    let [transport, codec, of_answers] = [&run.transport, &run.codec, &run.response_codec].map(String::clone);
    [transport, codec, of_answers, within.unwrap_or_default(), labels_text(&run.labels), note]
}

fn table(runs: &[ListedRun]) -> Table {
    let rows: Vec<[String; MORE.len()]> = runs.iter().map(more).collect();
    let is_shown = |at: &usize| match IF_ANY.contains(at) {
        true => rows.iter().any(|row| !row[*at].is_empty()),
        false => rows.iter().any(|row| row[*at] != rows[0][*at]),
    };
    let indices: Vec<usize> = (0..MORE.len()).filter(is_shown).collect();
    let row = |run: &ListedRun| {
        let metric = match &run.metric {
            Some(MetricDocument::Performance(metric)) => metric.value.map(|value| match metric.unit.as_str() {
                "ns" => duration_ns(value as i64),
                unit => format!("{value:.2} {unit}"),
            }),
            Some(MetricDocument::Accuracy(score)) => {
                Some(format!("{} {:.3} {}", score.metric, score.value, score.unit))
            }
            None => None,
        };
        let verdict = match (run.result, run.interrupted) {
            (Validity::Valid, _) => "VALID",
            (Validity::Invalid, _) if run.goes_on => "goes on",
            (Validity::Invalid, false) => "INVALID",
            (Validity::Invalid, true) => "INVALID, interrupted",
        };
        let name = run.sut_name.trim_start_matches("Network SUT: ").to_owned();
        let mut cells = vec![
            run.started_utc.clone(),
            run.benchmark.clone(),
            run.scenario.clone(),
            run.mode.clone(),
            verdict.to_owned(),
            metric.unwrap_or_else(|| "none".to_owned()),
            name,
            run.folder.clone(),
        ];
        let more = more(run);
        cells.extend(indices.iter().map(|at| more[*at].clone()));
        cells
    };
    let mut heads = HEADS.map(str::to_owned).to_vec();
    heads.extend(indices.iter().map(|at| MORE[*at].to_owned()));
    Table { heads, rows: runs.iter().map(row).collect() }
}

fn unreadable(folders: &[String]) -> String {
    folders.iter().map(|folder| format!("  not listed: {}\n", on_one_line(folder))).collect()
}

/// Opens the page of the last run, with the user's browser.
fn open(runs: &[ListedRun]) -> Outcome {
    let last = runs.last().ok_or_else(|| anyhow!("there is no such run")).or_exit(Exit::Usage)?;
    if !last.has_page {
        let error = anyhow!("{} has no page: loadgen-node report {0} makes it", last.folder);
        return Err(error).or_exit(Exit::Usage);
    }
    let page = Path::new(&last.folder).join(report::FILE);
    let usual = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let browser = std::env::var_os("BROWSER");
    let mut command = Command::new(browser.as_deref().unwrap_or(OsStr::new(usual)));
    if browser.is_none() {
        // It names each browser that it has not found.
        command.stderr(Stdio::null());
    }
    let started = command.arg(&page).status();
    let message = || {
        let program = command.get_program().to_string_lossy();
        format!("{program} cannot open {} (the variable BROWSER names another program)", path_text(&page))
    };
    let status = started.with_context(message).or_exit(Exit::Usage)?;
    if !status.success() {
        return Err(anyhow!("{status}")).with_context(message).or_exit(Exit::Usage);
    }
    print_text(&format!("{}\n", path_text(&page)))
}
