//! Answers to the samples of a probe: as many bytes as they ask for, which no link can compress.

use std::sync::LazyLock;

use bytes::Bytes;
use rand_mt::Mt64;

use crate::config::Limits;
use crate::run::failure::{FailureKind, SampleFailure};

/// The size of the largest answer, in bytes. A probe that wants more asks more often.
pub(crate) const MAX_ANSWER_BYTES: usize = lon_proto::limits::PART_BYTES;

/// The most samples of a probe inside a node. Answers need no bound of their own: all of them are slices of one buffer,
/// so an answer that waits costs its place in a list, of any size, and the number of samples bounds those places.
const MAX_SAMPLES: u64 = 64 << 10;
/// The most bytes of those samples: 20 ms of 100 Gbit/s.
const MAX_BYTES: u64 = 256 << 20;

/// The limits of a probe at a node whose runs have the limits `of_runs`.
pub(crate) fn limits(of_runs: Limits) -> Limits {
    Limits {
        max_samples_in_flight: MAX_SAMPLES,
        max_bytes_in_flight: MAX_BYTES,
        max_sample_bytes: of_runs.max_sample_bytes,
    }
}

/// The answer to `sample`: as many bytes as its first eight bytes say (little-endian). A sample of fewer than eight
/// bytes gets an answer of none.
///
/// # Errors
/// More bytes are asked for than one answer has.
pub(crate) fn answer(sample: &[u8]) -> Result<Bytes, SampleFailure> {
    let Some(prefix) = sample.first_chunk() else { return Ok(Bytes::new()) };
    let len = u64::from_le_bytes(*prefix);
    match usize::try_from(len) {
        Ok(len) if len <= MAX_ANSWER_BYTES => Ok(Bytes::from_static(&noise()[..len])),
        _ => {
            let reason = format!("an answer of {len} bytes was asked for; a probe answers {MAX_ANSWER_BYTES} at most");
            Err(SampleFailure::new(FailureKind::Backend, reason))
        }
    }
}

/// [`MAX_ANSWER_BYTES`] bytes that do not compress, the same at every call and in every process.
pub(crate) fn noise() -> &'static [u8] {
    static NOISE: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let mut noise = vec![0; MAX_ANSWER_BYTES];
        Mt64::new(0x9e37_79b9_7f4a_7c15).fill_bytes(&mut noise);
        noise
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
            let error = answer(&len.to_le_bytes()).unwrap_err().reason;
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
