//! A SUT node: takes samples from a LoadGen node over the network and answers them with an inference backend.
//!
//! ```text
//!         bench                              measuring a backend without a network
//!         serve                              a whole node, from its start to its end
//!           └─> accept ── transports         ports, I/O threads; gRPC, TCP, QUIC: one file each
//!                 └─> service ── claim       the calls of lon.v1; which run has the node
//!                       └─> work             one sample:
//!            reader ── ticket ──┬─────────────────────────> queue ── batches ─────── backend
//!               │               └─> decode threads ──────────┘ └──── token_streams ─── backend
//!            output <── answer queue <── answers
//!                             └─> run        one run: admission, codecs, counters
//! ```
//!
//! Each room knows only those below it, in this order:
//! - [`mod@bench`]: the backend behind its queue and workers, in this process, without a network;
//! - [`serve`](fn@serve): the whole node;
//! - `metrics`: what the node tells those who ask for its counters;
//! - `accept`: how clients reach the node;
//! - `service`: what the node does for them;
//! - `work`: what happens to one sample between the connection that brings it and the connection that takes its answer;
//! - `run`: one run's bounds and counts; `prober`, beside it: other nodes, measured from this one;
//! - [`backend`]: what answers the samples;
//! - [`pipeline`]: what is done before and after inference.
//!
//! Used by the rooms above: `config` (how a node serves), `stop` (its shutdown), `host` (the machine it runs on),
//! `memory` (how much of it samples may take), [`backend_files`] (their files and texts), [`node_setting`] (an option
//! as it is told) and [`tensor`] (a sample's tensors); `error` (why a node does not serve), beside `run`, and `model`
//! (a backend with its name and options) below it.
//!
//! `fuzz` above them: what the fuzz targets call. The program `sut-node` adds the command line, and the backend that
//! runs ONNX models.
//!
//! Nothing of a run is kept once it is over, nothing of a sample once its answer has left, and nothing here knows
//! LoadGen: no scenario, no sample index, no schedule.

mod accept;
pub mod backend;
pub mod backend_files;
pub mod bench;
mod config;
mod error;
#[doc(hidden)]
pub mod fuzz;
mod host;
mod memory;
mod metrics;
mod model;
pub mod node_setting;
pub mod pipeline;
mod prober;
mod run;
mod serve;
mod service;
mod stop;
pub mod tensor;
mod work;

pub use accept::acceptor::{Acceptor, Closing, Serving, Streams};
pub use accept::refusal::refuse;
pub use accept::sockets::{Brought, ListenError, Sockets};
pub use config::{Limits, ModelConfig, PeerProbes, ServeConfig};
pub use error::ServeError;
pub use lon_proto::node_name::{NodeName, NodeNameError};
pub use memory::{Memory, MemoryError};
pub use model::{Model, ModelName, ModelNameError, Models, ModelsError};
pub use run::connections::{Connection, SocketTraffic};
pub use serve::serve;
pub use service::describe;
pub use stop::{Stop, Stopper, stop};
