//! Samples whose bytes are known, and what a network report counts of them.

use crate::json::Json;

/// Images of 224 x 224 x 3 bytes, as a camera might see them.
pub const IMAGES: &str = "synthetic:image-u8[224,224,3]x64";

/// Length of one of these images, bytes.
pub const IMAGE_BYTES: f64 = 150_528.0;

/// A layer's bytes in a direction, as one end counted them.
pub fn bytes(node: &Json, layer: &str, direction: &str, end: &str) -> u64 {
    node.count(&format!("/{layer}_bytes/{direction}/{end}"))
}
