//! The run folder. It is made before the run, so that a bad path is found early. A file in it is complete or absent.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use lon_qsl::benchmark::Benchmark;
use tempfile::NamedTempFile;

/// Why a run folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// There is something at the path already.
    #[error("{0} exists already: results are never overwritten; give another --out, or move it away")]
    Exists(PathBuf),
    /// The folder cannot be made.
    #[error("cannot make the run folder {path}: {source}")]
    Create {
        /// The path of the folder.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// A file in it cannot be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The path of the file.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
}

/// The folder of one run.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
}

impl RunFolder {
    /// Makes the folder, and the folders above it where they are missing.
    pub(crate) fn create(path: &Path) -> Result<RunFolder, FolderError> {
        let fail = |source: io::Error| match source.kind() {
            io::ErrorKind::AlreadyExists => FolderError::Exists(path.to_owned()),
            _ => FolderError::Create { path: path.to_owned(), source },
        };
        if let Some(above) = path.parent().filter(|above| !above.as_os_str().is_empty()) {
            fs::create_dir_all(above).map_err(fail)?;
        }
        fs::create_dir(path).map_err(fail)?;
        Ok(RunFolder { path: path.to_owned() })
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file whole or not at all.
    pub(crate) fn write(&self, name: &str, content: &[u8]) -> Result<(), FolderError> {
        let mut file = self.spool(name)?;
        file.write(content)?;
        file.finish()
    }

    /// Writes a large file whole or not at all, without holding it in memory.
    pub(crate) fn stream(
        &self,
        name: &str,
        content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), FolderError> {
        let mut file = self.spool(name)?;
        content(&mut file.file).map_err(|source| FolderError::Write { path: file.path.clone(), source })?;
        file.finish()
    }

    /// A file that grows during the run and takes its name when it is finished.
    pub(crate) fn spool(&self, name: &str) -> Result<Spool, FolderError> {
        let path = self.path.join(name);
        match NamedTempFile::new_in(&self.path) {
            Ok(file) => Ok(Spool { file: BufWriter::with_capacity(1 << 20, file), path }),
            Err(source) => Err(FolderError::Write { path, source }),
        }
    }
}

/// `results/<UTC>-<benchmark>-<what>`, with a number behind it if that is taken.
pub(crate) fn default_path(benchmark: &Benchmark, what: &str) -> PathBuf {
    let time = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
    let name = format!("{time}-{}-{what}", benchmark.name);
    let free = |path: &PathBuf| !path.exists();
    // Several runs may begin within a second.
    let numbered = (2..=1000).map(|number| Path::new("results").join(format!("{name}-{number}")));
    let plain = Path::new("results").join(&name);
    std::iter::once(plain.clone()).chain(numbered).find(free).unwrap_or(plain)
}

/// A file that is being written. Dropped before it is finished, it leaves nothing behind.
#[derive(Debug)]
pub(crate) struct Spool {
    file: BufWriter<NamedTempFile>,
    path: PathBuf,
}

impl Spool {
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), FolderError> {
        self.file.write_all(bytes).map_err(|source| FolderError::Write { path: self.path.clone(), source })
    }

    /// Gives the file its name.
    pub(crate) fn finish(self) -> Result<(), FolderError> {
        let Spool { file, path } = self;
        let fail = |source| FolderError::Write { path: path.clone(), source };
        let file = file.into_inner().map_err(|error| fail(error.into_error()))?;
        readable(file.as_file()).map_err(fail)?;
        file.persist(&path).map_err(|error| fail(error.error))?;
        Ok(())
    }
}

/// Temporary files are private to their maker; results are for everybody who may enter the folder.
fn readable(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_exists_is_left_alone() {
        let above = tempfile::tempdir().unwrap();
        let path = above.path().join("a/run");
        let folder = RunFolder::create(&path).unwrap();
        folder.write("x.txt", b"x").unwrap();
        let error = RunFolder::create(&path).unwrap_err().to_string();
        assert!(error.contains("exists already"), "{error}");
        assert_eq!(fs::read(path.join("x.txt")).unwrap(), b"x");
    }

    #[test]
    fn an_unfinished_file_leaves_nothing() {
        let above = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(&above.path().join("run")).unwrap();
        let mut spool = folder.spool("log.json").unwrap();
        spool.write(b"half").unwrap();
        drop(spool);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
