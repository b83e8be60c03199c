//! Samples that fit what a node says of its inputs. All bytes of their tensors are zero.

use bytes::Bytes;
use lon_proto::limits::PART_BYTES;
use lon_proto::sample::{DType, Signature, Tensor, TensorSpec, encode};

/// Value for a size that the node leaves free.
const FREE_SIZE: u32 = 16;

/// A size of a tensor for nodes that take any sample, and one that does not fit into a part.
const SMALL_BYTES: u32 = 64;
const LARGE_BYTES: u32 = PART_BYTES as u32 + 4_096;

/// A sample that the node takes.
///
/// # Errors
/// What is wrong with the inputs, in words.
pub(super) fn small(inputs: &Signature) -> Result<Bytes, String> {
    match inputs.is_empty() {
        true => bytes(SMALL_BYTES),
        false => whole(&inputs.iter().map(tensor).collect::<Result<Vec<_>, _>>()?),
    }
}

/// A sample that needs several parts.
///
/// # Errors
/// Why there is none, in words.
pub(super) fn large(inputs: &Signature) -> Result<Bytes, String> {
    if inputs.is_empty() {
        return bytes(LARGE_BYTES);
    }
    let sample = small(inputs)?;
    let is_free = inputs.iter().any(|input| input.own_dims().contains(&None));
    match sample.len() {
        len if len > PART_BYTES => Ok(sample),
        _ if is_free => Err("how large a sample its model can bear is not known: sizes are free".to_owned()),
        len => Err(format!("its samples have {len} bytes")),
    }
}

fn bytes(len: u32) -> Result<Bytes, String> {
    let zeros = Tensor::new(DType::U8, &[len], vec![0; len as usize].into()).map_err(|error| error.to_string())?;
    whole(&[zeros])
}

fn whole(tensors: &[Tensor]) -> Result<Bytes, String> {
    encode(tensors).map_err(|error| error.to_string())
}

fn tensor(input: &TensorSpec) -> Result<Tensor, String> {
    let dims: Vec<u32> = input.own_dims().iter().map(|dim| dim.unwrap_or(FREE_SIZE)).collect();
    let elements = dims.iter().try_fold(1u64, |elements, &dim| elements.checked_mul(u64::from(dim)));
    let bytes = elements.and_then(|elements| input.dtype.bytes_of(elements));
    let bytes = bytes.filter(|&bytes| bytes <= 1 << 30).ok_or_else(|| format!("{input} is too large"))?;
    Tensor::new(input.dtype, &dims, vec![0; bytes as usize].into()).map_err(|error| format!("{input}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lon_proto::sample::decode;

    #[test]
    fn samples_fit_what_is_asked_for() {
        let spec = |dtype, dims: &[Option<u32>]| TensorSpec::new("x", dtype, dims.to_vec());
        let inputs = [spec(DType::F32, &[None, Some(3), None]), spec(DType::I64, &[Some(1), Some(7)])];
        let signature = Signature::new(inputs.to_vec());
        assert_eq!(signature.accepts(&decode(small(&signature).unwrap()).unwrap()), Ok(()));
        assert!(large(&signature).unwrap_err().contains("free"));
        let fixed = Signature::new(vec![spec(DType::U8, &[Some(1), Some(1 << 21)])]);
        assert!(large(&fixed).unwrap().len() > PART_BYTES);
        assert!(large(&Signature::default()).unwrap().len() > PART_BYTES);
        let tiny = Signature::new(vec![spec(DType::U8, &[Some(1), Some(4)])]);
        assert!(large(&tiny).unwrap_err().contains("bytes"));
    }
}
