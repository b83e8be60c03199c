//! The preprocessing of an image before a model sees it, as a checked value.

use std::fmt;

use lon_proto::sample::DType;

/// The keys of a SPEC: what can stand before `=`.
pub(crate) const KEYS: [&str; 9] = ["resize", "letterbox", "filter", "crop", "layout", "dtype", "scale", "mean", "std"];

/// The presets: a name and the whole SPEC that it stands for.
///
/// - `imagenet-caffe`: what the MLPerf reference does for ResNet50-v1.5 (`pre_process_vgg`): shorter side to
///   256 = 224 / 0.875 by areas, centre crop, means subtracted. Its OpenCV weighs areas a little differently.
/// - `imagenet-torch`: the input of torchvision's models.
/// - `stretch-torch`: 800 x 800 without keeping the ratio, values from 0 to 1, as the MLPerf reference does for
///   RetinaNet (`pre_process_openimages_retinanet`).
/// - `letterbox-640`: 640 x 640 with grey bars, values from 0 to 1, as the package `ultralytics` does for YOLO models
///   of a fixed size. For a PyTorch model it leaves out what it can of the bars, so that sizes differ.
pub const PRESETS: [(&str, &str); 4] = [
    ("imagenet-caffe", "resize=256,filter=box,crop=224,layout=nchw,dtype=f32,mean=123.68/116.78/103.94"),
    (
        "imagenet-torch",
        "resize=256,crop=224,layout=nchw,dtype=f32,scale=1/255,mean=0.485/0.456/0.406,std=0.229/0.224/0.225",
    ),
    ("stretch-torch", "resize=800x800,filter=linear,layout=nchw,dtype=f32,scale=1/255"),
    ("letterbox-640", "letterbox=640,filter=opencv-linear,layout=nchw,dtype=f32,std=255"),
];

/// The names of all presets, with commas between them.
pub(crate) fn preset_names() -> String {
    PRESETS.map(|(name, _)| name).join(", ")
}

/// The steps that make a tensor of an image: resize, crop, normalise, lay out.
///
/// It is parsed from, and shown as, a SPEC: see the implementation of [`std::str::FromStr`] for the grammar.
#[derive(Clone, Debug, PartialEq)]
pub struct Preprocess {
    pub(crate) resize: Option<Resize>,
    pub(crate) filter: Filter,
    /// Height and width of the middle that is cut out, in pixels.
    pub(crate) crop: Option<(u32, u32)>,
    pub(crate) layout: Layout,
    pub(crate) dtype: DType,
    pub(crate) scale: f32,
    pub(crate) mean: [f32; 3],
    pub(crate) std: [f32; 3],
}

/// The size to which an image is resized, in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resize {
    /// The shorter side gets this size, the longer one keeps its ratio (rounded down).
    Shorter(u32),
    /// Both sides are given; the ratio is not kept.
    Exact {
        /// Number of rows.
        height: u32,
        /// Number of pixels in a row.
        width: u32,
    },
    /// The image is made as large as fits into these sides with its ratio kept, and gets grey bars on both sides.
    Letterbox {
        /// Number of rows, the bars among them.
        height: u32,
        /// Number of pixels in a row, the bars among them.
        width: u32,
    },
}

/// The grey of the bars of a letterbox, in all three colours.
pub(crate) const BARS: u8 = 114;

/// The weights of pixels when an image is resized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filter {
    /// A triangle as wide as the step, so that all pixels count when an image shrinks (Pillow and torchvision).
    #[default]
    Bilinear,
    /// All pixels under the new one count the same (Pillow's BOX, close to OpenCV's INTER_AREA).
    Box,
    /// The four pixels around the new one's middle, however much an image shrinks (OpenCV's INTER_LINEAR).
    Linear,
    /// The same, rounded as OpenCV does with bytes, so that every bit is the same.
    OpenCvLinear,
}

/// The order of a tensor's dimensions, without a batch dimension.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// The order is channel, row, column.
    #[default]
    Nchw,
    /// The order is row, column, channel.
    Nhwc,
}

impl Preprocess {
    /// Type and dimensions of every result, without a batch dimension.
    pub fn output(&self) -> (DType, [u32; 3]) {
        let (height, width) = self.size();
        let dims = match self.layout {
            Layout::Nchw => [3, height, width],
            Layout::Nhwc => [height, width, 3],
        };
        (self.dtype, dims)
    }

    /// The steps, if they can be done to an image.
    ///
    /// # Errors
    /// The size of the result is open, the crop is larger than the resized image, or values would be below zero in a
    /// type that has none.
    pub(crate) fn checked(self) -> Result<Preprocess, SpecError> {
        if self.dtype == DType::U8 && self.mean.iter().any(|&mean| mean != 0.0) {
            return Err(SpecError::UnsignedMean);
        }
        let beyond = |(crop, resized): (u32, u32)| crop > resized;
        match (self.crop, self.resize) {
            (None, None | Some(Resize::Shorter(_))) => Err(SpecError::OpenSize),
            (Some(crop), Some(resize)) => {
                let (height, width) = match resize {
                    Resize::Shorter(side) => (side, side),
                    Resize::Exact { height, width } | Resize::Letterbox { height, width } => (height, width),
                };
                let fits = ![(crop.0, height), (crop.1, width)].into_iter().any(beyond);
                let error = || SpecError::CropBeyondResize { crop: size(crop), resize: resize.to_string() };
                if fits { Ok(self) } else { Err(error()) }
            }
            _ => Ok(self),
        }
    }

    /// Height and width of the result, in pixels.
    pub(crate) fn size(&self) -> (u32, u32) {
        match (self.crop, self.resize) {
            (Some(crop), _) => crop,
            (None, Some(Resize::Exact { height, width } | Resize::Letterbox { height, width })) => (height, width),
            // `checked` refuses all other steps.
            (None, _) => (0, 0),
        }
    }
}

impl Filter {
    /// The word for it in a SPEC.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Filter::Bilinear => "bilinear",
            Filter::Box => "box",
            Filter::Linear => "linear",
            Filter::OpenCvLinear => "opencv-linear",
        }
    }
}

impl Layout {
    /// The word for it in a SPEC.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Layout::Nchw => "nchw",
            Layout::Nhwc => "nhwc",
        }
    }
}

/// A height and width as a SPEC has them: one number when they are equal.
pub(crate) fn size((height, width): (u32, u32)) -> String {
    if height == width { height.to_string() } else { format!("{height}x{width}") }
}

impl fmt::Display for Resize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Resize::Shorter(side) => write!(f, "{side}"),
            Resize::Exact { height, width } | Resize::Letterbox { height, width } => write!(f, "{height}x{width}"),
        }
    }
}

/// The error for a text that is not a SPEC, or a SPEC that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// A part has no `=`, or its key is unknown.
    #[error("'{0}' is not a step of preprocessing (known: {keys}; presets, first: {presets})",
        keys = KEYS.join("=, ") + "=", presets = preset_names())]
    Unknown(String),
    /// A key is given twice.
    #[error("{0}= is given twice")]
    Twice(&'static str),
    /// Both ways to resize are given.
    #[error("resize= and letterbox= cannot both be done")]
    TwoResizes,
    /// A value cannot be read.
    #[error("{key}={value}: {form}")]
    Value {
        /// The key before `=`.
        key: &'static str,
        /// The value behind `=`.
        value: String,
        /// The form that the value should have.
        form: &'static str,
    },
    /// Neither crop nor resize fixes the size, so that images of every size would give tensors of every size.
    #[error("the size of the result is open: give crop=SIZE or resize=HEIGHTxWIDTH")]
    OpenSize,
    /// The crop is larger than the resized image.
    #[error("crop={crop} is larger than resize={resize}")]
    CropBeyondResize {
        /// The crop as the SPEC has it.
        crop: String,
        /// The size as the SPEC has it.
        resize: String,
    },
    /// A mean is subtracted, and the type has no values below zero.
    #[error("dtype=u8 with a mean: values below zero would all become 0; use i8, f16 or f32")]
    UnsignedMean,
}
