//! Long lists of numbers, single or in groups of one length, which documents state by beginning, end and digest.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// A list of numbers, or of groups of numbers.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum List {
    /// Numbers, each of its own.
    Numbers(Vec<u64>),
    /// Groups of one length: all numbers, and the length.
    Groups(Vec<u32>, usize),
    /// Pairs of sequence id and sample of an accuracy log; their digest knows no groups.
    Log(Vec<(u64, u32)>),
}

impl List {
    pub(super) fn of(numbers: &[u32]) -> Self {
        Self::Numbers(numbers.iter().map(|number| u64::from(*number)).collect())
    }

    /// Number of elements.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Numbers(list) => list.len(),
            Self::Groups(all, length) => all.len() / (*length).max(1),
            Self::Log(log) => log.len(),
        }
    }

    /// One element as a document has it.
    pub(super) fn get(&self, position: usize) -> Option<Value> {
        match self {
            Self::Numbers(list) => list.get(position).map(|number| Value::from(*number)),
            Self::Groups(all, length) => {
                let from = position * length;
                all.get(from..from + length).map(Value::from)
            }
            Self::Log(log) => log.get(position).map(|(id, sample)| vec![*id, u64::from(*sample)].into()),
        }
    }

    /// The beginning of the list, of so many elements at most.
    pub(super) fn first(&self, elements: usize) -> Self {
        let elements = elements.min(self.len());
        match self {
            Self::Numbers(list) => Self::Numbers(list[..elements].to_vec()),
            Self::Groups(all, length) => Self::Groups(all[..elements * length].to_vec(), *length),
            Self::Log(log) => Self::Log(log[..elements].to_vec()),
        }
    }

    /// SHA-256 of the decimals joined by commas, and of groups joined by semicolons.
    pub(super) fn sha256(&self) -> String {
        let mut text = Text { hash: Sha256::new(), pending: String::new() };
        match self {
            Self::Numbers(list) => list.iter().enumerate().for_each(|(i, number)| text.push(comma(i), *number)),
            Self::Groups(all, length) => {
                for (i, number) in all.iter().enumerate() {
                    let between = if i > 0 && i.is_multiple_of(*length) { ";" } else { comma(i) };
                    text.push(between, u64::from(*number));
                }
            }
            Self::Log(log) => {
                for (i, (id, sample)) in log.iter().enumerate() {
                    text.push(comma(i), *id);
                    text.push(",", u64::from(*sample));
                }
            }
        }
        text.hash.update(text.pending.as_bytes());
        hex::encode(text.hash.finalize())
    }
}

/// The text before an element: nothing before the first one.
fn comma(position: usize) -> &'static str {
    if position > 0 { "," } else { "" }
}

/// Text on its way into a digest.
struct Text {
    hash: Sha256,
    pending: String,
}

impl Text {
    fn push(&mut self, between: &str, number: u64) {
        self.pending.push_str(between);
        self.pending.push_str(&number.to_string());
        if self.pending.len() > 1 << 16 {
            self.hash.update(self.pending.as_bytes());
            self.pending.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sha256(text: &str) -> String {
        hex::encode(Sha256::digest(text.as_bytes()))
    }

    #[test]
    fn digests_are_of_decimals() {
        assert_eq!(List::Numbers(vec![3, 1, 20]).sha256(), sha256("3,1,20"));
        assert_eq!(List::Groups(vec![3, 1, 20, 4], 2).sha256(), sha256("3,1;20,4"));
        assert_eq!(List::Log(vec![(3, 1), (20, 4)]).sha256(), sha256("3,1,20,4"));
        assert_eq!(List::Numbers(vec![]).sha256(), sha256(""));
        let long: Vec<u64> = (0..50_000).collect();
        let text = long.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        assert_eq!(List::Numbers(long).sha256(), sha256(&text));
    }

    #[test]
    fn elements_are_numbers_or_groups() {
        let groups = List::Groups(vec![3, 1, 20, 4], 2);
        assert_eq!((groups.len(), groups.get(1), groups.get(2)), (2, Some(vec![20, 4].into()), None));
    }
}
