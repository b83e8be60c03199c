//! What this machine is, for `Describe`. Everything is best effort: what cannot be read is left empty.

use std::fs;
use std::path::Path;

use lon_net::nic::{self, Interface};
use lon_proto::v1::{Host, Nic};

/// Reads it anew; nothing here changes often enough to be worth keeping.
pub(crate) fn describe() -> Host {
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
        nics: nic::all().iter().map(nic).collect(),
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

/// An interface as the wire has it.
pub(crate) fn nic(interface: &Interface) -> Nic {
    let Interface { name, driver, speed_mbit_s, mtu_bytes } = interface.clone();
    Nic { name, driver, speed_mbit_s: speed_mbit_s.unwrap_or(0), mtu_bytes }
}
