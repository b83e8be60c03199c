//! Datasets: samples by index, turned into the bytes that are sent, and the right answers to them.
//!
//! - `opening`: from the text that names a dataset to its reader;
//! - `options`: how a dataset is opened;
//! - `formats`: the readers, one file for each format;
//! - `reader`: the interface of a reader;
//! - `opened`: what each format returns;
//! - `aggregate`: several items of a dataset as one sample;
//! - `first_sample`: the first sample, by which a dataset is judged before a run;
//! - `encoding`: from tensors to the bytes that are sent;
//! - `faults`: every fault of files and samples;
//! - `error`: what can be wrong with a dataset;
//! - here: [`Dataset`], of which some samples are loaded.

mod aggregate;
mod encoding;
mod error;
pub(crate) mod faults;
mod first_sample;
pub(crate) mod formats;
mod opened;
pub(crate) mod opening;
mod options;
mod reader;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;

pub use aggregate::{Aggregate, UnknownAggregate};
use bytes::Bytes;
use encoding::{Encode, Encoded, Encoding};
pub use error::{DatasetError, FitError};
pub use first_sample::{FirstSample, SizeError};
use lon_proto::codec::{Codec, Encoder};
use lon_proto::sample::Signature;
use opened::Opened;
pub use options::OpenOptions;
pub use reader::ReadError;

use crate::accuracy::{Metric, Target, Truths};
use crate::encode::inputs::Inputs;
use crate::encode::kserve::Request;
use crate::parallel;

/// A dataset. Samples that are loaded lie in memory in the form in which they are sent.
#[derive(Debug)]
pub struct Dataset {
    opened: Opened,
    performance_count: Option<usize>,
    encoding: Encoding,
    /// Read when it is first needed, and dropped when samples are loaded.
    first: OnceLock<FirstSample>,
    /// By sample index; empty where a sample is not loaded.
    samples: Vec<Encoded>,
    loaded: Loaded,
}

/// Bytes that a dataset keeps for each of its samples, loaded or not, in addition to the sample's own bytes.
pub const SLOT_BYTES: u64 = size_of::<Encoded>() as u64;

/// The samples that are in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// The number of samples.
    pub samples: usize,
    /// Their bytes before the codec.
    pub tensor_bytes: u64,
    /// Their bytes as they are sent.
    pub encoded_bytes: u64,
}

impl Loaded {
    /// Returns how many times smaller the codec made the samples; 1 when nothing is loaded.
    pub fn ratio(&self) -> f64 {
        match self.encoded_bytes {
            0 => 1.0,
            encoded => self.tensor_bytes as f64 / encoded as f64,
        }
    }
}

impl Dataset {
    /// Opens the dataset that `text` names: `synthetic:...`, or the path of a file or folder in one of the formats.
    /// No sample is loaded.
    ///
    /// # Errors
    /// The text names no dataset, or files are missing, altered or not what their format says.
    pub fn open(text: &str, options: &OpenOptions) -> Result<Dataset, DatasetError> {
        opening::open(text, options).map(Dataset::from)
    }

    /// Names the tensors of the samples, when they have no names yet and `names` are as many as the tensors.
    ///
    /// # Errors
    /// The first sample cannot be read.
    pub(crate) fn name_inputs(&mut self, names: &[&str]) -> Result<(), DatasetError> {
        if self.opened.input_names.is_empty() && self.first_sample()?.tensors().len() == names.len() {
            self.opened.input_names = names.iter().map(|name| (*name).to_owned()).collect();
        }
        Ok(())
    }

    /// Returns the inputs of a model in the order of the samples' tensors, when the names of both are known and the
    /// model has them in another order. Types and shapes may be the same and the answers wrong all the same.
    pub fn other_order(&self, model: &Signature) -> Option<Vec<String>> {
        first_sample::other_order(&self.opened.input_names, model)
    }

    /// Makes samples fit a model with this signature, as far as names allow: token ids of which no benchmark says what
    /// they become turn into the model's inputs, and tensors whose names are known go in the order of the model's.
    /// Returns whether samples are others than before; those that were loaded are dropped then.
    ///
    /// # Errors
    /// Token ids cannot become the inputs of the model.
    pub fn fit_to(&mut self, model: &Signature) -> Result<bool, DatasetError> {
        let becomes = self.opened.reader.become_inputs(&Inputs::of(model));
        let becomes = becomes.map_err(|reason| DatasetError::Form { path: self.name().into(), reason })?;
        let order = self.other_order(model);
        if let Some(names) = &order {
            self.opened.put_in_order(names, model);
        }
        let is_changed = becomes || order.is_some();
        if is_changed {
            self.unload();
            self.forget_first();
        }
        Ok(is_changed)
    }

    /// Returns a sentence for the log that says how the file was read, when it could be read in several ways.
    pub fn note(&self) -> Option<&str> {
        self.opened.note.as_deref()
    }

    /// Returns the name of the dataset in results.
    pub fn name(&self) -> &str {
        &self.opened.name
    }

    /// Returns the number of samples (LoadGen's total sample count).
    pub fn total_count(&self) -> usize {
        self.opened.reader.count()
    }

    /// Returns the number of samples that fit into memory together (LoadGen's performance sample count): all of them,
    /// unless [`Dataset::limit_performance_count`] set a limit.
    pub fn performance_count(&self) -> usize {
        self.performance_count.unwrap_or(usize::MAX).min(self.total_count())
    }

    /// Limits the number of samples that are in memory together; the limit is at least one.
    pub fn limit_performance_count(&mut self, count: usize) {
        self.performance_count = Some(count.max(1).min(self.performance_count()));
    }

    /// Tells whether samples are read from files when they are loaded, so that a part of them can be in memory without
    /// the others.
    pub fn is_read_when_needed(&self) -> bool {
        self.opened.reader.is_read_when_needed()
    }

    /// Returns the right answers, when the dataset has them.
    pub fn truths(&self) -> Option<&Truths> {
        self.opened.truths.as_ref()
    }

    /// Returns the first sample as it is sent. It is read once and kept until samples are loaded.
    ///
    /// # Errors
    /// The first sample cannot be read.
    pub fn first_sample(&self) -> Result<&FirstSample, DatasetError> {
        self.first().map_err(|source| DatasetError::Sample { dataset: self.name().to_owned(), index: 0, source })
    }

    fn first(&self) -> Result<&FirstSample, ReadError> {
        if let Some(first) = self.first.get() {
            return Ok(first);
        }
        let tensors = encoding::tensors(&self.opened, self.codec(), 0)?;
        Ok(self.first.get_or_init(|| FirstSample::new(tensors)))
    }

    fn forget_first(&mut self) {
        self.first = OnceLock::new();
    }

    /// Returns the bytes of one sample as it is sent with the dataset's codec, judged by the first sample.
    ///
    /// # Errors
    /// The first sample cannot be read, or the codec does not take it.
    pub fn sample_bytes(&self) -> Result<u64, DatasetError> {
        let (dataset, index) = (self.name().to_owned(), 0);
        self.first_sample()?.encoded_bytes(self.codec()).map_err(|error| match error {
            SizeError::Layout(source) => DatasetError::Sample { dataset, index, source: source.into() },
            SizeError::Codec(source) => DatasetError::Codec { dataset, index, source },
        })
    }

    /// Checks that a model with this signature takes the samples, judged by the first sample.
    ///
    /// # Errors
    /// The model does not take them; the error shows both signatures. Or the first sample cannot be read.
    pub fn fits_model(&self, model: &Signature) -> Result<(), FitError> {
        self.first()?.fits_model(model, &self.opened.input_names)
    }

    /// Checks that samples can be sent with this codec.
    ///
    /// # Errors
    /// The codec is `original`, and the samples are not files with a compression of their own.
    pub fn fits_codec(&self, codec: Codec) -> Result<(), DatasetError> {
        match codec == Codec::Original && !self.opened.reader.has_originals() {
            true => Err(DatasetError::NoOriginal(self.name().to_owned())),
            false => Ok(()),
        }
    }

    /// Checks that every scored sample has a label that the metric can use. A dataset without any labels passes.
    ///
    /// # Errors
    /// A sample has no such label; the error names the first of them. Or all labels are equal, and `auc` compares items
    /// of two classes.
    pub fn fits_metric(&self, target: impl Into<Target>) -> Result<(), DatasetError> {
        let target = target.into();
        match self.truths().and_then(|truths| target.first_lacking(truths)) {
            None if target.metric == Metric::Auc && self.truths().is_some_and(Truths::are_one_class) => {
                Err(DatasetError::OneClass(self.name().to_owned()))
            }
            None => Ok(()),
            Some(index) => {
                let (metric, dataset) = (target.metric.name(), self.name().to_owned());
                let asks = match target.parts {
                    [] if target.metric == Metric::Auc => format!("{metric}, 0 or 1 for each item"),
                    [] => metric.to_owned(),
                    parts => format!("{metric}, nor another part than {} (\"part\")", parts.join(", ")),
                };
                let count = self.total_count();
                let labels = match self.truths().is_some_and(|truths| truths.end_at(index)) {
                    true => format!(", and there are {index} labels for {count} samples"),
                    false => String::new(),
                };
                Err(DatasetError::Label { dataset, index, asks, labels })
            }
        }
    }

    /// Returns the trace of an aggregation: for each sample a line with its first item, the first item after it and
    /// their number. None when each sample is one item.
    pub fn aggregation(&self) -> Option<String> {
        self.opened.reader.aggregation()
    }

    /// Returns the number of files that a list of sums beside the dataset names; 0 when there is no such list.
    pub fn listed_files(&self) -> usize {
        self.opened.reader.listed_files()
    }

    /// Returns the SHA-256 of the list of sums beside the dataset, in hexadecimal: datasets with equal lists are the
    /// same, wherever they lie. None when there is no such list.
    pub fn sums_sha256(&self) -> Option<&str> {
        self.opened.reader.sums_sha256().or(self.opened.compared_with.as_deref())
    }

    /// Compares the dataset's files with their list of SHA-256 sums, when there is one. Calls `progress` on the calling
    /// thread with the number of files that are done and the number of all. Returns the number of files.
    ///
    /// # Errors
    /// A file does not have its sum, or the list does not name it.
    pub fn verify(&self, progress: &dyn Fn(usize, usize)) -> Result<usize, DatasetError> {
        let reader = self.opened.reader.as_ref();
        let files: Vec<usize> = (0..reader.listed_files()).collect();
        let verify = |(): &mut (), file: usize| reader.verify(file);
        let mut done = 0;
        let collect = |some: Vec<(usize, ())>| {
            done += some.len();
            progress(done, files.len());
        };
        parallel::each(&files, || (), verify, collect)?;
        Ok(files.len())
    }

    /// Reads every sample and keeps none: pictures are decoded, also those that are sent as they are. Calls `progress`
    /// as [`Dataset::verify`] does. Returns the number of samples.
    ///
    /// # Errors
    /// The first sample that cannot be read, with its file.
    pub fn read_all(&self, progress: &dyn Fn(usize, usize)) -> Result<usize, DatasetError> {
        let Opened { reader, name, .. } = &self.opened;
        let samples: Vec<usize> = (0..reader.count()).collect();
        let check = |(): &mut (), index: usize| {
            let sample_error = |source| DatasetError::Sample { dataset: name.clone(), index, source };
            reader.check(index).map_err(sample_error)
        };
        let mut done = 0;
        let collect = |some: Vec<(usize, ())>| {
            done += some.len();
            progress(done, samples.len());
        };
        parallel::each(&samples, || (), check, collect)?;
        Ok(samples.len())
    }

    /// Sets the codec of samples that are loaded from now on. Unloads what was loaded with another codec.
    pub fn set_codec(&mut self, codec: Codec) {
        if self.codec() != codec {
            self.unload();
            // The file of a sample and its tensors are not the same first sample.
            if codec == Codec::Original || self.codec() == Codec::Original {
                self.forget_first();
            }
            self.encoding = Encoding::Sample(codec);
        }
    }

    /// Makes samples that are loaded from now on into KServe requests for a model. Unloads what was loaded.
    ///
    /// `inputs` is the model's signature, empty when it is not known. `names` are the names of the inputs in the order
    /// of a sample's tensors; empty means the order of the model.
    ///
    /// # Errors
    /// The first sample cannot be read, or does not fit the model.
    pub fn set_kserve(&mut self, model: &str, inputs: &Signature, names: &[String]) -> Result<(), DatasetError> {
        let request = Request::new(model, inputs, names, self.first_sample()?.tensors());
        let request =
            request.map_err(|source| DatasetError::Request { dataset: self.name().to_owned(), index: 0, source })?;
        self.unload();
        self.encoding = Encoding::Request(request);
        Ok(())
    }

    /// Returns the codec of samples that are loaded from now on.
    pub fn codec(&self) -> Codec {
        self.encoding.codec()
    }

    /// Loads these samples, so that [`Dataset::payload`] returns their bytes. This is not timed.
    ///
    /// # Errors
    /// An index is beyond the end, or a sample cannot be read or encoded.
    pub fn load(&mut self, indices: impl Iterator<Item = usize>) -> Result<(), DatasetError> {
        self.load_with(indices, &|_, _| {})
    }

    /// Loads samples as [`Dataset::load`] does. Calls `progress` on the calling thread with the number of samples that
    /// are done and the number of all.
    ///
    /// # Errors
    /// As [`Dataset::load`]. Samples that were encoded before the error stay loaded.
    pub fn load_with(
        &mut self,
        indices: impl Iterator<Item = usize>,
        progress: &dyn Fn(usize, usize),
    ) -> Result<(), DatasetError> {
        let missing = self.missing(indices)?;
        // All checks are over: the first sample need not lie in memory beside the loaded ones.
        self.forget_first();
        let Dataset { opened, encoding, samples, loaded, .. } = self;
        let encode = Encode { opened, encoding };
        let mut done = 0;
        parallel::each(
            &missing,
            || Encoder::new(encoding.codec()),
            |encoder, index| encode.sample(encoder, index),
            |encoded: Vec<(usize, Encoded)>| {
                done += encoded.len();
                for (index, sample) in encoded {
                    loaded.samples += 1;
                    loaded.tensor_bytes += sample.tensor_bytes;
                    loaded.encoded_bytes += sample.payload.len() as u64;
                    samples[index] = sample;
                }
                progress(done, missing.len());
            },
        )
    }

    /// Makes room for all samples. Returns those of `indices` that are not loaded, each once and in order.
    fn missing(&mut self, indices: impl Iterator<Item = usize>) -> Result<Vec<usize>, DatasetError> {
        let count = self.total_count();
        self.samples.resize(count, Encoded::default());
        let mut missing = Vec::new();
        for index in indices {
            let slot = self.samples.get(index);
            let slot = slot.ok_or_else(|| DatasetError::NoSample { dataset: self.name().to_owned(), index, count })?;
            if slot.payload.is_empty() {
                missing.push(index);
            }
        }
        missing.sort_unstable();
        missing.dedup();
        Ok(missing)
    }

    /// Drops all loaded samples.
    pub fn unload(&mut self) {
        self.samples = Vec::new();
        self.loaded = Loaded::default();
    }

    /// Drops these samples. Those that are not loaded, or not there, are passed over.
    pub fn unload_some(&mut self, indices: impl Iterator<Item = usize>) {
        for index in indices {
            let Some(sample) = self.samples.get_mut(index).map(std::mem::take) else { continue };
            if !sample.payload.is_empty() {
                self.loaded.samples -= 1;
                self.loaded.tensor_bytes -= sample.tensor_bytes;
                self.loaded.encoded_bytes -= sample.payload.len() as u64;
            }
        }
    }

    /// Returns the bytes of a loaded sample as they are sent, shared and not copied. Empty when it is not loaded.
    pub fn payload(&self, index: usize) -> Bytes {
        self.samples.get(index).map(|sample| sample.payload.clone()).unwrap_or_default()
    }

    /// Returns the bytes of a loaded sample before the codec, header included. 0 when it is not loaded.
    pub fn tensor_bytes(&self, index: usize) -> u64 {
        self.samples.get(index).map_or(0, |sample| sample.tensor_bytes)
    }

    /// Returns how many samples are in memory and how many bytes they take.
    pub fn loaded(&self) -> Loaded {
        self.loaded
    }

    /// Reads one sample, loaded or not, and returns its layout before the codec.
    ///
    /// # Errors
    /// The sample cannot be read.
    pub(crate) fn raw(&self, index: usize) -> Result<Bytes, DatasetError> {
        Encode { opened: &self.opened, encoding: &self.encoding }.raw(index)
    }
}

impl From<Opened> for Dataset {
    fn from(opened: Opened) -> Dataset {
        Dataset {
            opened,
            performance_count: None,
            encoding: Encoding::Sample(Codec::None),
            first: OnceLock::new(),
            samples: Vec::new(),
            loaded: Loaded::default(),
        }
    }
}
