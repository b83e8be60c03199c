//! A decoded image, the limit on its size, and what can be wrong with an image.

/// The most pixels that one image may have, before and after it is resized: 64 Mi, which take 192 MiB of memory. The
/// limit is needed because a file of a few bytes can claim 65,535 x 65,535 pixels.
pub const MAX_PIXELS: u64 = 1 << 26;

/// A decoded image: 8 bits each of red, green and blue, row by row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pixels {
    width: u32,
    height: u32,
    rgb: Vec<u8>,
}

impl Pixels {
    /// An image of `height` rows of `width` pixels, three bytes each.
    ///
    /// # Errors
    /// There are no pixels, more than [`MAX_PIXELS`], or another number of bytes than 3 for each pixel.
    pub fn new(width: u32, height: u32, rgb: Vec<u8>) -> Result<Pixels, ImageError> {
        within_limit(u64::from(width), u64::from(height))?;
        let pixels = u64::from(width) * u64::from(height);
        if pixels == 0 || 3 * pixels != rgb.len() as u64 {
            return Err(ImageError::Pixels { width, height, bytes: rgb.len() });
        }
        Ok(Pixels { width, height, rgb })
    }

    /// Number of pixels in a row.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Number of rows.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// Red, green, blue of each pixel, row by row.
    pub fn rgb(&self) -> &[u8] {
        &self.rgb
    }
}

/// An error when an image of this size has more than [`MAX_PIXELS`] pixels.
pub(crate) fn within_limit(width: u64, height: u64) -> Result<(), ImageError> {
    match width.checked_mul(height) {
        Some(pixels) if pixels <= MAX_PIXELS => Ok(()),
        _ => Err(ImageError::Large { width, height }),
    }
}

/// The error for a file or pixels of which no tensor can be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// The bytes do not begin as a JPEG does.
    #[error("not a JPEG ({0})")]
    NotJpeg(&'static str),
    /// The file stops before the image does.
    #[error("the JPEG is truncated: {0} bytes, and no end of image among them")]
    Truncated(usize),
    /// The file has an end, but its data do not make all of its pixels.
    #[error("the JPEG is cut: its data end before its {width}x{height} pixels do")]
    Missing {
        /// Number of pixels in a row.
        width: u64,
        /// Number of rows.
        height: u64,
    },
    /// The decoder refuses the file; the text is the decoder's.
    #[error("the JPEG cannot be decoded: {0}")]
    Decode(String),
    /// Decoding the image would take more memory than it may.
    #[error("{width}x{height} pixels take up to {needed} bytes while they are decoded; {max_bytes} are allowed")]
    Memory {
        /// Number of pixels in a row.
        width: u64,
        /// Number of rows.
        height: u64,
        /// Bytes of memory that decoding takes at most.
        needed: u64,
        /// Bytes that it may take.
        max_bytes: u64,
    },
    /// The image has more than [`MAX_PIXELS`] pixels, before or after it is resized.
    #[error("{width}x{height} pixels; {MAX_PIXELS} in all are allowed")]
    Large {
        /// Number of pixels in a row.
        width: u64,
        /// Number of rows.
        height: u64,
    },
    /// The number of bytes is not that of an image of this size.
    #[error("{width}x{height} pixels do not have {bytes} bytes of RGB")]
    Pixels {
        /// Number of pixels in a row.
        width: u32,
        /// Number of rows.
        height: u32,
        /// Number of bytes that were given.
        bytes: usize,
    },
    /// The image is smaller than the crop.
    #[error(
        "an image of {width}x{height} pixels is smaller than the crop of {crop_width}x{crop_height}: \
         add resize= to the preprocessing"
    )]
    SmallerThanCrop {
        /// Number of pixels in a row.
        width: u32,
        /// Number of rows.
        height: u32,
        /// Number of pixels in a row of the crop.
        crop_width: u32,
        /// Number of rows of the crop.
        crop_height: u32,
    },
    /// The resizer refuses the image; the text is the resizer's.
    #[error("the image cannot be resized: {0}")]
    Resize(String),
}
