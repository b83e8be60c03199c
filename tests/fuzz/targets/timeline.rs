//! Any bytes as a recorded timeline: read or refused, never a panic, and what was read can be judged.
//!
//! Checksums would keep all but the seeds out, so each input is tried a second time with checksums that fit.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loadgen::recorder::Timeline;
use loadgen::vectors::replay_timeline;
use serde_json::Value;
use sha2::{Digest, Sha256};

fuzz_target!(|bytes: &[u8]| {
    judge(bytes);
    if let Some(sealed) = sealed(bytes) {
        judge(&sealed);
    }
});

fn judge(mut bytes: &[u8]) {
    if let Ok(stored) = Timeline::read_from(&mut bytes) {
        let _ = replay_timeline(&stored, stored.about.settings.clone());
    }
}

/// The same parts, as far as they can be told apart, each with its own checksum.
fn sealed(bytes: &[u8]) -> Option<Vec<u8>> {
    let (begin, tail) = bytes.split_at_checked(12)?;
    let length = u32::from_le_bytes(*begin.last_chunk()?) as usize;
    let (header, mut tail) = tail.split_at_checked(length)?;
    let fields: Value = serde_json::from_slice(header).ok()?;
    let samples = usize::try_from(fields["samples"].as_u64()?).ok()?;
    let widths: &[usize] = if fields["tokens"].as_bool()? { &[8, 8, 4] } else { &[8] };
    let mut sealed = bytes[..12 + length].to_vec();
    sealed.extend(Sha256::digest(&bytes[8..12 + length]));
    for width in widths {
        let (column, after) = tail.get(32..)?.split_at_checked(samples.checked_mul(*width)?)?;
        sealed.extend(column);
        sealed.extend(Sha256::digest(column));
        tail = after;
    }
    Some(sealed)
}
