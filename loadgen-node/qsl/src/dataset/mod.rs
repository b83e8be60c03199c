//! Samples by index, as bytes that are ready to be sent.

use bytes::Bytes;
use lon_proto::codec::{Codec, Encoder, Layout};
use lon_proto::sample::{self, DType, Signature, Tensor};

use crate::accuracy::{Metric, Truths};
use crate::dataset::reader::{ReadError, Source};
use crate::encode::inputs::places;
use crate::encode::kserve::Request;
use crate::parallel;

mod error;
pub mod formats;
mod opened;
pub(crate) mod opening;
mod options;
pub(crate) mod reader;

pub use error::{DatasetError, FitError};
pub use options::OpenOptions;

/// A dataset, of which some samples are loaded: encoded and in memory.
#[derive(Debug)]
pub struct Dataset {
    name: String,
    source: Box<dyn Source>,
    /// What is right, if anybody says it.
    truths: Option<Truths>,
    performance_count: Option<usize>,
    codec: Codec,
    /// Samples are made into these instead; they have no codec.
    kserve: Option<Request>,
    /// By sample index; empty where not loaded.
    samples: Vec<Encoded>,
    loaded: Loaded,
    note: Option<String>,
    /// Names of the tensors, in their order; empty: they have none.
    inputs: Vec<String>,
}

/// What a dataset keeps for each of its samples, loaded or not, beside their bytes.
pub const SLOT_BYTES: u64 = size_of::<Encoded>() as u64;

/// One sample as it is sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Encoded {
    pub(crate) payload: Bytes,
    /// Before the codec.
    pub(crate) tensor_bytes: u64,
}

/// What is in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Samples.
    pub samples: usize,
    /// Their bytes before the codec.
    pub tensor_bytes: u64,
    /// Their bytes as they are sent.
    pub encoded_bytes: u64,
}

impl Loaded {
    /// How many times smaller the codec made the samples; 1 when nothing is loaded.
    pub fn ratio(&self) -> f64 {
        match self.encoded_bytes {
            0 => 1.0,
            encoded => self.tensor_bytes as f64 / encoded as f64,
        }
    }
}

impl Dataset {
    pub(crate) fn new(name: String, source: Box<dyn Source>, truths: Option<Truths>) -> Dataset {
        let (codec, samples, loaded) = (Codec::None, Vec::new(), Loaded::default());
        Dataset {
            name,
            source,
            truths,
            performance_count: None,
            kserve: None,
            codec,
            samples,
            loaded,
            note: None,
            inputs: Vec::new(),
        }
    }

    pub(crate) fn with_note(self, note: String) -> Dataset {
        Dataset { note: Some(note), ..self }
    }

    /// With names for the tensors of its samples, in their order.
    pub(crate) fn with_inputs(self, inputs: Vec<String>) -> Dataset {
        Dataset { inputs, ..self }
    }

    /// With these names, where its samples' tensors have none and are as many.
    pub(crate) fn or_inputs(self, names: &[&str], tensors: usize) -> Dataset {
        match self.inputs.is_empty() && names.len() == tensors {
            true => self.with_inputs(names.iter().map(|name| (*name).to_owned()).collect()),
            false => self,
        }
    }

    /// The inputs of a model in the order of the samples' tensors, where the model has them in another and the names of
    /// both are known. Types and shapes may be the same, and the answers wrong.
    pub fn other_order(&self, model: &Signature) -> Option<Vec<String>> {
        let ours: Vec<&str> = self.inputs.iter().map(String::as_str).collect();
        let theirs: Vec<&str> = model.iter().map(|input| input.name.as_str()).collect();
        let places: Vec<usize> = places(&ours, &theirs).into_iter().flatten().collect();
        let is_all = places.len() == theirs.len();
        (is_all && !places.is_sorted()).then(|| places.into_iter().map(|place| theirs[place].to_owned()).collect())
    }

    /// What was taken for what, where a file could be read in several ways.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// What it is called in results.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number of samples (LoadGen's total sample count).
    pub fn total_count(&self) -> usize {
        self.source.count()
    }

    /// Samples guaranteed to fit into memory together (LoadGen's performance sample count): all of them, unless
    /// [`Dataset::limit_performance_count`] said otherwise.
    pub fn performance_count(&self) -> usize {
        self.performance_count.unwrap_or(usize::MAX).min(self.total_count())
    }

    /// Has at most so many samples (at least one) in memory together.
    pub fn limit_performance_count(&mut self, count: usize) {
        self.performance_count = Some(count.max(1).min(self.performance_count()));
    }

    /// Whether samples are read from files, so that a set can be in memory without the others.
    pub fn is_read_when_needed(&self) -> bool {
        self.source.is_read_when_needed()
    }

    /// What is right; none: the dataset says nothing of it.
    pub fn truths(&self) -> Option<&Truths> {
        self.truths.as_ref()
    }

    /// Whether every sample has a label that the metric can use; a dataset without any labels is fine.
    ///
    /// # Errors
    /// Names the first sample without.
    pub fn check_labels(&self, metric: Metric) -> Result<(), DatasetError> {
        match self.truths.as_ref().and_then(|truths| metric.first_lacking(truths)) {
            None => Ok(()),
            Some(index) => Err(DatasetError::Label { dataset: self.name.clone(), index, metric: metric.name() }),
        }
    }

    /// Whether samples can be encoded with it at all.
    ///
    /// # Errors
    /// `original`, of a dataset that has no such thing.
    pub fn check_codec(&self, codec: Codec) -> Result<(), DatasetError> {
        match codec == Codec::Original && !self.source.has_originals() {
            true => Err(DatasetError::NoOriginal(self.name.clone())),
            false => Ok(()),
        }
    }

    /// Compares the dataset's files with their list of SHA-256 sums, if there is one. Tells how many of how many are
    /// done, now and then, on the calling thread. Returns how many were compared.
    ///
    /// # Errors
    /// A file that is not what it was.
    pub fn verify(&self, progress: &dyn Fn(usize, usize)) -> Result<usize, DatasetError> {
        let files: Vec<usize> = (0..self.source.listed_files()).collect();
        let verify = |(): &mut (), file: usize| self.source.verify(file);
        let mut done = 0;
        parallel::each(
            &files,
            || (),
            verify,
            |some: Vec<(usize, ())>| {
                done += some.len();
                progress(done, files.len());
            },
        )?;
        Ok(files.len())
    }

    /// What samples are encoded with from now on. Lets go of what was loaded with another codec.
    pub fn set_codec(&mut self, codec: Codec) {
        if self.codec != codec {
            self.unload();
            self.codec = codec;
        }
    }

    /// From now on samples are requests to servers of KServe's protocol, with model and inputs as given: [`Signature`] is
    /// the model's own (empty: not known), `names` the inputs' names in the order of a sample's tensors (empty: that of
    /// the model). Lets go of what was loaded. Codecs do not apply.
    ///
    /// # Errors
    /// The first sample cannot be read, or does not fit the model.
    pub fn set_kserve(&mut self, model: &str, inputs: &Signature, names: &[String]) -> Result<(), DatasetError> {
        let first = self.source.tensors(0);
        let first = first.map_err(|source| DatasetError::Sample { dataset: self.name.clone(), index: 0, source })?;
        let request = Request::new(model, inputs, names, &first);
        let request =
            request.map_err(|source| DatasetError::Request { dataset: self.name.clone(), index: 0, source })?;
        self.unload();
        self.kserve = Some(request);
        Ok(())
    }

    /// What samples are encoded with.
    pub fn codec(&self) -> Codec {
        self.codec
    }

    /// Encodes these samples, so that [`Dataset::payload`] has them. Untimed.
    ///
    /// # Errors
    /// An index beyond the end, or a sample that cannot be encoded.
    pub fn load(&mut self, indices: impl Iterator<Item = usize>) -> Result<(), DatasetError> {
        self.load_with(indices, &|_, _| {})
    }

    /// As [`Dataset::load`]. Tells how many of how many samples are done, now and then, on the calling thread.
    ///
    /// # Errors
    /// As [`Dataset::load`]. What was encoded until then stays loaded.
    pub fn load_with(
        &mut self,
        indices: impl Iterator<Item = usize>,
        progress: &dyn Fn(usize, usize),
    ) -> Result<(), DatasetError> {
        let missing = self.missing(indices)?;
        let Dataset { name, source, codec, kserve, samples, loaded, .. } = self;
        let encode = |encoder: &mut Encoder, index: usize| match &*kserve {
            Some(kserve) => request(name, source.as_ref(), kserve, index),
            None => encode(name, source.as_ref(), *codec, encoder, index),
        };
        let mut done = 0;
        parallel::each(
            &missing,
            || Encoder::new(*codec),
            encode,
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

    /// Those that are not loaded, each once, after room was made for them.
    fn missing(&mut self, indices: impl Iterator<Item = usize>) -> Result<Vec<usize>, DatasetError> {
        let count = self.source.count();
        self.samples.resize(count, Encoded::default());
        let mut missing = Vec::new();
        for index in indices {
            let slot = self.samples.get(index);
            let slot = slot.ok_or_else(|| DatasetError::NoSample { dataset: self.name.clone(), index, count })?;
            if slot.payload.is_empty() {
                missing.push(index);
            }
        }
        missing.sort_unstable();
        missing.dedup();
        Ok(missing)
    }

    /// Lets go of what was loaded.
    pub fn unload(&mut self) {
        self.samples = Vec::new();
        self.loaded = Loaded::default();
    }

    /// The bytes of a loaded sample, as they are sent, shared. Empty when it is not loaded.
    pub fn payload(&self, index: usize) -> Bytes {
        self.samples.get(index).map(|sample| sample.payload.clone()).unwrap_or_default()
    }

    /// Bytes of a loaded sample before the codec, header included. 0 when it is not loaded.
    pub fn tensor_bytes(&self, index: usize) -> u64 {
        self.samples.get(index).map_or(0, |sample| sample.tensor_bytes)
    }

    /// What is in memory, and what the codec made of it.
    pub fn loaded(&self) -> Loaded {
        self.loaded
    }

    /// Bytes of one encoded sample as it is sent, judged by the first.
    ///
    /// # Errors
    /// The first sample cannot be read, or the codec does not take it.
    pub fn sample_bytes(&self) -> Result<u64, DatasetError> {
        let first = encode(&self.name, self.source.as_ref(), self.codec, &mut Encoder::new(self.codec), 0)?;
        Ok(first.payload.len() as u64)
    }

    /// One sample before the codec, loaded or not.
    pub(crate) fn raw(&self, index: usize) -> Result<Bytes, DatasetError> {
        raw(&self.name, self.source.as_ref(), self.codec, index)
    }

    /// The tensors of the first sample as they are sent, before any codec but `original`.
    pub(crate) fn first(&self) -> Result<Vec<Tensor>, ReadError> {
        tensors(self.source.as_ref(), self.codec, 0)
    }

    /// Whether a model of this signature takes the samples, judged by the first.
    ///
    /// # Errors
    /// It does not; both signatures are shown.
    pub fn fits(&self, model: &Signature) -> Result<(), FitError> {
        model.accepts(&self.first()?)?;
        match self.other_order(model) {
            Some(order) => Err(FitError::Order {
                samples: self.inputs.join(", "),
                model: model.to_string(),
                order: order.join(","),
            }),
            None => Ok(()),
        }
    }
}

fn tensors(source: &dyn Source, codec: Codec, index: usize) -> Result<Vec<Tensor>, ReadError> {
    match codec {
        Codec::Original => {
            let file = source.original(index)?;
            let bytes = u32::try_from(file.len()).unwrap_or(u32::MAX);
            Ok(vec![Tensor::new(DType::U8, &[bytes], file)?])
        }
        _ => source.tensors(index),
    }
}

fn raw(dataset: &str, source: &dyn Source, codec: Codec, index: usize) -> Result<Bytes, DatasetError> {
    let raw = tensors(source, codec, index).and_then(|tensors| Ok(sample::encode(&tensors)?));
    raw.map_err(|source| DatasetError::Sample { dataset: dataset.to_owned(), index, source })
}

fn encode(
    name: &str,
    source: &dyn Source,
    codec: Codec,
    encoder: &mut Encoder,
    index: usize,
) -> Result<Encoded, DatasetError> {
    let raw = raw(name, source, codec, index)?;
    let payload = encoder.encode(&raw, Layout::Sample);
    let payload = payload.map_err(|source| DatasetError::Codec { dataset: name.to_owned(), index, source })?;
    Ok(Encoded { payload, tensor_bytes: raw.len() as u64 })
}

fn request(name: &str, source: &dyn Source, kserve: &Request, index: usize) -> Result<Encoded, DatasetError> {
    let dataset = || name.to_owned();
    let tensors = source.tensors(index);
    let tensors = tensors.map_err(|source| DatasetError::Sample { dataset: dataset(), index, source })?;
    let tensor_bytes = tensors.iter().map(|tensor| tensor.data().len() as u64).sum();
    let payload = kserve.body(tensors);
    let payload = payload.map_err(|source| DatasetError::Request { dataset: dataset(), index, source })?;
    Ok(Encoded { payload, tensor_bytes })
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use lon_proto::codec::Inflater;

    use super::*;
    use crate::dataset::formats::synthetic;

    fn dataset(codec: &str) -> Dataset {
        let mut dataset = synthetic::open("synthetic:tokens-i32[200]x700").unwrap();
        dataset.set_codec(codec.parse().unwrap());
        dataset
    }

    fn loaded(codec: &str) -> Dataset {
        let mut dataset = dataset(codec);
        dataset.load(0..700).unwrap();
        dataset
    }

    #[test]
    fn payloads_inflate_to_the_tensors() {
        let plain = loaded("none");
        assert_eq!(plain.loaded(), Loaded { samples: 700, tensor_bytes: 700 * 808, encoded_bytes: 700 * 808 });
        for codec in ["lz4", "zstd:2", "shuffle-zstd", "delta-zstd"] {
            let encoded = loaded(codec);
            let mut inflater = Inflater::new(encoded.codec(), 1 << 20);
            for index in 0..700 {
                assert_eq!(inflater.inflate(encoded.payload(index)).unwrap(), plain.payload(index), "{codec} {index}");
                assert_eq!(encoded.tensor_bytes(index), 808);
            }
            let sum: u64 = (0..700).map(|index| encoded.payload(index).len() as u64).sum();
            let all = encoded.loaded();
            assert_eq!((all.samples, all.tensor_bytes, all.encoded_bytes), (700, 700 * 808, sum), "{codec}");
            assert!(all.ratio() > 2.0, "{codec} {}", all.ratio());
            assert_eq!(encoded.sample_bytes().unwrap(), encoded.payload(0).len() as u64);
        }
    }

    #[test]
    fn sets_are_loaded_let_go_and_loaded_again() {
        let all = loaded("zstd");
        let mut dataset = dataset("zstd");
        let told = RefCell::new(Vec::new());
        let progress = |done: usize, of: usize| told.borrow_mut().push((done, of));
        dataset.load_with([7, 699, 7, 0].into_iter(), &progress).unwrap();
        assert_eq!(told.borrow().last(), Some(&(3, 3)));
        dataset.load_with([7, 1].into_iter(), &progress).unwrap();
        assert_eq!(told.borrow().last(), Some(&(1, 1)));
        assert_eq!(dataset.loaded().samples, 4);
        for index in [0, 1, 7, 699] {
            assert_eq!(dataset.payload(index), all.payload(index));
        }
        assert_eq!((dataset.payload(2).len(), dataset.tensor_bytes(2)), (0, 0));
        dataset.unload();
        assert_eq!((dataset.loaded(), dataset.loaded().ratio()), (Loaded::default(), 1.0));
        assert!(dataset.payload(7).is_empty());
        dataset.load([2].into_iter()).unwrap();
        assert_eq!(dataset.payload(2), all.payload(2));
        dataset.set_codec(Codec::Lz4);
        assert!(dataset.payload(2).is_empty(), "of the codec before");
    }

    #[test]
    fn an_index_beyond_the_end_is_named() {
        let error = dataset("lz4").load([0, 700].into_iter()).unwrap_err().to_string();
        assert!(error.contains("700 samples") && error.contains("no sample 700"), "{error}");
        assert!(dataset("lz4").load(std::iter::empty()).is_ok());
    }
}
