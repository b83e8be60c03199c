//! Hosts that are network namespaces, joined by a switch in a namespace of its own, each behind a link of a known rate.
//!
//! ```text
//!  host 0: eth0 10.77.0.1 ──── port 0 ┐
//!  host 1: eth0 10.77.0.2 ──── port 1 ┤ br0      every link: tbf at both of its ends
//!  host 2: eth0 10.77.0.3 ──── port 2 ┘
//! ```
//!
//! Nothing of it shows on the machine: no interface, no address, no rule outside the namespaces. It takes root and
//! iproute2. Fabrics of one process exist one at a time, so that what is measured on one is not disturbed by another.
//! Delay and loss cannot be had here, only rates (`netem` is not in every kernel).

mod ip;
mod leftovers;

use std::net::Ipv4Addr;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

/// Most hosts of one fabric.
pub const MAX_HOSTS: usize = 6;

/// What programs are called with that must be there.
const TOOLS: [&str; 3] = ["ip", "tc", "iperf3"];

/// Longest that a packet waits in front of a shaped link: enough for TCP to fill it, too little for a heartbeat to be
/// missed.
const QUEUE: &str = "25ms";

/// What a shaped link may send at once: a millisecond of its rate, so that the sender's timers may be late by that,
const BURST_BYTES_PER_MBIT_S: u32 = 125;
/// and at least this much.
const LEAST_BURST_BYTES: u32 = 32 << 10;

/// Bytes of an Ethernet frame at this MTU.
pub const FRAME_BYTES: u64 = 1514;

/// What a fabric is to be.
#[derive(Clone, Copy, Debug)]
pub struct FabricSpec {
    /// Number of hosts, 2 to [`MAX_HOSTS`].
    pub hosts: usize,
    /// What each host's link carries in each direction; as much as the machine can unless given.
    pub rate_mbit_s: Option<u32>,
}

/// Hosts on a switch. Everything is gone when it is dropped, processes in its hosts included.
#[derive(Debug)]
pub struct Fabric {
    hosts: Vec<Host>,
    switch: Namespace,
    namespaces: Vec<Namespace>,
    // Last: the next fabric may begin when all of this one is gone.
    _alone: MutexGuard<'static, ()>,
}

/// A host: a namespace with one interface.
#[derive(Clone, Debug)]
pub struct Host {
    namespace: String,
    port: String,
    address: Ipv4Addr,
}

/// What has crossed a host's interface, Ethernet's heads included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Bytes that came.
    pub rx_bytes: u64,
    /// Packets that came.
    pub rx_packets: u64,
    /// Bytes that left.
    pub tx_bytes: u64,
    /// Packets that left.
    pub tx_packets: u64,
}

impl Counters {
    /// What was added to `earlier`.
    pub fn since(self, earlier: Counters) -> Counters {
        Counters {
            rx_bytes: self.rx_bytes - earlier.rx_bytes,
            rx_packets: self.rx_packets - earlier.rx_packets,
            tx_bytes: self.tx_bytes - earlier.tx_bytes,
            tx_packets: self.tx_packets - earlier.tx_packets,
        }
    }
}

/// A network namespace that goes when it is dropped, with the processes in it.
#[derive(Debug)]
struct Namespace(String);

impl Namespace {
    fn new(name: String) -> Namespace {
        ip::must("ip", &["netns", "add", &name]);
        Namespace(name)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        leftovers::remove(&self.0);
    }
}

static ALONE: Mutex<()> = Mutex::new(());
static NUMBER: AtomicU32 = AtomicU32::new(0);

impl Fabric {
    /// Builds it, once no other fabric of this process is left.
    ///
    /// # Panics
    /// It is not permitted here (see [`Fabric::permitted`]), or `spec` makes no sense.
    pub fn new(spec: FabricSpec) -> Fabric {
        assert!((2..=MAX_HOSTS).contains(&spec.hosts), "2 to {MAX_HOSTS} hosts, not {}", spec.hosts);
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(why) = Fabric::permitted() {
            panic!("no network namespaces here ({why}): run this test as root, with iproute2 and iperf3 installed");
        }
        leftovers::sweep();
        let name = leftovers::name(NUMBER.fetch_add(1, Relaxed));
        let switch = Namespace::new(format!("{name}-sw"));
        ip::must("ip", &["-n", &switch.0, "link", "add", "br0", "type", "bridge"]);
        ip::up(&switch.0, "br0");
        // Whatever fails from here on, what was made so far is dropped.
        let mut fabric = Fabric { hosts: Vec::new(), switch, namespaces: Vec::new(), _alone: alone };
        for number in 0..spec.hosts {
            fabric.add_host(&name, number);
        }
        if let Some(rate_mbit_s) = spec.rate_mbit_s {
            for host in &fabric.hosts {
                shape(&host.namespace, "eth0", rate_mbit_s);
                shape(&fabric.switch.0, &host.port, rate_mbit_s);
            }
        }
        fabric
    }

    /// Whether this process may make namespaces, and has what it takes; if not, why.
    ///
    /// # Errors
    /// What is missing.
    pub fn permitted() -> Result<(), String> {
        for tool in TOOLS {
            Command::new(tool).arg("-V").output().map_err(|error| format!("{tool}: {error}"))?;
        }
        let trial = leftovers::name(NUMBER.fetch_add(1, Relaxed));
        ip::run("ip", &["netns", "add", &trial])?;
        leftovers::remove(&trial);
        Ok(())
    }

    fn add_host(&mut self, fabric: &str, number: usize) {
        let namespace = format!("{fabric}-h{number}");
        self.namespaces.push(Namespace::new(namespace.clone()));
        let (switch, port) = (self.switch.0.as_str(), format!("port{number}"));
        let address = address(number);
        let ends = ["link", "add", "eth0", "netns", &namespace, "type", "veth", "peer", "name", &port, "netns", switch];
        ip::must("ip", &ends);
        ip::must("ip", &["-n", switch, "link", "set", "dev", &port, "master", "br0"]);
        ip::up(switch, &port);
        ip::up(&namespace, "lo");
        ip::up(&namespace, "eth0");
        ip::must("ip", &["-n", &namespace, "address", "add", &format!("{address}/24"), "dev", "eth0"]);
        self.hosts.push(Host { namespace, port, address });
    }

    /// All hosts.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// One of them, from 0.
    pub fn host(&self, number: usize) -> &Host {
        &self.hosts[number]
    }

    /// The names of all that it consists of.
    pub fn namespaces(&self) -> impl Iterator<Item = &str> {
        self.hosts.iter().map(|host| host.namespace.as_str()).chain([self.switch.0.as_str()])
    }

    /// Pulls a host's cable, at the switch's end.
    pub fn cut(&self, host: &Host) {
        ip::must("ip", &["-n", &self.switch.0, "link", "set", "dev", &host.port, "down"]);
    }

    /// Puts it back.
    pub fn heal(&self, host: &Host) {
        ip::must("ip", &["-n", &self.switch.0, "link", "set", "dev", &host.port, "up"]);
    }

    /// Bounds what a host's link carries in each direction, or lets it carry what the machine can.
    pub fn reshape(&self, host: &Host, rate_mbit_s: Option<u32>) {
        for (namespace, interface) in [(host.namespace.as_str(), "eth0"), (&self.switch.0, &host.port)] {
            // An error: it had no bounds.
            let _ = ip::run("tc", &["-n", namespace, "qdisc", "delete", "dev", interface, "root"]);
            if let Some(rate_mbit_s) = rate_mbit_s {
                shape(namespace, interface, rate_mbit_s);
            }
        }
    }
}

impl Host {
    /// A program that will run here.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        // `ip` becomes the program: its process id is the program's.
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace]).arg(program);
        command
    }

    /// What a program of this host is started under to be on a machine of its own: with a host name, a machine id and
    /// a boot id that no other host has.
    pub fn own_machine(&self) -> [String; 6] {
        let name = &self.namespace;
        let as_file = |path: &str| {
            format!(
                "file=$(mktemp); echo {name}-{path} | sha256sum | head -c 32 >$file; \
             mount --bind $file {path}; rm $file"
            )
        };
        let files = ["/etc/machine-id", "/proc/sys/kernel/random/boot_id"].map(as_file).join("; ");
        let script = format!("set -e; hostname {name}; {files}; exec \"$0\" \"$@\"");
        ["unshare", "--uts", "--mount", "sh", "-c", &script].map(str::to_owned)
    }

    /// The processes that run here.
    pub fn processes(&self) -> Vec<u32> {
        let listed = ip::run("ip", &["netns", "pids", &self.namespace]).unwrap_or_default();
        listed.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
    }

    /// Its address on the fabric.
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// What has crossed its interface so far.
    pub fn counters(&self) -> Counters {
        let link = ip::json("ip", &["-n", &self.namespace, "-s", "-j", "link", "show", "dev", "eth0"]);
        let count = |direction: &str, what: &str| {
            let value = link.pointer(&format!("/0/stats64/{direction}/{what}")).and_then(Value::as_u64);
            value.unwrap_or_else(|| panic!("no {direction} {what} in what ip says of eth0: {link}"))
        };
        Counters {
            rx_bytes: count("rx", "bytes"),
            rx_packets: count("rx", "packets"),
            tx_bytes: count("tx", "bytes"),
            tx_packets: count("tx", "packets"),
        }
    }

    /// From now on every packet that it counts as sent is one that a wire would carry: segments are cut before the
    /// interface, not behind it. Costs much at high rates. Both ends of a conversation need it.
    pub fn offload_off(&self) {
        ip::must("ip", &["-n", &self.namespace, "link", "set", "dev", "eth0", "gso_max_segs", "1"]);
    }
}

/// Where hosts are, from host 0 on.
fn address(number: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, 0, 1 + number as u8)
}

/// The address of every host that a fabric can have.
pub fn addresses() -> impl Iterator<Item = Ipv4Addr> {
    (0..MAX_HOSTS).map(address)
}

/// Bounds what leaves by an interface.
fn shape(namespace: &str, interface: &str, rate_mbit_s: u32) {
    let rate = format!("{rate_mbit_s}mbit");
    let burst = (rate_mbit_s * BURST_BYTES_PER_MBIT_S).max(LEAST_BURST_BYTES).to_string();
    let qdisc = ["qdisc", "add", "dev", interface, "root", "tbf", "rate", &rate, "burst", &burst, "latency", QUEUE];
    ip::must("tc", &[&["-n", namespace][..], &qdisc].concat());
}
