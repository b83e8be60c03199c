//! The port that `--metrics-listen` opens: the counters of a program as text, for Prometheus and others that ask every
//! few seconds.
//!
//! ```text
//! Metrics (the program's Source reads its counters) ──> server ── one reply a connection ──> GET /metrics
//! ```
//!
//! - [`port`]: the port and who may ask there;
//! - [`server`]: connections, on a thread of its own;
//! - [`reply`]: what a request is answered with;
//! - [`source`]: where metrics are read, and the forms in which they are told;
//! - [`family`]: one metric, and how it is told; `wire`: the messages of Prometheus;
//! - [`histogram`]: durations in buckets, counted without a lock; [`native`]: those of native histograms.

pub mod family;
pub mod histogram;
pub mod native;
pub mod port;
pub mod reply;
pub mod server;
pub mod source;
mod wire;
