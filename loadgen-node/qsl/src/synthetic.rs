//! Synthetic samples: `synthetic:DTYPE[DIMS]xCOUNT`, for example `synthetic:u8[150528]x64`.
//!
//! The content is a fixed pseudo-random stream (splitmix64) over the sample's index, so that payloads differ from
//! each other and are the same in every run, and no part of the path can profit from repetition.

use bytes::Bytes;
use lon_proto::sample::{DType, Dims, SampleError, Tensor};

use crate::dataset::{Dataset, DatasetError, Source};

/// What a synthetic dataset's name starts with.
pub(crate) const PREFIX: &str = "synthetic:";

/// Bytes of one sample at most.
const MAX_SAMPLE_BYTES: u64 = 1 << 30;
/// Samples at most: an index has 32 bits.
const MAX_COUNT: usize = u32::MAX as usize;

/// Why the text is no synthetic dataset.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SyntheticError {
    /// It is not of the form.
    #[error("'{0}' is not synthetic:DTYPE[DIMS]xCOUNT (for example synthetic:u8[150528]x64): {1}")]
    Form(String, String),
}

#[derive(Debug)]
struct Synthetic {
    dtype: DType,
    dims: Dims,
    bytes: usize,
    count: usize,
}

/// Opens the dataset that the text describes.
pub(crate) fn open(text: &str) -> Result<Dataset, DatasetError> {
    let synthetic = parse(text).map_err(|reason| SyntheticError::Form(text.to_owned(), reason))?;
    Ok(Dataset::new(text.to_owned(), Box::new(synthetic), None))
}

fn parse(text: &str) -> Result<Synthetic, String> {
    let rest = text.strip_prefix(PREFIX).ok_or("it starts otherwise")?;
    let (dtype, rest) = rest.split_once('[').ok_or("no '[' after the element type")?;
    let (dims, count) = rest.split_once(']').ok_or("no ']' after the dimensions")?;
    let dtype: DType = dtype.parse().map_err(|error| format!("{error}"))?;
    let numbers: Result<Vec<u32>, _> = dims.split(',').map(|dim| dim.trim().parse()).collect();
    let numbers = numbers.map_err(|error| format!("dimensions '{dims}': {error}"))?;
    let dims = Dims::new(&numbers).ok_or("too many dimensions")?;
    let count = count.strip_prefix('x').ok_or("no 'xCOUNT' at the end")?;
    let count = count.parse().map_err(|error| format!("count '{count}': {error}"))?;
    if count == 0 || count > MAX_COUNT {
        return Err(format!("a dataset has 1 to {MAX_COUNT} samples"));
    }
    let bytes = dims.elements().and_then(|elements| elements.checked_mul(dtype.size() as u64));
    let bytes = bytes.filter(|bytes| (1..=MAX_SAMPLE_BYTES).contains(bytes));
    let bytes = bytes.ok_or_else(|| format!("a sample has 1 to {MAX_SAMPLE_BYTES} bytes"))? as usize;
    Ok(Synthetic { dtype, dims, bytes, count })
}

impl Source for Synthetic {
    fn count(&self) -> usize {
        self.count
    }

    fn tensors(&self, index: usize) -> Result<Vec<Tensor>, SampleError> {
        let mut data = vec![0; self.bytes];
        let mut state = index as u64;
        for chunk in data.chunks_mut(8) {
            chunk.copy_from_slice(&splitmix64(&mut state).to_le_bytes()[..chunk.len()]);
        }
        Ok(vec![Tensor::new(self.dtype, &self.dims, Bytes::from(data))?])
    }
}

/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014).
fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_differ_and_are_the_same_again() {
        let load = |index: usize| {
            let mut dataset = open("synthetic:f32[3, 5]x10").unwrap();
            dataset.load([index].into_iter()).unwrap();
            dataset.payload(index)
        };
        assert_eq!(load(3), load(3));
        assert_ne!(load(3), load(4));
        assert_eq!(load(3).len(), 16 + 60);
    }

    #[test]
    fn what_is_wrong_with_the_text_is_said() {
        for (text, part) in [
            ("synthetic:u8", "'['"),
            ("synthetic:u9[64]x4", "u9"),
            ("synthetic:u8[64", "']'"),
            ("synthetic:u8[6a]x4", "6a"),
            ("synthetic:u8[64]", "xCOUNT"),
            ("synthetic:u8[64]x0", "1 to"),
            ("synthetic:u8[0]x4", "1 to"),
            ("synthetic:f64[4294967295,4294967295]x4", "1 to"),
        ] {
            let error = open(text).err().unwrap().to_string();
            assert!(error.contains(part) && error.contains(text), "{error}");
        }
    }
}
