//! Any bytes as a JPEG: refused, or pixels that a tensor can be made of, within the memory that the header announces.
#![no_main]

use std::sync::Once;

use libfuzzer_sys::fuzz_target;
use lon_image::{Preprocess, decode_jpeg_within, jpeg_size};

/// Small, so that a file that really is large costs the fuzzer little.
const MAX_BYTES: u64 = 8 << 20;

/// Panics of the decoder are contained in `decode_jpeg_within`, so a panic is no fault until it comes out of there.
static CONTAINED: Once = Once::new();

fuzz_target!(|file: &[u8]| {
    CONTAINED.call_once(|| std::panic::set_hook(Box::new(|_| {})));
    let Ok(pixels) = decode_jpeg_within(file, MAX_BYTES) else { return };
    if let Some(size) = jpeg_size(file) {
        assert!(pixels.rgb().len() as u64 <= size.decoding_bytes, "{size:?}");
    }
    let preprocess: Preprocess = "resize=16,crop=16,dtype=u8".parse().expect("steps");
    if preprocess.working_bytes(pixels.width(), pixels.height()) <= MAX_BYTES {
        let _ = preprocess.apply(&pixels);
    }
});
