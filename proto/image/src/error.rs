//! What can be wrong with an image, and with the text that says what is done to it.

use crate::jpeg::MAX_PIXELS;

/// Why a file or its pixels do not become a tensor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// The bytes do not begin as a JPEG does.
    #[error("not a JPEG ({0})")]
    NotJpeg(&'static str),
    /// The file stops before the image does.
    #[error("the JPEG is truncated: {0} bytes, and no end of image among them")]
    Truncated(usize),
    /// It has an end, but not all of its pixels.
    #[error("the JPEG is cut: its data end before its {width}x{height} pixels do")]
    Missing {
        /// Pixels in a row.
        width: u64,
        /// Rows.
        height: u64,
    },
    /// The decoder does not take it.
    #[error("the JPEG cannot be decoded: {0}")]
    Decode(String),
    /// More pixels than is sane, before or after it is resized.
    #[error("{width}x{height} pixels; {MAX_PIXELS} in all are allowed")]
    Large {
        /// Pixels in a row.
        width: u64,
        /// Rows.
        height: u64,
    },
    /// Pixels that do not make a picture of this size.
    #[error("{width}x{height} pixels do not have {bytes} bytes of RGB")]
    Pixels {
        /// Pixels in a row.
        width: u32,
        /// Rows.
        height: u32,
        /// Bytes there are.
        bytes: usize,
    },
    /// Nothing to cut the wanted size from.
    #[error(
        "an image of {width}x{height} pixels is smaller than the crop of {crop_width}x{crop_height}: \
         add resize= to the preprocessing"
    )]
    SmallerThanCrop {
        /// Pixels in a row.
        width: u32,
        /// Rows.
        height: u32,
        /// Pixels in a row of the crop.
        crop_width: u32,
        /// Rows of the crop.
        crop_height: u32,
    },
    /// What the resizer says.
    #[error("the image cannot be resized: {0}")]
    Resize(String),
}

/// Why a text is no preprocessing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// A part without `=`, or an unknown key.
    #[error("'{0}' is not a step of preprocessing (known: {known}; presets, first: {presets})",
        known = crate::spec::KEYS.join("=, ") + "=", presets = crate::spec::preset_names())]
    Unknown(String),
    /// A key that was there before.
    #[error("{0}= is given twice")]
    Twice(&'static str),
    /// A value that makes no sense.
    #[error("{key}={value}: {wanted}")]
    Value {
        /// The key.
        key: &'static str,
        /// What stands behind it.
        value: String,
        /// What could.
        wanted: &'static str,
    },
    /// Images of every size would give tensors of every size.
    #[error("the size of the result is open: give crop=SIZE or resize=HEIGHTxWIDTH")]
    OpenSize,
    /// A crop that is larger than what it is cut from.
    #[error("crop={crop} is larger than resize={resize}")]
    CropBeyondResize {
        /// As written.
        crop: String,
        /// As written.
        resize: String,
    },
    /// Values below zero in a type that has none.
    #[error("dtype=u8 with a mean: values below zero would all become 0; use i8, f16 or f32")]
    UnsignedMean,
}
