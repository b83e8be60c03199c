//! A limit on what ONNX Runtime says in the log: a model that fails says so for every sample, and the sample's own
//! error says it, too.

use std::time::{Duration, Instant};

/// The most lines within [`SPAN`].
const MOST: u64 = 10;
const SPAN: Duration = Duration::from_secs(60);

/// The lines of one span of time.
#[derive(Debug)]
pub(super) struct LogLimit {
    since: Option<Instant>,
    lines: u64,
}

/// A line that may be logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Admitted {
    /// The lines that were left out before it.
    pub(super) left_out: u64,
    /// True where lines after it are left out until the span is over.
    pub(super) is_last: bool,
}

impl LogLimit {
    /// No lines yet.
    pub(super) const NEW: LogLimit = LogLimit { since: None, lines: 0 };

    /// Counts a line at this time; none: it is left out.
    pub(super) fn admit(&mut self, now: Instant) -> Option<Admitted> {
        let is_over = self.since.is_none_or(|since| now.saturating_duration_since(since) >= SPAN);
        let left_out = if is_over { self.lines.saturating_sub(MOST) } else { 0 };
        if is_over {
            (self.since, self.lines) = (Some(now), 0);
        }
        self.lines += 1;
        (self.lines <= MOST).then_some(Admitted { left_out, is_last: self.lines == MOST })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_has_so_many_lines_and_the_next_says_what_was_left_out() {
        let (mut limit, start) = (LogLimit::NEW, Instant::now());
        let admissions: Vec<_> = (0..MOST + 5).map(|second| limit.admit(start + Duration::from_secs(second))).collect();
        assert_eq!(admissions[0], Some(Admitted { left_out: 0, is_last: false }));
        assert_eq!(admissions[MOST as usize - 1], Some(Admitted { left_out: 0, is_last: true }));
        assert!(admissions[MOST as usize..].iter().all(Option::is_none));
        assert_eq!(limit.admit(start + SPAN), Some(Admitted { left_out: 5, is_last: false }));
        assert_eq!(limit.admit(start + SPAN), Some(Admitted { left_out: 0, is_last: false }));
    }
}
