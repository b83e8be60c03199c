//! Records of a phase while it still runs, in a file that is brought up to date now and then. A run that was killed is
//! recovered from it.
//!
//! Layout, little-endian:
//!
//! | part | bytes |
//! |---|---|
//! | magic | 8 |
//! | header | `u32` length, then that much JSON: [`About`], samples of a query, whether there are tokens |
//! | elapsed | `u64`: from the start of the phase to the last look at it, ns |
//! | rows | one for each sample, in issue order: a record (`u64`) as in `timeline.bin` |
//! | in each row of token runs, too | first-token latency plus one, ns (`u64`), and token count (`u32`) |
//!
//! Rows of samples that were not issued are zero, or are not there. There are no sums: rows are written where they
//! belong, again and again until the samples have ended. The caller opens files, and knows the time.

use std::io::{self, Read, Seek, SeekFrom, Write};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::header;
use super::live::Live;
use super::packed_record::{self, Cell, SampleEnd};
use super::timeline::{FinalQuery, Timeline};
use super::timeline_file::StoredTimeline;
use super::timeline_parts::About;
use super::tokens::Tokens;
use crate::effective::Effective;
use crate::judge::{Against, Reason};
use crate::trace::MAX_SAMPLES_PER_PHASE;
use crate::traffic::LatencyStart;

const MAGIC: [u8; 8] = *b"LONJOUR1";
/// Rows that are written together.
const BLOCK: usize = 4_096;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    about: About,
    samples_per_query: u64,
    tokens: bool,
}

/// Why bytes are no journal.
#[derive(Debug, Error)]
pub enum JournalError {
    /// They cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// They are something else, or were cut off before the first sample.
    #[error("these are not the records of a run: {0}")]
    Other(String),
}

/// Writes the records of one phase.
#[derive(Debug)]
pub struct Journal {
    live: Live,
    /// Where the rows begin in the file, bytes.
    rows_at: u64,
    /// Blocks that can still change: their number, and whether all samples had ended at the last look.
    open: Vec<(usize, bool)>,
    /// The first block in which nothing had been issued at the last look.
    next: usize,
}

impl Journal {
    /// Writes the beginning of the file. Nothing may be in it.
    ///
    /// # Errors
    /// Writing fails.
    pub fn begin(about: &About, samples_per_query: u64, live: Live, out: &mut impl Write) -> io::Result<Journal> {
        let header = Header { about: about.clone(), samples_per_query, tokens: live.tokens.is_some() };
        let start = [&MAGIC[..], &header::to_bytes(&header)?, &0_u64.to_le_bytes()].concat();
        out.write_all(&start)?;
        Ok(Journal { live, rows_at: start.len() as u64, open: Vec::new(), next: 0 })
    }

    /// Brings the file up to date, `elapsed_ns` after the start of the phase.
    ///
    /// # Errors
    /// Writing fails.
    pub fn look(&mut self, elapsed_ns: u64, out: &mut (impl Write + Seek)) -> io::Result<()> {
        while self.live.cells.get(self.next * BLOCK).is_some_and(|cell| cell.state() != SampleEnd::Unissued) {
            self.open.push((self.next, false));
            self.next += 1;
        }
        let mut rows = Vec::with_capacity(BLOCK * row_bytes(self.live.tokens.is_some()));
        let mut still_open = Vec::new();
        for (block, had_ended) in std::mem::take(&mut self.open) {
            // Before the rows are read: what comes in meanwhile is for the next look.
            let has_ended = self.has_ended(block);
            rows.clear();
            self.rows(block, &mut rows);
            let row_bytes = row_bytes(self.live.tokens.is_some());
            out.seek(SeekFrom::Start(self.rows_at + (block * BLOCK * row_bytes) as u64))?;
            out.write_all(&rows)?;
            // Where there are tokens, a sample's count follows its end: a block is written once more after the last.
            let is_whole = has_ended && (had_ended || self.live.tokens.is_none());
            if !is_whole {
                still_open.push((block, has_ended));
            }
        }
        self.open = still_open;
        out.seek(SeekFrom::Start(self.rows_at - 8))?;
        out.write_all(&elapsed_ns.to_le_bytes())
    }

    /// Returns true when every sample of the block was issued and has ended.
    fn has_ended(&self, block: usize) -> bool {
        let mut cells = self.live.cells.part(block * BLOCK, (block + 1) * BLOCK);
        cells.all(|cell| matches!(cell.state(), SampleEnd::Done { .. } | SampleEnd::Failed { .. }))
    }

    fn rows(&self, block: usize, rows: &mut Vec<u8>) {
        let cells = self.live.cells.part(block * BLOCK, (block + 1) * BLOCK);
        let issued = cells.take_while(|cell| cell.state() != SampleEnd::Unissued);
        let Some(tokens) = &self.live.tokens else {
            return issued.for_each(|cell| rows.extend_from_slice(&cell.bits().to_le_bytes()));
        };
        for (position, cell) in (block * BLOCK..).zip(issued) {
            let (first_token, count) = tokens.row(position);
            rows.extend_from_slice(&cell.bits().to_le_bytes());
            rows.extend_from_slice(&first_token.to_le_bytes());
            rows.extend_from_slice(&count.to_le_bytes());
        }
    }
}

/// Returns the state at the last look as the timeline of a run that was ended there. `why` is the reason against it, in
/// words; the code is `interrupted`.
///
/// Samples that had no answer count as lost. When the last query was issued is not known: rates are those until the
/// last look.
///
/// # Errors
/// These bytes cannot be read, or are no journal.
pub fn recover(input: &mut impl Read, why: &str) -> Result<StoredTimeline, JournalError> {
    let other = |text: String| JournalError::Other(text);
    let mut magic = [0; MAGIC.len()];
    read_exact(input, &mut magic)?;
    if magic != MAGIC {
        return Err(other("they begin with something else".to_owned()));
    }
    let text = header::read(|bytes| read_exact(input, bytes), |text| other(format!("their header: {text}")))?;
    let header: Header = serde_json::from_slice(&text).map_err(|error| other(error.to_string()))?;
    let mut elapsed = [0; 8];
    read_exact(input, &mut elapsed)?;
    let (cells, tokens) = rows(input, header.tokens)?;
    stored(header, u64::from_le_bytes(elapsed), cells, tokens, why)
}

/// Notes that the run was ended before its time. `why`: the reason, in words.
pub fn interrupt(about: &mut About, why: &str) {
    about.reasons.push(Reason { code: "interrupted".to_owned(), text: why.to_owned(), against: Against::Measurement });
}

fn stored(
    header: Header,
    elapsed_ns: u64,
    cells: Vec<Cell>,
    tokens: Option<Tokens>,
    why: &str,
) -> Result<StoredTimeline, JournalError> {
    let Header { mut about, samples_per_query, .. } = header;
    interrupt(&mut about, why);
    let samples_per_query = samples_per_query.max(1);
    let queries = (cells.len() as u64).div_ceil(samples_per_query);
    // Where all is asked at once, the rate is that of the answers.
    let (effective, _) = Effective::of(about.settings.clone(), about.qsl)
        .map_err(|error| JournalError::Other(format!("their settings: {error}")))?;
    let last_ns = if effective.shape.latency_start == LatencyStart::Phase { 0 } else { elapsed_ns };
    let final_query = (queries > 0).then(|| FinalQuery {
        due_ns: last_ns,
        issued_ns: last_ns,
        scheduled_ns: last_ns,
        first_position: (queries - 1) * samples_per_query,
    });
    let timeline = Timeline {
        queries,
        samples_per_query,
        end_ns: elapsed_ns,
        final_query,
        counts: packed_record::counts(&cells),
        cells: cells.into(),
        tokens,
        issued_ns: None,
    };
    Ok(StoredTimeline { about, timeline })
}

/// Size of a row: the record, and in token runs what is known of the tokens.
fn row_bytes(has_tokens: bool) -> usize {
    size_of::<u64>() + if has_tokens { size_of::<u64>() + size_of::<u32>() } else { 0 }
}

/// The rows up to the first that says nothing, or is not whole.
fn rows(input: &mut impl Read, has_tokens: bool) -> Result<(Vec<Cell>, Option<Tokens>), JournalError> {
    let (mut cells, mut first_token, mut count) = (Vec::new(), Vec::new(), Vec::new());
    let mut bytes = vec![0; row_bytes(has_tokens)];
    while (cells.len() as u64) < MAX_SAMPLES_PER_PHASE {
        match input.read_exact(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
            outcome => outcome?,
        }
        let Some((record, token_bytes)) = bytes.split_first_chunk() else { break };
        let cell = Cell::from_bits(u64::from_le_bytes(*record));
        if cell.state() == SampleEnd::Unissued {
            break;
        }
        cells.push(cell);
        if let Some((first, count_bytes)) = token_bytes.split_first_chunk() {
            first_token.push(u64::from_le_bytes(*first));
            count.push(count_bytes.first_chunk().map_or(0, |count| u32::from_le_bytes(*count)));
        }
    }
    let tokens = has_tokens.then(|| Tokens::from_columns(first_token, count));
    Ok((cells, tokens))
}

fn read_exact(input: &mut impl Read, bytes: &mut [u8]) -> Result<(), JournalError> {
    input.read_exact(bytes).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => JournalError::Other("they end within their header".to_owned()),
        _ => JournalError::Io(error),
    })
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::super::column::Column;
    use super::*;
    use crate::judge::Counts;
    use crate::mode::Qsl;
    use crate::scenarios::{Scenario, TestSettings};

    const SAMPLES: usize = 2 * BLOCK + 100;

    fn about(scenario: Scenario) -> About {
        let settings = TestSettings { scenario, ..TestSettings::default() };
        let qsl = Qsl { total: 5, performance: 3 };
        About { settings, qsl, sut_name: "a SUT".to_owned(), warnings: 0, errors: 0, reasons: Vec::new() }
    }

    fn open_journal(scenario: Scenario, tokens: bool) -> (Live, Journal, Cursor<Vec<u8>>) {
        let about = about(scenario);
        let live = Live::of(Column::new(SAMPLES), tokens.then(|| Tokens::new(SAMPLES)));
        let mut file = Cursor::new(Vec::new());
        let journal = Journal::begin(&about, 1, live.clone(), &mut file).unwrap();
        (live, journal, file)
    }

    fn read(file: &Cursor<Vec<u8>>) -> Timeline {
        recover(&mut file.get_ref().as_slice(), "it was killed").unwrap().timeline
    }

    #[test]
    fn what_the_last_look_saw_is_recovered() {
        let (live, mut journal, mut file) = open_journal(Scenario::SERVER, false);
        assert_eq!(read(&file).counts, Counts::default(), "nothing was issued");
        (0..BLOCK + 10).for_each(|i| live.cells.set(i, Cell::pending(i as u64, false)));
        journal.look(50, &mut file).unwrap();
        (0..BLOCK).filter(|i| *i != 3).for_each(|i| live.cells.set(i, Cell::done(7)));
        live.cells.set(BLOCK + 4, Cell::failed(9));
        journal.look(60, &mut file).unwrap();
        let recovered = read(&file);
        let counts =
            Counts { issued: BLOCK as u64 + 10, completed: BLOCK as u64 - 1, failed: 1, lost: 10, ..recovered.counts };
        assert_eq!((recovered.counts, recovered.end_ns), (counts, 60));
        assert!(recovered.cells.iter().eq(live.cells.part(0, BLOCK + 10)));
        // Blocks whose samples have all ended are not written for ever; the one with a straggler is.
        live.cells.set(3, Cell::done(8));
        (0..4).for_each(|_| journal.look(70, &mut file).unwrap());
        assert_eq!(journal.open, [(1, false)]);
        assert_eq!(read(&file).cells.get(3), Some(Cell::done(8)));
    }

    #[test]
    fn token_counts_that_follow_the_end_of_their_sample_are_not_missed() {
        let (live, mut journal, mut file) = open_journal(Scenario::SERVER, true);
        let mut tokens = live.tokens.clone().unwrap();
        for i in 0..BLOCK {
            tokens.first_token(i, 4).unwrap();
            live.cells.set(i, Cell::done(9));
        }
        journal.look(5, &mut file).unwrap();
        (0..BLOCK).for_each(|i| tokens.answer(i, 6, true).unwrap());
        (0..3).for_each(|_| journal.look(6, &mut file).unwrap());
        let recovered = read(&file);
        assert!(recovered.tokens().all(|row| row == (Some(4), 6)) && recovered.tokens().count() == BLOCK);
    }

    #[test]
    fn it_is_never_valid_and_says_why() {
        let (live, mut journal, mut file) = open_journal(Scenario::OFFLINE, false);
        live.cells.set(0, Cell::done(7));
        journal.look(5, &mut file).unwrap();
        let stored = recover(&mut file.get_ref().as_slice(), "it was killed").unwrap();
        assert_eq!(stored.about.reasons[0].text, "it was killed");
        let settings = stored.about.settings.clone();
        let judged = crate::vectors::replay_timeline(&stored, settings).unwrap();
        assert!(!judged.verdict.is_valid() && judged.verdict.official() == Some(false));
    }

    #[test]
    fn bytes_that_are_cut_off_or_altered_are_read_as_far_as_they_go() {
        let (live, mut journal, mut file) = open_journal(Scenario::SERVER, true);
        (0..500).for_each(|i| live.cells.set(i, Cell::done(7)));
        journal.look(5, &mut file).unwrap();
        let whole = file.into_inner();
        for len in 0..whole.len() {
            let cut = recover(&mut &whole[..len], "cut");
            assert_eq!(cut.is_ok(), len as u64 >= journal.rows_at, "{len}");
        }
        for place in 0..whole.len().min(2_000) {
            let mut altered = whole.clone();
            altered[place] ^= 0x81;
            // A journal with altered bytes may give any result, but no panic.
            let _ = recover(&mut altered.as_slice(), "altered").map(|stored| {
                let settings = stored.about.settings.clone();
                crate::vectors::replay_timeline(&stored, settings).map(|judged| assert!(!judged.verdict.is_valid()))
            });
        }
    }
}
