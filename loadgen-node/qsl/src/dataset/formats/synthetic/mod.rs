//! Synthetic samples, described by a text: `synthetic:DTYPE[DIMS]xCOUNT`, for example `synthetic:u8[150528]x64`.
//!
//! `synthetic:KIND-DTYPE[DIMS]xCOUNT` has content with the statistics of real data. The tensors of a sample have a `+`
//! between them, and equal ones a number in front: `synthetic:tokens-i64[384]+2*zeros-i64[384]x1024`.
//!
//! | kind | content |
//! |---|---|
//! | none | pseudo-random bytes; nothing on the path can gain from repetition, a codec least of all |
//! | `image-u8` | roughly photographs (see [`image`]), so that ratios of codecs and filters mean something |
//! | `tokens-i32`, `tokens-i64` | texts as token ids, padded (see [`tokens`]) |
//! | `ones`, `zeros` | the number 1 or 0, of any type, as in masks and segment ids |
//!
//! Random floating-point numbers lie between 1 and 2. Among random bits some would be NaN or subnormal, on which models
//! are slow. Samples differ from each other, and are the same in every run and on every machine: each has its own
//! generator (see [`random`]), whose seed is the sample's index.

use bytes::Bytes;
use lon_proto::sample::{DType, Dims, MAX_TENSORS, Tensor};

use crate::dataset::error::DatasetError;
use crate::dataset::opened::Opened;
use crate::dataset::reader::{MAX_COUNT, ReadError, Reader};
use image::Image;
use random::Random;
use tokens::Tokens;

mod image;
mod random;
#[cfg(test)]
mod tests;
mod tokens;

/// The start of every description of synthetic samples.
const PREFIX: &str = "synthetic:";

/// The largest number of bytes of one sample.
const MAX_SAMPLE_BYTES: u64 = 1 << 30;

#[derive(Debug)]
struct Synthetic {
    parts: Vec<Part>,
    count: usize,
}

/// One tensor of every sample.
#[derive(Debug)]
struct Part {
    content: Content,
    dtype: DType,
    dims: Dims,
    bytes: usize,
}

/// The content of a tensor.
#[derive(Debug)]
enum Content {
    Random,
    Image(Image),
    Tokens(Tokens),
    Zeros,
    /// The bytes of one element that is 1.
    Ones(Vec<u8>),
}

/// Tells whether a text, or the name of a dataset, describes synthetic samples.
pub(crate) fn is_named_by(text: &str) -> bool {
    text.starts_with(PREFIX)
}

/// Opens the dataset that the text describes.
pub(crate) fn open(text: &str) -> Result<Opened, DatasetError> {
    let synthetic = parse(text).map_err(|reason| DatasetError::Synthetic { text: text.to_owned(), reason })?;
    Ok(Opened::new(text, synthetic, None))
}

fn parse(text: &str) -> Result<Synthetic, String> {
    let spec = text.strip_prefix(PREFIX).ok_or("it starts otherwise")?;
    if !spec.contains('[') {
        return Err("no '[' after the element type".to_owned());
    }
    let (parts, count) = spec.rsplit_once(']').ok_or("no ']' after the dimensions")?;
    let parts: Vec<Vec<Part>> = parts.split("]+").map(several).collect::<Result<_, _>>()?;
    let parts: Vec<Part> = parts.into_iter().flatten().collect();
    let count = count.strip_prefix('x').ok_or("no 'xCOUNT' at the end")?;
    let count = count.parse().map_err(|error| format!("count '{count}': {error}"))?;
    if count == 0 || count > MAX_COUNT {
        return Err(format!("a dataset has 1 to {MAX_COUNT} samples"));
    }
    if parts.len() > MAX_TENSORS {
        return Err(format!("a sample has 1 to {MAX_TENSORS} tensors"));
    }
    match parts.iter().map(|part| part.bytes as u64).sum::<u64>() {
        1..=MAX_SAMPLE_BYTES => Ok(Synthetic { parts, count }),
        _ => Err(too_large()),
    }
}

fn too_large() -> String {
    format!("a sample has 1 to {MAX_SAMPLE_BYTES} bytes")
}

/// Parses a part with a number in front: `2*zeros-i64[384`. Without a number it is one part.
fn several(text: &str) -> Result<Vec<Part>, String> {
    let (count, part) = match text.split_once('*') {
        None => (1, text),
        Some((count, part)) => match count.trim().parse() {
            Ok(count @ 1..=MAX_TENSORS) => (count, part),
            _ => return Err(format!("'{count}*': a sample has 1 to {MAX_TENSORS} tensors")),
        },
    };
    (0..count).map(|_| Part::parse(part)).collect()
}

impl Part {
    /// Parses `KIND-DTYPE[DIMS`, without the closing bracket.
    fn parse(text: &str) -> Result<Part, String> {
        let (name, dims) = text.split_once('[').ok_or_else(|| format!("no '[' in '{text}'"))?;
        let (kind, dtype) = name.split_once('-').map_or((None, name), |(kind, dtype)| (Some(kind), dtype));
        let dtype: DType = dtype.parse().map_err(|error| format!("{error}"))?;
        let numbers: Result<Vec<u32>, _> = match dims.trim() {
            "" => Ok(Vec::new()),
            dims => dims.split(',').map(|dim| dim.trim().parse()).collect(),
        };
        let numbers = numbers.map_err(|error| format!("dimensions '{dims}': {error}"))?;
        let dims = Dims::new(&numbers).ok_or("too many dimensions")?;
        let bytes = dims.elements().and_then(|elements| dtype.bytes_of(elements));
        let bytes = bytes.filter(|bytes| (1..=MAX_SAMPLE_BYTES).contains(bytes)).ok_or_else(too_large)? as usize;
        let content = match kind {
            None => Content::Random,
            Some("image") => Content::Image(Image::new(dtype, &dims)?),
            Some("tokens") => Content::Tokens(Tokens::new(dtype, &dims)?),
            Some("zeros") => Content::Zeros,
            Some("ones") => Content::Ones(one(dtype)),
            Some(other) => {
                return Err(format!("'{other}' is not a kind of content (known: image, tokens, ones, zeros)"));
            }
        };
        Ok(Part { content, dtype, dims, bytes })
    }

    fn tensor(&self, random: &mut Random) -> Result<Tensor, ReadError> {
        let mut data = vec![0; self.bytes];
        match &self.content {
            Content::Random => {
                random.fill(&mut data);
                from_one_to_two(self.dtype, &mut data);
            }
            Content::Image(image) => image.draw(random, &mut data),
            Content::Tokens(tokens) => tokens.write(random, &mut data),
            Content::Zeros => {}
            Content::Ones(one) => data.chunks_exact_mut(one.len()).for_each(|element| element.copy_from_slice(one)),
        }
        Ok(Tensor::new(self.dtype, &self.dims, Bytes::from(data))?)
    }
}

impl Reader for Synthetic {
    fn count(&self) -> usize {
        self.count
    }

    fn tensors(&self, index: usize) -> Result<Vec<Tensor>, ReadError> {
        let mut random = Random::new(index as u64);
        self.parts.iter().map(|part| part.tensor(&mut random)).collect()
    }
}

/// Returns the bytes of the number 1, little-endian.
fn one(dtype: DType) -> Vec<u8> {
    match dtype {
        DType::F16 => 0x3c00u16.to_le_bytes().to_vec(),
        DType::F32 => 1f32.to_le_bytes().to_vec(),
        DType::F64 => 1f64.to_le_bytes().to_vec(),
        DType::Bf16 => 0x3f80u16.to_le_bytes().to_vec(),
        DType::F8E4M3 => vec![0x38],
        DType::F8E5M2 => vec![0x3c],
        // Two in a byte.
        DType::U4 | DType::I4 => vec![0x11],
        whole => 1u64.to_le_bytes()[..whole.size()].to_vec(),
    }
}

/// Gives random floating-point numbers the sign and exponent of 1. Their other bits stay as they are.
fn from_one_to_two(dtype: DType, data: &mut [u8]) {
    match dtype {
        DType::F16 => {
            for bytes in data.as_chunks_mut().0 {
                *bytes = (u16::from_le_bytes(*bytes) & 0x03ff | 0x3c00).to_le_bytes();
            }
        }
        DType::Bf16 => {
            for bytes in data.as_chunks_mut().0 {
                *bytes = (u16::from_le_bytes(*bytes) & 0x007f | 0x3f80).to_le_bytes();
            }
        }
        DType::F8E4M3 => data.iter_mut().for_each(|byte| *byte = *byte & 0x07 | 0x38),
        DType::F8E5M2 => data.iter_mut().for_each(|byte| *byte = *byte & 0x03 | 0x3c),
        DType::F32 => {
            for bytes in data.as_chunks_mut().0 {
                *bytes = (u32::from_le_bytes(*bytes) & 0x007f_ffff | 0x3f80_0000).to_le_bytes();
            }
        }
        DType::F64 => {
            for bytes in data.as_chunks_mut().0 {
                *bytes = (u64::from_le_bytes(*bytes) & 0x000f_ffff_ffff_ffff | 0x3ff0_0000_0000_0000).to_le_bytes();
            }
        }
        _ => {}
    }
}
