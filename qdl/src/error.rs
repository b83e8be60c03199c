//! Errors of the control side: each names the node, its address, and what to do.

use std::error::Error;
use std::time::Duration;

use tonic::{Code, Status};

use crate::address::NodeAddress;
use crate::types::NodeFailure;
use lon_proto::text::printable;

/// Why the nodes could not be brought together as one SUT.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// No node was given.
    #[error("no SUT node was given")]
    NoNodes,
    /// A node cannot be reached.
    #[error("SUT node {address} cannot be reached: {reason}")]
    Unreachable {
        /// Where it was looked for.
        address: NodeAddress,
        /// What the attempt met.
        reason: String,
    },
    /// A node answered a control call with an error.
    #[error("SUT node {address} refused {call}: {reason}")]
    Refused {
        /// Which node.
        address: NodeAddress,
        /// Which call.
        call: &'static str,
        /// What it said.
        reason: String,
    },
    /// What answers is not a node of this wire version.
    #[error("SUT node {address} does not speak lon.v1 version {ours}: {reason}")]
    WireVersion {
        /// Which node.
        address: NodeAddress,
        /// The version spoken here.
        ours: u32,
        /// What it said.
        reason: String,
    },
    /// A node did not return the nonce.
    #[error("SUT node {address} returned another nonce than it was sent: its name cannot be trusted")]
    Nonce {
        /// Which node.
        address: NodeAddress,
    },
    /// Two nodes have one name.
    #[error(
        "two SUT nodes are named '{name}': {first} and {second}; names must be unique (sut-node serve --node, or NAME=host:port of a KServe server)"
    )]
    DuplicateName {
        /// The name.
        name: String,
        /// One of them.
        first: NodeAddress,
        /// The other.
        second: NodeAddress,
    },
    /// A node's name would break the list of names.
    #[error("SUT node {address} gives the unusable name '{name}'")]
    BadName {
        /// Which node.
        address: NodeAddress,
        /// What it said.
        name: String,
    },
    /// A node took too long over a control call.
    #[error("SUT node {address} did not answer {call} within {timeout:?}")]
    Timeout {
        /// Which node.
        address: NodeAddress,
        /// Which call.
        call: &'static str,
        /// How long was waited.
        timeout: Duration,
    },
    /// A node that cannot be probed.
    #[error(
        "SUT node {address} cannot be probed: it does not know the call ({reason}); update it, or run without a probe"
    )]
    CannotProbe {
        /// Which node.
        address: NodeAddress,
        /// What it said.
        reason: String,
    },
    /// A codec that a node does not have.
    #[error("SUT node {name} ({address}) does not know the codec '{codec}' {of}; it knows: {known}")]
    Codec {
        /// Which node.
        name: String,
        /// Where it is.
        address: NodeAddress,
        /// The codec, without its level.
        codec: &'static str,
        /// What it was for.
        of: &'static str,
        /// The node's own.
        known: String,
    },
    /// A server that has no such model, or not yet.
    #[error("server {name} ({address}): model '{model}' is not ready: {reason} ({advice})")]
    NotReady {
        /// Which node.
        address: NodeAddress,
        /// The caller's name for it.
        name: String,
        /// The model that was asked for.
        model: String,
        /// What the server said.
        reason: String,
        /// What to do.
        advice: &'static str,
    },
    /// What answers speaks gRPC, but not KServe's protocol.
    #[error(
        "{address} does not speak KServe's protocol (no call {call}: {reason}); SUT nodes are reached without --transport kserve"
    )]
    NotKserve {
        /// Where it was asked.
        address: NodeAddress,
        /// The call that it does not know.
        call: &'static str,
        /// What it said.
        reason: String,
    },
    /// A transport with nodes that it does not reach.
    #[error("transport {transport} does not reach nodes of this kind")]
    WrongTransport {
        /// The transport's name.
        transport: &'static str,
    },
    /// A dispatch stream could not be opened.
    #[error("SUT node {name} ({address}): {failure}")]
    Stream {
        /// Which node.
        name: String,
        /// Where it is.
        address: NodeAddress,
        /// What happened.
        failure: NodeFailure,
    },
    /// The operating system refused a thread, a runtime, or random bytes.
    #[error("{what}: {reason}")]
    Os {
        /// What was asked for.
        what: &'static str,
        /// The answer.
        reason: String,
    },
}

impl ConnectError {
    /// Whether the node may still be on its way: another attempt may find it.
    pub(crate) fn may_pass(&self) -> bool {
        use ConnectError::{NotReady, Timeout, Unreachable};
        matches!(self, NotReady { .. } | Timeout { .. } | Unreachable { .. })
    }
}

/// An error with its causes, as one line without repetitions.
pub(crate) fn explain(error: &(dyn Error + 'static)) -> String {
    with_causes(error.to_string(), error.source())
}

/// The same of a status: what it says, and what is behind it when it was not the node that said it.
pub(crate) fn explain_status(status: &Status) -> String {
    with_causes(status.message().to_owned(), status.source())
}

fn with_causes(first: String, mut cause: Option<&(dyn Error + 'static)>) -> String {
    let mut parts = vec![first];
    while let Some(error) = cause {
        let text = error.to_string();
        if !parts.iter().any(|part| part.contains(&text)) {
            parts.push(text);
        }
        cause = error.source();
    }
    printable(&parts.join(": "))
}

/// What a stream's status says of its node.
pub(crate) fn failure_of(status: &Status) -> NodeFailure {
    match status.code() {
        Code::Internal | Code::DataLoss | Code::OutOfRange => NodeFailure::Protocol(printable(status.message())),
        Code::Unknown | Code::Cancelled => NodeFailure::Connection(printable(status.message())),
        _ => NodeFailure::Ended(printable(&format!("{}: {}", status.code().description(), status.message()))),
    }
}
