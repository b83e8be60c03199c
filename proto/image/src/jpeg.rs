//! Decodes JPEG files to RGB pixels.

use std::borrow::Cow;

use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

use crate::pixels::{ImageError, Pixels, within_limit};

/// Decodes a JPEG file to RGB.
///
/// It reads baseline and progressive files in RGB, YCbCr, greyscale (each value is taken three times), CMYK and YCCK
/// (as Adobe writes them: inverted, multiplied with the black). A file whose data end before the last pixel is an
/// error, not a grey area. Damage in the middle of a file is an error where it can be noticed: a scan of a progressive
/// file, or the data between two restart markers, can end early without a trace.
///
/// # Errors
/// See [`ImageError`]. Any bytes may be given.
pub fn decode_jpeg(file: &[u8]) -> Result<Pixels, ImageError> {
    looks_like_jpeg(file)?;
    let mut decoder = decoder(file);
    // A file that is cut off inside its headers is reported as truncated.
    decoder.decode_headers().map_err(|error| is_whole(file).err().unwrap_or_else(|| told(&error)))?;
    let (width, height) = decoder.info().map(|info| (info.width, info.height)).unwrap_or_default();
    // The size is checked before memory is taken for the pixels.
    within_limit(u64::from(width), u64::from(height))?;
    let scans = is_whole(file)?;
    let padded = padded(file, &scans);
    let decoded = self::decoder(&padded).decode();
    // Decoding without the padding tells missing data from damaged data.
    let rgb = decoded.map_err(|error| match self::decoder(file).decode() {
        Ok(_) => ImageError::Missing { width: width.into(), height: height.into() },
        Err(_) => told(&error),
    })?;
    Pixels::new(u32::from(width), u32::from(height), rgb)
}

fn decoder(file: &[u8]) -> JpegDecoder<ZCursor<&[u8]>> {
    let options = DecoderOptions::default()
        .set_strict_mode(true)
        .set_max_width(usize::from(u16::MAX))
        .set_max_height(usize::from(u16::MAX))
        .jpeg_set_out_colorspace(ColorSpace::RGB);
    JpegDecoder::new_with_options(ZCursor::new(file), options)
}

fn told(error: &zune_jpeg::errors::DecodeErrors) -> ImageError {
    ImageError::Decode(one_line(&format!("{error:?}")))
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
