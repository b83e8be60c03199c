//! Any bytes as a recorded timeline: read or refused, never a panic, and what was read can be judged.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loadgen::timeline::Timeline;

fuzz_target!(|bytes: &[u8]| {
    let _ = Timeline::read_from(&mut &bytes[..]);
});
