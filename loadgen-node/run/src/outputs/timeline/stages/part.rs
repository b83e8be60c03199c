//! The rows of a run that goes on. A row has its place by the position of its sample, so it can come at any time.
//!
//! Layout, little-endian: a beginning (`header`), then 20 bytes for each sample, zero where
//! nothing is known: `u16` place of the node in the list, plus one, and a `u16` for each stage.

use std::fs::File;
use std::io::{self, BufReader, Read, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use lon_proto::files::{self, Limit};
use serde::{Deserialize, Serialize};

use super::header::{self, Magic};
use lon_world::stage_rows::{Short, StageRow};
use lon_world::tally::STAGES;

const MAGIC: Magic = *b"LONSTPT1";
const ROW_BYTES: usize = 2 + 2 * STAGES.len();

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    nodes: Vec<String>,
}

/// The file while rows are written.
#[derive(Debug)]
pub(crate) struct Part {
    file: File,
    /// Where the rows begin, bytes.
    rows_at: u64,
    /// Rows that belong side by side. Kept for its memory.
    bytes: Vec<u8>,
}

impl Part {
    /// Writes the beginning into an empty file. `nodes`: the names of the nodes in the order of the list.
    pub(crate) fn begin(mut file: File, nodes: Vec<String>) -> io::Result<Part> {
        let start = header::bytes(MAGIC, &Header { nodes })?;
        file.write_all(&start)?;
        Ok(Part { file, rows_at: start.len() as u64, bytes: Vec::new() })
    }

    /// Writes rows to their places: those of neighbours together.
    pub(crate) fn write(&mut self, rows: &mut [StageRow]) -> io::Result<()> {
        rows.sort_unstable_by_key(|row| row.position);
        for run in rows.chunk_by(|one, next| next.position - one.position == 1) {
            self.bytes.clear();
            for row in run {
                self.bytes.extend_from_slice(&row.node.saturating_add(1).to_le_bytes());
                self.bytes.extend(row.stages.iter().flat_map(|stage| stage.0.to_le_bytes()));
            }
            let position = u64::from(run[0].position);
            self.file.write_all_at(&self.bytes, self.rows_at + position * ROW_BYTES as u64)?;
        }
        Ok(())
    }
}

/// Row of a part: the node and the stages of one sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PartRow {
    /// Place of the node in the list, plus one; 0: not known.
    pub(super) node: u16,
    pub(super) stages: [Short; STAGES.len()],
}

/// The file when it is read again.
pub(super) struct PartReader {
    /// The names of the nodes.
    pub(super) nodes: Vec<String>,
    file: BufReader<File>,
}

impl PartReader {
    pub(super) fn open(path: &Path) -> io::Result<PartReader> {
        let mut file = BufReader::with_capacity(1 << 20, files::open(path, Limit::DATA)?);
        let Header { nodes } = header::read(MAGIC, &mut file)?;
        Ok(PartReader { nodes, file })
    }

    /// The next row; one that says nothing where the file has ended.
    pub(super) fn next(&mut self) -> io::Result<PartRow> {
        let mut bytes = [0; ROW_BYTES];
        match self.file.read_exact(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(PartRow::default()),
            outcome => outcome?,
        }
        let mut numbers = bytes.as_chunks().0.iter().map(|number| u16::from_le_bytes(*number));
        let node = numbers.next().unwrap_or_default();
        let mut stages = [Short::default(); STAGES.len()];
        stages.iter_mut().zip(numbers).for_each(|(stage, number)| *stage = Short(number));
        Ok(PartRow { node, stages })
    }
}
