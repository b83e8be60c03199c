//! Transport as a trait: its name, and its way to carry lanes. The transports that are built in are listed in
//! [`super`]; anything that implements [`Carry`] can be used like them.

use std::fmt;
use std::future::{Future, ready};
use std::hash::{Hash, Hasher};
use std::num::NonZeroUsize;
use std::ops::Deref;
use std::pin::Pin;

use lon_net::flow::{Fill, Source};
use lon_net::framing::Inbound;
use tokio::task::JoinSet;
use tonic::Status;

use super::endpoint::Endpoint;
use super::lane_task::LaneTask;
use crate::error::ConnectError;
use crate::peer_kind::PeerKind;

/// A stream that follows no lane, while it is opened: what is read from it, and the bytes that came behind its
/// acceptance; or the status that it was refused with.
pub type BareStream = Pin<Box<dyn Future<Output = Result<(Box<dyn Source>, Inbound), Status>> + Send>>;

/// One way to carry samples and answers. Implement it, and name it by a [`Transport`], to add a transport.
pub trait Carry: fmt::Debug + Send + Sync {
    /// The transport's name on the command line and in reports, such as `tcp`. No two transports have the same.
    fn name(&self) -> &'static str;

    /// The transport in a sentence, for help.
    fn help(&self) -> &'static str;

    /// The protocols it consists of, for readers of a system description: `QUIC over UDP`.
    fn protocol(&self) -> &'static str;

    /// The protocol whose segments are on the line.
    fn segments(&self) -> &'static str {
        "TCP"
    }

    /// Lanes that share one connection.
    fn lanes_per_connection(&self) -> NonZeroUsize {
        NonZeroUsize::MIN
    }

    /// The kind of nodes that it reaches.
    fn peer_kind(&self) -> PeerKind {
        PeerKind::SUT_NODE
    }

    /// Returns the way in which samples travel without TLS, to complete the sentence "samples would travel ...".
    fn without_tls(&self) -> &'static str {
        "in plain text"
    }

    /// Returns true when socket bytes count bytes that are sent again once more. TCP sends again below the socket, so
    /// it does not count them.
    fn counts_resends(&self) -> bool {
        false
    }

    /// Spawns, on `tasks`, what carries the lanes of one connection to `endpoint`: for each lane a future that runs
    /// until its stream is over. Called inside the runtime that drives them, once for each connection; nothing here is
    /// called for each sample.
    ///
    /// # Errors
    /// The operating system refuses what every connection needs. A node that cannot be reached is no such error: the
    /// lane's own task reports it.
    fn carry(&self, endpoint: Endpoint, lanes: Vec<LaneTask>, tasks: &mut JoinSet<()>) -> Result<(), ConnectError>;

    /// Opens a stream on a connection of its own that sends what `fill` says, from its Open message on, for
    /// [`crate::conformance`]. A transport without it cannot be checked against the wire contract.
    fn bare_stream(&self, _endpoint: Endpoint, _fill: Box<dyn Fill>) -> BareStream {
        let reason = format!("transport {} cannot open a stream for a check of conformance", self.name());
        Box::pin(ready(Err(Status::unimplemented(reason))))
    }
}

/// A transport: a handle to its [`Carry`], which has its properties; cheap to copy. Two handles are equal when their
/// names are.
#[derive(Clone, Copy)]
pub struct Transport(&'static dyn Carry);

impl Transport {
    /// The handle of a transport.
    pub const fn new(carry: &'static dyn Carry) -> Transport {
        Transport(carry)
    }

    /// The built-in transport of this name.
    ///
    /// # Errors
    /// No built-in transport has this name. The error lists the names that there are.
    pub fn named(name: &str) -> Result<Transport, String> {
        let known = Transport::ALL.into_iter().find(|transport| transport.name() == name);
        known.ok_or_else(|| format!("one of {}", Transport::ALL.map(|transport| transport.name()).join(", ")))
    }
}

impl Deref for Transport {
    type Target = dyn Carry;

    fn deref(&self) -> &'static dyn Carry {
        self.0
    }
}

impl PartialEq for Transport {
    fn eq(&self, other: &Transport) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Transport {}

impl Hash for Transport {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
