//! A list of numbers in an answer: in full, or as a digest when it is long.

use std::collections::VecDeque;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Longest list that a digest answer gives in full.
const FULL_MAX: usize = 600;
/// Elements shown at both ends of a digest.
const SHOWN: usize = 16;

/// Collects a list; keeps only what the answer will show.
pub(super) enum Listing {
    Full(Vec<u64>),
    Digest { count: u64, head: Vec<u64>, tail: VecDeque<u64>, hash: Sha256 },
}

impl Listing {
    pub(super) fn new(digest: bool) -> Self {
        if digest {
            Self::Digest { count: 0, head: Vec::new(), tail: VecDeque::new(), hash: Sha256::new() }
        } else {
            Self::Full(Vec::new())
        }
    }

    pub(super) fn push(&mut self, value: u64) {
        match self {
            Self::Full(list) => list.push(value),
            Self::Digest { count, head, tail, hash } => {
                *count += 1;
                hash.update(value.to_le_bytes());
                if head.len() < FULL_MAX {
                    head.push(value);
                }
                if tail.len() == SHOWN {
                    tail.pop_front();
                }
                tail.push_back(value);
            }
        }
    }

    pub(super) fn of(digest: bool, values: impl IntoIterator<Item = u64>) -> Self {
        let mut listing = Self::new(digest);
        for value in values {
            listing.push(value);
        }
        listing
    }

    pub(super) fn into_json(self) -> Value {
        match self {
            Self::Full(list) => list.into(),
            Self::Digest { count, head, .. } if count as usize <= FULL_MAX => head.into(),
            Self::Digest { count, head, tail, hash } => {
                let hex: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
                json!({ "count": count, "sha256_u64le": hex, "first16": head[..SHOWN], "last16": tail })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_lists_are_digested() {
        let short = Listing::of(true, 0..600).into_json();
        assert_eq!(short.as_array().unwrap().len(), 600);
        let long = Listing::of(true, 0..601).into_json();
        assert_eq!((&long["count"], &long["last16"][15]), (&json!(601), &json!(600)));
        assert_eq!(Listing::of(false, 0..601).into_json().as_array().unwrap().len(), 601);
    }
}
