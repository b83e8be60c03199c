//! Synthetic samples: `synthetic:DTYPE[DIMS]xCOUNT`, for example `synthetic:u8[150528]x64`, and
//! `synthetic:KIND-DTYPE[DIMS]xCOUNT` for content with the statistics of real data. Samples of several tensors have a
//! `+` between them, and a number before those that are alike: `synthetic:tokens-i64[384]+2*zeros-i64[384]x1024`.
//!
//! - Without a kind the content is a fixed pseudo-random stream over the sample's index, so that no part of the path can
//!   profit from repetition, a codec least of all. Floating-point numbers lie between 1 and 2: of bits alone some would be
//!   NaN or subnormal, on which models are slow and say nothing.
//! - `image-u8`: photographs, roughly (see `image`); what codecs and filters for images gain on them means something.
//! - `tokens-i32`, `tokens-i64`: padded texts (see `tokens`);
//! - `ones`, `zeros`, of any type: what masks and types of texts can be.
//!
//! Samples differ from each other and are the same in every run, on every machine.

use bytes::Bytes;
use lon_proto::sample::{DType, Dims, MAX_TENSORS, Tensor};

use crate::dataset::reader::{MAX_COUNT, ReadError, Source};
use crate::dataset::{Dataset, DatasetError};
use image::Image;
use random::Random;
use tokens::Tokens;

mod image;
mod random;
mod tokens;

/// What a synthetic dataset's name starts with.
pub(crate) const PREFIX: &str = "synthetic:";

/// Bytes of one sample at most.
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

/// What a tensor is filled with.
#[derive(Debug)]
enum Content {
    Random,
    Image(Image),
    Tokens(Tokens),
    Zeros,
    /// One element.
    Ones(Vec<u8>),
}

/// Opens the dataset that the text describes.
pub(crate) fn open(text: &str) -> Result<Dataset, DatasetError> {
    let synthetic = parse(text).map_err(|reason| DatasetError::Synthetic { text: text.to_owned(), reason })?;
    Ok(Dataset::new(text.to_owned(), Box::new(synthetic), None))
}

fn parse(text: &str) -> Result<Synthetic, String> {
    let rest = text.strip_prefix(PREFIX).ok_or("it starts otherwise")?;
    if !rest.contains('[') {
        return Err("no '[' after the element type".to_owned());
    }
    let (parts, count) = rest.rsplit_once(']').ok_or("no ']' after the dimensions")?;
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

/// As many as the number before the `*` says; one without.
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
    /// Of `KIND-DTYPE[DIMS`.
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
        let bytes = dims.elements().and_then(|elements| elements.checked_mul(dtype.size() as u64));
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

impl Source for Synthetic {
    fn count(&self) -> usize {
        self.count
    }

    fn tensors(&self, index: usize) -> Result<Vec<Tensor>, ReadError> {
        let mut random = Random::new(index as u64);
        self.parts.iter().map(|part| part.tensor(&mut random)).collect()
    }
}

/// The number 1, little-endian.
fn one(dtype: DType) -> Vec<u8> {
    match dtype {
        DType::F16 => 0x3c00u16.to_le_bytes().to_vec(),
        DType::F32 => 1f32.to_le_bytes().to_vec(),
        DType::F64 => 1f64.to_le_bytes().to_vec(),
        whole => 1u64.to_le_bytes()[..whole.size()].to_vec(),
    }
}

/// Gives random floating-point numbers the sign and exponent of 1; their other bits stay as they are.
fn from_one_to_two(dtype: DType, data: &mut [u8]) {
    match dtype {
        DType::F16 => {
            for bytes in data.as_chunks_mut().0 {
                *bytes = (u16::from_le_bytes(*bytes) & 0x03ff | 0x3c00).to_le_bytes();
            }
        }
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

#[cfg(test)]
mod tests {
    use lon_proto::codec::Codec;

    use super::*;

    #[test]
    fn floating_point_noise_is_ordinary_numbers() {
        let tensor = |text: &str| parse(text).unwrap().tensors(3).unwrap().remove(0).data().clone();
        let f32s = tensor("synthetic:f32[999]x4");
        let values: Vec<f32> = f32s.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        assert!(values.iter().all(|value| (1.0..2.0).contains(value)), "{values:?}");
        let mean = values.iter().sum::<f32>() / values.len() as f32;
        assert!((1.45..1.55).contains(&mean), "{mean}");
        let f64s = tensor("synthetic:f64[99]x4");
        assert!(f64s.as_chunks().0.iter().all(|bytes| (1.0..2.0).contains(&f64::from_le_bytes(*bytes))));
        let f16s = tensor("synthetic:f16[99]x4");
        assert!(f16s.as_chunks().0.iter().all(|bytes| u16::from_le_bytes(*bytes) >> 10 == 15));
    }

    /// Small ones of every kind.
    const KINDS: [&str; 6] = [
        "synthetic:f32[3, 5]x10",
        "synthetic:image-u8[32,40,3]x10",
        "synthetic:image-u8[3,32,40]x10",
        "synthetic:image-u8[5,7,1]x10",
        "synthetic:tokens-i64[24]x10",
        "synthetic:tokens-i32[2,24]x10",
    ];

    fn payload(text: &str, index: usize) -> Bytes {
        let mut dataset = open(text).unwrap();
        dataset.load([index].into_iter()).unwrap();
        dataset.payload(index)
    }

    fn ratio(text: &str, codec: &str) -> f64 {
        let mut dataset = open(text).unwrap();
        dataset.set_codec(codec.parse::<Codec>().unwrap());
        dataset.load(0..dataset.total_count()).unwrap();
        dataset.loaded().ratio()
    }

    #[test]
    fn samples_differ_and_are_the_same_again() {
        for text in KINDS {
            assert_eq!(payload(text, 3), payload(text, 3), "{text}");
            assert_ne!(payload(text, 3), payload(text, 4), "{text}");
        }
        assert_eq!(payload(KINDS[0], 3).len(), 16 + 60);
    }

    /// Both layouts of one image hold the same pixels.
    #[test]
    fn channels_may_come_first_or_last() {
        let (last, first) = (payload("synthetic:image-u8[6,9,3]x2", 1), payload("synthetic:image-u8[3,6,9]x2", 1));
        for pixel in 0..54 {
            for channel in 0..3 {
                assert_eq!(last[16 + pixel * 3 + channel], first[16 + channel * 54 + pixel]);
            }
        }
    }

    /// What published ratios for such data are: zstd gains little on photographs and more on differences; padded texts
    /// shrink several times.
    #[test]
    fn ratios_are_those_of_natural_data() {
        let images = "synthetic:image-u8[224,224,3]x16";
        let (plain, delta) = (ratio(images, "zstd"), ratio(images, "delta-zstd"));
        assert!((1.1..1.4).contains(&plain), "{plain}");
        assert!((1.8..2.5).contains(&delta), "{delta}");
        let planes = ratio("synthetic:image-u8[3,224,224]x16", "delta-zstd");
        assert!((planes / delta - 1.0).abs() < 0.1, "{planes} {delta}");
        let texts = ratio("synthetic:tokens-i64[384]x64", "zstd");
        assert!((6.0..12.0).contains(&texts), "{texts}");
        let random = ratio("synthetic:u8[150528]x4", "delta-zstd");
        assert!((0.99..1.0).contains(&random), "{random}");
    }

    #[test]
    fn samples_may_have_several_tensors() {
        let text = "synthetic:tokens-i64[24]+ones-i32[2,2]+zeros-u8[3]+ones-f32[]x9";
        let tensors = parse(text).unwrap().tensors(3).unwrap();
        let shown: Vec<String> = tensors.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["i64[24]", "i32[2,2]", "u8[3]", "f32[]"]);
        assert_eq!(tensors[0], parse("synthetic:tokens-i64[24]x9").unwrap().tensors(3).unwrap()[0]);
        let data: Vec<&[u8]> = tensors[1..].iter().map(|tensor| &tensor.data()[..]).collect();
        assert_eq!(data, [&[1, 0, 0, 0].repeat(4)[..], &[0; 3], &1f32.to_le_bytes()]);
        let two = parse("synthetic:2*u8[64]+i16[]x1").unwrap().tensors(0).unwrap();
        assert_eq!(two.iter().map(ToString::to_string).collect::<Vec<_>>(), ["u8[64]", "u8[64]", "i16[]"]);
        assert_ne!(two[0].data(), two[1].data());
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
            ("synthetic:u8[1073741824]+u8[1]x4", "1 to"),
            ("synthetic:u8[4]+u9[4]x4", "u9"),
            ("synthetic:u8[4]+x4", "'xCOUNT'"),
            ("synthetic:0*u8[4]x4", "1 to 64 tensors"),
            ("synthetic:60*u8[4]+5*u8[4]x4", "1 to 64 tensors"),
            ("synthetic:u8[4]u8[4]x4", "dimensions '4]u8[4'"),
            ("synthetic:f64[4294967295,4294967295]x4", "1 to"),
            ("synthetic:music-u8[64]x4", "'music' is not a kind"),
            ("synthetic:image-f32[8,8,3]x4", "image-u8"),
            ("synthetic:image-u8[64]x4", "[height,width,channels]"),
            ("synthetic:image-u8[8,8,5]x4", "1 to 4 channels"),
            ("synthetic:tokens-u8[64]x4", "tokens-i32 or tokens-i64"),
            ("synthetic:tokens-[64]x4", "''"),
        ] {
            let error = open(text).err().unwrap().to_string();
            assert!(error.contains(part) && error.contains(text), "{error}");
        }
    }
}
