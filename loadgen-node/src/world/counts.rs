//! What is counted while a test runs, for a display of its progress.

use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

use loadgen::recorder::Live;

/// Counts that the world and the observer keep, and that a progress display reads.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Samples handed to the QDL.
    pub(crate) issued: AtomicU64,
    /// Samples that ended, answered or failed.
    pub(crate) ended: AtomicU64,
    /// Samples that will have been issued at the end of the phase; 0 when time decides, not their number.
    pub(crate) planned: AtomicU64,
    /// How long the phase will take at least, if that is known; else 0.
    pub(crate) planned_ns: AtomicU64,
    /// Samples of the set that is being loaded; 0 when no set is being loaded.
    pub(crate) loading: AtomicU64,
    /// How many samples of that set are loaded already.
    pub(crate) loaded: AtomicU64,
    /// The number of the phase, from 1. The display starts its clock again with each phase.
    pub(crate) phase: AtomicU64,
    /// The largest schedule lag of the phase, ns.
    pub(crate) max_lag_ns: AtomicU64,
    /// The records of the phase; nobody takes the lock while samples are sent, except the display.
    pub(crate) live: Mutex<Option<Live>>,
}

/// Bytes of this process that are in memory, as Linux reports them; 0 on other systems.
pub(crate) fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or_default().saturating_mul(1024)
}
