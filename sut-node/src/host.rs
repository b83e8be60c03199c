//! What this machine is, for `Describe`. Everything is best effort: what cannot be read is left empty.

use std::fs;
use std::path::Path;

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
        nics: nics(),
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

fn nics() -> Vec<Nic> {
    let Ok(entries) = fs::read_dir("/sys/class/net") else { return Vec::new() };
    let mut nics: Vec<Nic> = entries.flatten().map(|entry| nic(&entry.path())).collect();
    nics.sort_by(|a, b| a.name.cmp(&b.name));
    nics
}

fn nic(path: &Path) -> Nic {
    let driver = fs::read_link(path.join("device/driver")).ok();
    Nic {
        name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        driver: driver.and_then(|link| Some(link.file_name()?.to_string_lossy().into_owned())).unwrap_or_default(),
        // The kernel says -1 for links without a speed.
        speed_mbit_s: line(path.join("speed")).parse().unwrap_or(0),
        mtu_bytes: line(path.join("mtu")).parse().unwrap_or(0),
    }
}
