//! Any bytes as a Dispatch stream: its Open, its frames, and the reader that makes samples of them. The stream ends,
//! every sample is answered once, and all room is given back.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| lon_sut::fuzz::dispatch(bytes));
