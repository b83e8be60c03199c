//! Token latencies and rate of token runs: part of `result_summary.json`.

use serde::{Deserialize, Deserializer, Serialize};

use super::parts::LatencySpread;
use crate::outputs::screen::tokens;
use loadgen::judge::Summary;

/// Measurements of token runs besides latencies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TokensDocument {
    /// Time to first token; null where none was measured.
    #[serde(deserialize_with = "there_or_null")]
    pub ttft_ns: Option<LatencySpread>,
    /// Time per output token after the first; null where none was measured.
    #[serde(deserialize_with = "there_or_null")]
    pub tpot_ns: Option<LatencySpread>,
    /// Tokens per second; null where none came.
    #[serde(deserialize_with = "there_or_null")]
    pub tokens_per_s: Option<f64>,
}

/// Reads a key that must be there, but may be null. A missing key is an error, so that a run without tokens is told
/// apart from a token run that measured nothing.
fn there_or_null<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(from)
}

impl TokensDocument {
    /// Returns the token measurements. `None` unless the run is judged by its tokens.
    pub(super) fn of(summary: &Summary) -> Option<TokensDocument> {
        let tokens = summary.tokens.as_ref()?;
        let spread = |stats| Some(LatencySpread::from(stats));
        Some(TokensDocument {
            ttft_ns: spread(&tokens.first_token).filter(|_| tokens.first_token.count > 0),
            tpot_ns: spread(&tokens.per_token).filter(|_| tokens.per_token.count > 0),
            tokens_per_s: tokens::rate(summary),
        })
    }
}
