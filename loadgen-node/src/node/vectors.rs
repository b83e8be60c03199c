//! The commands `trace` and `replay`: the engine without a SUT, from and to JSON.

use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, anyhow};

use super::args::{ReplayArgs, TraceArgs};
use super::exit::{Exit, OrExit as _, Outcome};
use crate::vectors;

/// `trace --settings FILE.json`.
pub(crate) fn trace(args: &TraceArgs) -> Outcome {
    let text = read(&args.settings)?;
    let json = vectors::trace_json(&text, args.digest).with_context(|| shown(&args.settings)).or_exit(Exit::Usage)?;
    print(&json)
}

/// `replay --report-vector FILE.json`.
pub(crate) fn replay(args: &ReplayArgs) -> Outcome {
    let text = read(&args.report_vector)?;
    let json = vectors::replay_report(&text).with_context(|| shown(&args.report_vector)).or_exit(Exit::Usage)?;
    print(&json)
}

fn read(path: &Path) -> Outcome<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", shown(path))).or_exit(Exit::Usage)
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn print(json: &impl std::fmt::Display) -> Outcome {
    match writeln!(std::io::stdout().lock(), "{json}") {
        // Whoever reads has seen enough (`| head`).
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(Exit::Ok),
        Err(error) => Err(anyhow!(error)).or_exit(Exit::Bug),
        Ok(()) => Ok(Exit::Ok),
    }
}
