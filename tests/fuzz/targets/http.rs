//! Any bytes as the HTTP answer of a server behind `openai:`: head, chunks, events and texts.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| lon_sut::fuzz::http_answer(bytes));
