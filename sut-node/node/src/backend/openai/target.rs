//! The text behind `openai:` in `--backend`: where the server is, whether it is asked inside TLS, and which of its
//! models answers.

use std::str::FromStr;

/// `http://HOST[:PORT]/MODEL` or `https://HOST[:PORT]/MODEL`, taken apart. No name is looked up here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) is_tls: bool,
    /// Name or address; an IPv6 address without its brackets.
    pub(super) host: String,
    /// 80 unless given, with TLS 443.
    pub(super) port: u16,
    /// Host and port as the text has them, for the `Host` header and for people.
    pub(super) authority: String,
    /// All that follows the authority's slash: names of models have slashes, too.
    pub(super) model: String,
}

/// Why a text names no server and model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// There is nothing behind host and port.
    #[error(
        "'{text}' names no model: give {scheme}HOST:PORT/MODEL (the models are listed by {scheme}HOST:PORT/v1/models)"
    )]
    NoModel {
        /// The text that was given.
        text: String,
        /// `http://` or `https://`.
        scheme: &'static str,
    },
    /// The text has another form.
    #[error("'{text}' is not http://HOST:PORT/MODEL: {reason}")]
    Malformed {
        /// The text that was given.
        text: String,
        /// Reason why the text does not have that form.
        reason: &'static str,
    },
}

impl Target {
    /// The URL without a path.
    pub(super) fn origin(&self) -> String {
        format!("{}{}", scheme(self.is_tls), self.authority)
    }
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Target, TargetError> {
        let malformed = |reason| TargetError::Malformed { text: text.to_owned(), reason };
        let plain = text.strip_prefix("http://").map(|location| (false, location));
        let parts = plain.or_else(|| text.strip_prefix("https://").map(|location| (true, location)));
        let (is_tls, location) = parts.ok_or_else(|| malformed("it does not begin with http:// or https://"))?;
        if text.chars().any(|c| c.is_control() || c == ' ') {
            return Err(malformed("it has blanks or control characters"));
        }
        let (authority, model) = location.split_once('/').unwrap_or((location, ""));
        let (host, port) = host_and_port(authority).map_err(malformed)?;
        if model.is_empty() {
            return Err(TargetError::NoModel { text: text.to_owned(), scheme: scheme(is_tls) });
        }
        let port = port.unwrap_or(if is_tls { 443 } else { 80 });
        let (host, authority, model) = (host.to_owned(), authority.to_owned(), model.to_owned());
        Ok(Target { is_tls, host, port, authority, model })
    }
}

fn scheme(is_tls: bool) -> &'static str {
    if is_tls { "https://" } else { "http://" }
}

fn host_and_port(authority: &str) -> Result<(&str, Option<u16>), &'static str> {
    if authority.contains('@') {
        return Err("it has a user name; an API key is given by --api-key-file");
    }
    let (host, port) = match authority.strip_prefix('[') {
        Some(literal) => literal.split_once(']').ok_or("the bracket of its address is not closed")?,
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    if host.is_empty() {
        return Err("it has no host");
    }
    if port.is_empty() {
        return Ok((host, None));
    }
    let port = port.strip_prefix(':').and_then(|digits| digits.parse().ok()).filter(|port| *port != 0);
    Ok((host, Some(port.ok_or("its port is none")?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_port_and_model() {
        let parts = |text: &str| {
            let target: Target = text.parse().unwrap();
            assert!(text.starts_with(&target.origin()), "{}", target.origin());
            (target.is_tls, target.host, target.port, target.authority, target.model)
        };
        let owned = |is_tls, host: &str, port, authority: &str, model: &str| {
            (is_tls, host.to_owned(), port, authority.to_owned(), model.to_owned())
        };
        assert_eq!(parts("http://127.0.0.1:8080/tiny"), owned(false, "127.0.0.1", 8080, "127.0.0.1:8080", "tiny"));
        assert_eq!(parts("http://llm/org/model-8B"), owned(false, "llm", 80, "llm", "org/model-8B"));
        assert_eq!(parts("http://[::1]:8080/m"), owned(false, "::1", 8080, "[::1]:8080", "m"));
        assert_eq!(parts("http://[::1]/m"), owned(false, "::1", 80, "[::1]", "m"));
        assert_eq!(parts("https://llm:8443/m"), owned(true, "llm", 8443, "llm:8443", "m"));
        assert_eq!(parts("https://[::1]/m"), owned(true, "::1", 443, "[::1]", "m"));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (bad, part) in [
            ("https://host", "https://HOST:PORT/v1/models"),
            ("ftp://host/m", "does not begin with http://"),
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
