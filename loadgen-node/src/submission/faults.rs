//! The faults of a submission's file: one look names all of them.

use std::path::Path;

use anyhow::{Result, anyhow};

/// The faults of a file, each with its place and the remedy.
#[derive(Debug, Default)]
pub(super) struct Faults(Vec<String>);

impl Faults {
    /// The value; none where it is a fault, which is kept.
    pub(super) fn keep<T>(&mut self, value: Result<T>) -> Option<T> {
        value.map_err(|fault| self.0.push(format!("{fault:#}"))).ok()
    }

    /// Keeps a fault unless this holds.
    pub(super) fn unless(&mut self, holds: bool, fault: impl FnOnce() -> String) {
        if !holds {
            self.0.push(fault());
        }
    }

    /// Adds what else is to be done, where there is a fault: a reader sees all of it at once.
    pub(super) fn add_open(&mut self, open: Vec<String>) {
        if !self.0.is_empty() {
            self.0.extend(open.into_iter().map(|line| format!("FILL IN {line}")));
        }
    }

    /// # Errors
    /// There are faults: one stands alone, several stand on lines of their own.
    pub(super) fn end(self, file: &Path) -> Result<()> {
        match self.0.as_slice() {
            [] => Ok(()),
            [fault] => Err(anyhow!("{fault}")),
            faults => Err(anyhow!("{} has {} faults:\n{}", file.display(), faults.len(), faults.join("\n"))),
        }
    }
}
