//! Traffic over a claimed fabric: round trips one at a time, and floods up, down or both ways.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

use bytes::{BufMut as _, Bytes, BytesMut};
use qdl::{
    ConnectError, Driver, EndCounters, Failure, NodeIndex, NodeReport, Outcome, Policy, Qdl, Reply, Run, RunConfig,
    Sample, SampleId, Wait,
};
use rand_mt::Mt64;

use crate::goodput::{LARGEST_CHUNK, Meter, Window};
use crate::mailbox::Mailbox;
use crate::trips::Rtt;

/// A sample of the probe without an answer after this long has failed.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(20);

/// Bytes of a request of which only the answer counts. It holds the number that says how long the answer should be.
const ASKING_BYTES: usize = 64;

/// Distinct payloads of one kind, so that no buffer is sent from a warm cache again and again.
const DISTINCT: usize = 16;

/// Time between the starts of two round trips under load, at least.
const TRIP_INTERVAL: Duration = Duration::from_millis(5);

/// Most round trips of one size.
const MOST_TRIPS: usize = 1000;

/// Time for which the probe waits awake for an answer, as in SingleStream.
const LINGER: Duration = Duration::from_micros(500);

/// The longest wait before it is checked whether the user wants to stop.
const LOOK_AROUND: Duration = Duration::from_millis(20);

/// Why a probe ended early.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// A node is of no use any more, or does not answer what it was asked.
    #[error("{0}")]
    Node(String),
    /// The user wants to stop.
    #[error("interrupted")]
    Interrupted,
}

/// The direction of a flood; up is towards the SUT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloodDirection {
    /// Towards the SUT.
    Up,
    /// Back from the SUT.
    Down,
    /// Both at once.
    Both,
}

impl FloodDirection {
    /// The direction in words.
    pub fn way(self) -> &'static str {
        match self {
            FloodDirection::Up => "up",
            FloodDirection::Down => "down",
            FloodDirection::Both => "both ways",
        }
    }
}

/// Parameters of a flood: its nodes, its direction and its limits.
#[derive(Clone, Copy, Debug)]
pub struct FloodSpec<'a> {
    /// The nodes, each with its round trip.
    pub nodes: &'a [(NodeIndex, Duration)],
    /// The direction that is filled.
    pub direction: FloodDirection,
    /// Connections to each node.
    pub connections: usize,
    /// Duration of the flood.
    pub time: Duration,
    /// Bytes each way after which it ends.
    pub max_bytes: u64,
}

/// The result of one flood.
#[derive(Clone, Debug)]
pub struct Flood {
    /// Payload in bit/s, in each direction that was used. `None` when too little arrived to say.
    pub bits_per_s: Option<f64>,
    /// The same of each node alone.
    pub by_node: Vec<Option<f64>>,
    /// Payload that crossed in both directions together, also after the measurement.
    pub moved_bytes: u64,
    /// The rate is missing because the allowed number of bytes had arrived before there was time to measure.
    pub is_cut: bool,
    /// Round trips of 64 bytes during the flood. `None` when there was no time for one.
    pub loaded: Option<Rtt>,
}

/// A fabric that is claimed for probing.
pub struct Load {
    run: Run,
    inbox: Arc<Mailbox>,
    stop: Arc<AtomicBool>,
    names: Vec<String>,
    /// Connections to each node, the one among them that floods keep away from.
    connections: usize,
    noise: Bytes,
    replies: Vec<Reply>,
    next_id: u64,
}

/// One node's share of a flood.
struct Flow {
    node: NodeIndex,
    lanes: usize,
    window: Window,
    meter: Meter,
    /// Bytes that were sent and have not been answered.
    on_the_way_bytes: u64,
    next_lane: usize,
    payloads: Option<(usize, Vec<Bytes>)>,
}

/// Ids say what a sample was for: whose, how large, and whether it was a round trip among the flood.
#[derive(Clone, Copy)]
struct Ticket {
    node: usize,
    bytes: u64,
    is_trip: bool,
    start: Instant,
}

impl Load {
    /// Claims the nodes, with one connection more than floods use at most, which only round trips under load use. The
    /// thread that calls the rest does the network's work. What waits ends when `stop` turns true.
    ///
    /// # Errors
    /// A node is busy or cannot be probed.
    pub fn claim(qdl: &Qdl, most_connections: NonZeroUsize, stop: Arc<AtomicBool>) -> Result<Load, ConnectError> {
        let mut config = RunConfig::new(Policy::LeastOutstanding, Driver::Inline);
        config.connections = most_connections.saturating_add(1);
        config.response_timeout = RESPONSE_TIMEOUT;
        let inbox = Arc::new(Mailbox::default());
        let run = qdl.probe(&config, Arc::clone(&inbox) as _)?;
        let names = qdl.nodes().iter().map(|node| node.name.clone()).collect();
        let noise = noise(LARGEST_CHUNK + DISTINCT * 64);
        let connections = config.connections.get();
        Ok(Load { run, inbox, stop, names, connections, noise, replies: Vec::new(), next_id: 0 })
    }

    /// Returns the CPU time and counters of this end and of the node until now. The node's are `None` when it does not
    /// report them.
    pub fn ends(&self, node: NodeIndex) -> (EndCounters, Option<EndCounters>) {
        let (own, theirs) = self.run.ends(node);
        let note = |reason: &String| tracing::debug!(node = node.0, reason, "no counters of a node");
        (own, theirs.inspect_err(note).ok())
    }

    /// Releases the nodes. Returns what each of them, and this end, have counted.
    pub fn end(self) -> Vec<NodeReport> {
        self.run.end()
    }

    /// Round trips of requests of so many bytes, answered by eight, one after the other for as long as `time`.
    ///
    /// # Errors
    /// See [`ProbeError`].
    pub fn round_trips(&mut self, node: NodeIndex, bytes: usize, time: Duration) -> Result<Rtt, ProbeError> {
        let payloads = self.payloads(bytes, 8);
        let lane = self.last_lane(node);
        let mut taken = Vec::new();
        let end = Instant::now() + time;
        while taken.len() < MOST_TRIPS && (taken.is_empty() || Instant::now() < end) {
            let start = Instant::now();
            let payload = payloads[taken.len() % payloads.len()].clone();
            self.ask(node, lane, payload, start);
            let reply = self.one_reply(node)?;
            taken.push(reply.at.saturating_duration_since(start).as_nanos() as u64);
        }
        Ok(Rtt::of(bytes, &mut taken))
    }

    /// As much as goes to and from these nodes at once, for as long as `time` or up to `max_bytes` each way; round
    /// trips of 64 bytes on a lane of their own meanwhile, at the first of them: one at a time, and not faster than
    /// one a `TRIP_INTERVAL`, since the quick ones before the link is full would outnumber all others.
    ///
    /// # Errors
    /// See [`ProbeError`].
    pub fn flood(&mut self, spec: &FloodSpec<'_>) -> Result<Flood, ProbeError> {
        let FloodSpec { nodes, direction, connections, time, max_bytes } = *spec;
        let start = Instant::now();
        let flow = |&(node, rtt): &(NodeIndex, Duration)| {
            Flow::new(node, self.bulk_lanes(node, connections), rtt, Meter::new(start, time))
        };
        let mut flows: Vec<Flow> = nodes.iter().map(flow).collect();
        let mut tickets = HashMap::new();
        let (mut meter, mut trips) = (Meter::new(start, time), Vec::new());
        let (trip_payload, mut trip_under_way) = (self.payloads(ASKING_BYTES, 8)[0].clone(), false);
        let mut next_trip_at = start;
        let (mut carried, mut moved_bytes, mut over_at) = (0, 0, None);
        let Some(&(first, _)) = nodes.first() else { return Err(ProbeError::Node("no node".to_owned())) };
        loop {
            let now = Instant::now();
            let is_over = now.saturating_duration_since(start) >= time || carried >= max_bytes;
            if is_over {
                over_at.get_or_insert(now);
                if tickets.is_empty() {
                    break;
                }
            }
            if !is_over {
                for (number, flow) in flows.iter_mut().enumerate() {
                    self.fill(flow, number, direction, now, &mut tickets);
                }
                if !trip_under_way && now >= next_trip_at {
                    (trip_under_way, next_trip_at) = (true, now + TRIP_INTERVAL);
                    let id = self.ask(first, self.last_lane(first), trip_payload.clone(), now);
                    tickets.insert(id, Ticket { node: 0, bytes: 0, is_trip: true, start: now });
                }
            }
            for reply in self.wait()? {
                let Some(ticket) = tickets.remove(&reply.id) else { continue };
                let flow = &mut flows[ticket.node];
                self.check(flow.node, &reply.outcome)?;
                if ticket.is_trip {
                    trips.push(reply.at.saturating_duration_since(ticket.start).as_nanos() as u64);
                    trip_under_way = false;
                    continue;
                }
                flow.came(reply.at, ticket.bytes);
                moved_bytes += ticket.bytes * if direction == FloodDirection::Both { 2 } else { 1 };
                // The drain at the end is slower than the flood and no part of it.
                if !is_over {
                    meter.came(reply.at, ticket.bytes);
                    flow.meter.came(reply.at, ticket.bytes);
                    carried += ticket.bytes;
                }
            }
        }
        let loaded = (!trips.is_empty()).then(|| Rtt::of(ASKING_BYTES, &mut trips));
        let over_at = over_at.unwrap_or(start);
        let bits_per_s = meter.bits_per_s(over_at);
        let by_node = flows.iter().map(|flow| flow.meter.bits_per_s(over_at)).collect();
        let is_cut = bits_per_s.is_none() && carried >= max_bytes;
        Ok(Flood { bits_per_s, by_node, moved_bytes, is_cut, loaded })
    }

    /// Sends to a node what its window allows.
    fn fill(
        &mut self,
        flow: &mut Flow,
        number: usize,
        direction: FloodDirection,
        now: Instant,
        tickets: &mut HashMap<SampleId, Ticket>,
    ) {
        let chunk = flow.window.chunk();
        if flow.payloads.as_ref().is_none_or(|(made_for, _)| *made_for != chunk) {
            let payloads = match direction {
                FloodDirection::Up => self.payloads(chunk, 8),
                FloodDirection::Down => self.payloads(ASKING_BYTES, chunk),
                FloodDirection::Both => self.payloads(chunk, chunk),
            };
            flow.payloads = Some((chunk, payloads));
        }
        let Some((_, payloads)) = flow.payloads.clone() else { return };
        while flow.on_the_way_bytes + chunk as u64 <= flow.window.bytes() {
            let lane = flow.next_lane % flow.lanes;
            let id = self.ask(flow.node, lane, payloads[flow.next_lane % payloads.len()].clone(), now);
            flow.next_lane += 1;
            flow.on_the_way_bytes += chunk as u64;
            tickets.insert(id, Ticket { node: number, bytes: chunk as u64, is_trip: false, start: now });
        }
    }

    fn ask(&mut self, node: NodeIndex, lane: usize, payload: Bytes, now: Instant) -> SampleId {
        let id = SampleId(self.next_id);
        self.next_id += 1;
        let tensor_bytes = payload.len() as u64;
        self.run.issue_to(node, lane, Sample { id, payload, tensor_bytes }, now);
        id
    }

    /// The lane that floods keep away from, so that a round trip waits for the network and not for our own queue.
    fn last_lane(&self, node: NodeIndex) -> usize {
        self.run.lanes(node).saturating_sub(1)
    }

    /// Returns the number of the node's lanes that belong to `connections` connections.
    fn bulk_lanes(&self, node: NodeIndex, connections: usize) -> usize {
        let each = self.run.lanes(node) / self.connections.max(1);
        (each * connections).clamp(1, self.last_lane(node).max(1))
    }

    /// Waits for [`LOOK_AROUND`] at most. Returns the replies that have arrived.
    fn wait(&mut self) -> Result<Vec<Reply>, ProbeError> {
        let until = Some(Instant::now() + LOOK_AROUND);
        self.run.pump(&Wait { until, on_delivery: true, spin: Duration::ZERO, linger: LINGER });
        if self.stop.load(SeqCst) {
            return Err(ProbeError::Interrupted);
        }
        if let Some((name, failure)) = self.run.lost().into_iter().next() {
            return Err(ProbeError::Node(format!("node {name} was lost: {failure}")));
        }
        self.inbox.take(&mut self.replies);
        Ok(std::mem::take(&mut self.replies))
    }

    fn one_reply(&mut self, node: NodeIndex) -> Result<Reply, ProbeError> {
        loop {
            if let Some(reply) = self.wait()?.pop() {
                self.check(node, &reply.outcome)?;
                return Ok(reply);
            }
        }
    }

    fn check(&self, node: NodeIndex, outcome: &Outcome) -> Result<(), ProbeError> {
        let Outcome::Failed(failure) = outcome else { return Ok(()) };
        let name = self.names.get(node.0).map_or("?", String::as_str);
        let text = match failure {
            Failure::TimedOut(_) => format!("node {name} does not answer: {failure}"),
            _ => format!("node {name}: {failure}"),
        };
        Err(ProbeError::Node(text))
    }

    /// Requests of so many bytes that ask for answers of so many.
    fn payloads(&self, bytes: usize, answer_bytes: usize) -> Vec<Bytes> {
        let payload = |number: usize| {
            let mut payload = BytesMut::with_capacity(bytes);
            payload.put_u64_le(answer_bytes as u64);
            // Of a large request the noise is repeated: each time from another place, as payloads are.
            let mut from = number * 64;
            while payload.len() < bytes {
                let part = &self.noise[from % (DISTINCT * 64)..];
                payload.put_slice(&part[..part.len().min(bytes - payload.len())]);
                from += 64;
            }
            payload.freeze()
        };
        (0..DISTINCT).map(payload).collect()
    }
}

impl Flow {
    fn new(node: NodeIndex, lanes: usize, round_trip: Duration, meter: Meter) -> Flow {
        let window = Window::new(round_trip);
        Flow { node, lanes, window, meter, on_the_way_bytes: 0, next_lane: 0, payloads: None }
    }

    /// Counts bytes that have come through.
    fn came(&mut self, at: Instant, bytes: u64) {
        self.on_the_way_bytes -= bytes;
        self.window.came(at, bytes);
    }
}

/// Pseudo-random bytes, which no link can compress.
fn noise(bytes: usize) -> Bytes {
    let mut noise = BytesMut::zeroed(bytes);
    Mt64::default().fill_bytes(&mut noise);
    noise.freeze()
}
