//! What answers the samples: two contracts, four backends, and opening one from the text of `--backend`.
//!
//! The backends:
//! - [`null`]: answers at once, to measure everything but inference;
//! - [`synthetic`]: takes as long as it is told, to measure queueing, batching and token streams without a model;
//! - [`onnx`]: runs a model, with ONNX Runtime when its library is there, else with the embedded tract;
//! - [`openai`]: asks a server that streams chat completions.
//!
//! What they share:
//! - `contract`: what a backend is, and one that answers batches;
//! - [`stream`]: a backend that answers token by token;
//! - `sample`: one sample as a backend sees it;
//! - `options`: how a backend is to run;
//! - `provider`: the execution providers of ONNX Runtime, by name;
//! - `error`: why a backend cannot run, and why a sample has no answer;
//! - `open`: from the text of `--backend` to a backend.
//!
//! A backend knows nothing of the network: bytes and [`crate::tensor`] go in, bytes come out.

mod contract;
mod error;
pub mod null;
#[cfg(feature = "onnx")]
pub mod onnx;
mod open;
pub mod openai;
mod options;
mod provider;
mod sample;
pub mod stream;
pub mod synthetic;

pub use contract::{Aside, Backend, BackendInfo, Execution, Half, Input, Worker};
pub use error::{BackendError, InferError};
pub use open::open;
pub use options::{BackendOptions, OnnxEngine, TokenOptions};
pub use provider::{Provider, UnknownProvider};
pub use sample::Sample;
pub use stream::Streamer;
