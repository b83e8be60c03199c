//! From the bytes of an image file to the tensor a model takes.
//!
//! Both ends use it: the LoadGen node before any clock starts, the SUT node (with codec `original`, where files travel
//! as they are) while the clock runs. The same file and the same SPEC give the same bytes at either end.
//!
//! - [`decode_jpeg`]: a file becomes [`Pixels`];
//! - [`Preprocess`]: resize, crop, normalise, lay out; written as a SPEC text.
//!
//! It is no general image library: JPEG in, RGB, one image at a time. What an EXIF tag says of the orientation is
//! ignored, as Pillow does when it opens a file.

mod error;
mod jpeg;
mod preprocess;
mod spec;

pub use error::{ImageError, SpecError};
pub use jpeg::{MAX_PIXELS, Pixels, decode_jpeg};
pub use preprocess::{Filter, Layout, Preprocess, Resize};
pub use spec::PRESETS;
