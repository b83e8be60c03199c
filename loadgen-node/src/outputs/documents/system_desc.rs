//! `system_desc.json`: both ends of a run as MLPerf's submission rules want a system described.
//!
//! The 13 keys of the network mode are always there, each a text. What a run cannot know is empty, and `to_be_stated`
//! says for each empty key what belongs there. The file of `--system-desc` fills them, and adds other official keys:
//! see `test_run::stated`. What the texts are made of follows under `loadgen` and `sut`.
//!
//! Source of the keys: the official submission checker's constants for rounds v5.0 to v6.0.

use std::collections::BTreeSet;

use lon_shell::documents::HostDocument;
use qdl::{Host, Interface, NodeDescription, NodeReport};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::in_order;
use crate::network::nics::NicUse;
use crate::test_run::finished::Finished;
use crate::test_run::stated::NETWORK_KEYS;

/// Name in the run folder.
pub const FILE: &str = "system_desc.json";

/// The whole file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SystemDesc {
    /// Official keys, each with a text: those of the network mode first, then others. A map, because the submission
    /// rules own these keys, and which others are there depends on what is known and stated.
    #[serde(flatten)]
    pub official: Map<String, Value>,
    /// What belongs under each key of the network mode that is empty, in words.
    #[serde(with = "in_order")]
    pub to_be_stated: Vec<(String, String)>,
    /// Why the run is no result of the Network division, in words; empty where it is one.
    pub marks: Vec<String>,
    /// Says that this is no official description.
    pub unofficial: String,
    /// The LoadGen node.
    pub loadgen: LoadgenSystem,
    /// The SUT nodes.
    pub sut: Vec<SutSystem>,
}

/// The LoadGen node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadgenSystem {
    /// The machine that it runs on.
    #[serde(flatten)]
    pub host: HostDocument,
    /// The program and its version.
    pub software: String,
    /// Names of the interfaces that the run used; empty on loopback.
    pub nics_used: Vec<String>,
}

/// A SUT node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SutSystem {
    /// Its unique name.
    pub name: String,
    /// Its address, `host:port`.
    pub address: String,
    /// The machine that it runs on.
    #[serde(flatten)]
    pub host: HostDocument,
    /// The program and its version.
    pub software: String,
    /// What runs its model, with its version.
    pub engine: String,
    /// Name of the interface that the run used; empty on loopback and where the node did not tell.
    pub nics_used: Vec<String>,
}

impl From<&Finished> for SystemDesc {
    fn from(finished: &Finished) -> SystemDesc {
        let facts = Facts::of(finished);
        let official = facts.official();
        let is_missing = |key: &&str| official.get(*key).is_none_or(|value| value == "");
        let missing = NETWORK_KEYS.into_iter().filter(is_missing);
        let nodes = finished.nodes.described.iter().zip(&finished.nodes.reports);
        SystemDesc {
            to_be_stated: missing.map(|key| (key.to_owned(), wanted(key).to_owned())).collect(),
            official,
            marks: finished.judgement.marks.clone(),
            unofficial: "written by lon; not an official MLPerf system description".to_owned(),
            loadgen: LoadgenSystem {
                host: HostDocument::from(&finished.nodes.host),
                software: SOFTWARE.to_owned(),
                nics_used: facts.ours.iter().map(|nic| nic.interface.name.clone()).collect(),
            },
            sut: nodes.map(|(node, report)| SutSystem::new(node, report)).collect(),
        }
    }
}

impl SutSystem {
    fn new(node: &NodeDescription, report: &NodeReport) -> SutSystem {
        let used = report.sut.as_ref().ok().and_then(|sut| sut.nic.as_ref());
        SutSystem {
            name: node.name.clone(),
            address: node.address.to_string(),
            host: HostDocument::from(&node.host),
            software: node.software.clone(),
            engine: node.engine.clone(),
            nics_used: used.iter().map(|nic| nic.interface.name.clone()).collect(),
        }
    }
}

/// This program and its version.
const SOFTWARE: &str = concat!("loadgen-node ", env!("CARGO_PKG_VERSION"));

/// What belongs under a key that a run cannot fill.
fn wanted(key: &str) -> &'static str {
    match key {
        "network_type" => "what the links are: Ethernet, InfiniBand, ...",
        "network_media" => "what they are made of: copper, optical fibre, backplane, ...",
        "network_rate" => "the rate of one link, for example 100 Gbit/s; the drivers did not say, or no link was used",
        "nic_loadgen" | "nic_sut" => "maker and model of the interfaces; no interface was used, or none told of",
        "number_nic_loadgen" | "number_nic_sut" => "how many interfaces; none was used, or none told of",
        "net_software_stack_sut" => "operating system, drivers and protocol stack of the SUT; the nodes did not say",
        "network_topology" => "how LoadGen node and SUT nodes are linked: switches, hops, paths",
        _ => "this run could not tell",
    }
}

/// What the description is made of.
struct Facts<'a> {
    finished: &'a Finished,
    /// Interfaces that the run used, here and at each node that told.
    ours: &'a [NicUse],
    theirs: Vec<&'a Interface>,
}

impl<'a> Facts<'a> {
    fn of(finished: &'a Finished) -> Facts<'a> {
        let nic = |report: &'a NodeReport| report.sut.as_ref().ok()?.nic.as_ref().map(|nic| &nic.interface);
        Facts {
            finished,
            ours: &finished.network.nics,
            theirs: finished.nodes.reports.iter().filter_map(nic).collect(),
        }
    }

    /// The official keys: what is known, and over it what the user states.
    fn official(&self) -> Map<String, Value> {
        let mut official = Map::new();
        for key in NETWORK_KEYS {
            official.insert(key.to_owned(), self.network(key).unwrap_or_default().into());
        }
        for (key, text) in self.others() {
            official.insert(key.to_owned(), text.into());
        }
        for (key, value) in self.finished.setup.stated.iter() {
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
            "network_rate" => self.finished.network.bandwidth.nic_claim.ingress.map(rate),
            "nic_loadgen" => listed(ours().map(nic_text)),
            "number_nic_loadgen" => count(self.ours.len()),
            "net_software_stack_loadgen" => listed([software_text(&self.finished.nodes.host, SOFTWARE)].into_iter()),
            "network_protocol" => Some(self.protocol()),
            "number_connections" => {
                Some((self.finished.nodes.described.len() * self.finished.setup.link.connections.get()).to_string())
            }
            "nic_sut" => listed(self.theirs.iter().copied().map(nic_text)),
            "number_nic_sut" => count(self.theirs.len()),
            "net_software_stack_sut" => {
                let known = self.finished.nodes.described.iter().filter(|node| !node.host.kernel.is_empty());
                listed(known.map(|node| software_text(&node.host, &node.software)))
            }
            // Cables and switches are not seen from the ends.
            _ => None,
        }
    }

    /// What is known under other official keys: of the SUT nodes, which are the system.
    fn others(&self) -> Vec<(&'static str, String)> {
        let nodes = &self.finished.nodes.described;
        let told = |of: fn(&NodeDescription) -> String| listed(nodes.iter().map(of));
        let known = [
            ("number_of_nodes", Some(nodes.len().to_string())),
            ("host_processor_model_name", told(|node| node.host.cpu.clone())),
            ("host_memory_capacity", told(|node| memory(node.host.memory_bytes))),
            ("framework", told(|node| node.engine.clone())),
            ("operating_system", told(|node| system(&node.host))),
        ];
        known.into_iter().filter_map(|(key, text)| Some((key, text?))).collect()
    }

    fn protocol(&self) -> String {
        let link = &self.finished.setup.link;
        let tls = if link.has_tls { ", TLS 1.3" } else { "" };
        format!("{}{tls}", link.transport.protocol())
    }
}

/// What all links are, if that is one thing.
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

fn memory(bytes: u64) -> String {
    if bytes == 0 { String::new() } else { format!("{:.0} GiB", bytes as f64 / f64::from(1 << 30)) }
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
        assert_eq!((system(&host), memory(24 << 30)), ("Linux 6.1".to_owned(), "24 GiB".to_owned()));
    }

    #[test]
    fn every_key_that_can_stay_empty_says_what_belongs_there() {
        for key in NETWORK_KEYS {
            let always = ["is_network", "net_software_stack_loadgen", "network_protocol", "number_connections"];
            assert_eq!(wanted(key) == "this run could not tell", always.contains(&key), "{key}");
        }
    }
}
