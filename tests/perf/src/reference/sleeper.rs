//! A schedule kept by sleeping alone: absolute times, the timer slack that every thread has.

use anyhow::Result;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};

use crate::stats::percentile;

/// 99th percentile of the time between an event's moment and the return of the sleep until it, ns.
pub(crate) fn run(rate: f64, seconds: f64) -> Result<f64> {
    let mut random = Random::new(2);
    let mut lags_ns = Vec::with_capacity((rate * seconds * 1.2) as usize);
    let begin_ns = now_ns()?;
    let mut due_s = 0.0;
    while due_s < seconds {
        due_s += -random.open_unit().ln() / rate;
        let due_ns = begin_ns + (due_s * 1e9) as u64;
        let mut lag = now_ns()?.checked_sub(due_ns);
        while lag.is_none() {
            let due = TimeSpec::new((due_ns / 1_000_000_000) as i64, (due_ns % 1_000_000_000) as i64);
            // An interrupted sleep goes on.
            let _ = clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::TIMER_ABSTIME, &due);
            lag = now_ns()?.checked_sub(due_ns);
        }
        lags_ns.extend(lag);
    }
    Ok(percentile(&mut lags_ns, 0.99) as f64)
}

fn now_ns() -> Result<u64> {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC)?;
    Ok(now.tv_sec().cast_unsigned() * 1_000_000_000 + now.tv_nsec().cast_unsigned())
}

/// SplitMix64: small, and random enough for gaps and payloads.
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Between 0 and 1, neither of them.
    fn open_unit(&mut self) -> f64 {
        ((self.next() >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_average_to_the_rate() {
        let mut random = Random::new(2);
        let sum: f64 = (0..100_000).map(|_| -random.open_unit().ln()).sum();
        assert!((0.99..1.01).contains(&(sum / 1e5)), "{sum}");
    }
}
