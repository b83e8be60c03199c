//! A SUT node by itself.
//!
//! - `clients`: what it does with callers that are no LoadGen node
//! - `conformance`: nodes held against the wire contract: ours, and nodes that break one rule each
//! - `hostile_clients`: callers that want to keep it from serving
//! - `leaks`: what it holds when a run is over: nothing
//! - `memory`: how much memory it takes at most
//! - `metrics`: what it tells those who ask for metrics
//! - `pipeline`: what stands around inference, and the same without a network

mod clients;
mod conformance;
mod hostile_clients;
mod leaks;
mod memory;
mod metrics;
mod pipeline;
