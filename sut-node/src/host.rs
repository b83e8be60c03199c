//! The machine that a node runs on, as `Describe` and `EndRun` tell it.

use lon_net::host;
use lon_net::nic::Interface;
use lon_proto::v1::{Host, Nic};

/// This machine as a message of `lon.v1`.
pub(crate) fn message(host: host::Host) -> Host {
    let host::Host { hostname, machine_id, boot_id, os, kernel, cpu, cores, memory_bytes, nics } = host;
    let nics = nics.into_iter().map(nic).collect();
    Host { hostname, machine_id, boot_id, os, kernel, cpu, cores, memory_bytes, nics }
}

/// A network interface as a message of `lon.v1`. A speed that the driver does not claim is 0.
pub(crate) fn nic(interface: Interface) -> Nic {
    let Interface { name, driver, speed_mbit_s, mtu_bytes, link, device } = interface;
    Nic { name, driver, speed_mbit_s: speed_mbit_s.unwrap_or(0), mtu_bytes, link, device }
}
