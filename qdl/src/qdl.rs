//! The QDL itself: nodes that have been reached, named and described, and the runs started over them.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use lon_machine::host::{Host, HostNonce, Machine};
use lon_net::address::NodeAddress;
use lon_net::clock;
use lon_net::random;
use lon_proto::codec::Codec;
use lon_proto::limits;
use lon_proto::node_name::NodeName;
use lon_proto::run_identity::run_name;
use lon_proto::text::{few, printable};
use tokio::sync::Notify;

use crate::account::inflated::Inflated;
use crate::carry::{Connection, Driver, Endpoint, IoDriver, Opened};
use crate::config::{Config, RunConfig};
use crate::control::{
    Claim, ClaimTarget, Claimed, Control, Described, NodeDescription, Peer, Purpose, Reach, RunCodecs, SutName, Tenant,
    all_nodes, claim_all,
};
use crate::dispatch::{AnswerRule, Dispatcher, Expected, Inflaters, Inflating, Node, prefaulted};
use crate::error::ConnectError;
use crate::peer_kind::Payload;
use crate::run::Run;
use crate::types::{NodeFailure, NodeIndex, Reply, Sink};

/// Memory for the answers of all nodes together that come in pieces, while they are not complete. Each node has its
/// share, which is room for one answer at least.
const UNFINISHED_BYTES: u64 = 1 << 30;

/// Many SUT nodes, shown as one.
pub struct Qdl {
    pub(crate) config: Config,
    control: Arc<Control>,
    pub(crate) peers: Vec<Arc<dyn Peer>>,
    /// Outputs that the servers have declared, which their answers are checked against, in the order of the nodes.
    promises: Vec<Arc<crate::carry::Promise>>,
    descriptions: Vec<NodeDescription>,
    /// The key of the ids of machines.
    nonce: HostNonce,
    /// The model that runs ask; `None`: the first of each node.
    pub(crate) model: Option<String>,
}

impl Qdl {
    /// Reaches every node, learns its name and description, and checks that they make one SUT.
    ///
    /// # Errors
    /// The first node that cannot be reached or does not fit, named with its address.
    pub fn connect(config: Config) -> Result<Qdl, ConnectError> {
        if config.peers.addresses().is_empty() {
            return Err(ConnectError::NoNodes);
        }
        if !config.peers.fit_transport() {
            return Err(ConnectError::WrongTransport { transport: config.peers.transport().name() });
        }
        // Names that the caller gave are checked before anything is sent.
        check_names(config.peers.names(), config.peers.addresses())?;
        let control = Arc::new(Control::start(config.runtime.as_ref())?);
        let (ours, nonce) = (config.clone(), HostNonce(random_bytes("a nonce")?));
        let reached = control.wait(async move {
            let Config { peers, wait_ready, call_timeout, tls, token, lookup, network, .. } = ours;
            let reach = Reach { wait_ready, call_timeout, tls, token, lookup, nonce, network };
            let reached = peers.reach_all(&reach).await?;
            let (connected, names): (Vec<_>, Vec<_>) = reached.into_iter().unzip();
            check_names(&names, peers.addresses())?;
            let described = all_nodes::try_all(connected.iter().map(|peer| peer.describe())).await?;
            Ok((connected, described))
        });
        let (peers, described) = reached.unwrap_or_else(no_control_thread)?;
        let describe = |Described { node, promise }| (node, promise);
        let (descriptions, promises) = described.into_iter().map(describe).unzip();
        Ok(Qdl { config, control, peers, promises, descriptions, nonce, model: None })
    }

    /// The same connections without any node, for runs that ask this model.
    pub(crate) fn none(&self, model: Option<String>) -> Qdl {
        Qdl {
            config: self.config.clone(),
            control: Arc::clone(&self.control),
            peers: Vec::new(),
            promises: Vec::new(),
            descriptions: Vec::new(),
            nonce: HostNonce(self.nonce.0),
            model,
        }
    }

    /// Adds a node of another list, as it is described here.
    pub(crate) fn add(&mut self, other: &Qdl, place: usize, description: NodeDescription) {
        self.peers.extend(other.peers.get(place).cloned());
        self.promises.extend(other.promises.get(place).cloned());
        self.descriptions.push(description);
    }

    /// Returns the nodes' descriptions of themselves, in the order given.
    pub fn nodes(&self) -> &[NodeDescription] {
        &self.descriptions
    }

    /// The machine that this program runs on, with ids that can be compared with those of the nodes' machines.
    pub fn here(&self) -> Host {
        Machine::here().host_for(&self.nonce)
    }

    /// The SUT's name, from a round trip to every node made by this very call.
    pub fn name(&self) -> SutName {
        let peers = self.peers.clone();
        let trips = self.control.wait(async move { all_nodes::all(peers.iter().map(|peer| peer.name_trip())).await });
        SutName::from_trips(trips.unwrap_or_default(), &self.names())
    }

    /// Bytes that have crossed each node's control connection until now, in and out; in the order given.
    pub fn control_traffic(&self) -> Vec<(u64, u64)> {
        self.peers.iter().map(|peer| peer.traffic()).collect()
    }

    /// Claims every node for one run and opens its streams.
    ///
    /// # Errors
    /// The first node that lacks a codec, is busy or cannot be used; the claims on the others end.
    pub fn start(&self, config: &RunConfig, sink: Arc<dyn Sink>) -> Result<Run, ConnectError> {
        self.check_codecs(config)?;
        let codecs = codecs_of(config);
        let purpose = match &self.model {
            None => Purpose::Run(codecs),
            Some(model) => Purpose::Tenants(vec![Tenant { model: model.clone(), codecs }]),
        };
        self.begin(config, sink, purpose)
    }

    /// Checks that every node has the codecs of a run.
    pub(crate) fn check_codecs(&self, config: &RunConfig) -> Result<(), ConnectError> {
        for (codec, of) in [(config.codec, "of the samples"), (config.response_codec, "for answers")] {
            check_codec(&self.descriptions, codec.name(), of)?;
        }
        Ok(())
    }

    /// Claims every node to measure the fabric: like a run, except that the node answers each sample itself, with as
    /// many bytes as the sample's first eight bytes say (little-endian). Codecs in `config` are not used.
    ///
    /// # Errors
    /// The first node that is busy or cannot be probed; the claims on the others end.
    pub fn probe(&self, config: &RunConfig, sink: Arc<dyn Sink>) -> Result<Run, ConnectError> {
        let kind = self.config.peers.transport().peer_kind();
        if let (Some(reason), Some(node)) = (kind.no_probe, self.descriptions.first()) {
            return Err(ConnectError::CannotProbe { address: node.address.clone(), reason: reason.to_owned() });
        }
        let config = RunConfig { codec: Codec::None, response_codec: Codec::None, ..config.clone() };
        self.begin(&config, sink, Purpose::Probe)
    }

    fn begin(&self, config: &RunConfig, sink: Arc<dyn Sink>, purpose: Purpose) -> Result<Run, ConnectError> {
        let run_id = new_run_id()?;
        let is_probe = matches!(purpose, Purpose::Probe);
        let claim = Claim { run_id: run_id.clone(), client: self.config.client.clone(), purpose };
        let targets = self.claim_targets(|_| claim.clone());
        let terms = self.claim(&run_id, targets)?;
        self.open(config, sink, &terms.concat(), is_probe, 1)
    }

    /// Returns the nodes that are to be claimed, each with its claim, in their order.
    pub(crate) fn claim_targets(&self, claim: impl Fn(usize) -> Claim) -> Vec<ClaimTarget> {
        let nodes = self.peers.iter().zip(&self.descriptions).enumerate();
        let targets = nodes.map(|(index, (peer, node))| ClaimTarget {
            peer: Arc::clone(peer),
            name: node.name.clone(),
            claim: claim(index),
        });
        targets.collect()
    }

    /// Opens the streams of a run, of `tenants` in all, for which the nodes are claimed. When that fails, the claims
    /// end.
    pub(crate) fn open(
        &self,
        config: &RunConfig,
        sink: Arc<dyn Sink>,
        claimed: &[Claimed],
        is_probe: bool,
        tenants: usize,
    ) -> Result<Run, ConnectError> {
        let rules = self.rules(is_probe, config.max_answer_bytes);
        let share_bytes = UNFINISHED_BYTES / (claimed.len() * tenants).max(1) as u64;
        let outcome = self.begin_claimed(config, sink, claimed, rules, share_bytes);
        let (run, opened) = outcome.inspect_err(|_| self.let_go(claimed))?;
        let outcomes = run.wait_open(opened);
        let mut failed = outcomes.into_iter().filter_map(|(node, outcome)| Some((node, outcome.err()?)));
        match failed.next() {
            None => Ok(run),
            Some((node, failure)) => {
                let others: BTreeSet<NodeIndex> =
                    failed.map(|(other, _)| other).filter(|other| *other != node).collect();
                // Lets the other nodes go at once, instead of when their claims lapse.
                run.end();
                let NodeDescription { name, address, .. } = &self.descriptions[node.0];
                let first = ConnectError::Stream { name: name.clone(), address: address.clone(), failure };
                Err(first.and_more(others.len(), self.peers.len()))
            }
        }
    }

    /// A run whose streams are being opened.
    fn begin_claimed(
        &self,
        config: &RunConfig,
        sink: Arc<dyn Sink>,
        claimed: &[Claimed],
        rules: Vec<Arc<AnswerRule>>,
        share_bytes: u64,
    ) -> Result<(Run, Vec<Opened>), ConnectError> {
        let delivered = Arc::new(Notify::new());
        let inline = config.driver == Driver::Inline;
        let sink: Arc<dyn Sink> =
            if inline { Arc::new(Telling { sink, delivered: Arc::clone(&delivered) }) } else { sink };
        let has_codec = !config.response_codec.is_none();
        let inflated: Vec<Arc<Inflated>> =
            if has_codec { claimed.iter().map(|_| Arc::default()).collect() } else { Vec::new() };
        let nodes = self.nodes_of_run(config, claimed, &rules, &inflated, share_bytes);
        let (dispatcher, inflaters) = if has_codec {
            let inflating = Arc::new(Inflating::new(sink, config.response_codec, inflated, rules));
            let dispatcher = Arc::new(Dispatcher::new(config.policy, inline, nodes, Arc::clone(&inflating) as _));
            let inflaters = Inflaters::start(&inflating, config.response_codec, &dispatcher)?;
            (dispatcher, Some(inflaters))
        } else {
            (Arc::new(Dispatcher::new(config.policy, inline, nodes, sink)), None)
        };
        let connections = self.connections(&dispatcher, claimed);
        let runtime = self.config.runtime.as_ref();
        let RunConfig { driver, silence_timeout, realtime, .. } = *config;
        let (driver, opened) = IoDriver::start(driver, runtime, &dispatcher, connections, silence_timeout, realtime)?;
        let run = Run {
            dispatcher,
            delivered,
            driver: Some(driver),
            inflaters,
            control: Arc::clone(&self.control),
            peers: self.peers.clone(),
            passes: claimed.iter().map(|node| node.pass.clone()).collect(),
            transport: self.config.peers.transport(),
            flushes: Arc::default(),
            call_timeout: self.config.call_timeout,
        };
        Ok((run, opened))
    }

    /// Ends a run that never began at the nodes that it claimed, instead of when their claims lapse.
    pub(crate) fn let_go(&self, claimed: &[Claimed]) {
        let (peers, claimed) = (self.peers.clone(), claimed.to_vec());
        self.control.wait(async move {
            all_nodes::all(peers.iter().zip(&claimed).map(|(peer, node)| peer.end_run(&node.pass))).await;
        });
    }

    /// Claims all nodes or none; returns the terms of each for its tenants.
    pub(crate) fn claim(&self, run_id: &Bytes, targets: Vec<ClaimTarget>) -> Result<Vec<Vec<Claimed>>, ConnectError> {
        let deadline = clock::now() + self.config.wait_ready;
        let names: Vec<String> = targets.iter().map(|node| node.name.clone()).collect();
        let addresses: Vec<NodeAddress> = self.descriptions.iter().map(|node| node.address.clone()).collect();
        let claimed = self.control.wait(async move {
            let claimed = claim_all(&targets, deadline).await?;
            let nodes = targets.iter().zip(&claimed).zip(addresses);
            let unusable = |((node, terms), address): ((&ClaimTarget, &Vec<Claimed>), NodeAddress)| {
                let field = terms.iter().find_map(|tenant| tenant.zero)?;
                Some(ConnectError::NoBound { name: node.name.clone(), address, field })
            };
            let unusable = { nodes }.find_map(unusable);
            if let Some(error) = unusable {
                all_nodes::all(targets.iter().zip(&claimed).map(|(node, terms)| node.let_go(terms))).await;
                return Err(error);
            }
            Ok(claimed)
        });
        let claimed = claimed.unwrap_or_else(no_control_thread)?;
        // The nodes' own logs have the same name.
        tracing::info!(run = run_name(run_id), nodes = few(&names, ", "), "the run has its SUT nodes");
        Ok(claimed)
    }

    /// The names that the nodes gave themselves, in the order given.
    fn names(&self) -> Vec<String> {
        self.descriptions.iter().map(|node| node.name.clone()).collect()
    }

    /// The nodes with their lanes. `inflated`: their counters of answers that are inflated here; none without a codec.
    fn nodes_of_run(
        &self,
        config: &RunConfig,
        claimed: &[Claimed],
        rules: &[Arc<AnswerRule>],
        inflated: &[Arc<Inflated>],
        share_bytes: u64,
    ) -> Vec<Node> {
        let lanes = config.connections.get() * self.config.peers.transport().lanes_per_connection().get();
        let room = prefaulted::room(claimed.len() * lanes);
        let node = |(index, (Claimed { bounds, .. }, rule)): (usize, (&Claimed, &Arc<AnswerRule>))| {
            let (name, inflated) = (self.descriptions[index].name.clone(), inflated.get(index).cloned());
            let within = config.response_timeout;
            let expected = Expected::new(rule, !config.response_codec.is_none(), within, share_bytes);
            Node::new(NodeIndex(index), name, (lanes, room), *bounds, &expected, inflated)
        };
        claimed.iter().zip(rules).enumerate().map(node).collect()
    }

    /// Returns the rules that the nodes' answers are checked against. A probe is answered as the wire contract has it.
    /// The transport checks the answers of KServe servers against their metadata.
    fn rules(&self, is_probe: bool, max_bytes: u64) -> Vec<Arc<AnswerRule>> {
        let is_described = self.config.peers.transport().peer_kind().payload == Payload::Sample;
        let rule = |node: &NodeDescription| match is_described && !is_probe {
            true => AnswerRule::new(&node.name, &node.outputs, max_bytes),
            false => AnswerRule::anything(&node.name, max_bytes),
        };
        self.descriptions.iter().map(|node| Arc::new(rule(node))).collect()
    }

    /// The connections of a run, none of them open yet.
    fn connections(&self, dispatcher: &Dispatcher, claimed: &[Claimed]) -> Vec<Connection> {
        let Config { peers, tls, network, call_timeout, .. } = &self.config;
        let transport = peers.transport();
        let mut connections = Vec::new();
        let described = self.descriptions.iter().zip(&self.promises);
        for ((node, claimed), (description, promise)) in dispatcher.nodes.iter().zip(claimed).zip(described) {
            let (address, sockets) = (description.address.clone(), Arc::clone(&node.sockets));
            // Where the node was asked. Its name may lead elsewhere by now, to one that nobody has claimed.
            let at = description.ends.map(|ends| ends.remote).into_iter().collect();
            let endpoint = Endpoint { address, at, tls: tls.clone(), network: network.clone(), sockets };
            let lanes = node.lanes.chunks(transport.lanes_per_connection().get());
            connections.extend(lanes.map(|lanes| Connection {
                lanes: lanes.to_vec(),
                transport,
                endpoint: endpoint.clone(),
                pass: claimed.pass.clone(),
                timeout: *call_timeout,
                promise: Arc::clone(promise),
            }));
        }
        connections
    }
}

/// Codecs of a run, as the wire names them: nodes are told that of the samples without a level.
pub(crate) fn codecs_of(config: &RunConfig) -> RunCodecs {
    RunCodecs { samples: config.codec.name().to_owned(), answers: config.response_codec.to_string() }
}

/// Returns the id of a new run.
pub(crate) fn new_run_id() -> Result<Bytes, ConnectError> {
    Ok(Bytes::copy_from_slice(&random_bytes::<{ limits::RUN_ID_BYTES }>("a run id")?))
}

fn no_control_thread<T>() -> Result<T, ConnectError> {
    Err(ConnectError::Os { what: "the control thread", reason: "it is gone".to_owned() })
}

/// Names must be there, usable in a list, and unique.
fn check_names(names: &[String], addresses: &[NodeAddress]) -> Result<(), ConnectError> {
    let mut owners = HashMap::new();
    for (name, address) in names.iter().zip(addresses) {
        if name.parse::<NodeName>().is_err() {
            return Err(ConnectError::BadName { address: address.clone(), name: printable(name) });
        }
        if let Some(first) = owners.insert(name, address) {
            let (name, first, second) = (name.clone(), first.clone(), address.clone());
            return Err(ConnectError::DuplicateName { name, first, second });
        }
    }
    Ok(())
}

/// Every node must have the codec. Every node has the codec `none`, also when it does not list it.
fn check_codec(nodes: &[NodeDescription], codec: &'static str, of: &'static str) -> Result<(), ConnectError> {
    let lacks = |node: &&NodeDescription| codec != Codec::None.name() && !node.codecs.iter().any(|own| own == codec);
    match nodes.iter().find(lacks) {
        None => Ok(()),
        Some(NodeDescription { name, address, codecs, .. }) => {
            let mut names = if codecs.is_empty() { "none".to_owned() } else { codecs.join(", ") };
            if codec == Codec::Original.name() {
                names.push_str("; files are decoded by a node that is started with --preprocess");
            }
            let (name, address) = (name.clone(), address.clone());
            Err(ConnectError::Codec { name, address, codec, of, codecs: names })
        }
    }
}

/// Random bytes of the operating system for this purpose.
fn random_bytes<const LEN: usize>(purpose: &'static str) -> Result<[u8; LEN], ConnectError> {
    let mut bytes = [0; LEN];
    let none = |error| ConnectError::Os { what: "no random bytes", reason: format!("{purpose}: {error}") };
    random::fill(&mut bytes).map_err(none)?;
    Ok(bytes)
}

/// A sink that passes everything on to the caller's sink, and wakes the caller that pumps.
struct Telling {
    sink: Arc<dyn Sink>,
    delivered: Arc<Notify>,
}

impl Sink for Telling {
    fn replies(&self, replies: &mut Vec<Reply>) {
        self.sink.replies(replies);
        self.delivered.notify_one();
    }

    fn node_lost(&self, node: NodeIndex, failure: &NodeFailure) {
        self.sink.node_lost(node, failure);
        self.delivered.notify_one();
    }

    fn room(&self) {
        self.sink.room();
        self.delivered.notify_one();
    }

    fn tick(&self) {
        self.delivered.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use lon_proto::v1;

    use super::*;

    fn node(name: &str, codecs: &[&str]) -> NodeDescription {
        let description = v1::DescribeResponse {
            name: name.to_owned(),
            codecs: codecs.iter().map(|&codec| codec.to_owned()).collect(),
            ..v1::DescribeResponse::default()
        };
        NodeDescription::read("10.0.0.1:9000".parse().unwrap(), None, description).unwrap()
    }

    #[test]
    fn a_node_without_the_codec_is_named_with_what_it_has() {
        let nodes = [node("N1", &["none", "zstd"]), node("N2", &["none", "lz4"])];
        check_codec(&nodes, "none", "of the samples").unwrap();
        check_codec(&nodes[..1], "zstd", "of the samples").unwrap();
        let error = check_codec(&nodes, "zstd", "of the samples").unwrap_err();
        assert_eq!(
            error.to_string(),
            "SUT node N2 (10.0.0.1:9000) does not know the codec 'zstd' of the samples; it knows: none, lz4"
        );
        let bare = [node("N3", &[])];
        check_codec(&bare, "none", "for answers").unwrap();
        assert!(check_codec(&bare, "lz4", "for answers").unwrap_err().to_string().ends_with("it knows: none"));
    }
}
