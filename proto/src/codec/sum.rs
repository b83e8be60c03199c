//! XXH64 with seed 0: what tells that inflated bytes are the ones that were encoded.

const P1: u64 = 0x9e37_79b1_85eb_ca87;
const P2: u64 = 0xc2b2_ae3d_27d4_eb4f;
const P3: u64 = 0x1656_67b1_9e37_79f9;
const P4: u64 = 0x85eb_ca77_c2b2_ae63;
const P5: u64 = 0x27d4_eb2f_1656_67c5;

/// Bytes of one round of the four lanes.
const STRIPE: usize = 32;

/// The low half of the hash.
pub(super) fn sum(bytes: &[u8]) -> u32 {
    xxh64(bytes) as u32
}

fn xxh64(bytes: &[u8]) -> u64 {
    let (stripes, rest) = bytes.as_chunks::<STRIPE>();
    let mut hash = if stripes.is_empty() { P5 } else { merged(stripes) };
    hash = hash.wrapping_add(bytes.len() as u64);
    let (words, rest) = rest.as_chunks::<8>();
    for word in words {
        hash = (hash ^ round(0, u64::from_le_bytes(*word))).rotate_left(27).wrapping_mul(P1).wrapping_add(P4);
    }
    let (halves, rest) = rest.as_chunks::<4>();
    for half in halves {
        let half = u64::from(u32::from_le_bytes(*half)).wrapping_mul(P1);
        hash = (hash ^ half).rotate_left(23).wrapping_mul(P2).wrapping_add(P3);
    }
    for &byte in rest {
        hash = (hash ^ u64::from(byte).wrapping_mul(P5)).rotate_left(11).wrapping_mul(P1);
    }
    hash = (hash ^ (hash >> 33)).wrapping_mul(P2);
    hash = (hash ^ (hash >> 29)).wrapping_mul(P3);
    hash ^ (hash >> 32)
}

fn merged(stripes: &[[u8; STRIPE]]) -> u64 {
    let mut lanes = [P1.wrapping_add(P2), P2, 0, P1.wrapping_neg()];
    for stripe in stripes {
        for (lane, word) in lanes.iter_mut().zip(stripe.as_chunks::<8>().0) {
            *lane = round(*lane, u64::from_le_bytes(*word));
        }
    }
    let turns = [1, 7, 12, 18];
    let hash = lanes.iter().zip(turns).fold(0u64, |hash, (lane, turn)| hash.wrapping_add(lane.rotate_left(turn)));
    lanes.iter().fold(hash, |hash, &lane| (hash ^ round(0, lane)).wrapping_mul(P1).wrapping_add(P4))
}

fn round(lane: u64, word: u64) -> u64 {
    lane.wrapping_add(word.wrapping_mul(P2)).rotate_left(31).wrapping_mul(P1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// zstd's own checksum of a frame's content is the low half of the same hash: a second implementation to agree with.
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
