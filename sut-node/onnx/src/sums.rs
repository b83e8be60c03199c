//! SHA-256 sums of the files of a model, and the list of them that may lie beside it.

use std::path::{Path, PathBuf};

use lon_sut::backend_files::{self, Limit, SUMS_FILE, entry};
use sha2::{Digest as _, Sha256};

use super::error::OnnxError;

/// The largest model file: a message of Protocol Buffers has no more bytes.
pub(super) const MODEL_LIMIT: Limit = Limit::bytes(2 << 30);

/// The list of sums beside a model.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    path: PathBuf,
    /// Empty where there is no list.
    text: String,
}

impl Sums {
    /// The list that lies beside the file at `path`.
    ///
    /// # Errors
    /// There is one, and it cannot be read.
    pub(super) fn of_model(path: &Path) -> Result<Sums, OnnxError> {
        let path = path.with_file_name(SUMS_FILE);
        match backend_files::text(&path, Limit::DOCUMENT) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Sums::default()),
            Err(cause) => Err(OnnxError::Read { path, cause }),
            Ok(text) => Ok(Sums { path, text }),
        }
    }

    /// Holds the sum of the file at `path`, which the list may have as `name`.
    ///
    /// # Errors
    /// The list has another sum for it.
    pub(super) fn check(&self, path: &Path, name: &str, actual: String) -> Result<(), OnnxError> {
        match listed(&self.text, name) {
            Some(expected) if expected != actual => {
                Err(OnnxError::Sum { path: path.to_owned(), list: self.path.clone(), expected, actual })
            }
            _ => Ok(()),
        }
    }
}

/// The sum that a list has for the file of this name.
fn listed(sums: &str, name: &str) -> Option<String> {
    sums.lines().filter_map(entry).find_map(|(listed, sum)| (listed == name).then_some(sum))
}

/// The SHA-256 of these bytes, in hexadecimal.
pub(super) fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_sums_is_read_as_sha256sum_writes_it() {
        let sums = "aa  other.onnx\nBB *m.onnx\ncc  ./n.onnx\r\n\nrubbish\n";
        assert_eq!(listed(sums, "m.onnx").as_deref(), Some("bb"));
        assert_eq!(listed(sums, "n.onnx").as_deref(), Some("cc"));
        assert_eq!(listed(sums, "onnx"), None);
        assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
