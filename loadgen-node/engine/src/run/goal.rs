//! A goal of a search for the peak: a percentile that must stay within a limit, in place of the scenario's own rule.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::judge::{LatencyStats, PERCENTILES, Summary};
use crate::time_units;

/// The forms, for messages.
const FORMS: &str = "pPERCENTILE<=TIME, with ttft- or tpot- before it for tokens: p99<=10ms, ttft-p99<=500ms; \
                     percentiles are 50, 90, 95, 97, 99 and 99.9";

/// A latency that can have a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum LatencyKind {
    /// Latency of a query, or of a sample where queries have one, from its due time until the answer was whole.
    Latency,
    /// Time to the first token of a sample.
    Ttft,
    /// Time per output token after the first.
    Tpot,
}

impl fmt::Display for LatencyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// A percentile and its limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// The latency that is limited.
    pub of: LatencyKind,
    /// The percentile, as a fraction: one of those that every report lists.
    pub percentile: f64,
    /// The limit, ns.
    pub limit_ns: u64,
}

impl Goal {
    /// Returns true when a run met the goal: the percentile is that of an answer, and within the limit.
    pub fn is_met(&self, summary: &Summary) -> bool {
        let stats: Option<&LatencyStats> = match self.of {
            LatencyKind::Latency => Some(summary.judged_latency()),
            LatencyKind::Ttft => summary.tokens.as_ref().map(|tokens| &tokens.first_token),
            LatencyKind::Tpot => summary.tokens.as_ref().map(|tokens| &tokens.per_token),
        };
        let position = PERCENTILES.iter().position(|fraction| *fraction == self.percentile);
        stats.zip(position).is_some_and(|(stats, position)| {
            let value_ns = stats.percentiles_ns[position];
            stats.count > 0
                && stats.is_measured(self.percentile)
                && u64::try_from(value_ns).is_ok_and(|ns| ns <= self.limit_ns)
        })
    }
}

impl FromStr for Goal {
    type Err = String;

    fn from_str(text: &str) -> Result<Goal, String> {
        let refusal = || format!("a goal has the form {FORMS}");
        let (name, limit) = text.split_once("<=").ok_or_else(refusal)?;
        let (of, percentile) = match name.trim().split_once('-') {
            None => (LatencyKind::Latency, name.trim()),
            Some(("ttft", percentile)) => (LatencyKind::Ttft, percentile),
            Some(("tpot", percentile)) => (LatencyKind::Tpot, percentile),
            Some(_) => return Err(refusal()),
        };
        let percent: f64 = percentile.strip_prefix('p').and_then(|digits| digits.parse().ok()).ok_or_else(refusal)?;
        let near = |fraction: &f64| (fraction * 100.0 - percent).abs() < 1e-9;
        let percentile = PERCENTILES.into_iter().find(near).ok_or_else(refusal)?;
        let limit_ns = time_units::split(limit.trim()).and_then(|(digits, ns)| Some(digits.parse::<f64>().ok()? * ns));
        let limit_ns = limit_ns.filter(|ns| (1.0..=1e18).contains(ns)).ok_or_else(refusal)?.round() as u64;
        Ok(Goal { of, percentile, limit_ns })
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.of != LatencyKind::Latency {
            write!(f, "{}-", self.of)?;
        }
        write!(f, "p{}<={}ns", (self.percentile * 1e4).round() / 1e2, self.limit_ns)
    }
}

impl Serialize for Goal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Goal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Goal, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Goal {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Goal".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "description": "A percentile and its limit: `p99<=10000000ns`.", "type": "string" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_read_and_written() {
        for (text, canonical_text) in [
            ("p99<=10ms", "p99<=10000000ns"),
            ("p99.9 <= 1.5s", "p99.9<=1500000000ns"),
            ("ttft-p50<=500us", "ttft-p50<=500000ns"),
            ("tpot-p97<=40ms", "tpot-p97<=40000000ns"),
        ] {
            let goal: Goal = text.parse().unwrap();
            assert_eq!(goal.to_string(), canonical_text);
            assert_eq!(serde_json::from_str::<Goal>(&serde_json::to_string(&goal).unwrap()).unwrap(), goal);
        }
        for text in ["", "p99", "p98<=1ms", "99<=1ms", "p99<=1", "p99<=0ms", "x-p99<=1ms", "p99<10ms"] {
            assert!(text.parse::<Goal>().unwrap_err().contains("p99<=10ms"), "{text}");
        }
    }
}
