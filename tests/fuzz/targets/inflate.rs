//! Any bytes as a frame of each codec: refused, or what comes out is within the limit and survives the way back.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use lon_proto::codec::{Codec, Encoder, Inflater, Layout};

/// Small, so that a frame that really is large costs the fuzzer little.
const MAX_RAW_BYTES: u64 = 1 << 20;

fuzz_target!(|bytes: &[u8]| {
    let frame = Bytes::copy_from_slice(bytes);
    for name in Codec::NAMES {
        let codec: Codec = name.parse().expect("a name of the list");
        let mut inflater = Inflater::new(codec, MAX_RAW_BYTES);
        let Ok(raw) = inflater.inflate(frame.clone()) else { continue };
        assert!(raw.len() as u64 <= MAX_RAW_BYTES);
        let again = Encoder::new(codec).encode(&raw, Layout::Elements { element_bytes: 4 }).expect("any bytes");
        assert_eq!(inflater.inflate(again), Ok(raw));
    }
});
