//! `system_desc.json`: both ends of a run as MLPerf's submission rules want a system described. Pure.
//!
//! The 13 keys of the network mode are always there, each a text; what a run cannot know is empty, and `to_be_stated`
//! says of each of those what belongs there. `--system-desc FILE` ([`stated`]) fills them, and adds other official keys.
//! What the texts are made of follows under `loadgen` and `sut`.
//!
//! Source of the keys: the official submission checker's constants for rounds v5.0 to v6.0.

use std::collections::BTreeSet;

use qdl::{Host, Interface, NodeDescription};
use serde_json::{Map, Value, json};

use crate::network::nics::NicUse;
use crate::test_run::finished::Finished;

use crate::test_run::stated::NETWORK_KEYS;

/// The whole file.
pub(crate) fn json(finished: &Finished) -> Value {
    let facts = Facts::of(finished);
    let mut description = Map::new();
    for key in NETWORK_KEYS {
        description.insert(key.to_owned(), facts.network(key).unwrap_or_default().into());
    }
    for (key, text) in facts.others() {
        description.insert(key.to_owned(), text.into());
    }
    for (key, value) in finished.setup.stated.iter() {
        description.insert(key.to_owned(), value.clone());
    }
    let missing: Map<String, Value> = NETWORK_KEYS
        .into_iter()
        .filter(|key| description.get(*key).is_none_or(|value| value == ""))
        .map(|key| (key.to_owned(), wanted(key).into()))
        .collect();
    description.insert("to_be_stated".to_owned(), missing.into());
    description.insert("marks".to_owned(), json!(finished.judgement.marks));
    description.insert("unofficial".to_owned(), json!("written by lon; not an official MLPerf system description"));
    description.insert("loadgen".to_owned(), facts.loadgen_json());
    description.insert("sut".to_owned(), facts.sut_json());
    description.into()
}

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
        let nic = |report: &'a qdl::NodeReport| report.sut.as_ref().ok()?.nic.as_ref().map(|nic| &nic.interface);
        Facts {
            finished,
            ours: &finished.network.nics,
            theirs: finished.nodes.reports.iter().filter_map(nic).collect(),
        }
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
            "net_software_stack_loadgen" => {
                let software = concat!("loadgen-node ", env!("CARGO_PKG_VERSION"));
                listed([software_text(&self.finished.nodes.host, software)].into_iter())
            }
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

    fn loadgen_json(&self) -> Value {
        let mut json = host_json(&self.finished.nodes.host);
        json["software"] = json!(concat!("loadgen-node ", env!("CARGO_PKG_VERSION")));
        json["nics_used"] = self.ours.iter().map(|nic| nic.interface.name.as_str()).collect();
        json
    }

    fn sut_json(&self) -> Value {
        let nodes = self.finished.nodes.described.iter().zip(&self.finished.nodes.reports);
        let node = |(node, report): (&NodeDescription, &qdl::NodeReport)| {
            let mut json = json!({ "name": node.name, "address": node.address.to_string() });
            if let (Value::Object(json), Value::Object(host)) = (&mut json, host_json(&node.host)) {
                json.extend(host);
            }
            json["software"] = json!(node.software);
            json["engine"] = json!(node.engine);
            let used = report.sut.as_ref().ok().and_then(|sut| sut.nic.as_ref());
            json["nics_used"] = used.iter().map(|nic| nic.interface.name.as_str()).collect();
            json
        };
        nodes.map(node).collect()
    }
}

fn host_json(host: &Host) -> Value {
    let Host { hostname, machine_id, boot_id, os, kernel, cpu, cores, memory_bytes, nics } = host;
    let nics: Vec<Value> = nics.iter().map(crate::network::nics::interface_json).collect();
    json!({
        "hostname": hostname, "machine_id": machine_id, "boot_id": boot_id, "os": os, "kernel": kernel, "cpu": cpu,
        "cores": cores, "memory_bytes": memory_bytes, "nics": nics,
    })
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
