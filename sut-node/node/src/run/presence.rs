//! Presence of a run's client: whether anything still comes from it, on any of its streams.
//!
//! Silence is counted in looks, not in time: when this process was stopped for a while, what the client sent meanwhile
//! is read before the next look. A stream that is not read, because the node has no room, counts as heard.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::time::Duration;

use lon_proto::limits::CLIENT_SILENCE;

/// Time between two looks.
pub(crate) const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Signs of life of a run's client.
#[derive(Debug, Default)]
pub(crate) struct Presence {
    /// Looks in a row at which nothing had come.
    quiet_looks: AtomicU32,
    /// Readers that do not read just now.
    not_reading: AtomicUsize,
}

impl Presence {
    /// Something came from the client. Costs a look at memory that is rarely written.
    pub(crate) fn heard(&self) {
        if self.quiet_looks.load(Relaxed) > 0 {
            self.quiet_looks.store(0, Relaxed);
        }
    }

    /// A reader does not read until what is returned is dropped.
    pub(crate) fn not_reading(&self) -> NotReading<'_> {
        self.not_reading.fetch_add(1, SeqCst);
        NotReading(self)
    }

    /// Looks once more; true when the client has been silent for as long as it may be. To be called every
    /// [`LOOK_INTERVAL`].
    pub(crate) fn is_silent(&self) -> bool {
        if self.not_reading.load(SeqCst) > 0 {
            self.heard();
            return false;
        }
        let quiet = LOOK_INTERVAL * (self.quiet_looks.fetch_add(1, Relaxed) + 1);
        quiet > CLIENT_SILENCE
    }
}

/// A reader that does not read.
pub(crate) struct NotReading<'a>(&'a Presence);

impl Drop for NotReading<'_> {
    fn drop(&mut self) {
        self.0.heard();
        self.0.not_reading.fetch_sub(1, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of looks until the client counts as silent.
    fn looks(presence: &Presence) -> usize {
        1 + std::iter::repeat_with(|| presence.is_silent()).take(1_000).take_while(|silent| !silent).count()
    }

    #[test]
    fn a_client_is_silent_after_a_time_without_a_sign_and_a_sign_begins_it_anew() {
        let presence = Presence::default();
        let all = CLIENT_SILENCE.as_secs() as usize + 1;
        assert_eq!(looks(&presence), all);
        presence.heard();
        assert!((1..all).all(|_| !presence.is_silent()));
        presence.heard();
        assert_eq!(looks(&presence), all);
    }

    #[test]
    fn a_stream_that_is_not_read_says_nothing_of_its_client() {
        let presence = Presence::default();
        let waits = presence.not_reading();
        assert!((0..100).all(|_| !presence.is_silent()));
        drop(waits);
        assert!(looks(&presence) > 1);
    }
}
