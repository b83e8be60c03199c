//! Arrays of numpy in one `.npz` file: an array for each input, and perhaps one of labels.
//!
//! The file is compressed, so all of it is unpacked into memory when it is opened.

use std::io::{BufReader, Read, Seek};
use std::path::Path;

use lon_proto::files::{self, Limit};
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
use crate::files::folder::split;
use crate::files::sums::Sums;
use crate::memory;

/// The arrays of a file: one for each input, all with the same number of samples.
#[derive(Debug)]
struct Arrays(Vec<Array>);

/// The names that an array of labels may have.
const LABELS: [&str; 2] = ["labels", "label"];

/// Opens a `.npz` file. Named arrays are put into the order of `inputs`, when those are given.
pub(crate) fn open(path: &Path, inputs: Option<&Inputs>) -> Result<Opened, DatasetError> {
    let (folder, name) = split(path);
    let sums = Sums::beside(&folder)?;
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
        None => truths::beside(&folder, count)?,
    };
    let input_names = if are_numbered(&names) { Vec::new() } else { names.into_iter().map(str::to_owned).collect() };
    let arrays = Arrays(arrays.into_iter().map(|(_, array)| array).collect());
    Ok(Opened { note: Some(note), compared_with, input_names, ..Opened::at(path, arrays, truths) })
}

/// Returns the number of samples, which must be the same in every array.
fn common_count(arrays: &[(String, Array)]) -> Result<usize, String> {
    let Some(((first, Array { count, .. }), rest)) = arrays.split_first() else {
        return Err("it holds no arrays of samples".to_owned());
    };
    match rest.iter().find(|(_, array)| array.count != *count) {
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

/// The content of a `.npz` file.
struct Unpacked {
    /// Names and arrays of samples, in the order of the file.
    arrays: Vec<(String, Array)>,
    /// Name and values of the array of labels.
    labels: Option<(String, Vec<i64>)>,
}

fn unpack(file: impl Read + Seek) -> Result<Unpacked, String> {
    let told = |error: zip::result::ZipError| format!("not a .npz file: {error}");
    let mut archive = ZipArchive::new(file).map_err(told)?;
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
    Ok(Unpacked { arrays, labels })
}

/// Unpacks one `.npy` file of an archive. The archive says that the file has `bytes` bytes, and that all files up to
/// and including this one have `total_bytes`. Before memory is taken for them, the header of the array must say the
/// same, and the bytes must fit into memory.
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
    // Reading one byte more than the archive promises shows whether there are more.
    read(entry, bytes.saturating_add(1) - file.len() as u64, &mut file)?;
    match file.len() as u64 == bytes {
        true => Ok(file),
        false => Err(format!("{} bytes or more, the archive says {bytes}", file.len())),
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
