//! The faults of a submission's file: one look names all of them.

use std::path::Path;

use anyhow::{Result, bail};

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

    /// # Errors
    /// There are faults. One stands alone; several, and the lines that are still to be filled in, stand below each
    /// other.
    pub(super) fn end(self, file: &Path, fill_in: &[String]) -> Result<()> {
        let Faults(faults) = self;
        match (faults.as_slice(), fill_in) {
            ([], _) => Ok(()),
            ([fault], []) => bail!("{fault}"),
            (faults, open) => {
                let named = if faults.len() == 1 { "1 fault".to_owned() } else { format!("{} faults", faults.len()) };
                let suffix = if open.is_empty() { "" } else { ", and lines to fill in" };
                let open = open.iter().map(|line| format!("FILL IN {line}"));
                let lines: Vec<String> = faults.iter().cloned().chain(open).collect();
                bail!("{} has {named}{suffix}:\n{}", file.display(), lines.join("\n"))
            }
        }
    }
}
