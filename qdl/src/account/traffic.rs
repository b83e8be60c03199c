//! Bytes that cross the sockets to one node while a run goes on, on any transport.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use lon_net::io::SocketCounters;
use lon_net::lookup::stays_on_host;
use lon_net::path::Path;
use lon_net::quic::{self, QuicStatistics, statistics};
use lon_net::send_room::Room;
use quinn::Connection;

use super::counters::NodeCounts;

/// Bytes that have crossed the connections to one node until now. In is towards the LoadGen node, out is towards the
/// SUT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeTraffic {
    /// Bytes of the serialized Dispatch messages received, without heartbeats.
    pub message_bytes_in: u64,
    /// Bytes of the serialized Dispatch messages sent, without Open.
    pub message_bytes_out: u64,
    /// Bytes read from the sockets that carry the run's streams, below TLS; over QUIC the payload of UDP.
    pub socket_bytes_in: u64,
    /// Bytes written to those sockets, below TLS; over QUIC the payload of UDP.
    pub socket_bytes_out: u64,
    /// Segments (over QUIC: packets) that this end sent again; `None` when the system does not say. Over TCP it is up
    /// to half a second behind while the connection is open.
    pub retransmits: Option<u64>,
}

/// The addresses of the two ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The one here.
    pub local: IpAddr,
    /// The one that was dialled.
    pub remote: SocketAddr,
}

impl Ends {
    /// Both are on this machine, whatever the other end says of itself: it was dialled at a loopback address, or at the
    /// one that this end has.
    pub fn are_here(&self) -> bool {
        stays_on_host(self.remote.ip()) || self.local.to_canonical() == self.remote.ip().to_canonical()
    }
}

/// The sockets to one node.
#[derive(Debug, Default)]
pub(crate) struct Sockets {
    /// Counters that TCP sockets write, and QUIC connections when they close.
    counters: Arc<SocketCounters>,
    /// QUIC connections that are open. They are asked for their counters.
    quic: Mutex<Vec<Connection>>,
    /// The two ends of the first connection.
    ends: OnceLock<Ends>,
}

impl Sockets {
    /// The counters that a TCP socket writes.
    pub(crate) fn counters(&self) -> Arc<SocketCounters> {
        Arc::clone(&self.counters)
    }

    /// Bytes that have crossed the TCP sockets until now, in and out.
    pub(crate) fn read_and_written(&self) -> (u64, u64) {
        (self.counters.read(), self.counters.written())
    }

    /// The address that this end of the first connection has.
    pub(crate) fn local(&self) -> Option<IpAddr> {
        self.ends().map(|ends| ends.local)
    }

    /// The two ends of the first connection; none where it has no addresses.
    pub(crate) fn ends(&self) -> Option<Ends> {
        self.ends.get().copied()
    }

    /// A connection was made between these.
    pub(crate) fn connected(&self, ends: Ends) {
        let _ = self.ends.set(ends);
    }

    /// A QUIC connection was opened; it is asked for its counters from now on.
    pub(crate) fn quic_opened(&self, connection: &Connection) {
        let remote = connection.remote_address();
        if let Some(local) = local_towards(remote) {
            self.connected(Ends { local, remote });
        }
        self.quic().push(connection.clone());
    }

    /// A QUIC connection was closed; its last counters are kept.
    pub(crate) fn quic_closed(&self, connection: &Connection) {
        let mut open = self.quic();
        if let Some(at) = open.iter().position(|other| other.stable_id() == connection.stable_id()) {
            let QuicStatistics { bytes_read, bytes_written, packets_lost, .. } = statistics(&open.swap_remove(at));
            self.counters.add(bytes_read, bytes_written, packets_lost);
        }
    }

    /// The run is over: QUIC connections that were never closed count as closed now.
    pub(crate) fn close(&self) {
        let connections: Vec<Connection> = self.quic().clone();
        connections.iter().for_each(|connection| self.quic_closed(connection));
    }

    /// Returns the path of a connection that is open, or `None` while it is not known yet.
    pub(crate) fn path(&self) -> Option<Path> {
        let quic = self.quic().first().map(quic::path);
        quic.or_else(|| self.counters.path())
    }

    /// Returns the room to write, over TCP.
    pub(crate) fn room(&self) -> Room {
        self.counters.room()
    }

    /// The bytes until now. `counts` has the bytes of messages.
    pub(crate) fn traffic(&self, counts: &NodeCounts) -> NodeTraffic {
        // The lock covers the whole sum: without it a connection that closes now would count twice, or not at all.
        let open = self.quic();
        let mut traffic = NodeTraffic {
            message_bytes_in: counts.message_bytes_in,
            message_bytes_out: counts.message_bytes_out,
            socket_bytes_in: self.counters.read(),
            socket_bytes_out: self.counters.written(),
            retransmits: self.counters.retransmits(),
        };
        for stats in open.iter().map(statistics) {
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

/// The address from which the system would send to `node`; a QUIC socket is bound to none of its own. Nothing is
/// sent to find it out.
fn local_towards(node: SocketAddr) -> Option<IpAddr> {
    let any: SocketAddr = match node {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any).ok()?;
    socket.connect(node).ok()?;
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
        let remote = (Ipv4Addr::LOCALHOST, 1).into();
        sockets.connected(Ends { local: Ipv4Addr::LOCALHOST.into(), remote });
        sockets.connected(Ends { local: Ipv4Addr::BROADCAST.into(), remote });
        assert_eq!(sockets.local(), Some(Ipv4Addr::LOCALHOST.into()), "the first one stays");
    }
}
