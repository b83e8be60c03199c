//! Post-processing: what is made of a model's outputs before they leave the node.
//!
//! | text | of an output | becomes |
//! |---|---|---|
//! | `none` | any | itself |
//! | `argmax` | floats `[N,..,C]` | `i64[N,..]`: the place of the largest value; of equal ones the first |
//! | `top-k=K` | floats `[N,..,C]` | `i64[N,..,K]`: the places of the K largest values, largest first |
//! | `softmax` | floats `[N,..,C]` | the same type and shape: shares of 1 along the last dimension |
//! | `threshold=T`, one output | floats `[N,..]` | `u8[N,..]`: 1 where the value is at least T, else 0 |
//! | `retinanet=SIZE`, two outputs | floats `[N,A,K]` and `[N,A,4]` | `f32[N,R,7]`: boxes (see `detections.rs`) |
//! | `retinanet=SIZE`, three outputs | `boxes`, `scores`, `labels` | the same, of boxes that the model has found |
//! | `threshold=T`, several outputs | all `[N,A,..]`, one is floats `scores [N,A]` | rows whose score is at least T |
//!
//! Rows that are kept stay in their order, in every output. Where a model has several outputs, `argmax`, `top-k` and
//! `softmax` do the same to each, and all must be floats. A NaN is smaller than any number, and below every threshold.
//! The answer's bytes are the outputs one after the other: after `threshold` on a detector that kept R rows
//! they are `R` boxes, then `R` scores, then `R` labels, and R is their length divided by what one row takes in all
//! outputs together.

use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;

use bytes::{Bytes, BytesMut};
use half::{bf16, f16};

use super::detections::{BOX, ImageSize};
use crate::tensor::{DType, Signature, TensorSpec};

/// Post-processing of a model's outputs. The module has the list.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Postprocess {
    /// Nothing: the outputs as they are.
    #[default]
    None,
    /// The place of the largest value along the last dimension.
    Argmax,
    /// The places of the largest values, largest first.
    TopK(NonZeroUsize),
    /// Shares of 1 along the last dimension.
    Softmax,
    /// The values, or the rows, that are at least so large.
    Threshold(f32),
    /// The boxes that RetinaNet finds in images of this size.
    RetinaNet(ImageSize),
}

/// The error for a text that is no [`Postprocess`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a post-processing (known: none, argmax, top-k=NUMBER, softmax, threshold=NUMBER, retinanet=SIZE)"
)]
pub struct UnknownPostprocess(String);

/// The error for a post-processing that a model's outputs do not allow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("--postprocess {what} cannot be done with the model's outputs ({outputs}): {reason}")]
pub struct PostprocessError {
    what: String,
    outputs: String,
    reason: String,
}

/// One output of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The type of its elements.
    pub dtype: DType,
    /// Its dimensions, the batch first.
    pub dims: Vec<usize>,
    /// Its elements, little-endian.
    pub data: Vec<u8>,
}

impl FromStr for Postprocess {
    type Err = UnknownPostprocess;

    fn from_str(text: &str) -> Result<Postprocess, UnknownPostprocess> {
        let unknown = || UnknownPostprocess(text.to_owned());
        match text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value))) {
            ("none", None) => Ok(Postprocess::None),
            ("argmax", None) => Ok(Postprocess::Argmax),
            ("softmax", None) => Ok(Postprocess::Softmax),
            ("top-k", Some(k)) => k.parse().map(Postprocess::TopK).map_err(|_| unknown()),
            ("threshold", Some(value)) => {
                let value = value.parse().ok().filter(|value: &f32| value.is_finite());
                value.map(Postprocess::Threshold).ok_or_else(unknown)
            }
            ("retinanet", Some(size)) => {
                let (height, width) = size.split_once('x').unwrap_or((size, size));
                let side = |side: &str| side.parse().ok().filter(|side| (1..=MOST_PIXELS).contains(side));
                let size = side(height).zip(side(width)).map(|(height, width)| ImageSize { height, width });
                size.map(Postprocess::RetinaNet).ok_or_else(unknown)
            }
            _ => Err(unknown()),
        }
    }
}

impl fmt::Display for Postprocess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Postprocess::None => f.write_str("none"),
            Postprocess::Argmax => f.write_str("argmax"),
            Postprocess::TopK(k) => write!(f, "top-k={k}"),
            Postprocess::Softmax => f.write_str("softmax"),
            Postprocess::Threshold(value) => write!(f, "threshold={value}"),
            Postprocess::RetinaNet(ImageSize { height, width }) if height == width => write!(f, "retinanet={height}"),
            Postprocess::RetinaNet(ImageSize { height, width }) => write!(f, "retinanet={height}x{width}"),
        }
    }
}

impl Postprocess {
    /// Returns the outputs after post-processing, for a model that gives `outputs`.
    ///
    /// # Errors
    /// These outputs do not allow it.
    pub fn outputs(self, outputs: &Signature) -> Result<Signature, PostprocessError> {
        let specs: Result<Vec<TensorSpec>, String> = match self {
            Postprocess::None => Ok(outputs.to_vec()),
            Postprocess::Threshold(_) if outputs.len() > 1 => kept_rows(outputs),
            Postprocess::RetinaNet(size) => box_outputs(outputs, size),
            _ => outputs.iter().map(|spec| self.output(spec)).collect(),
        };
        specs.map(Signature::new).map_err(|reason| PostprocessError {
            what: self.to_string(),
            outputs: outputs.to_string(),
            reason,
        })
    }

    /// Returns the result for one output, where each is looked at alone.
    ///
    /// # Errors
    /// A clause that says why this output does not allow it.
    fn output(self, spec: &TensorSpec) -> Result<TensorSpec, String> {
        let mut spec = spec.clone();
        if floats(spec.dtype).is_none() {
            return Err(format!("'{spec}' does not hold floating point numbers"));
        }
        if let Postprocess::Threshold(_) = self {
            spec.dtype = DType::U8;
            return Ok(spec);
        }
        if spec.dims.len() < 2 {
            return Err(format!("'{spec}' has no dimension to look along besides the batch"));
        }
        let classes = spec.dims.last().copied().flatten();
        match self {
            Postprocess::TopK(k) if classes.is_some_and(|classes| (classes as usize) < k.get()) => {
                return Err(format!("'{spec}' has fewer than {k} values to choose from"));
            }
            Postprocess::TopK(k) => {
                spec.dtype = DType::I64;
                spec.dims.pop();
                spec.dims.push(u32::try_from(k.get()).ok());
            }
            Postprocess::Argmax => {
                spec.dtype = DType::I64;
                spec.dims.pop();
            }
            _ => {}
        }
        Ok(spec)
    }

    /// Makes of a batch's outputs the answers of its samples, in order. The model's outputs are those that
    /// [`Postprocess::outputs`] allowed; what they turn out to be is checked.
    ///
    /// # Errors
    /// A clause that says why there are no answers.
    pub fn answers(self, mut outputs: Vec<Output>, names: &Signature, batch: usize) -> Result<Vec<Bytes>, String> {
        match self {
            Postprocess::None => {}
            Postprocess::Threshold(limit) if outputs.len() > 1 => {
                let scores = names.iter().position(|spec| spec.name == SCORES);
                return keep_rows(&outputs, scores.unwrap_or_default(), limit, batch);
            }
            Postprocess::RetinaNet(size) => {
                let heads = heads(names).map_err(|why| format!("the model's outputs: {why}"))?;
                return (0..batch).map(|sample| boxes(&outputs, heads, size, sample, batch)).collect();
            }
            _ => outputs = outputs.iter().map(|output| self.one(output)).collect::<Result<_, _>>()?,
        }
        split(outputs, batch)
    }

    /// Returns true when an answer without a byte is valid: it says that nothing was found.
    pub fn may_be_empty(self) -> bool {
        matches!(self, Postprocess::Threshold(_) | Postprocess::RetinaNet(_))
    }

    fn one(self, output: &Output) -> Result<Output, String> {
        let Output { dtype, dims, data } = output;
        let (float_of, size) = (floats(*dtype).ok_or("an output is not of floats")?, dtype.size());
        if let Postprocess::Threshold(limit) = self {
            let data = data.chunks_exact(size).map(|value| u8::from(float_of(value) >= f64::from(limit)));
            return Ok(Output { dtype: DType::U8, dims: dims.clone(), data: data.collect() });
        }
        let (&classes, outer) = dims.split_last().ok_or("an output is a single number")?;
        if classes == 0 {
            return Err("an output has no values along its last dimension".to_owned());
        }
        let rows = data.chunks_exact(classes * size).map(|row| row.chunks_exact(size).map(float_of));
        let (mut dims, mut bytes) = (outer.to_vec(), Vec::new());
        match self {
            Postprocess::TopK(k) if k.get() > classes => {
                return Err(format!("an output has {classes} values, fewer than top-k={k}"));
            }
            Postprocess::TopK(k) => {
                rows.for_each(|row| bytes.extend(largest(row, k.get()).flat_map(i64::to_le_bytes)));
                dims.push(k.get());
            }
            Postprocess::Argmax => rows.for_each(|row| bytes.extend(largest(row, 1).flat_map(i64::to_le_bytes))),
            _ => {
                bytes.reserve(data.len());
                rows.for_each(|row| softmax(row, *dtype, &mut bytes));
                dims.push(classes);
            }
        }
        let dtype = if self == Postprocess::Softmax { *dtype } else { DType::I64 };
        Ok(Output { dtype, dims, data: bytes })
    }
}

/// The places of the `count` largest values, largest first.
fn largest(row: impl Iterator<Item = f64>, count: usize) -> impl Iterator<Item = i64> {
    let mut best: Vec<(f64, i64)> = Vec::with_capacity(count + 1);
    for (value, place) in row.zip(0..) {
        // With a comparison by >, a NaN would win against every later value.
        let value = if value.is_nan() { f64::NEG_INFINITY } else { value };
        let at = best.partition_point(|&(better, _)| better >= value);
        if at < count {
            best.insert(at, (value, place));
            best.truncate(count);
        }
    }
    best.into_iter().map(|(_, place)| place)
}

fn softmax(row: impl Iterator<Item = f64> + Clone, dtype: DType, bytes: &mut Vec<u8>) {
    let largest = row.clone().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = row.clone().map(|value| (value - largest).exp()).sum();
    for share in row.map(|value| (value - largest).exp() / sum) {
        match dtype {
            DType::F16 => bytes.extend(f16::from_f64(share).to_le_bytes()),
            DType::Bf16 => bytes.extend(bf16::from_f64(share).to_le_bytes()),
            DType::F32 => bytes.extend((share as f32).to_le_bytes()),
            _ => bytes.extend(share.to_le_bytes()),
        }
    }
}

/// The largest side of an image, in pixels.
const MOST_PIXELS: u32 = 16_384;

/// Which of a model's outputs are which, by their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heads {
    /// Outputs of the heads of RetinaNet.
    Raw { logits: usize, offsets: usize },
    /// Boxes that the model itself has chosen.
    Finished { boxes: usize, scores: usize, labels: usize },
}

/// Finds the outputs that [`Postprocess::RetinaNet`] needs.
///
/// # Errors
/// They are not there; a clause says what is needed.
fn heads(outputs: &[TensorSpec]) -> Result<Heads, String> {
    let named = |name: &str| outputs.iter().position(|spec| spec.name == name);
    if let (Some(boxes), Some(scores), Some(labels)) = (named("boxes"), named("scores"), named("labels")) {
        return Ok(Heads::Finished { boxes, scores, labels });
    }
    let are_floats = outputs.iter().all(|spec| floats(spec.dtype).is_some() && spec.dims.len() == 3);
    let has_four = |spec: &&TensorSpec| spec.dims.last() == Some(&Some(4));
    match outputs {
        [one, other] if are_floats => match (has_four(&one), has_four(&other)) {
            (true, false) => return Ok(Heads::Raw { logits: 1, offsets: 0 }),
            (false, true) => return Ok(Heads::Raw { logits: 0, offsets: 1 }),
            _ => {}
        },
        _ => {}
    }
    Err("floats [N,A,K] and [N,A,4] of the heads are needed, or 'boxes', 'scores' and 'labels' of boxes that the model \
         has found"
        .to_owned())
}

/// Returns the outputs of [`Postprocess::RetinaNet`].
fn box_outputs(outputs: &[TensorSpec], size: ImageSize) -> Result<Vec<TensorSpec>, String> {
    if let Heads::Raw { logits, offsets } = heads(outputs)? {
        let anchors = u32::try_from(size.anchors()).ok();
        let odd = [logits, offsets].map(|place| &outputs[place]).into_iter();
        let mut odd = odd.filter(|spec| spec.dims[1].is_some() && spec.dims[1] != anchors);
        if let Some(odd) = odd.next() {
            let ImageSize { height, width } = size;
            return Err(format!("'{odd}' has not the {} anchors of {height}x{width} pixels", size.anchors()));
        }
    }
    Ok(vec![TensorSpec::new("detections", DType::F32, vec![None, None, u32::try_from(BOX).ok()])])
}

/// The answer to one sample: its boxes.
fn boxes(outputs: &[Output], heads: Heads, size: ImageSize, sample: usize, batch: usize) -> Result<Bytes, String> {
    let part = |place: usize| -> Result<Vec<f32>, String> {
        let Output { dtype, dims, data } = outputs.get(place).ok_or("an output is missing")?;
        let part = match heads {
            Heads::Raw { .. } if dims.first() != Some(&batch) => {
                return Err(format!("an output of shape {dims:?} is not of {batch} samples"));
            }
            Heads::Raw { .. } => {
                let length = data.len() / batch;
                &data[sample * length..(sample + 1) * length]
            }
            Heads::Finished { .. } if batch > 1 => {
                return Err("boxes that the model has found are those of one image (run with --max-batch 1)".to_owned());
            }
            Heads::Finished { .. } => data,
        };
        let number: fn(&[u8]) -> f64 = match (floats(*dtype), dtype) {
            (Some(float_of), _) => float_of,
            (None, DType::I64) => |value| value.first_chunk().map_or(0.0, |eight| i64::from_le_bytes(*eight) as f64),
            (None, DType::I32) => |value| value.first_chunk().map_or(0.0, |four| f64::from(i32::from_le_bytes(*four))),
            _ => return Err(format!("an output of {dtype} is neither floats nor i32 or i64")),
        };
        Ok(part.chunks_exact(dtype.size()).map(|value| number(value) as f32).collect())
    };
    let detections = match heads {
        Heads::Raw { logits, offsets } => size.boxes(&part(logits)?, &part(offsets)?)?,
        Heads::Finished { boxes, scores, labels } => size.finished(&part(boxes)?, &part(scores)?, &part(labels)?),
    };
    Ok(detections.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>().into())
}

/// The name of the output by which rows are kept.
const SCORES: &str = "scores";

fn kept_rows(outputs: &Signature) -> Result<Vec<TensorSpec>, String> {
    let scores =
        outputs.iter().find(|spec| spec.name == SCORES && spec.dims.len() == 2 && floats(spec.dtype).is_some());
    let scores = scores.ok_or("of several outputs one must be called 'scores' and hold one number for each row")?;
    let spec_of = |spec: &TensorSpec| {
        if spec.dims.len() < 2 || spec.dims[..2] != scores.dims[..] {
            return Err(format!("'{spec}' has not the rows of '{scores}'"));
        }
        let mut spec = spec.clone();
        spec.dims[1] = None;
        Ok(spec)
    };
    outputs.iter().map(spec_of).collect()
}

fn keep_rows(outputs: &[Output], scores: usize, limit: f32, batch: usize) -> Result<Vec<Bytes>, String> {
    let scores = outputs.get(scores).ok_or("no scores came")?;
    let (Some(float_of), [_, rows]) = (floats(scores.dtype), &scores.dims[..]) else {
        return Err(format!("scores of shape {:?} came, [{batch},ROWS] was due", scores.dims));
    };
    let rows = *rows;
    if let Some(odd) = outputs.iter().find(|output| output.dims.len() < 2 || output.dims[..2] != [batch, rows]) {
        return Err(format!("an output of shape {:?} has not {rows} rows for each of {batch} samples", odd.dims));
    }
    let values: Vec<bool> =
        scores.data.chunks_exact(scores.dtype.size()).map(|v| float_of(v) >= f64::from(limit)).collect();
    let answer = |sample: usize| {
        let mut answer = BytesMut::new();
        for output in outputs {
            let row_bytes = output.dims[2..].iter().product::<usize>() * output.dtype.size();
            let row_numbers = (sample * rows..(sample + 1) * rows).filter(|&row| values[row]);
            row_numbers.for_each(|row| answer.extend_from_slice(&output.data[row * row_bytes..(row + 1) * row_bytes]));
        }
        answer.freeze()
    };
    Ok((0..batch).map(answer).collect())
}

/// Cuts the outputs of a batch along their leading dimension and joins, per sample, what belongs to it.
fn split(outputs: Vec<Output>, batch: usize) -> Result<Vec<Bytes>, String> {
    let uneven = |output: &&Output| batch > 1 && output.dims.first() != Some(&batch);
    if let Some(output) = outputs.iter().find(uneven) {
        let dims = &output.dims;
        return Err(format!("an output of shape {dims:?} cannot be cut into {batch} answers (run with --max-batch 1)"));
    }
    let mut whole: Vec<Bytes> = outputs.into_iter().map(|output| output.data.into()).collect();
    let lens: Vec<usize> = whole.iter().map(|data| data.len() / batch).collect();
    let mut answer = |_| match &mut whole[..] {
        [only] => only.split_to(lens[0]),
        several => {
            let mut joined = BytesMut::with_capacity(lens.iter().sum());
            several.iter_mut().zip(&lens).for_each(|(data, &len)| joined.extend_from_slice(&data.split_to(len)));
            joined.freeze()
        }
    };
    Ok((0..batch).map(&mut answer).collect())
}

/// Marks, in `nan`, the samples whose part of this output holds a NaN.
pub fn mark_nan(output: &Output, nan: &mut [bool]) {
    let (Some(_), false) = (floats(output.dtype), nan.is_empty()) else { return };
    let len = output.data.len() / nan.len();
    if len == 0 {
        return;
    }
    for (nan, part) in nan.iter_mut().zip(output.data.chunks_exact(len)) {
        // Without an early end, which would keep it from being done many values at a time.
        *nan |= match output.dtype {
            DType::F16 => part.as_chunks().0.iter().fold(false, |any, &v| any | f16::from_le_bytes(v).is_nan()),
            DType::Bf16 => part.as_chunks().0.iter().fold(false, |any, &v| any | bf16::from_le_bytes(v).is_nan()),
            DType::F32 => part.as_chunks().0.iter().fold(false, |any, &v| any | f32::from_le_bytes(v).is_nan()),
            _ => part.as_chunks().0.iter().fold(false, |any, &v| any | f64::from_le_bytes(v).is_nan()),
        };
    }
}

/// Returns the function that reads a value of this type, which has `dtype.size()` bytes; none for a type that is no
/// floating point number.
pub fn floats(dtype: DType) -> Option<fn(&[u8]) -> f64> {
    fn bytes<const N: usize>(value: &[u8]) -> [u8; N] {
        value.first_chunk().copied().unwrap_or([0; N])
    }
    match dtype {
        DType::F16 => Some(|value| f16::from_le_bytes(bytes(value)).to_f64()),
        DType::Bf16 => Some(|value| bf16::from_le_bytes(bytes(value)).to_f64()),
        DType::F32 => Some(|value| f64::from(f32::from_le_bytes(bytes(value)))),
        DType::F64 => Some(|value| f64::from_le_bytes(bytes(value))),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
