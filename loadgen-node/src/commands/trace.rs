//! The command `trace`: the traffic that settings would generate.

use anyhow::Context as _;

use super::io::{print_json, read, shown};
use crate::cli::TraceArgs;
use crate::exit::{Exit, OrExit as _, Outcome};
use loadgen::vectors;

/// `trace --settings FILE.json`.
pub(crate) fn trace(args: &TraceArgs) -> Outcome {
    let text = read(&args.settings)?;
    let traffic = vectors::trace(&text, args.digest).with_context(|| shown(&args.settings)).or_exit(Exit::Usage)?;
    print_json(&traffic)
}
