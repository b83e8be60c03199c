//! What a machine is, read in the same way at both ends.
//!
//! What cannot be read is empty or 0.

use std::fs;
use std::path::Path;

use lon_proto::text::printable;
use lon_proto::v1;

use crate::nic::{self, Interface};

/// A machine that takes part in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// The name of the host.
    pub hostname: String,
    /// The id of the installed operating system; it does not change at a boot.
    pub machine_id: String,
    /// The id of the running kernel: it changes at every boot, and two ends on one host have the same.
    pub boot_id: String,
    /// The operating system, as it calls itself.
    pub os: String,
    /// The release of the kernel.
    pub kernel: String,
    /// The model of the CPU.
    pub cpu: String,
    /// Number of cores that this program may use.
    pub cores: u32,
    /// Memory of the machine, in bytes.
    pub memory_bytes: u64,
    /// The network interfaces, sorted by name.
    pub nics: Vec<Interface>,
}

impl Host {
    /// This machine, read anew at each call.
    pub fn here() -> Host {
        let uname = nix::sys::utsname::uname().ok();
        let part = |get: fn(&nix::sys::utsname::UtsName) -> &std::ffi::OsStr| {
            uname.as_ref().map(|u| get(u).to_string_lossy().into_owned()).unwrap_or_default()
        };
        Host {
            hostname: part(|u| u.nodename()),
            machine_id: line("/etc/machine-id"),
            boot_id: line("/proc/sys/kernel/random/boot_id"),
            os: os_name(),
            kernel: part(|u| u.release()),
            cpu: field("/proc/cpuinfo", "model name").unwrap_or_default(),
            cores: std::thread::available_parallelism().map_or(0, |n| n.get() as u32),
            memory_bytes: memory_bytes(),
            nics: nic::all(),
        }
    }
}

/// The message in which a node describes its machine.
impl From<Host> for v1::Host {
    fn from(host: Host) -> v1::Host {
        let Host { hostname, machine_id, boot_id, os, kernel, cpu, cores, memory_bytes, nics } = host;
        let nics = nics.into_iter().map(v1::Nic::from).collect();
        v1::Host { hostname, machine_id, boot_id, os, kernel, cpu, cores, memory_bytes, nics }
    }
}

/// The machine that a node described, its texts made fit to be shown.
impl From<v1::Host> for Host {
    fn from(told: v1::Host) -> Host {
        Host {
            hostname: printable(&told.hostname),
            machine_id: printable(&told.machine_id),
            boot_id: printable(&told.boot_id),
            os: printable(&told.os),
            kernel: printable(&told.kernel),
            cpu: printable(&told.cpu),
            cores: told.cores,
            memory_bytes: told.memory_bytes,
            nics: told.nics.into_iter().map(Interface::from).collect(),
        }
    }
}

fn line(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default()
}

/// The value of the first `name : value` line.
fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let value = |line: &str| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    };
    text.lines().find_map(value)
}

fn os_name() -> String {
    let text = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let pretty = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    pretty.map(|name| name.trim_matches('"').to_owned()).unwrap_or_default()
}

fn memory_bytes() -> u64 {
    let kib = field("/proc/meminfo", "MemTotal").and_then(|text| text.strip_suffix(" kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_kernel_cores_and_memory() {
        let host = Host::here();
        assert!(!host.kernel.is_empty() && host.cores > 0 && host.memory_bytes > 1 << 20, "{host:?}");
        assert_eq!(host, Host::here());
        assert_eq!(Host::from(v1::Host::from(host.clone())), host);
    }
}
