//! The QDL itself: nodes that have been reached, named and described, and the runs started over them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use bytes::Bytes;
use futures_util::future::{join_all, try_join_all};
use lon_proto::codec::Codec;
use lon_proto::{limits, v1};
use tokio::sync::Notify;

use crate::config::{Config, Driver, RunConfig, Transport};
use crate::contact::Contact;
use crate::control::{ControlThread, Purpose};
use crate::describe::NodeDescription;
use crate::driver::{Carrier, Opened, Wire};
use crate::error::ConnectError;
use crate::inflate::{Inflated, Inflaters, Inflating};
use crate::lane::Lane;
use crate::name::{NETWORK_SUT, SutName};
use crate::remote::Remote;
use crate::run::Run;
use crate::shared::{Node, Shared};
use crate::stream::Way;
use crate::text::printable;
use crate::types::{NodeFailure, NodeIndex, Reply, Sink};
use crate::watch::Patience;
use crate::window::PullWindow;

/// Many SUT nodes, shown as one.
pub struct Qdl {
    config: Config,
    control: Arc<ControlThread>,
    controls: Vec<Contact>,
    descriptions: Vec<NodeDescription>,
}

impl Qdl {
    /// Reaches every node, learns its name and description, and checks that they make one SUT.
    ///
    /// # Errors
    /// The first node that cannot be reached or does not fit, named with its address.
    pub fn connect(config: Config) -> Result<Qdl, ConnectError> {
        if config.nodes.is_empty() {
            return Err(ConnectError::NoNodes);
        }
        check_kserve(&config)?;
        let control = Arc::new(ControlThread::start()?);
        let ours = config.clone();
        let reached = control.wait(async move {
            let (controls, names): (Vec<_>, Vec<_>) = Contact::reach_all(&ours).await?.into_iter().unzip();
            check_names(&names, &ours)?;
            let descriptions = try_join_all(controls.iter().map(Contact::describe)).await?;
            Ok((controls, descriptions))
        });
        let gone = || Err(ConnectError::Os { what: "the control thread", reason: "it is gone".to_owned() });
        let (controls, descriptions) = reached.unwrap_or_else(gone)?;
        Ok(Qdl { config, control, controls, descriptions })
    }

    /// What the nodes said of themselves, in the order given.
    pub fn nodes(&self) -> &[NodeDescription] {
        &self.descriptions
    }

    /// The SUT's name, from a round trip to every node made by this very call.
    pub fn name(&self) -> SutName {
        let controls = self.controls.clone();
        let trips = self.control.wait(async move { join_all(controls.iter().map(Contact::name)).await });
        let expected: Vec<String> = self.descriptions.iter().map(|node| node.name.clone()).collect();
        SutName::from_trips(trips.unwrap_or_default(), &expected)
    }

    /// Bytes that have crossed each node's control connection until now, in and out; in the order given.
    pub fn control_traffic(&self) -> Vec<(u64, u64)> {
        self.controls.iter().map(Contact::traffic).collect()
    }

    /// Claims every node for one run and opens its streams.
    ///
    /// # Errors
    /// The first node that lacks a codec, is busy or cannot be used; the others are let go.
    pub fn start(&self, config: &RunConfig, sink: Arc<dyn Sink>) -> Result<Run, ConnectError> {
        for (codec, of) in [(config.codec, "of the samples"), (config.response_codec, "for answers")] {
            check_codec(&self.descriptions, codec.name(), of)?;
        }
        let codec = config.codec.name().to_owned();
        let purpose = Purpose::Run { codec, response_codec: config.response_codec.to_string() };
        self.begin(config, sink, &purpose)
    }

    /// Claims every node to measure the fabric: like a run, except that the node answers each sample itself, with as many
    /// bytes as the sample's first eight bytes say (little-endian). There are no codecs, whatever `config` says.
    ///
    /// # Errors
    /// The first node that is busy or cannot be probed; the others are let go.
    pub fn probe(&self, config: &RunConfig, sink: Arc<dyn Sink>) -> Result<Run, ConnectError> {
        if let (Transport::Kserve, Some(node)) = (self.config.transport, self.descriptions.first()) {
            let reason = "KServe's protocol has no such call".to_owned();
            return Err(ConnectError::CannotProbe { address: node.address.clone(), reason });
        }
        let config = RunConfig { codec: Codec::None, response_codec: Codec::None, ..config.clone() };
        self.begin(&config, sink, &Purpose::Probe)
    }

    fn begin(&self, config: &RunConfig, sink: Arc<dyn Sink>, purpose: &Purpose) -> Result<Run, ConnectError> {
        let run_id = random_run_id()?;
        let claims = self.claim(&run_id, purpose)?;
        let begun = self.begin_claimed(config, sink, &claims, &run_id);
        let (run, opened) = begun.inspect_err(|_| self.let_go(&run_id))?;
        let outcomes = run.wait_open(opened);
        match outcomes.into_iter().find_map(|(node, outcome)| Some((node, outcome.err()?))) {
            None => Ok(run),
            Some((node, failure)) => {
                // Lets the other nodes go at once, instead of when their claims lapse.
                run.end();
                let NodeDescription { name, address, .. } = &self.descriptions[node.0];
                Err(ConnectError::Stream { name: name.clone(), address: address.clone(), failure })
            }
        }
    }

    /// A run whose streams are being opened.
    fn begin_claimed(
        &self,
        config: &RunConfig,
        sink: Arc<dyn Sink>,
        claims: &[v1::StartRunResponse],
        run_id: &Bytes,
    ) -> Result<(Run, Vec<Opened>), ConnectError> {
        let delivered = Arc::new(Notify::new());
        let sink: Arc<dyn Sink> = match config.driver {
            Driver::Inline => Arc::new(Telling { sink, delivered: Arc::clone(&delivered) }),
            Driver::Threads(_) => sink,
        };
        let mut nodes: Vec<Node> =
            claims.iter().enumerate().map(|(index, claim)| self.new_node(index, claim, config)).collect();
        let inline = config.driver == Driver::Inline;
        let (shared, inflaters) = if config.response_codec.is_none() {
            (Arc::new(Shared::new(config.policy, inline, nodes, sink)), None)
        } else {
            let inflated = |node: &mut Node| Arc::clone(node.inflated.insert(Arc::<Inflated>::default()));
            let inflating =
                Arc::new(Inflating::new(sink, config.response_codec, nodes.iter_mut().map(inflated).collect()));
            let shared = Arc::new(Shared::new(config.policy, inline, nodes, Arc::clone(&inflating) as _));
            let inflaters = Inflaters::start(&inflating, config.response_codec, &shared)?;
            (shared, Some(inflaters))
        };
        let (carrier, opened) = self.carrier(&shared, run_id, config)?;
        let run = Run {
            shared,
            delivered,
            carrier: Some(carrier),
            inflaters,
            control: Arc::clone(&self.control),
            controls: self.controls.clone(),
            run_id: run_id.clone(),
            transport: self.config.transport,
        };
        Ok((run, opened))
    }

    fn carrier(
        &self,
        shared: &Arc<Shared>,
        run_id: &Bytes,
        config: &RunConfig,
    ) -> Result<(Carrier, Vec<Opened>), ConnectError> {
        let wires = self.wires(shared, run_id)?;
        let patience = Patience { response_timeout: config.response_timeout, silence_timeout: config.silence_timeout };
        match config.driver {
            Driver::Threads(count) => Carrier::threads(count, shared, wires, patience),
            Driver::Inline => Carrier::inline(shared, wires, patience),
        }
    }

    /// Ends a run that never began at the nodes that it claimed, instead of when their claims lapse.
    fn let_go(&self, run_id: &Bytes) {
        let (controls, run_id) = (self.controls.clone(), run_id.clone());
        self.control
            .wait(async move { join_all(controls.iter().map(|control| control.end_run(run_id.clone()))).await });
    }

    /// Claims all nodes or none.
    fn claim(&self, run_id: &Bytes, purpose: &Purpose) -> Result<Vec<v1::StartRunResponse>, ConnectError> {
        let deadline = Instant::now() + self.config.wait_ready;
        let (controls, run_id, client) = (self.controls.clone(), run_id.clone(), self.config.client.clone());
        let purpose = purpose.clone();
        let claimed = self.control.wait(async move {
            let claim = |control: &Contact| {
                let (control, run_id, client) = (control.clone(), run_id.clone(), client.clone());
                let purpose = purpose.clone();
                async move { control.claim(run_id, client, purpose, deadline).await }
            };
            let claims = join_all(controls.iter().map(claim)).await;
            if claims.iter().all(Result::is_ok) {
                return claims.into_iter().collect();
            }
            let held = controls.iter().zip(&claims).filter(|(_, claim)| claim.is_ok());
            join_all(held.map(|(control, _)| control.end_run(run_id.clone()))).await;
            claims.into_iter().collect::<Result<Vec<_>, _>>()
        });
        let gone = || Err(ConnectError::Os { what: "the control thread", reason: "it is gone".to_owned() });
        claimed.unwrap_or_else(gone)
    }

    fn wires(&self, shared: &Shared, run_id: &Bytes) -> Result<Vec<Wire>, ConnectError> {
        let Config { transport, tls, call_timeout, .. } = &self.config;
        let mut wires = Vec::new();
        let mut connection = 0;
        for ((node, description), contact) in shared.nodes.iter().zip(&self.descriptions).zip(&self.controls) {
            let (address, sockets) = (description.address.clone(), Arc::clone(&node.sockets));
            let remote = Remote { address, tls: tls.clone(), sockets };
            let promise = contact.promise();
            for lanes in node.lanes.chunks(transport.lanes()) {
                let way = Way::new(*transport, remote.clone(), &promise, *call_timeout);
                let way = way.map_err(|error| ConnectError::Os { what: "QUIC", reason: error.to_string() })?;
                wires.extend(lanes.iter().map(|lane| Wire {
                    lane: Arc::clone(lane),
                    way: way.clone(),
                    connection,
                    run_id: run_id.clone(),
                    timeout: *call_timeout,
                }));
                connection += 1;
            }
        }
        Ok(wires)
    }

    fn new_node(&self, index: usize, claim: &v1::StartRunResponse, config: &RunConfig) -> Node {
        let lane = |_| Arc::new(Lane::new(NodeIndex(index), limits::MAX_SAMPLE_BYTES));
        let max_samples = claim.max_samples_in_flight.max(1);
        Node {
            name: self.descriptions[index].name.clone(),
            lanes: (0..config.connections.get() * self.config.transport.lanes()).map(lane).collect(),
            sockets: Arc::default(),
            inflated: None,
            lost: OnceLock::new(),
            max_samples,
            max_bytes: claim.max_bytes_in_flight,
            window: Mutex::new(PullWindow::new(claim.busy_samples, max_samples)),
        }
    }
}

/// Characters of a node's name at most.
const MAX_NAME_CHARS: usize = 128;

/// Names must be there, usable in a list, and unique.
fn check_names(names: &[String], config: &Config) -> Result<(), ConnectError> {
    let mut seen = HashMap::new();
    for (name, address) in names.iter().zip(&config.nodes) {
        let bad = name.is_empty() || name.contains(',') || name.chars().any(char::is_control);
        if bad || name.contains(NETWORK_SUT) || name.chars().count() > MAX_NAME_CHARS {
            return Err(ConnectError::BadName { address: address.clone(), name: printable(name) });
        }
        if let Some(first) = seen.insert(name, address) {
            let (name, first, second) = (name.clone(), first.clone(), address.clone());
            return Err(ConnectError::DuplicateName { name, first, second });
        }
    }
    Ok(())
}

/// What is asked of servers of KServe's protocol goes with that transport, and their names are known before they are.
fn check_kserve(config: &Config) -> Result<(), ConnectError> {
    match (&config.kserve, config.transport) {
        (Some(kserve), Transport::Kserve) if kserve.names.len() == config.nodes.len() => {
            check_names(&kserve.names, config)
        }
        (None, Transport::Grpc | Transport::Tcp | Transport::Quic) => Ok(()),
        _ => Err(ConnectError::KserveConfig),
    }
}

/// Every node must have the codec. All of them leave bytes as they are, whatever they list.
fn check_codec(nodes: &[NodeDescription], codec: &'static str, of: &'static str) -> Result<(), ConnectError> {
    let lacks =
        |node: &&NodeDescription| codec != Codec::None.name() && !node.codecs.iter().any(|known| known == codec);
    match nodes.iter().find(lacks) {
        None => Ok(()),
        Some(NodeDescription { name, address, codecs, .. }) => {
            let known = if codecs.is_empty() { "none".to_owned() } else { codecs.join(", ") };
            let (name, address) = (name.clone(), address.clone());
            Err(ConnectError::Codec { name, address, codec, of, known })
        }
    }
}

fn random_run_id() -> Result<Bytes, ConnectError> {
    let mut id = [0; limits::RUN_ID_BYTES];
    getrandom::fill(&mut id)
        .map_err(|error| ConnectError::Os { what: "no random bytes for a run id", reason: error.to_string() })?;
    Ok(Bytes::copy_from_slice(&id))
}

/// Passes on, and wakes the caller that pumps.
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
    use super::*;

    fn node(name: &str, codecs: &[&str]) -> NodeDescription {
        let description = v1::DescribeResponse {
            name: name.to_owned(),
            codecs: codecs.iter().map(|&codec| codec.to_owned()).collect(),
            ..v1::DescribeResponse::default()
        };
        NodeDescription::read("10.0.0.1:9000".parse().unwrap(), description).unwrap()
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
