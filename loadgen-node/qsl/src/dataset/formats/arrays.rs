//! Arrays of numpy: one of all samples, a file each, or several in a `.npz`.
//!
//! Samples of `.npy` files are read from the disk when a set is loaded, so that an array may be larger than memory. A
//! `.npz` is compressed, and stays in memory as a whole.

use std::fs::File;
use std::io::{Cursor, Read};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use lon_proto::sample::{DType, Tensor};
use zip::ZipArchive;

use super::labels;
use crate::accuracy::{Truth, Truths};
use crate::dataset::formats::npy::{self, Header};
use crate::dataset::opened::{content, named, split};
use crate::dataset::reader::{Array, ReadError, Source};
use crate::dataset::{Dataset, DatasetError};
use crate::encode::inputs::Inputs;
use crate::files::disk;
use crate::files::sums::{SumError, Sums};
use crate::memory;

/// Equal tensors in a file, one after the other.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) path: PathBuf,
    pub(super) file: File,
    pub(super) dtype: DType,
    /// Of one sample.
    pub(super) dims: Vec<u32>,
    pub(super) data_at: u64,
    pub(super) sample_bytes: usize,
}

impl Stored {
    pub(crate) fn tensor(&self, index: usize) -> Result<Tensor, ReadError> {
        let mut data = vec![0; self.sample_bytes];
        let at = self.data_at + index as u64 * self.sample_bytes as u64;
        let read = self.file.read_exact_at(&mut data, at);
        read.map_err(|source| ReadError::File { file: self.path.clone(), source })?;
        Ok(Tensor::new(self.dtype, &self.dims, Bytes::from(data))?)
    }
}

/// One `.npy` of all samples.
#[derive(Debug)]
struct Npy {
    stored: Stored,
    count: usize,
    sums: Option<Sums>,
}

pub(crate) fn open_npy(path: &Path) -> Result<Dataset, DatasetError> {
    let (folder, _) = split(path);
    let told = |source| SumError::Read { file: path.to_owned(), source };
    let mut file = disk::open(path).map_err(told)?;
    let file_bytes = file.metadata().map_err(told)?.len();
    let mut start = Vec::new();
    (&mut file).take(Header::WITHIN as u64).read_to_end(&mut start).map_err(told)?;
    let header = Header::read(&start, file_bytes).map_err(|reason| content(path, reason))?;
    let (count, dims) = header.samples().map_err(|reason| content(path, reason))?;
    let sample_bytes = ((file_bytes - header.data_at) / count as u64) as usize;
    let Header { dtype, data_at, .. } = header;
    let stored = Stored { path: path.to_owned(), file, dtype, dims, data_at, sample_bytes };
    let truths = labels::beside(&folder, count)?;
    Ok(named(path, Npy { stored, count, sums: Sums::beside(&folder)? }, truths))
}

impl Source for Npy {
    fn count(&self) -> usize {
        self.count
    }

    fn tensors(&self, index: usize) -> Result<Vec<Tensor>, ReadError> {
        Ok(vec![self.stored.tensor(index)?])
    }

    fn is_read_when_needed(&self) -> bool {
        true
    }

    fn listed_files(&self) -> usize {
        usize::from(self.sums.is_some())
    }

    fn verify(&self, _file: usize) -> Result<(), SumError> {
        self.sums.as_ref().map_or(Ok(()), |sums| sums.verify(&split(&self.stored.path).1))
    }
}

/// A `.npy` for each sample.
#[derive(Debug)]
struct Folder {
    folder: PathBuf,
    names: Vec<String>,
    sums: Option<Sums>,
}

/// Files of samples, in the order of their names.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> =
        names.filter(|name| name.ends_with(".npy") && !labels::NAMES.contains(&name.as_str())).collect();
    names.sort_unstable();
    names
}

pub(crate) fn is_folder(folder: &Path) -> bool {
    !names(folder).is_empty()
}

pub(crate) fn open_folder(folder: &Path) -> Result<Dataset, DatasetError> {
    let names = names(folder);
    let truths = labels::beside(folder, names.len())?;
    Ok(named(folder, Folder { folder: folder.to_owned(), names, sums: Sums::beside(folder)? }, truths))
}

impl Source for Folder {
    fn count(&self) -> usize {
        self.names.len()
    }

    fn tensors(&self, index: usize) -> Result<Vec<Tensor>, ReadError> {
        let file = self.folder.join(&self.names[index]);
        let bytes = disk::read(&file).map_err(|source| ReadError::File { file: file.clone(), source })?;
        Ok(vec![npy::tensor(&bytes).map_err(|reason| ReadError::Content { file, reason })?])
    }

    fn is_read_when_needed(&self) -> bool {
        true
    }

    fn listed_files(&self) -> usize {
        if self.sums.is_some() { self.names.len() } else { 0 }
    }

    fn verify(&self, file: usize) -> Result<(), SumError> {
        self.sums.as_ref().map_or(Ok(()), |sums| sums.verify(&self.names[file]))
    }
}

/// Several arrays: one for each input.
#[derive(Debug)]
struct Arrays(Vec<Array>);

/// The array of a `.npz` that holds labels: either of these.
const LABELS: [&str; 2] = ["labels", "label"];

pub(crate) fn open_npz(path: &Path, inputs: Option<&Inputs>) -> Result<Dataset, DatasetError> {
    let (folder, name) = split(path);
    if let Some(sums) = Sums::beside(&folder)? {
        sums.verify(&name)?;
    }
    let bytes = disk::read(path).map_err(|source| SumError::Read { file: path.to_owned(), source })?;
    let (mut arrays, own_labels) = unpack(bytes).map_err(|reason| content(path, reason))?;
    if let Some(inputs) = inputs {
        arrays = in_order(arrays, inputs).map_err(|reason| content(path, reason))?;
    }
    let Some(((first, count), rest)) = arrays.split_first().map(|((name, first), rest)| ((name, first.count), rest))
    else {
        return Err(content(path, "it holds no arrays of samples"));
    };
    if let Some((other, array)) = rest.iter().find(|(_, array)| array.count != count) {
        let reason = format!("{first} has {count} samples, {other} has {}", array.count);
        return Err(content(path, reason));
    }
    let names: Vec<&str> = arrays.iter().map(|(name, _)| name.as_str()).collect();
    let labelled = own_labels.as_ref().map_or("none in the file", |(name, _)| name.as_str());
    let note = format!("{}: inputs are {}; labels: {labelled}", path.display(), names.join(", "));
    let truths = match own_labels.map(|(_, labels)| labels) {
        Some(labels) if labels.len() != count => {
            return Err(content(path, format!("{} labels for {count} samples", labels.len())));
        }
        Some(labels) => Some(Truths::Samples(labels.into_iter().map(|label| Some(Truth::Class(label))).collect())),
        None => labels::beside(&folder, count)?,
    };
    let names = if are_numbered(&names) { Vec::new() } else { names.into_iter().map(str::to_owned).collect() };
    let arrays = Arrays(arrays.into_iter().map(|(_, array)| array).collect());
    Ok(named(path, arrays, truths).with_note(note).with_inputs(names))
}

/// As numpy names what nobody has named.
fn are_numbered(names: &[&str]) -> bool {
    names.iter().enumerate().all(|(at, name)| *name == format!("arr_{at}"))
}

/// The arrays in the order of the inputs that they are for, by name. One array alone may have any name, and several may
/// have none: then their order counts.
fn in_order(arrays: Vec<(String, Array)>, inputs: &Inputs) -> Result<Vec<(String, Array)>, String> {
    let names: Vec<&str> = arrays.iter().map(|(name, _)| name.as_str()).collect();
    if names.len() < 2 || are_numbered(&names) {
        return Ok(arrays);
    }
    let places = inputs.places(&names).ok_or_else(|| {
        format!(
            "its arrays are {}; samples have {inputs}: name them so, or not at all (arr_0, arr_1, ...) in that order",
            names.join(", ")
        )
    })?;
    let mut placed: Vec<(usize, (String, Array))> = places.into_iter().zip(arrays).collect();
    placed.sort_by_key(|(place, _)| *place);
    Ok(placed.into_iter().map(|(_, array)| array).collect())
}

type Unpacked = (Vec<(String, Array)>, Option<(String, Vec<i64>)>);

/// The arrays in the order of the file, and labels.
fn unpack(bytes: Vec<u8>) -> Result<Unpacked, String> {
    let told = |error: zip::result::ZipError| format!("not a .npz file: {error}");
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(told)?;
    let (mut arrays, mut labels) = (Vec::new(), None);
    let mut total_bytes = 0u64;
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).map_err(told)?;
        let name = entry.name().map_err(told)?.trim_end_matches(".npy").to_owned();
        let told = |reason: String| format!("{name}: {reason}");
        let bytes = entry.size();
        total_bytes = total_bytes.saturating_add(bytes);
        let file = inflate(&mut entry, bytes, total_bytes).map_err(told)?;
        match LABELS.contains(&name.as_str()) {
            true if labels.is_some() => return Err(format!("labels and {name}: labels are in one array")),
            true => labels = Some((name.clone(), npy::labels(&file).map_err(told)?)),
            false => arrays.push((name.clone(), npy::samples(file).map_err(told)?)),
        }
    }
    Ok((arrays, labels))
}

/// One `.npy` of an archive, which says that it has so many bytes, and all until it together so many. Before they are
/// inflated the array's own header must say the same, and they must fit into memory.
fn inflate(entry: &mut impl Read, bytes: u64, total_bytes: u64) -> Result<Vec<u8>, String> {
    let mut file = Vec::new();
    let read = |entry: &mut dyn Read, most: u64, file: &mut Vec<u8>| {
        entry.take(most).read_to_end(file).map_err(|error| error.to_string())
    };
    read(entry, bytes.min(Header::WITHIN as u64), &mut file)?;
    Header::read(&file, bytes)?;
    if let Some(available_bytes) = memory::available_bytes().filter(|available| total_bytes > *available) {
        return Err(format!(
            "the arrays have {total_bytes} bytes until here, and {available_bytes} of memory are available; arrays in \
             .npy files are read sample by sample"
        ));
    }
    // One more than there should be shows that there are more.
    read(entry, bytes.saturating_add(1) - file.len() as u64, &mut file)?;
    match file.len() as u64 == bytes {
        true => Ok(file),
        false => Err(format!("{} bytes or more, the archive says {bytes}", file.len())),
    }
}

impl Source for Arrays {
    fn count(&self) -> usize {
        self.0.first().map_or(0, |array| array.count)
    }

    fn tensors(&self, index: usize) -> Result<Vec<Tensor>, ReadError> {
        self.0.iter().map(|array| Ok(array.tensor(index)?)).collect()
    }
}
