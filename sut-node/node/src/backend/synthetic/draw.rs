//! Random times, counts and answers, from the numbers of a Mersenne Twister.

use std::time::Duration;

use bytes::Bytes;
use rand_mt::Mt64;
use statrs::distribution::{ContinuousCDF as _, LogNormal};

use super::spec::{Count, Stall};

/// The longest time that is drawn. The tail of a log-normal has no end.
const LONGEST: Duration = Duration::from_secs(3600);

/// A number that is uniform in (0, 1): the middle of one of 2^53 equal parts.
pub(super) fn unit(mt: &mut Mt64) -> f64 {
    ((mt.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
}

/// The factor by which a log-normal is above its median at the quantile `at`.
fn factor(sigma: f64, at: f64) -> f64 {
    // Without spread there is no distribution: every value is the median.
    LogNormal::new(0.0, sigma).map_or(1.0, |distribution| distribution.inverse_cdf(at))
}

/// A log-normal time at the quantile `at`.
pub(super) fn duration(median: Duration, sigma: f64, at: f64) -> Duration {
    let seconds = median.as_secs_f64() * factor(sigma, at);
    Duration::try_from_secs_f64(seconds).map_or(LONGEST, |time| time.min(LONGEST))
}

impl Count {
    /// The number at the quantile `at`; at least 1.
    pub(super) fn at(self, at: f64) -> usize {
        match self {
            Count::Fixed(count) => count,
            Count::LogNormal { median, sigma } => {
                ((median as f64 * factor(sigma, at)).round() as usize).clamp(1, Count::MOST)
            }
        }
    }
}

impl Stall {
    /// The time that is added this time; often none.
    pub(super) fn next(self, mt: &mut Mt64) -> Duration {
        if unit(mt) < self.share { self.time } else { Duration::ZERO }
    }
}

/// An answer of so many bytes: zeros, or noise when a seed is given.
pub(super) fn answer(seed: Option<u64>, bytes: usize) -> Bytes {
    let Some(seed) = seed else { return vec![0; bytes].into() };
    let mut mt = Mt64::new(seed);
    let blocks = std::iter::repeat_with(|| mt.next_u64().to_le_bytes());
    blocks.flatten().take(bytes).collect::<Vec<u8>>().into()
}

/// FNV-1a: a number that is the same for the same bytes on any machine.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
