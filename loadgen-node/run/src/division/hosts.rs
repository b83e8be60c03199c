//! The systems that the run is between: machines, what is between them, and what answers.

use lon_machine::nic::Interface;
use lon_proto::text::few;
use qdl::{Host, NodeDescription};

use super::facts::{Facts, NodeFacts};
use super::rule::Verdict;

/// Backends that answer without a model, by the first word of their engine, as nodes tell it.
const NO_MODELS: [&str; 2] = ["null", "synthetic"];

/// The fabrics that the rules permit between the systems, as interfaces name them.
const FABRICS: [&str; 4] = ["Ethernet", "InfiniBand", "IEEE 802.11", "3GPP"];

/// Section 6.2.2: two systems.
pub(super) fn separate(facts: &Facts<'_>) -> Verdict {
    let Some(NodeFacts { here, nodes }) = facts.nodes else { return without_nodes() };
    let is_here = |node: &NodeDescription| match same(here, &node.host) {
        // It was dialled on this machine: the ids that it shows are another's.
        Some(false) if node.ends.is_some_and(|ends| ends.are_here()) => Some(true),
        answer => answer,
    };
    let shared: Vec<&str> =
        nodes.iter().filter(|node| is_here(node) == Some(true)).map(|node| node.name.as_str()).collect();
    match &shared[..] {
        [] if nodes.iter().all(|node| is_here(node).is_some()) => Verdict::Kept,
        [] => Verdict::unchecked("a machine says neither its machine id nor its boot id"),
        [name] => Verdict::broken(format!("one host: node {name} runs on the LoadGen node's machine")),
        names => Verdict::broken(format!("one host: nodes {} run on the LoadGen node's machine", few(names, ", "))),
    }
}

/// The settings in which a node says `on` or `off` of its memories, with the words for them.
const HOST_ECC: (&str, &str) = ("host_ecc", "its host");
const ACCELERATOR_ECC: (&str, &str) = ("accelerator_ecc", "its accelerators");

/// Section 4.1.1: ECC is on in the DRAM and HBM of datacenter systems.
pub(super) fn ecc(facts: &Facts<'_>) -> Verdict {
    let Some(NodeFacts { nodes, .. }) = facts.nodes else { return without_nodes() };
    let (mut off, mut silent) = (Vec::new(), Vec::new());
    for node in nodes {
        let with_accelerators = (!node.host.accelerators.is_empty()).then_some(ACCELERATOR_ECC);
        for (name, what) in [HOST_ECC].into_iter().chain(with_accelerators) {
            let setting = node.settings.iter().find(|setting| setting.name == name);
            match setting.map(|setting| setting.value.as_str()) {
                Some("on") => {}
                Some("off") => off.push(format!("node {}: the memory of {what} has ECC off", node.name)),
                _ => silent.push(format!("node {} does not say whether the memory of {what} has ECC on", node.name)),
            }
        }
    }
    match silent.first() {
        Some(why) if off.is_empty() => Verdict::unchecked(why.clone()),
        _ => Verdict::of(off),
    }
}

/// Section 6.2.2: a permitted fabric.
pub(super) fn fabric(facts: &Facts<'_>) -> Verdict {
    let Some(run) = facts.run else { return Verdict::unchecked("known after the run") };
    let theirs = run.reports.iter().filter_map(|report| report.sut.as_ref().ok()?.nic.as_ref());
    let ours = run.nics.iter().map(|nic| &nic.interface);
    let silent = run.reports.iter().find(|report| report.sut.as_ref().is_ok_and(|sut| sut.nic.is_none()));
    match (kinds(ours.chain(theirs.map(|nic| &nic.interface))), silent) {
        (Verdict::Kept, Some(node)) => {
            Verdict::unchecked(format!("node {} does not say which interface it used", node.name))
        }
        (verdict, _) => verdict,
    }
}

/// Returns the verdict on the interfaces at both ends.
pub(super) fn kinds<'a>(interfaces: impl Iterator<Item = &'a Interface>) -> Verdict {
    let all: Vec<&Interface> = interfaces.collect();
    let odd = |nic: &&&Interface| !nic.link.is_empty() && !FABRICS.contains(&nic.link.as_str());
    if let Some(nic) = all.iter().find(odd) {
        let permitted = FABRICS.join(", ");
        return Verdict::broken(format!("interface {} is {}; permitted are {permitted}", nic.name, nic.link));
    }
    match all.iter().find(|nic| nic.link.is_empty()) {
        _ if all.is_empty() => Verdict::unchecked("no interface is known that the run went through"),
        Some(nic) => Verdict::unchecked(format!("interface {} does not say what kind of network it is on", nic.name)),
        None => Verdict::Kept,
    }
}

/// Section 6.2.3: inference is executed at the SUT.
pub(super) fn backend(facts: &Facts<'_>) -> Verdict {
    let Some(NodeFacts { nodes, .. }) = facts.nodes else { return without_nodes() };
    let is_odd = |node: &&NodeDescription| {
        let engine = node.engine.split([' ', ':']).next().unwrap_or_default();
        NO_MODELS.contains(&engine)
    };
    let mut by_engine: Vec<(&str, Vec<&str>)> = Vec::new();
    for node in nodes.iter().filter(is_odd) {
        match by_engine.iter_mut().find(|(engine, _)| *engine == node.engine) {
            Some((_, names)) => names.push(&node.name),
            None => by_engine.push((&node.engine, vec![&node.name])),
        }
    }
    Verdict::of(by_engine.into_iter().map(|(engine, names)| match &names[..] {
        [name] => format!("node {name} has no model: its backend is {engine}"),
        names => format!("nodes {} have no model: their backend is {engine}", few(names, ", ")),
    }))
}

/// Returns true when two hosts are one machine. `None` when their reports lack the ids that it takes to know.
/// Containers of a machine share its kernel, and so its boot id. Machines that were made from one image share the
/// machine id, and no boot id.
fn same(ours: &Host, theirs: &Host) -> Option<bool> {
    let ids = [(&ours.boot_id, &theirs.boot_id), (&ours.machine_id, &theirs.machine_id)];
    let (ours, theirs) = ids.into_iter().find(|(ours, theirs)| !ours.is_empty() && !theirs.is_empty())?;
    Some(ours == theirs)
}

fn without_nodes() -> Verdict {
    Verdict::unchecked("the nodes have not been asked")
}
