//! Raw tensors, little-endian and row-major, with a small TOML file that describes them.
//!
//! ```toml
//! schema = 1
//! samples = 100
//! labels = "labels.txt"              # optional; or a .npy
//! [[tensors]]                        # one for each input
//! dtype = "f32"
//! dims = [3, 224, 224]               # of one sample
//! file = "images.bin"                # all samples one after the other,
//! sha256 = "..."                     # optional
//! # files = ["0.bin", "1.bin"]       # or a file for each
//! ```

use std::path::{Path, PathBuf};

use bytes::Bytes;
use lon_proto::files::{self, Limit};
use lon_proto::limits::MAX_SAMPLE_BYTES;
use lon_proto::sample::{DType, Dims, Tensor, UnknownDType};
use serde::Deserialize;
use toml::Spanned;

use super::blocks::Stored;
use super::labels;
use super::truths;
use crate::dataset::error::{DatasetError, content, unreadable};
use crate::dataset::opened::Opened;
use crate::dataset::reader::{MAX_COUNT, ReadError, Reader};
use crate::files::folder::{Folder, split};
use crate::files::sums::{self, SumError, Sums};

/// The name of the manifest in a folder.
pub(crate) const NAME: &str = "dataset.toml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    schema: u32,
    samples: usize,
    labels: Option<Spanned<String>>,
    tensors: Vec<Line>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    dtype: String,
    dims: Vec<u32>,
    file: Option<Spanned<String>>,
    sha256: Option<String>,
    files: Option<Vec<Spanned<String>>>,
}

/// One input of every sample.
#[derive(Debug)]
enum Input {
    /// All samples are in one file.
    One { stored: Stored, name: String, sha256: Option<String> },
    /// Each sample is in a file of its own.
    Each { dtype: DType, dims: Vec<u32>, sample_bytes: usize, names: Vec<String> },
}

#[derive(Debug)]
struct Raw {
    folder: Folder,
    count: usize,
    inputs: Vec<Input>,
    sums: Option<Sums>,
}

/// Opens the manifest at `path`.
pub(crate) fn open(path: &Path) -> Result<Opened, DatasetError> {
    let (folder, _) = split(path);
    let text = files::text(path, Limit::DOCUMENT).map_err(unreadable(path))?;
    let manifest: Manifest = toml::from_str(&text).map_err(|error| content(path, error.to_string().trim_end()))?;
    let Manifest { schema, samples: count, labels, tensors } = manifest;
    if schema != 1 {
        return Err(content(path, format!("schema {schema} is not known (known: 1)")));
    }
    if count == 0 || tensors.is_empty() {
        return Err(content(path, "a dataset has at least one sample of one tensor"));
    }
    if count > MAX_COUNT {
        return Err(content(path, format!("samples = {count}; a dataset has {MAX_COUNT} at most")));
    }
    let folder = Folder::open(&folder).map_err(unreadable(&folder))?;
    // A name is checked where it stands, before anything of its file is read.
    let name = |name: &Spanned<String>| {
        let line = 1 + text[..name.span().start].matches('\n').count();
        folder.file(name.get_ref()).map_err(|error| content(path, format!("line {line}: {error}")))
    };
    let input = |(number, line): (usize, Line)| {
        line.names().try_for_each(|named| name(named).map(|_| ()))?;
        input(&folder, count, line).map_err(|fault| match fault {
            Fault::Line(reason) => content(path, format!("tensor {number}: {reason}")),
            Fault::File(error) => error,
        })
    };
    let inputs = tensors.into_iter().enumerate().map(input).collect::<Result<_, _>>()?;
    // Labels take memory for each sample. They come after the files, whose sizes have shown that there are so many.
    let truths = match labels {
        Some(labels) => {
            name(&labels)?;
            Some(labels::read(folder.path(), labels.get_ref(), count)?)
        }
        None => truths::of_folder(folder.path(), count)?,
    };
    let sums = Sums::of_folder(folder.path())?;
    Ok(Opened::at(path, Raw { folder, count, inputs, sums }, truths))
}

impl Line {
    /// The names of all files.
    fn names(&self) -> impl Iterator<Item = &Spanned<String>> {
        self.file.iter().chain(self.files.iter().flatten())
    }
}

/// The fault of an entry of the manifest.
enum Fault {
    /// The entry itself is wrong.
    Line(String),
    /// The file that it names is wrong.
    File(DatasetError),
}

fn input(folder: &Folder, count: usize, line: Line) -> Result<Input, Fault> {
    let Line { dtype, dims, file, sha256, files } = line;
    let dtype: DType = dtype.parse().map_err(|error: UnknownDType| Fault::Line(error.to_string()))?;
    let elements = Dims::new(&dims).and_then(|dims| dims.elements());
    let sample_bytes = elements.and_then(|elements| dtype.bytes_of(elements));
    let sample_bytes = sample_bytes.filter(|&bytes| bytes > 0 && bytes <= MAX_SAMPLE_BYTES);
    let sample_bytes = sample_bytes.ok_or_else(|| Fault::Line(format!("{dtype}{dims:?} is no size for a sample")))?;
    match (file, files) {
        (Some(name), None) => {
            let name = name.into_inner();
            let stored = stored(folder.path().join(&name), count, dtype, dims, sample_bytes).map_err(Fault::File)?;
            Ok(Input::One { stored, name, sha256: sha256.map(|sum| sum.to_ascii_lowercase()) })
        }
        (None, Some(names)) if names.len() == count && sha256.is_none() => {
            let names = names.into_iter().map(Spanned::into_inner).collect();
            Ok(Input::Each { dtype, dims, sample_bytes: sample_bytes as usize, names })
        }
        (None, Some(names)) if sha256.is_none() => {
            Err(Fault::Line(format!("{} files for {count} samples", names.len())))
        }
        (None, Some(_)) => Err(Fault::Line("sha256 is of one file; sums of several are in SHA256SUMS".to_owned())),
        _ => Err(Fault::Line("either file or files says where it is".to_owned())),
    }
}

/// Opens a file of all samples, which must have exactly their bytes.
fn stored(
    path: PathBuf,
    count: usize,
    dtype: DType,
    dims: Vec<u32>,
    sample_bytes: u64,
) -> Result<Stored, DatasetError> {
    let file = files::open(&path, Limit::DATA).map_err(unreadable(&path))?;
    let bytes = file.metadata().map_err(unreadable(&path))?.len();
    let expected_bytes = sample_bytes.checked_mul(count as u64);
    if expected_bytes != Some(bytes) {
        // More than 64 bits can count are shown as None.
        let expected_bytes =
            expected_bytes.map_or_else(|| "None".to_owned(), |expected_bytes| expected_bytes.to_string());
        return Err(content(&path, format!("{bytes} bytes, {count} samples of {dtype}{dims:?} have {expected_bytes}")));
    }
    Ok(Stored { path, file, dtype, dims, data_at: 0, sample_bytes: sample_bytes as usize })
}

impl Raw {
    /// Returns the file of this number, counted over all inputs, and the sum that the manifest gives it.
    fn file(&self, number: usize) -> Option<(&str, Option<&str>)> {
        let files = self.inputs.iter().flat_map(|input| -> Box<dyn Iterator<Item = (&str, Option<&str>)>> {
            match input {
                Input::One { name, sha256, .. } => Box::new(std::iter::once((name.as_str(), sha256.as_deref()))),
                Input::Each { names, .. } => Box::new(names.iter().map(|name| (name.as_str(), None))),
            }
        });
        files.into_iter().nth(number)
    }
}

impl Reader for Raw {
    fn count(&self) -> usize {
        self.count
    }

    fn tensors(&self, index: usize) -> Result<Vec<Tensor>, ReadError> {
        let tensor = |input: &Input| match input {
            Input::One { stored, .. } => stored.tensor(index),
            Input::Each { dtype, dims, sample_bytes, names } => {
                let file = self.folder.path().join(&names[index]);
                let data = self.folder.read(&names[index]);
                let data = data.map_err(|source| ReadError::File { file: file.clone(), source })?;
                if data.len() != *sample_bytes {
                    let reason = format!("{} bytes, {dtype}{dims:?} has {sample_bytes}", data.len());
                    return Err(ReadError::Content { file, reason });
                }
                Ok(Tensor::new(*dtype, dims, Bytes::from(data))?)
            }
        };
        self.inputs.iter().map(tensor).collect()
    }

    fn is_read_when_needed(&self) -> bool {
        true
    }

    fn listed_files(&self) -> usize {
        let files = |input: &Input| match input {
            Input::One { .. } => 1,
            Input::Each { names, .. } => names.len(),
        };
        self.inputs.iter().map(files).sum()
    }

    fn sums_sha256(&self) -> Option<&str> {
        self.sums.as_ref().map(Sums::sha256)
    }

    fn verify(&self, number: usize) -> Result<(), SumError> {
        let Some((name, sha256)) = self.file(number) else { return Ok(()) };
        if let Some(expected) = sha256 {
            sums::verify_file(&self.folder.path().join(name), expected)?;
        }
        self.sums.as_ref().map_or(Ok(()), |sums| sums.verify(name))
    }
}
