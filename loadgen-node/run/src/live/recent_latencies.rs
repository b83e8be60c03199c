//! Latencies of the last seconds, and of all of a phase so far.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::latencies::{Latencies, Percentiles, Spread};

/// Length of the time that counts as the last seconds.
pub(super) const RECENT: Duration = Duration::from_secs(5);
/// The last seconds are forgotten in steps of this.
const STEP: Duration = Duration::from_secs(1);

/// The values of one phase, by when they were read.
#[derive(Debug, Default)]
pub(super) struct Course {
    /// Those that are older.
    older: Latencies,
    /// Those of the last seconds, step by step.
    recent: VecDeque<(Instant, Latencies)>,
}

impl Course {
    /// Values that follow are read at `now`.
    pub(super) fn turn(&mut self, now: Instant) {
        while self.recent.front().is_some_and(|(since, _)| now.saturating_duration_since(*since) >= RECENT) {
            if let Some((_, gone)) = self.recent.pop_front() {
                self.older.add(&gone);
            }
        }
        if self.recent.back().is_none_or(|(since, _)| now.saturating_duration_since(*since) >= STEP) {
            self.recent.push_back((now, Latencies::default()));
        }
    }

    /// Where values are added that are read now.
    #[inline]
    pub(super) fn now(&mut self) -> &mut Latencies {
        self.recent.back_mut().map_or(&mut self.older, |(_, step)| step)
    }

    /// All values so far.
    pub(super) fn so_far(&self) -> Latencies {
        let mut all = self.older.clone();
        self.recent.iter().for_each(|(_, step)| all.add(step));
        all
    }

    /// The percentiles of the last seconds and so far, with `judged` as a fraction.
    pub(super) fn spread(&self, judged: f64) -> Spread {
        let mut recent = Latencies::default();
        self.recent.iter().for_each(|(_, step)| recent.add(step));
        let of = |all: &Latencies| -> Option<Percentiles> { all.percentiles(judged) };
        let last = of(&recent);
        recent.add(&self.older);
        Spread { recent: last, so_far: of(&recent) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_seconds_forget_what_all_remember() {
        let (start, mut course) = (Instant::now(), Course::default());
        for second in 0..10 {
            course.turn(start + Duration::from_secs(second));
            course.now().record(second);
        }
        let Spread { recent, so_far } = course.spread(0.5);
        let (recent, so_far) = (recent.unwrap(), so_far.unwrap());
        assert_eq!((recent.count, recent.p50_ns, recent.max_ns), (5, 7, 9));
        assert_eq!((so_far.count, so_far.p50_ns, so_far.max_ns), (10, 4, 9));
        assert_eq!(course.so_far().count(), 10);
        course.turn(start + Duration::from_secs(60));
        assert_eq!(course.spread(0.5).recent, None, "nothing has ended lately");
    }
}
