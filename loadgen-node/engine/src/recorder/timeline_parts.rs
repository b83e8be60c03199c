//! The parts of a stored timeline: its header, and columns that are checked as they are read.

use std::io::{self, Read};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;

use super::header;
use super::timeline::FinalQuery;
use crate::judge::{Counts, Reason};
use crate::mode::Qsl;
use crate::scenarios::TestSettings;
use crate::trace::MAX_SAMPLES_PER_PHASE;

pub(super) const MAGIC: [u8; 8] = *b"LONTIME3";
/// The version before had no counts and no reasons.
const OLD_MAGIC: [u8; 8] = *b"LONTIME2";
/// Entries converted at once.
pub(super) const BLOCK: usize = 8_192;

/// Facts about a phase beside its times, which its report needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// The requested settings; after a search for the peak, with the peak's rate.
    pub settings: TestSettings,
    /// Sizes that the query sample library (QSL) reported.
    pub qsl: Qsl,
    /// Name of the SUT, as in the summary.
    pub sut_name: String,
    /// Warnings that the run logged.
    pub warnings: u64,
    /// Errors that the run logged.
    pub errors: u64,
    /// Reasons against the run that hold whatever its settings are.
    pub reasons: Vec<Reason>,
}

/// Why stored bytes are not a timeline.
#[derive(Debug, Error)]
pub enum TimelineError {
    /// The bytes could not be read.
    #[error("the {part} cannot be read, at byte {at}: {source}")]
    Io {
        /// Part of the file that was being read.
        part: &'static str,
        /// Number of bytes that were read before.
        at: u64,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The bytes are a timeline of an earlier version, which does not say what speaks against its run.
    #[error(
        "this is a timeline of an earlier version (it begins with LONTIME2), which does not record whether samples \
         were lost: it cannot be judged again"
    )]
    Old,
    /// The bytes are something else.
    #[error("this is not a timeline file of this version: it does not begin with LONTIME3")]
    Magic,
    /// The bytes end too early.
    #[error("the file is truncated: it ends after byte {at}, within the {part}")]
    Truncated {
        /// Part of the file that was being read.
        part: &'static str,
        /// Bytes that were read before the end was met.
        at: u64,
    },
    /// A part is not what was written.
    #[error("the file was altered or damaged in its {part}, somewhere in bytes {from} to {to}")]
    Altered {
        /// The part that was altered.
        part: &'static str,
        /// Position of the first byte of the part.
        from: u64,
        /// Position of the byte after the part.
        to: u64,
    },
    /// The header says what cannot be.
    #[error("the header cannot be used: {0}")]
    Header(String),
    /// There is more than there should be.
    #[error("the file goes on after its end at byte {at}")]
    Trailing {
        /// Where it should end.
        at: u64,
    },
}

/// The JSON at the beginning.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    pub(super) about: About,
    pub(super) queries: u64,
    pub(super) samples_per_query: u64,
    pub(super) end_ns: u64,
    pub(super) final_query: Option<FinalQuery>,
    pub(super) samples: u64,
    pub(super) counts: Counts,
    pub(super) tokens: bool,
}

/// The bytes, and where in them we are.
pub(super) struct Source<'a, R> {
    input: &'a mut R,
    at: u64,
    part: &'static str,
    /// Where the part began.
    from: u64,
    hash: Sha256,
}

impl<'a, R: Read> Source<'a, R> {
    /// At the beginning of the bytes.
    pub(super) fn new(input: &'a mut R) -> Source<'a, R> {
        Source { input, at: 0, part: "magic", from: 0, hash: Sha256::new() }
    }

    /// Bytes that were read.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    pub(super) fn header(&mut self) -> Result<Header, TimelineError> {
        let mut magic = [0; MAGIC.len()];
        self.read(&mut magic)?;
        match magic {
            MAGIC => {}
            OLD_MAGIC => return Err(TimelineError::Old),
            _ => return Err(TimelineError::Magic),
        }
        self.begin("header");
        let text = header::read(|bytes| self.read(bytes), TimelineError::Header)?;
        self.check()?;
        let header: Header = serde_json::from_slice(&text).map_err(|error| TimelineError::Header(error.to_string()))?;
        if header.samples > MAX_SAMPLES_PER_PHASE {
            return Err(TimelineError::Header(format!("it claims {} samples", header.samples)));
        }
        if header.queries > MAX_SAMPLES_PER_PHASE {
            return Err(TimelineError::Header(format!("it claims {} queries", header.queries)));
        }
        Ok(header)
    }

    /// Reads a column. Memory grows with the bytes that are there, not with what the header claims.
    pub(super) fn column<T, const N: usize>(
        &mut self,
        part: &'static str,
        entries: u64,
        decode: impl Fn([u8; N]) -> T,
    ) -> Result<Vec<T>, TimelineError> {
        let mut column = Vec::new();
        self.each(part, entries, |entry| column.push(decode(entry)))?;
        Ok(column)
    }

    /// Reads a column, and hands out each of its entries.
    pub(super) fn each<const N: usize>(
        &mut self,
        part: &'static str,
        entries: u64,
        mut take: impl FnMut([u8; N]),
    ) -> Result<(), TimelineError> {
        self.begin(part);
        let mut bytes = vec![0; BLOCK * N];
        let mut remaining = entries as usize;
        while remaining > 0 {
            let block = remaining.min(BLOCK);
            self.read(&mut bytes[..block * N])?;
            bytes[..block * N].as_chunks().0.iter().for_each(|entry| take(*entry));
            remaining -= block;
        }
        self.check()
    }

    fn begin(&mut self, part: &'static str) {
        (self.part, self.from, self.hash) = (part, self.at, Sha256::new());
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<(), TimelineError> {
        let (part, at) = (self.part, self.at);
        self.input.read_exact(bytes).map_err(|source| match source.kind() {
            io::ErrorKind::UnexpectedEof => TimelineError::Truncated { part, at },
            _ => TimelineError::Io { part, at, source },
        })?;
        self.hash.update(&*bytes);
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// Compares what was read of a part with its checksum.
    fn check(&mut self) -> Result<(), TimelineError> {
        let computed = std::mem::take(&mut self.hash).finalize();
        let mut stored = [0; 32];
        self.read(&mut stored)?;
        let (part, from, to) = (self.part, self.from, self.at);
        if computed[..] == stored { Ok(()) } else { Err(TimelineError::Altered { part, from, to }) }
    }

    pub(super) fn end(&mut self) -> Result<(), TimelineError> {
        match self.input.read(&mut [0]) {
            Ok(0) => Ok(()),
            Ok(_) => Err(TimelineError::Trailing { at: self.at }),
            Err(source) => Err(TimelineError::Io { part: "end", at: self.at, source }),
        }
    }
}
