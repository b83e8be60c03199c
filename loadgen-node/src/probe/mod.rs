//! What a fabric carries, measured: the command `probe`, and the same before a run with `run --probe`.
//!
//! A probe claims the nodes as a run does. Its traffic takes the same connections, framing and flow control as samples;
//! only the backend is left out. So it finds what queries can have, which may be less than what a link promises.
//!
//! - `load`: round trips and floods; `goodput`: how much is on its way, and what came of it;
//! - `carries`: the rate at which the fabric carries the samples of each benchmark.

pub(crate) mod carries;
mod goodput;
mod load;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use indicatif::{ProgressBar, ProgressStyle};
use qdl::{Driver, NodeIndex, Policy, Qdl, RunConfig};

pub(crate) use self::load::ProbeError;
use self::load::{Direction, Load};
use crate::exit::{Exit, Failure, OrExit as _, Outcome};
use crate::network::fabric::{Fabric, Goodput, NodeFabric, Percentiles};
use crate::world::inbox::Inbox;
use crate::world::signals::StopRequests;

/// Sizes of the requests whose round trips are measured: a question, a few tokens, a piece of an image, an image.
const RTT_BYTES: [usize; 4] = [64, 4 << 10, 64 << 10, 1 << 20];

/// Round trips get this share of a flood's time, for each size.
const RTT_SHARE: f64 = 0.25;

/// A sample of the probe without an answer after this long has failed.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(20);

/// How much a probe may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProbeLimits {
    /// How long goodput is measured in each direction; each size of round trips gets a quarter of it.
    pub(crate) duration: Duration,
    /// Bytes of payload after which a measurement ends, however short it was.
    pub(crate) max_bytes: u64,
    /// Connections to each node that goodput is measured over.
    pub(crate) connections: NonZeroUsize,
}

impl ProbeLimits {
    /// Those of a probe without flags, over so many connections.
    pub(crate) fn usual(connections: NonZeroUsize) -> ProbeLimits {
        ProbeLimits { duration: Duration::from_secs(2), max_bytes: 8_000_000_000, connections }
    }
}

/// Measures every node alone, then all of them at once. What was measured comes back also when it ends early.
///
/// # Errors
/// The fabric could not be claimed; nothing was measured.
pub(crate) fn measure(
    qdl: &Qdl,
    transport: &'static str,
    limits: ProbeLimits,
    stop: &dyn StopRequests,
) -> Outcome<(Fabric, Result<(), ProbeError>)> {
    let mut config = RunConfig::new(Policy::LeastOutstanding, Driver::Inline);
    // One connection more, which only round trips under load use.
    config.connections = limits.connections.saturating_add(1);
    config.response_timeout = RESPONSE_TIMEOUT;
    let stop = stop.test_begins().context("cannot listen to signals").or_exit(Exit::Bug)?;
    let inbox = Arc::new(Inbox::new());
    let run = qdl.probe(&config, Arc::clone(&inbox) as _).or_exit(Exit::Network)?;
    let names: Vec<String> = qdl.nodes().iter().map(|node| node.name.clone()).collect();
    let nodes = qdl.nodes().iter().map(|node| NodeFabric {
        name: node.name.clone(),
        address: node.address.to_string(),
        ..NodeFabric::default()
    });
    let mut fabric = Fabric { transport, nodes: nodes.collect(), ..Fabric::default() };
    let steps = Steps::new(qdl.nodes().len());
    let mut load = Load::new(run, inbox, stop, names);
    let outcome = all(&mut load, &mut fabric, limits, &steps);
    fabric.socket_bytes = load.end();
    Ok((fabric, outcome))
}

/// The failure of a probe that ended early; `what` says what that means for the command.
pub(crate) fn failed(error: ProbeError, what: &'static str) -> Failure {
    let exit = match error {
        ProbeError::Node(_) => Exit::Network,
        ProbeError::Interrupted => Exit::Interrupted,
    };
    Failure { exit, error: anyhow::Error::new(error).context(what) }
}

fn all(load: &mut Load, fabric: &mut Fabric, limits: ProbeLimits, steps: &Steps) -> Result<(), ProbeError> {
    let mut trips = Vec::new();
    for number in 0..fabric.nodes.len() {
        let (index, node) = (NodeIndex(number), &mut fabric.nodes[number]);
        for bytes in RTT_BYTES {
            steps.next(&format!("{}: round trips of {bytes} bytes", node.name));
            node.rtt.push(load.round_trips(index, bytes, limits.duration.mul_f64(RTT_SHARE))?);
        }
        let round_trip = Duration::from_nanos(node.rtt[0].percentiles.p50_ns);
        trips.push((index, round_trip));
        let name = node.name.clone();
        flood(load, &mut node.goodput, &mut node.loaded, &[(index, round_trip)], limits, &name, steps)?;
    }
    match &fabric.nodes[..] {
        [only] => fabric.together = only.goodput,
        _ => flood(load, &mut fabric.together, &mut None, &trips, limits, "all nodes", steps)?,
    }
    Ok(())
}

/// Floods up, down and both ways. Results that are there are kept even when a later flood fails.
fn flood(
    load: &mut Load,
    goodput: &mut Goodput,
    loaded: &mut Option<Percentiles>,
    nodes: &[(NodeIndex, Duration)],
    limits: ProbeLimits,
    who: &str,
    steps: &Steps,
) -> Result<(), ProbeError> {
    let mut one = |direction, way: &str| {
        steps.next(&format!("{who}: goodput {way}"));
        load.flood(nodes, direction, limits.duration, limits.max_bytes)
    };
    for (direction, way, of) in [(Direction::Up, "up", &mut goodput.up), (Direction::Down, "down", &mut goodput.down)] {
        let flood = one(direction, way)?;
        *of = flood.bits_per_s;
        goodput.is_cut |= flood.is_cut;
    }
    let both = one(Direction::Both, "both ways")?;
    goodput.both = both.bits_per_s.map(|each_way| each_way * 2.0);
    goodput.is_cut |= both.is_cut;
    *loaded = both.loaded;
    Ok(())
}

/// Shows how far the probe is: a line that is redrawn on a terminal, lines of the log elsewhere.
struct Steps(ProgressBar);

impl Steps {
    fn new(nodes: usize) -> Steps {
        let floods = if nodes > 1 { 3 } else { 0 };
        let bar = ProgressBar::new((nodes * (RTT_BYTES.len() + 3) + floods) as u64);
        let style = ProgressStyle::with_template("probe [{elapsed_precise}] {pos}/{len} {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Steps(bar)
    }

    fn next(&self, what: &str) {
        self.0.inc(1);
        self.0.set_message(what.to_owned());
        if self.0.is_hidden() {
            tracing::info!(step = what, "probe");
        }
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
