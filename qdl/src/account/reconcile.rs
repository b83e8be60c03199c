//! Compares both ends' counters of one run at one node, layer by layer. Pure.
//!
//! - *message*: equal to the byte. Both ends count the same serialized messages.
//! - *tensor*: equal to the byte, unless samples failed at the node or answers were not inflated here: what could not
//!   be inflated has no size.
//! - *socket*: within 1 % of the larger number and 64 KiB. The node counts until it is asked, this end until the last
//!   stream has ended; in between are the ends of streams, the last messages of TLS and HTTP/2 and, over QUIC,
//!   acknowledgements. Where what was lost is sent again above the socket (QUIC), one end counts it more often than the
//!   other: a full datagram more is allowed for each packet that the sending end sent again.
//!
//! Nothing is compared when the node was lost or gave no counters, nor when samples were given up without an answer:
//! their last messages may have been counted at one end only. All three make a result INVALID by themselves.

use std::fmt;

use lon_proto::direction::Direction;

use super::report::NodeReport;

/// Difference in socket bytes that is always allowed.
const SOCKET_SLACK_BYTES: u64 = 64 << 10;
/// Difference in socket bytes that is allowed besides: one byte in so many.
const SOCKET_SHARE: u64 = 100;
/// Bytes of the largest QUIC packet with its headers, on Ethernet.
const DATAGRAM_BYTES: u64 = 1_500;

/// Bytes on which the two ends do not agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The node's name.
    pub node: String,
    /// What was counted.
    pub layer: Layer,
    /// The direction in which the bytes went.
    pub direction: Direction,
    /// The LoadGen node's counter.
    pub loadgen_bytes: u64,
    /// The SUT node's counter.
    pub sut_bytes: u64,
}

/// The layer at which bytes are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layer {
    /// Samples and answers as they are without a codec.
    Tensor,
    /// Serialized Dispatch messages.
    Message,
    /// Bytes that cross the sockets.
    Socket,
}

impl Layer {
    /// The layer's name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Layer::Tensor => "tensor",
            Layer::Message => "message",
            Layer::Socket => "socket",
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { node, layer, direction, loadgen_bytes, sut_bytes } = self;
        let (layer, (sender, sent), (receiver, received)) = match direction {
            Direction::Ingress => (layer.name(), ("the LoadGen node", loadgen_bytes), ("it", sut_bytes)),
            Direction::Egress => (layer.name(), ("it", sut_bytes), ("the LoadGen node", loadgen_bytes)),
        };
        let direction = direction.name();
        write!(
            f,
            "node {node}: {layer} bytes, {direction}: {sender} counted {sent} sent, {receiver} {received} received"
        )
    }
}

/// The counters of a run in which the two ends differ by more than is allowed.
pub fn reconcile(report: &NodeReport) -> Vec<Difference> {
    let NodeReport { name, counts, traffic, sut, lost, counts_resends, .. } = report;
    let Ok(sut) = sut else { return Vec::new() };
    if lost.is_some() || counts.unanswered > 0 {
        return Vec::new();
    }
    let difference = |layer, direction, loadgen_bytes, sut_bytes| Difference {
        node: name.clone(),
        layer,
        direction,
        loadgen_bytes,
        sut_bytes,
    };
    let mut found = vec![
        difference(Layer::Message, Direction::Ingress, counts.message_bytes_out, sut.message_bytes_in),
        difference(Layer::Message, Direction::Egress, counts.message_bytes_in, sut.message_bytes_out),
    ];
    if sut.samples_failed == 0 {
        found.push(difference(Layer::Tensor, Direction::Ingress, counts.tensor_bytes_out, sut.tensor_bytes_in));
    }
    // Answers that came twice or late were not inflated either.
    if counts.not_inflated + counts.duplicate + counts.late + counts.foreign == 0 {
        found.push(difference(Layer::Tensor, Direction::Egress, counts.tensor_bytes_in, sut.tensor_bytes_out));
    }
    found.retain(|difference| difference.loadgen_bytes != difference.sut_bytes);
    let sockets = [
        (Direction::Ingress, traffic.socket_bytes_out, sut.socket_bytes_in, traffic.retransmits),
        (Direction::Egress, traffic.socket_bytes_in, sut.socket_bytes_out, sut.retransmits),
    ];
    for (direction, loadgen_bytes, sut_bytes, resent) in sockets {
        let resent = if *counts_resends { resent.unwrap_or(0) } else { 0 };
        if loadgen_bytes.abs_diff(sut_bytes) > socket_slack(loadgen_bytes.max(sut_bytes), resent) {
            found.push(difference(Layer::Socket, direction, loadgen_bytes, sut_bytes));
        }
    }
    found
}

fn socket_slack(bytes: u64, resent: u64) -> u64 {
    let slack = bytes / SOCKET_SHARE + SOCKET_SLACK_BYTES;
    slack.saturating_add(resent.saturating_mul(DATAGRAM_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::counters::NodeCounts;
    use crate::account::report::SutCounts;
    use crate::account::traffic::NodeTraffic;
    use crate::peer_kind::PeerKind;
    use crate::types::NodeFailure;

    fn report() -> NodeReport {
        let counts = NodeCounts {
            message_bytes_out: 110,
            message_bytes_in: 22,
            tensor_bytes_out: 400,
            tensor_bytes_in: 40,
            ..NodeCounts::default()
        };
        let sut = SutCounts {
            message_bytes_in: 110,
            message_bytes_out: 22,
            tensor_bytes_in: 400,
            tensor_bytes_out: 40,
            socket_bytes_in: 10_000_000,
            socket_bytes_out: 5_000_000,
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
        NodeReport { name, counts, traffic, sut: Ok(sut), lost: None, peer_kind, counts_resends: false, local: None }
    }

    fn found(change: impl FnOnce(&mut NodeReport, &mut SutCounts)) -> Vec<(Layer, Direction)> {
        let mut report = report();
        let mut sut = report.sut.clone().unwrap();
        change(&mut report, &mut sut);
        report.sut = report.sut.and(Ok(sut));
        reconcile(&report).iter().map(|difference| (difference.layer, difference.direction)).collect()
    }

    #[test]
    fn equal_books_have_no_difference() {
        assert_eq!(found(|_, _| {}), []);
    }

    #[test]
    fn one_byte_is_told_with_both_numbers_and_the_node() {
        use Direction::{Egress, Ingress};
        assert_eq!(found(|_, sut| sut.message_bytes_in -= 1), [(Layer::Message, Ingress)]);
        assert_eq!(found(|_, sut| sut.message_bytes_out += 1), [(Layer::Message, Egress)]);
        assert_eq!(found(|_, sut| sut.tensor_bytes_in += 1), [(Layer::Tensor, Ingress)]);
        assert_eq!(found(|report, _| report.counts.tensor_bytes_in += 1), [(Layer::Tensor, Egress)]);
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
        let allowed = 10_000_000 / SOCKET_SHARE + SOCKET_SLACK_BYTES;
        assert_eq!(found(|_, sut| sut.socket_bytes_in -= allowed), []);
        assert_eq!(found(|_, sut| sut.socket_bytes_in -= allowed + 1), ingress);
        assert_eq!(found(|_, sut| sut.socket_bytes_out = 0), [(Layer::Socket, Direction::Egress)]);
    }

    #[test]
    fn quic_may_differ_by_what_was_lost_and_tcp_may_not() {
        let lossy = |counts_resends| {
            found(|report, sut| {
                report.counts_resends = counts_resends;
                report.traffic.retransmits = Some(1_000);
                sut.socket_bytes_in -= 1_500_000;
            })
        };
        assert_eq!(lossy(true), []);
        assert_eq!(lossy(false), [(Layer::Socket, Direction::Ingress)]);
    }

    #[test]
    fn what_cannot_agree_is_not_judged() {
        let wrong = |sut: &mut SutCounts| *sut = SutCounts::default();
        assert_eq!(found(|_, sut| wrong(sut)).len(), 6);
        let lost = |report: &mut NodeReport| report.lost = Some(NodeFailure::Ended("test".to_owned()));
        assert_eq!(found(|report, sut| (lost(report), wrong(sut)).1), []);
        assert_eq!(found(|report, _| report.sut = Err("gone".to_owned())), []);
        assert_eq!(found(|report, sut| (report.counts.unanswered = 1, wrong(sut)).1), []);
        assert_eq!(found(|_, sut| (sut.samples_failed, sut.tensor_bytes_in) = (1, 300)), []);
        let partly = |report: &mut NodeReport| (report.counts.not_inflated, report.counts.tensor_bytes_in) = (1, 30);
        assert_eq!(found(|report, _| partly(report)), []);
    }
}
