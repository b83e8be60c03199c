//! The API key: read from a file or the environment, shown to the server and to nobody else.

use std::fmt;
use std::path::Path;

use lon_net::key_file;

use super::error::OpenAiError;

/// Fault of a text that is no key.
const NOT_A_KEY: &str = "is not one line of printable characters without blanks";

/// A key. It has no `Display`, and its `Debug` does not show it.
#[derive(Clone)]
pub(super) struct ApiKey(String);

impl ApiKey {
    /// Reads the key from the file if there is one, else from the variable, else there is none. Blanks around a key do
    /// not count. `allows_open`: also from a file that others can read.
    ///
    /// # Errors
    /// The file cannot be read, or a text is no key.
    pub(super) fn find(
        file: Option<&Path>,
        allows_open: bool,
        variable: Option<String>,
    ) -> Result<Option<ApiKey>, OpenAiError> {
        if let Some(path) = file {
            let bad = |reason: String| OpenAiError::KeyFile { path: path.to_owned(), reason };
            let text = key_file::read(path, allows_open).map_err(|error| bad(error.to_string()))?;
            let text = String::from_utf8_lossy(&text);
            return ApiKey::new(&text).map(Some).ok_or_else(|| bad(format!("what it holds {NOT_A_KEY}")));
        }
        match variable.filter(|text| !text.is_empty()) {
            Some(text) => ApiKey::new(&text).map(Some).ok_or(OpenAiError::KeyVariable(NOT_A_KEY)),
            None => Ok(None),
        }
    }

    fn new(text: &str) -> Option<ApiKey> {
        let key = text.trim();
        let is_key = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic());
        is_key.then(|| ApiKey(key.to_owned()))
    }

    /// The line of a request's head that has the key, with its line break.
    pub(super) fn header(&self) -> String {
        format!("Authorization: Bearer {}\r\n", self.0)
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_goes_before_the_variable() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, "sk-file\n").unwrap();
        let header = |file, variable: &str| {
            ApiKey::find(file, true, Some(variable.to_owned())).map(|key| key.map(|key| key.header()))
        };
        assert_eq!(header(Some(&path), "sk-env").unwrap().unwrap(), "Authorization: Bearer sk-file\r\n");
        assert_eq!(header(None, "sk-env").unwrap().unwrap(), "Authorization: Bearer sk-env\r\n");
        assert_eq!(header(None, "").unwrap(), None);
        assert!(ApiKey::find(None, false, None).unwrap().is_none());
    }

    #[test]
    fn what_is_no_key_is_refused_and_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        for bad in ["", "\n", "sk-a\nX-Evil: 1", "sk a", "schlüssel"] {
            std::fs::write(&path, bad).unwrap();
            let error = ApiKey::find(Some(&path), true, None).unwrap_err().to_string();
            assert!(error.contains("--api-key-file") && !error.contains("sk"), "{error}");
        }
        let error = ApiKey::find(Some(&folder.path().join("none")), false, None).unwrap_err().to_string();
        assert!(error.contains("none"), "{error}");
        let error = ApiKey::find(None, false, Some("sk a".to_owned())).unwrap_err().to_string();
        assert!(error.contains("OPENAI_API_KEY") && !error.contains("sk a"), "{error}");
        let key = ApiKey::new("sk-secret").unwrap();
        assert!(!format!("{key:?}").contains("secret"));
    }
}
