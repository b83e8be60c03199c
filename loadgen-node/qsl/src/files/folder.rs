//! A folder whose files are named by a list that somebody else may have written: only files inside it are read.

use std::io;
use std::path::{Component, Path, PathBuf};

use lon_proto::files::{self, Limit};
use lon_proto::limits::MAX_SAMPLE_BYTES;

/// A folder of files, and where it really lies.
///
/// A name must be a relative path without `..`, and the file must lie inside the folder once all links are followed.
/// The folder itself may be a link.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// The folder without links.
    root: PathBuf,
}

/// The reasons why a name is not that of a file of the folder. Each shows the name.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NameError {
    /// The name is an absolute path.
    #[error("'{0}' is an absolute path; only files of the dataset's own folder are read, by relative paths")]
    Absolute(String),
    /// The name has a `..` in it.
    #[error("'{0}' has a '..' in it; only files of the dataset's own folder are read")]
    Parent(String),
    /// A link leads out of the folder.
    #[error(
        "'{name}' is a link to {target}, which is outside of {folder}; put the file itself there (the folder as a \
         whole may be a link)"
    )]
    Link {
        /// The name that was given.
        name: String,
        /// The path of the file without links.
        target: PathBuf,
        /// The path of the folder without links.
        folder: PathBuf,
    },
    /// The file is missing, or its path cannot be followed.
    #[error("there is no file {file} ({source})")]
    Missing {
        /// The path of the file.
        file: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The path has the name of a folder, a pipe or a device.
    #[error("{0} is no file")]
    NoFile(PathBuf),
}

impl Folder {
    /// The folder at `path`.
    ///
    /// # Errors
    /// There is none, or its path cannot be followed.
    pub(crate) fn open(path: &Path) -> io::Result<Folder> {
        Ok(Folder { path: path.to_owned(), root: path.canonicalize()? })
    }

    /// The path of the folder as it was given.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Checks a name without looking for its file.
    ///
    /// # Errors
    /// The name is absolute or has a `..`.
    pub(crate) fn check_name(name: &str) -> Result<(), NameError> {
        for component in Path::new(name).components() {
            match component {
                Component::Normal(_) | Component::CurDir => {}
                Component::ParentDir => return Err(NameError::Parent(name.to_owned())),
                Component::RootDir | Component::Prefix(_) => return Err(NameError::Absolute(name.to_owned())),
            }
        }
        Ok(())
    }

    /// The path of the file of this name, without links.
    ///
    /// # Errors
    /// See [`NameError`].
    pub(crate) fn file(&self, name: &str) -> Result<PathBuf, NameError> {
        Folder::check_name(name)?;
        let joined = self.path.join(name);
        let missing = |source| NameError::Missing { file: joined.clone(), source };
        let file = joined.canonicalize().map_err(missing)?;
        if !file.starts_with(&self.root) {
            let (name, folder) = (name.to_owned(), self.root.clone());
            return Err(NameError::Link { name, target: file, folder });
        }
        if !file.is_file() {
            return Err(NameError::NoFile(joined));
        }
        Ok(file)
    }

    /// Reads the whole file of this name.
    ///
    /// # Errors
    /// It cannot be read, or is not inside the folder.
    pub(crate) fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        // This checks the name again: the target of a link may have changed since the dataset was opened.
        let file = self.file(name).map_err(|error| match error {
            NameError::Missing { source, .. } => source,
            other => io::Error::new(io::ErrorKind::PermissionDenied, other.to_string()),
        })?;
        files::bytes(&file, SAMPLE)
    }
}

/// Splits the path of a file into its folder and its name. The folder of a bare name is `.`.
pub(crate) fn split(file: &Path) -> (PathBuf, String) {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    (folder.unwrap_or(Path::new(".")).to_owned(), name)
}

/// A file with one sample, which may have a head of its own.
const SAMPLE: Limit = Limit::bytes(MAX_SAMPLE_BYTES + (1 << 20));

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_files_inside_the_folder_have_names() {
        let home = tempfile::tempdir().unwrap();
        let (inside, secret) = (home.path().join("set/a"), home.path().join("secret"));
        fs::create_dir_all(&inside).unwrap();
        fs::write(&secret, "secret").unwrap();
        fs::write(inside.join("x"), "x").unwrap();
        symlink(&secret, inside.join("out")).unwrap();
        symlink("x", inside.join("in")).unwrap();
        symlink(home.path(), inside.join("above")).unwrap();
        symlink(home.path().join("set"), home.path().join("link")).unwrap();
        for folder in ["set", "link"] {
            let folder = Folder::open(&home.path().join(folder)).unwrap();
            for name in ["a/x", "./a/./x", "a/in"] {
                assert_eq!(folder.read(name).unwrap(), b"x", "{name}");
            }
            for (name, part) in [
                ("../secret", "has a '..'"),
                ("a/../a/x", "has a '..'"),
                ("/etc/passwd", "'/etc/passwd' is an absolute path"),
                ("a/out", "'a/out' is a link to "),
                ("a/above/secret", "outside of"),
                ("a/none", "there is no file"),
                ("a", "is no file"),
            ] {
                let message = folder.file(name).unwrap_err().to_string();
                assert!(message.contains(part), "{name}: {message}");
                assert!(folder.read(name).is_err(), "{name}");
            }
        }
    }
}
