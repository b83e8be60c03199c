//! What follows `openai:` in `--backend`: where the server is and which of its models answers.

use std::str::FromStr;

/// `http://HOST[:PORT]/MODEL`, taken apart. No name is looked up here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// Name or address; an IPv6 address without its brackets.
    pub(super) host: String,
    /// 80 unless given.
    pub(super) port: u16,
    /// Host and port as the text has them, for the `Host` header and for people.
    pub(super) authority: String,
    /// All that follows the authority's slash: names of models have slashes, too.
    pub(super) model: String,
}

/// Why a text names no server and model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// TLS is not spoken.
    #[error(
        "'{0}' asks for https, which this backend does not speak: give http://HOST:PORT/MODEL, and put a proxy that \
         ends TLS in between where the server is on another host"
    )]
    Https(String),
    /// No model.
    #[error("'{0}' names no model: give http://HOST:PORT/MODEL (the models are listed by http://HOST:PORT/v1/models)")]
    NoModel(String),
    /// Something else.
    #[error("'{text}' is not http://HOST:PORT/MODEL: {reason}")]
    Malformed {
        /// What was given.
        text: String,
        /// What is wrong with it.
        reason: &'static str,
    },
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Target, TargetError> {
        let malformed = |reason| TargetError::Malformed { text: text.to_owned(), reason };
        if text.starts_with("https://") {
            return Err(TargetError::Https(text.to_owned()));
        }
        let rest = text.strip_prefix("http://").ok_or_else(|| malformed("it does not begin with http://"))?;
        if text.chars().any(|c| c.is_control() || c == ' ') {
            return Err(malformed("it has blanks or control characters"));
        }
        let (authority, model) = rest.split_once('/').unwrap_or((rest, ""));
        let (host, port) = host_and_port(authority).map_err(malformed)?;
        if model.is_empty() {
            return Err(TargetError::NoModel(text.to_owned()));
        }
        Ok(Target { host: host.to_owned(), port, authority: authority.to_owned(), model: model.to_owned() })
    }
}

fn host_and_port(authority: &str) -> Result<(&str, u16), &'static str> {
    if authority.contains('@') {
        return Err("it has a user name; an API key is given by --api-key-file");
    }
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => rest.split_once(']').ok_or("the bracket of its address is not closed")?,
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    if host.is_empty() {
        return Err("it has no host");
    }
    let port = match port.strip_prefix(':') {
        None if port.is_empty() => 80,
        digits => digits.and_then(|digits| digits.parse().ok()).filter(|port| *port != 0).ok_or("its port is none")?,
    };
    Ok((host, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_port_and_model() {
        let parts = |text: &str| {
            let target: Target = text.parse().unwrap();
            (target.host, target.port, target.authority, target.model)
        };
        let owned = |host: &str, port, authority: &str, model: &str| {
            (host.to_owned(), port, authority.to_owned(), model.to_owned())
        };
        assert_eq!(parts("http://127.0.0.1:8080/tiny"), owned("127.0.0.1", 8080, "127.0.0.1:8080", "tiny"));
        assert_eq!(parts("http://llm/org/model-8B"), owned("llm", 80, "llm", "org/model-8B"));
        assert_eq!(parts("http://[::1]:8080/m"), owned("::1", 8080, "[::1]:8080", "m"));
        assert_eq!(parts("http://[::1]/m"), owned("::1", 80, "[::1]", "m"));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (bad, part) in [
            ("https://host/m", "does not speak"),
            ("host:8080/m", "does not begin with http://"),
            ("", "does not begin with http://"),
            ("http://host:8080", "names no model"),
            ("http://host:8080/", "names no model"),
            ("http:///m", "no host"),
            ("http://:80/m", "no host"),
            ("http://host:x/m", "its port is none"),
            ("http://host:0/m", "its port is none"),
            ("http://host:65536/m", "its port is none"),
            ("http://[::1/m", "bracket"),
            ("http://[::1]80/m", "its port is none"),
            ("http://me:secret@host/m", "--api-key-file"),
            ("http://host/m\r\nX: y", "control characters"),
        ] {
            let error = bad.parse::<Target>().unwrap_err().to_string();
            assert!(error.contains(part), "{bad}: {error}");
        }
    }
}
