//! The memory of a machine, as Linux counts it.

use std::fs;
use std::path::Path;

/// Bytes of memory in all; `None` on other systems.
pub fn total_bytes() -> Option<u64> {
    figure(Path::new("/proc"), "MemTotal:")
}

/// Bytes of memory that Linux expects to be able to give without swapping; `None` on other systems.
pub fn available_bytes() -> Option<u64> {
    available_under(Path::new("/proc"))
}

/// The same by the kernel's figures in this folder.
pub fn available_under(proc: &Path) -> Option<u64> {
    figure(proc, "MemAvailable:")
}

fn figure(proc: &Path, name: &str) -> Option<u64> {
    let text = fs::read_to_string(proc.join("meminfo")).ok()?;
    let figure = text.lines().find_map(|line| line.strip_prefix(name))?;
    figure.trim().strip_suffix(" kB")?.trim_end().parse::<u64>().ok()?.checked_mul(1024)
}
