//! JPEG files to RGB pixels.

use std::borrow::Cow;

use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

use crate::error::ImageError;

/// Pixels of one image at most, before and after it is resized: 64 Mi, of which an image takes 192 MiB of memory. A
/// file of a few bytes can claim 65,535 x 65,535.
pub const MAX_PIXELS: u64 = 1 << 26;

/// A picture: 8 bits each of red, green and blue, row by row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pixels {
    width: u32,
    height: u32,
    rgb: Vec<u8>,
}

impl Pixels {
    /// A picture of `height` rows of `width` pixels, three bytes each.
    ///
    /// # Errors
    /// No pixels, more than [`MAX_PIXELS`], or another number of bytes.
    pub fn new(width: u32, height: u32, rgb: Vec<u8>) -> Result<Pixels, ImageError> {
        within_limit(u64::from(width), u64::from(height))?;
        let pixels = u64::from(width) * u64::from(height);
        if pixels == 0 || 3 * pixels != rgb.len() as u64 {
            return Err(ImageError::Pixels { width, height, bytes: rgb.len() });
        }
        Ok(Pixels { width, height, rgb })
    }

    /// Pixels in a row.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Rows.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// Red, green, blue of each pixel, row by row.
    pub fn rgb(&self) -> &[u8] {
        &self.rgb
    }
}

/// Decodes a JPEG file: baseline or progressive; RGB or YCbCr, greyscale (each value three times), CMYK and YCCK (as
/// Adobe writes them, inverted; multiplied with the black). Data that end
/// before the last pixel are an error, not a grey area; damage in the middle of a file is one as far as it can be told:
/// where a scan of a progressive file or what is between two restart markers has ended early, it may look whole.
///
/// # Errors
/// See [`ImageError`]. Takes any bytes.
pub fn decode_jpeg(file: &[u8]) -> Result<Pixels, ImageError> {
    looks_like_jpeg(file)?;
    let mut decoder = decoder(file);
    // What is cut off inside its headers is best called that.
    decoder.decode_headers().map_err(|error| is_whole(file).err().unwrap_or_else(|| told(&error)))?;
    let (width, height) = decoder.info().map(|info| (info.width, info.height)).unwrap_or_default();
    // Before any memory is taken for them.
    within_limit(u64::from(width), u64::from(height))?;
    let scans = is_whole(file)?;
    let padded = padded(file, &scans);
    let decoded = self::decoder(&padded).decode();
    // Without the padding it tells what is missing from what is damaged.
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

/// Bytes of ones behind the data: more than what the decoder reads ahead, and than the longest code and its value.
const PADDING_BYTES: usize = 64;

/// Where the last scan is, and whether it is the only one.
struct Scans {
    end_at: usize,
    has_one: bool,
}

/// The file with ones behind the data of its last scan. The decoder takes zeros where data are missing, and zeros mean
/// something: a grey area. No code is all ones (ITU-T T.81, annex C), so that with ones in their place it fails.
fn padded<'f>(file: &'f [u8], scans: &Scans) -> Cow<'f, [u8]> {
    let frame = file.windows(2).find(|pair| pair[0] == 0xff && matches!(pair[1], 0xc0..=0xc2));
    // The decoder wants the marker right behind the first scan of a progressive file. It is the only one in none that
    // is whole, except of a single value.
    if scans.has_one && frame == Some(&[0xff, 0xc2]) {
        return Cow::Borrowed(file);
    }
    let (data, end) = file.split_at(scans.end_at);
    let ones = [0xff, 0x00].repeat(PADDING_BYTES);
    Cow::Owned([data, &ones, end].concat())
}

pub(crate) fn within_limit(width: u64, height: u64) -> Result<(), ImageError> {
    match width.checked_mul(height) {
        Some(pixels) if pixels <= MAX_PIXELS => Ok(()),
        _ => Err(ImageError::Large { width, height }),
    }
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

/// Inside an image's data no marker can stand, so behind the last start of a scan there must be the end of an image.
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

/// The decoder quotes some of its messages.
fn one_line(text: &str) -> String {
    text.trim_matches('"').split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
