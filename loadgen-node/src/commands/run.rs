//! The command `run`: one test, from flags to run folder; or advice on codecs.

use std::path::PathBuf;

use anyhow::Context as _;

use super::advise;
use crate::cli::{Asked, RunArgs};
use crate::exit::{Exit, OrExit as _, Outcome};
use crate::outputs::folder::{self, FolderError};
use crate::outputs::record::{self, Recorded};
use crate::outputs::{progress, screen};
use crate::test_run::{Test, TestSpec};
use crate::world::signals::Signals;

/// Does what the flags ask for.
pub(crate) fn run(args: &RunArgs) -> Outcome {
    match args.check()? {
        Asked::Advice(spec) => advise::advise(&spec),
        Asked::Test { spec, out } => run_test(*spec, out),
    }
}

/// Makes one test, leaves its run folder and shows the result. Without `out` the folder gets a name of its own.
pub(crate) fn run_test(spec: TestSpec, out: Option<PathBuf>) -> Outcome {
    let out = out.unwrap_or_else(|| folder::default_path(spec.benchmark, spec.scenario.name()));
    let test = Test::new(spec)?;
    // Looked at before any node is bothered; the folder is made once they have all agreed to the run.
    if out.exists() {
        return Err(FolderError::Exists(out)).or_exit(Exit::Usage);
    }
    test.verify(&progress::steps("verifying files"))?;
    let signals = Signals::catch().context("cannot handle signals").or_exit(Exit::Bug)?;
    let mut connected = test.connect()?;
    connected.probe_if_wanted(&signals)?;
    let Recorded { finished, folder, written } = record::record(connected.claim(&signals)?, &out)?;
    // What was measured is shown even if its files could not be written.
    screen::show(&finished, folder.path()).or_exit(Exit::Bug)?;
    written.context("the run is over, but its files are not complete").or_exit(Exit::Bug)?;
    Ok(finished.exit())
}
