//! The checksum in a frame: it tells that inflated bytes are the ones that were encoded.

use twox_hash::XxHash64;

/// The low half of XXH64 with seed 0.
pub(super) fn sum(bytes: &[u8]) -> u32 {
    XxHash64::oneshot(0, bytes) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// zstd's own checksum of a frame's content is the low half of the same hash: a second implementation to agree
    /// with.
    #[test]
    fn it_is_the_hash_that_zstd_uses() {
        let bytes: Vec<u8> = (0..1_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let mut zstd = zstd::bulk::Compressor::new(1).unwrap();
        zstd.set_parameter(zstd::zstd_safe::CParameter::ChecksumFlag(true)).unwrap();
        for len in (0..200).chain([255, 256, 511, 512, 1_000]) {
            let frame = zstd.compress(&bytes[..len]).unwrap();
            let expected = u32::from_le_bytes(*frame.last_chunk().unwrap());
            assert_eq!(sum(&bytes[..len]), expected, "{len}");
        }
    }
}
