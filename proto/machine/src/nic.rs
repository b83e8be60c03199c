//! Network interfaces as Linux shows them under `/sys/class/net`: what they are, what they have carried, and which of
//! them has an address.
//!
//! What the system does not say is empty or `None`. The counters are the interface's: they hold the traffic of all
//! programs, with the headers of every layer.

use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use lon_proto::text::printable;
use lon_proto::v1;
use serde::{Deserialize, Serialize};

/// Where Linux shows its interfaces.
const SYS_CLASS_NET: &str = "/sys/class/net";

/// A network interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interface {
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

/// The bytes that an interface has carried since it came up, frames of the link layer included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Number of bytes received.
    pub bytes_in: u64,
    /// Number of bytes sent.
    pub bytes_out: u64,
}

impl Traffic {
    /// The difference to an earlier reading; 0 when the counters began anew in between.
    pub fn since(self, earlier: Traffic) -> Traffic {
        Traffic {
            bytes_in: self.bytes_in.saturating_sub(earlier.bytes_in),
            bytes_out: self.bytes_out.saturating_sub(earlier.bytes_out),
        }
    }
}

/// The message in which a node describes an interface; a speed of 0 stands for one that is not known.
impl From<Interface> for v1::Nic {
    fn from(interface: Interface) -> v1::Nic {
        let Interface { name, driver, speed_mbit_s, mtu_bytes, link, device, firmware } = interface;
        let firmware = firmware.unwrap_or_default();
        v1::Nic { name, driver, speed_mbit_s: speed_mbit_s.unwrap_or(0), mtu_bytes, link, device, firmware }
    }
}

/// The interface that a node described, its texts made fit to be shown.
impl From<v1::Nic> for Interface {
    fn from(message: v1::Nic) -> Interface {
        Interface {
            name: printable(&message.name),
            driver: printable(&message.driver),
            speed_mbit_s: Some(message.speed_mbit_s).filter(|&speed| speed > 0),
            mtu_bytes: message.mtu_bytes,
            link: printable(&message.link),
            device: printable(&message.device),
            firmware: Some(printable(&message.firmware)).filter(|firmware| !firmware.is_empty()),
        }
    }
}

/// All interfaces, sorted by name.
pub fn all() -> Vec<Interface> {
    all_under(Path::new(SYS_CLASS_NET))
}

/// The interface that has this address, which connections from or to it pass. None for loopback addresses and for those
/// that no interface has.
pub fn routed(local: IpAddr) -> Option<Interface> {
    let local = local.to_canonical();
    if local.is_loopback() {
        return None;
    }
    let has_it = |entry: &nix::ifaddrs::InterfaceAddress| {
        let address = entry.address.as_ref()?;
        let v4 = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
        let v6 = address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip()));
        (v4.or(v6)? == local).then_some(())
    };
    let entry = nix::ifaddrs::getifaddrs().ok()?.find(|entry| has_it(entry).is_some())?;
    // An address may have a label of its own (`eth0:1`), which is not an interface.
    let name = entry.interface_name.split(':').next()?;
    interface(&Path::new(SYS_CLASS_NET).join(name))
}

/// The first address of IPv4 that this host has and others may reach it by. None on a host with loopback alone.
pub fn first_ipv4() -> Option<Ipv4Addr> {
    let address = |entry: nix::ifaddrs::InterfaceAddress| Some(entry.address?.as_sockaddr_in()?.ip());
    nix::ifaddrs::getifaddrs().ok()?.filter_map(address).find(|it| !it.is_loopback() && !it.is_unspecified())
}

/// The bytes that the interface of this name has carried.
pub fn traffic(name: &str) -> Option<Traffic> {
    traffic_under(Path::new(SYS_CLASS_NET), name)
}

fn all_under(root: &Path) -> Vec<Interface> {
    let Ok(entries) = fs::read_dir(root) else { return Vec::new() };
    let mut interfaces: Vec<Interface> = entries.flatten().filter_map(|entry| interface(&entry.path())).collect();
    interfaces.sort_by(|a, b| a.name.cmp(&b.name));
    interfaces
}

/// Reads an interface from its directory. `None` when the path is no interface's directory: bonding keeps a file among
/// them.
fn interface(path: &Path) -> Option<Interface> {
    let mtu_bytes = number(&path.join("mtu"))?;
    let driver = fs::read_link(path.join("device/driver")).ok();
    Some(Interface {
        name: path.file_name()?.to_string_lossy().into_owned(),
        driver: driver.and_then(|link| Some(link.file_name()?.to_string_lossy().into_owned())).unwrap_or_default(),
        // The kernel says -1, or fails, for links without a speed.
        speed_mbit_s: number(&path.join("speed")).filter(|&speed| speed > 0),
        mtu_bytes,
        link: link(path).to_owned(),
        device: device(&path.join("device")).unwrap_or_default(),
        firmware: firmware(&path.join("device/infiniband")),
    })
}

/// The kernel's number of the link layer (`ARPHRD_...`) in words. Radio looks like Ethernet or like no link layer at
/// all; what the kernel calls the device tells it.
fn link(path: &Path) -> &'static str {
    let uevent = fs::read_to_string(path.join("uevent")).unwrap_or_default();
    match uevent.lines().find_map(|line| line.strip_prefix("DEVTYPE=")) {
        Some("wlan") => return "IEEE 802.11",
        Some("wwan") => return "3GPP",
        _ => {}
    }
    match number::<u32>(&path.join("type")) {
        Some(1) => "Ethernet",
        Some(32) => "InfiniBand",
        _ => "",
    }
}

fn device(path: &Path) -> Option<String> {
    let id = |name| {
        let text = fs::read_to_string(path.join(name)).ok()?;
        Some(text.trim().strip_prefix("0x")?.to_owned())
    };
    let bus = fs::read_link(path.join("subsystem")).ok()?;
    Some(format!("{} {}:{}", bus.file_name()?.to_string_lossy(), id("vendor")?, id("device")?))
}

/// The firmware of the first RDMA device of an adapter, which is the adapter's.
fn firmware(path: &Path) -> Option<String> {
    let mut devices = fs::read_dir(path).ok()?.flatten();
    let version = fs::read_to_string(devices.next()?.path().join("fw_ver")).ok()?;
    Some(version.trim().to_owned())
}

fn traffic_under(root: &Path, name: &str) -> Option<Traffic> {
    let statistics = root.join(name).join("statistics");
    Some(Traffic { bytes_in: number(&statistics.join("rx_bytes"))?, bytes_out: number(&statistics.join("tx_bytes"))? })
}

fn number<T: std::str::FromStr>(path: &Path) -> Option<T> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, file: &str, text: &str) {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn interfaces_are_read_as_the_kernel_shows_them() {
        let sys = tempfile::tempdir().unwrap();
        let root = sys.path();
        put(root, "eth1/mtu", "9000\n");
        put(root, "eth1/speed", "100000\n");
        fs::create_dir_all(root.join("eth1/device")).unwrap();
        std::os::unix::fs::symlink("../../../bus/pci/drivers/mlx5_core", root.join("eth1/device/driver")).unwrap();
        std::os::unix::fs::symlink("../../../bus/pci", root.join("eth1/device/subsystem")).unwrap();
        put(root, "eth1/device/vendor", "0x15b3\n");
        put(root, "eth1/device/device", "0x101d\n");
        put(root, "eth1/type", "32\n");
        put(root, "eth1/device/infiniband/mlx5_0/fw_ver", "28.39.1002\n");
        put(root, "br0/mtu", "1500\n");
        put(root, "br0/speed", "-1\n");
        put(root, "bonding_masters", "\n");
        put(root, "br0/type", "1\n");
        for (name, kind, uevent) in [("wl0", 1, "DEVTYPE=wlan\nINTERFACE=wl0\n"), ("ww0", 65534, "DEVTYPE=wwan\n")] {
            put(root, &format!("{name}/mtu"), "1500\n");
            put(root, &format!("{name}/type"), &format!("{kind}\n"));
            put(root, &format!("{name}/uevent"), uevent);
        }
        let [br0, eth1] = ["br0", "eth1"].map(str::to_owned);
        let br0 = Interface { name: br0, mtu_bytes: 1500, link: "Ethernet".to_owned(), ..Interface::default() };
        let eth1 = Interface {
            name: eth1,
            driver: "mlx5_core".to_owned(),
            speed_mbit_s: Some(100_000),
            mtu_bytes: 9000,
            link: "InfiniBand".to_owned(),
            device: "pci 15b3:101d".to_owned(),
            firmware: Some("28.39.1002".to_owned()),
        };
        let radio = |name: &str, link: &str| {
            let (name, link) = (name.to_owned(), link.to_owned());
            Interface { name, mtu_bytes: 1500, link, ..Interface::default() }
        };
        assert_eq!(all_under(root), [br0, eth1, radio("wl0", "IEEE 802.11"), radio("ww0", "3GPP")]);
        assert_eq!(all_under(&root.join("missing")), []);
    }

    #[test]
    fn traffic_is_what_came_on_top() {
        let sys = tempfile::tempdir().unwrap();
        let root = sys.path();
        put(root, "eth0/statistics/rx_bytes", "1000\n");
        assert_eq!(traffic_under(root, "eth0"), None, "half of it is not enough");
        put(root, "eth0/statistics/tx_bytes", "18446744073709551615\n");
        let before = traffic_under(root, "eth0").unwrap();
        assert_eq!(before, Traffic { bytes_in: 1000, bytes_out: u64::MAX });
        put(root, "eth0/statistics/rx_bytes", "1500\n");
        put(root, "eth0/statistics/tx_bytes", "7\n");
        let after = traffic_under(root, "eth0").unwrap();
        assert_eq!(after.since(before), Traffic { bytes_in: 500, bytes_out: 0 });
        assert_eq!(traffic_under(root, "eth9"), None);
    }

    #[test]
    fn loopback_and_strangers_have_no_interface() {
        for address in ["127.0.0.1", "::1", "::ffff:127.0.0.1", "192.0.2.1"] {
            assert_eq!(routed(address.parse().unwrap()), None, "{address}");
        }
    }

    /// Checks that each address of this machine belongs to an interface that `all` lists and that counts.
    #[test]
    fn addresses_of_this_machine_have_interfaces() {
        let mine = nix::ifaddrs::getifaddrs().unwrap().filter_map(|entry| {
            let address = entry.address.as_ref()?.as_sockaddr_in().map(|address| address.ip());
            address.filter(|address| !address.is_loopback() && *address != Ipv4Addr::UNSPECIFIED)
        });
        for address in mine {
            let interface = routed(IpAddr::V4(address)).unwrap();
            assert!(traffic(&interface.name).is_some() && all().contains(&interface), "{address}: {interface:?}");
        }
    }
}
