//! From the bytes of an image file to the tensor a model takes.
//!
//! Both ends use it: the LoadGen node before any clock starts, the SUT node (with codec `original`, where files travel
//! as they are) while the clock runs. The same file and the same SPEC give the same bytes at either end.
//!
//! - `pixels`: a decoded image ([`Pixels`]) and what can be wrong with it ([`ImageError`]);
//! - `jpeg`: a file becomes pixels ([`decode_jpeg`]); `orientation`: they are turned as its EXIF segment says;
//! - `preprocess`: which steps are taken ([`Preprocess`]): resize, crop, normalise, lay out;
//! - `spec`: the steps as a text, read and written;
//! - `apply`: the steps done to pixels ([`Preprocess::apply`]); `linear`: one way to resize them, as OpenCV has it.
//!
//! It is not a general image library: JPEG files only, RGB, one image at a time.

mod apply;
mod jpeg;
mod linear;
mod orientation;
mod pixels;
mod preprocess;
mod spec;

pub use jpeg::{JpegSize, check_ends, decode_jpeg, decode_jpeg_within, jpeg_size};
pub use pixels::{ImageError, MAX_PIXELS, Pixels};
pub use preprocess::{Filter, Layout, PRESETS, Preprocess, Resize, SpecError};
