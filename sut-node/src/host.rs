//! What this machine is, as `Describe` says it.

use lon_net::host;
use lon_net::nic::Interface;
use lon_proto::v1::{Host, Nic};

pub(crate) fn describe() -> Host {
    let host::Host { hostname, machine_id, boot_id, os, kernel, cpu, cores, memory_bytes, nics } = host::Host::here();
    let nics = nics.into_iter().map(nic).collect();
    Host { hostname, machine_id, boot_id, os, kernel, cpu, cores, memory_bytes, nics }
}

/// An interface as the wire has it.
pub(crate) fn nic(interface: Interface) -> Nic {
    let Interface { name, driver, speed_mbit_s, mtu_bytes, link, device } = interface;
    Nic { name, driver, speed_mbit_s: speed_mbit_s.unwrap_or(0), mtu_bytes, link, device }
}
