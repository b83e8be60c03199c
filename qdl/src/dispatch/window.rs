//! The number of samples that a node may hold while nodes pull from the backlog.
//!
//! It must keep the node busy across the network's delay, and must not leave a slow node with work that others could
//! do at the end of the run. The node says what its workers need; the window starts there, doubles while it is emptied
//! quickly (then the delay of the fabric is the limit, not the node), and halves back to the start when it is not.

use std::time::{Duration, Instant};

/// A window that is emptied in less time than this is too small.
const QUICK: Duration = Duration::from_millis(100);
/// A window that takes longer than this to be emptied is larger than it needs to be.
const SLOW: Duration = Duration::from_millis(400);
/// A node that holds this many bytes gets no more samples than it needs to be busy.
const MAX_BYTES: u64 = 64 << 20;

/// The window of one node.
#[derive(Debug)]
pub(crate) struct PullWindow {
    floor: u64,
    ceiling: u64,
    size: u64,
    answered: u64,
    round_began: Option<Instant>,
    /// Since when the node could not be given more, and how long that was before.
    full_since: Option<Instant>,
    full: Duration,
}

impl PullWindow {
    /// `floor`: samples that the node needs to be busy; `ceiling`: samples that it takes at most.
    pub(crate) fn new(floor: u64, ceiling: u64) -> PullWindow {
        let floor = floor.clamp(1, ceiling.max(1));
        PullWindow {
            floor,
            ceiling: ceiling.max(1),
            size: floor,
            answered: 0,
            round_began: None,
            full_since: None,
            full: Duration::ZERO,
        }
    }

    /// Returns the number of samples that the node may still be given at `now`, while it holds `outstanding` samples of
    /// `outstanding_bytes`.
    pub(crate) fn room(&mut self, outstanding: u64, outstanding_bytes: u64, now: Instant) -> u64 {
        let size = if outstanding_bytes >= MAX_BYTES { self.floor } else { self.size };
        let room = size.saturating_sub(outstanding);
        if room > 0 {
            self.full = self.full(now);
            self.full_since = None;
        } else {
            self.full_since.get_or_insert(now);
        }
        room
    }

    /// Returns the time up to `now` in which the node could be given no more. Offline fills every window at once, so
    /// this time alone says little. When the node has little to do in its round trips, it shows that the window is too
    /// small for the path.
    pub(crate) fn full(&self, now: Instant) -> Duration {
        self.full + self.full_since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since))
    }

    /// Tells the window that this many answers came at `now`.
    pub(crate) fn answered(&mut self, answers: u64, now: Instant) {
        let began = *self.round_began.get_or_insert(now);
        self.answered += answers;
        if self.answered < self.size {
            return;
        }
        let took = now.saturating_duration_since(began);
        if took < QUICK {
            self.size = (self.size * 2).min(self.ceiling);
        } else if took > SLOW {
            self.size = (self.size / 2).max(self.floor);
        }
        self.answered = 0;
        self.round_began = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use lon_net::clock;

    use super::*;

    #[test]
    fn a_quick_node_gets_more_and_a_slow_one_falls_back_to_its_need() {
        let start = clock::now();
        let mut window = PullWindow::new(16, 1000);
        assert_eq!(window.room(0, 0, start), 16);
        for round in 1..=10 {
            let room = window.room(0, 0, start);
            window.answered(room, start + Duration::from_millis(round));
        }
        assert_eq!(window.room(0, 0, start), 1000);
        for round in 1..=10 {
            let room = window.room(0, 0, start);
            window.answered(room, start + Duration::from_secs(round));
        }
        assert_eq!(window.room(0, 0, start), 16);
        assert_eq!(window.room(15, 0, start), 1);
        assert_eq!(window.room(17, 0, start), 0);
    }

    #[test]
    fn large_samples_hold_the_window_at_the_need() {
        let start = clock::now();
        let mut window = PullWindow::new(4, 1000);
        window.answered(4, start);
        window.answered(8, start);
        assert!(window.room(4, 0, start) > 0);
        assert_eq!(window.room(4, MAX_BYTES, start), 0);
        assert_eq!(window.room(3, MAX_BYTES, start), 1);
    }

    #[test]
    fn the_time_in_which_a_window_is_full_is_counted() {
        let start = clock::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut window = PullWindow::new(2, 4);
        assert_eq!((window.room(2, 0, at(20)), window.room(2, 0, at(30))), (0, 0));
        assert_eq!(window.full(at(50)), Duration::from_millis(30));
        assert_eq!(window.room(1, 0, at(60)), 1);
        assert_eq!(window.full(at(90)), Duration::from_millis(40));
    }
}
