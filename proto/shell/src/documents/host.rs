//! A machine and its network interfaces, as `sut-node describe` and `system_desc.json` have them.

use lon_net::host::Host;
use lon_net::nic::Interface;
use serde::{Deserialize, Serialize};

/// A machine. What its system does not tell is an empty text or 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostDocument {
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
    pub nics: Vec<InterfaceDocument>,
}

/// A network interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterfaceDocument {
    /// The system's name for it.
    pub name: String,
    /// Driver of its device; empty for interfaces without a device (bridges, virtual pairs).
    pub driver: String,
    /// Rate that the driver claims, Mbit/s; null where it does not say.
    pub speed_mbit_s: Option<u64>,
    /// Largest packet, bytes.
    pub mtu_bytes: u32,
    /// What its links carry, where the rules have a word for it: `Ethernet`, `InfiniBand`; else empty.
    pub link: String,
    /// Bus and ids (vendor, device) of its device, for example `pci 15b3:101d`; empty for interfaces without one.
    pub device: String,
}

impl From<&Host> for HostDocument {
    fn from(host: &Host) -> HostDocument {
        let Host { hostname, machine_id, boot_id, os, kernel, cpu, cores, memory_bytes, nics } = host;
        HostDocument {
            hostname: hostname.clone(),
            machine_id: machine_id.clone(),
            boot_id: boot_id.clone(),
            os: os.clone(),
            kernel: kernel.clone(),
            cpu: cpu.clone(),
            cores: *cores,
            memory_bytes: *memory_bytes,
            nics: nics.iter().map(InterfaceDocument::from).collect(),
        }
    }
}

impl From<&Interface> for InterfaceDocument {
    fn from(interface: &Interface) -> InterfaceDocument {
        let Interface { name, driver, speed_mbit_s, mtu_bytes, link, device } = interface;
        InterfaceDocument {
            name: name.clone(),
            driver: driver.clone(),
            speed_mbit_s: *speed_mbit_s,
            mtu_bytes: *mtu_bytes,
            link: link.clone(),
            device: device.clone(),
        }
    }
}
