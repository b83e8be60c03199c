//! The times of a run, from its timeline.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};

use lon_run::outputs::samples::Recording;

/// The times of a run's answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Times {
    /// The latency of each query that was answered whole, s: that of its last sample.
    pub(super) queries_s: Vec<f64>,
    /// Samples of one query, the most of them.
    pub(super) query_samples: u64,
    /// The latency of each answered sample, s.
    pub(super) samples_s: Vec<f64>,
    /// Tokens of each answered sample; 0 where they are not known.
    pub(super) tokens: Vec<u32>,
    /// Samples without an answer.
    pub(super) unanswered: u64,
    /// From the first start to the last end of answered samples, s.
    pub(super) total_s: f64,
}

/// One sample, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Answer {
    query: u64,
    start_ns: u64,
    /// Latency of the sample; none where it was not answered.
    latency_ns: Option<u64>,
    tokens: u32,
}

impl Times {
    /// Reads the samples of a run folder.
    ///
    /// # Errors
    /// There is no timeline, or it is not what the run wrote.
    pub(super) fn read(folder: &Path) -> Result<Times> {
        let mut answers = Vec::new();
        let mut recording = Recording::open(folder)?;
        let outcome = recording.each(|sample| {
            let (query, start_ns, latency_ns) = (sample.query, sample.start_ns, sample.latency_ns);
            answers.push(Answer { query, start_ns, latency_ns, tokens: sample.tokens });
            Ok(())
        });
        outcome.with_context(|| folder.display().to_string())?;
        Ok(Times::of(&answers))
    }

    fn of(answers: &[Answer]) -> Times {
        let seconds = |ns: u64| ns as f64 / 1e9;
        // The samples of each query, and the latency of the last one; none where a sample has no answer.
        let mut queries: BTreeMap<u64, (u64, Option<u64>)> = BTreeMap::new();
        let mut times = Times::default();
        let (mut first_ns, mut last_ns) = (u64::MAX, 0);
        for answer in answers {
            let (samples, latency_ns) = queries.entry(answer.query).or_insert((0, Some(0)));
            *samples += 1;
            *latency_ns = latency_ns.zip(answer.latency_ns).map(|(one, other)| one.max(other));
            let Some(latency_ns) = answer.latency_ns else {
                times.unanswered += 1;
                continue;
            };
            times.samples_s.push(seconds(latency_ns));
            times.tokens.push(answer.tokens);
            first_ns = first_ns.min(answer.start_ns);
            last_ns = last_ns.max(answer.start_ns.saturating_add(latency_ns));
        }
        times.query_samples = queries.values().map(|(samples, _)| *samples).max().unwrap_or_default();
        times.queries_s = queries.into_values().filter_map(|(_, latency_ns)| latency_ns.map(seconds)).collect();
        times.total_s = seconds(last_ns.saturating_sub(first_ns));
        times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_lasts_until_its_last_answer() {
        let answer = |query, start_ns, latency_ns| Answer { query, start_ns, latency_ns, tokens: 3 };
        let times = Times::of(&[
            answer(0, 1_000_000_000, Some(100_000_000)),
            answer(0, 1_000_000_000, Some(300_000_000)),
            answer(1, 2_000_000_000, Some(500_000_000)),
            answer(1, 2_000_000_000, None),
        ]);
        assert_eq!((times.queries_s.as_slice(), times.query_samples), (&[0.3][..], 2));
        assert_eq!((times.samples_s.as_slice(), times.unanswered), (&[0.1, 0.3, 0.5][..], 1));
        assert_eq!((times.total_s, times.tokens.as_slice()), (1.5, &[3, 3, 3][..]));
        assert_eq!(Times::of(&[]).total_s, 0.0);
    }
}
