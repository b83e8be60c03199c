//! Transport of bytes to nodes and back: the threads that drive lanes, and one file for each transport.
//!
//! - `driver`: the threads, or the caller's thread, that carry all lanes of a run; `alarm` and `linger` are how a
//!   thread waits, `losses` finds nodes that say nothing and samples that are overdue, `stalls` when a node stood
//!   still;
//! - `endpoint`: where a node is and how it is connected to; `concurrency_limit`: how many nodes are called or
//!   connected to at once;
//! - `transport`: the trait of a transport and its handle; `lane_task`: a lane as a transport gets it;
//!   `declared_outputs`: what a node has said of its answers;
//! - `stream`: what all transports do with a Dispatch stream, from its first message to its end;
//! - `grpc`, `tcp`, `quic`: the transports to SUT nodes;
//! - `kserve`: calls of KServe's protocol instead of a stream.
//!
//! To add a transport: a file here that implements [`Carry`], and an entry in the list below, which `--transport`
//! reads.

mod alarm;
mod concurrency_limit;
mod declared_outputs;
mod driver;
mod endpoint;
mod grpc;
pub(crate) mod kserve;
mod lane_task;
mod linger;
mod losses;
mod quic;
mod stalls;
mod stream;
mod tcp;
mod transport;

pub(crate) use concurrency_limit::Gate;
pub(crate) use declared_outputs::Promise;
pub(crate) use driver::{Connection, IoDriver, Opened};
pub use driver::{Driver, Wait, shorten_slice};
pub use endpoint::Endpoint;
pub use lane_task::LaneTask;
pub use transport::{BareStream, Carry, Transport};

impl Transport {
    /// One HTTP/2 stream on a connection.
    pub const GRPC: Transport = Transport::new(&grpc::Grpc);
    /// The same messages on a TCP connection, without HTTP around them.
    pub const TCP: Transport = Transport::new(&tcp::Tcp);
    /// Several streams on a connection, so that a large sample does not hold up small ones.
    pub const QUIC: Transport = Transport::new(&quic::Quic);
    /// Calls of KServe's protocol over gRPC, for servers that are no SUT nodes.
    pub const KSERVE: Transport = Transport::new(&kserve::Kserve);

    /// The transports that are built in.
    pub const ALL: [Transport; 4] = [Transport::GRPC, Transport::TCP, Transport::QUIC, Transport::KSERVE];
}
