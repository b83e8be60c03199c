//! Record of a simulation: the number of events, and a sum over all of them, by which two runs of a seed are compared.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use lon_net::clock;

/// Kind of an event.
#[derive(Clone, Copy, Debug)]
#[repr(u64)]
pub(crate) enum Happened {
    Connected = 1,
    Read,
    Written,
    Closed,
    Fault,
    Issued,
    Ended,
    Batch,
    Call,
}

/// The record of one simulation. Clones are the same record.
#[derive(Clone, Debug)]
pub(crate) struct Record(Arc<Counters>);

#[derive(Debug)]
struct Counters {
    began: Instant,
    events: AtomicU64,
    sum: AtomicU64,
    ids: AtomicU64,
    /// Everything that happens is printed.
    is_told: bool,
}

impl Record {
    /// A record that begins at the present time.
    pub(crate) fn new(is_told: bool) -> Record {
        let zero = || AtomicU64::new(0);
        Record(Arc::new(Counters { began: clock::now(), events: zero(), sum: zero(), ids: zero(), is_told }))
    }

    pub(crate) fn note(&self, what: Happened, who: u64, how_much: u64) {
        let at = clock::since(self.0.began).as_nanos() as u64;
        if self.0.is_told {
            println!("{:12.6} {what:?} {who} {how_much}", at as f64 / 1e9);
        }
        self.0.events.fetch_add(1, Relaxed);
        let mut sum = self.0.sum.load(Relaxed);
        for number in [at, what as u64, who, how_much] {
            sum = (sum ^ number).wrapping_mul(0x0000_0100_0000_01B3).rotate_left(23);
        }
        self.0.sum.store(sum, Relaxed);
    }

    /// Prints what is only known for a simulation that is told.
    pub(crate) fn tell(&self, what: impl FnOnce() -> String) {
        if self.0.is_told {
            println!("{}", what());
        }
    }

    pub(crate) fn next_id(&self) -> u64 {
        self.0.ids.fetch_add(1, Relaxed)
    }

    pub(crate) fn events(&self) -> u64 {
        self.0.events.load(Relaxed)
    }

    pub(crate) fn sum(&self) -> u64 {
        self.0.sum.load(Relaxed)
    }
}
