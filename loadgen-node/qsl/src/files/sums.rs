//! SHA-256 sums: a file is what it was when the sums were written, or it is not used.

use std::collections::HashMap;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::files::disk;

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
    /// The list of sums is none.
    #[error("{list}: line {line}: {reason}")]
    List {
        /// The list.
        list: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong there.
        reason: String,
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
    let load = |file: PathBuf| disk::read(&file).map_err(|source| SumError::Read { file, source });
    let list = folder.join(SUMS_FILE);
    let sums = String::from_utf8_lossy(&load(list.clone())?).into_owned();
    let content = load(folder.join(name))?;
    check(&folder.join(name), name, &content, &list, &sums)?;
    Ok(content)
}

/// The list of a folder, when it has one.
#[derive(Debug)]
pub(crate) struct Sums {
    folder: PathBuf,
    by_name: HashMap<String, String>,
}

impl Sums {
    /// None: the folder has no list.
    ///
    /// # Errors
    /// The list cannot be read.
    pub(crate) fn beside(folder: &Path) -> Result<Option<Sums>, SumError> {
        let list = folder.join(SUMS_FILE);
        let text = match disk::read(&list) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(SumError::Read { file: list, source }),
        };
        let by_name = parse(&text, &list)?;
        Ok(Some(Sums { folder: folder.to_owned(), by_name }))
    }

    /// Whether the file is what it was; read in pieces, however large it is.
    ///
    /// # Errors
    /// It is not, or is not in the list, or cannot be read.
    pub(crate) fn verify(&self, name: &str) -> Result<(), SumError> {
        let file = self.folder.join(name);
        let list = || self.folder.join(SUMS_FILE);
        let expected = self.by_name.get(name);
        let expected = expected.ok_or_else(|| SumError::NotListed { list: list(), name: name.to_owned() })?;
        let (got, bytes) = sum(&file).map_err(|source| SumError::Read { file: file.clone(), source })?;
        match got == *expected {
            true => Ok(()),
            false => Err(SumError::Mismatch { file, got, bytes: bytes as usize, expected: expected.clone() }),
        }
    }
}

/// The sum of a file, and its bytes.
pub(crate) fn sum(file: &Path) -> io::Result<(String, u64)> {
    let mut reader = disk::open(file)?;
    let (mut hasher, mut buffer, mut bytes) = (Sha256::new(), vec![0; 1 << 18], 0);
    loop {
        match reader.read(&mut buffer)? {
            0 => return Ok((hex(&hasher.finalize()), bytes)),
            read => {
                hasher.update(&buffer[..read]);
                bytes += read as u64;
            }
        }
    }
}

fn hex(sum: &[u8]) -> String {
    sum.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Sums by names. Empty lines are none of the list.
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

/// Name and sum of one line.
fn entry(line: &str) -> Option<(&str, String)> {
    let (sum, name) = line.trim_start().split_once(char::is_whitespace)?;
    let name = name.trim().trim_start_matches('*');
    let is_sum = sum.len() == 64 && sum.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_sum && !name.is_empty()).then(|| (name.strip_prefix("./").unwrap_or(name), sum.to_ascii_lowercase()))
}

/// Checks content against a list of sums.
pub(crate) fn check(file: &Path, name: &str, content: &[u8], list: &Path, sums: &str) -> Result<(), SumError> {
    let expected = parse(sums, list)?.remove(name);
    let expected = expected.ok_or_else(|| SumError::NotListed { list: list.to_owned(), name: name.to_owned() })?;
    let got = hex(&Sha256::digest(content));
    if got != expected {
        return Err(SumError::Mismatch { file: file.to_owned(), got, bytes: content.len(), expected });
    }
    Ok(())
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
        let sums = Sums::beside(path).unwrap().unwrap();
        assert_eq!(sums.verify("a.npy").unwrap_err().to_string(), error);
        assert!(matches!(sums.verify("b.npy"), Err(SumError::NotListed { .. })));
        fs::write(path.join("a.npy"), "x").unwrap();
        sums.verify("a.npy").unwrap();
        assert!(Sums::beside(&path.join("none")).unwrap().is_none());
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
            let told = list(text).unwrap_err();
            assert!(told.contains(part) && told.contains("SHA256SUMS"), "{told}");
        }
    }
}
