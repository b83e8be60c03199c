//! A seam for tests: what is done to files can be made to fail, at one place or from one place on. Outside tests it is
//! nothing.

use std::io;

/// When operations fail.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    #[cfg(test)]
    schedule: Option<std::sync::Arc<Schedule>>,
}

#[cfg(test)]
#[derive(Debug)]
struct Schedule {
    done: std::sync::atomic::AtomicUsize,
    failing: std::ops::Range<usize>,
}

impl Faults {
    /// Passes the next operation, or fails in its place.
    ///
    /// # Errors
    /// In tests: the disk is full, says this.
    #[inline]
    #[cfg_attr(not(test), allow(clippy::unused_self, clippy::unnecessary_wraps, reason = "only tests have faults"))]
    pub(crate) fn next(&self) -> io::Result<()> {
        #[cfg(test)]
        if let Some(schedule) = &self.schedule {
            let number = schedule.done.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            if schedule.failing.contains(&number) {
                return Err(io::ErrorKind::StorageFull.into());
            }
        }
        Ok(())
    }

    /// Operations with these numbers fail; the first has number 0.
    #[cfg(test)]
    pub(crate) fn at(failing: std::ops::Range<usize>) -> Faults {
        Faults { schedule: Some(std::sync::Arc::new(Schedule { done: 0.into(), failing })) }
    }

    /// Returns the number of operations so far.
    #[cfg(test)]
    pub(crate) fn operations(&self) -> usize {
        self.schedule.as_ref().map_or(0, |schedule| schedule.done.load(std::sync::atomic::Ordering::SeqCst))
    }
}
