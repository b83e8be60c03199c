//! The command `probe` with JSON as its output.

use crate::json::Json;
use crate::process::Finished;

/// The arguments of a probe over one transport.
pub fn args<'a>(sut: &'a str, transport: &'a str) -> [&'a str; 7] {
    ["probe", "--sut", sut, "--transport", transport, "--insecure", "--json"]
}

/// Returns the document that a probe printed.
pub fn json(finished: &Finished) -> Json {
    Json::parse("probe --json", &finished.stdout)
}
