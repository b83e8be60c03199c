//! The token of `--token-file`: whoever claims a node has to know it. It travels as gRPC metadata, and only where plain
//! text may.

use std::fmt;
use std::path::{Path, PathBuf};

use subtle::ConstantTimeEq as _;
use tonic::metadata::{Ascii, MetadataMap, MetadataValue};

use crate::key_file::{self, KeyFileError};

/// The shortest token, in bytes.
pub const MIN_TOKEN_BYTES: usize = 16;
/// The longest token, in bytes.
pub const MAX_TOKEN_BYTES: usize = 1024;

/// The metadata that carries it, and what stands before it there.
const KEY: &str = "authorization";
const SCHEME: &str = "Bearer ";

/// A token. Its `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(MetadataValue<Ascii>);

/// The error for a file with no token in it.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file was not read.
    #[error("{path} (--token-file): {source}", path = path.display())]
    File {
        /// The file that was given.
        path: PathBuf,
        /// Why it was not read.
        source: KeyFileError,
    },
    /// The file holds no token.
    #[error(
        "{path} (--token-file) holds no token: one line of {MIN_TOKEN_BYTES} to {MAX_TOKEN_BYTES} printable ASCII \
         characters without blanks is wanted, for example from: openssl rand -hex 32",
        path = path.display()
    )]
    NotAToken {
        /// The file that was given.
        path: PathBuf,
    },
}

impl Token {
    /// Reads a token from a file; a line break at its end does not count. `allows_open`: also from a file that others
    /// can read.
    ///
    /// # Errors
    /// See [`TokenError`]. None of them shows what is in the file.
    pub fn read(path: &Path, allows_open: bool) -> Result<Token, TokenError> {
        let bytes =
            key_file::read(path, allows_open).map_err(|source| TokenError::File { path: path.to_owned(), source })?;
        Token::new(&bytes).ok_or_else(|| TokenError::NotAToken { path: path.to_owned() })
    }

    fn new(bytes: &[u8]) -> Option<Token> {
        let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let has_length = (MIN_TOKEN_BYTES..=MAX_TOKEN_BYTES).contains(&line.len());
        if !has_length || !line.iter().all(u8::is_ascii_graphic) {
            return None;
        }
        let mut value = MetadataValue::try_from([SCHEME.as_bytes(), line].concat()).ok()?;
        // Neither shown by a log of headers nor kept in a table of HTTP/2.
        value.set_sensitive(true);
        Some(Token(value))
    }

    /// Shows the token with a request.
    pub fn show(&self, metadata: &mut MetadataMap) {
        metadata.insert(KEY, self.0.clone());
    }

    /// Returns true when a request shows any token, right or wrong.
    pub fn is_any_shown(metadata: &MetadataMap) -> bool {
        metadata.contains_key(KEY)
    }

    /// Returns true when a request shows this token. The time of the comparison does not depend on how many bytes are
    /// right.
    pub fn is_shown(&self, metadata: &MetadataMap) -> bool {
        self.is_shown_by(metadata.get(KEY).map(MetadataValue::as_bytes))
    }

    /// The same for what a request of HTTP has in its header `Authorization`, if it has one.
    pub fn is_shown_by(&self, authorization: Option<&[u8]>) -> bool {
        authorization.is_some_and(|text| self.0.as_bytes().ct_eq(text).into())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &[u8] = b"0123456789abcdef";

    #[test]
    fn only_the_same_token_is_accepted() {
        let token = Token::new(TOKEN).unwrap();
        let shows = |text: Option<&'static str>| {
            let mut metadata = MetadataMap::new();
            if let Some(text) = text {
                metadata.insert(KEY, MetadataValue::from_static(text));
            }
            token.is_shown(&metadata)
        };
        assert!(shows(Some("Bearer 0123456789abcdef")));
        for wrong in [None, Some(""), Some("0123456789abcdef"), Some("Bearer 0123456789abcdeF"), Some("Bearer ")] {
            assert!(!shows(wrong), "{wrong:?}");
        }
        assert!(!shows(Some("Bearer 0123456789abcdef0")));
        let mut metadata = MetadataMap::new();
        Token::new(b"0123456789abcdef\r\n").unwrap().show(&mut metadata);
        assert!(token.is_shown(&metadata), "a line break does not count");
        assert!(!format!("{token:?} {metadata:?}").contains("abcdef"));
    }

    #[test]
    fn what_is_no_token_is_refused_and_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let blank = "sixteen secret characters";
        for bad in ["", "\n", "tooshort-secret", blank, "0123456789abcdef\nsecret", "schlüsselsecret12"] {
            std::fs::write(&path, bad).unwrap();
            let error = Token::read(&path, true).unwrap_err().to_string();
            assert!(error.contains("token (--token-file) holds no token") && !error.contains("secret"), "{error}");
        }
        assert!(Token::new(&[b'x'; MAX_TOKEN_BYTES + 1]).is_none());
        let missing = Token::read(&folder.path().join("none"), false).unwrap_err().to_string();
        assert!(missing.contains("none (--token-file)"), "{missing}");
    }
}
