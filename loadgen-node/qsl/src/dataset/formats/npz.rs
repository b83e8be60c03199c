//! Arrays of numpy in `.npz` files: one file of all samples, with an array for each input, and perhaps one of labels;
//! or a folder with one file for each sample, whose inputs may vary in size.
//!
//! A file of all samples is compressed, so all of it is unpacked into memory when it is opened. The files of a folder
//! are read when their samples are loaded.

use std::io::{BufReader, Cursor, Read, Seek};
use std::path::Path;

use lon_machine::memory;
use lon_proto::files::{self, Limit};
use lon_proto::limits::MAX_SAMPLE_BYTES;
use lon_proto::sample::Tensor;
use zip::ZipArchive;

use super::blocks::Array;
use super::npy::{self, Header};
use super::truths;
use crate::accuracy::{Truth, Truths};
use crate::dataset::error::{DatasetError, content, unreadable};
use crate::dataset::opened::Opened;
use crate::dataset::reader::{ReadError, Reader};
use crate::encode::inputs::Inputs;
use crate::files::folder::{self, split};
use crate::files::sums::{SumError, Sums};

/// The arrays of a file: one for each input, all with the same number of samples.
#[derive(Debug)]
struct Arrays(Vec<Array>);

/// The names that an array of labels may have.
const LABELS: [&str; 2] = ["labels", "label"];

/// Opens a `.npz` file. Named arrays are put into the order of `inputs`, when those are given.
pub(crate) fn open(path: &Path, inputs: Option<&Inputs>) -> Result<Opened, DatasetError> {
    let (folder, name) = split(path);
    let sums = Sums::of_folder(&folder)?;
    sums.as_ref().map_or(Ok(()), |sums| sums.verify(&name))?;
    let compared_with = sums.map(|sums| sums.sha256().to_owned());
    let file = files::open(path, Limit::DATA).map_err(unreadable(path))?;
    let unpacked = unpack(BufReader::new(file));
    let Unpacked { mut arrays, labels: own_labels } = unpacked.map_err(|reason| content(path, reason))?;
    if let Some(inputs) = inputs {
        arrays = in_order(arrays, inputs).map_err(|reason| content(path, reason))?;
    }
    let count = common_count(&arrays).map_err(|reason| content(path, reason))?;
    let names: Vec<&str> = arrays.iter().map(|(name, _)| name.as_str()).collect();
    let labelled = own_labels.as_ref().map_or("none in the file", |(name, _)| name.as_str());
    let note = format!("{}: inputs are {}; labels: {labelled}", path.display(), names.join(", "));
    let truths = match own_labels.map(|(_, labels)| labels) {
        Some(labels) if labels.len() != count => {
            return Err(content(path, format!("{} labels for {count} samples", labels.len())));
        }
        Some(labels) => Some(Truths::Samples(labels.into_iter().map(|label| Some(Truth::Class(label))).collect())),
        None => truths::of_folder(&folder, count)?,
    };
    let input_names = if are_numbered(&names) { Vec::new() } else { names.into_iter().map(str::to_owned).collect() };
    let arrays = Arrays(arrays.into_iter().map(|(_, array)| array).collect());
    Ok(Opened { note: Some(note), compared_with, input_names, ..Opened::at(path, arrays, truths) })
}

/// Returns the number of samples, which must be the same in every array.
fn common_count(arrays: &[(String, Array)]) -> Result<usize, String> {
    let Some(((first, Array { count, .. }), others)) = arrays.split_first() else {
        return Err("it holds no arrays of samples".to_owned());
    };
    match others.iter().find(|(_, array)| array.count != *count) {
        Some((other, array)) => Err(format!("{first} has {count} samples, {other} has {}", array.count)),
        None => Ok(*count),
    }
}

/// Tells whether the names are those that numpy gives to arrays without a name: `arr_0`, `arr_1`, ...
fn are_numbered(names: &[&str]) -> bool {
    names.iter().enumerate().all(|(at, name)| *name == format!("arr_{at}"))
}

/// Puts the arrays into the order of the inputs, by their names. A single array may have any name. Arrays without names
/// keep their order.
fn in_order<T>(arrays: Vec<(String, T)>, inputs: &Inputs) -> Result<Vec<(String, T)>, String> {
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
    let mut placed: Vec<(usize, (String, T))> = places.into_iter().zip(arrays).collect();
    placed.sort_by_key(|(place, _)| *place);
    Ok(placed.into_iter().map(|(_, array)| array).collect())
}

/// The content of a `.npz` file.
struct Unpacked {
    /// Names and arrays of samples, in the order of the file.
    arrays: Vec<(String, Array)>,
    /// Name and values of the array of labels.
    labels: Option<(String, Vec<i64>)>,
}

fn unpack(file: impl Read + Seek) -> Result<Unpacked, String> {
    let zip_error = |error: zip::result::ZipError| format!("not a .npz file: {error}");
    let mut archive = ZipArchive::new(file).map_err(zip_error)?;
    let (mut arrays, mut labels) = (Vec::new(), None);
    let mut total_bytes = 0u64;
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).map_err(zip_error)?;
        let name = entry.name().map_err(zip_error)?.trim_end_matches(".npy").to_owned();
        let entry_error = |reason: String| format!("{name}: {reason}");
        let bytes = entry.size();
        total_bytes = total_bytes.saturating_add(bytes);
        let file = inflate(&mut entry, bytes, total_bytes).map_err(entry_error)?;
        match LABELS.contains(&name.as_str()) {
            true if labels.is_some() => return Err(format!("labels and {name}: labels are in one array")),
            true => labels = Some((name.clone(), npy::labels(&file).map_err(entry_error)?)),
            false => arrays.push((name.clone(), npy::samples(file).map_err(entry_error)?)),
        }
    }
    Ok(Unpacked { arrays, labels })
}

/// Unpacks one `.npy` file of an archive. The archive says that the file has `bytes` bytes, and that all files up to
/// and including this one have `total_bytes`. Before memory is taken for them, the header of the array must say the
/// same, and the bytes must fit into memory.
fn inflate(entry: &mut impl Read, bytes: u64, total_bytes: u64) -> Result<Vec<u8>, String> {
    let mut file = Vec::new();
    let fill = |entry: &mut dyn Read, most: u64, file: &mut Vec<u8>| {
        entry.take(most).read_to_end(file).map_err(|error| error.to_string())
    };
    fill(entry, bytes.min(Header::WITHIN as u64), &mut file)?;
    Header::read(&file, bytes)?;
    if let Some(available_bytes) = memory::available_bytes().filter(|available| total_bytes > *available) {
        return Err(format!(
            "the arrays have {total_bytes} bytes until here, and {available_bytes} of memory are available; arrays in \
             .npy files are read sample by sample"
        ));
    }
    // Reading one byte more than the archive promises shows whether there are more.
    fill(entry, bytes.saturating_add(1) - file.len() as u64, &mut file)?;
    match file.len() as u64 == bytes {
        true => Ok(file),
        false => Err(format!("{} bytes or more, the archive says {bytes}", file.len())),
    }
}

/// A folder with a `.npz` file for each sample, in the order of their names.
#[derive(Debug)]
struct Folder {
    folder: folder::Folder,
    files: Vec<String>,
    /// The names of a sample's arrays, in the order of its tensors.
    arrays: Vec<String>,
    sums: Option<Sums>,
}

/// Returns the names of the samples' files, sorted. Empty when the folder has none or cannot be read.
fn files_of(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".npz")).collect();
    names.sort_unstable();
    names
}

/// Tells whether a folder has `.npz` files of samples.
pub(crate) fn is_folder(folder: &Path) -> bool {
    !files_of(folder).is_empty()
}

/// Opens a folder with a `.npz` file for each sample. Named arrays are put into the order of `inputs`, when those are
/// given, else into that of the first file.
pub(crate) fn open_folder(path: &Path, inputs: Option<&Inputs>) -> Result<Opened, DatasetError> {
    let files = files_of(path);
    let truths = truths::of_folder(path, files.len())?;
    let folder = folder::Folder::open(path).map_err(unreadable(path))?;
    for name in &files {
        folder.file(name).map_err(|error| content(path, error.to_string()))?;
    }
    let first = path.join(files.first().map_or("", String::as_str));
    let bytes = files::bytes(&first, Limit::bytes(MAX_SAMPLE_BYTES)).map_err(unreadable(&first))?;
    let mut tensors = tensors(&bytes).map_err(|reason| content(&first, reason))?;
    if let Some(inputs) = inputs {
        tensors = in_order(tensors, inputs).map_err(|reason| content(&first, reason))?;
    }
    let arrays: Vec<String> = tensors.into_iter().map(|(name, _)| name).collect();
    let names: Vec<&str> = arrays.iter().map(String::as_str).collect();
    let note = format!("{}: a file for each sample, whose inputs are {}", path.display(), names.join(", "));
    let input_names = if are_numbered(&names) { Vec::new() } else { arrays.clone() };
    let reader = Folder { folder, files, arrays, sums: Sums::of_folder(path)? };
    Ok(Opened { note: Some(note), input_names, ..Opened::at(path, reader, truths) })
}

/// Reads the arrays of one sample, in the order of the file.
fn tensors(file: &[u8]) -> Result<Vec<(String, Tensor)>, String> {
    let zip_error = |error: zip::result::ZipError| format!("not a .npz file: {error}");
    let mut archive = ZipArchive::new(Cursor::new(file)).map_err(zip_error)?;
    let (mut tensors, mut total_bytes) = (Vec::new(), 0u64);
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).map_err(zip_error)?;
        let name = entry.name().map_err(zip_error)?.trim_end_matches(".npy").to_owned();
        let bytes = entry.size();
        total_bytes = total_bytes.saturating_add(bytes);
        let tensor = inflate(&mut entry, bytes, total_bytes).and_then(|array| npy::tensor(&array));
        tensors.push((name.clone(), tensor.map_err(|reason| format!("{name}: {reason}"))?));
    }
    if tensors.is_empty() { Err("it holds no arrays".to_owned()) } else { Ok(tensors) }
}

impl Folder {
    /// Puts the arrays of a sample into the order of all samples.
    fn in_order(&self, mut tensors: Vec<(String, Tensor)>) -> Result<Vec<Tensor>, String> {
        let others: Vec<String> = tensors.iter().map(|(name, _)| name.clone()).collect();
        let take = |name: &String| {
            let place = tensors.iter().position(|(other, _)| other == name)?;
            Some(tensors.swap_remove(place).1)
        };
        let ordered: Option<Vec<Tensor>> = self.arrays.iter().map(take).collect();
        ordered.filter(|_| others.len() == self.arrays.len()).ok_or_else(|| {
            format!("its arrays are {}; those of other samples are {}", others.join(", "), self.arrays.join(", "))
        })
    }
}

impl Reader for Folder {
    fn count(&self) -> usize {
        self.files.len()
    }

    fn tensors(&self, index: usize) -> Result<Vec<Tensor>, ReadError> {
        let file = self.folder.path().join(&self.files[index]);
        let bytes = self.folder.read(&self.files[index]);
        let bytes = bytes.map_err(|source| ReadError::File { file: file.clone(), source })?;
        let ordered = tensors(&bytes).and_then(|tensors| self.in_order(tensors));
        ordered.map_err(|reason| ReadError::Content { file, reason })
    }

    fn is_read_when_needed(&self) -> bool {
        true
    }

    fn listed_files(&self) -> usize {
        if self.sums.is_some() { self.files.len() } else { 0 }
    }

    fn sums_sha256(&self) -> Option<&str> {
        self.sums.as_ref().map(Sums::sha256)
    }

    fn verify(&self, file: usize) -> Result<(), SumError> {
        self.sums.as_ref().map_or(Ok(()), |sums| sums.verify(&self.files[file]))
    }
}

impl Reader for Arrays {
    fn count(&self) -> usize {
        self.0.first().map_or(0, |array| array.count)
    }

    fn tensors(&self, index: usize) -> Result<Vec<Tensor>, ReadError> {
        self.0.iter().map(|array| Ok(array.tensor(index)?)).collect()
    }
}
