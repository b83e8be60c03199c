//! Counts of a test while it runs, for readers on other threads: the LoadGen node's `live` makes a picture of them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::failures::Failures;
use loadgen::recorder::Live;
use loadgen::run::TrialStart;

/// Counts that the world and the observer keep.
#[derive(Debug, Default)]
pub struct Counts {
    /// Queries that were issued.
    pub queries: AtomicU64,
    /// Samples handed to the QDL.
    pub issued: AtomicU64,
    /// Samples that ended, answered or failed.
    pub ended: AtomicU64,
    /// Those of them that failed.
    pub failures: Failures,
    /// Samples of the set that is being loaded; 0 when no set is being loaded.
    pub loading: AtomicU64,
    /// Number of samples of that set that are loaded already.
    pub loaded: AtomicU64,
    /// The number of the phase, from 1.
    pub phase: AtomicU64,
    /// The longest time that this end stood still in the phase, ns; 0 when it did not.
    pub longest_stall_ns: AtomicU64,
    /// Somebody reads the phases.
    watched: AtomicBool,
    /// Phases that have not been read to their end, in order. Their records take memory, so that they are kept only
    /// where they are read. Nobody takes the lock while samples are sent, except the reader.
    phases: Mutex<VecDeque<(PhaseNow, Live)>>,
}

/// A phase that has begun.
#[derive(Clone, Debug)]
pub struct PhaseNow {
    /// Its number, from 1.
    pub number: u64,
    /// All its answers are logged, and it is not judged.
    pub is_accuracy: bool,
    /// Samples that it will have issued at its end; none when time decides, not their number.
    pub planned_samples: Option<u64>,
    /// Least time that the phase will take. Absent where that is not known.
    pub planned: Option<Duration>,
    /// Samples of each of its queries.
    pub samples_per_query: u64,
    /// The trial of a search for the peak that it is.
    pub trial: Option<TrialStart>,
    /// Samples that were issued and that had ended before it.
    pub before: u64,
    /// When it began.
    pub began: Instant,
    /// Time that the phase took. Absent while it goes on.
    pub took: Option<Duration>,
}

impl Counts {
    /// From now on phases are kept until [`Counts::read`] has seen them to their end.
    pub fn watch(&self) {
        self.watched.store(true, Relaxed);
    }

    /// A phase begins. Its number is set here.
    pub fn begin_phase(&self, mut phase: PhaseNow, live: Live) {
        self.longest_stall_ns.store(0, Relaxed);
        phase.number = self.phase.fetch_add(1, Relaxed) + 1;
        let mut phases = self.phases();
        if !self.watched.load(Relaxed) {
            phases.clear();
        }
        phases.push_back((phase, live));
    }

    /// The phase that goes on has ended.
    pub fn end_phase(&self) {
        let mut phases = self.phases();
        match phases.back_mut() {
            Some((last, _)) if self.watched.load(Relaxed) => last.took = Some(last.began.elapsed()),
            _ => phases.clear(),
        }
    }

    /// Forgets the phase with this number, which was read to its end, and gives the one that is to be read with the
    /// records of its samples.
    pub fn read(&self, done: Option<u64>) -> Option<(PhaseNow, Live)> {
        let mut phases = self.phases();
        phases.retain(|(phase, _)| Some(phase.number) != done);
        phases.front().cloned()
    }

    fn phases(&self) -> MutexGuard<'_, VecDeque<(PhaseNow, Live)>> {
        self.phases.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes of this process that are in memory, as Linux reports them; 0 on other systems.
pub fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or_default().saturating_mul(1024)
}
