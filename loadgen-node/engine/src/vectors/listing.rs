//! A list of numbers in a document: in full, or as a digest when it is long.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Longest list that is given in full where digests are asked for.
const FULL_MAX: usize = 600;
/// Elements shown at both ends of a digest.
const SHOWN: usize = 16;

/// A list of numbers as a document has it: an array, or an object that stands for a long one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Numbers {
    /// Every number, in order.
    Full(Vec<u64>),
    /// A digest, which is enough to compare a long list with another.
    Digest(ListDigest),
}

/// A long list of numbers in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ListDigest {
    /// Number of numbers in the list; more than 600.
    pub count: u64,
    /// SHA-256 of all numbers, each as 8 bytes, the lowest first; 64 hexadecimal digits.
    pub sha256_u64le: String,
    /// The first 16 numbers.
    pub first16: Vec<u64>,
    /// The last 16 numbers.
    pub last16: Vec<u64>,
}

/// Collects a list; keeps only what the document will show.
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

    pub(super) fn into_numbers(self) -> Numbers {
        match self {
            Self::Full(list) => Numbers::Full(list),
            Self::Digest { count, head, .. } if count as usize <= FULL_MAX => Numbers::Full(head),
            Self::Digest { count, mut head, tail, hash } => {
                let sha256_u64le = hex::encode(hash.finalize());
                head.truncate(SHOWN);
                Numbers::Digest(ListDigest { count, sha256_u64le, first16: head, last16: tail.into() })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_lists_are_digested() {
        assert_eq!(Listing::of(true, 0..600).into_numbers(), Numbers::Full((0..600).collect()));
        let Numbers::Digest(long) = Listing::of(true, 0..601).into_numbers() else { panic!("it is long") };
        assert_eq!((long.count, long.first16[15], long.last16[15]), (601, 15, 600));
        assert_eq!(Listing::of(false, 0..601).into_numbers(), Numbers::Full((0..601).collect()));
    }
}
