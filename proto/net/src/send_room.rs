//! The room of sockets: the time that writes waited, the time that the way was full, and the bytes that it carried
//! meanwhile.
//!
//! A writer that waits costs two readings of the clock. The kernel is asked at most ten times a second.
//!
//! A connection counts as *full* from one look at it to the next when writes waited for most of that time; or when the
//! kernel was busy for most of it and had bytes that it could not send yet at both looks. The second is needed where a
//! send buffer holds all that may be in flight, so that no write ever waits. A way that is only long does not count:
//! there the kernel has sent what it has, and waits.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::clock;
use crate::tcp_info::TcpInfo;

/// The part of the time between two looks that counts as most of it.
const MOST: f64 = 0.8;

/// The outcome of the writes to one node, over all its connections together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// The time that writes waited because the socket took no more.
    pub blocked: Duration,
    /// The time that connections were full.
    pub full: Duration,
    /// The bytes that the other end took while they were full.
    pub full_bytes: u64,
    /// The time that the kernel had something to send, or to have acknowledged; zero where the kernel does not report
    /// it.
    pub busy: Duration,
    /// The part of `busy` in which the other end's receive window kept the kernel from sending.
    pub receiver_limited: Duration,
    /// The part of `busy` in which this end's send buffer kept the kernel from sending.
    pub buffer_limited: Duration,
    /// The rate at which a connection delivered last, in bytes a second; 0 where it is not known.
    pub delivery_bytes_per_s: u64,
}

impl Room {
    /// Returns the counts since `before`, with the last delivery rate.
    #[must_use]
    pub fn since(self, before: Room) -> Room {
        let Room { blocked, full, full_bytes, busy, receiver_limited, buffer_limited, delivery_bytes_per_s } = self;
        Room {
            blocked: blocked.saturating_sub(before.blocked),
            full: full.saturating_sub(before.full),
            full_bytes: full_bytes.saturating_sub(before.full_bytes),
            busy: busy.saturating_sub(before.busy),
            receiver_limited: receiver_limited.saturating_sub(before.receiver_limited),
            buffer_limited: buffer_limited.saturating_sub(before.buffer_limited),
            delivery_bytes_per_s,
        }
    }
}

/// The counters behind a [`Room`].
#[derive(Debug, Default)]
pub(crate) struct RoomCounters {
    blocked_ns: AtomicU64,
    full_ns: AtomicU64,
    full_bytes: AtomicU64,
    busy_us: AtomicU64,
    receiver_us: AtomicU64,
    buffer_us: AtomicU64,
    delivery_bytes_per_s: AtomicU64,
}

impl RoomCounters {
    /// Returns the counts until now.
    pub(crate) fn read(&self) -> Room {
        let ns = |count: &AtomicU64| Duration::from_nanos(count.load(Relaxed));
        let us = |count: &AtomicU64| Duration::from_micros(count.load(Relaxed));
        Room {
            blocked: ns(&self.blocked_ns),
            full: ns(&self.full_ns),
            full_bytes: self.full_bytes.load(Relaxed),
            busy: us(&self.busy_us),
            receiver_limited: us(&self.receiver_us),
            buffer_limited: us(&self.buffer_us),
            delivery_bytes_per_s: self.delivery_bytes_per_s.load(Relaxed),
        }
    }
}

/// One connection between two looks at it.
#[derive(Debug)]
pub(crate) struct Looked {
    at: Instant,
    info: TcpInfo,
    /// Since when a write waits.
    blocked_since: Option<Instant>,
    /// The time that writes have waited since the look.
    blocked: Duration,
}

impl Looked {
    pub(crate) fn new() -> Looked {
        Looked { at: clock::now(), info: TcpInfo::default(), blocked_since: None, blocked: Duration::ZERO }
    }

    /// Returns the time since the last look.
    pub(crate) fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.at)
    }

    /// A write waits from now on.
    pub(crate) fn blocks(&mut self) {
        self.blocked_since.get_or_insert_with(clock::now);
    }

    /// A write has gone through.
    #[inline]
    pub(crate) fn wrote(&mut self, counters: &RoomCounters) {
        if let Some(since) = self.blocked_since.take() {
            self.waited(since, clock::now(), counters);
        }
    }

    fn waited(&mut self, since: Instant, now: Instant, counters: &RoomCounters) {
        let waited = now.saturating_duration_since(since);
        self.blocked += waited;
        counters.blocked_ns.fetch_add(waited.as_nanos() as u64, Relaxed);
    }

    /// Counts what is new since the last look. Returns what was known then.
    pub(crate) fn look(&mut self, now: Instant, info: TcpInfo, counters: &RoomCounters) -> TcpInfo {
        if let Some(since) = self.blocked_since {
            self.waited(since, now, counters);
            self.blocked_since = Some(now);
        }
        let (before, took) = (std::mem::replace(&mut self.info, info), self.age(now));
        let new = |of: fn(&TcpInfo) -> u64| of(&info).saturating_sub(of(&before));
        let busy_us = new(|info| info.busy_us);
        counters.busy_us.fetch_add(busy_us, Relaxed);
        counters.receiver_us.fetch_add(new(|info| info.receiver_us), Relaxed);
        counters.buffer_us.fetch_add(new(|info| info.buffer_us), Relaxed);
        counters.delivery_bytes_per_s.store(info.delivery_bytes_per_s, Relaxed);
        let is_most = |of: Duration| of.as_secs_f64() >= MOST * took.as_secs_f64();
        let is_backlogged = before.unsent_bytes > 0 && info.unsent_bytes > 0;
        let is_full = is_most(self.blocked) || is_backlogged && is_most(Duration::from_micros(busy_us));
        if is_full && !took.is_zero() {
            counters.full_ns.fetch_add(took.as_nanos() as u64, Relaxed);
            counters.full_bytes.fetch_add(new(|info| info.acked_bytes), Relaxed);
        }
        (self.at, self.blocked) = (now, Duration::ZERO);
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOK: Duration = Duration::from_millis(100);

    fn info(looks: u64, busy_us: u64, unsent_bytes: u32) -> TcpInfo {
        TcpInfo { acked_bytes: looks * 1_000, busy_us: looks * busy_us, unsent_bytes, ..TcpInfo::default() }
    }

    /// The full time after so many looks at a connection whose kernel was busy so long between them.
    fn full(looks: u64, busy_us: u64, unsent_bytes: u32) -> (Duration, u64) {
        let (counters, mut looked) = (RoomCounters::default(), Looked::new());
        let start = looked.at;
        for look in 1..=looks {
            looked.look(start + LOOK * look as u32, info(look, busy_us, unsent_bytes), &counters);
        }
        (counters.read().full, counters.read().full_bytes)
    }

    #[test]
    fn a_way_is_full_when_the_kernel_is_busy_and_has_more() {
        assert_eq!(full(5, 99_000, 7), (LOOK * 4, 4_000), "the first look has none before it");
        assert_eq!(full(5, 99_000, 0).0, Duration::ZERO, "a long way, or a slow node");
        assert_eq!(full(5, 20_000, 7).0, Duration::ZERO, "now and then a large sample");
    }

    #[test]
    fn writes_that_wait_make_it_full_while_they_wait_and_are_counted_once() {
        let (counters, mut looked) = (RoomCounters::default(), Looked::new());
        let start = looked.at;
        looked.blocked_since = Some(start);
        looked.look(start + LOOK, info(1, 0, 0), &counters);
        assert_eq!((counters.read().blocked, counters.read().full), (LOOK, LOOK));
        looked.waited(start + LOOK, start + LOOK * 3 / 2, &counters);
        looked.blocked_since = None;
        looked.look(start + LOOK * 2, info(2, 0, 0), &counters);
        assert_eq!((counters.read().blocked, counters.read().full), (LOOK * 3 / 2, LOOK), "half of it is not most");
    }
}
