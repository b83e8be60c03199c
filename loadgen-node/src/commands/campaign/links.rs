//! The links between the hosts of a campaign, whose rate a command of the user sets.

use std::fs::OpenOptions;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::jobs::commands::Commands;
use crate::jobs::log::last_words;

/// File with the output of the command, in the folder of the campaign.
pub(super) const LINKS_LOG: &str = "link.log";

/// The links, and how they were set last.
pub(super) struct Links<'a> {
    commands: &'a Commands,
    log: PathBuf,
    /// The command that has set them; none before the first, and after one that failed.
    now: Option<Vec<String>>,
}

impl<'a> Links<'a> {
    /// Links that nobody has set yet. What the command prints is added to this file.
    pub(super) fn new(commands: &'a Commands, log: PathBuf) -> Links<'a> {
        Links { commands, log, now: None }
    }

    /// Runs the command, unless it was the last one.
    ///
    /// # Errors
    /// It cannot be started, or fails; the text has its last words.
    pub(super) fn set(&mut self, command: &[String]) -> Result<()> {
        if self.now.as_deref() == Some(command) {
            return Ok(());
        }
        self.now = None;
        let (program, arguments) = command.split_first().context("link has no words")?;
        let log = OpenOptions::new().create(true).append(true).open(&self.log);
        let log = log.with_context(|| format!("cannot write {}", self.log.display()))?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(log.try_clone().context("cannot share a log")?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("link: cannot start {program} (its path begins at the folder of the file)"))?;
        let status = self.commands.wait(&mut child).context("cannot wait for the command of `link`")?;
        if !status.success() {
            bail!("link: `{}` ended with {status}: {}", command.join(" "), last_words(&self.log));
        }
        self.now = Some(command.to_vec());
        Ok(())
    }
}
