//! Does the steps of a [`Preprocess`] to the pixels of an image.

use bytes::Bytes;
use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::U8x3;
use fast_image_resize::{FilterType, ResizeAlg, ResizeOptions, Resizer};
use half::f16;
use lon_proto::sample::{DType, Tensor};

use crate::linear;
use crate::pixels::{ImageError, Pixels, within_limit};
use crate::preprocess::{BARS, Filter, Layout, Preprocess, Resize};

impl Preprocess {
    /// The tensor of one image.
    ///
    /// # Errors
    /// The image is too small or too elongated for the steps. See [`ImageError`].
    pub fn apply(&self, image: &Pixels) -> Result<Tensor, ImageError> {
        let resized = self.resized(image)?;
        let view = self.cropped(resized.as_ref().unwrap_or(image))?;
        let data = match self.dtype {
            DType::F32 => view.fill(self.layout, &self.table(f32::to_le_bytes)),
            DType::F16 => view.fill(self.layout, &self.table(|value| f16::from_f32(value).to_le_bytes())),
            DType::I8 => view.fill(self.layout, &self.table(|value| (value.round() as i8).to_le_bytes())),
            // u8: a SPEC has no other type.
            _ => view.fill(self.layout, &self.table(|value| [value.round() as u8])),
        };
        let (dtype, dims) = self.output();
        let failure = |error: lon_proto::sample::SampleError| ImageError::Decode(error.to_string());
        Tensor::new(dtype, &dims, Bytes::from(data)).map_err(failure)
    }

    /// The most bytes of memory that [`Preprocess::apply`] takes for an image of this size, beside the image itself:
    /// those of the resized image, of the one between its two passes, and of the tensor.
    pub fn working_bytes(&self, width: u32, height: u32) -> u64 {
        let (dtype, dims) = self.output();
        let tensor = dims.iter().fold(dtype.size() as u64, |bytes, &dim| bytes.saturating_mul(u64::from(dim)));
        // An image without pixels is refused before it is resized.
        let Some(resize) = self.resize.filter(|_| width > 0 && height > 0) else { return tensor };
        let (wide, high) = resize.of(width, height);
        let pixels = wide.saturating_mul(high).saturating_add(wide.saturating_mul(u64::from(height)));
        let bars = match resize {
            Resize::Letterbox { height, width } => u64::from(height) * u64::from(width),
            Resize::Shorter(_) | Resize::Exact { .. } => 0,
        };
        let pixels = pixels.saturating_add(bars);
        // The weights of each new row and column.
        let weights = (wide + high + u64::from(width) + u64::from(height)).saturating_mul(32);
        tensor.saturating_add(pixels.saturating_mul(3)).saturating_add(weights)
    }

    /// The resized image; none when the image has the size already.
    fn resized(&self, image: &Pixels) -> Result<Option<Pixels>, ImageError> {
        let Some(resize) = self.resize else { return Ok(None) };
        let (width, height) = resize.of(image.width(), image.height());
        if (width, height) == (u64::from(image.width()), u64::from(image.height())) {
            return match resize {
                Resize::Letterbox { height, width } => barred(image, width, height).map(Some),
                Resize::Shorter(_) | Resize::Exact { .. } => Ok(None),
            };
        }
        within_limit(width, height)?;
        // Both fit into 32 bits: each is at most the product, and the product is within the limit.
        let (width, height) = (width as u32, height as u32);
        let resized = match self.filter.algorithm() {
            None => linear::resized(image, width, height),
            Some(algorithm) => resize_rgb(image, width, height, algorithm).map_err(ImageError::Resize)?,
        };
        let resized = Pixels::new(width, height, resized)?;
        match resize {
            Resize::Letterbox { height, width } => barred(&resized, width, height).map(Some),
            Resize::Shorter(_) | Resize::Exact { .. } => Ok(Some(resized)),
        }
    }

    /// The middle of the image, in the size of the result.
    fn cropped<'a>(&self, image: &'a Pixels) -> Result<View<'a>, ImageError> {
        let (crop_height, crop_width) = self.size();
        let (width, height) = (image.width(), image.height());
        if crop_width > width || crop_height > height {
            return Err(ImageError::SmallerThanCrop { width, height, crop_width, crop_height });
        }
        let (left, top) = ((width - crop_width) / 2, (height - crop_height) / 2);
        Ok(View {
            image,
            left: left as usize,
            top: top as usize,
            width: crop_width as usize,
            height: crop_height as usize,
        })
    }

    /// The bytes that each value of each channel becomes.
    fn table<const N: usize>(&self, bytes: impl Fn(f32) -> [u8; N]) -> Table<N> {
        let mut table = [[[0; N]; 256]; 3];
        for ((values, mean), std) in table.iter_mut().zip(self.mean).zip(self.std) {
            for (value, bytes_of) in (0u8..=255).zip(values) {
                *bytes_of = bytes((f32::from(value) * self.scale - mean) / std);
            }
        }
        table
    }
}

impl Resize {
    /// Width and height of what an image of this width and height becomes.
    fn of(self, width: u32, height: u32) -> (u64, u64) {
        let (width, height) = (u64::from(width), u64::from(height));
        match self {
            Resize::Exact { height, width } => (u64::from(width), u64::from(height)),
            Resize::Shorter(side) if height > width => (u64::from(side), u64::from(side) * height / width),
            Resize::Shorter(side) => (u64::from(side) * width / height, u64::from(side)),
            Resize::Letterbox { height: rows, width: columns } => {
                let ratio = (f64::from(rows) / height as f64).min(f64::from(columns) / width as f64);
                let side = |side: u64| ((side as f64 * ratio).round_ties_even() as u64).max(1);
                (side(width), side(height))
            }
        }
    }
}

impl Filter {
    /// The resizer's way to do it; none: it has none.
    fn algorithm(self) -> Option<ResizeAlg> {
        match self {
            Filter::Bilinear => Some(ResizeAlg::Convolution(FilterType::Bilinear)),
            Filter::Box => Some(ResizeAlg::Convolution(FilterType::Box)),
            Filter::Linear => Some(ResizeAlg::Interpolation(FilterType::Bilinear)),
            Filter::OpenCvLinear => None,
        }
    }
}

/// The image in the middle of a grey one of this size.
fn barred(image: &Pixels, width: u32, height: u32) -> Result<Pixels, ImageError> {
    within_limit(u64::from(width), u64::from(height))?;
    // Of an odd number of rows or columns the larger part is below and to the right.
    let before = |whole: u32, part: u32| (f64::from(whole - part) / 2.0 - 0.1).round_ties_even() as usize;
    let (left, top) = (before(width, image.width()), before(height, image.height()));
    let (stride, row_bytes) = (3 * width as usize, 3 * image.width() as usize);
    let mut grey = vec![BARS; stride * height as usize];
    for (row, from) in grey.chunks_exact_mut(stride).skip(top).zip(image.rgb().chunks_exact(row_bytes)) {
        row[3 * left..3 * left + row_bytes].copy_from_slice(from);
    }
    Pixels::new(width, height, grey)
}

/// Resizes RGB pixels. It does not use the resizer's dynamic images: they would compile it for every kind of pixel,
/// which takes minutes.
fn resize_rgb(image: &Pixels, width: u32, height: u32, algorithm: ResizeAlg) -> Result<Vec<u8>, String> {
    let mut resized = vec![0; 3 * width as usize * height as usize];
    let from = TypedImageRef::<U8x3>::from_buffer(image.width(), image.height(), image.rgb());
    let from = from.map_err(|error| error.to_string())?;
    let to = TypedImage::<U8x3>::from_buffer(width, height, &mut resized);
    let mut to = to.map_err(|error| error.to_string())?;
    let options = ResizeOptions::new().resize_alg(algorithm);
    Resizer::new().resize_typed(&from, &mut to, &options).map_err(|error| error.to_string())?;
    Ok(resized)
}

/// The bytes of each of the 256 values, for each of the three channels.
type Table<const N: usize> = [[[u8; N]; 256]; 3];

/// A rectangle of an image, in pixels.
struct View<'a> {
    image: &'a Pixels,
    left: usize,
    top: usize,
    width: usize,
    height: usize,
}

impl View<'_> {
    fn rows(&self) -> impl Iterator<Item = &[u8]> {
        let stride = 3 * self.image.width() as usize;
        let rows = self.image.rgb().chunks_exact(stride).skip(self.top).take(self.height);
        rows.map(|row| &row[3 * self.left..3 * (self.left + self.width)])
    }

    fn fill<const N: usize>(&self, layout: Layout, table: &Table<N>) -> Vec<u8> {
        let mut data = Vec::with_capacity(3 * self.width * self.height * N);
        match layout {
            Layout::Nhwc => {
                for pixel in self.rows().flat_map(|row| row.chunks_exact(3)) {
                    for (channel, &value) in pixel.iter().enumerate() {
                        data.extend_from_slice(&table[channel][usize::from(value)]);
                    }
                }
            }
            Layout::Nchw => {
                for (channel, table) in table.iter().enumerate() {
                    for value in self.rows().flat_map(|row| row[channel..].iter().step_by(3)) {
                        data.extend_from_slice(&table[usize::from(*value)]);
                    }
                }
            }
        }
        data
    }
}

#[cfg(test)]
mod tests;
