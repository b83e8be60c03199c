//! From the tensors of a sample to the bytes that are sent: a sample layout in a codec, or the body of a KServe
//! request. The codec is set by [`Dataset::set_codec`](super::Dataset::set_codec); the SUT node undoes it.

use bytes::Bytes;
use lon_proto::codec::{Codec, Encoder, Layout};
use lon_proto::sample::{self, DType, Tensor};

use super::error::DatasetError;
use super::opened::Opened;
use super::reader::ReadError;
use crate::encode::kserve::Request;

/// The form in which samples are sent.
#[derive(Debug)]
pub(super) enum Encoding {
    /// A sample layout that is wrapped by a codec.
    Sample(Codec),
    /// The body of a KServe request; no codec applies.
    Request(Request),
}

/// One sample as it is sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Encoded {
    /// The bytes to send; empty when the sample is not loaded.
    pub(super) payload: Bytes,
    /// Bytes before the codec.
    pub(super) tensor_bytes: u64,
}

/// All that is needed to encode samples of one dataset on any thread.
#[derive(Clone, Copy)]
pub(super) struct Encode<'a> {
    pub(super) opened: &'a Opened,
    pub(super) encoding: &'a Encoding,
}

impl Encoding {
    /// Returns the codec, which is [`Codec::None`] for requests.
    pub(super) fn codec(&self) -> Codec {
        match self {
            Encoding::Sample(codec) => *codec,
            Encoding::Request(_) => Codec::None,
        }
    }
}

impl Encode<'_> {
    /// Reads one sample and encodes it with an encoder of the encoding's codec.
    ///
    /// # Errors
    /// The sample cannot be read, or cannot be encoded in this form.
    pub(super) fn sample(&self, encoder: &mut Encoder, index: usize) -> Result<Encoded, DatasetError> {
        match self.encoding {
            Encoding::Sample(_) => {
                let raw = self.raw(index)?;
                let codec_error = |source| DatasetError::Codec { dataset: self.opened.name.clone(), index, source };
                let payload = encoder.encode(&raw, Layout::Sample).map_err(codec_error)?;
                Ok(Encoded { payload, tensor_bytes: raw.len() as u64 })
            }
            Encoding::Request(request) => {
                let tensors = self.with_index(index, self.opened.tensors(index))?;
                let tensor_bytes = tensors.iter().map(|tensor| tensor.data().len() as u64).sum();
                let request_error = |source| DatasetError::Request { dataset: self.opened.name.clone(), index, source };
                let payload = request.body(tensors).map_err(request_error)?;
                Ok(Encoded { payload, tensor_bytes })
            }
        }
    }

    /// Reads one sample and returns its layout before the codec.
    pub(super) fn raw(&self, index: usize) -> Result<Bytes, DatasetError> {
        let raw = tensors(self.opened, self.encoding.codec(), index);
        self.with_index(index, raw.and_then(|tensors| Ok(sample::encode(&tensors)?)))
    }

    /// Names the sample in an error of the reader.
    fn with_index<T>(&self, index: usize, result: Result<T, ReadError>) -> Result<T, DatasetError> {
        result.map_err(|source| DatasetError::Sample { dataset: self.opened.name.clone(), index, source })
    }
}

/// Reads the tensors of one sample as they are sent. With the codec `original` that is the file, as one tensor of
/// bytes.
pub(super) fn tensors(opened: &Opened, codec: Codec, index: usize) -> Result<Vec<Tensor>, ReadError> {
    match codec {
        Codec::Original => {
            let file = opened.reader.original(index)?;
            let bytes = u32::try_from(file.len()).unwrap_or(u32::MAX);
            Ok(vec![Tensor::new(DType::U8, &[bytes], file)?])
        }
        _ => opened.tensors(index),
    }
}
