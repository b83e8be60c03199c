//! Any bytes as the answer of a KServe server: read and held against what it says of itself, or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| qdl::fuzz::kserve_answer(bytes));
