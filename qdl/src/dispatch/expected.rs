//! Limits on the answers of one node: when they come, how large they are, and how much memory they take as they come.

use std::sync::Arc;
use std::time::Duration;

use super::budget::Budget;
use super::rule::AnswerRule;

/// Bytes that the message of an answer may have beside it.
pub(crate) const AROUND_BYTES: u64 = 1 << 20;

/// Bytes that a codec's frame may have around its content.
const CODEC_BYTES: u64 = 4 << 10;

/// Limits on the answers of a node. Its lanes share them.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    pub(crate) rule: Arc<AnswerRule>,
    /// Answers have a codec: they are held against the rule once they have been inflated.
    pub(crate) is_encoded: bool,
    /// Longest time between the sending of a sample and its answer. A sample that is answered later has failed.
    pub(crate) within: Duration,
    /// Memory for answers that come in pieces.
    pub(crate) budget: Arc<Budget>,
}

impl Expected {
    /// Answers that come `within` this time, keep to `rule`, and take `share_bytes` while they come in pieces, or as
    /// much as one of them.
    pub(crate) fn new(rule: &Arc<AnswerRule>, is_encoded: bool, within: Duration, share_bytes: u64) -> Expected {
        let mut expected = Expected { rule: Arc::clone(rule), is_encoded, within, budget: Budget::new(0) };
        expected.budget = Budget::new(share_bytes.max(expected.max_bytes().saturating_add(AROUND_BYTES)));
        expected
    }

    /// Bytes of an answer at most, as it comes. What cannot be compressed becomes a little larger.
    pub(crate) fn max_bytes(&self) -> u64 {
        let max_bytes = self.rule.max_bytes();
        if self.is_encoded { max_bytes.saturating_add(max_bytes / 8 + CODEC_BYTES) } else { max_bytes }
    }
}
