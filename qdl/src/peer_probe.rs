//! One node measured by another: what a node is asked to measure, and what it found.

use std::num::NonZeroUsize;
use std::time::Duration;

use lon_net::address::NodeAddress;
use lon_proto::limits::MAX_ERROR_BYTES;
use lon_proto::node_name::NodeName;
use lon_proto::text::printable_within;
use lon_proto::v1::{ProbePeerRequest, ProbePeerResponse};

use crate::carry::Transport;

/// Measurement of its way to another node that a node is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerOrder {
    /// Where the other node is.
    pub address: NodeAddress,
    /// Transport of the probe.
    pub transport: Transport,
    /// Connections to the other node.
    pub connections: NonZeroUsize,
    /// Duration of each measurement of a direction.
    pub time: Duration,
    /// Payload after which a measurement ends, in bytes.
    pub max_bytes: u64,
    /// Number of measurements of each direction.
    pub repeats: NonZeroUsize,
}

/// Result of a node's measurement of its way to another node, until it failed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PeerResult {
    /// The name that the other node gave; empty when it was not reached.
    pub name: String,
    /// The median of the round trips of 64 bytes; none when there was none.
    pub rtt: Option<Duration>,
    /// Payload to the other node in bit/s, one value for each time that has something to say.
    pub sent_bits_per_s: Vec<f64>,
    /// The same from the other node.
    pub received_bits_per_s: Vec<f64>,
    /// Why it ended early; none when it did not.
    pub error: Option<String>,
}

impl PeerOrder {
    /// Returns the longest time until there is an answer: twice the measured time, and the patience for the last
    /// samples.
    pub(crate) fn patience(&self) -> Duration {
        let measured =
            self.time.saturating_mul(2).saturating_mul(u32::try_from(self.repeats.get()).unwrap_or(u32::MAX));
        measured.saturating_mul(2) + Duration::from_secs(60)
    }

    /// The request, without the id and the secret of the claim.
    pub(crate) fn request(&self) -> ProbePeerRequest {
        let count = |count: NonZeroUsize| u32::try_from(count.get()).unwrap_or(u32::MAX);
        ProbePeerRequest {
            address: self.address.to_string(),
            transport: self.transport.name().to_owned(),
            connections: count(self.connections),
            time_ns: u64::try_from(self.time.as_nanos()).unwrap_or(u64::MAX),
            max_bytes: self.max_bytes,
            repeats: count(self.repeats),
            ..ProbePeerRequest::default()
        }
    }
}

impl PeerResult {
    /// Reads the answer of a node. It takes no more than was asked for, and no text that cannot be shown.
    pub(crate) fn read(response: ProbePeerResponse, order: &PeerOrder) -> PeerResult {
        let most = order.repeats.get();
        let rates = |rates: Vec<u64>| rates.into_iter().take(most).map(|rate| rate as f64 * 8.0).collect();
        PeerResult {
            name: response.name.parse::<NodeName>().map(|name| name.to_string()).unwrap_or_default(),
            rtt: response.rtt_ns.map(Duration::from_nanos),
            sent_bits_per_s: rates(response.sent_bytes_per_s),
            received_bits_per_s: rates(response.received_bytes_per_s),
            error: Some(printable_within(&response.error, MAX_ERROR_BYTES)).filter(|error| !error.is_empty()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order() -> PeerOrder {
        PeerOrder {
            address: "10.0.0.2:8000".parse().unwrap(),
            transport: Transport::TCP,
            connections: NonZeroUsize::MIN,
            time: Duration::from_secs(2),
            max_bytes: 1 << 30,
            repeats: NonZeroUsize::new(3).unwrap(),
        }
    }

    #[test]
    fn a_request_says_what_is_ordered() {
        let request = order().request();
        assert_eq!((request.address.as_str(), request.transport.as_str()), ("10.0.0.2:8000", "tcp"));
        assert_eq!((request.connections, request.repeats, request.time_ns), (1, 3, 2_000_000_000));
        assert_eq!(order().patience(), Duration::from_secs(2 * 2 * 3 * 2 + 60));
    }

    #[test]
    fn an_answer_has_no_more_than_was_asked_for() {
        let more = ProbePeerResponse {
            name: "no,name".to_owned(),
            sent_bytes_per_s: vec![1; 9],
            error: "\u{1b}[31m".to_owned(),
            ..ProbePeerResponse::default()
        };
        let measurement = PeerResult::read(more, &order());
        assert_eq!((measurement.name.as_str(), measurement.sent_bits_per_s.len()), ("", 3));
        assert!(!measurement.error.unwrap().contains('\u{1b}'));
    }
}
