//! Memory that samples may take at this node: one budget, and its shares.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use lon_proto::figures::bytes_of;

/// The memory that samples may take in all, as they come, decoded, and while a model computes. The node itself, its
/// model and the engine's own memory come on top.
///
/// | share | what it is for |
/// |---|---|
/// | a quarter | samples as they came, which wait |
/// | a quarter | samples that are inflated or decoded |
/// | half | inputs, intermediate values and outputs of models with free sizes |
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Memory {
    bytes: u64,
}

/// The error for a text that is not an amount of memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not an amount of memory: give bytes with a unit, such as 512MiB or 8GiB; 64MiB at least")]
pub struct MemoryError(String);

impl Memory {
    /// The least that a node can work with.
    pub const LEAST: Memory = Memory { bytes: 64 << 20 };

    /// So many bytes; none when they are fewer than [`Memory::LEAST`].
    pub fn new(bytes: u64) -> Option<Memory> {
        (bytes >= Memory::LEAST.bytes).then_some(Memory { bytes })
    }

    /// Half of what this process may have: of the limit of its control group, or else of the machine's memory.
    pub fn of_host() -> Memory {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let limits = group_files(&groups).filter_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok());
        // Without either, as on other systems, what a small machine has.
        let bytes = limits.chain(lon_machine::memory::total_bytes()).min().unwrap_or(4 << 30) / 2;
        Memory::new(bytes).unwrap_or(Memory::LEAST)
    }

    /// The share of one of `nodes` that share this memory; [`Memory::LEAST`] at least.
    pub fn shared_by(self, nodes: std::num::NonZeroUsize) -> Memory {
        Memory::new(self.bytes / nodes.get() as u64).unwrap_or(Memory::LEAST)
    }

    /// Bytes of samples as they came that may wait.
    pub(crate) fn waiting_bytes(self) -> u64 {
        self.bytes / 4
    }

    /// Bytes that samples may take while they are decoded, and until a model has taken them.
    pub(crate) fn decoding_bytes(self) -> u64 {
        self.bytes / 4
    }

    /// Bytes that one of `workers` may take for one run of a model.
    pub fn inference_bytes(self, workers: std::num::NonZeroUsize) -> u64 {
        self.bytes / 2 / workers.get() as u64
    }
}

impl FromStr for Memory {
    type Err = MemoryError;

    fn from_str(text: &str) -> Result<Memory, MemoryError> {
        // A number alone is bytes.
        let bytes = bytes_of(text).or_else(|| bytes_of(&format!("{text}B")));
        bytes.and_then(Memory::new).ok_or_else(|| MemoryError(text.to_owned()))
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} MiB", self.bytes >> 20)
    }
}

/// Gives memory that is free back to the operating system: the allocator keeps it for a while, and for ever on threads
/// that have nothing to do. Has no effect in programs with another allocator than mimalloc.
pub(crate) fn give_back() {
    // SAFETY: may be called on any thread at any time.
    #[allow(unsafe_code)]
    unsafe {
        libmimalloc_sys::mi_collect(true);
    }
}

/// The files with the limits of these control groups (the lines of `/proc/self/cgroup`), those of the groups around
/// them among them. In a container they may lie at the root instead.
fn group_files(groups: &str) -> impl Iterator<Item = PathBuf> {
    groups.lines().filter_map(|line| line.split_once(':')?.1.split_once(':')).flat_map(|(controllers, path)| {
        let (root, file) = match controllers {
            "" => (Path::new("/sys/fs/cgroup"), "memory.max"),
            _ => (Path::new("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"),
        };
        let is_memory = controllers.is_empty() || controllers.split(',').any(|name| name == "memory");
        let group = root.join(path.trim_start_matches('/'));
        let files = group.ancestors().filter(|folder| folder.starts_with(root)).map(|folder| folder.join(file));
        if is_memory { files.collect::<Vec<_>>() } else { Vec::new() }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_has_a_unit_and_is_enough_to_work_with() {
        for (text, bytes) in [("64MiB", 64 << 20), ("8GiB", 8 << 30), ("2G", 2 << 30), ("67108864", 64 << 20)] {
            assert_eq!(text.parse(), Ok(Memory { bytes }), "{text}");
        }
        for bad in ["", "63MiB", "8", "GiB", "-8GiB", "+67108864", "1.5GiB", "99999999999TiB", "8XB"] {
            let message = bad.parse::<Memory>().unwrap_err().to_string();
            assert!(message.starts_with(&format!("'{bad}' is not")), "{message}");
        }
        assert!(Memory::of_host() >= Memory::LEAST, "{}", Memory::of_host());
    }

    #[test]
    fn limits_are_looked_for_in_all_groups_around_this_process() {
        let files = |text: &str| group_files(text).map(|file| file.display().to_string()).collect::<Vec<_>>();
        assert_eq!(
            files("0::/a/b\n"),
            ["/sys/fs/cgroup/a/b/memory.max", "/sys/fs/cgroup/a/memory.max", "/sys/fs/cgroup/memory.max"]
        );
        assert_eq!(
            files("4:memory:/docker/x\n3:cpu,cpuacct:/docker/x\n"),
            [
                "/sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory/docker/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory/memory.limit_in_bytes",
            ]
        );
        assert!(files("rubbish\n").is_empty());
    }
}
