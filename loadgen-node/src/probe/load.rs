//! Traffic over a claimed fabric: round trips one at a time, and floods up, down or both ways.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

use bytes::{BufMut as _, Bytes, BytesMut};
use qdl::{Failure, NodeIndex, NodeReport, Outcome, Reply, Run, Sample, SampleId, Wait};
use rand_mt::Mt64;

use super::goodput::{LARGEST_CHUNK, Meter, Window};
use crate::network::fabric::{Percentiles, Rtt};
use crate::network::traffic;
use crate::world::inbox::Inbox;

/// Bytes of a request of which only the answer counts. It holds the number that says how long the answer should be.
const ASKING_BYTES: usize = 64;

/// Distinct payloads of one kind, so that no buffer is sent from a warm cache again and again.
const DISTINCT: usize = 16;

/// Time between the starts of two round trips under load, at least.
const TRIP_INTERVAL: Duration = Duration::from_millis(5);

/// Most round trips of one size.
const MOST_TRIPS: usize = 1000;

/// How long an answer is waited for awake: as in SingleStream.
const LINGER: Duration = Duration::from_micros(500);

/// The longest wait before it is checked whether the user wants to stop.
const LOOK_AROUND: Duration = Duration::from_millis(20);

/// Why a probe ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProbeError {
    /// A node is of no use any more, or does not answer what it was asked.
    #[error("{0}")]
    Node(String),
    /// The user wants to stop.
    #[error("interrupted")]
    Interrupted,
}

/// The direction of a flood; up is towards the SUT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Up,
    Down,
    Both,
}

/// The result of one flood.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flood {
    /// Payload in bit/s, in each direction that was used. `None` when too little arrived to say.
    pub(crate) bits_per_s: Option<f64>,
    /// The rate is missing because the allowed number of bytes had arrived before there was time to measure.
    pub(crate) is_cut: bool,
    /// Round trips of 64 bytes during the flood. `None` when there was no time for one.
    pub(crate) loaded: Option<Percentiles>,
}

/// A fabric that is claimed for probing.
pub(crate) struct Load {
    run: Run,
    inbox: Arc<Inbox>,
    stop: Arc<AtomicBool>,
    names: Vec<String>,
    noise: Bytes,
    replies: Vec<Reply>,
    next_id: u64,
}

/// One node's share of a flood.
struct Flow {
    node: NodeIndex,
    lanes: usize,
    window: Window,
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
    asked: Instant,
}

impl Load {
    /// `names`: of the nodes, in their order.
    pub(crate) fn new(run: Run, inbox: Arc<Inbox>, stop: Arc<AtomicBool>, names: Vec<String>) -> Load {
        Load { run, inbox, stop, names, noise: noise(LARGEST_CHUNK + DISTINCT * 64), replies: Vec::new(), next_id: 0 }
    }

    /// Releases the nodes. Returns the bytes that crossed the sockets to all of them.
    pub(crate) fn end(self) -> traffic::Bytes {
        let reports = self.run.end();
        let sum = |of: fn(&NodeReport) -> u64| reports.iter().map(of).sum();
        traffic::Bytes {
            ingress: sum(|report| report.traffic.socket_bytes_out),
            egress: sum(|report| report.traffic.socket_bytes_in),
        }
    }

    /// Round trips of requests of so many bytes, answered by eight, one after the other for as long as `time`.
    pub(crate) fn round_trips(&mut self, node: NodeIndex, bytes: usize, time: Duration) -> Result<Rtt, ProbeError> {
        let payloads = self.payloads(bytes, 8);
        let lane = self.last_lane(node);
        let mut taken = Vec::new();
        let end = Instant::now() + time;
        while taken.len() < MOST_TRIPS && (taken.is_empty() || Instant::now() < end) {
            let asked = Instant::now();
            let payload = payloads[taken.len() % payloads.len()].clone();
            self.ask(node, lane, payload, asked);
            let reply = self.one_reply(node)?;
            taken.push(reply.at.saturating_duration_since(asked).as_nanos() as u64);
        }
        Ok(Rtt { bytes: bytes as u64, trips: taken.len() as u64, percentiles: Percentiles::of(&mut taken) })
    }

    /// As much as goes to and from these nodes at once, for as long as `time` or up to `max_bytes` each way; round
    /// trips of 64 bytes on a lane of their own meanwhile, at the first of them: one at a time, and not faster than
    /// [`TRIP_INTERVAL`], since the quick ones before the link is full would outnumber all others.
    pub(crate) fn flood(
        &mut self,
        nodes: &[(NodeIndex, Duration)],
        direction: Direction,
        time: Duration,
        max_bytes: u64,
    ) -> Result<Flood, ProbeError> {
        let start = Instant::now();
        let mut flows: Vec<Flow> =
            nodes.iter().map(|&(node, rtt)| Flow::new(node, self.bulk_lanes(node), rtt)).collect();
        let mut tickets = std::collections::HashMap::new();
        let (mut meter, mut trips) = (Meter::new(start, time), Vec::new());
        let (trip_payload, mut trip_under_way) = (self.payloads(ASKING_BYTES, 8)[0].clone(), false);
        let mut next_trip_at = start;
        let mut carried = 0;
        let mut over_at = None;
        let first = nodes[0].0;
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
                    tickets.insert(id, Ticket { node: 0, bytes: 0, is_trip: true, asked: now });
                }
            }
            for reply in self.wait()? {
                let Some(ticket) = tickets.remove(&reply.id) else { continue };
                self.check(flows[ticket.node].node, &reply.outcome)?;
                if ticket.is_trip {
                    trips.push(reply.at.saturating_duration_since(ticket.asked).as_nanos() as u64);
                    trip_under_way = false;
                    continue;
                }
                let flow = &mut flows[ticket.node];
                flow.on_the_way_bytes -= ticket.bytes;
                flow.window.came(reply.at, ticket.bytes);
                // The drain at the end is slower than the flood and no part of it.
                if !is_over {
                    meter.came(reply.at, ticket.bytes);
                    carried += ticket.bytes;
                }
            }
        }
        let loaded = (!trips.is_empty()).then(|| Percentiles::of(&mut trips));
        let bits_per_s = meter.bits_per_s(over_at.unwrap_or(start));
        Ok(Flood { bits_per_s, is_cut: bits_per_s.is_none() && carried >= max_bytes, loaded })
    }

    /// Sends to a node what its window allows.
    fn fill(
        &mut self,
        flow: &mut Flow,
        number: usize,
        direction: Direction,
        now: Instant,
        tickets: &mut std::collections::HashMap<SampleId, Ticket>,
    ) {
        let chunk = flow.window.chunk();
        if flow.payloads.as_ref().is_none_or(|(made_for, _)| *made_for != chunk) {
            let made = match direction {
                Direction::Up => self.payloads(chunk, 8),
                Direction::Down => self.payloads(ASKING_BYTES, chunk),
                Direction::Both => self.payloads(chunk, chunk),
            };
            flow.payloads = Some((chunk, made));
        }
        let Some((_, payloads)) = flow.payloads.clone() else { return };
        while flow.on_the_way_bytes + chunk as u64 <= flow.window.bytes() {
            let lane = flow.next_lane % flow.lanes;
            let id = self.ask(flow.node, lane, payloads[flow.next_lane % payloads.len()].clone(), now);
            flow.next_lane += 1;
            flow.on_the_way_bytes += chunk as u64;
            tickets.insert(id, Ticket { node: number, bytes: chunk as u64, is_trip: false, asked: now });
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

    fn bulk_lanes(&self, node: NodeIndex) -> usize {
        self.last_lane(node).max(1)
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
            payload.put_slice(&self.noise[number * 64..number * 64 + bytes.max(8) - 8]);
            payload.freeze()
        };
        (0..DISTINCT).map(payload).collect()
    }
}

impl Flow {
    fn new(node: NodeIndex, lanes: usize, round_trip: Duration) -> Flow {
        Flow { node, lanes, window: Window::new(round_trip), on_the_way_bytes: 0, next_lane: 0, payloads: None }
    }
}

/// Pseudo-random bytes, which no link can compress.
fn noise(bytes: usize) -> Bytes {
    let mut noise = BytesMut::zeroed(bytes);
    Mt64::default().fill_bytes(&mut noise);
    noise.freeze()
}
