//! The command `replay`: recorded results judged again, without a SUT.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use anyhow::{Context as _, anyhow};

use super::io::{print_json, print_text, read, shown};
use crate::cli::ReplayArgs;
use crate::exit::{Exit, OrExit as _, Outcome};
use loadgen::recorder::Timeline;
use loadgen::settings::TestSettings;
use loadgen::vectors;

/// `replay --report-vector FILE.json` and `replay --timeline FILE`.
pub(crate) fn replay(args: &ReplayArgs) -> Outcome {
    if let Some(path) = &args.timeline {
        return replay_timeline(args, path);
    }
    let Some(path) = &args.report_vector else {
        return Err(anyhow!("give --timeline or --report-vector")).or_exit(Exit::Usage);
    };
    let report = vectors::replay_report(&read(path)?).with_context(|| shown(path)).or_exit(Exit::Usage)?;
    print_json(&report)
}

fn replay_timeline(args: &ReplayArgs, path: &Path) -> Outcome {
    let file = File::open(path).with_context(|| format!("cannot read {}", shown(path))).or_exit(Exit::Usage)?;
    let mut file = BufReader::with_capacity(1 << 20, file);
    let stored = Timeline::read_from(&mut file).with_context(|| shown(path)).or_exit(Exit::Usage)?;
    let mut settings = match &args.settings {
        Some(path) => settings_from(&read(path)?).with_context(|| shown(path)).or_exit(Exit::Usage)?,
        None => stored.about.settings.clone(),
    };
    for assignment in &args.set {
        settings.assign(assignment).context("--set").or_exit(Exit::Usage)?;
    }
    let report = vectors::replay_timeline(&stored, settings).with_context(|| shown(path)).or_exit(Exit::Usage)?;
    if args.json { print_json(&report) } else { print_text(&report.summary) }
}

/// Settings alone, or the input of `trace`.
fn settings_from(text: &str) -> Result<TestSettings, serde_json::Error> {
    let mut value: serde_json::Value = serde_json::from_str(text)?;
    match value.get_mut("settings") {
        Some(inner) => serde_json::from_value(inner.take()),
        None => serde_json::from_value(value),
    }
}
