//! Both ends' counters of a run, node by node, when it is over.

use std::net::IpAddr;

use lon_machine::nic::Interface;
use lon_net::thread_time::ThreadTime;
use lon_proto::v1::{self, EndRunResponse};

use super::counters::NodeCounts;
use super::now::NodeRoom;
use super::traffic::NodeTraffic;
use crate::peer_kind::PeerKind;
use crate::types::{NodeFailure, Stall};

/// A run's report about one node.
#[derive(Clone, Debug)]
pub struct NodeReport {
    /// The node's name.
    pub name: String,
    /// Messages, payloads and samples as counted here.
    pub counts: NodeCounts,
    /// Bytes on the sockets as counted here.
    pub traffic: NodeTraffic,
    /// The node's counters, or why there are none.
    pub sut: Result<SutCounts, String>,
    /// Room for more, until the node was asked for its counters.
    pub room: NodeRoom,
    /// Why the node was lost; `None` when it was not.
    pub lost: Option<NodeFailure>,
    /// When it stood still.
    pub stalls: Vec<Stall>,
    /// Abilities of the nodes of its kind.
    pub peer_kind: PeerKind,
    /// Socket bytes include what was sent again: see [`crate::Carry::counts_resends`].
    pub counts_resends: bool,
    /// The address that this end of the first connection had, which tells the interface that leads to the node. `None`
    /// when it is not known.
    pub local: Option<IpAddr>,
    /// It has come back from every Flush, or why not.
    pub flushed: Result<(), String>,
}

/// A node's own counters for the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SutCounts {
    /// Samples that came in whole.
    pub samples_received: u64,
    /// Samples answered, failed ones among them.
    pub samples_answered: u64,
    /// Samples answered with an error.
    pub samples_failed: u64,
    /// Bytes of the serialized Dispatch messages in, without Open.
    pub message_bytes_in: u64,
    /// Bytes of the serialized Dispatch messages out, without heartbeats.
    pub message_bytes_out: u64,
    /// Bytes of samples inside the messages in.
    pub payload_bytes_in: u64,
    /// Bytes of answers inside the messages out.
    pub payload_bytes_out: u64,
    /// Answers whose model outputs held a NaN.
    pub samples_nan: u64,
    /// Heartbeats that the node sent.
    pub heartbeats: u64,
    /// Heartbeats that came to the node.
    pub client_heartbeats: u64,
    /// Bytes of the samples after their codec was undone.
    pub tensor_bytes_in: u64,
    /// Bytes of the answers before their codec.
    pub tensor_bytes_out: u64,
    /// Bytes read from the sockets that carried the run's streams, below TLS; over QUIC the payload of UDP. `None` when
    /// the node cannot count them.
    pub socket_bytes_in: Option<u64>,
    /// Bytes written to those sockets, below TLS; over QUIC the payload of UDP. `None` when the node cannot count them.
    pub socket_bytes_out: Option<u64>,
    /// Segments (over QUIC: packets) that the node sent again; `None` when its system does not say.
    pub retransmits: Option<u64>,
    /// The interface at the node that the run came through; `None` on loopback.
    pub nic: Option<NicTraffic>,
    /// Processor time of the node's threads during the run; `None` when its system does not report it.
    pub processor_time: Option<ThreadTime>,
}

/// Traffic of an interface during the run, for this run and for others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NicTraffic {
    /// The interface at the node.
    pub interface: Interface,
    /// Bytes that it received.
    pub bytes_in: u64,
    /// Bytes that it sent.
    pub bytes_out: u64,
}

impl From<EndRunResponse> for SutCounts {
    fn from(response: EndRunResponse) -> SutCounts {
        SutCounts {
            samples_received: response.samples_received,
            samples_answered: response.samples_answered,
            samples_failed: response.samples_failed,
            message_bytes_in: response.message_bytes_in,
            message_bytes_out: response.message_bytes_out,
            payload_bytes_in: response.payload_bytes_in,
            payload_bytes_out: response.payload_bytes_out,
            samples_nan: response.samples_nan,
            heartbeats: response.heartbeats,
            client_heartbeats: response.client_heartbeats,
            tensor_bytes_in: response.tensor_bytes_in,
            tensor_bytes_out: response.tensor_bytes_out,
            socket_bytes_in: response.socket_bytes_in,
            socket_bytes_out: response.socket_bytes_out,
            retransmits: response.retransmits,
            nic: response.nic.map(NicTraffic::from),
            processor_time: response.processor_time.map(ThreadTime::from),
        }
    }
}

impl From<v1::NicTraffic> for NicTraffic {
    fn from(traffic: v1::NicTraffic) -> NicTraffic {
        let v1::NicTraffic { nic, bytes_in, bytes_out } = traffic;
        NicTraffic { interface: Interface::from(nic.unwrap_or_default()), bytes_in, bytes_out }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_node_does_not_know_is_none() {
        let counts = SutCounts::from(EndRunResponse { socket_bytes_in: Some(7), ..EndRunResponse::default() });
        assert_eq!((counts.socket_bytes_in, counts.retransmits, counts.nic), (Some(7), None, None));
        let nic = v1::Nic { name: "eth\n0".to_owned(), mtu_bytes: 1500, ..v1::Nic::default() };
        let traffic = v1::NicTraffic { nic: Some(nic), bytes_in: 1, bytes_out: 2 };
        let nic = NicTraffic::from(traffic).interface;
        assert_eq!((nic.name.as_str(), nic.speed_mbit_s, nic.mtu_bytes), ("eth\u{fffd}0", None, 1500));
    }
}
