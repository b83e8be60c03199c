//! `system_desc.json`: both ends of a run as MLPerf's submission rules want a system described.
//!
//! The 13 keys of the network mode and the 35 that are asked of every system are always there, each a text. What a run
//! cannot know is empty, and `to_be_stated` says for each empty key what belongs there. The file of `--system-desc`
//! fills them, and adds other official keys: see `test_run::system_facts`. What the texts are made of follows under
//! `loadgen` and `sut`.
//!
//! Source of the keys: the official submission checker's constants for rounds v5.0 to v6.1.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use lon_machine::host::Host;
use lon_proto::figures;
use qdl::{Interface, NodeDescription, NodeReport};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use super::key_help::key_help;
use super::ordered_map;
use super::sut_setup::SutSetup;
use crate::network::nics::NicUse;
use crate::test_run::finished::{Finished, Link};
use crate::test_run::system_facts::{NETWORK_KEYS, SYSTEM_KEYS};

/// Name in the run folder.
pub const FILE: &str = "system_desc.json";

/// The whole file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SystemDesc {
    /// Official keys, each with a text: those of the network mode first, then those of every system, then others that
    /// were stated. A map, because the submission rules own these keys.
    #[serde(flatten)]
    #[cfg_attr(test, schemars(with = "std::collections::BTreeMap<String, String>"))]
    pub official: Map<String, Value>,
    /// Explanation of what belongs under each key that is empty, in words.
    #[serde(with = "ordered_map")]
    #[cfg_attr(test, schemars(with = "std::collections::BTreeMap<String, String>"))]
    pub to_be_stated: Vec<(String, String)>,
    /// Labels of the user (`--label`): each value by its key.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Why the run is no result of the Network division, in words; empty where it is one.
    pub marks: Vec<String>,
    /// Says that this is no official description.
    pub unofficial: String,
    /// Path of a sample's bytes from memory to memory, as far as it is known: one end in each text.
    #[serde(default)]
    pub data_path: Vec<String>,
    /// The LoadGen node.
    pub loadgen: LoadgenSystem,
    /// The SUT nodes.
    pub sut: Vec<SutSystem>,
}

/// The LoadGen node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LoadgenSystem {
    /// The machine that it runs on.
    #[serde(flatten)]
    pub host: Host,
    /// The program and its version.
    pub software: String,
    /// Names of the interfaces that the run used; empty on loopback.
    pub nics_used: Vec<String>,
}

/// A SUT node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SutSystem {
    /// Its unique name.
    pub name: String,
    /// Its address, `host:port`.
    pub address: String,
    /// The machine that it runs on.
    #[serde(flatten)]
    pub host: Host,
    /// The program and its version.
    pub software: String,
    /// Engine that runs the node's model, with its version.
    pub engine: String,
    /// Name of the interface that the run used; empty on loopback and where the node did not tell.
    pub nics_used: Vec<String>,
    /// Set-up of the node.
    #[serde(default)]
    pub setup: SutSetup,
}

impl From<&Finished> for SystemDesc {
    fn from(finished: &Finished) -> SystemDesc {
        let labels = finished.setup.call.labels.by_key().clone();
        let document = Facts::of(finished).document(finished.setup.stated.iter(), finished.judgement.marks());
        SystemDesc { labels, ..document }
    }
}

impl SystemDesc {
    /// Returns the description that can be known without a run: from the nodes' own descriptions, and this machine.
    pub fn of_nodes(here: &Host, nodes: &[NodeDescription]) -> SystemDesc {
        let facts = Facts { here, nodes, reports: &[], link: None, ours: &[], theirs: Vec::new() };
        facts.document(std::iter::empty(), Vec::new())
    }
}

impl SutSystem {
    fn new(node: &NodeDescription, report: Option<&NodeReport>) -> SutSystem {
        let used = report.and_then(|report| report.sut.as_ref().ok()?.nic.as_ref());
        SutSystem {
            name: node.name.clone(),
            address: node.address.to_string(),
            host: node.host.clone(),
            software: node.software.clone(),
            engine: node.engine.clone(),
            nics_used: used.iter().map(|nic| nic.interface.name.clone()).collect(),
            setup: SutSetup::from(node),
        }
    }
}

/// This program and its version.
const SOFTWARE: &str = concat!("loadgen-node ", env!("CARGO_PKG_VERSION"));

/// Facts that the description is made of.
struct Facts<'a> {
    /// The LoadGen node's machine.
    here: &'a Host,
    nodes: &'a [NodeDescription],
    /// Reports of the nodes at the end of a run; empty when there was no run.
    reports: &'a [NodeReport],
    link: Option<&'a Link>,
    /// Interfaces that the run used, here and at each node that told.
    ours: &'a [NicUse],
    theirs: Vec<&'a Interface>,
}

impl<'a> Facts<'a> {
    fn of(finished: &'a Finished) -> Facts<'a> {
        let nic = |report: &'a NodeReport| report.sut.as_ref().ok()?.nic.as_ref().map(|nic| &nic.interface);
        Facts {
            here: &finished.nodes.host,
            nodes: &finished.nodes.described,
            reports: &finished.nodes.reports,
            link: Some(&finished.setup.link),
            ours: &finished.network.nics,
            theirs: finished.nodes.reports.iter().filter_map(nic).collect(),
        }
    }

    /// The whole description; `stated`: what the user says, by official key.
    fn document<'b>(&self, stated: impl Iterator<Item = (&'b str, &'b Value)>, marks: Vec<String>) -> SystemDesc {
        let official = self.official(stated);
        let is_missing = |key: &&str| official.get(*key).is_none_or(|value| value == "");
        let missing = NETWORK_KEYS.into_iter().chain(SYSTEM_KEYS).filter(is_missing);
        SystemDesc {
            to_be_stated: missing.map(|key| (key.to_owned(), key_help(key).to_owned())).collect(),
            official,
            labels: BTreeMap::new(),
            marks,
            unofficial: "written by lon; not an official MLPerf system description".to_owned(),
            data_path: self.data_path(),
            loadgen: LoadgenSystem {
                host: self.here.clone(),
                software: SOFTWARE.to_owned(),
                nics_used: self.ours.iter().map(|nic| nic.interface.name.clone()).collect(),
            },
            sut: self.systems().collect(),
        }
    }

    fn systems(&self) -> impl Iterator<Item = SutSystem> {
        self.nodes.iter().enumerate().map(|(at, node)| SutSystem::new(node, self.reports.get(at)))
    }

    /// The official keys: what is known, and over it what the user states.
    fn official<'b>(&self, stated: impl Iterator<Item = (&'b str, &'b Value)>) -> Map<String, Value> {
        let mut official = Map::new();
        for key in NETWORK_KEYS {
            official.insert(key.to_owned(), self.network(key).unwrap_or_default().into());
        }
        for key in SYSTEM_KEYS {
            official.insert(key.to_owned(), self.system(key).unwrap_or_default().into());
        }
        for (key, value) in stated {
            official.insert(key.to_owned(), value.clone());
        }
        official
    }

    /// The text under one of the [`NETWORK_KEYS`], where it can be known.
    fn network(&self, key: &str) -> Option<String> {
        let ours = || self.ours.iter().map(|nic| &nic.interface);
        let count = |number: usize| (number > 0).then(|| number.to_string());
        match key {
            "is_network" => Some("True".to_owned()),
            "network_type" => link(ours().chain(self.theirs.iter().copied())),
            "network_rate" => link_rates(ours().chain(self.theirs.iter().copied())),
            "nic_loadgen" => listed(ours().map(nic_text)),
            "number_nic_loadgen" => count(self.ours.len()),
            "net_software_stack_loadgen" => listed([software_text(self.here, SOFTWARE)].into_iter()),
            "network_protocol" => self.protocol(),
            "number_connections" => Some((self.nodes.len() * self.link?.connections.get()).to_string()),
            "nic_sut" => listed(self.theirs.iter().copied().map(nic_text)),
            "number_nic_sut" => count(self.theirs.len()),
            "net_software_stack_sut" => {
                let nodes = self.nodes.iter().filter(|node| !node.host.kernel.is_empty());
                listed(nodes.map(|node| software_text(&node.host, &node.software)))
            }
            // Cables and switches are not seen from the ends.
            _ => None,
        }
    }

    /// The text under one of the [`SYSTEM_KEYS`], where it can be known: of the SUT nodes, which are the system.
    fn system(&self, key: &str) -> Option<String> {
        let nodes = self.nodes;
        let listing = |of: fn(&NodeDescription) -> String| listed(nodes.iter().map(of));
        match key {
            "number_of_nodes" => Some(nodes.len().to_string()),
            "host_processor_model_name" => listing(|node| node.host.cpu.clone()),
            "host_processors_per_node" => listing(|node| number_text(node.host.processors.sockets)),
            "host_processor_core_count" => listing(|node| number_text(node.host.processors.cores_each)),
            "host_processor_frequency" => listing(|node| clock_rate(node.host.processors.max_mhz)),
            "host_processor_caches" => listing(|node| node.host.processors.caches.clone()),
            "host_storage_capacity" => listing(|node| figures::gib(node.host.storage.bytes)),
            "host_storage_type" => listing(|node| node.host.storage.kinds.clone()),
            "host_network_card_count" => listing(|node| number_text(cards(&node.host))),
            "accelerators_per_node" => listing(|node| number_text(node.host.accelerators.len() as u32)),
            "host_memory_capacity" => listing(|node| figures::gib(node.host.memory_bytes)),
            "host_networking" => self.network("nic_sut"),
            "framework" => listing(|node| node.engine.clone()),
            "operating_system" => listing(|node| system(&node.host)),
            "other_software_stack" => listing(|node| node.software.clone()),
            _ => None,
        }
    }

    fn protocol(&self) -> Option<String> {
        let link = self.link?;
        let tls = if link.has_tls { ", TLS 1.3" } else { "" };
        let transport = link.transport.protocol();
        let layer_4 = if transport.contains("UDP") { "UDP" } else { "TCP" };
        let addresses: Vec<IpAddr> = self.reports.iter().filter_map(|report| report.local).collect();
        let nics = self.ours.iter().map(|nic| &nic.interface).chain(self.theirs.iter().copied());
        let below = link_layer(self, nics);
        let layer_3 = layer_3(&addresses);
        Some(format!("{transport}{tls}; layer 4: {layer_4}, layer 3: {layer_3}, layers 1 and 2: {below}"))
    }

    /// Returns the path of a sample's bytes from one memory to the other, one end in each text.
    fn data_path(&self) -> Vec<String> {
        let nics = |nics: &[String]| if nics.is_empty() { "no NIC (loopback)".to_owned() } else { nics.join(", ") };
        let ours: Vec<String> = self.ours.iter().map(|nic| nic.interface.name.clone()).collect();
        let theirs = self.systems().map(|sut| {
            let computes = sut.setup.settings.iter().find(|(name, _)| name == "execution_provider");
            let end = match computes.map(|(_, provider)| provider.as_str()) {
                Some(provider) if provider != "CPU" => format!("accelerator ({provider})"),
                _ => "CPU, unless the engine does otherwise".to_owned(),
            };
            format!("SUT node {}: {} > kernel sockets > host memory > {end}", sut.name, nics(&sut.nics_used))
        });
        let here = format!("LoadGen node: host memory > kernel sockets > {}", nics(&ours));
        let mut path: Vec<String> = std::iter::once(here).chain(theirs).collect();
        path.dedup();
        path
    }
}

/// The version of the Internet protocol, by the addresses of this end.
fn layer_3(addresses: &[IpAddr]) -> &'static str {
    let is_v4 = |address: &IpAddr| address.to_canonical().is_ipv4();
    match (addresses.iter().any(is_v4), addresses.iter().all(is_v4)) {
        _ if addresses.is_empty() => "not known",
        (_, true) => "IPv4",
        (true, false) => "IPv4 and IPv6",
        (false, _) => "IPv6",
    }
}

/// Returns the link layer that carries the packets, by the interfaces that were used.
fn link_layer<'a>(facts: &Facts<'_>, nics: impl Iterator<Item = &'a Interface>) -> String {
    let local = facts.reports.iter().filter_map(|report| report.local);
    let is_loopback = facts.ours.is_empty() && local.into_iter().any(|address| address.to_canonical().is_loopback());
    link(nics).unwrap_or_else(|| if is_loopback { "loopback" } else { "not known" }.to_owned())
}

/// The rates of the links that were used, each once; none when a driver does not say.
fn link_rates<'a>(nics: impl Iterator<Item = &'a Interface>) -> Option<String> {
    let rates: Option<BTreeSet<u64>> = nics.map(|nic| nic.speed_mbit_s).collect();
    listed(rates?.into_iter().map(|speed| rate(speed as f64 * 1e6)))
}

/// Returns the kind of all links, if that is one kind.
fn link<'a>(nics: impl Iterator<Item = &'a Interface>) -> Option<String> {
    let links: BTreeSet<&str> = nics.map(|nic| nic.link.as_str()).collect();
    match links.into_iter().collect::<Vec<_>>()[..] {
        [link] if !link.is_empty() => Some(link.to_owned()),
        _ => None,
    }
}

/// Different texts, each once; none when there is none.
fn listed(texts: impl Iterator<Item = String>) -> Option<String> {
    let mut different: Vec<String> = Vec::new();
    for text in texts.filter(|text| !text.is_empty()) {
        if !different.contains(&text) {
            different.push(text);
        }
    }
    (!different.is_empty()).then(|| different.join("; "))
}

fn nic_text(nic: &Interface) -> String {
    let speed = nic.speed_mbit_s.map(|speed| rate(speed as f64 * 1e6)).unwrap_or_default();
    let driver = if nic.driver.is_empty() { "virtual" } else { &nic.driver };
    let mtu = format!("MTU {}", nic.mtu_bytes);
    let parts = [driver, &nic.device, &speed, &mtu];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

fn software_text(host: &Host, software: &str) -> String {
    format!("{}, {software}", system(host))
}

fn system(host: &Host) -> String {
    let Host { os, kernel, .. } = host;
    match (os.is_empty(), kernel.is_empty()) {
        (true, true) => String::new(),
        (true, false) => format!("Linux {kernel}"),
        (false, true) => os.clone(),
        (false, false) => format!("{os}, Linux {kernel}"),
    }
}

/// A number that is not 0, which stands for what is not known.
fn number_text(number: u32) -> String {
    if number == 0 { String::new() } else { number.to_string() }
}

/// The highest rate of a clock.
fn clock_rate(max_mhz: u32) -> String {
    if max_mhz == 0 { String::new() } else { format!("up to {max_mhz} MHz") }
}

/// Network interfaces with a device behind them.
fn cards(host: &Host) -> u32 {
    host.nics.iter().filter(|nic| !nic.device.is_empty()).count() as u32
}

fn rate(bits_per_s: f64) -> String {
    if bits_per_s < 1e9 { format!("{} Mbit/s", bits_per_s / 1e6) } else { format!("{} Gbit/s", bits_per_s / 1e9) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nic(name: &str, link: &str) -> Interface {
        Interface { name: name.to_owned(), link: link.to_owned(), mtu_bytes: 1500, ..Interface::default() }
    }

    #[test]
    fn a_type_is_what_all_links_are() {
        assert_eq!(link([nic("a", "Ethernet"), nic("b", "Ethernet")].iter()).as_deref(), Some("Ethernet"));
        for unclear in [vec![], vec![nic("a", "")], vec![nic("a", "Ethernet"), nic("b", "InfiniBand")]] {
            assert_eq!(link(unclear.iter()), None);
        }
    }

    #[test]
    fn a_rate_is_that_of_a_link_and_not_of_all_together() {
        let fast = |name: &str, speed| Interface { speed_mbit_s: speed, ..nic(name, "Ethernet") };
        let same = [fast("a", Some(100_000)), fast("b", Some(100_000)), fast("c", Some(100_000))];
        assert_eq!(link_rates(same.iter()).as_deref(), Some("100 Gbit/s"));
        let two = [fast("a", Some(100_000)), fast("b", Some(25_000))];
        assert_eq!(link_rates(two.iter()).as_deref(), Some("25 Gbit/s; 100 Gbit/s"));
        assert_eq!(link_rates([fast("a", Some(100_000)), fast("b", None)].iter()), None);
        assert_eq!(link_rates([].iter()), None);
    }

    #[test]
    fn layer_3_is_told_by_addresses() {
        let of = |texts: &[&str]| layer_3(&texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<_>>());
        assert_eq!((of(&["10.0.0.1", "::ffff:10.0.0.2"]), of(&["fe80::1"])), ("IPv4", "IPv6"));
        assert_eq!((of(&["10.0.0.1", "fe80::1"]), of(&[])), ("IPv4 and IPv6", "not known"));
    }

    #[test]
    fn texts_say_what_is_known() {
        assert_eq!(nic_text(&nic("veth0", "Ethernet")), "virtual, MTU 1500");
        let card = Interface {
            driver: "mlx5_core".to_owned(),
            device: "pci 15b3:101d".to_owned(),
            speed_mbit_s: Some(100_000),
            mtu_bytes: 9000,
            ..nic("eth1", "Ethernet")
        };
        assert_eq!(nic_text(&card), "mlx5_core, pci 15b3:101d, 100 Gbit/s, MTU 9000");
        let same = ["a", "", "b", "a"].map(str::to_owned);
        assert_eq!(listed(same.into_iter()).as_deref(), Some("a; b"));
        assert_eq!((rate(1e8), rate(2.5e9)), ("100 Mbit/s".to_owned(), "2.5 Gbit/s".to_owned()));
        let host = Host { kernel: "6.1".to_owned(), ..Host::default() };
        assert_eq!((system(&host), figures::gib(24 << 30)), ("Linux 6.1".to_owned(), "24 GiB".to_owned()));
        assert_eq!((number_text(0), number_text(2), clock_rate(0)), (String::new(), "2".to_owned(), String::new()));
        assert_eq!((clock_rate(3500), cards(&host)), ("up to 3500 MHz".to_owned(), 0));
        let nics = vec![nic("veth0", "Ethernet"), card];
        assert_eq!(cards(&Host { nics, ..Host::default() }), 1);
    }
}
