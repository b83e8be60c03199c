//! The connections that a run's streams came over, for the bytes that crossed their sockets.

use std::fmt::Debug;
use std::sync::Arc;

use lon_net::io::SocketCounters;
use lon_net::path::Path;

/// One connection that carries streams of a run, asked for its counters alone.
pub trait Connection: Debug + Send + Sync + 'static {
    /// Returns the traffic of the connection since its first byte.
    fn traffic(&self) -> SocketTraffic;

    /// Returns the path that the connection sends by; none when that is not known, or not yet.
    fn path(&self) -> Option<Path> {
        None
    }
}

/// Traffic of the sockets of connections since their first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketTraffic {
    /// Bytes taken from the kernel, below TLS.
    pub bytes_in: u64,
    /// Bytes handed to the kernel, below TLS.
    pub bytes_out: u64,
    /// Segments or packets that were sent again; `None` when the system does not say.
    pub retransmits: Option<u64>,
}

/// A TCP connection is counted by its socket, for every protocol that is spoken on it.
impl Connection for SocketCounters {
    fn traffic(&self) -> SocketTraffic {
        SocketTraffic { bytes_in: self.read(), bytes_out: self.written(), retransmits: self.retransmits() }
    }

    fn path(&self) -> Option<Path> {
        SocketCounters::path(self)
    }
}

/// The most connections that one run may have, those among them that have ended: each is kept for its counters. A
/// LoadGen node makes 256 at most.
const MAX_CONNECTIONS: usize = 1024;

/// The connections of one run, each of them once however many streams it carries.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    open: Vec<Arc<dyn Connection>>,
    /// Traffic of the connections when counting ended.
    closed: Option<SocketTraffic>,
}

impl Connections {
    /// Adds a connection, unless it is there already. False when the run has as many as it may have.
    pub(crate) fn add(&mut self, connection: Arc<dyn Connection>) -> bool {
        // By address alone: two tables of methods may stand for one type.
        if self.closed.is_some()
            || self.open.iter().any(|other| std::ptr::addr_eq(Arc::as_ptr(other), Arc::as_ptr(&connection)))
        {
            return true;
        }
        let fits = self.open.len() < MAX_CONNECTIONS;
        if fits {
            self.open.push(connection);
        }
        fits
    }

    /// Ends counting, and lets go of the connections.
    pub(crate) fn close(&mut self) {
        self.closed = Some(self.traffic());
        self.open.clear();
    }

    /// Returns the path of the first connection whose path is known.
    pub(crate) fn path(&self) -> Option<Path> {
        self.open.iter().find_map(|connection| connection.path())
    }

    /// The sum over all connections. Retransmits are known when every connection's are.
    pub(crate) fn traffic(&self) -> SocketTraffic {
        if let Some(closed) = self.closed {
            return closed;
        }
        let none = SocketTraffic { bytes_in: 0, bytes_out: 0, retransmits: (!self.open.is_empty()).then_some(0) };
        self.open.iter().map(|connection| connection.traffic()).fold(none, |sum, one| SocketTraffic {
            bytes_in: sum.bytes_in + one.bytes_in,
            bytes_out: sum.bytes_out + one.bytes_out,
            retransmits: sum.retransmits.zip(one.retransmits).map(|(sum, one)| sum + one),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;

    #[test]
    fn a_connection_counts_once_and_until_now() {
        let counters: [Arc<SocketCounters>; 2] = Default::default();
        let mut connections = Connections::default();
        for counters in [&counters[0], &counters[1], &counters[0]] {
            connections.add(Arc::clone(counters) as Arc<dyn Connection>);
        }
        for (n, counters) in counters.iter().enumerate() {
            counters.read.store(10 + n as u64, Relaxed);
            counters.written.store(100 + n as u64, Relaxed);
        }
        let traffic = connections.traffic();
        assert_eq!((traffic.bytes_in, traffic.bytes_out), (21, 201));
        connections.close();
        counters[0].read.store(1000, Relaxed);
        connections.close();
        assert_eq!(connections.traffic(), traffic, "what comes after the end is not counted");
    }
}
