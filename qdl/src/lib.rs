//! The Query Dispatch Library: many SUT nodes over a network, shown to a LoadGen as one SUT.
//!
//! ```text
//! Qdl ── control connections: names, descriptions, claims, flushes, ends          control, name, describe
//!  └ Run ── issue ─> which node ─> lane ─> writer ══ one stream ══> SUT node      shared, window, lane, stream
//!       └─ Sink <─ each sample's end, once ─ slots <─ reader <══════════╝         slots, types
//!               └─ inflate, when answers have a codec                             inflate
//! Nodes that are no SUT nodes: a lane of calls instead of a stream                   contact, kserve
//! ```
//!
//! It moves opaque bytes, and inflates answers that the SUT has compressed. It has no codec for requests, no batcher and no cache, it puts one part of one sample into
//! a message and nothing else, and it waits for nothing before sending: so the Network division's rules against
//! pre-processing, post-processing, batching, padding and caching hold by construction. It may send the samples of
//! one query to different nodes, which the rules allow.
//!
//! It is a leaf: it knows the wire, and neither the scenario engine nor the SUT node. Its face is synchronous;
//! the threads behind it are its own, or the caller's ([`Driver`]).

mod address;
mod alarm;
mod config;
mod contact;
mod control;
mod counters;
mod describe;
mod driver;
mod error;
mod inflate;
mod kserve;
mod lane;
mod linger;
mod name;
mod qdl;
mod reconcile;
mod remote;
mod report;
mod run;
mod shared;
mod slots;
mod stream;
mod text;
mod traffic;
mod types;
mod warm;
mod watch;
mod window;

pub use address::{AddressError, DEFAULT_PORT, NodeAddress};
pub use config::{Config, Driver, KserveConfig, Policy, RunConfig, Transport, Wait};
pub use control::NameTrip;
pub use counters::NodeCounts;
pub use describe::NodeDescription;
pub use driver::shorten_slice;
pub use error::ConnectError;
pub use kserve::NO_COUNTERS as KSERVE_NO_COUNTERS;
pub use lon_net::host::Host;
pub use lon_net::nic::Interface;
pub use name::{NETWORK_SUT, SutName};
pub use qdl::Qdl;
pub use reconcile::{Difference, Direction, Layer, reconcile};
pub use report::{NicTraffic, NodeReport, SutCounts};
pub use run::{Meter, Run};
pub use traffic::NodeTraffic;
pub use types::{Answer, Failure, NodeFailure, NodeIndex, Outcome, Reply, Sample, SampleId, Sink, Stages};
