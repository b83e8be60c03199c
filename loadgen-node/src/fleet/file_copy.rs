//! A file of this machine that hosts have a copy of, known by its content.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use lon_run::outputs::logs::audit_folder::sum_of;

/// A file of this machine, by its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CopiedFile {
    pub(super) path: PathBuf,
    /// SHA-256 in hexadecimal.
    pub(super) sha256: String,
}

impl CopiedFile {
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn new(path: &Path) -> Result<CopiedFile> {
        let sha256 = sum_of(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(CopiedFile { path: path.to_owned(), sha256 })
    }

    /// The file on the hosts, from the folder of a node: named by its content, so that equal files are copied once.
    pub(crate) fn place(&self) -> String {
        let end = self.path.extension().map(|end| format!(".{}", end.to_string_lossy())).unwrap_or_default();
        format!("files/{}{end}", self.sha256)
    }
}
