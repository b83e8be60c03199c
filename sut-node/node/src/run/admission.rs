//! Admission of samples: how much of a run the node holds at one time. Samples are admitted while there is room for
//! them.
//!
//! A sample takes its room when its first part is read, and gives it back when its answer has been handed to the
//! network. `work::reader` asks for it.

use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use crate::config::Limits;

/// The bounds of a run, and what it holds within them.
pub(crate) struct Admission {
    max_samples: u64,
    max_bytes: u64,
    load: Mutex<Load>,
    /// Signal for returned room that a reader waited for.
    room: Notify,
}

#[derive(Default)]
struct Load {
    samples: u64,
    bytes: u64,
    /// A reader found no room and waits until there is some.
    somebody_waits: bool,
}

impl Admission {
    /// No sample is held yet.
    pub(crate) fn new(limits: &Limits) -> Admission {
        let (max_samples, max_bytes) = (limits.max_samples_in_flight, limits.max_bytes_in_flight);
        Admission { max_samples, max_bytes, load: Mutex::default(), room: Notify::new() }
    }

    /// Admits a sample of `bytes` if the bounds allow it. One sample is always admitted to an empty node.
    pub(crate) fn try_admit(&self, bytes: u64) -> bool {
        let mut load = self.load.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = load.samples < self.max_samples && load.bytes.saturating_add(bytes) <= self.max_bytes;
        if fits || load.samples == 0 {
            load.samples += 1;
            load.bytes += bytes;
            return true;
        }
        load.somebody_waits = true;
        false
    }

    /// Waits for room and admits a sample of `bytes`. Returns false when `is_over` said so meanwhile.
    pub(crate) async fn admit(&self, bytes: u64, is_over: impl Fn() -> bool) -> bool {
        loop {
            // The registration precedes the check, so that room that is given back in between is not missed.
            let room = self.room.notified();
            if self.try_admit(bytes) {
                return true;
            }
            if is_over() {
                return false;
            }
            room.await;
        }
    }

    /// Gives back the room of so many samples, which were admitted with `bytes` in all.
    pub(crate) fn release(&self, samples: u64, bytes: u64) {
        if samples == 0 {
            return;
        }
        let mut load = self.load.lock().unwrap_or_else(PoisonError::into_inner);
        load.samples -= samples;
        load.bytes -= bytes;
        let somebody_waits = std::mem::take(&mut load.somebody_waits);
        drop(load);
        if somebody_waits {
            self.room.notify_waiters();
        }
    }

    /// Gives back the room of samples that were admitted with these sizes.
    pub(crate) fn release_all(&self, sizes: impl Iterator<Item = u64>) {
        let (samples, bytes) = sizes.fold((0, 0), |(samples, bytes), size| (samples + 1, bytes + size));
        self.release(samples, bytes);
    }

    /// The samples that the node holds just now, and their bytes.
    pub(crate) fn load(&self) -> (u64, u64) {
        let load = self.load.lock().unwrap_or_else(PoisonError::into_inner);
        (load.samples, load.bytes)
    }

    /// Returns true when no room is taken.
    pub(crate) fn is_empty(&self) -> bool {
        self.load() == (0, 0)
    }

    /// Has those who wait ask again whether all is over.
    pub(crate) fn ask_again(&self) {
        self.room.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admission(samples: u64, bytes: u64) -> Admission {
        let (max_samples_in_flight, max_bytes_in_flight) = (samples, bytes);
        Admission::new(&Limits { max_samples_in_flight, max_bytes_in_flight, ..Limits::default() })
    }

    #[test]
    fn both_bounds_hold_and_one_sample_always_fits() {
        let admission = admission(2, 100);
        assert!(admission.try_admit(1000), "an empty node takes any sample");
        assert!(!admission.try_admit(1), "the bytes are used up");
        admission.release(1, 1000);
        assert!(admission.try_admit(50) && admission.try_admit(50));
        assert!(!admission.try_admit(0), "the samples are used up");
        admission.release_all([50, 50].into_iter());
        assert!(admission.try_admit(100));
    }

    #[tokio::test]
    async fn who_waits_is_told_of_room_and_of_the_end() {
        let admission = admission(1, 100);
        assert!(admission.try_admit(1));
        let give_back = async {
            tokio::task::yield_now().await;
            admission.release(1, 1);
        };
        assert!(tokio::join!(admission.admit(7, || false), give_back).0);
        assert!(!admission.admit(7, || true).await, "no room, and the run is over");
    }
}
