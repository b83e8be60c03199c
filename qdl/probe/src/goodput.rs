//! Bytes in flight that fill a path, and the goodput that follows. Pure: every method takes the time as an argument.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Smallest size of a sample or an answer in bytes, used while little arrives.
pub(crate) const SMALLEST_CHUNK: usize = 64 << 10;
/// Largest size of a sample or an answer in bytes: what one message carries.
pub(crate) const LARGEST_CHUNK: usize = 1 << 20;

/// A chunk should take about this long to come through: fine enough to measure, coarse enough not to cost.
const CHUNK_TIME: Duration = Duration::from_millis(2);

/// Shortest memory of a [`Window`]: the bytes that arrived within it decide how many may be in flight.
const MEMORY: Duration = Duration::from_millis(50);

/// Fewest and most bytes in flight.
const LEAST_WINDOW_BYTES: u64 = 4 * SMALLEST_CHUNK as u64;
const MOST_WINDOW_BYTES: u64 = 64 << 20;

/// The share of a measurement that is left out at its beginning: windows grow, and shapers give away their burst.
const WARM_UP: f64 = 0.3;

/// Limit of the bytes in flight to one node: twice the bytes that it took within a memory longer than its round trip.
/// On a path that the window limits, the window doubles. On a path that limits itself, bytes never queue for long.
#[derive(Debug)]
pub(crate) struct Window {
    memory: Duration,
    recent: VecDeque<(Instant, u64)>,
    recent_bytes: u64,
}

impl Window {
    /// A window for a path with this round trip.
    pub(crate) fn new(round_trip: Duration) -> Window {
        Window { memory: MEMORY.max(round_trip * 2), recent: VecDeque::new(), recent_bytes: 0 }
    }

    /// Counts bytes that have arrived.
    pub(crate) fn came(&mut self, at: Instant, bytes: u64) {
        self.recent.push_back((at, bytes));
        self.recent_bytes += bytes;
        while let Some(&(then, bytes)) = self.recent.front() {
            if at.saturating_duration_since(then) <= self.memory {
                break;
            }
            self.recent.pop_front();
            self.recent_bytes -= bytes;
        }
    }

    /// Returns the number of bytes that may be in flight.
    pub(crate) fn bytes(&self) -> u64 {
        (2 * self.recent_bytes).clamp(LEAST_WINDOW_BYTES, MOST_WINDOW_BYTES)
    }

    /// Bytes of the next chunk, a power of four times the smallest.
    pub(crate) fn chunk(&self) -> usize {
        let per_chunk_time = self.recent_bytes as f64 * CHUNK_TIME.as_secs_f64() / self.memory.as_secs_f64();
        let mut chunk = SMALLEST_CHUNK;
        while chunk < LARGEST_CHUNK && (chunk as f64) < per_chunk_time {
            chunk *= 4;
        }
        chunk
    }
}

/// The share of what is left from which on the time between the first and the last arrival says something.
const LEAST_SPAN: f64 = 0.5;

/// Arrivals at moments of their own that are too few to say anything.
const TOO_FEW: u64 = 8;

/// A measurement that ended early must have taken at least this long to count.
const LEAST_TIME: Duration = Duration::from_millis(200);

/// Bytes over time, without the warm-up: from the first arrival after it to the last.
#[derive(Debug)]
pub(crate) struct Meter {
    start: Instant,
    duration: Duration,
    arrivals: Vec<(Instant, u64)>,
}

impl Meter {
    /// Of a measurement that begins now and is to take so long.
    pub(crate) fn new(now: Instant, duration: Duration) -> Meter {
        Meter { start: now, duration, arrivals: Vec::new() }
    }

    /// Counts bytes that have arrived.
    pub(crate) fn came(&mut self, at: Instant, bytes: u64) {
        self.arrivals.push((at, bytes));
    }

    /// Of what came until now, or until the time was over. None when too little came to say.
    pub(crate) fn bits_per_s(&self, now: Instant) -> Option<f64> {
        let took = now.saturating_duration_since(self.start).min(self.duration);
        if took < self.duration.min(LEAST_TIME) {
            return None;
        }
        let warm_at = self.start + took.mul_f64(WARM_UP);
        let mut warm = self.arrivals.iter().filter(|(at, _)| *at >= warm_at);
        // The bytes that arrived up to `first` were sent before it, so only later ones count.
        let &(first, _) = warm.next()?;
        let (mut last, mut arrivals, mut bytes) = (first, 1, 0);
        for &(at, came) in warm {
            bytes += if at > first { came } else { 0 };
            arrivals += u64::from(at > last);
            last = last.max(at);
        }
        let span = last.saturating_duration_since(first);
        let says_something =
            span >= took.mul_f64((1.0 - WARM_UP) * LEAST_SPAN) && arrivals > TOO_FEW && !span.is_zero();
        says_something.then(|| bytes as f64 * 8.0 / span.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn the_window_follows_what_comes_through() {
        let start = Instant::now();
        let mut window = Window::new(MS);
        assert_eq!((window.bytes(), window.chunk()), (LEAST_WINDOW_BYTES, SMALLEST_CHUNK));
        // 100 Mbit/s: 12,500 bytes a ms.
        (0..1000).for_each(|ms| window.came(start + MS * ms, 12_500));
        let queued_ms = window.bytes() / 12_500;
        assert!((90..=110).contains(&queued_ms), "{queued_ms} ms of it on its way");
        assert_eq!(window.chunk(), SMALLEST_CHUNK);
        // 8 Gbit/s.
        (1000..2000).for_each(|ms| window.came(start + MS * ms, 1_000_000));
        assert_eq!((window.bytes(), window.chunk()), (MOST_WINDOW_BYTES, LARGEST_CHUNK));
        // A long path remembers longer.
        let mut long = Window::new(MS * 200);
        (0..1000).for_each(|ms| long.came(start + MS * ms, 12_500));
        assert!(long.bytes() > 2 * 12_500 * 200, "{}", long.bytes());
    }

    #[test]
    fn the_warm_up_is_left_out() {
        let start = Instant::now();
        let mut meter = Meter::new(start, MS * 1000);
        (0..300).for_each(|ms| meter.came(start + MS * ms, 1_000_000));
        (300..1000).for_each(|ms| meter.came(start + MS * ms, 12_500));
        let rate = meter.bits_per_s(start + MS * 1000).unwrap();
        assert!((rate / 100e6 - 1.0).abs() < 1e-9, "{rate}");
    }

    #[test]
    fn too_little_says_nothing() {
        let start = Instant::now();
        let meter = |arrivals: &[u64]| {
            let mut meter = Meter::new(start, MS * 1000);
            arrivals.iter().for_each(|&ms| meter.came(start + MS * ms as u32, 1_000_000));
            meter.bits_per_s(start + MS * 1000)
        };
        assert_eq!(meter(&[400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 411]), None, "a stall, then a burst");
        assert_eq!(meter(&[400, 900]), None);
        assert_eq!(meter(&[400; 100]), None);
        assert!(meter(&[310, 400, 500, 600, 700, 750, 800, 850, 900, 950]).is_some());
    }

    #[test]
    fn what_ends_before_its_time_is_measured_until_then() {
        let start = Instant::now();
        let rate = |until_ms: u32| {
            let mut meter = Meter::new(start, MS * 2000);
            (0..until_ms).for_each(|ms| meter.came(start + MS * ms, 1_000_000));
            meter.bits_per_s(start + MS * until_ms)
        };
        let early = rate(300).unwrap();
        assert!((early / 8e9 - 1.0).abs() < 1e-9, "{early}");
        assert_eq!(rate(100), None, "too short to say");
    }
}
