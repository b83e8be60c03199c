//! Measurement of what a fabric carries: the command `probe`, and the same before a run with `run --probe`.
//!
//! A probe claims the nodes as a run does. Its traffic takes the same connections, framing and flow control as samples;
//! only the backend is left out. So it finds what queries can have, which may be less than what a link promises.
//!
//! ```text
//! plan ─> measure ─> load: round trips and floods over a claimed fabric
//!            └─> Fabric: per node, both ways, by connections, with what both ends spent
//! ```
//!
//! - `plan`: what is measured, a checked value; `steps`: how far it is;
//! - `floods`: repeated, with their costs; `watch`: without end, an interval at a time; the floods themselves are in
//!   the crate lon-probe;
//! - `matrix`: between the nodes, measured by themselves; `rounds`: which of them measure at the same time;
//! - `capacity`: the rate at which the fabric carries the samples of each benchmark; `needs`: what rates need of a
//!   fabric.

pub mod capacity;
mod floods;
pub mod matrix;
pub mod needs;
pub mod plan;
mod rounds;
mod steps;
pub mod watch;

use std::time::Duration;

use anyhow::Context as _;
pub use lon_probe::ProbeError;
use lon_probe::{FloodDirection, Load};
use qdl::{NodeIndex, NodeReport, Qdl, Setting};

use self::floods::{Floods, Measured};
use self::plan::ProbePlan;
use self::steps::Steps;
use crate::exit::{Exit, Failure, OrExit as _, Outcome};
use crate::network::by_way::ByWay;
use crate::network::ends::{End, Spent};
use crate::network::fabric::{AtConnections, Fabric, Goodput, NodeFabric, Repeats, fills_with};
use crate::network::spread;
use crate::network::traffic::Bytes;
use crate::signals::StopRequests;

/// A node of a fabric, and its round trip.
type FloodTarget = (NodeIndex, Duration);

/// Measures every node alone, then all of them at once. What was measured comes back also when it ends early.
///
/// # Errors
/// The fabric could not be claimed; nothing was measured.
pub fn measure(
    qdl: &Qdl,
    transport: &'static str,
    plan: &ProbePlan,
    stop: &dyn StopRequests,
) -> Outcome<(Fabric, Result<(), ProbeError>)> {
    let mut load = claim(qdl, plan, stop)?;
    let mut fabric = unmeasured(qdl, transport);
    let nodes = fabric.nodes.len();
    let mut steps = Steps::new(plan.steps(nodes), plan.time(nodes));
    let mut floods = Floods { load: &mut load, plan, steps: &mut steps };
    let outcome = all(&mut floods, &mut fabric);
    fabric.socket_bytes = crossed(&load.end());
    Ok((fabric, outcome))
}

/// Claims the nodes.
fn claim(qdl: &Qdl, plan: &ProbePlan, stop: &dyn StopRequests) -> Outcome<Load> {
    let stop = stop.test_begins().context("cannot listen to signals").or_exit(Exit::Bug)?;
    Load::claim(qdl, plan.most_connections(), stop).or_exit(Exit::Network)
}

/// The bytes that crossed the sockets to all nodes.
fn crossed(reports: &[NodeReport]) -> Bytes {
    let sum = |of: fn(&NodeReport) -> u64| reports.iter().map(of).sum();
    Bytes {
        ingress: sum(|report| report.traffic.socket_bytes_out),
        egress: sum(|report| report.traffic.socket_bytes_in),
    }
}

/// The nodes of a fabric, of which nothing is known yet.
fn unmeasured(qdl: &Qdl, transport: &'static str) -> Fabric {
    let nodes = qdl.nodes().iter().map(|node| NodeFabric {
        name: node.name.clone(),
        address: node.address.to_string(),
        decode_threads: decode_threads(&node.settings),
        boot_id: node.host.boot_id.clone(),
        host_cores: node.host.processors.sockets.saturating_mul(node.host.processors.cores_each),
        ..NodeFabric::default()
    });
    Fabric { transport, nodes: nodes.collect(), ..Fabric::default() }
}

/// The threads that decompress, by a node's own word.
fn decode_threads(settings: &[Setting]) -> Option<u32> {
    settings.iter().find(|setting| setting.name == "decode_threads")?.value.parse().ok()
}

/// The failure of a probe that ended early; `what` says what that means for the command.
pub fn failed(error: ProbeError, what: impl Into<String>) -> Failure {
    let exit = match error {
        ProbeError::Node(_) => Exit::Network,
        ProbeError::Interrupted => Exit::Interrupted,
    };
    Failure { exit, error: anyhow::Error::new(error).context(what.into()) }
}

fn all(floods: &mut Floods<'_>, fabric: &mut Fabric) -> Result<(), ProbeError> {
    let mut targets = Vec::new();
    for (number, node) in fabric.nodes.iter_mut().enumerate() {
        targets.push(alone(floods, NodeIndex(number), node)?);
    }
    let fills = fabric.nodes.iter().filter_map(|node| node.fills_with).max().unwrap_or(1);
    match &fabric.nodes[..] {
        [only] => (fabric.together, fabric.together_repeats) = (only.goodput, only.repeats.clone()),
        _ => together(floods, fabric, &targets, fills)?,
    }
    Ok(())
}

/// Measures one node. What both ends have counted meanwhile is known also when it ends early, unless the node is lost.
fn alone(floods: &mut Floods<'_>, index: NodeIndex, node: &mut NodeFabric) -> Result<FloodTarget, ProbeError> {
    let (own, sut) = floods.load.ends(index);
    let mut costs = Costs::default();
    let outcome = sizes_and_connections(floods, index, node, &mut costs);
    if !matches!(outcome, Err(ProbeError::Node(_))) {
        let (own_now, sut_now) = floods.load.ends(index);
        node.loadgen = Some(End::between(&own, own_now, costs.own));
        node.sut = sut.zip(sut_now).map(|(before, now)| End::between(&before, now, costs.sut));
    }
    outcome
}

/// Processor time of floods, at both ends.
#[derive(Default)]
struct Costs {
    own: ByWay<Spent>,
    sut: ByWay<Spent>,
}

fn sizes_and_connections(
    floods: &mut Floods<'_>,
    index: NodeIndex,
    node: &mut NodeFabric,
    costs: &mut Costs,
) -> Result<FloodTarget, ProbeError> {
    let plan = floods.plan;
    for &bytes in plan.sizes() {
        floods.steps.next(&format!("{}: round trips of {bytes} bytes", node.name));
        node.rtt.push(floods.load.round_trips(index, bytes, plan.trips_time())?);
    }
    let round_trip = node.rtt.first().map_or(Duration::ZERO, |rtt| Duration::from_nanos(rtt.percentiles.p50_ns));
    let target = (index, round_trip);
    let mut tried = Vec::new();
    for connections in plan.connections() {
        let mut measured = [Measured::default(), Measured::default()];
        let mut outcome = Ok(());
        for (direction, into) in [FloodDirection::Up, FloodDirection::Down].into_iter().zip(&mut measured) {
            outcome = outcome.and_then(|()| floods.measure(into, &[target], direction, connections, &node.name));
        }
        let [up, down] = measured.each_ref().map(Measured::mean);
        node.by_connections.push(AtConnections { connections, up, down });
        tried.push((connections, measured));
        node.fills_with = fills_with(&node.by_connections);
        show_best(node, costs, &tried);
        outcome?;
    }
    let fills = node.fills_with.unwrap_or_else(|| plan.most_connections().get());
    let mut both = Measured::default();
    let outcome = floods.measure(&mut both, &[target], FloodDirection::Both, fills, &node.name);
    node.goodput.both = both.mean().map(|each_way| each_way * 2.0);
    node.repeats.both = both.bits_per_s.iter().map(|each_way| each_way * 2.0).collect();
    node.missing.both = both.missing();
    node.loaded = both.loaded;
    (costs.own.both, costs.sut.both) = both.spent();
    outcome.map(|()| target)
}

/// Sets the figures of the node to those over the number of connections that fills the link, or over the last number
/// that was tried.
fn show_best(node: &mut NodeFabric, costs: &mut Costs, tried: &[(usize, [Measured; 2])]) {
    let is_best = |(connections, _): &&(usize, [Measured; 2])| Some(*connections) == node.fills_with;
    let Some((_, [up, down])) = tried.iter().find(is_best).or(tried.last()) else { return };
    node.missing = ByWay { up: up.missing(), down: down.missing(), both: None };
    node.goodput = Goodput { up: up.mean(), down: down.mean(), both: None };
    node.repeats.up.clone_from(&up.bits_per_s);
    node.repeats.down.clone_from(&down.bits_per_s);
    (costs.own.up, costs.sut.up) = up.spent();
    (costs.own.down, costs.sut.down) = down.spent();
}

/// Floods all nodes at once. Results that are there are kept even when a later flood fails.
fn together(
    floods: &mut Floods<'_>,
    fabric: &mut Fabric,
    targets: &[FloodTarget],
    connections: usize,
) -> Result<(), ProbeError> {
    let mut outcome = Ok(());
    let mut measured = [Measured::default(), Measured::default(), Measured::default()];
    for (direction, into) in
        [FloodDirection::Up, FloodDirection::Down, FloodDirection::Both].into_iter().zip(&mut measured)
    {
        outcome = outcome.and_then(|()| floods.measure(into, targets, direction, connections, "all nodes"));
    }
    let [up, down, both] = measured.each_ref().map(Measured::missing);
    fabric.together_missing = ByWay { up, down, both };
    let [up, down, both] = measured.map(|measured| measured.bits_per_s);
    let both = both.iter().map(|each_way| each_way * 2.0).collect();
    fabric.together_repeats = Repeats { up, down, both };
    fabric.together = fabric.together_repeats.as_ref().map(|values| spread::mean(values));
    outcome
}
