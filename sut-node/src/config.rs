//! How one SUT node serves: checked values, from whatever read them (flags, a test, `demo`).

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use lon_image::Preprocess;
use lon_net::tls::ServerTls;
use lon_proto::limits;

use crate::work::decode::pool as decode;

/// Everything [`crate::serve`] wants to know besides the backend.
#[derive(Clone, Debug)]
pub struct ServeConfig {
    /// The node's name, unique among the nodes of a run.
    pub node: NodeName,
    /// Samples in one inference at most.
    pub max_batch: NonZeroUsize,
    /// How long a free worker waits for a batch to fill, counted from the arrival of its first sample.
    pub max_delay: Duration,
    /// Worker threads, each with its own state of the backend.
    pub workers: NonZeroUsize,
    /// Threads that inflate and decode the samples of runs with a codec.
    pub decode_threads: NonZeroUsize,
    /// Threads that serve connections, each its share of them; the first is the caller's.
    pub io_threads: NonZeroUsize,
    /// What is done to images before the model sees them; none: samples are what the model takes.
    pub preprocess: Option<Arc<Preprocess>>,
    /// What may be inside the node at one time.
    pub limits: Limits,
    /// How long SIGTERM waits for answers under way.
    pub drain: Duration,
    /// While a run has the node, ask the network again and again instead of sleeping.
    pub busy_poll: bool,
    /// TLS for every transport. Without it TCP is plain text, and QUIC, which knows none, shows a certificate that
    /// nobody can verify. Whether that is allowed is the caller's to decide.
    pub tls: Option<ServerTls>,
}

impl ServeConfig {
    /// Defaults for a node of this name: batches of what is there (up to 8), one worker, decode threads on all cores
    /// but one.
    pub fn new(node: NodeName) -> ServeConfig {
        ServeConfig {
            node,
            max_batch: NonZeroUsize::MIN.saturating_add(7),
            max_delay: Duration::ZERO,
            workers: NonZeroUsize::MIN,
            decode_threads: decode::default_threads(),
            io_threads: NonZeroUsize::MIN,
            preprocess: None,
            limits: Limits::default(),
            drain: Duration::from_secs(30),
            busy_poll: false,
            tls: None,
        }
    }
}

/// Bounds on what is inside a node: samples admitted whose answers have not been handed to the network. Told to the
/// LoadGen node in `StartRun`, so that it need not find out by being stopped.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Samples.
    pub max_samples_in_flight: u64,
    /// Bytes of those samples.
    pub max_bytes_in_flight: u64,
    /// Bytes of one sample.
    pub max_sample_bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            max_samples_in_flight: 16 << 10,
            max_bytes_in_flight: 1 << 30,
            max_sample_bytes: limits::MAX_SAMPLE_BYTES,
        }
    }
}

/// A node's name: 1 to 128 printable characters, no comma (names are listed with commas between).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeName(String);

/// Why a text is not a [`NodeName`].
#[derive(Debug, thiserror::Error)]
#[error(
    "'{0}' cannot be a node name: 1 to 128 printable characters without comma, surrounding blanks or 'Network SUT'"
)]
pub struct NodeNameError(String);

impl std::str::FromStr for NodeName {
    type Err = NodeNameError;

    fn from_str(text: &str) -> Result<NodeName, NodeNameError> {
        let bad = |c: char| c == ',' || c.is_control();
        // "Network SUT" is what the list of names begins with, and its absence must mean something.
        let bad_text = text.is_empty() || text.trim() != text || text.contains("Network SUT");
        if bad_text || text.chars().count() > 128 || text.contains(bad) {
            return Err(NodeNameError(text.to_owned()));
        }
        Ok(NodeName(text.to_owned()))
    }
}

impl std::fmt::Display for NodeName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for NodeName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_would_confuse_a_list_are_refused() {
        for good in ["N1", "gpu host 7", "sut-0.sut.default.svc"] {
            assert!(good.parse::<NodeName>().is_ok(), "{good}");
        }
        for bad in ["", " N1", "a,b", "a\nb", "my Network SUT", &"x".repeat(129)] {
            assert!(bad.parse::<NodeName>().is_err(), "{bad:?}");
        }
    }
}
