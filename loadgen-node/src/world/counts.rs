//! What is counted while a test runs, for a display of its progress.

use std::sync::atomic::AtomicU64;

/// Counted by the world, read by the display.
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
    /// Samples of the set that is being loaded; 0 when none is,
    pub(crate) loading: AtomicU64,
    /// of which so many are ready.
    pub(crate) loaded: AtomicU64,
    /// Which phase it is, counted from 1; the display starts its clock anew with each.
    pub(crate) phase: AtomicU64,
}

/// What Linux says that this process has in memory; 0 elsewhere.
pub(crate) fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or_default().saturating_mul(1024)
}
