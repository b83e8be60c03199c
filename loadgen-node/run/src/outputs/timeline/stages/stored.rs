//! `stages.bin`: node and stages of each sample of the performance phase, in the order of the timeline.
//!
//! Layout, little-endian: a beginning (`header`) with [`Header`] as its JSON; a row for each sample; the
//! SHA-256 of all that (32 bytes). A row is a `u16`, the place of the node in the header's list plus one (0: not
//! known), and a `u16` for each stage that the header names. Stages that took no time in any sample are not named.
//!
//! A duration is a floating-point number: with the upper 5 bits `e` and the lower 11 bits `m` it is `m` ns where `e` is
//! 0, else `(2048 + m) * 2^(e - 1)` ns. It is exact below 4,096 ns and at most 0.025 % off above that.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use lon_proto::files::{self, Limit};
use lon_proto::text::printable;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::header::{self, Magic};
use super::part::PartReader;
use lon_world::stage_rows::Short;
use lon_world::tally::STAGES;

const MAGIC: Magic = *b"LONSTAG1";
/// Length of a sum, bytes.
const SUM: u64 = 32;

/// Description of the rows: nodes, stages and counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Header {
    /// The names of the nodes.
    pub(crate) nodes: Vec<String>,
    /// The names of the stages that a row has.
    pub(crate) stages: Vec<String>,
    /// Number of rows.
    pub(crate) samples: u64,
    /// Samples whose node and stages could not be kept, because the disk was too slow.
    pub(crate) missed: u64,
}

/// Writes the file of what a run has left, with a row for each of its samples.
pub(crate) fn write(part: &Path, samples: u64, missed: u64, out: &mut dyn Write) -> io::Result<()> {
    let mut rows = PartReader::open(part)?;
    let mut is_named = [false; STAGES.len()];
    for _ in 0..samples {
        let took = rows.next()?.stages.map(|stage| stage != Short::default());
        is_named.iter_mut().zip(took).for_each(|(is_named, took)| *is_named |= took);
    }
    let mut rows = PartReader::open(part)?;
    let stages = STAGES.iter().zip(is_named).filter(|(_, is_named)| *is_named).map(|(name, _)| (*name).to_owned());
    let header = Header { nodes: rows.nodes.clone(), stages: stages.collect(), samples, missed };
    let mut out = BufWriter::with_capacity(1 << 16, Hashing { out, hash: Sha256::new() });
    out.write_all(&header::bytes(MAGIC, &header)?)?;
    for _ in 0..samples {
        let row = rows.next()?;
        out.write_all(&row.node.to_le_bytes())?;
        for (stage, _) in row.stages.iter().zip(is_named).filter(|(_, is_named)| *is_named) {
            out.write_all(&stage.0.to_le_bytes())?;
        }
    }
    let Hashing { out, hash } = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    out.write_all(&hash.finalize())
}

/// Bytes that are summed as they are written.
struct Hashing<'a> {
    out: &'a mut dyn Write,
    hash: Sha256,
}

impl Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.hash.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The file, read row by row.
pub(crate) struct StoredStages {
    pub(crate) header: Header,
    file: BufReader<File>,
    /// Where each stage of a row belongs among all [`STAGES`].
    places: Vec<usize>,
    /// One row. Kept for its memory.
    bytes: Vec<u8>,
}

/// Node and stages of one sample, as far as they are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SampleStages {
    /// The place of its node in the header's list; none where it is not known.
    pub(crate) node: Option<usize>,
    /// Duration of each stage, ns, in the order of [`STAGES`].
    pub(crate) durations_ns: [u64; STAGES.len()],
}

impl StoredStages {
    /// Opens the file, whose sum was checked by [`sum`].
    ///
    /// # Errors
    /// It cannot be read, or is something else.
    pub(crate) fn open(path: &Path) -> Result<StoredStages> {
        let mut file = BufReader::with_capacity(1 << 20, files::open(path, Limit::DATA)?);
        let mut header: Header = header::read(MAGIC, &mut file)?;
        header.nodes.iter_mut().for_each(|name| *name = printable(name));
        let place = |name: &String| {
            STAGES.iter().position(|stage| stage == name).with_context(|| format!("there is no stage {name}"))
        };
        let places = header.stages.iter().map(place).collect::<Result<Vec<usize>>>()?;
        let bytes = vec![0; 2 + 2 * places.len()];
        Ok(StoredStages { header, file, places, bytes })
    }

    /// The next row.
    ///
    /// # Errors
    /// There is none, or it names a node that is not in the list.
    pub(crate) fn next(&mut self) -> io::Result<SampleStages> {
        self.file.read_exact(&mut self.bytes)?;
        let mut numbers = self.bytes.as_chunks().0.iter().map(|number| u16::from_le_bytes(*number));
        let node = usize::from(numbers.next().unwrap_or_default()).checked_sub(1);
        if node.is_some_and(|node| node >= self.header.nodes.len()) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a node is not in the list"));
        }
        let mut durations_ns = [0; STAGES.len()];
        self.places.iter().zip(numbers).for_each(|(place, number)| durations_ns[*place] = Short(number).ns());
        Ok(SampleStages { node, durations_ns })
    }
}

/// Reads all of a file, and holds it against the sum at its end. Returns the SHA-256 of the whole file, hexadecimal.
///
/// # Errors
/// It cannot be read, or its sum is another one.
pub(crate) fn sum(path: &Path) -> Result<String> {
    let mut file = files::open(path, Limit::DATA)?;
    let length = file.metadata()?.len().checked_sub(SUM).context("the file is too short")?;
    let mut hash = Hashing { out: &mut io::sink(), hash: Sha256::new() };
    io::copy(&mut (&mut file).take(length), &mut hash)?;
    let Hashing { mut hash, .. } = hash;
    let mut end = Vec::new();
    file.read_to_end(&mut end)?;
    if hash.clone().finalize()[..] != end {
        bail!("the file was altered or damaged: its sum is another one");
    }
    hash.update(&end);
    Ok(hex::encode(hash.finalize()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::part::Part;
    use super::*;
    use lon_world::stage_rows::StageRow;

    #[test]
    fn rows_find_their_places_whenever_they_come() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let nodes = ["a", "b"].map(str::to_owned).to_vec();
        let mut part = Part::begin(File::create(at("part")).unwrap(), nodes.clone()).unwrap();
        // Of samples 0 to 9, all but 4; stages 1 and 5 took time.
        let row = |position: u32| {
            let mut stages = [Short::default(); STAGES.len()];
            (stages[1], stages[5]) = (Short::of(u64::from(position)), Short::of(1 << 20));
            StageRow { position, node: (position % 2) as u16, stages }
        };
        for positions in [vec![3, 9, 2], vec![0, 8, 7, 1], vec![6, 5]] {
            part.write(&mut positions.into_iter().map(row).collect::<Vec<_>>()).unwrap();
        }
        write(&at("part"), 12, 3, &mut File::create(at("stored")).unwrap()).unwrap();
        let whole = fs::read(at("stored")).unwrap();
        assert_eq!(sum(&at("stored")).unwrap(), hex::encode(Sha256::digest(&whole)));
        let mut stored = StoredStages::open(&at("stored")).unwrap();
        let stages = ["decode", "inference"].map(str::to_owned).to_vec();
        assert_eq!(stored.header, Header { nodes, stages, samples: 12, missed: 3 });
        for position in 0..12usize {
            let sample = stored.next().unwrap();
            if position == 4 || position > 9 {
                assert_eq!(sample, SampleStages::default());
                continue;
            }
            assert_eq!(sample.node, Some(position % 2));
            assert_eq!((sample.durations_ns[1], sample.durations_ns[5]), (position as u64, 1 << 20));
        }
        for damaged in [0, whole.len() / 2, whole.len() - 1] {
            let mut bytes = whole.clone();
            bytes[damaged] ^= 1;
            fs::write(at("stored"), bytes).unwrap();
            assert!(sum(&at("stored")).unwrap_err().to_string().contains("altered"));
        }
    }
}
