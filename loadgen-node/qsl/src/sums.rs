//! SHA-256 sums: a file is what it was when the sums were written, or it is not used.

use std::path::{Path, PathBuf};
use std::{fs, io};

use sha2::{Digest as _, Sha256};

/// The file that lists the sums of the files beside it, as `sha256sum` writes it.
pub(crate) const SUMS_FILE: &str = "SHA256SUMS";

/// Why a file cannot be trusted.
#[derive(Debug, thiserror::Error)]
pub enum SumError {
    /// It cannot be read.
    #[error("cannot read {file}: {source}")]
    Read {
        /// Which file.
        file: PathBuf,
        /// The operating system's answer.
        source: io::Error,
    },
    /// The list of sums does not name it.
    #[error("{list} has no sum for {name}")]
    NotListed {
        /// The list.
        list: PathBuf,
        /// The file it should name.
        name: String,
    },
    /// It is not the file that was listed.
    #[error("{file} is truncated or altered: its SHA-256 is {got} ({bytes} bytes), {SUMS_FILE} says {expected}")]
    Mismatch {
        /// Which file.
        file: PathBuf,
        /// Sum of what is there.
        got: String,
        /// Bytes that are there.
        bytes: usize,
        /// Sum of what should be there.
        expected: String,
    },
}

/// Reads `name` in `folder` and checks it against the folder's list of sums.
pub(crate) fn read(folder: &Path, name: &str) -> Result<Vec<u8>, SumError> {
    let load = |file: PathBuf| fs::read(&file).map_err(|source| SumError::Read { file, source });
    let list = folder.join(SUMS_FILE);
    let sums = String::from_utf8_lossy(&load(list.clone())?).into_owned();
    let content = load(folder.join(name))?;
    check(&folder.join(name), name, &content, &list, &sums)?;
    Ok(content)
}

/// Checks content against a list of sums.
pub(crate) fn check(file: &Path, name: &str, content: &[u8], list: &Path, sums: &str) -> Result<(), SumError> {
    let entry = |line: &str| {
        let (sum, listed) = line.split_once(char::is_whitespace)?;
        (listed.trim_start().trim_start_matches('*') == name).then(|| sum.to_ascii_lowercase())
    };
    let expected = sums.lines().find_map(entry);
    let expected = expected.ok_or_else(|| SumError::NotListed { list: list.to_owned(), name: name.to_owned() })?;
    let got: String = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
    if got != expected {
        return Err(SumError::Mismatch { file: file.to_owned(), got, bytes: content.len(), expected });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_checked_against_their_list() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let sum = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"; // of "x"
        fs::write(path.join(SUMS_FILE), format!("{sum}  a.npy\n")).unwrap();
        assert!(matches!(read(path, "a.npy"), Err(SumError::Read { .. })));
        fs::write(path.join("a.npy"), "x").unwrap();
        assert_eq!(read(path, "a.npy").unwrap(), b"x");
        assert!(matches!(read(path, "b.npy"), Err(SumError::Read { .. })));
        fs::write(path.join("b.npy"), "x").unwrap();
        assert!(matches!(read(path, "b.npy"), Err(SumError::NotListed { .. })));
        fs::write(path.join("a.npy"), "y").unwrap();
        let error = read(path, "a.npy").unwrap_err().to_string();
        assert!(error.contains("a.npy") && error.contains(sum), "{error}");
    }
}
