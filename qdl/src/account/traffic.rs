//! What crosses the sockets to one node while a run goes on, whatever carries its lanes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use lon_net::io::SocketCounters;
use lon_net::quic::{QuicStatistics, statistics};
use quinn::Connection;

use super::counters::NodeCounts;

/// What has crossed the connections to one node until now. In is towards the LoadGen node, out is towards the SUT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeTraffic {
    /// Serialized Dispatch messages received; heartbeats not among them.
    pub message_bytes_in: u64,
    /// Serialized Dispatch messages sent; Open not among them.
    pub message_bytes_out: u64,
    /// Taken from the sockets that carry the run's streams, below TLS; over QUIC the payload of UDP.
    pub socket_bytes_in: u64,
    /// Handed to them.
    pub socket_bytes_out: u64,
    /// Segments (over QUIC: packets) that this end sent again; none when the system does not say. Over TCP it lags by
    /// half a second or so while the connection is open.
    pub retransmits: Option<u64>,
}

/// The sockets to one node.
#[derive(Debug, Default)]
pub(crate) struct Sockets {
    /// Told by TCP's sockets; and by QUIC's connections, once they are done.
    counters: Arc<SocketCounters>,
    /// QUIC's connections, which are asked.
    quic: Mutex<Vec<Connection>>,
    local: OnceLock<IpAddr>,
}

impl Sockets {
    /// For a socket over TCP to tell.
    pub(crate) fn counters(&self) -> Arc<SocketCounters> {
        Arc::clone(&self.counters)
    }

    /// Bytes that have crossed the TCP sockets until now, in and out.
    pub(crate) fn read_and_written(&self) -> (u64, u64) {
        (self.counters.read(), self.counters.written())
    }

    /// The address that this end of the first connection has.
    pub(crate) fn local(&self) -> Option<IpAddr> {
        self.local.get().copied()
    }

    /// A connection was made from `address`.
    pub(crate) fn connected_from(&self, address: IpAddr) {
        let _ = self.local.set(address);
    }

    /// A connection over QUIC was made.
    pub(crate) fn quic_opened(&self, connection: &Connection) {
        if let Some(address) = local_towards(connection.remote_address()) {
            self.connected_from(address);
        }
        self.quic().push(connection.clone());
    }

    /// It is closed, and will not carry anything more.
    pub(crate) fn quic_closed(&self, connection: &Connection) {
        let mut links = self.quic();
        if let Some(at) = links.iter().position(|link| link.stable_id() == connection.stable_id()) {
            let QuicStatistics { bytes_read, bytes_written, packets_lost, .. } = statistics(&links.swap_remove(at));
            self.counters.add(bytes_read, bytes_written, packets_lost);
        }
    }

    /// Nothing will be carried any more: connections that were not told to be closed are let go of.
    pub(crate) fn close(&self) {
        let left: Vec<Connection> = self.quic().clone();
        left.iter().for_each(|link| self.quic_closed(link));
    }

    /// What has crossed them, and the messages in `counts`.
    pub(crate) fn traffic(&self, counts: &NodeCounts) -> NodeTraffic {
        // Held meanwhile: what a connection carried is told by it or by the counters, not twice.
        let links = self.quic();
        let mut traffic = NodeTraffic {
            message_bytes_in: counts.message_bytes_in,
            message_bytes_out: counts.message_bytes_out,
            socket_bytes_in: self.counters.read(),
            socket_bytes_out: self.counters.written(),
            retransmits: self.counters.retransmits(),
        };
        for stats in links.iter().map(statistics) {
            traffic.socket_bytes_in += stats.bytes_read;
            traffic.socket_bytes_out += stats.bytes_written;
            traffic.retransmits = traffic.retransmits.map(|before| before + stats.packets_lost);
        }
        traffic
    }

    fn quic(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.quic.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The address from which the system would send to `remote`; QUIC's own sockets have none, they send from any. Nothing is
/// sent to find out.
fn local_towards(remote: SocketAddr) -> Option<IpAddr> {
    let any: SocketAddr = match remote {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any).ok()?;
    socket.connect(remote).ok()?;
    socket.local_addr().ok().map(|local| local.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_near_is_reached_from_here() {
        let local = local_towards((Ipv4Addr::LOCALHOST, 9).into());
        assert_eq!(local, Some(Ipv4Addr::LOCALHOST.into()));
    }

    #[test]
    fn sockets_and_messages_are_shown_together() {
        let sockets = Sockets::default();
        sockets.counters().add(100, 200, 3);
        let counts = NodeCounts { message_bytes_in: 70, message_bytes_out: 150, ..NodeCounts::default() };
        let expected = NodeTraffic {
            message_bytes_in: 70,
            message_bytes_out: 150,
            socket_bytes_in: 100,
            socket_bytes_out: 200,
            retransmits: Some(3),
        };
        assert_eq!(sockets.traffic(&counts), expected);
        sockets.connected_from(Ipv4Addr::LOCALHOST.into());
        sockets.connected_from(Ipv4Addr::BROADCAST.into());
        assert_eq!(sockets.local(), Some(Ipv4Addr::LOCALHOST.into()), "the first one stays");
    }
}
