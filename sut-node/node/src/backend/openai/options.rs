//! Options for requests to a server: the flags of `sut-node`, as values.

use std::path::PathBuf;
use std::time::Duration;

/// Options for requests to a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenAiOptions {
    /// A sample fails when the server sends nothing for this long while its answer is awaited. Not 0.
    pub server_timeout: Duration,
    /// The file with the API key; without one the environment's `OPENAI_API_KEY`, else no key.
    pub api_key_file: Option<PathBuf>,
    /// The file with the CA (PEM) that the server of an `https://` URL is verified with. Refused for other URLs.
    pub server_ca: Option<PathBuf>,
    /// Permission to ask a server on another host by `http://`: prompts, answers and the key in plain text.
    pub allows_plain_text: bool,
    /// Permission to read the key from a file that others can read.
    pub allows_open_key: bool,
}

impl Default for OpenAiOptions {
    fn default() -> OpenAiOptions {
        OpenAiOptions {
            server_timeout: Duration::from_secs(60),
            api_key_file: None,
            server_ca: None,
            allows_plain_text: false,
            allows_open_key: false,
        }
    }
}
