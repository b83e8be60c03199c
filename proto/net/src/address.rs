//! Where a node is: `host:port`, checked when it is read.

use std::fmt;
use std::str::FromStr;

/// The port of a node whose address gives none.
pub const DEFAULT_PORT: u16 = 8000;

/// Host and port of one node. No name is looked up when it is read. IPv6 addresses are written in brackets.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NodeAddress {
    host: String,
    port: u16,
}

impl NodeAddress {
    /// A name or an address; an IPv6 address with its brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// 1 to 65535; [`DEFAULT_PORT`] when the text gave none.
    pub fn port(&self) -> u16 {
        self.port
    }
}

/// The error for a text that is not a [`NodeAddress`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// There is nothing before the port.
    #[error("'{0}' names no host; write host:port")]
    NoHost(String),
    /// The port is not a number from 1 to 65535.
    #[error("'{0}' has no port from 1 to 65535 after the last colon; write host:port, an IPv6 host in brackets")]
    Port(String),
    /// There is a blank, a slash, or another character that no host name has.
    #[error("'{0}' is not host:port (no scheme, no path)")]
    Characters(String),
}

impl FromStr for NodeAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<NodeAddress, AddressError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-._:[]%".contains(c);
        if !text.chars().all(plain) {
            return Err(AddressError::Characters(text.to_owned()));
        }
        let bracketed = text.ends_with(']');
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !bracketed => {
                let port = port.parse().ok().filter(|port| *port != 0);
                (host, port.ok_or_else(|| AddressError::Port(text.to_owned()))?)
            }
            _ => (text, DEFAULT_PORT),
        };
        let bare_v6 = host.contains(':') && !(host.starts_with('[') && host.ends_with(']'));
        if bare_v6 {
            return Err(AddressError::Port(text.to_owned()));
        }
        if host.is_empty() || host == "[]" {
            return Err(AddressError::NoHost(text.to_owned()));
        }
        Ok(NodeAddress { host: host.to_owned(), port })
    }
}

impl fmt::Display for NodeAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_read_and_print() {
        for (text, normal_form) in [
            ("10.0.0.1:9000", "10.0.0.1:9000"),
            ("sut-0.sut.default.svc", "sut-0.sut.default.svc:8000"),
            ("[::1]:8001", "[::1]:8001"),
            ("[fe80::1]", "[fe80::1]:8000"),
        ] {
            assert_eq!(text.parse::<NodeAddress>().unwrap().to_string(), normal_form);
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for bad in ["", ":8000", "host:", "host:0", "host:99999", "http://host:80", "::1", "a b:1", "[]:1"] {
            assert!(bad.parse::<NodeAddress>().is_err(), "{bad:?}");
        }
    }
}
