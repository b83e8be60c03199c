//! Name that a node is to have: a name, or a pattern that each of many nodes fills in with its own number.

use std::str::FromStr;

use anyhow::{Context as _, anyhow};
use lon_machine::nic;
use lon_proto::node_name::{NodeName, NodeNameError};

use super::ptr;

/// Placeholder for the number in a pattern.
const NUMBER: &str = "{number}";

/// `--node`: a name, or a pattern with `{number}` in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NodeNaming {
    /// The name itself.
    Name(NodeName),
    /// A text that is a name once `{number}` is replaced.
    Numbered(String),
}

impl FromStr for NodeNaming {
    type Err = NodeNameError;

    fn from_str(text: &str) -> Result<NodeNaming, NodeNameError> {
        if !text.contains(NUMBER) {
            return text.parse().map(NodeNaming::Name);
        }
        // The longest number that there can be.
        filled(text, u32::MAX)?;
        Ok(NodeNaming::Numbered(text.to_owned()))
    }
}

impl NodeNaming {
    /// The node's name. A pattern takes the number at the end of the host's name. Where that name has none, it takes
    /// the number at the end of the name that DNS has for this host's address.
    ///
    /// # Errors
    /// Neither name ends with a number.
    pub(super) fn name(&self) -> anyhow::Result<NodeName> {
        match self {
            NodeNaming::Name(name) => Ok(name.clone()),
            NodeNaming::Numbered(pattern) => {
                let number = number().with_context(|| format!("--node {pattern}"))?;
                filled(pattern, number).map_err(Into::into)
            }
        }
    }

    /// The name of one of many nodes of this process: a pattern is filled in with its number, a name is followed by it.
    ///
    /// # Errors
    /// The name becomes too long.
    pub(super) fn of(&self, number: usize) -> Result<NodeName, NodeNameError> {
        match self {
            NodeNaming::Name(name) => format!("{name}-{number}").parse(),
            NodeNaming::Numbered(pattern) => filled(pattern, number),
        }
    }
}

fn filled(pattern: &str, number: impl std::fmt::Display) -> Result<NodeName, NodeNameError> {
    pattern.replace(NUMBER, &number.to_string()).parse()
}

/// This host's number among hosts that are numbered.
fn number() -> anyhow::Result<u32> {
    let host = nix::unistd::gethostname().context("the host name cannot be read")?;
    let host = host.to_string_lossy();
    if let Some(number) = number_of(&host) {
        return Ok(number);
    }
    let without = || format!("the host's name {host} ends with no number (such as sut-3)");
    let address = nic::first_ipv4().ok_or_else(|| anyhow!("this host has no IPv4 address")).with_context(without)?;
    let name = ptr::name_of(address).with_context(|| format!("DNS has no name for {address}")).with_context(without)?;
    number_of(&name).ok_or_else(|| anyhow!("nor does {name}, its name in DNS")).with_context(without)
}

/// The number at the end of a host's name, behind `-` or `_`: 3 of `sut-3` and of `lab_sut_3.lab_cluster`.
fn number_of(host: &str) -> Option<u32> {
    let label = host.split('.').next()?;
    let (_, digits) = label.rsplit_once(['-', '_'])?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_the_number_at_its_end() {
        for (host, number) in
            [("sut-3", 3), ("lab_sut_12.lab_cluster", 12), ("lab-sut-1.lab_cluster", 1), ("sut-0.sut.lon.svc", 0)]
        {
            assert_eq!(number_of(host), Some(number), "{host}");
        }
        for bad in ["", "gpu", "3", "1b2c3d4e5f60", "sut-", "sut-3b", "sut3.lab-4", "sut-99999999999"] {
            assert_eq!(number_of(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_pattern_must_become_a_name() {
        let name = |text: &str| text.parse::<NodeName>().unwrap();
        assert_eq!("N1".parse(), Ok(NodeNaming::Name(name("N1"))));
        assert_eq!("sut-{number}".parse(), Ok(NodeNaming::Numbered("sut-{number}".to_owned())));
        assert_eq!(filled("sut-{number}", 3), Ok(name("sut-3")));
        assert_eq!(NodeNaming::Name(name("N")).of(7), Ok(name("N-7")));
        assert_eq!(NodeNaming::Numbered("gpu{number}".to_owned()).of(7), Ok(name("gpu7")));
        assert!("a,{number}".parse::<NodeNaming>().is_err() && "".parse::<NodeNaming>().is_err());
    }
}
