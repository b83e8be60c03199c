//! Context of all rows: the programs, certificates, a place for files.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};
use tempfile::TempDir;

use crate::args::Cli;
use crate::load::Moment;
use crate::process::Starter;
use crate::product::{self, Programs, Run, Spec};
use crate::reference::tls;

/// Cores kept busy by others that are worth a warning.
const BUSY: f64 = 0.1;

/// Context that all rows need.
#[derive(Debug)]
pub(crate) struct Context {
    pub(super) rounds: u32,
    pub(super) starter: Starter,
    pub(super) programs: Programs,
    pub(super) tls: tls::Files,
    /// This program: its references are subcommands.
    pub(super) myself: PathBuf,
    pub(super) folder: TempDir,
}

impl Context {
    /// Finds the programs, makes certificates and a place for files.
    pub(crate) fn new(cli: &Cli) -> Result<Context> {
        let myself = std::env::current_exe().context("this program's own path is not known")?;
        let parent = myself.parent().map(PathBuf::from).unwrap_or_default();
        let programs = Programs::find(cli.bin_dir.as_ref().unwrap_or(&parent))?;
        let folder = tempfile::tempdir().context("no place for temporary files")?;
        let starter = Starter::new(folder.path())?;
        let tls = tls::Files::make(folder.path())?;
        Ok(Context { rounds: cli.rounds, starter, programs, tls, myself, folder })
    }

    /// Looks for a second, and tells if somebody else keeps the machine busy.
    pub(crate) fn look_around(&self) -> Result<()> {
        let before = Moment::now()?;
        std::thread::sleep(Duration::from_secs(1));
        let others = Moment::now()?.others_since(&before);
        if others > BUSY {
            tell(&format!("other programs keep {others:.1} cores busy: the figures will be disturbed"));
        }
        Ok(())
    }

    /// Runs the product once and waits for its result.
    pub(super) fn run(&self, spec: &Spec) -> Result<Run> {
        product::run(&self.starter, &self.programs, &self.tls, self.folder.path(), spec)
    }
}

/// Progress, on standard error.
pub(super) fn tell(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
