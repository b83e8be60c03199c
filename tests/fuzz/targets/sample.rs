//! Any bytes as a sample: what is read is written back to the same bytes.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use lon_proto::sample;

fuzz_target!(|bytes: &[u8]| {
    let bytes = Bytes::copy_from_slice(bytes);
    if let Ok(tensors) = sample::decode(bytes.clone()) {
        assert_eq!(sample::encode(&tensors).ok(), Some(bytes));
    }
});
