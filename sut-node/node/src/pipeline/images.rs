//! Pre-processing: what comes in as an image becomes what the model takes. Runs on decode threads.
//!
//! A node with `--preprocess` takes an image in one of two forms. In codec `original` a sample is the file as it lies
//! in the dataset: one tensor `u8[LEN]` with the bytes of a JPEG. In any other codec it is the pixels: one tensor
//! `u8[HEIGHT,WIDTH,3]`. The model's own input is what the node makes of them, and no longer what is sent.

use bytes::Bytes;
use lon_image::{MAX_PIXELS, Pixels, Preprocess, decode_jpeg_within, jpeg_size};

use crate::tensor::{DType, SampleError, Signature, Tensor, TensorSpec};

/// The most bytes of a sample that is an image: its pixels and a header.
pub(crate) const MAX_SAMPLE_BYTES: u64 = 3 * MAX_PIXELS + (1 << 10);

/// The codec whose samples are files.
pub(crate) const ORIGINAL: &str = "original";

/// Returns true when a model of these inputs takes the output of pre-processing. Empty inputs take anything.
pub(super) fn makes(preprocess: &Preprocess, inputs: &Signature) -> bool {
    let (dtype, dims) = preprocess.output();
    let fits = |spec: &TensorSpec| {
        let own = spec.own_dims();
        let same = |(size, dim): (&u32, &Option<u32>)| dim.is_none_or(|dim| dim == *size);
        spec.dtype == dtype && own.len() == dims.len() && dims.iter().zip(own).all(same)
    };
    inputs.is_empty() || (inputs.len() == 1 && inputs.iter().all(fits))
}

/// Returns the type and shape of the output of pre-processing, for messages.
pub(super) fn output_form(preprocess: &Preprocess) -> String {
    let (dtype, [a, b, c]) = preprocess.output();
    format!("{dtype}[{a},{b},{c}]")
}

/// Returns the inputs to send to a node that pre-processes, in any codec but `original`.
pub(crate) fn inputs() -> Signature {
    let dims = vec![None, None, None, Some(3)];
    Signature::new(vec![TensorSpec::new("image", DType::U8, dims)])
}

/// The form in which images come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Files as they lie in the dataset.
    Files,
    /// Pixels, which can be looked at as they come.
    Plain,
    /// Pixels in a codec, which are said to be so many bytes.
    Coded(u64),
}

/// Largest ratio of the longer side to the shorter one, for an image of which nothing is known but its bytes. Resizing
/// the shorter side makes the image as many times larger than the model's input.
const ELONGATED: u64 = 16;

/// The most bytes of memory that an image takes while the model's input is made of it, beside `sample`, the bytes that
/// came. An image that would take more all the same is refused by [`tensor`].
pub(crate) fn working_bytes(spec: &Preprocess, sample: &Bytes, form: Form) -> u64 {
    let tensors = || crate::tensor::decode(sample.clone()).unwrap_or_default();
    let dims = |dim: u64| u32::try_from(dim).unwrap_or(u32::MAX);
    match form {
        Form::Files => match tensors().first().and_then(|tensor| jpeg_size(tensor.data())) {
            Some(size) => size.decoding_bytes.saturating_add(spec.working_bytes(size.width, size.height)),
            None => output_bytes(spec),
        },
        Form::Plain => match tensors().first().map(|tensor| *tensor.dims()).as_deref() {
            Some(&([height, width, 3] | [1, height, width, 3])) => {
                (sample.len() as u64).saturating_add(spec.working_bytes(width, height))
            }
            _ => output_bytes(spec),
        },
        Form::Coded(bytes) => {
            let side = (bytes / 3 / ELONGATED).isqrt() + 1;
            bytes.saturating_add(spec.working_bytes(dims(ELONGATED * side), dims(side)))
        }
    }
}

/// The pixels of a sample: those that it holds, or those of the file that it is. Takes `max_bytes` of memory at most.
///
/// # Errors
/// It is no image of that form; the text says what it is instead. Or it takes more memory.
pub(crate) fn pixels(tensors: &[Tensor], form: Form, max_bytes: u64) -> Result<Pixels, String> {
    let is_file = form == Form::Files;
    let shapes = || tensors.iter().map(Tensor::to_string).collect::<Vec<_>>().join(", ");
    let refusal = || {
        let form = if is_file { "an image file in codec original is u8[LENGTH]" } else { FORM };
        format!("the sample is {}, {form}", shapes())
    };
    let [tensor] = tensors else { return Err(refusal()) };
    if tensor.dtype() != DType::U8 {
        return Err(refusal());
    }
    match (is_file, &**tensor.dims()) {
        (true, [_]) => decode_jpeg_within(tensor.data(), max_bytes).map_err(|error| error.to_string()),
        // A batch dimension of 1 may come first.
        (false, &([height, width, 3] | [1, height, width, 3])) => {
            Pixels::new(width, height, tensor.data().to_vec()).map_err(|error| error.to_string())
        }
        _ => Err(refusal()),
    }
}

/// The model's input that is made of an image. Takes `max_bytes` of memory at most, the image's own among them.
///
/// # Errors
/// The image is too small or too elongated for the steps, or takes more memory.
pub(crate) fn tensor(spec: &Preprocess, image: &Pixels, max_bytes: u64) -> Result<Tensor, String> {
    let (width, height) = (image.width(), image.height());
    let needed = (image.rgb().len() as u64).saturating_add(spec.working_bytes(width, height));
    if needed > max_bytes {
        return Err(format!(
            "{width}x{height} pixels take up to {needed} bytes while they are resized; {max_bytes} are set aside \
             (sut-node --memory)"
        ));
    }
    spec.apply(image).map_err(|error| error.to_string())
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

    fn of(dims: &[u32], data: Vec<u8>) -> Tensor {
        Tensor::new(DType::U8, dims, data.into()).unwrap()
    }

    #[test]
    fn what_comes_out_must_be_what_the_model_takes() {
        let spec: Preprocess = "resize=256,crop=224,layout=nchw,dtype=f32".parse().unwrap();
        let model = |dtype, dims: &[Option<u32>]| Signature::new(vec![TensorSpec::new("x", dtype, dims.to_vec())]);
        let (c, s) = (Some(3), Some(224));
        assert!(makes(&spec, &model(DType::F32, &[None, c, s, s])));
        assert!(makes(&spec, &model(DType::F32, &[None, c, None, None])));
        assert!(makes(&spec, &Signature::default()));
        for odd in [model(DType::U8, &[None, c, s, s]), model(DType::F32, &[None, s, s, c])] {
            assert!(!makes(&spec, &odd), "{odd}");
        }
        assert_eq!(output_form(&spec), "f32[3,224,224]");
        assert_eq!(output_bytes(&spec), 602_112);
    }

    #[test]
    fn a_sample_that_is_no_image_is_told_what_one_is() {
        let pixels_of = |dims: &[u32]| {
            let len = dims.iter().product::<u32>() as usize;
            pixels(&[of(dims, vec![7; len])], Form::Plain, u64::MAX).map(|pixels| (pixels.width(), pixels.height()))
        };
        assert_eq!(pixels_of(&[2, 5, 3]), Ok((5, 2)));
        assert_eq!(pixels_of(&[1, 2, 5, 3]), Ok((5, 2)));
        let error = pixels_of(&[3, 2, 5]).unwrap_err();
        assert!(error.contains("the sample is u8[3,2,5], an image to pre-process is u8[HEIGHT,WIDTH,3]"), "{error}");
        assert!(pixels(&[], Form::Files, u64::MAX).unwrap_err().contains("u8[LENGTH]"));
        let file = crate::tensor::decode(file_sample(Bytes::from_static(b"GIF8")).unwrap()).unwrap();
        let error = pixels(&file, Form::Files, u64::MAX).unwrap_err();
        assert!(error.contains("not a JPEG"), "{error}");
    }
    /// Memory that is set aside for an image must be enough for it, and is known from the sample's bytes alone.
    #[test]
    fn an_image_takes_what_is_set_aside_for_it_or_is_refused() {
        let spec: Preprocess = "resize=64,crop=64,dtype=u8".parse().unwrap();
        let sample = |dims: &[u32]| {
            let len = dims.iter().product::<u32>() as usize;
            crate::tensor::encode(&[of(dims, vec![7; len])]).unwrap()
        };
        for (height, width) in [(100, 150), (80, 1280), (1280, 80)] {
            let plain = sample(&[height, width, 3]);
            let image = pixels(&crate::tensor::decode(plain.clone()).unwrap(), Form::Plain, u64::MAX).unwrap();
            for form in [Form::Plain, Form::Coded(plain.len() as u64)] {
                let bytes = working_bytes(&spec, &plain, form);
                assert!(tensor(&spec, &image, bytes).is_ok(), "{height}x{width} {form:?}: {bytes}");
            }
        }
        // A line of pixels becomes an image a thousand times as large.
        let line = sample(&[1, 4_000, 3]);
        let image = pixels(&crate::tensor::decode(line.clone()).unwrap(), Form::Plain, u64::MAX).unwrap();
        assert!(working_bytes(&spec, &line, Form::Plain) > 40_000_000);
        let set_aside = working_bytes(&spec, &line, Form::Coded(line.len() as u64));
        assert!(set_aside < 2_000_000, "{set_aside}");
        let message = tensor(&spec, &image, set_aside).unwrap_err();
        assert!(message.contains("4000x1 pixels take up to") && message.contains("--memory"), "{message}");
        // A file that says it is large.
        let mut file = vec![0xff, 0xd8, 0xff, 0xc0, 0, 17, 8, 0x1f, 0x40, 0x1f, 0x40, 3];
        file.resize(100, 0);
        let file = file_sample(file.into()).unwrap();
        assert!(working_bytes(&spec, &file, Form::Files) > 8_000 * 8_000 * 3);
        assert_eq!(working_bytes(&spec, &Bytes::from_static(b"no sample"), Form::Files), output_bytes(&spec));
        // Without a pixel there is nothing to resize.
        for dims in [[0, 100, 3], [100, 0, 3], [0, 0, 3]] {
            let none = sample(&dims);
            assert_eq!(working_bytes(&spec, &none, Form::Plain), none.len() as u64 + output_bytes(&spec));
            let refused = pixels(&crate::tensor::decode(none).unwrap(), Form::Plain, u64::MAX);
            assert!(refused.is_err(), "{dims:?}");
        }
        for (height, width) in [(0, 0x40), (0x40, 0)] {
            let mut file = vec![0xff, 0xd8, 0xff, 0xc0, 0, 17, 8, 0, height, 0, width, 3];
            file.resize(100, 0);
            let file = file_sample(file.into()).unwrap();
            assert!(working_bytes(&spec, &file, Form::Files) >= output_bytes(&spec));
            assert!(pixels(&crate::tensor::decode(file).unwrap(), Form::Files, u64::MAX).is_err());
        }
    }
}
