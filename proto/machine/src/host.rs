//! The description of a machine, read in the same way at both ends.
//!
//! What cannot be read is empty or 0.

use std::path::Path;
use std::{fmt, fs};

use lon_proto::limits::HOST_NONCE_BYTES;
use lon_proto::text::printable;
use lon_proto::v1;
use ring::hmac;
use serde::{Deserialize, Serialize};

use crate::accelerator::{self, Accelerator};
use crate::memory;
use crate::nic::{self, Interface};
use crate::processor::{self, Processors};
use crate::storage::{self, Storage};

/// The key of a machine's ids, random and the same for all nodes of one caller. See [`Machine::host_for`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostNonce(pub [u8; HOST_NONCE_BYTES]);

/// A machine. What its system does not tell is an empty text or 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Host {
    /// The name of the host.
    pub hostname: String,
    /// Identifies an installation of the operating system.
    pub machine_id: String,
    /// Changes at every boot: where it is equal at two ends, both run on one kernel.
    pub boot_id: String,
    /// Operating system, as it names itself.
    pub os: String,
    /// The release of the kernel.
    pub kernel: String,
    /// The model of the CPU.
    pub cpu: String,
    /// Cores that the program may use.
    pub cores: u32,
    /// Memory of the machine, bytes.
    pub memory_bytes: u64,
    /// Network interfaces, ordered by name.
    pub nics: Vec<Interface>,
    /// Devices that may compute beside the CPU, ordered by their places on the bus.
    #[serde(default)]
    pub accelerators: Vec<Accelerator>,
    /// Number of NUMA nodes; 0 where the system does not say.
    #[serde(default)]
    pub numa_nodes: u32,
    /// Its processors: how many, and of which kind.
    #[serde(default)]
    pub processors: Processors,
    /// Its disks together, without those that can be taken out.
    #[serde(default)]
    pub storage: Storage,
}

/// This machine, with ids that never leave it.
#[derive(Clone, PartialEq, Eq)]
pub struct Machine {
    /// The description of the machine, with empty ids.
    host: Host,
    /// The id of the installed operating system; it does not change at a boot.
    machine_id: String,
    /// The id of the running kernel: it changes at every boot.
    boot_id: String,
}

impl Machine {
    /// Read anew at each call.
    pub fn here() -> Machine {
        Machine { host: facts(), machine_id: line("/etc/machine-id"), boot_id: line("/proc/sys/kernel/random/boot_id") }
    }

    /// The machine as it is told to whoever chose the nonce: for its ids there are HMAC-SHA256 keyed with the nonce, in
    /// hexadecimal. Whoever compares machines under one nonce sees which are the same, and nothing else: no id can be
    /// had back, nor found again under another nonce.
    pub fn host_for(&self, nonce: &HostNonce) -> Host {
        let keyed = |what: &str, id: &str| match id.trim() {
            // systemd writes this text into images that are yet to become machines. It identifies no machine.
            "" | "uninitialized" => String::new(),
            id => {
                let key = hmac::Key::new(hmac::HMAC_SHA256, &nonce.0);
                hex::encode(hmac::sign(&key, format!("{what} {id}").as_bytes()))
            }
        };
        let (machine_id, boot_id) = (keyed("machine", &self.machine_id), keyed("boot", &self.boot_id));
        Host { machine_id, boot_id, ..self.host.clone() }
    }

    /// The machine as it is told where nobody compares it: without ids.
    pub fn without_ids(&self) -> Host {
        self.host.clone()
    }
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine").field("host", &self.host).finish_non_exhaustive()
    }
}

/// Reads the description of this machine, without its ids.
fn facts() -> Host {
    let uname = nix::sys::utsname::uname().ok();
    let part = |get: fn(&nix::sys::utsname::UtsName) -> &std::ffi::OsStr| {
        uname.as_ref().map(|u| get(u).to_string_lossy().into_owned()).unwrap_or_default()
    };
    Host {
        hostname: part(|u| u.nodename()),
        machine_id: String::new(),
        boot_id: String::new(),
        os: os_name(),
        kernel: part(|u| u.release()),
        cpu: field("/proc/cpuinfo", "model name").unwrap_or_default(),
        cores: std::thread::available_parallelism().map_or(0, |n| n.get() as u32),
        memory_bytes: memory::total_bytes().unwrap_or(0),
        nics: nic::all(),
        accelerators: accelerator::all(),
        numa_nodes: numa_nodes(),
        processors: processor::here(),
        storage: storage::here(),
    }
}

/// The message in which a node describes its machine.
impl From<Host> for v1::Host {
    fn from(host: Host) -> v1::Host {
        v1::Host {
            hostname: host.hostname,
            machine_id: host.machine_id,
            boot_id: host.boot_id,
            os: host.os,
            kernel: host.kernel,
            cpu: host.cpu,
            cores: host.cores,
            memory_bytes: host.memory_bytes,
            nics: host.nics.into_iter().map(v1::Nic::from).collect(),
            accelerators: host.accelerators.into_iter().map(v1::Accelerator::from).collect(),
            numa_nodes: host.numa_nodes,
            processors: Some(host.processors.into()),
            storage: Some(host.storage.into()),
        }
    }
}

/// The machine that a node described, its texts made fit to be shown.
impl From<v1::Host> for Host {
    fn from(message: v1::Host) -> Host {
        Host {
            hostname: printable(&message.hostname),
            machine_id: printable(&message.machine_id),
            boot_id: printable(&message.boot_id),
            os: printable(&message.os),
            kernel: printable(&message.kernel),
            cpu: printable(&message.cpu),
            cores: message.cores,
            memory_bytes: message.memory_bytes,
            nics: message.nics.into_iter().map(Interface::from).collect(),
            accelerators: message.accelerators.into_iter().map(Accelerator::from).collect(),
            numa_nodes: message.numa_nodes,
            processors: message.processors.map(Processors::from).unwrap_or_default(),
            storage: message.storage.map(Storage::from).unwrap_or_default(),
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

fn numa_nodes() -> u32 {
    let entries = fs::read_dir("/sys/devices/system/node").into_iter().flatten().flatten();
    let is_node = |name: &str| name.strip_prefix("node").is_some_and(|number| number.parse::<u32>().is_ok());
    entries.filter(|entry| is_node(&entry.file_name().to_string_lossy())).count() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_kernel_cores_and_memory() {
        let nonce = HostNonce([1; HOST_NONCE_BYTES]);
        let host = Machine::here().host_for(&nonce);
        assert!(!host.kernel.is_empty() && host.cores > 0 && host.memory_bytes > 1 << 20, "{host:?}");
        assert_eq!(host, Machine::here().host_for(&nonce));
        assert_eq!(Host::from(v1::Host::from(host.clone())), host);
    }

    #[test]
    fn ids_can_be_compared_under_one_nonce_and_not_beyond() {
        let machine = |machine_id: &str, boot_id: &str| {
            let (machine_id, boot_id) = (machine_id.to_owned(), boot_id.to_owned());
            Machine { host: Host::default(), machine_id, boot_id }
        };
        let [one, other] = [HostNonce([1; HOST_NONCE_BYTES]), HostNonce([2; HOST_NONCE_BYTES])];
        let a = machine("m1", "b1\n");
        assert_eq!(a.host_for(&one), machine("m1", "b1").host_for(&one));
        assert_ne!(a.host_for(&one).machine_id, machine("m2", "b1").host_for(&one).machine_id);
        assert_ne!(a.host_for(&one).boot_id, machine("m1", "b2").host_for(&one).boot_id);
        assert_ne!(a.host_for(&one).machine_id, a.host_for(&other).machine_id);
        // An id of one kind says nothing of the other kind.
        assert_ne!(machine("x", "x").host_for(&one).machine_id, machine("x", "x").host_for(&one).boot_id);
        let text = format!("{:?} {a:?}", a.host_for(&one));
        assert!(!text.contains("m1") && !text.contains("b1\\n"), "{text}");
        let unknown = machine("uninitialized", "").host_for(&one);
        assert_eq!((unknown.machine_id, unknown.boot_id), (String::new(), String::new()));
    }
}
