//! Hosts behind links of a known rate, for tests: a lab of `deploy/lab.sh`, which says how it is built.
//!
//! It takes root, iproute2 and iperf3. Several can stand at a time: links of some hundred Mbit/s leave most of a
//! machine's time to others. The process owns its labs: when it is killed, they go, too.

use std::ffi::OsStr;
use std::net::Ipv4Addr;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Most hosts of one fabric: certificates of tests are for that many.
pub const MAX_HOSTS: usize = 6;

/// Bytes of an Ethernet frame at this MTU.
pub const FRAME_BYTES: u64 = 1514;

/// Specification of a fabric.
#[derive(Clone, Copy, Debug)]
pub struct FabricSpec {
    /// Number of hosts, 2 to [`MAX_HOSTS`].
    pub hosts: usize,
    /// Rate of each host's link in each direction, Mbit/s. Is `None` for as much as the machine can carry.
    pub rate_mbit_s: Option<u32>,
}

/// Hosts on a switch. Everything is gone when it is dropped, processes in its hosts included.
#[derive(Debug)]
pub struct Fabric {
    name: String,
    hosts: Vec<Host>,
}

/// A host: a namespace with one interface.
#[derive(Clone, Debug)]
pub struct Host {
    lab: String,
    number: usize,
}

/// Counters of a host's interface, Ethernet's heads included.
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
    /// Returns the counts that were added to `earlier`.
    pub fn since(self, earlier: Counters) -> Counters {
        Counters {
            rx_bytes: self.rx_bytes - earlier.rx_bytes,
            rx_packets: self.rx_packets - earlier.rx_packets,
            tx_bytes: self.tx_bytes - earlier.tx_bytes,
            tx_packets: self.tx_packets - earlier.tx_packets,
        }
    }
}

static NUMBER: AtomicU32 = AtomicU32::new(0);

impl Fabric {
    /// Builds it.
    ///
    /// # Panics
    /// `lab.sh` complains: it is not run by root, or a tool is missing. Or `spec` makes no sense.
    pub fn new(spec: FabricSpec) -> Fabric {
        assert!((2..=MAX_HOSTS).contains(&spec.hosts), "2 to {MAX_HOSTS} hosts, not {}", spec.hosts);
        let owner = std::process::id().to_string();
        let name = format!("test-{owner}-{}", NUMBER.fetch_add(1, Relaxed));
        let (nodes, rate) = ((spec.hosts - 1).to_string(), rate(spec.rate_mbit_s));
        lab(&["up", &name, "--nodes", &nodes, "--rate", &rate, "--loadgen-rate", &rate, "--owner", &owner]);
        let hosts = (0..spec.hosts).map(|number| Host { lab: name.clone(), number }).collect();
        Fabric { name, hosts }
    }

    /// Its lab's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All hosts.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// One of them, from 0.
    pub fn host(&self, number: usize) -> &Host {
        &self.hosts[number]
    }

    /// Pulls a host's cable, at the switch's end.
    pub fn cut(&self, host: &Host) {
        host.lab("cut", &[]);
    }

    /// Puts it back.
    pub fn heal(&self, host: &Host) {
        host.lab("heal", &[]);
    }

    /// Bounds what a host's link carries in each direction, or lets it carry what the machine can.
    pub fn reshape(&self, host: &Host, rate_mbit_s: Option<u32>) {
        host.lab("rate", &[&rate(rate_mbit_s)]);
    }

    /// The same with a rate for each direction, in Mbit/s.
    pub fn reshape_ways(&self, host: &Host, [to_host, from_host]: [u32; 2]) {
        host.lab("rate", &[&format!("{to_host}mbit/{from_host}mbit")]);
    }

    /// Bounds what one host sends to another one, until its link is reshaped.
    pub fn reshape_between(&self, from: &Host, to: &Host, rate_mbit_s: u32) {
        from.lab("pair", &[&to.number.to_string(), &rate(Some(rate_mbit_s))]);
    }
}

impl Drop for Fabric {
    fn drop(&mut self) {
        // Where it fails, the lab goes with this process.
        let _ = lab_sh().args(["down", &self.name]).output();
    }
}

impl Host {
    /// `lab.sh VERB` of this host.
    fn lab(&self, verb: &str, more: &[&str]) -> String {
        lab(&[&[verb, &self.lab, &self.number.to_string()][..], more].concat())
    }

    /// A program that will run here.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        // The script becomes the program: its process id is the program's.
        let mut command = lab_sh();
        command.args(["exec", &self.lab, &self.number.to_string()]).arg(program);
        command
    }

    /// Returns the command that puts a program of this host on a machine of its own: with a host name, a machine id and
    /// a boot id that no other host has.
    pub fn own_machine(&self) -> [String; 6] {
        let name = self.namespace();
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
        numbers(&self.lab("processes", &[]))
    }

    /// The name of its namespace, as `ip netns exec` takes it.
    pub fn namespace(&self) -> String {
        format!("lon-lab-{}-h{}", self.lab, self.number)
    }

    /// Its address on the fabric.
    pub fn address(&self) -> Ipv4Addr {
        address(self.number)
    }

    /// Reads the counters of the host's interface.
    pub fn counters(&self) -> Counters {
        let files = ["rx_bytes", "rx_packets", "tx_bytes", "tx_packets"];
        let files = files.map(|file| format!("/sys/class/net/eth0/statistics/{file}"));
        let output = self.lab("exec", &[&["cat"][..], &files.each_ref().map(String::as_str)].concat());
        let [rx_bytes, rx_packets, tx_bytes, tx_packets] = numbers(&output)[..] else {
            panic!("not counters: {output}")
        };
        Counters { rx_bytes, rx_packets, tx_bytes, tx_packets }
    }

    /// From now on every packet that it counts as sent is one that a wire would carry: segments are cut before the
    /// interface, not behind it. Costs much at high rates. Both ends of a conversation need it.
    pub fn offload_off(&self) {
        // Only where packets are counted, so it has no command of its own in `lab.sh`.
        self.lab("exec", &["ip", "link", "set", "dev", "eth0", "gso_max_segs", "1"]);
    }
}

/// Where hosts are, from host 0 on, as `lab.sh` has it.
fn address(number: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, 0, 1 + number as u8)
}

/// The address of every host that a fabric can have.
pub fn addresses() -> impl Iterator<Item = Ipv4Addr> {
    (0..MAX_HOSTS).map(address)
}

/// A rate of both directions, as `lab.sh` takes it.
fn rate(mbit_s: Option<u32>) -> String {
    mbit_s.map_or("none".to_owned(), |mbit_s| format!("{mbit_s}mbit"))
}

fn numbers<N: std::str::FromStr>(text: &str) -> Vec<N> {
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

fn lab_sh() -> Command {
    Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/lab.sh"))
}

/// Runs `lab.sh`; what it printed. A complaint fails the test.
fn lab(args: &[&str]) -> String {
    let output = lab_sh().args(args).output().expect("lab.sh starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "lab.sh {}: {}", args.join(" "), text(&output.stderr).trim());
    text(&output.stdout)
}
