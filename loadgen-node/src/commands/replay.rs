//! The command `replay`: recorded results judged again, without a SUT.

use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, anyhow};

use super::io::{input_text, path_text, print_in, print_json, print_text};
use crate::cli::{Format, ReplayArgs};
use loadgen::judge::Verdict;
use loadgen::settings::{IntegerRule, TestSettings};
use loadgen::vectors;
use lon_run::exit::{Exit, OrExit as _, Outcome};
use lon_run::outputs::documents::official_replay::OfficialReplay;
use lon_run::outputs::documents::result_summary::ResultSummary;
use lon_run::outputs::documents::within::WithinDocument;
use lon_run::outputs::logs::official_logs;
use lon_run::outputs::screen;
use lon_run::outputs::timeline::stored_timeline;

/// `replay --report-vector FILE.json`, `replay --timeline FILE` and `replay --official DIR`.
pub(crate) fn replay(args: &ReplayArgs) -> Outcome {
    if let Some(path) = &args.timeline {
        return replay_timeline(args, path);
    }
    if let Some(folder) = &args.official {
        let form = if args.json { Format::Json } else { args.format.unwrap_or(Format::Text) };
        return replay_official(folder, args.integers, form);
    }
    let Some(path) = &args.report_vector else {
        return Err(anyhow!("give --timeline, --official or --report-vector")).or_exit(Exit::Usage);
    };
    let report = vectors::replay_report(&input_text(path)?).with_context(|| path_text(path)).or_exit(Exit::Usage)?;
    print_json(&report)
}

fn replay_timeline(args: &ReplayArgs, path: &Path) -> Outcome {
    if is_of_v0_5(path) {
        let message =
            "the run was one of round v0.5, whose rules judge more than a timeline has: nothing judges it again";
        return Err(anyhow!(message)).with_context(|| path_text(path)).or_exit(Exit::Usage);
    }
    let stored = stored_timeline::read(path).or_exit(Exit::Usage)?;
    let mut settings = match &args.settings {
        Some(path) => settings_from(&input_text(path)?).with_context(|| path_text(path)).or_exit(Exit::Usage)?,
        None => stored.about.settings.clone(),
    };
    for assignment in &args.set {
        settings.assign(assignment).context("--set").or_exit(Exit::Usage)?;
    }
    let judged = vectors::replay_timeline(&stored, settings).with_context(|| path_text(path)).or_exit(Exit::Usage)?;
    let vectors::Rejudged { report, verdict, effective, .. } = judged;
    let checked = args.within.map_or(Ok(()), |limits| limits.check(&effective));
    checked.context("--within").or_exit(Exit::Usage)?;
    if args.json {
        print_json(&report)?
    } else {
        print_text(&report.summary)?
    };
    // Standard output has the summary file and nothing else.
    let mut verdict_text = format!("Result    {}\n", screen::verdict_words(&verdict));
    verdict_text.extend(verdict.reasons().iter().map(|reason| format!("          - {}\n", reason.text)));
    let within = args.within.map(|limits| WithinDocument::from(&limits.count(&stored.timeline, &effective)));
    verdict_text.extend(within.map(|within| format!("Within    {}\n", within.text())));
    std::io::stderr().write_all(verdict_text.as_bytes()).or_exit(Exit::Bug)?;
    Ok(exit(&verdict))
}

/// True for a timeline, or a run folder, whose result says that round v0.5 applied.
fn is_of_v0_5(path: &Path) -> bool {
    let folder = if path.is_dir() { Some(path) } else { path.parent() };
    let result = folder.and_then(|folder| ResultSummary::of_folder(folder).ok());
    result.is_some_and(|result| result.settings_v0_5.is_some())
}

/// Judges the logs of an official LoadGen again, and ends by whether that comes to the same.
fn replay_official(folder: &Path, integers: Option<IntegerRule>, form: Format) -> Outcome {
    let logs = official_logs::read(folder).or_exit(Exit::Usage)?;
    let compared =
        loadgen::official::compare_by(&logs, integers).with_context(|| path_text(folder)).or_exit(Exit::Usage)?;
    let document = OfficialReplay::from(compared);
    print_in(form, &document, || print_text(&document.text()), || document.table())?;
    Ok(match (document.same, document.compared.official.as_deref(), document.compared.ours.as_deref()) {
        (false, ..) => Exit::Bug,
        (true, Some("VALID"), Some("VALID")) | (true, None, _) => Exit::Ok,
        (true, Some(_), _) => Exit::Invalid,
    })
}

/// Returns the exit code with which `run` would have ended, as far as the reasons say it.
fn exit(verdict: &Verdict) -> Exit {
    let has = |codes: &[&str]| verdict.reasons().iter().any(|reason| codes.contains(&reason.code.as_str()));
    match () {
        () if verdict.is_valid() => Exit::Ok,
        () if has(&["bug", "not_written"]) => Exit::Bug,
        () if has(&["interrupted"]) => Exit::Interrupted,
        () if has(&["node_lost", "sut_name", "broken"]) => Exit::Network,
        () => Exit::Invalid,
    }
}

/// Settings alone, or the input of `trace`.
fn settings_from(text: &str) -> Result<TestSettings, serde_json::Error> {
    let mut value: serde_json::Value = serde_json::from_str(text)?;
    match value.get_mut("settings") {
        Some(inner) => serde_json::from_value(inner.take()),
        None => serde_json::from_value(value),
    }
}
