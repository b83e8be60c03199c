//! What a probe's samples are answered with: as many bytes as they ask for, that no link makes smaller.

use std::sync::LazyLock;

use bytes::Bytes;

use crate::config::Limits;

/// Largest answer: the size of [`noise`]. Whoever wants more asks more often.
pub(crate) const MAX_ANSWER_BYTES: usize = lon_proto::limits::PART_BYTES;

/// What may be inside a node that is probed. Bytes are those of samples: a fat pipe's worth, 20 ms of 100 Gbit/s.
/// Announced answers need no bound of their own, since all of them are slices of one buffer: an answer that waits costs
/// its place in a list, whatever its size, and those places are bounded by the number of samples.
const MAX_SAMPLES: u64 = 64 << 10;
const MAX_BYTES: u64 = 256 << 20;

/// The limits of a probe at a node whose runs have these.
pub(crate) fn limits(of_runs: Limits) -> Limits {
    Limits {
        max_samples_in_flight: MAX_SAMPLES,
        max_bytes_in_flight: MAX_BYTES,
        max_sample_bytes: of_runs.max_sample_bytes,
    }
}

/// The answer to `sample`: as many bytes as its first eight bytes say (little-endian), none when it has fewer.
pub(crate) fn answer(sample: &[u8]) -> Result<Bytes, String> {
    let Some(asked) = sample.first_chunk() else { return Ok(Bytes::new()) };
    let asked = u64::from_le_bytes(*asked);
    match usize::try_from(asked) {
        Ok(len) if len <= MAX_ANSWER_BYTES => Ok(Bytes::from_static(&noise()[..len])),
        _ => Err(format!("an answer of {asked} bytes was asked for; a probe answers {MAX_ANSWER_BYTES} at most")),
    }
}

/// Bytes that do not compress, the same at every call and in every process.
pub(crate) fn noise() -> &'static [u8] {
    static NOISE: LazyLock<Vec<u8>> = LazyLock::new(|| {
        // Marsaglia's xorshift with a multiplication: good enough for any compressor, and two lines.
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = || {
            state ^= state >> 12;
            state ^= state << 25;
            state ^= state >> 27;
            state.wrapping_mul(0x2545_f491_4f6c_dd1d).to_le_bytes()
        };
        std::iter::repeat_with(&mut next).take(MAX_ANSWER_BYTES / 8).flatten().collect()
    });
    &NOISE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_have_the_size_that_was_asked_for() {
        for len in [0, 1, 64, MAX_ANSWER_BYTES] {
            let sample = [&(len as u64).to_le_bytes()[..], b"padding"].concat();
            let answer = answer(&sample).unwrap();
            assert_eq!(answer.len(), len);
            assert!(len == 0 || answer.as_ptr() == noise().as_ptr(), "not copied");
        }
        assert_eq!(answer(b"seven b").unwrap(), Bytes::new());
        for len in [MAX_ANSWER_BYTES as u64 + 1, u64::MAX] {
            let error = answer(&len.to_le_bytes()).unwrap_err();
            assert!(error.contains(&len.to_string()) && error.contains("1048576"), "{error}");
        }
    }

    /// Every byte value about as often as any other, and no block that comes twice.
    #[test]
    fn noise_does_not_compress() {
        assert_eq!(noise().len(), MAX_ANSWER_BYTES);
        let mut counts = [0usize; 256];
        noise().iter().for_each(|&byte| counts[usize::from(byte)] += 1);
        let expected = MAX_ANSWER_BYTES / 256;
        assert!(counts.iter().all(|count| count.abs_diff(expected) < expected / 10), "{counts:?}");
        let mut blocks: Vec<&[u8]> = noise().chunks(8).collect();
        blocks.sort_unstable();
        assert!(blocks.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
