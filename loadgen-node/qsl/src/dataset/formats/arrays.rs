//! Arrays of numpy in `.npy` files: one file of all samples, or a folder with one file for each sample.
//!
//! Samples are read from the disk when they are loaded, so that an array may be larger than memory.

use std::io::Read;
use std::path::Path;

use lon_proto::files::{self, Limit};
use lon_proto::sample::Tensor;

use super::blocks::Stored;
use super::labels;
use super::npy::{self, Header};
use super::truths;
use crate::dataset::error::{DatasetError, content};
use crate::dataset::opened::Opened;
use crate::dataset::reader::{ReadError, Reader};
use crate::files::folder::{self, split};
use crate::files::sums::{SumError, Sums};

/// One `.npy` file, whose first axis counts the samples.
#[derive(Debug)]
struct Npy {
    stored: Stored,
    count: usize,
    sums: Option<Sums>,
}

/// Opens one `.npy` file of all samples.
pub(crate) fn open_npy(path: &Path) -> Result<Opened, DatasetError> {
    let (folder, _) = split(path);
    let read_error = |source| SumError::Read { file: path.to_owned(), source };
    let mut file = files::open(path, Limit::DATA).map_err(read_error)?;
    let file_bytes = file.metadata().map_err(read_error)?.len();
    let mut start = Vec::new();
    (&mut file).take(Header::WITHIN as u64).read_to_end(&mut start).map_err(read_error)?;
    let header = Header::read(&start, file_bytes).map_err(|reason| content(path, reason))?;
    let (count, dims) = header.samples().map_err(|reason| content(path, reason))?;
    let sample_bytes = ((file_bytes - header.data_at) / count as u64) as usize;
    let Header { dtype, data_at, .. } = header;
    let stored = Stored { path: path.to_owned(), file, dtype, dims, data_at, sample_bytes };
    let truths = truths::of_folder(&folder, count)?;
    Ok(Opened::at(path, Npy { stored, count, sums: Sums::of_folder(&folder)? }, truths))
}

impl Reader for Npy {
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

    fn sums_sha256(&self) -> Option<&str> {
        self.sums.as_ref().map(Sums::sha256)
    }

    fn verify(&self, _file: usize) -> Result<(), SumError> {
        self.sums.as_ref().map_or(Ok(()), |sums| sums.verify(&split(&self.stored.path).1))
    }
}

/// A folder with a `.npy` file for each sample, in the order of their names.
#[derive(Debug)]
struct Folder {
    folder: folder::Folder,
    names: Vec<String>,
    sums: Option<Sums>,
}

/// The file of labels of a folder with a file for each sample, in words.
pub(crate) const LABELS: &str =
    "labels.txt or labels.npy in this folder: a whole number from 0 for each file, in the order of names";

/// Returns the names of the samples' files, sorted. Empty when the folder has none or cannot be read.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> =
        names.filter(|name| name.ends_with(".npy") && !labels::NAMES.contains(&name.as_str())).collect();
    names.sort_unstable();
    names
}

/// Tells whether a folder has `.npy` files of samples.
pub(crate) fn is_folder(folder: &Path) -> bool {
    !names(folder).is_empty()
}

/// The error about right answers, with a tip where the folder has one array: it may be all samples.
fn of_one_array(error: DatasetError, folder: &Path, names: &[String]) -> DatasetError {
    match (error, names) {
        (DatasetError::Content { file, reason }, [only]) => DatasetError::Content {
            file,
            reason: format!(
                "{reason}; in a folder each .npy is one sample: give {} where it is an array of samples",
                folder.join(only).display()
            ),
        },
        (error, _) => error,
    }
}

/// Opens a folder with a `.npy` file for each sample.
pub(crate) fn open_folder(folder: &Path) -> Result<Opened, DatasetError> {
    let names = names(folder);
    let truths = truths::of_folder(folder, names.len()).map_err(|error| of_one_array(error, folder, &names))?;
    let read_error = |source| SumError::Read { file: folder.to_owned(), source };
    let inside = folder::Folder::open(folder).map_err(read_error)?;
    for name in &names {
        inside.file(name).map_err(|error| content(folder, error.to_string()))?;
    }
    Ok(Opened::at(folder, Folder { folder: inside, names, sums: Sums::of_folder(folder)? }, truths))
}

impl Reader for Folder {
    fn count(&self) -> usize {
        self.names.len()
    }

    fn tensors(&self, index: usize) -> Result<Vec<Tensor>, ReadError> {
        let file = self.folder.path().join(&self.names[index]);
        let bytes = self.folder.read(&self.names[index]);
        let bytes = bytes.map_err(|source| ReadError::File { file: file.clone(), source })?;
        Ok(vec![npy::tensor(&bytes).map_err(|reason| ReadError::Content { file, reason })?])
    }

    fn file_name(&self, index: usize) -> Option<&str> {
        Some(&self.names[index])
    }

    fn is_read_when_needed(&self) -> bool {
        true
    }

    fn listed_files(&self) -> usize {
        if self.sums.is_some() { self.names.len() } else { 0 }
    }

    fn sums_sha256(&self) -> Option<&str> {
        self.sums.as_ref().map(Sums::sha256)
    }

    fn verify(&self, file: usize) -> Result<(), SumError> {
        self.sums.as_ref().map_or(Ok(()), |sums| sums.verify(&self.names[file]))
    }
}
