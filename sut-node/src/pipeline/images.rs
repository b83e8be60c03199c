//! Pre-processing: what comes in as an image becomes what the model takes. Runs on decode threads.
//!
//! A node with `--preprocess` takes an image in one of two forms. In codec `original` a sample is the file as it lies
//! in the dataset: one tensor `u8[LEN]` with the bytes of a JPEG. In any other codec it is the pixels: one tensor
//! `u8[HEIGHT,WIDTH,3]`. The model's own input is what the node makes of them, and no longer what is sent.

use bytes::Bytes;
use lon_image::{Pixels, Preprocess, decode_jpeg};

use crate::tensor::{DType, SampleError, Signature, Tensor, TensorSpec};

/// The codec whose samples are files.
pub(crate) const ORIGINAL: &str = "original";

/// The error for a pre-processing whose result the model does not take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("--preprocess {spec} gives {gives}, the model takes {takes}")]
pub struct PreprocessError {
    spec: String,
    gives: String,
    takes: String,
}

/// Checks that a model of these inputs takes what pre-processing makes. Empty inputs take anything.
///
/// # Errors
/// It does not; the error shows both.
pub(crate) fn check(preprocess: &Preprocess, inputs: &Signature) -> Result<(), PreprocessError> {
    let (dtype, dims) = preprocess.output();
    let fits = |spec: &TensorSpec| {
        let own = spec.own_dims();
        let same = |(given, wanted): (&u32, &Option<u32>)| wanted.is_none_or(|wanted| wanted == *given);
        spec.dtype == dtype && own.len() == dims.len() && dims.iter().zip(own).all(same)
    };
    if inputs.is_empty() || (inputs.len() == 1 && inputs.iter().all(fits)) {
        return Ok(());
    }
    let [a, b, c] = dims;
    let gives = format!("{dtype}[{a},{b},{c}]");
    Err(PreprocessError { spec: preprocess.to_string(), gives, takes: inputs.to_string() })
}

/// What has to be sent to a node that pre-processes, in any codec but `original`.
pub(crate) fn inputs() -> Signature {
    let dims = vec![None, None, None, Some(3)];
    Signature::new(vec![TensorSpec::new("image", DType::U8, dims)])
}

/// The pixels of a sample: those that it holds, or those of the file that it is.
///
/// # Errors
/// It is no image of that form; the text says what it is instead.
pub(crate) fn pixels(tensors: &[Tensor], is_file: bool) -> Result<Pixels, String> {
    let shown = || tensors.iter().map(Tensor::to_string).collect::<Vec<_>>().join(", ");
    let wanted = || {
        let form = if is_file { "an image file in codec original is u8[LENGTH]" } else { FORM };
        format!("the sample is {}, {form}", shown())
    };
    let [tensor] = tensors else { return Err(wanted()) };
    if tensor.dtype() != DType::U8 {
        return Err(wanted());
    }
    match (is_file, &**tensor.dims()) {
        (true, [_]) => decode_jpeg(tensor.data()).map_err(|error| error.to_string()),
        // A batch dimension of 1 may come first.
        (false, &([height, width, 3] | [1, height, width, 3])) => {
            Pixels::new(width, height, tensor.data().to_vec()).map_err(|error| error.to_string())
        }
        _ => Err(wanted()),
    }
}

const FORM: &str = "an image to pre-process is u8[HEIGHT,WIDTH,3] (or a JPEG, in codec original)";

/// Bytes of what comes out.
pub(crate) fn output_bytes(preprocess: &Preprocess) -> u64 {
    let (dtype, dims) = preprocess.output();
    dims.iter().fold(dtype.size() as u64, |bytes, &dim| bytes.saturating_mul(u64::from(dim)))
}

/// A file as a sample in codec `original`.
///
/// # Errors
/// No sample is that long.
pub(crate) fn file_sample(file: Bytes) -> Result<Bytes, SampleError> {
    let len = u32::try_from(file.len()).unwrap_or(u32::MAX);
    crate::tensor::encode(&[Tensor::new(DType::U8, &[len], file)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(dims: &[u32], data: Vec<u8>) -> Tensor {
        Tensor::new(DType::U8, dims, data.into()).unwrap()
    }

    #[test]
    fn what_comes_out_must_be_what_the_model_takes() {
        let spec: Preprocess = "resize=256,crop=224,layout=nchw,dtype=f32".parse().unwrap();
        let model = |dtype, dims: &[Option<u32>]| Signature::new(vec![TensorSpec::new("x", dtype, dims.to_vec())]);
        let (c, s) = (Some(3), Some(224));
        assert_eq!(check(&spec, &model(DType::F32, &[None, c, s, s])), Ok(()));
        assert_eq!(check(&spec, &model(DType::F32, &[None, c, None, None])), Ok(()));
        assert_eq!(check(&spec, &Signature::default()), Ok(()));
        for odd in [model(DType::U8, &[None, c, s, s]), model(DType::F32, &[None, s, s, c])] {
            let error = check(&spec, &odd).unwrap_err().to_string();
            assert!(error.contains("gives f32[3,224,224], the model takes x "), "{error}");
        }
        assert_eq!(output_bytes(&spec), 602_112);
    }

    #[test]
    fn a_sample_that_is_no_image_is_told_what_one_is() {
        let pixels_of = |dims: &[u32]| {
            let len = dims.iter().product::<u32>() as usize;
            pixels(&[tensor(dims, vec![7; len])], false).map(|pixels| (pixels.width(), pixels.height()))
        };
        assert_eq!(pixels_of(&[2, 5, 3]), Ok((5, 2)));
        assert_eq!(pixels_of(&[1, 2, 5, 3]), Ok((5, 2)));
        let error = pixels_of(&[3, 2, 5]).unwrap_err();
        assert!(error.contains("the sample is u8[3,2,5], an image to pre-process is u8[HEIGHT,WIDTH,3]"), "{error}");
        assert!(pixels(&[], true).unwrap_err().contains("u8[LENGTH]"));
        let file = crate::tensor::decode(file_sample(Bytes::from_static(b"GIF8")).unwrap()).unwrap();
        let error = pixels(&file, true).unwrap_err();
        assert!(error.contains("not a JPEG"), "{error}");
    }
}
