//! Why the nodes could not be brought together, and errors of the network in words.

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use lon_net::address::NodeAddress;
use lon_proto::text::printable;
use tonic::{Code, Status};

use crate::types::NodeFailure;

/// Why the nodes could not be brought together as one SUT.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The list of nodes is empty.
    #[error("no SUT node was given")]
    NoNodes,
    /// A node cannot be reached.
    #[error("SUT node {address} cannot be reached: {reason}")]
    Unreachable {
        /// The node's address.
        address: NodeAddress,
        /// The error of the last attempt.
        reason: String,
    },
    /// A node listened and was waited for, and its port is closed now.
    #[error("SUT node {address} was there and is gone before it served: it has ended, and its own log says why")]
    Gone {
        /// The node's address.
        address: NodeAddress,
    },
    /// A node's name leads to another host, which may not be dialled.
    #[error("SUT node {address} is another host ({found}), and there is no TLS")]
    AnotherHost {
        /// The node's address.
        address: NodeAddress,
        /// Where it leads.
        found: SocketAddr,
    },
    /// A node answered a control call with an error.
    #[error("SUT node {address} refused {call}: {reason}")]
    Refused {
        /// The node's address.
        address: NodeAddress,
        /// The name of the call.
        call: &'static str,
        /// The node's own words.
        reason: String,
    },
    /// Another run has a node.
    #[error(
        "SUT node {address} refused {call}: {reason} (--wait-ready 60s waits until it is free; a node frees itself \
         within 11 s where the program that has it died)"
    )]
    Busy {
        /// The node's address.
        address: NodeAddress,
        /// The name of the call.
        call: &'static str,
        /// The node's own words: which run, and from where.
        reason: String,
    },
    /// The other end is not a SUT node of this wire version.
    #[error("SUT node {address} does not speak lon.v1 version {ours}: {reason}")]
    WireVersion {
        /// The node's address.
        address: NodeAddress,
        /// The version spoken here.
        ours: u32,
        /// The node's own words.
        reason: String,
    },
    /// A node returned another nonce than it was sent.
    #[error("SUT node {address} returned another nonce than it was sent: its name cannot be trusted")]
    Nonce {
        /// The node's address.
        address: NodeAddress,
    },
    /// Two nodes have one name.
    #[error(
        "two SUT nodes are named '{name}': {first} and {second}; names must be unique (sut-node serve --node, or \
         NAME=host:port of a KServe server)"
    )]
    DuplicateName {
        /// The name that both have.
        name: String,
        /// The node that comes first in the list.
        first: NodeAddress,
        /// The node that comes later.
        second: NodeAddress,
    },
    /// A node's name cannot stand in the list of names: see [`lon_proto::node_name::NodeName`].
    #[error("SUT node {address} gives the unusable name '{name}'")]
    BadName {
        /// The node's address.
        address: NodeAddress,
        /// The node's own words.
        name: String,
    },
    /// A node took too long over a control call.
    #[error("SUT node {address} did not answer {call} within {timeout:?}")]
    Timeout {
        /// The node's address.
        address: NodeAddress,
        /// The name of the call.
        call: &'static str,
        /// The time that the call had.
        timeout: Duration,
    },
    /// A node cannot be probed.
    #[error(
        "SUT node {address} cannot be probed: it does not know the call ({reason}); update it, or run without a probe"
    )]
    CannotProbe {
        /// The node's address.
        address: NodeAddress,
        /// The node's own words.
        reason: String,
    },
    /// A node does not have the model that a tenant names.
    #[error("SUT node {name} ({address}) has no model '{model}'; {}", model_list(models))]
    NoTenantModel {
        /// The node's name.
        name: String,
        /// The node's address.
        address: NodeAddress,
        /// Name of the model, as the tenant gives it.
        model: String,
        /// Names of the node's models; empty where it knows no tenants.
        models: Vec<String>,
    },
    /// A node does not have the codec.
    #[error("SUT node {name} ({address}) does not know the codec '{codec}' {of}; it knows: {codecs}")]
    Codec {
        /// The node's name.
        name: String,
        /// The node's address.
        address: NodeAddress,
        /// The codec, without its level.
        codec: &'static str,
        /// Purpose of the codec.
        of: &'static str,
        /// The names of the node's own codecs.
        codecs: String,
    },
    /// A server does not have the model, or does not have it yet.
    #[error("server {name} ({address}): model '{model}' is not ready: {reason} ({advice})")]
    NotReady {
        /// The node's address.
        address: NodeAddress,
        /// The caller's name for it.
        name: String,
        /// The model that was asked for.
        model: String,
        /// The server's reason.
        reason: String,
        /// Advice to the user.
        advice: &'static str,
    },
    /// The other end speaks gRPC, but is no SUT node.
    #[error(
        "{address} is no SUT node (no call {call} of lon.v1: {reason}); a server of KServe's protocol (Triton, \
         mlserver) is reached with --transport kserve --sut NAME={address} --model MODEL"
    )]
    NotASutNode {
        /// The server's address.
        address: NodeAddress,
        /// The call that it does not know.
        call: &'static str,
        /// The server's own words.
        reason: String,
    },
    /// The other end speaks gRPC, but not KServe's protocol.
    #[error(
        "{address} does not speak KServe's protocol (no call {call}: {reason}); SUT nodes are reached without \
         --transport kserve"
    )]
    NotKserve {
        /// The server's address.
        address: NodeAddress,
        /// The call that it does not know.
        call: &'static str,
        /// The node's own words.
        reason: String,
    },
    /// The transport does not reach nodes of the kind that was given: see [`crate::Peers`].
    #[error("transport {transport} does not reach nodes of this kind")]
    WrongTransport {
        /// The transport's name.
        transport: &'static str,
    },
    /// A node takes nothing by its own bounds.
    #[error("SUT node {name} ({address}) returned {field} 0 when it was claimed: bounds are above 0")]
    NoBound {
        /// The node's name.
        name: String,
        /// Where it is.
        address: NodeAddress,
        /// The bound, as the wire contract names it.
        field: &'static str,
    },
    /// A dispatch stream could not be opened.
    #[error("SUT node {name} ({address}): {failure}")]
    Stream {
        /// The node's name.
        name: String,
        /// Where it is.
        address: NodeAddress,
        /// Failure of the opening.
        failure: NodeFailure,
    },
    /// Several nodes failed.
    #[error("{first}; {more} more of the {nodes} nodes failed, too")]
    Several {
        /// The error of the first of them, in the order of the nodes.
        first: Box<ConnectError>,
        /// Number of other nodes that failed, as far as the call waited for them.
        more: usize,
        /// Number of nodes in all.
        nodes: usize,
    },
    /// The operating system refused a thread, a runtime, or random bytes.
    #[error("{what}: {reason}")]
    Os {
        /// The thing that was refused.
        what: &'static str,
        /// The system's answer.
        reason: String,
    },
}

impl ConnectError {
    /// This error, where `more` other nodes of `nodes` failed beside the one that it is about.
    pub(crate) fn and_more(self, more: usize, nodes: usize) -> ConnectError {
        if more == 0 { self } else { ConnectError::Several { first: Box::new(self), more, nodes } }
    }

    /// The node may still be starting: another attempt may succeed.
    pub(crate) fn may_pass(&self) -> bool {
        use ConnectError::{NotReady, Timeout, Unreachable};
        matches!(self, NotReady { .. } | Timeout { .. } | Unreachable { .. })
    }
}

/// The models that a node has, for one who named another.
fn model_list(models: &[String]) -> String {
    match models {
        [] => "it knows no tenants: it is of an earlier version, or no SUT node".to_owned(),
        models => format!("it has: {} (sut-node serve --backend NAME=...)", models.join(", ")),
    }
}

/// An error with its causes, as one line without repetitions.
pub(crate) fn explain(error: &(dyn Error + 'static)) -> String {
    with_causes(error.to_string(), error.source())
}

/// A gRPC status with its causes, as one line. A status that the node sent has none.
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

/// The first words of the HTTP/2 library on a broken connection. No node says so of itself.
const OF_THE_LIBRARY: &str = "h2 protocol error";

/// A broken connection in words for people: the error of the system where there is one.
fn broken_off(status: &Status) -> String {
    if !status.message().starts_with(OF_THE_LIBRARY) {
        return printable(status.message());
    }
    let (mut of_system, mut cause) = (None, status.source());
    while let Some(error) = cause {
        of_system = error.downcast_ref::<io::Error>().or(of_system);
        cause = error.source();
    }
    let how = of_system.map(|error| format!(" ({})", printable(&error.to_string()))).unwrap_or_default();
    format!("it broke off without a word{how}: the node's process has ended, or its host or the way to it has failed")
}

/// The failure of a node whose stream ended with this status.
pub(crate) fn failure_of(status: &Status) -> NodeFailure {
    match status.code() {
        Code::Internal | Code::DataLoss | Code::OutOfRange => NodeFailure::Protocol(printable(status.message())),
        Code::Unknown | Code::Cancelled => NodeFailure::Connection(broken_off(status)),
        _ => NodeFailure::Ended(printable(&format!("{}: {}", status.code().description(), status.message()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_breaks_off_has_words_for_people() {
        let of_library = Status::unknown("h2 protocol error: error reading a body from connection");
        let message = failure_of(&of_library).to_string();
        assert!(message.contains("it broke off without a word: the node's process has ended"), "{message}");
        assert!(!message.contains("h2"), "{message}");
        let own = Status::unknown("the model is gone");
        assert_eq!(failure_of(&own), NodeFailure::Connection("the model is gone".to_owned()));
    }
}
