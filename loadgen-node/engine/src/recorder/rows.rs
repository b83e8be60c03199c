//! A stored timeline read sample by sample, in fixed memory. Its bytes are read twice: first all of them are checked.

use std::io::{self, Read, Seek, SeekFrom};

use super::packed_record::{self, Cell, SampleEnd};
use super::timeline_file::check_counts;
use super::timeline_parts::{About, Header, Source, TimelineError};
use crate::judge::Counts;

/// A stored timeline that was checked as a whole.
#[derive(Debug)]
pub struct CheckedTimeline {
    header: Header,
    /// Where its columns begin, bytes: records, and in token runs first tokens and token counts.
    columns_at: [u64; 3],
}

/// Entry of one sample in a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleRow {
    /// End of the sample. Lost samples are still pending.
    pub end: SampleEnd,
    /// Latency of its first token, ns; none where none came, and without token latencies.
    pub first_token_ns: Option<u64>,
    /// Tokens of its answer; 0 where they are not known.
    pub tokens: u32,
}

impl CheckedTimeline {
    /// Reads all bytes of a timeline and checks them. Nothing is kept of its samples.
    ///
    /// # Errors
    /// The bytes are no timeline, altered, or end at another place than they should.
    pub fn check(input: &mut impl Read) -> Result<CheckedTimeline, TimelineError> {
        let mut source = Source::new(input);
        let header = source.header()?;
        let (mut counts, mut columns_at) = (Counts::default(), [source.at(); 3]);
        let mut has_unissued = false;
        source.each("sample records", header.samples, |bytes| {
            let cell = Cell::from_bits(u64::from_le_bytes(bytes));
            has_unissued |= cell.state() == SampleEnd::Unissued;
            packed_record::count(cell, &mut counts);
        })?;
        if header.tokens {
            columns_at[1] = source.at();
            source.each("first-token latencies", header.samples, |_: [u8; 8]| {})?;
            columns_at[2] = source.at();
            source.each("token counts", header.samples, |_: [u8; 4]| {})?;
        }
        source.end()?;
        check_counts(&header.counts, &counts, has_unissued)?;
        Ok(CheckedTimeline { header, columns_at })
    }

    /// The test that it is of.
    pub fn about(&self) -> &About {
        &self.header.about
    }

    /// Number of queries issued.
    pub fn queries(&self) -> u64 {
        self.header.queries
    }

    /// Samples in each query.
    pub fn samples_per_query(&self) -> u64 {
        self.header.samples_per_query
    }

    /// Number of issued samples.
    pub fn samples(&self) -> u64 {
        self.header.samples
    }

    /// Returns true when token latencies were used.
    pub fn has_tokens(&self) -> bool {
        self.header.tokens
    }

    /// Its samples in issue order. `open` opens the bytes that were checked, from their beginning; it is called once
    /// for each column.
    ///
    /// # Errors
    /// They cannot be opened or read.
    pub fn rows<R: Read + Seek>(&self, mut open: impl FnMut() -> io::Result<R>) -> io::Result<SampleRows<R>> {
        let mut column = |number: usize| {
            let mut column = open()?;
            column.seek(SeekFrom::Start(self.columns_at[number]))?;
            io::Result::Ok(column)
        };
        let tokens = if self.header.tokens { Some([column(1)?, column(2)?]) } else { None };
        Ok(SampleRows { remaining: self.header.samples, records: column(0)?, tokens })
    }
}

/// The samples of a stored timeline, one by one.
#[derive(Debug)]
pub struct SampleRows<R> {
    remaining: u64,
    records: R,
    /// First-token latencies and token counts.
    tokens: Option<[R; 2]>,
}

impl<R: Read> SampleRows<R> {
    fn read(&mut self) -> io::Result<SampleRow> {
        let end = Cell::from_bits(u64::from_le_bytes(bytes(&mut self.records)?)).state();
        let (first_token, tokens) = match &mut self.tokens {
            Some([first_tokens, counts]) => {
                (u64::from_le_bytes(bytes(first_tokens)?), u32::from_le_bytes(bytes(counts)?))
            }
            None => (0, 0),
        };
        Ok(SampleRow { end, first_token_ns: first_token.checked_sub(1), tokens })
    }
}

impl<R: Read> Iterator for SampleRows<R> {
    type Item = io::Result<SampleRow>;

    fn next(&mut self) -> Option<io::Result<SampleRow>> {
        self.remaining = self.remaining.checked_sub(1)?;
        Some(self.read())
    }
}

fn bytes<const N: usize>(from: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}
