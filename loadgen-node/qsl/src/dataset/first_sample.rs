//! The first sample of a dataset. It is read once, and all checks before a run use it.
//!
//! Reading it may mean decoding a JPEG, and its size with a codec means compressing it. Without this module that would
//! be done for each check and for each node.

use std::sync::{Mutex, PoisonError};

use lon_proto::codec::{Codec, EncodeError, Encoder, Layout};
use lon_proto::sample::{self, DType, SampleError, Signature, Tensor};

use super::error::FitError;
use crate::encode::inputs::places;

/// The first sample of a dataset: its tensors, and its sizes with each codec that was asked for.
#[derive(Debug)]
pub struct FirstSample {
    tensors: Vec<Tensor>,
    encoded_bytes: Mutex<Vec<(Codec, u64)>>,
}

/// The reasons why the size of an encoded sample is not known.
#[derive(Debug, thiserror::Error)]
pub enum SizeError {
    /// The tensors do not form a valid sample.
    #[error(transparent)]
    Layout(#[from] SampleError),
    /// The codec does not take the sample.
    #[error(transparent)]
    Codec(#[from] EncodeError),
}

impl FirstSample {
    /// Keeps tensors that were read.
    pub(super) fn new(tensors: Vec<Tensor>) -> FirstSample {
        FirstSample { tensors, encoded_bytes: Mutex::default() }
    }

    /// Returns the tensors as they are sent, before any codec.
    pub fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    /// Returns the types of the tensors, in their order.
    pub fn dtypes(&self) -> Vec<DType> {
        self.tensors.iter().map(Tensor::dtype).collect()
    }

    /// Shows types and shapes: `i64[384], i32[]`.
    pub fn shapes(&self) -> String {
        self.tensors.iter().map(Tensor::to_string).collect::<Vec<_>>().join(", ")
    }

    /// Returns the bytes of the sample as it is sent with `codec`. Each codec is applied once.
    ///
    /// # Errors
    /// The tensors do not form a sample, or the codec does not take it.
    pub fn encoded_bytes(&self, codec: Codec) -> Result<u64, SizeError> {
        let mut sizes = self.encoded_bytes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, bytes)) = sizes.iter().find(|(other, _)| *other == codec) {
            return Ok(*bytes);
        }
        let raw = sample::encode(&self.tensors)?;
        let bytes = Encoder::new(codec).encode(&raw, Layout::Sample)?.len() as u64;
        sizes.push((codec, bytes));
        Ok(bytes)
    }

    /// Checks that a model with this signature takes the sample. `names` are the names of its tensors; empty: none.
    ///
    /// # Errors
    /// Types or shapes differ, or the model has the same inputs in another order.
    pub(super) fn fits_model(&self, model: &Signature, names: &[String]) -> Result<(), FitError> {
        model.accepts(&self.tensors)?;
        match other_order(names, model) {
            Some(order) => {
                Err(FitError::Order { samples: names.join(", "), model: model.to_string(), order: order.join(",") })
            }
            None => Ok(()),
        }
    }
}

/// Returns the names of the model's inputs in the order of `names`, when the model has the same inputs in another
/// order. A name that is not the model's stands for the first input that no other name stands for. None when the order
/// is the same, or when the names do not say which input is which.
pub(super) fn other_order(names: &[String], model: &Signature) -> Option<Vec<String>> {
    let ours: Vec<&str> = names.iter().map(String::as_str).collect();
    let theirs: Vec<&str> = model.iter().map(|input| input.name.as_str()).collect();
    let order = places(&ours, &theirs);
    let mut others = (0..theirs.len()).filter(|place| !order.contains(&Some(*place)));
    let places: Vec<usize> = order.iter().filter_map(|place| place.or_else(|| others.next())).collect();
    let is_all = places.len() == theirs.len() && ours.len() == theirs.len();
    (is_all && !places.is_sorted()).then(|| places.into_iter().map(|place| theirs[place].to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    #[test]
    fn sizes_are_those_of_each_codec() {
        let zeros = Tensor::new(DType::U8, &[4096], Bytes::from(vec![0; 4096])).unwrap();
        let first = FirstSample::new(vec![zeros]);
        assert_eq!(first.shapes(), "u8[4096]");
        let plain = first.encoded_bytes(Codec::None).unwrap();
        let small = first.encoded_bytes(Codec::Lz4).unwrap();
        assert!(plain > 4096 && small < 1024, "{plain} {small}");
        assert_eq!(first.encoded_bytes(Codec::None).unwrap(), plain);
        assert_eq!(first.encoded_bytes(Codec::Lz4).unwrap(), small);
        assert_eq!(first.encoded_bytes.lock().unwrap().len(), 2, "each once");
    }
}
