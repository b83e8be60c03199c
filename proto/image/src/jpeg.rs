//! JPEG files to RGB pixels.

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
/// Adobe writes them, inverted; multiplied with the black). Damage is an error, never a grey area.
///
/// # Errors
/// See [`ImageError`]. Takes any bytes.
pub fn decode_jpeg(file: &[u8]) -> Result<Pixels, ImageError> {
    looks_like_jpeg(file)?;
    let options = DecoderOptions::default()
        .set_strict_mode(true)
        .set_max_width(usize::from(u16::MAX))
        .set_max_height(usize::from(u16::MAX))
        .jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(file), options);
    let told = |error: zune_jpeg::errors::DecodeErrors| ImageError::Decode(one_line(&format!("{error:?}")));
    // What is cut off inside its headers is best called that.
    decoder.decode_headers().map_err(|error| is_whole(file).err().unwrap_or_else(|| told(error)))?;
    let (width, height) = decoder.info().map(|info| (info.width, info.height)).unwrap_or_default();
    // Before any memory is taken for them.
    within_limit(u64::from(width), u64::from(height))?;
    is_whole(file)?;
    let rgb = decoder.decode().map_err(told)?;
    Pixels::new(u32::from(width), u32::from(height), rgb)
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

/// The decoder notices missing rows, but not always that the last one is cut off. Inside an image's data no marker can
/// stand, so behind the last start of a scan there must be the end of an image.
fn is_whole(file: &[u8]) -> Result<(), ImageError> {
    let last = |marker: u8| file.windows(2).rposition(|pair| pair == [0xff, marker]);
    match (last(0xda), last(0xd9)) {
        (Some(scan), Some(end)) if end > scan => Ok(()),
        _ => Err(ImageError::Truncated(file.len())),
    }
}

/// The decoder quotes some of its messages.
fn one_line(text: &str) -> String {
    text.trim_matches('"').split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
