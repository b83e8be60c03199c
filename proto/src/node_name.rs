//! The name of a SUT node: what a node calls itself, and what the LoadGen node accepts as a name.

use std::fmt;
use std::str::FromStr;

use crate::text::{FEW, is_hidden, printable};

/// The text that a network SUT's name must contain (MLPerf Inference rules, Network division). No node's own name may
/// contain it.
pub const NETWORK_SUT: &str = "Network SUT";

/// The most characters that a node's name may have.
pub const MAX_NODE_NAME_CHARS: usize = 128;

/// A node's name: 1 to 128 characters that are seen, without comma (names are listed with commas between them), without
/// blanks around it and without [`NETWORK_SUT`] in it.
///
/// Both ends check names with this type: a SUT node its own (`--node`), the LoadGen node those that it is told.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeName(String);

/// The error for a text that is not a [`NodeName`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' cannot be a node name: 1 to 128 printable characters without comma, surrounding blanks or 'Network SUT'"
)]
pub struct NodeNameError(String);

impl FromStr for NodeName {
    type Err = NodeNameError;

    fn from_str(text: &str) -> Result<NodeName, NodeNameError> {
        let bad = |c: char| c == ',' || is_hidden(c);
        // The list of names begins with "Network SUT", and a list without it must mean something.
        let bad_text = text.is_empty() || text.trim() != text || text.contains(NETWORK_SUT);
        if bad_text || text.chars().count() > MAX_NODE_NAME_CHARS || text.contains(bad) {
            return Err(NodeNameError(printable(text)));
        }
        Ok(NodeName(text.to_owned()))
    }
}

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for NodeName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// A SUT's name as people read it: of more than eight nodes the first, and how many there are beside it. Documents have
/// the whole name.
pub fn short_sut_name(name: &str) -> String {
    let nodes = name.split(", ").count();
    match name.split_once(", ") {
        Some((first, _)) if nodes > FEW && name.starts_with(NETWORK_SUT) => {
            format!("{first} and {} more nodes", nodes - 1)
        }
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_nodes_the_first_is_named() {
        assert_eq!(short_sut_name("Network SUT: a, b"), "Network SUT: a, b");
        let names: Vec<String> = (0..128).map(|number| format!("n{number}")).collect();
        assert_eq!(short_sut_name(&format!("Network SUT: {}", names.join(", "))), "Network SUT: n0 and 127 more nodes");
    }

    #[test]
    fn names_that_would_confuse_a_list_are_refused() {
        for good in ["N1", "gpu host 7", "sut-0.sut.default.svc"] {
            assert!(good.parse::<NodeName>().is_ok(), "{good}");
        }
        for bad in ["", " N1", "a,b", "a\nb", "my Network SUT", "N1\u{202e}", "N\u{200b}1", &"x".repeat(129)] {
            assert!(bad.parse::<NodeName>().is_err(), "{bad:?}");
        }
    }
}
