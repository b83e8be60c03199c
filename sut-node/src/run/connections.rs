//! What crossed the sockets that a run's streams came over.

use std::sync::Arc;

use lon_net::io::SocketCounters;
use lon_net::quic;
use quinn::Connection;

/// A connection that carries streams of a run, for its counters alone.
#[derive(Clone, Debug)]
pub(crate) enum Wire {
    /// gRPC or plain TCP.
    Tcp(Arc<SocketCounters>),
    Quic(Connection),
}

/// What connections have carried since their first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Crossed {
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    /// Segments or packets sent again; none when the system does not say.
    pub(crate) retransmits: Option<u64>,
}

impl Wire {
    fn is(&self, other: &Wire) -> bool {
        match (self, other) {
            (Wire::Tcp(ours), Wire::Tcp(theirs)) => Arc::ptr_eq(ours, theirs),
            (Wire::Quic(ours), Wire::Quic(theirs)) => ours.stable_id() == theirs.stable_id(),
            _ => false,
        }
    }

    fn crossed(&self) -> Crossed {
        match self {
            Wire::Tcp(counters) => Crossed {
                bytes_in: counters.read(),
                bytes_out: counters.written(),
                retransmits: counters.retransmits(),
            },
            Wire::Quic(connection) => {
                let statistics = quic::statistics(connection);
                Crossed {
                    bytes_in: statistics.bytes_read,
                    bytes_out: statistics.bytes_written,
                    retransmits: Some(statistics.packets_lost),
                }
            }
        }
    }
}

/// Connections of one run, those among them that have ended: each is kept for its counters. A LoadGen node makes 256 at
/// most.
const MAX_CONNECTIONS: usize = 1024;

/// The connections of one run, each once however many streams it carries.
#[derive(Debug, Default)]
pub(crate) struct Wires(Vec<Wire>);

impl Wires {
    /// False when there are as many as a run may have.
    pub(crate) fn add(&mut self, wire: Wire) -> bool {
        if self.0.iter().any(|known| known.is(&wire)) {
            return true;
        }
        let fits = self.0.len() < MAX_CONNECTIONS;
        if fits {
            self.0.push(wire);
        }
        fits
    }

    /// All of them together. Retransmits are known when every connection's are.
    pub(crate) fn crossed(&self) -> Crossed {
        let none = Crossed { bytes_in: 0, bytes_out: 0, retransmits: (!self.0.is_empty()).then_some(0) };
        self.0.iter().map(Wire::crossed).fold(none, |sum, one| Crossed {
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
        let mut wires = Wires::default();
        for counters in [&counters[0], &counters[1], &counters[0]] {
            wires.add(Wire::Tcp(Arc::clone(counters)));
        }
        for (n, counters) in counters.iter().enumerate() {
            counters.read.store(10 + n as u64, Relaxed);
            counters.written.store(100 + n as u64, Relaxed);
        }
        let crossed = wires.crossed();
        assert_eq!((crossed.bytes_in, crossed.bytes_out), (21, 201));
    }
}
