//! The Query Dispatch Library: many SUT nodes over a network, shown to a LoadGen as one SUT.
//!
//! ```text
//! Qdl ── control connections: names, descriptions, claims, flushes, ends            control
//!  └ Run ── issue ─> which node, which lane                                         dispatch
//!       │              └─> stream or calls of a transport ══════════> SUT node      carry
//!       └─ Sink <─ each sample's end, once <─ lane <═════════════════════╝
//! what both ends have counted, compared when the run is over                        account
//! ```
//!
//! The rooms, from the top down; each calls only those below it:
//! - `qdl`, `run`, `config`: what callers use; `tenants`: several runs of one claim;
//! - `control`: the control side of the nodes, one file for each kind of node;
//! - `carry`: the threads that drive lanes, one file for each transport;
//! - `dispatch`: the node and the lane of each sample, and what is in flight;
//! - `account`: counters, traffic, reports;
//! - `peer_probe`: what one node is asked to measure of another, and what it found;
//! - `types`, `error`, `peer_kind`: what all of them share; `flushes`: what happened to the calls of Flush.
//!
//! `conformance`, beside `qdl`, holds a node against the wire contract, rule by rule; `fuzz` is what the fuzz targets
//! call.
//!
//! A *peer* is a node as the control side sees it, a *node* is where samples go. A *connection* has one *lane* or
//! several. A lane is carried by a Dispatch *stream*, or by calls where the node speaks KServe's protocol.
//!
//! The QDL moves opaque bytes, and inflates answers that the SUT has compressed. It has no codec for requests, no
//! batcher and no cache, it puts one part of one sample into a message and nothing else, and it waits for nothing
//! before sending: so the Network division's rules against pre-processing, post-processing, batching, padding and
//! caching hold by construction. It may send the samples of one query to different nodes, which the rules allow.
//!
//! It knows the wire contract, and neither the scenario engine nor the SUT node. Its functions are synchronous; the
//! threads behind them are its own, or the caller's ([`Driver`]).

mod account;
mod carry;
mod config;
pub mod conformance;
mod control;
mod dispatch;
mod error;
mod flushes;
#[doc(hidden)]
pub mod fuzz;
mod peer_kind;
mod peer_probe;
mod qdl;
mod run;
mod tenants;
mod types;

pub use account::counters::NodeCounts;
pub use account::now::{NodeNow, NodeRoom};
pub use account::reconcile::{Comparable, Difference, Layer, comparable, reconcile};
pub use account::report::{NicTraffic, NodeReport, SutCounts};
pub use account::traffic::{Ends, NodeTraffic};
pub use carry::{BareStream, Carry, Driver, Endpoint, LaneTask, Transport, Wait, shorten_slice};
pub use config::{Config, RunConfig};
pub use control::{AnswersChecked, KserveServer, ModelDescription, NameTrip, NodeDescription, Peers, SutName};
pub use dispatch::Policy;
pub use error::ConnectError;
pub use lon_machine::host::Host;
pub use lon_machine::nic::Interface;
pub use lon_net::address::{AddressError, DEFAULT_PORT, NodeAddress};
pub use lon_net::end_counters::EndCounters;
pub use lon_net::send_room::Room;
pub use lon_net::thread_time::ThreadTime;
pub use lon_proto::direction::Direction;
pub use lon_proto::setup::{Build, Setting};
pub use lon_proto::stages::Stages;
pub use peer_kind::{KSERVE_NO_COUNTERS, Payload, PeerKind};
pub use peer_probe::{PeerOrder, PeerResult};
pub use qdl::Qdl;
pub use run::{Meter, Run};
pub use tenants::TenantStart;
pub use types::{Answer, Failure, NodeFailure, NodeIndex, Outcome, Reply, Sample, SampleId, Sink, Stall};
