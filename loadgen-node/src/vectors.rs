//! The commands `trace` and `replay`: the engine without a SUT, from and to files.

use std::fs::File;
use std::io::{BufReader, Write as _};
use std::path::Path;

use anyhow::{Context as _, anyhow};

use super::args::{ReplayArgs, TraceArgs};
use super::exit::{Exit, OrExit as _, Outcome};
use loadgen::settings::TestSettings;
use loadgen::recorder::Timeline;
use loadgen::vectors;

/// `trace --settings FILE.json`.
pub(crate) fn trace(args: &TraceArgs) -> Outcome {
    let text = read(&args.settings)?;
    let json = vectors::trace_json(&text, args.digest).with_context(|| shown(&args.settings)).or_exit(Exit::Usage)?;
    print(&json)
}

/// `replay --report-vector FILE.json` and `replay --timeline FILE`.
pub(crate) fn replay(args: &ReplayArgs) -> Outcome {
    if let Some(path) = &args.timeline {
        return replay_timeline(args, path);
    }
    let Some(path) = &args.report_vector else {
        return Err(anyhow!("give --timeline or --report-vector")).or_exit(Exit::Usage);
    };
    let json = vectors::replay_report(&read(path)?).with_context(|| shown(path)).or_exit(Exit::Usage)?;
    print(&json)
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
    let json = vectors::replay_timeline(&stored, settings).with_context(|| shown(path)).or_exit(Exit::Usage)?;
    if args.json {
        return print(&json);
    }
    print_text(json["summary"].as_str().unwrap_or_default())
}

/// Settings alone, or the input of `trace`.
fn settings_from(text: &str) -> Result<TestSettings, serde_json::Error> {
    let mut value: serde_json::Value = serde_json::from_str(text)?;
    match value.get_mut("settings") {
        Some(inner) => serde_json::from_value(inner.take()),
        None => serde_json::from_value(value),
    }
}

pub(crate) fn read(path: &Path) -> Outcome<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", shown(path))).or_exit(Exit::Usage)
}

pub(crate) fn shown(path: &Path) -> String {
    path.display().to_string()
}

pub(crate) fn print(json: &impl std::fmt::Display) -> Outcome {
    print_text(&format!("{json}\n"))
}

fn print_text(text: &str) -> Outcome {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        // Whoever reads has seen enough (`| head`).
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(Exit::Ok),
        Err(error) => Err(anyhow!(error)).or_exit(Exit::Bug),
        Ok(()) => Ok(Exit::Ok),
    }
}
