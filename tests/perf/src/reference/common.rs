//! Code that several references share: their payloads, and the announcement of where they listen.

use std::io::Write as _;
use std::net::SocketAddr;

use anyhow::{Context as _, Result};

use super::sleeper;

/// Requests that may be without an answer, for all references that pipeline large ones: enough to keep both sides busy,
/// few enough that what is sent does not fall out of the cache before it is received, which costs more than it brings.
pub(super) const IN_FLIGHT: usize = 4;
/// Number of distinct payloads.
pub(super) const PAYLOADS: usize = 64;
/// Bytes of every answer.
pub(super) const ANSWER: usize = 8;

/// Tells the parent where the answering side is.
pub(super) fn announce(address: SocketAddr) -> Result<()> {
    writeln!(std::io::stdout(), "{address}").context("standard output")
}

/// [`PAYLOADS`] payloads of `size` bytes, no two alike, nothing in them to compress.
pub(super) fn payloads(size: usize) -> Vec<Vec<u8>> {
    let mut numbers = sleeper::Random::new(1);
    let mut payload = || {
        let mut bytes: Vec<u8> = (0..size.div_ceil(8)).flat_map(|_| numbers.next().to_le_bytes()).collect();
        bytes.truncate(size);
        bytes
    };
    (0..PAYLOADS).map(|_| payload()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_are_distinct() {
        let mut payloads = payloads(13);
        assert!(payloads.iter().all(|payload| payload.len() == 13));
        payloads.sort_unstable();
        payloads.dedup();
        assert_eq!(payloads.len(), PAYLOADS);
    }
}
