//! Lists of SHA-256 sums, as the program `sha256sum` writes them: a file is used only when it has its sum.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use lon_proto::files::{self, Limit};
pub(crate) use lon_proto::sums::SUMS_FILE;
use sha2::{Digest as _, Sha256};

/// The reasons why a file is not used.
#[derive(Debug, thiserror::Error)]
pub enum SumError {
    /// The operating system cannot read the file.
    #[error("cannot read {file}: {source}")]
    Read {
        /// The path of the file.
        file: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A line of the list is not a sum and a name, or contradicts an earlier line.
    #[error("{list}: line {line}: {reason}")]
    List {
        /// The path of the list.
        list: PathBuf,
        /// The number of the line, counted from 1.
        line: usize,
        /// A clause that says what is wrong with the line.
        reason: String,
    },
    /// The list does not name the file.
    #[error("{list} has no sum for {name}")]
    NotListed {
        /// The path of the list.
        list: PathBuf,
        /// The name of the file.
        name: String,
    },
    /// The file does not have the sum that the list gives it.
    #[error("{file} is truncated or altered: its SHA-256 is {actual_sum} ({bytes} bytes), {SUMS_FILE} says {expected}")]
    Mismatch {
        /// The path of the file.
        file: PathBuf,
        /// The sum of the file, in hexadecimal.
        actual_sum: String,
        /// The size of the file in bytes.
        bytes: usize,
        /// The sum in the list, in hexadecimal.
        expected: String,
    },
}

/// Reads the file `name` in `folder` and compares it with the folder's list of sums, which must exist.
///
/// # Errors
/// See [`SumError`].
pub(crate) fn read(folder: &Path, name: &str) -> Result<Vec<u8>, SumError> {
    let load = |file: PathBuf| files::bytes(&file, Limit::DOCUMENT).map_err(|source| SumError::Read { file, source });
    let text = load(folder.join(SUMS_FILE))?;
    let content = load(folder.join(name))?;
    Sums::parse(folder, &String::from_utf8_lossy(&text))?.verify_content(name, &content)?;
    Ok(content)
}

/// The list of sums of one folder.
#[derive(Debug)]
pub(crate) struct Sums {
    folder: PathBuf,
    by_name: HashMap<String, String>,
    /// SHA-256 of the list itself, in hexadecimal.
    sha256: String,
}

impl Sums {
    /// Reads the text of the list that lies, or would lie, in `folder`.
    ///
    /// # Errors
    /// A line is not a sum and a name, or contradicts an earlier line.
    pub(crate) fn parse(folder: &Path, text: &str) -> Result<Sums, SumError> {
        let by_name = parse(text, &folder.join(SUMS_FILE))?;
        Ok(Sums { folder: folder.to_owned(), by_name, sha256: hex::encode(Sha256::digest(text)) })
    }

    /// SHA-256 of the list itself, in hexadecimal: equal lists are lists of equal files.
    pub(crate) fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Tells whether the list names the file.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// Returns the names in the list whose files are not there, in order.
    pub(crate) fn missing(&self) -> Vec<&str> {
        let is_missing = |name: &&str| !self.folder.join(name).exists();
        let mut missing: Vec<&str> = self.by_name.keys().map(String::as_str).filter(is_missing).collect();
        missing.sort_unstable();
        missing
    }

    /// Reads the list in `folder`; none when the folder has no list.
    ///
    /// # Errors
    /// The list cannot be read, or is not a list of sums.
    pub(crate) fn of_folder(folder: &Path) -> Result<Option<Sums>, SumError> {
        let list = folder.join(SUMS_FILE);
        match files::bytes(&list, Limit::DOCUMENT) {
            Ok(bytes) => {
                files::check_mark(&bytes).map_err(|source| SumError::Read { file: list, source })?;
                Sums::parse(folder, &String::from_utf8_lossy(&bytes)).map(Some)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(SumError::Read { file: list, source }),
        }
    }

    /// Checks that the file has its sum. The file is read in pieces, so that it may be larger than memory.
    ///
    /// # Errors
    /// The file has another sum, is not in the list, or cannot be read.
    pub(crate) fn verify(&self, name: &str) -> Result<(), SumError> {
        let expected = self.expected(name)?;
        verify_file(&self.folder.join(name), expected)
    }

    /// Checks that `content`, which is that of the file, has the file's sum.
    ///
    /// # Errors
    /// The content has another sum, or the file is not in the list.
    pub(crate) fn verify_content(&self, name: &str, content: &[u8]) -> Result<(), SumError> {
        let actual_sum = hex::encode(Sha256::digest(content));
        compare(&self.folder.join(name), actual_sum, content.len(), self.expected(name)?)
    }

    fn expected(&self, name: &str) -> Result<&str, SumError> {
        let not_listed = || SumError::NotListed { list: self.folder.join(SUMS_FILE), name: name.to_owned() };
        self.by_name.get(name).map(String::as_str).ok_or_else(not_listed)
    }
}

/// Checks that the file has the sum `expected`, which is in lower-case hexadecimal. The file is read in pieces.
///
/// # Errors
/// The file has another sum, or cannot be read.
pub(crate) fn verify_file(file: &Path, expected: &str) -> Result<(), SumError> {
    let (actual_sum, bytes) = sum(file).map_err(|source| SumError::Read { file: file.to_owned(), source })?;
    compare(file, actual_sum, bytes as usize, expected)
}

fn compare(file: &Path, actual_sum: String, bytes: usize, expected: &str) -> Result<(), SumError> {
    match actual_sum == expected {
        true => Ok(()),
        false => Err(SumError::Mismatch { file: file.to_owned(), actual_sum, bytes, expected: expected.to_owned() }),
    }
}

/// Returns the sum of a file in hexadecimal, and the file's size in bytes.
pub(crate) fn sum(file: &Path) -> io::Result<(String, u64)> {
    lon_proto::sums::of(files::open(file, Limit::DATA)?)
}

/// Returns the sums of a list by name. Empty lines are skipped.
fn parse(text: &str, list: &Path) -> Result<HashMap<String, String>, SumError> {
    let mut by_name = HashMap::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |reason: String| SumError::List { list: list.to_owned(), line: number + 1, reason };
        let (name, sum) = entry(line).ok_or_else(|| wrong(format!("'{line}' is not 'SHA-256  NAME'")))?;
        if let Some(other) = by_name.insert(name.to_owned(), sum.clone()).filter(|other| *other != sum) {
            return Err(wrong(format!("{name} has the sum {sum}, and {other} further up")));
        }
    }
    Ok(by_name)
}

/// Returns the name and the sum of one line; none when the line is something else.
fn entry(line: &str) -> Option<(&str, String)> {
    let (name, sum) = lon_proto::sums::entry(line)?;
    let is_sum = sum.len() == 64 && sum.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_sum && !name.is_empty()).then_some((name, sum))
}

#[cfg(test)]
mod tests {
    use std::fs;

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
        let sums = Sums::of_folder(path).unwrap().unwrap();
        assert_eq!(sums.verify("a.npy").unwrap_err().to_string(), error);
        assert!(matches!(sums.verify("b.npy"), Err(SumError::NotListed { .. })));
        fs::write(path.join("a.npy"), "x").unwrap();
        sums.verify("a.npy").unwrap();
        assert!(Sums::of_folder(&path.join("none")).unwrap().is_none());
    }

    #[test]
    fn a_list_that_is_none_is_refused() {
        let (one, other) = ("a".repeat(64), "b".repeat(64));
        let list = |text: String| parse(&text, Path::new("SHA256SUMS")).map_err(|error| error.to_string());
        assert_eq!(list(format!("{one}  x\n\n{one} *./x\n")).unwrap().len(), 1);
        for (text, part) in [
            (format!("{one}  x\ngarbage\n"), "line 2: 'garbage'"),
            (format!("{one}\n"), "line 1"),
            (format!("{}  x\n", &one[1..]), "line 1"),
            (format!("{one}  x\n{other}  x\n"), "line 2: x has the sum"),
        ] {
            let refusal = list(text).unwrap_err();
            assert!(refusal.contains(part) && refusal.contains("SHA256SUMS"), "{refusal}");
        }
    }
}
