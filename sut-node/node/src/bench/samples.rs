//! Samples that `bench` asks a backend with: made for the model's signature, the images of a folder, or those that the
//! caller has.

use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use rand_mt::Mt64;

use crate::backend::Backend;
use crate::backend_files::{self, Limit};
use crate::pipeline::images;
use crate::tensor::{self, DType, SampleError, Signature, Tensor, TensorSpec};

/// Samples that are asked again and again, in their order.
#[derive(Debug)]
pub struct Samples {
    payloads: Vec<Bytes>,
    /// True when the samples are files as they lie in a dataset, as in codec `original`.
    pub are_files: bool,
    /// Description of the samples, in words.
    pub what: String,
}

/// The error when there are no samples.
#[derive(Debug, thiserror::Error)]
pub enum SamplesError {
    /// The model leaves a size of its samples open.
    #[error("the model takes {0}, which leaves a size open: say with --free-size which to take")]
    FreeSize(String),
    /// No sample can be made, or none of this file.
    #[error("samples of {0} cannot be made: {1}")]
    Make(String, SampleError),
    /// The folder or a file in it cannot be read.
    #[error("cannot read {0}: {1}")]
    Read(PathBuf, std::io::Error),
    /// The folder has no JPEG.
    #[error("{0} has no .jpg or .jpeg files")]
    NoFiles(PathBuf),
    /// The caller has none.
    #[error("{0} has no samples")]
    None(String),
}

/// The most samples that differ. There are several so that no cache is asked for the same one again and again,
const MOST: usize = 64;
/// but no more of them than have so many bytes.
pub const MOST_BYTES: usize = 256 << 20;

impl Samples {
    /// Random samples for a backend; see [`Samples::synthetic`].
    ///
    /// # Errors
    /// Those of [`Samples::synthetic`].
    pub fn for_backend(backend: &dyn Backend, free: Option<u32>) -> Result<Samples, SamplesError> {
        Samples::synthetic(&backend.info().inputs, free.or(backend.usual_size()))
    }

    /// Random samples for a model of these inputs, always the same: floats from 0 to 1, bytes that are printable, other
    /// whole numbers 0 or 1, which are valid token ids, masks and places in any table. A model that takes anything gets
    /// 1 KiB. Sizes that the model leaves open are `free`. Tensors that a sample may leave out are left out.
    ///
    /// # Errors
    /// A size is open and `free` is not given, or no sample can hold what the model takes.
    pub fn synthetic(inputs: &Signature, free: Option<u32>) -> Result<Samples, SamplesError> {
        let anything = [TensorSpec::new("", DType::U8, vec![None, Some(1024)])];
        let specs = if inputs.is_empty() { &anything[..] } else { inputs };
        let required = specs.iter().filter(|spec| !spec.is_optional);
        let dims = |spec: &TensorSpec| spec.own_dims().iter().map(|dim| dim.or(free)).collect::<Option<Vec<u32>>>();
        let shapes: Option<Vec<(DType, Vec<u32>)>> = required.map(|s| Some((s.dtype, dims(s)?))).collect();
        let shapes = shapes.ok_or_else(|| SamplesError::FreeSize(inputs.to_string()))?;
        let mut random = Mt64::new(0x6c6f_6e62_656e_6368);
        let mut make = || {
            let tensors: Result<Vec<Tensor>, SampleError> =
                shapes.iter().map(|(dtype, dims)| random_tensor(&mut random, *dtype, dims)).collect();
            tensors.and_then(|tensors| tensor::encode(&tensors))
        };
        let failed = |error| SamplesError::Make(inputs.to_string(), error);
        let mut payloads = vec![make().map_err(failed)?];
        let count = (MOST_BYTES / payloads[0].len().max(1)).clamp(1, MOST);
        while payloads.len() < count {
            payloads.push(make().map_err(failed)?);
        }
        let text = |(dtype, dims): &(DType, Vec<u32>)| {
            let dims: Vec<String> = dims.iter().map(ToString::to_string).collect();
            format!("{dtype}[{}]", dims.join(","))
        };
        let what = shapes.iter().map(text).collect::<Vec<_>>().join(", ");
        Ok(Samples { payloads, are_files: false, what: format!("random {what}") })
    }

    /// Samples that the caller has, as they are sent; `what` says in words what they are.
    ///
    /// # Errors
    /// There are none.
    pub fn of_payloads(payloads: Vec<Bytes>, what: String) -> Result<Samples, SamplesError> {
        if payloads.is_empty() {
            Err(SamplesError::None(what))
        } else {
            Ok(Samples { payloads, are_files: false, what })
        }
    }

    /// The JPEGs of a folder, in the order of their names.
    ///
    /// # Errors
    /// The folder cannot be read, or has none.
    pub fn jpegs(folder: &Path) -> Result<Samples, SamplesError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |error| SamplesError::Read(path, error)
        };
        let is_jpeg = |path: &PathBuf| {
            let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
            extension.eq_ignore_ascii_case("jpg") || extension.eq_ignore_ascii_case("jpeg")
        };
        let entries = fs::read_dir(folder).map_err(failed(folder))?;
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_jpeg).collect();
        paths.sort();
        let (mut payloads, mut bytes) = (Vec::new(), 0);
        for path in &paths {
            let file = backend_files::bytes(path, Limit::bytes(MOST_BYTES as u64)).map_err(failed(path))?;
            bytes += file.len();
            let payload = images::file_sample(file.into());
            payloads.push(payload.map_err(|error| SamplesError::Make(path.display().to_string(), error))?);
            if payloads.len() == MOST || bytes >= MOST_BYTES {
                break;
            }
        }
        if payloads.is_empty() {
            return Err(SamplesError::NoFiles(folder.to_owned()));
        }
        Ok(Samples { payloads, are_files: true, what: format!("JPEGs of {}", folder.display()) })
    }

    /// The sample with this number; after the last one they begin anew.
    pub fn payload(&self, number: u64) -> Bytes {
        let at = (number % self.payloads.len() as u64) as usize;
        self.payloads[at].clone()
    }

    /// Returns the number of samples that differ.
    pub fn count(&self) -> usize {
        self.payloads.len()
    }

    /// The mean size of a sample, in bytes.
    pub fn mean_bytes(&self) -> usize {
        self.payloads.iter().map(Bytes::len).sum::<usize>() / self.payloads.len()
    }
}

/// A tensor of this form with random content.
///
/// # Errors
/// No sample can hold it.
fn random_tensor(random: &mut Mt64, dtype: DType, dims: &[u32]) -> Result<Tensor, SampleError> {
    let elements = dims.iter().fold(1u64, |product, &dim| product.saturating_mul(u64::from(dim)));
    // A tensor that no sample can hold is refused below, and its content is not made.
    let elements = elements.min(MOST_BYTES as u64) as usize;
    let bytes = dtype.bytes_of(elements as u64).unwrap_or_default() as usize;
    let mut data = Vec::with_capacity(bytes);
    while data.len() < bytes {
        let bits = random.next_u64() >> 40;
        let share = bits as f32 / (1 << 24) as f32;
        match dtype {
            DType::F16 => data.extend(half::f16::from_f32(share).to_le_bytes()),
            DType::Bf16 => data.extend(half::bf16::from_f32(share).to_le_bytes()),
            DType::F32 => data.extend(share.to_le_bytes()),
            DType::F64 => data.extend(f64::from(share).to_le_bytes()),
            DType::U8 => data.push(b' ' + (bits % 95) as u8),
            _ => data.extend(&(bits & 1).to_le_bytes()[..dtype.size()]),
        }
    }
    Tensor::new(dtype, dims, data.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(specs: &[(DType, &[Option<u32>])]) -> Signature {
        let spec = |&(dtype, dims): &(DType, &[Option<u32>])| TensorSpec::new("x", dtype, dims.to_vec());
        Signature::new(specs.iter().map(spec).collect())
    }

    #[test]
    fn samples_fit_the_signature_they_were_made_for() {
        for &dtype in DType::ALL {
            let signature = inputs(&[(dtype, &[None, Some(3), None]), (DType::I64, &[None])]);
            let samples = Samples::synthetic(&signature, Some(5)).unwrap();
            assert_eq!(samples.count(), MOST);
            for number in [0, 1, 64] {
                let tensors = tensor::decode(samples.payload(number)).unwrap();
                signature.accepts(&tensors).unwrap();
            }
            assert_ne!(samples.payload(0), samples.payload(1), "{dtype}");
            assert_eq!(samples.payload(1), samples.payload(65));
        }
        let error = Samples::synthetic(&inputs(&[(DType::I64, &[None, None])]), None).unwrap_err().to_string();
        assert!(error.contains("x i64[N,?]") && error.contains("--free-size"), "{error}");
        let huge = inputs(&[(DType::F32, &[None, Some(u32::MAX), Some(u32::MAX)])]);
        assert!(matches!(Samples::synthetic(&huge, None), Err(SamplesError::Make(..))));
    }

    #[test]
    fn a_folder_gives_its_jpegs_or_says_that_it_has_none() {
        let folder = tempfile::tempdir().unwrap();
        let error = Samples::jpegs(folder.path()).unwrap_err().to_string();
        assert!(error.contains("no .jpg or .jpeg files"), "{error}");
        fs::write(folder.path().join("b.JPG"), b"two").unwrap();
        fs::write(folder.path().join("a.jpeg"), b"one").unwrap();
        fs::write(folder.path().join("c.txt"), b"not one").unwrap();
        let samples = Samples::jpegs(folder.path()).unwrap();
        let data = |number| tensor::decode(samples.payload(number)).unwrap()[0].data().clone();
        assert_eq!((samples.count(), &data(0)[..], &data(1)[..]), (2, &b"one"[..], &b"two"[..]));
        assert!(matches!(Samples::jpegs(Path::new("/no/such")), Err(SamplesError::Read(..))));
    }
}
