//! A machine and its network interfaces, as `sut-node describe` and `system_desc.json` have them.

use lon_net::accelerator::Accelerator;
use lon_net::host::Host;
use lon_net::nic::Interface;
use lon_net::processor::Processors;
use lon_net::storage::Storage;
use serde::{Deserialize, Serialize};

/// A machine. What its system does not tell is an empty text or 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// Devices that may compute beside the CPU, ordered by their places on the bus.
    #[serde(default)]
    pub accelerators: Vec<AcceleratorDocument>,
    /// Number of NUMA nodes; 0 where the system does not say.
    #[serde(default)]
    pub numa_nodes: u32,
    /// Its processors: how many, and of which kind.
    #[serde(default)]
    pub processors: ProcessorsDocument,
    /// Its disks together, without those that can be taken out.
    #[serde(default)]
    pub storage: StorageDocument,
}

/// The processors of a machine. What its system does not tell is an empty text or 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessorsDocument {
    /// Sockets that are in use.
    pub sockets: u32,
    /// Cores of the processor in one socket.
    pub cores_each: u32,
    /// The highest clock rate, MHz.
    pub max_mhz: u32,
    /// The caches that one core reaches, for example `L1d 48 KiB, L1i 64 KiB, L2 2048 KiB`.
    pub caches: String,
}

/// The disks of a machine together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StorageDocument {
    /// Total size of the disks, bytes; 0 where the system shows none.
    pub bytes: u64,
    /// Of which kinds they are, each once: `NVMe SSD`, `SSD`, `HDD`, `virtual disk`.
    pub kinds: String,
}

/// A device that may compute beside the CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AcceleratorDocument {
    /// Bus and ids (vendor, device), for example `pci 10de:2330`.
    pub device: String,
    /// The driver that has it; empty: none.
    pub driver: String,
    /// The version of the driver; empty where it does not say.
    pub driver_version: String,
}

/// A network interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterfaceDocument {
    /// The system's name for it.
    pub name: String,
    /// Driver of its device; empty for interfaces without a device (bridges, virtual pairs).
    pub driver: String,
    /// Rate that the driver claims, Mbit/s; null where it does not say.
    pub speed_mbit_s: Option<u64>,
    /// Largest packet, bytes.
    pub mtu_bytes: u32,
    /// Type of its links, where the rules have a word for it: `Ethernet`, `InfiniBand`, `IEEE 802.11`, `3GPP`; else
    /// empty.
    pub link: String,
    /// Bus and ids (vendor, device) of its device, for example `pci 15b3:101d`; empty for interfaces without one.
    pub device: String,
    /// The version of its firmware; null where the system does not show it.
    #[serde(default)]
    pub firmware: Option<String>,
}

impl From<&Host> for HostDocument {
    fn from(host: &Host) -> HostDocument {
        let Host { hostname, machine_id, boot_id, os, kernel, cpu, cores, memory_bytes, .. } = host;
        HostDocument {
            hostname: hostname.clone(),
            machine_id: machine_id.clone(),
            boot_id: boot_id.clone(),
            os: os.clone(),
            kernel: kernel.clone(),
            cpu: cpu.clone(),
            cores: *cores,
            memory_bytes: *memory_bytes,
            nics: host.nics.iter().map(InterfaceDocument::from).collect(),
            accelerators: host.accelerators.iter().map(AcceleratorDocument::from).collect(),
            numa_nodes: host.numa_nodes,
            processors: ProcessorsDocument::from(&host.processors),
            storage: StorageDocument::from(&host.storage),
        }
    }
}

impl From<&Processors> for ProcessorsDocument {
    fn from(processors: &Processors) -> ProcessorsDocument {
        let Processors { sockets, cores_each, max_mhz, caches } = processors.clone();
        ProcessorsDocument { sockets, cores_each, max_mhz, caches }
    }
}

impl From<&Storage> for StorageDocument {
    fn from(storage: &Storage) -> StorageDocument {
        let Storage { bytes, kinds } = storage.clone();
        StorageDocument { bytes, kinds }
    }
}

impl From<&Accelerator> for AcceleratorDocument {
    fn from(accelerator: &Accelerator) -> AcceleratorDocument {
        let Accelerator { device, driver, driver_version } = accelerator.clone();
        AcceleratorDocument { device, driver, driver_version }
    }
}

impl From<&Interface> for InterfaceDocument {
    fn from(interface: &Interface) -> InterfaceDocument {
        let Interface { name, driver, speed_mbit_s, mtu_bytes, link, device, firmware } = interface;
        InterfaceDocument {
            name: name.clone(),
            driver: driver.clone(),
            speed_mbit_s: *speed_mbit_s,
            mtu_bytes: *mtu_bytes,
            link: link.clone(),
            device: device.clone(),
            firmware: Some(firmware.clone()).filter(|firmware| !firmware.is_empty()),
        }
    }
}
