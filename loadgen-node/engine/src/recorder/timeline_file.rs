//! The stored form of a timeline (`timeline.bin`): enough to judge a phase again without running it, in one file.
//!
//! Layout, little-endian: 8 bytes magic; then parts, each followed by its SHA-256 (32 bytes), nothing after the last:
//!
//! | part | bytes |
//! |---|---|
//! | header | `u32` length, then that much JSON: [`About`], the times of the phase, how many samples ended how |
//! | records | `u64` a sample: two bits of state (1 lost, 2 done, 3 failed), one bit (answer logged), 61 bits of time |
//! | first tokens (token runs only) | `u64` a sample: first-token latency plus one, ns (0: none) |
//! | token counts (token runs only) | `u32` a sample (0: unknown) |
//!
//! The time of a record is in ns: the latency of a done sample; else when its latency started, from the start of the
//! phase. A file that ends early, goes on, was altered anywhere, or whose header and records do not say the same, is an
//! error that says where. The sums find damage; they are no signature: whoever makes a file anew can make it say
//! anything. The caller opens files.

use std::io::{self, Read, Write};

use sha2::{Digest, Sha256};

use super::column::{Column, Entry};
use super::header;
use super::packed_record::{self, Cell, SampleEnd};
use super::timeline::Timeline;
use super::timeline_parts::{About, BLOCK, Header, MAGIC, Source, TimelineError};
use super::tokens::Tokens;
use crate::judge::Counts;

/// A timeline and the test that it is of.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredTimeline {
    /// Settings, library and SUT of the test.
    pub about: About,
    /// The judged phase of the test.
    pub timeline: Timeline,
}

impl Timeline {
    /// Writes the timeline to `out`, with the test that it is of.
    ///
    /// # Errors
    /// Writing to `out` fails.
    pub fn write_to(&self, about: &About, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
        let header = header::to_bytes(&Header {
            about: about.clone(),
            queries: self.queries,
            samples_per_query: self.samples_per_query,
            end_ns: self.end_ns,
            final_query: self.final_query,
            samples: self.cells.len() as u64,
            counts: self.counts,
            tokens: self.tokens.is_some(),
        })?;
        out.write_all(&MAGIC)?;
        let mut part = Part::new(out);
        part.write(&header)?;
        part.end()?;
        write_column(&self.cells, |cell| cell.bits().to_le_bytes(), out)?;
        if let Some(tokens) = &self.tokens {
            let (first_token, count) = tokens.columns();
            write_column(first_token, |ns| ns.to_le_bytes(), out)?;
            write_column(count, |count| count.to_le_bytes(), out)?;
        }
        Ok(())
    }

    /// Reads a timeline back, with the test that it is of.
    ///
    /// # Errors
    /// The bytes are no timeline, altered, or end at another place than they should.
    pub fn read_from(input: &mut impl Read) -> Result<StoredTimeline, TimelineError> {
        let mut source = Source::new(input);
        let header = source.header()?;
        let samples = header.samples;
        let cells = source.column("sample records", samples, |bytes| Cell::from_bits(u64::from_le_bytes(bytes)))?;
        let tokens = if header.tokens {
            let first_token = source.column("first-token latencies", samples, u64::from_le_bytes)?;
            Some(Tokens::from_columns(first_token, source.column("token counts", samples, u32::from_le_bytes)?))
        } else {
            None
        };
        source.end()?;
        let has_unissued = cells.iter().any(|cell| cell.state() == SampleEnd::Unissued);
        check_counts(&header.counts, &packed_record::counts(&cells), has_unissued)?;
        let timeline = Timeline {
            queries: header.queries,
            samples_per_query: header.samples_per_query,
            end_ns: header.end_ns,
            final_query: header.final_query,
            counts: header.counts,
            cells: cells.into(),
            tokens,
            issued_ns: None,
        };
        Ok(StoredTimeline { about: header.about, timeline })
    }
}

/// Refuses a header that does not say of the samples what their records say: `recorded`, and whether there are records
/// of samples that were not issued.
pub(super) fn check_counts(counts: &Counts, recorded: &Counts, has_unissued: bool) -> Result<(), TimelineError> {
    if has_unissued {
        return Err(TimelineError::Header("a sample is recorded that was never issued".to_owned()));
    }
    let Counts { issued, completed, failed, lost, .. } = *recorded;
    let counted = Counts { issued, completed, failed, lost, ..*counts };
    if counted == *counts {
        return Ok(());
    }
    let [header, records] = [counts, &counted].map(|Counts { issued, completed, failed, lost, .. }| {
        format!("{issued} samples, {completed} answered, {failed} failed, {lost} lost")
    });
    Err(TimelineError::Header(format!("it says {header}; the records say {records}")))
}

/// A part under construction.
struct Part<'a, W: ?Sized> {
    out: &'a mut W,
    hash: Sha256,
}

impl<'a, W: Write + ?Sized> Part<'a, W> {
    fn new(out: &'a mut W) -> Self {
        Self { out, hash: Sha256::new() }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.out.write_all(bytes)
    }

    fn end(self) -> io::Result<()> {
        self.out.write_all(&self.hash.finalize())
    }
}

fn write_column<T: Entry, const N: usize>(
    column: &Column<T>,
    encode: impl Fn(T) -> [u8; N],
    out: &mut (impl Write + ?Sized),
) -> io::Result<()> {
    let mut part = Part::new(out);
    let mut bytes = Vec::with_capacity(BLOCK * N);
    for from in (0..column.len()).step_by(BLOCK) {
        bytes.clear();
        bytes.extend(column.part(from, from + BLOCK).flat_map(&encode));
        part.write(&bytes)?;
    }
    part.end()
}

#[cfg(test)]
mod tests {
    use super::super::rows::{CheckedTimeline, SampleRow};
    use super::super::timeline::FinalQuery;
    use super::*;
    use crate::judge::Verdict;
    use crate::mode::Qsl;
    use crate::scenarios::TestSettings;

    fn stored(with_tokens: bool) -> StoredTimeline {
        let samples = BLOCK + 3;
        let cells = (0..samples as u64).map(|i| if i % 7 == 0 { Cell::failed(i) } else { Cell::done(i * i) }).collect();
        let tokens = with_tokens.then(|| {
            let mut tokens = Tokens::new(samples + 5);
            tokens.first_token(2, 30).unwrap();
            tokens.answer(2, 9, true).unwrap();
            tokens.truncate(samples);
            tokens
        });
        let failed = (samples as u64).div_ceil(7);
        let counts = Counts { failed, completed: samples as u64 - failed, ..Counts::all_answered(samples as u64) };
        let final_query = Some(FinalQuery { due_ns: 1, issued_ns: 2, scheduled_ns: 1, first_position: 4 });
        let timeline = Timeline {
            queries: samples as u64,
            samples_per_query: 1,
            end_ns: 77,
            final_query,
            counts,
            cells,
            tokens,
            issued_ns: None,
        };
        let settings = TestSettings { qsl_rng_seed: u64::MAX, ..TestSettings::default() };
        let qsl = Qsl { total: 5, performance: 3 };
        let reasons = Verdict::new(None, &counts).lasting();
        let about = About { settings, qsl, sut_name: "a SUT".to_owned(), warnings: 1, errors: 2, reasons };
        StoredTimeline { about, timeline }
    }

    fn bytes(stored: &StoredTimeline) -> Vec<u8> {
        let mut bytes = Vec::new();
        stored.timeline.write_to(&stored.about, &mut bytes).unwrap();
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
    fn samples_that_are_read_one_by_one_are_the_same() {
        for with_tokens in [false, true] {
            let stored = stored(with_tokens);
            let bytes = bytes(&stored);
            let checked = CheckedTimeline::check(&mut bytes.as_slice()).unwrap();
            let shape = (checked.queries(), checked.samples_per_query(), checked.has_tokens());
            assert_eq!((checked.about(), shape), (&stored.about, (stored.timeline.queries, 1, with_tokens)));
            let rows = checked.rows(|| Ok(io::Cursor::new(&bytes))).unwrap().map(Result::unwrap);
            let mut tokens = stored.timeline.tokens();
            let expected = stored.timeline.samples().map(|end| {
                let (first_token_ns, tokens) = tokens.next().unwrap_or_default();
                SampleRow { end, first_token_ns, tokens }
            });
            assert!(rows.eq(expected));
            for damaged in [50, bytes.len() - 100] {
                let mut bytes = bytes.clone();
                bytes[damaged] ^= 1;
                assert!(CheckedTimeline::check(&mut bytes.as_slice()).is_err());
            }
        }
    }

    #[test]
    fn a_file_that_is_not_whole_says_where_it_ends() {
        let whole = bytes(&stored(true));
        assert!(matches!(Timeline::read_from(&mut &b"something else"[..]), Err(TimelineError::Magic)));
        for length in (0..whole.len()).step_by(997).chain(whole.len() - 40..whole.len()) {
            let error = Timeline::read_from(&mut &whole[..length]).unwrap_err();
            assert!(matches!(error, TimelineError::Truncated { at, .. } if at <= length as u64), "{length}: {error}");
        }
        let longer = [whole, vec![0]].concat();
        assert!(matches!(Timeline::read_from(&mut longer.as_slice()), Err(TimelineError::Trailing { .. })));
    }

    #[test]
    fn records_and_header_must_agree() {
        let stored = stored(false);
        let position = stored.timeline.cells.iter().position(|cell| cell == Cell::failed(7)).unwrap();
        stored.timeline.cells.set(position, Cell::done(7));
        let error = Timeline::read_from(&mut bytes(&stored).as_slice()).unwrap_err().to_string();
        assert!(error.contains("the records say"), "{error}");
        stored.timeline.cells.set(position, Cell::from_bits(0));
        let error = Timeline::read_from(&mut bytes(&stored).as_slice()).unwrap_err().to_string();
        assert!(error.contains("never issued"), "{error}");
    }

    #[test]
    fn the_version_before_is_refused_by_name() {
        let mut old = bytes(&stored(false));
        old[..8].copy_from_slice(b"LONTIME2");
        let error = Timeline::read_from(&mut old.as_slice()).unwrap_err();
        assert!(matches!(error, TimelineError::Old), "{error}");
    }

    #[test]
    fn every_altered_byte_is_found() {
        let whole = bytes(&stored(true));
        let ends = (0..1_500).chain(whole.len() - 200..whole.len());
        for place in ends.chain((0..whole.len()).step_by(1_009)) {
            for change in [1, 0x80, 0xff] {
                let mut altered = whole.clone();
                altered[place] ^= change;
                let error = Timeline::read_from(&mut altered.as_slice()).unwrap_err();
                if let TimelineError::Altered { from, to, .. } = error {
                    assert!((from..to).contains(&(place as u64)), "{place}: {error}");
                }
            }
        }
    }
}
