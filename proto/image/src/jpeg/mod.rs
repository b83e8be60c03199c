//! Decodes JPEG files to RGB pixels.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;
use zune_jpeg::errors::DecodeErrors;

use crate::orientation::Orientation;
use crate::pixels::{ImageError, Pixels, within_limit};

/// Decodes a JPEG file to RGB.
///
/// It reads baseline and progressive files in RGB, YCbCr, greyscale (each value is taken three times), CMYK and YCCK
/// (as Adobe writes them: inverted, multiplied with the black). The picture is turned as the file's EXIF segment says.
///
/// A file whose data end before the last pixel is an error, not a grey area. Damage in the middle of a file is an error
/// where it can be noticed: a scan of a progressive file, or the data between two restart markers, can end early
/// without a trace.
///
/// # Errors
/// See [`ImageError`]. Any bytes may be given.
pub fn decode_jpeg(file: &[u8]) -> Result<Pixels, ImageError> {
    decode_jpeg_within(file, u64::MAX)
}

/// The same, with `max_bytes` of memory at most, the pixels among them.
///
/// # Errors
/// See [`ImageError`]; [`ImageError::Memory`] when the size in the file's header asks for more, before any of it is
/// taken.
pub fn decode_jpeg_within(file: &[u8], max_bytes: u64) -> Result<Pixels, ImageError> {
    looks_like_jpeg(file)?;
    let headers = contained(|| {
        let mut decoder = decoder(file);
        decoder.decode_headers()?;
        Ok(decoder.info().map(|info| (info.width, info.height)).unwrap_or_default())
    });
    // A file that is cut off inside its headers is reported as truncated.
    let (width, height) = headers.map_err(|error| is_whole(file).err().unwrap_or(error))?;
    // The size is checked before memory is taken for the pixels.
    within_limit(u64::from(width), u64::from(height))?;
    let orientation = Orientation::of_file(file);
    let needed = decoding_bytes(file.len(), width.into(), height.into(), orientation);
    if needed > max_bytes {
        return Err(ImageError::Memory { width: width.into(), height: height.into(), needed, max_bytes });
    }
    let scans = is_whole(file)?;
    let padded = padded(file, &scans);
    let decoded = contained(|| decoder(&padded).decode());
    // Decoding without the padding tells missing data from damaged data.
    let rgb = decoded.map_err(|error| match contained(|| decoder(file).decode()) {
        Ok(_) => ImageError::Missing { width: width.into(), height: height.into() },
        Err(_) => error,
    })?;
    orientation.upright(Pixels::new(u32::from(width), u32::from(height), rgb)?)
}

/// Checks that a file begins and ends as a JPEG file does. It decodes nothing, so it does not find damage in between.
///
/// # Errors
/// [`ImageError::NotJpeg`] or [`ImageError::Truncated`].
pub fn check_ends(file: &[u8]) -> Result<(), ImageError> {
    looks_like_jpeg(file)?;
    is_whole(file).map(|_| ())
}

/// The size in the header of a JPEG file, and the memory that decoding takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JpegSize {
    /// Number of pixels in a row of the upright picture.
    pub width: u32,
    /// Number of its rows.
    pub height: u32,
    /// The most bytes of memory that [`decode_jpeg`] takes for the file: its pixels can be a million times as large.
    pub decoding_bytes: u64,
}

/// Reads the size in the header of a file, and nothing behind it. None when there is none; then the file is refused
/// when it is decoded.
pub fn jpeg_size(file: &[u8]) -> Option<JpegSize> {
    let frame = segments(file).find_map(|(marker, body)| matches!(marker, 0xc0..=0xc2).then_some(body))?;
    let [_, _, _, h1, h0, w1, w0, ..] = frame else { return None };
    let (width, height) = (u16::from_be_bytes([*w1, *w0]), u16::from_be_bytes([*h1, *h0]));
    let orientation = Orientation::of_file(file);
    let decoding_bytes = decoding_bytes(file.len(), width.into(), height.into(), orientation);
    let (width, height) = orientation.size(width.into(), height.into());
    Some(JpegSize { width, height, decoding_bytes })
}

impl Orientation {
    /// The orientation that the header of a file states; upright where it states none.
    fn of_file(file: &[u8]) -> Orientation {
        let content = |body: &'_ [u8]| Orientation::of_segment(body.get(2..segment_bytes(body)?)?);
        let orientation = segments(file).find_map(|(marker, body)| if marker == 0xe1 { content(body) } else { None });
        orientation.unwrap_or_default()
    }
}

/// The segments of a header up to the frame: the marker of each, and the file from its length on.
fn segments(file: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let mut tail = file.strip_prefix(&[0xff, 0xd8]);
    let next = move || {
        let after = tail?.strip_prefix(&[0xff])?;
        let (&marker, body) = after.split_first()?;
        tail = match marker {
            // A marker may follow any number of these, and these have no content.
            0xff => Some(after),
            0x01 | 0xd0..=0xd8 => Some(body),
            // Nothing behind the frame belongs to the header.
            0xc0..=0xc2 => None,
            _ => body.get(segment_bytes(body)?.max(2)..),
        };
        Some((marker, body))
    };
    std::iter::from_fn(next).take(MAX_SEGMENTS)
}

/// The length that a segment states, its own two bytes included.
fn segment_bytes(body: &[u8]) -> Option<usize> {
    body.first_chunk().map(|length| usize::from(u16::from_be_bytes(*length)))
}

/// The most segments of a header that are looked at; files have about ten.
const MAX_SEGMENTS: usize = 1_000;

/// The decoder works on blocks that reach beyond the image, up to this many pixels wide and high.
const BLOCK_PIXELS: u64 = 32;

/// Bytes of a pixel's coefficients: two for each colour, of which CMYK has four.
const COEFFICIENT_BYTES: u64 = 8;

/// Bytes that decoding takes at most. They hold a copy of the file, the pixels, all coefficients, some rows of blocks,
/// and the copy that turning the picture makes. The coefficients of a file of several scans are in memory at one time.
fn decoding_bytes(file: usize, width: u64, height: u64, orientation: Orientation) -> u64 {
    let (wide, high) = (width.next_multiple_of(BLOCK_PIXELS), height.next_multiple_of(BLOCK_PIXELS));
    let picture = 3 * width * height;
    file as u64 + picture + orientation.copy_bytes(picture) + COEFFICIENT_BYTES * wide * (high + 4 * BLOCK_PIXELS)
}

fn decoder(file: &[u8]) -> JpegDecoder<ZCursor<&[u8]>> {
    let options = DecoderOptions::default()
        .set_strict_mode(true)
        .set_max_width(usize::from(u16::MAX))
        .set_max_height(usize::from(u16::MAX))
        .jpeg_set_out_colorspace(ColorSpace::RGB);
    JpegDecoder::new_with_options(ZCursor::new(file), options)
}

/// Runs the decoder, and turns a panic into an error. zune-jpeg answers some damaged files with a panic (found by
/// fuzzing). Nothing that the panic leaves half done is used again.
fn contained<T>(decode: impl FnOnce() -> Result<T, DecodeErrors>) -> Result<T, ImageError> {
    match catch_unwind(AssertUnwindSafe(decode)) {
        Ok(decoded) => decoded.map_err(|error| ImageError::Decode(one_line(&format!("{error:?}")))),
        Err(_) => Err(ImageError::Decode("the decoder cannot cope with this file".to_owned())),
    }
}

/// Number of padding bytes behind the data: more than the decoder reads ahead, and more than the longest code and its
/// value.
const PADDING_BYTES: usize = 64;

/// Where the last scan ends (a byte position), and whether it is the only scan.
struct Scans {
    end_at: usize,
    has_one: bool,
}

/// The file with one bits behind the data of its last scan.
///
/// Where data are missing the decoder reads zeros, which stand for a grey area. No code is all ones (ITU-T T.81, annex
/// C), so with ones in that place the decoder fails instead.
fn padded<'f>(file: &'f [u8], scans: &Scans) -> Cow<'f, [u8]> {
    let frame = file.windows(2).find(|pair| pair[0] == 0xff && matches!(pair[1], 0xc0..=0xc2));
    // The decoder wants the marker right behind the first scan of a progressive file. A whole progressive file has only
    // one scan when it holds a single value.
    if scans.has_one && frame == Some(&[0xff, 0xc2]) {
        return Cow::Borrowed(file);
    }
    let (data, end) = file.split_at(scans.end_at);
    let ones = [0xff, 0x00].repeat(PADDING_BYTES);
    Cow::Owned([data, &ones, end].concat())
}

fn looks_like_jpeg(file: &[u8]) -> Result<(), ImageError> {
    match file {
        [0xff, 0xd8, 0xff, ..] => Ok(()),
        [] => Err(ImageError::NotJpeg("empty")),
        [0x89, b'P', b'N', b'G', ..] => Err(ImageError::NotJpeg("a PNG")),
        [b'G', b'I', b'F', b'8', ..] => Err(ImageError::NotJpeg("a GIF")),
        [b'B', b'M', ..] => Err(ImageError::NotJpeg("a BMP")),
        [b'R', b'I', b'F', b'F', ..] => Err(ImageError::NotJpeg("a WebP or another RIFF file")),
        _ => Err(ImageError::NotJpeg("it does not begin with FF D8 FF")),
    }
}

/// Finds the last scan and its end. An image's data hold no marker, so an end marker must follow the last scan's start.
fn is_whole(file: &[u8]) -> Result<Scans, ImageError> {
    let last = |marker: u8| file.windows(2).rposition(|pair| pair == [0xff, marker]);
    match (last(0xda), last(0xd9)) {
        (Some(scan), Some(end)) if end > scan => {
            let end = file[scan..].windows(2).position(|pair| pair == [0xff, 0xd9]).unwrap_or_default();
            let has_one = file.windows(2).position(|pair| pair == [0xff, 0xda]) == Some(scan);
            Ok(Scans { end_at: scan + end, has_one })
        }
        _ => Err(ImageError::Truncated(file.len())),
    }
}

/// The decoder's message on one line, without the quotes that some of them have.
fn one_line(text: &str) -> String {
    text.trim_matches('"').split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
