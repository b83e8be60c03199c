//! Compares both ends' counters of one run at one node, layer by layer. Pure.
//!
//! - *samples*, *failures*: equal. Each sample that was sent was received and answered, and those that failed there
//!   came as failures. Answers that came twice, late or to nobody are told apart, and then nothing is said of these.
//! - *message*, *payload*: equal to the byte. Both ends count the same serialized messages.
//! - *tensor*: equal to the byte, unless samples failed at the node or answers were not inflated here: what could not
//!   be inflated has no size.
//! - *heartbeats*: those that an end sent and the other received, but for a few that are under way when the run ends.
//! - *socket*: at least what the node's own messages have, since nothing is compressed below them; and within 64 KiB of
//!   ours. The node counts until it is asked, this end until the last stream has ended; in between are the ends of
//!   streams, heartbeats, and the last messages of TLS and HTTP/2. Over QUIC there are also acknowledgements: 1 % more;
//!   and what was lost is counted more often by the end that sent it: a full datagram for each packet sent again.
//!   A node that cannot count sockets says nothing, and nothing is compared.
//!
//! Where answers came late, after their samples had been given up, egress is not compared: they may still have been on
//! their way when the node was asked. Nothing is compared when the node was lost or gave no counters, nor when samples
//! were given up without an answer: their last messages may have been counted at one end only. All four make a result
//! INVALID by themselves.

use std::fmt;

use lon_proto::direction::Direction;

use super::counters::NodeCounts;
use super::report::{NodeReport, SutCounts};

/// Difference in socket bytes that is always allowed.
const SOCKET_SLACK_BYTES: u64 = 64 << 10;
/// Difference in socket bytes that is allowed besides over QUIC: one byte in so many.
const SOCKET_SHARE: u64 = 100;
/// Heartbeats that may be under way when a run ends, besides half of all: a run of a second on many lanes has hardly
/// more than those.
const HEARTBEAT_SLACK: u64 = 16;
/// Bytes of the largest QUIC packet with its headers, on Ethernet.
const DATAGRAM_BYTES: u64 = 1_500;

/// A number on which the two ends do not agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The node's name.
    pub node: String,
    /// Layer at which the traffic was counted.
    pub layer: Layer,
    /// The direction in which it went.
    pub direction: Direction,
    /// The LoadGen node's counter.
    pub loadgen: u64,
    /// The SUT node's counter.
    pub sut: u64,
}

/// Layer of the traffic: the kind of unit that a counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layer {
    /// Samples and answers as they are without a codec.
    Tensor,
    /// Samples and answers as they are in the messages.
    Payload,
    /// Bytes of the serialized Dispatch messages.
    Message,
    /// Bytes that cross the sockets.
    Socket,
    /// Samples one way, answers to them the other.
    Samples,
    /// Answers that are errors.
    Failures,
    /// Signs of life.
    Heartbeats,
}

impl Layer {
    /// The layer's name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Layer::Tensor => "tensor bytes",
            Layer::Payload => "payload bytes",
            Layer::Message => "message bytes",
            Layer::Socket => "socket bytes",
            Layer::Samples => "samples",
            Layer::Failures => "failures",
            Layer::Heartbeats => "heartbeats",
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { node, layer, direction, loadgen, sut } = self;
        let (layer, (sender, sent), (receiver, received)) = match direction {
            Direction::Ingress => (layer.name(), ("the LoadGen node", loadgen), ("it", sut)),
            Direction::Egress => (layer.name(), ("it", sut), ("the LoadGen node", loadgen)),
        };
        let direction = direction.name();
        write!(f, "node {node}: {layer}, {direction}: {sender} counted {sent} sent, {receiver} {received} received")
    }
}

/// Extent to which the two ends' counters of a node can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparable {
    /// All of them.
    Whole,
    /// Not what the node sent: answers came late.
    Ingress,
    /// No counters: the node was lost or gave none, or samples got no answer.
    Nothing,
}

/// Returns the extent to which the two ends can agree. Anything less than [`Comparable::Whole`] makes a result INVALID
/// by itself.
pub fn comparable(report: &NodeReport) -> Comparable {
    let NodeReport { counts, sut, lost, .. } = report;
    match counts.late {
        _ if sut.is_err() || lost.is_some() || counts.unanswered > 0 => Comparable::Nothing,
        0 => Comparable::Whole,
        _ => Comparable::Ingress,
    }
}

/// The counters of a run in which the two ends differ by more than is allowed.
pub fn reconcile(report: &NodeReport) -> Vec<Difference> {
    let NodeReport { name, counts, sut, .. } = report;
    let (Ok(sut), Comparable::Whole | Comparable::Ingress) = (sut, comparable(report)) else { return Vec::new() };
    let mut pairs = equal(counts, sut);
    pairs.retain(|(_, _, loadgen, sut)| loadgen != sut);
    pairs.extend(heartbeats(counts, sut));
    pairs.extend(sockets(report, sut));
    let difference =
        |(layer, direction, loadgen, sut)| Difference { node: name.clone(), layer, direction, loadgen, sut };
    pairs.into_iter().map(difference).collect()
}

/// Layer, direction, and the counters of the LoadGen node and of the SUT node, in this order.
type Pair = (Layer, Direction, u64, u64);

/// Returns the pairs of counters that must be equal.
fn equal(counts: &NodeCounts, sut: &SutCounts) -> Vec<Pair> {
    use Direction::{Egress, Ingress};
    let mut pairs = vec![
        (Layer::Message, Ingress, counts.message_bytes_out, sut.message_bytes_in),
        (Layer::Message, Egress, counts.message_bytes_in, sut.message_bytes_out),
        (Layer::Payload, Ingress, counts.payload_bytes_out, sut.payload_bytes_in),
        (Layer::Payload, Egress, counts.payload_bytes_in, sut.payload_bytes_out),
        (Layer::Samples, Ingress, counts.samples_sent, sut.samples_received),
    ];
    if counts.late > 0 {
        pairs.retain(|(_, direction, ..)| *direction != Egress);
    }
    let has_strays = counts.duplicate + counts.late + counts.foreign > 0;
    if !has_strays {
        pairs.push((Layer::Samples, Egress, counts.samples_sent, sut.samples_answered));
        pairs.push((Layer::Failures, Egress, counts.refused, sut.samples_failed));
    }
    if sut.samples_failed == 0 {
        pairs.push((Layer::Tensor, Ingress, counts.tensor_bytes_out, sut.tensor_bytes_in));
    }
    // Answers that came twice or late were not inflated either.
    if counts.not_inflated == 0 && !has_strays {
        pairs.push((Layer::Tensor, Egress, counts.tensor_bytes_in, sut.tensor_bytes_out));
    }
    pairs
}

/// Heartbeats that differ by more than may be under way.
fn heartbeats(counts: &NodeCounts, sut: &SutCounts) -> impl Iterator<Item = Pair> {
    let pairs = [
        (Layer::Heartbeats, Direction::Ingress, counts.heartbeats_out, sut.client_heartbeats),
        (Layer::Heartbeats, Direction::Egress, counts.heartbeats_in, sut.heartbeats),
    ];
    let differs = |&(_, _, ours, theirs): &Pair| ours.abs_diff(theirs) > HEARTBEAT_SLACK + ours / 2;
    pairs.into_iter().filter(differs)
}

/// Socket bytes that differ by more than may be under way, or that are fewer than the messages in them. Where this end
/// counts none, the transport has no sockets to count.
fn sockets(report: &NodeReport, sut: &SutCounts) -> impl Iterator<Item = Pair> {
    let NodeReport { traffic, .. } = report;
    let skipped = (comparable(report) == Comparable::Ingress).then_some(Direction::Egress);
    let (counts_resends, ours) = (report.counts_resends, traffic.retransmits);
    let rows = [
        (Direction::Ingress, traffic.socket_bytes_out, sut.socket_bytes_in, sut.message_bytes_in, ours),
        (Direction::Egress, traffic.socket_bytes_in, sut.socket_bytes_out, sut.message_bytes_out, sut.retransmits),
    ];
    let rows = rows.into_iter().filter(move |(direction, ..)| Some(*direction) != skipped);
    rows.filter_map(move |(direction, ours, theirs, messages, resent)| {
        let theirs = theirs?;
        let resent = if counts_resends { resent.unwrap_or(0) } else { 0 };
        let is_too_far = ours.abs_diff(theirs) > socket_slack(ours, counts_resends, resent);
        (is_too_far || (ours > 0 && theirs < messages)).then_some((Layer::Socket, direction, ours, theirs))
    })
}

fn socket_slack(bytes: u64, counts_resends: bool, resent: u64) -> u64 {
    let slack = SOCKET_SLACK_BYTES + if counts_resends { bytes / SOCKET_SHARE } else { 0 };
    slack.saturating_add(resent.saturating_mul(DATAGRAM_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::traffic::NodeTraffic;
    use crate::peer_kind::PeerKind;
    use crate::types::NodeFailure;

    fn report() -> NodeReport {
        let counts = NodeCounts {
            samples_sent: 7,
            message_bytes_out: 110,
            message_bytes_in: 22,
            payload_bytes_out: 100,
            payload_bytes_in: 20,
            tensor_bytes_out: 400,
            tensor_bytes_in: 40,
            heartbeats_out: 100,
            heartbeats_in: 100,
            ..NodeCounts::default()
        };
        let sut = SutCounts {
            samples_received: 7,
            samples_answered: 7,
            message_bytes_in: 110,
            message_bytes_out: 22,
            payload_bytes_in: 100,
            payload_bytes_out: 20,
            heartbeats: 100,
            client_heartbeats: 100,
            tensor_bytes_in: 400,
            tensor_bytes_out: 40,
            socket_bytes_in: Some(10_000_000),
            socket_bytes_out: Some(5_000_000),
            ..SutCounts::default()
        };
        let traffic = NodeTraffic {
            message_bytes_in: 22,
            message_bytes_out: 110,
            socket_bytes_in: 5_000_000,
            socket_bytes_out: 10_000_000,
            retransmits: Some(0),
        };
        let (name, peer_kind) = ("N1".to_owned(), PeerKind::SUT_NODE);
        NodeReport {
            name,
            counts,
            traffic,
            room: Default::default(),
            sut: Ok(sut),
            lost: None,
            stalls: Vec::new(),
            peer_kind,
            counts_resends: false,
            flushed: Ok(()),
            local: None,
        }
    }

    fn differences(change: impl FnOnce(&mut NodeReport, &mut SutCounts)) -> Vec<(Layer, Direction)> {
        let mut report = report();
        let mut sut = report.sut.clone().unwrap();
        change(&mut report, &mut sut);
        report.sut = report.sut.and(Ok(sut));
        reconcile(&report).iter().map(|difference| (difference.layer, difference.direction)).collect()
    }

    #[test]
    fn equal_books_have_no_difference() {
        assert_eq!(differences(|_, _| {}), []);
    }

    #[test]
    fn one_byte_is_told_with_both_numbers_and_the_node() {
        use Direction::{Egress, Ingress};
        assert_eq!(differences(|_, sut| sut.message_bytes_in -= 1), [(Layer::Message, Ingress)]);
        assert_eq!(differences(|_, sut| sut.message_bytes_out += 1), [(Layer::Message, Egress)]);
        assert_eq!(differences(|_, sut| sut.tensor_bytes_in += 1), [(Layer::Tensor, Ingress)]);
        assert_eq!(differences(|report, _| report.counts.tensor_bytes_in += 1), [(Layer::Tensor, Egress)]);
        assert_eq!(differences(|_, sut| sut.payload_bytes_in -= 1), [(Layer::Payload, Ingress)]);
        assert_eq!(differences(|_, sut| sut.payload_bytes_out -= 1), [(Layer::Payload, Egress)]);
        assert_eq!(differences(|_, sut| sut.samples_received -= 1), [(Layer::Samples, Ingress)]);
        assert_eq!(differences(|_, sut| sut.samples_answered += 1), [(Layer::Samples, Egress)]);
        assert_eq!(differences(|report, _| report.counts.refused += 1), [(Layer::Failures, Egress)]);
        assert_eq!(differences(|_, sut| sut.heartbeats = 0), [(Layer::Heartbeats, Egress)]);
        assert_eq!(differences(|_, sut| sut.client_heartbeats = 1_000), [(Layer::Heartbeats, Ingress)]);
        let mut differs = report();
        differs.counts.message_bytes_out = 111;
        assert_eq!(
            reconcile(&differs)[0].to_string(),
            "node N1: message bytes, ingress: the LoadGen node counted 111 sent, it 110 received"
        );
        differs = report();
        differs.counts.message_bytes_in = 21;
        assert_eq!(
            reconcile(&differs)[0].to_string(),
            "node N1: message bytes, egress: it counted 22 sent, the LoadGen node 21 received"
        );
    }

    #[test]
    fn sockets_may_differ_by_what_is_in_flight() {
        let ingress = [(Layer::Socket, Direction::Ingress)];
        assert_eq!(differences(|_, sut| sut.socket_bytes_in = Some(10_000_000 - SOCKET_SLACK_BYTES)), []);
        assert_eq!(differences(|_, sut| sut.socket_bytes_in = Some(10_000_000 - SOCKET_SLACK_BYTES - 1)), ingress);
        assert_eq!(differences(|_, sut| sut.socket_bytes_in = Some(10_000_000 + SOCKET_SLACK_BYTES + 1)), ingress);
        assert_eq!(differences(|_, sut| sut.socket_bytes_out = Some(0)), [(Layer::Socket, Direction::Egress)]);
        assert_eq!(differences(|_, sut| sut.socket_bytes_out = None), [], "it cannot count them, and says so");
    }

    #[test]
    fn messages_do_not_fit_into_fewer_bytes_on_the_socket() {
        let short = |messages: u64, socket: u64| {
            differences(|report, sut| {
                (report.counts.message_bytes_out, sut.message_bytes_in) = (messages, messages);
                (report.traffic.socket_bytes_out, sut.socket_bytes_in) = (messages + 500, Some(socket));
            })
        };
        assert_eq!(short(1_000, 1_000), []);
        assert_eq!(short(1_000, 999), [(Layer::Socket, Direction::Ingress)], "within the slack all the same");
        assert_eq!(short(1_000, 0), [(Layer::Socket, Direction::Ingress)]);
    }

    #[test]
    fn quic_may_differ_by_what_was_lost_and_tcp_may_not() {
        let lossy = |counts_resends| {
            differences(|report, sut| {
                report.counts_resends = counts_resends;
                report.traffic.retransmits = Some(1_000);
                sut.socket_bytes_in = Some(8_500_000);
            })
        };
        assert_eq!(lossy(true), []);
        assert_eq!(lossy(false), [(Layer::Socket, Direction::Ingress)]);
    }

    #[test]
    fn what_cannot_agree_is_not_judged() {
        let none = Some(0);
        let wrong = |sut: &mut SutCounts| {
            *sut = SutCounts { socket_bytes_in: none, socket_bytes_out: none, ..SutCounts::default() }
        };
        assert_eq!(differences(|_, sut| wrong(sut)).len(), 12);
        let lost = |report: &mut NodeReport| report.lost = Some(NodeFailure::Ended("test".to_owned()));
        assert_eq!(differences(|report, sut| (lost(report), wrong(sut)).1), []);
        assert_eq!(differences(|report, _| report.sut = Err("gone".to_owned())), []);
        assert_eq!(differences(|report, sut| (report.counts.unanswered = 1, wrong(sut)).1), []);
        let failed = |report: &mut NodeReport, sut: &mut SutCounts| {
            (report.counts.refused, sut.samples_failed, sut.tensor_bytes_in) = (1, 1, 300);
        };
        assert_eq!(differences(failed), []);
        let partly = |report: &mut NodeReport| (report.counts.not_inflated, report.counts.tensor_bytes_in) = (1, 30);
        assert_eq!(differences(|report, _| partly(report)), []);
    }

    #[test]
    fn what_was_still_on_its_way_is_no_difference() {
        let mut late = report();
        late.traffic.socket_bytes_in += 10 * SOCKET_SLACK_BYTES;
        assert_eq!(reconcile(&late).iter().map(|difference| difference.layer).collect::<Vec<_>>(), [Layer::Socket]);
        (late.counts.message_bytes_in, late.counts.payload_bytes_in) = (33, 30);
        assert_eq!(reconcile(&late).len(), 3);
        late.counts.late = 1;
        assert_eq!(reconcile(&late), []);
        late.counts.message_bytes_out += 1;
        assert_eq!(reconcile(&late).len(), 1, "what was sent to it has nothing to do with late answers");
    }
}
