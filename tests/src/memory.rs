//! Memory of a process of this machine.

use std::fs;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Most memory that a node may take beyond that of an idle node, whatever clients send it, bytes.
pub const MOST_MORE_BYTES: u64 = 64 << 20;

/// Returns the resident memory of the process at present, bytes.
///
/// # Panics
/// There is no such process.
pub fn now_bytes(process: u32) -> u64 {
    read(process, "VmRSS:").expect("the process runs")
}

/// The most that it has had, in bytes.
///
/// # Panics
/// There is no such process.
pub fn most_bytes(process: u32) -> u64 {
    read(process, "VmHWM:").expect("the process runs")
}

/// The same of a process that will have ended when it is asked: looked at every few milliseconds until then.
pub struct Watch(JoinHandle<u64>);

impl Watch {
    /// Begins to look.
    pub fn begin(process: u32) -> Watch {
        // Once at least while it is certainly there.
        let mut most = read(process, "VmHWM:").unwrap_or_default();
        Watch(thread::spawn(move || {
            while let Some(bytes) = read(process, "VmHWM:") {
                most = most.max(bytes);
                thread::sleep(Duration::from_millis(2));
            }
            most
        }))
    }

    /// The most memory that the process had, in bytes. Waits until it has ended.
    ///
    /// # Panics
    /// It had ended before anyone looked.
    pub fn most_bytes(self) -> u64 {
        let most = self.0.join().expect("the thread ends");
        assert!(most > 0, "the process had ended before anyone looked");
        most
    }
}

/// Reads a memory figure of the process, bytes. Returns `None` when the process has ended.
fn read(process: u32, what: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let kib = status.lines().find_map(|line| line.strip_prefix(what))?;
    Some(kib.trim().trim_end_matches(" kB").parse::<u64>().ok()? << 10)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn what_was_taken_is_seen_afterwards() {
        let mut child = Command::new("sleep").arg("2").spawn().unwrap();
        let watch = Watch::begin(child.id());
        child.wait().unwrap();
        assert!(watch.most_bytes() > 1 << 16);
        let before = most_bytes(std::process::id());
        let taken = vec![1_u8; 300 << 20];
        assert!(most_bytes(std::process::id()) >= before + (taken.len() as u64 >> 1));
        assert!(now_bytes(std::process::id()) > 0);
    }
}
