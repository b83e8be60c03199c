//! The net of the digits benchmark as a backend. It is computed here, so that whoever builds the LoadGen node to try it
//! need not wait for an engine that runs any model; a test holds it against the one that `sut-node` has.
//!
//! `qsl/digits/README.md` says what the net is. Its weights are read from the very file that `sut-node` serves.

use std::sync::Arc;

use anyhow::{Context as _, ensure};
use bytes::Bytes;
use lon_qsl::digits;
use lon_sut::backend::{Backend, BackendError, BackendInfo, BackendSample, Half, InferError, Worker};
use lon_sut::tensor::{DType, Signature, TensorSpec};
use prost::Message;
use sha2::{Digest as _, Sha256};

/// Rows of an image, and columns.
const SIDE: usize = 8;
/// The same with a border of zeros.
const BORDERED: usize = SIDE + 2;
const PIXELS: usize = SIDE * SIDE;
/// Feature maps behind the first and the second convolution.
const MAPS: [usize; 2] = [16, 32];
/// Values in the maps once only the largest of each square of four is left.
const POOLED: usize = MAPS[1] * PIXELS / 4;
const DIGITS: usize = 10;
/// The largest grey level: pixels go from 0 to 1 in the net.
const WHITE: f32 = 16.0;

/// Part of an ONNX file that is read: its constants.
#[derive(Clone, PartialEq, Message)]
struct ModelFile {
    #[prost(message, optional, tag = "7")]
    graph: Option<Graph>,
}

#[derive(Clone, PartialEq, Message)]
struct Graph {
    #[prost(message, repeated, tag = "5")]
    constants: Vec<Constant>,
}

#[derive(Clone, PartialEq, Message)]
struct Constant {
    #[prost(string, tag = "8")]
    name: String,
    /// The values as floats, little-endian.
    #[prost(bytes = "vec", tag = "9")]
    data: Vec<u8>,
}

/// The net, ready to answer.
pub(super) struct DigitsNet {
    info: BackendInfo,
    weights: Arc<Weights>,
}

impl DigitsNet {
    /// The net of the program's own model file.
    ///
    /// # Errors
    /// The file does not have its sum, or its constants are not those of this net.
    pub(super) fn load() -> anyhow::Result<DigitsNet> {
        let file = digits::model()?;
        let weights = Weights::read(file).context(digits::MODEL)?;
        let image = TensorSpec::new("image", DType::U8, vec![None, Some(1), Some(SIDE as u32), Some(SIDE as u32)]);
        let logits = TensorSpec::new("logits", DType::F32, vec![None, Some(DIGITS as u32)]);
        let info = BackendInfo {
            engine: concat!("digits net ", env!("CARGO_PKG_VERSION")).to_owned(),
            model: digits::MODEL.to_owned(),
            model_sha256: Some(hex::encode(Sha256::digest(file))),
            model_bytes: Some(file.len() as u64),
            settings: Vec::new(),
            inputs: Signature::new(vec![image]),
            outputs: Signature::new(vec![logits]),
        };
        Ok(DigitsNet { info, weights: Arc::new(weights) })
    }
}

impl Backend for DigitsNet {
    fn info(&self) -> &BackendInfo {
        &self.info
    }

    fn worker(&self) -> Result<Half, BackendError> {
        let (inputs, weights) = (self.info.inputs.clone(), Arc::clone(&self.weights));
        Ok(Half::Batch(Box::new(DigitsWorker { inputs, weights })))
    }
}

struct DigitsWorker {
    inputs: Signature,
    weights: Arc<Weights>,
}

impl Worker for DigitsWorker {
    fn infer(&mut self, batch: &[BackendSample]) -> Vec<Result<Bytes, InferError>> {
        let answer = |sample: &BackendSample| {
            self.inputs.accepts(&sample.tensors)?;
            let pixels = sample.tensors.iter().flat_map(|image| image.data().iter().copied());
            Ok(self.weights.logits(pixels).iter().flat_map(|logit| logit.to_le_bytes()).collect::<Vec<u8>>().into())
        };
        batch.iter().map(answer).collect()
    }
}

/// The constants of the net.
struct Weights {
    convolutions: [Convolution; 2],
    dense: Vec<f32>,
    dense_bias: Vec<f32>,
}

impl Weights {
    fn read(file: &[u8]) -> anyhow::Result<Weights> {
        let graph = ModelFile::decode(file)?.graph.unwrap_or_default();
        let constant = |name: &str, count: usize| {
            let entry = graph.constants.iter().find(|constant| constant.name == name);
            let (floats, remainder) = entry.with_context(|| format!("it has no constant {name}"))?.data.as_chunks();
            ensure!(floats.len() == count && remainder.is_empty(), "its constant {name} has not {count} numbers");
            Ok(floats.iter().copied().map(f32::from_le_bytes).collect::<Vec<f32>>())
        };
        let convolution = |name: &str, from: usize, to: usize| {
            let weights = constant(&format!("{name}.weight"), to * from * 9)?;
            anyhow::Ok(Convolution { from, weights, bias: constant(&format!("{name}.bias"), to)? })
        };
        Ok(Weights {
            convolutions: [convolution("conv1", 1, MAPS[0])?, convolution("conv2", MAPS[0], MAPS[1])?],
            dense: constant("fc.weight", DIGITS * POOLED)?,
            dense_bias: constant("fc.bias", DIGITS)?,
        })
    }

    /// One number for each digit; the largest is the answer.
    fn logits(&self, pixels: impl Iterator<Item = u8>) -> Vec<f32> {
        let image: Vec<f32> = pixels.map(|pixel| f32::from(pixel) / WHITE).collect();
        let maps = self.convolutions.iter().fold(image, |maps, convolution| convolution.apply(&maps));
        let pooled = pooled(&maps);
        let product = |weights: &[f32]| weights.iter().zip(&pooled).map(|(weight, value)| weight * value).sum::<f32>();
        self.dense.chunks(POOLED).zip(&self.dense_bias).map(|(weights, bias)| bias + product(weights)).collect()
    }
}

/// A convolution of 3x3 within a border of zeros, of which what is negative becomes zero.
struct Convolution {
    /// Number of maps that go in.
    from: usize,
    /// For each map that comes out, for each that goes in: nine numbers.
    weights: Vec<f32>,
    /// One number for each map that comes out.
    bias: Vec<f32>,
}

impl Convolution {
    fn apply(&self, maps: &[f32]) -> Vec<f32> {
        let maps: Vec<[f32; BORDERED * BORDERED]> = maps.chunks(PIXELS).map(bordered).collect();
        let mut out = Vec::with_capacity(self.bias.len() * PIXELS);
        for (weights, bias) in self.weights.chunks(self.from * 9).zip(&self.bias) {
            let mut sums = [*bias; PIXELS];
            for (map, window) in maps.iter().zip(weights.chunks(9)) {
                for (place, weight) in window.iter().enumerate() {
                    let shifted = &map[place / 3 * BORDERED + place % 3..];
                    for (sums, row) in sums.chunks_mut(SIDE).zip(shifted.chunks(BORDERED)) {
                        sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += weight * value);
                    }
                }
            }
            out.extend(sums.map(|sum| sum.max(0.0)));
        }
        out
    }
}

/// A map with zeros around it.
fn bordered(map: &[f32]) -> [f32; BORDERED * BORDERED] {
    let mut out = [0.0; BORDERED * BORDERED];
    for (row, values) in map.chunks(SIDE).enumerate() {
        let at = (row + 1) * BORDERED + 1;
        out[at..at + SIDE].copy_from_slice(values);
    }
    out
}

/// The largest of each square of four.
fn pooled(maps: &[f32]) -> Vec<f32> {
    let rows = maps.chunks(2 * SIDE);
    let largest = |rows: &[f32]| {
        let (upper, lower) = rows.split_at(SIDE);
        let pairs: Vec<f32> = upper.iter().zip(lower).map(|(a, b)| a.max(*b)).collect();
        pairs.chunks(2).map(|pair| pair.iter().copied().fold(f32::MIN, f32::max)).collect::<Vec<f32>>()
    };
    rows.flat_map(largest).collect()
}

#[cfg(test)]
mod tests {
    use lon_onnx::Onnx;
    use lon_sut::backend::{BackendOptions, OnnxEngine};
    use lon_sut::tensor::Tensor;

    use super::*;

    /// An image of the benchmark, or of something else.
    fn sample(dims: &[u32], data: &[u8]) -> BackendSample {
        let image = Tensor::new(DType::U8, dims, Bytes::copy_from_slice(data)).unwrap();
        BackendSample { bytes: Bytes::new(), tensors: vec![image] }
    }

    fn logits(backend: &dyn Backend, samples: &[BackendSample]) -> Vec<f32> {
        let mut worker = backend.worker().unwrap().batch().unwrap();
        let answers = samples.iter().map(|sample| worker.infer(std::slice::from_ref(sample)).remove(0).unwrap());
        answers
            .flat_map(|answer| answer.as_chunks().0.iter().copied().map(f32::from_le_bytes).collect::<Vec<_>>())
            .collect()
    }

    #[test]
    fn every_image_gets_the_logits_that_tract_gives_it() {
        let file = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/qsl/digits/images.npy")).unwrap();
        // The header says how long it is in bytes 8 and 9.
        let at = 10 + usize::from(u16::from_le_bytes([file[8], file[9]]));
        let samples: Vec<BackendSample> = file[at..].chunks(PIXELS).map(|image| sample(&[1, 8, 8], image)).collect();
        assert_eq!(samples.len(), 450);
        let options = BackendOptions { engine: OnnxEngine::Tract, ..BackendOptions::default() };
        let tract = Onnx::from_bytes(digits::MODEL, digits::model().unwrap(), &options).unwrap();
        let net = DigitsNet::load().unwrap();
        let (here, there) = (net.info(), tract.info());
        assert_eq!((&here.inputs, &here.outputs), (&there.inputs, &there.outputs));
        assert_eq!((&here.model_sha256, here.model_bytes), (&there.model_sha256, there.model_bytes));
        let (here, there) = (logits(&net, &samples), logits(&tract, &samples));
        assert_eq!((here.len(), there.len()), (4500, 4500));
        let off = here.iter().zip(&there).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(off < 1e-4, "a logit is off by {off}");
    }

    #[test]
    fn a_sample_that_is_no_image_fails_alone() {
        let mut worker = DigitsNet::load().unwrap().worker().unwrap().batch().unwrap();
        let answers = worker.infer(&[sample(&[1, 8, 8], &[0; 64]), sample(&[64], &[0; 64])]);
        assert_eq!(answers[0].as_ref().unwrap().len(), 4 * DIGITS);
        assert!(matches!(answers[1], Err(InferError::Mismatch(_))), "{answers:?}");
    }
}
