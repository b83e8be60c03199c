//! The stored form of a timeline (`timeline.bin`): enough to judge a phase again without running it.
//!
//! Layout, little-endian: 8 bytes magic, `u32` length of a JSON header, the header (settings, library, times, number of
//! samples), then columns of that many entries: one `u64` record per sample (two bits of state: 1 lost, 2 done,
//! 3 failed; one bit: answer logged; 61 bits: latency of a done sample, else scheduled time, ns), and in token runs a
//! `u64` first-token latency plus one (0: none) and a `u32` token count (0: unknown). Opening files is the caller's.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{FinalQuery, Timeline};
use crate::plan::MAX_SAMPLES_PER_PHASE;
use crate::recorder::{Cell, Tokens};
use crate::settings::{Qsl, TestSettings};

const MAGIC: [u8; 8] = *b"LONTIME1";
/// Longest header accepted.
const MAX_HEADER: u32 = 1 << 20;
/// Entries converted at once.
const BLOCK: usize = 8_192;

/// A timeline with what is needed to judge it: `Plan::for_judging(settings, qsl)`.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredTimeline {
    /// The requested settings.
    pub settings: TestSettings,
    /// What the library reported.
    pub qsl: Qsl,
    /// The phase.
    pub timeline: Timeline,
}

/// Why stored bytes are not a timeline.
#[derive(Debug, Error)]
pub enum TimelineError {
    /// They could not be read, or end too early.
    #[error("the timeline cannot be read: {0}")]
    Io(#[from] io::Error),
    /// They are something else.
    #[error("this is not a timeline file")]
    Magic,
    /// The header is damaged.
    #[error("the timeline's header is damaged: {0}")]
    Header(String),
}

#[derive(Serialize, Deserialize)]
struct Header {
    settings: TestSettings,
    qsl: Qsl,
    queries: u64,
    samples_per_query: u64,
    end_ns: u64,
    final_query: Option<FinalQuery>,
    samples: u64,
    tokens: bool,
}

impl Timeline {
    /// Writes it, with the settings it was run with.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_to(&self, settings: &TestSettings, qsl: Qsl, out: &mut impl Write) -> io::Result<()> {
        let header = serde_json::to_vec(&Header {
            settings: settings.clone(),
            qsl,
            queries: self.queries,
            samples_per_query: self.samples_per_query,
            end_ns: self.end_ns,
            final_query: self.final_query,
            samples: self.cells.len() as u64,
            tokens: self.tokens.is_some(),
        })?;
        out.write_all(&MAGIC)?;
        out.write_all(&(header.len() as u32).to_le_bytes())?;
        out.write_all(&header)?;
        write_column(&self.cells, |cell| cell.bits().to_le_bytes(), out)?;
        if let Some(tokens) = &self.tokens {
            let (first_token, count) = tokens.columns(self.cells.len());
            write_column(first_token, |ns| ns.to_le_bytes(), out)?;
            write_column(count, |count| count.to_le_bytes(), out)?;
        }
        Ok(())
    }

    /// Reads one back.
    ///
    /// # Errors
    /// The bytes are no timeline, damaged, or end too early.
    pub fn read_from(input: &mut impl Read) -> Result<StoredTimeline, TimelineError> {
        let header = read_header(input)?;
        let samples = header.samples;
        let cells = read_column(samples, |bytes| Cell::from_bits(u64::from_le_bytes(bytes)), input)?;
        let tokens = if header.tokens {
            let first_token = read_column(samples, u64::from_le_bytes, input)?;
            Some(Tokens::from_columns(first_token, read_column(samples, u32::from_le_bytes, input)?))
        } else {
            None
        };
        let timeline = Timeline {
            queries: header.queries,
            samples_per_query: header.samples_per_query,
            end_ns: header.end_ns,
            final_query: header.final_query,
            cells,
            tokens,
        };
        Ok(StoredTimeline { settings: header.settings, qsl: header.qsl, timeline })
    }
}

fn read_header(input: &mut impl Read) -> Result<Header, TimelineError> {
    let mut magic = [0; MAGIC.len()];
    input.read_exact(&mut magic)?;
    if magic != MAGIC {
        return Err(TimelineError::Magic);
    }
    let mut length = [0; 4];
    input.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length);
    if length > MAX_HEADER {
        return Err(TimelineError::Header(format!("{length} bytes long")));
    }
    let mut text = vec![0; length as usize];
    input.read_exact(&mut text)?;
    let header: Header = serde_json::from_slice(&text).map_err(|error| TimelineError::Header(error.to_string()))?;
    if header.samples > MAX_SAMPLES_PER_PHASE {
        return Err(TimelineError::Header(format!("{} samples", header.samples)));
    }
    Ok(header)
}

fn write_column<T, const N: usize>(
    column: &[T],
    encode: impl Fn(&T) -> [u8; N],
    out: &mut impl Write,
) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(BLOCK * N);
    for block in column.chunks(BLOCK) {
        bytes.clear();
        bytes.extend(block.iter().flat_map(&encode));
        out.write_all(&bytes)?;
    }
    Ok(())
}

/// Grows with what is really there, whatever the header claims.
fn read_column<T, const N: usize>(
    entries: u64,
    decode: impl Fn([u8; N]) -> T,
    input: &mut impl Read,
) -> io::Result<Vec<T>> {
    let mut column = Vec::new();
    let mut bytes = vec![0; BLOCK * N];
    let mut left = entries as usize;
    while left > 0 {
        let block = left.min(BLOCK);
        input.read_exact(&mut bytes[..block * N])?;
        column.extend(bytes[..block * N].as_chunks().0.iter().map(|entry| decode(*entry)));
        left -= block;
    }
    Ok(column)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(with_tokens: bool) -> StoredTimeline {
        let samples = BLOCK + 3;
        let cells = (0..samples as u64).map(|i| if i % 7 == 0 { Cell::failed(i) } else { Cell::done(i * i) }).collect();
        let tokens = with_tokens.then(|| {
            let mut tokens = Tokens::new(samples + 5);
            tokens.first_token(2, 30).unwrap();
            tokens.answer(2, 9, true).unwrap();
            Tokens::from_columns(tokens.columns(samples).0.to_vec(), tokens.columns(samples).1.to_vec())
        });
        let final_query = Some(FinalQuery { due_ns: 1, issued_ns: 2, scheduled_ns: 1, first_position: 4 });
        let timeline =
            Timeline { queries: samples as u64, samples_per_query: 1, end_ns: 77, final_query, cells, tokens };
        let settings = TestSettings { qsl_rng_seed: u64::MAX, ..TestSettings::default() };
        StoredTimeline { settings, qsl: Qsl { total: 5, performance: 3 }, timeline }
    }

    fn bytes(stored: &StoredTimeline) -> Vec<u8> {
        let mut bytes = Vec::new();
        stored.timeline.write_to(&stored.settings, stored.qsl, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn what_is_written_is_read_back() {
        for with_tokens in [false, true] {
            let stored = stored(with_tokens);
            assert_eq!(Timeline::read_from(&mut bytes(&stored).as_slice()).unwrap(), stored);
        }
    }

    #[test]
    fn damaged_files_are_errors() {
        let whole = bytes(&stored(true));
        assert!(matches!(Timeline::read_from(&mut &whole[..whole.len() - 1]), Err(TimelineError::Io(_))));
        assert!(matches!(Timeline::read_from(&mut &b"something else"[..]), Err(TimelineError::Magic)));
        let mut damaged = whole;
        damaged[12] = b'x';
        assert!(matches!(Timeline::read_from(&mut damaged.as_slice()), Err(TimelineError::Header(_))));
    }
}
