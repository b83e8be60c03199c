//! Secrets do not belong in the file: a file of hosts is copied, shown and kept in repositories. Keys, variables and
//! flags that carry one are refused by their names; the value is never shown.

use anyhow::{Result, bail};
use toml::{Table, Value};

/// Words of a name that say that a secret is behind it.
const SECRET_WORDS: [&str; 11] = [
    "key",
    "apikey",
    "passwd",
    "passphrase",
    "pass",
    "sshpass",
    "auth",
    "credential",
    "credentials",
    "bearer",
    "authorization",
];
/// Ends of such words.
const ENDS: [&str; 3] = ["token", "secret", "password"];
/// Names that have such a word and are paths.
const PATHS: [&str; 2] = ["tls-key", "allow-open-key-files"];
/// Last words of names that are paths.
const FILES: [&str; 4] = ["file", "files", "path", "dir"];

/// Refuses a file with a secret in it: a key of that name, or a word such as `--token=...` or `API_KEY=...`.
///
/// # Errors
/// The first such place, and what to write instead.
pub(super) fn refuse(table: &Table) -> Result<()> {
    table.iter().try_for_each(|(key, value)| {
        if is_secret(key) {
            bail!("{}", message(key));
        }
        value_of(value)
    })
}

fn value_of(value: &Value) -> Result<()> {
    match value {
        Value::Table(table) => refuse(table),
        Value::Array(items) => items.iter().try_for_each(value_of),
        // A word may be a line for a shell, with words in it.
        Value::String(text) => match text.split_whitespace().find_map(carried) {
            Some(name) => bail!("{}", message(name)),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

/// The name under which a word of a command carries a secret: `--NAME`, whose value is the next word, or `NAME=VALUE`.
fn carried(word: &str) -> Option<&str> {
    let name = match word.split_once('=') {
        Some((name, _)) => name,
        None if word.starts_with("--") => word,
        None => return None,
    };
    let name = name.trim_start_matches('-');
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    (is_name && is_secret(name)).then_some(name)
}

/// Returns true when the value with this name is a secret itself, and not the path of a file with one.
fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase().replace(['_', '.'], "-");
    let last = name.rsplit('-').next().unwrap_or_default();
    let is_path = PATHS.iter().any(|path| name.ends_with(path)) || FILES.contains(&last);
    let is_secret = |word: &str| SECRET_WORDS.contains(&word) || ENDS.iter().any(|end| word.ends_with(end));
    !is_path && name.split('-').any(is_secret)
}

fn message(name: &str) -> String {
    format!(
        "'{name}' would put a secret into this file: write the path of a file that has it, as in serve = \
         [\"--token-file\", \"/etc/lon/token\"] (or --api-key-file, --tls-key) for nodes and token-file = \"token\" \
         under [reach] for this end; or set the variable on the host itself"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> Option<String> {
        refuse(&toml::from_str(text).unwrap()).err().map(|error| error.to_string())
    }

    #[test]
    fn secrets_are_refused_by_name_and_never_shown() {
        for text in [
            "token = \"S3CRET\"",
            "Password = \"S3CRET\"",
            "[reach]\napi_key = \"S3CRET\"",
            "[env]\nOPENAI_API_KEY = \"S3CRET\"",
            "serve = [\"--token\", \"S3CRET\"]",
            "serve = [\"--api-key=S3CRET\"]",
            "command = [\"docker\", \"run\", \"-e\", \"HF_TOKEN=S3CRET\"]",
            "[[node]]\nsecret = \"S3CRET\"",
            "[env]\nDB_PASS = \"S3CRET\"",
            "[env]\nPGPASSWORD = \"S3CRET\"",
            "serve = \"--token=S3CRET\"",
            "command = [\"sh\", \"-c\", \"export HF_TOKEN=S3CRET; exec x\"]",
            "ssh = \"env SSHPASS=S3CRET sshpass -e ssh {host}\"",
            "[[node]]\nenv = { LON_TOKEN = \"S3CRET\" }",
        ] {
            let message = refused(text).unwrap_or_else(|| panic!("{text} is taken"));
            assert!(message.contains("--token-file") && !message.contains("S3CRET"), "{message}");
        }
    }

    #[test]
    fn paths_and_names_are_taken() {
        for text in [
            "[reach]\ntoken-file = \"t\"\ntls-key = \"k.pem\"\nallow-open-key-files = true",
            "serve = [\"--token-file\", \"t\", \"--tls-key\", \"k\", \"--max-tokens\", \"8\", \"--api-key-file=k\"]",
            "serve = [\"--backend\", \"synthetic:ttft=20ms,tpot=5ms,tokens=64\", \"--allow-open-key-files\"]",
            "command = [\"docker\", \"run\", \"-e\", \"HF_TOKEN\", \"image\"]",
            "[env]\nLON_TOKEN_FILE = \"t\"\nLON_TLS_KEY = \"k\"",
            "[[node]]\nname = \"token\"",
        ] {
            assert_eq!(refused(text), None, "{text}");
        }
    }
}
