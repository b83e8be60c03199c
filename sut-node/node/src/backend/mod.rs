//! Backends, which answer the samples: two contracts, three backends, and the list of backends, to which a program adds
//! others.
//!
//! The backends:
//! - [`null`]: answers at once, to measure everything but inference;
//! - [`synthetic`]: takes as long as it is told, to measure queueing, batching and token streams without a model;
//! - [`openai`]: asks a server that streams chat completions.
//!
//! The one that runs ONNX models is a crate of its own, lon-onnx: its engine is a third of a build.
//!
//! What they share:
//! - `contract`: what a backend is, and one that answers batches;
//! - [`stream`]: a backend that answers token by token;
//! - `sample`: one sample as a backend sees it;
//! - `options`: how a backend is to run;
//! - `onnx_provider`: the execution providers of ONNX Runtime, by name;
//! - `error`: why a backend cannot run, and why a sample has no answer;
//! - `registry`: the list of backends, and from the text of `--backend` to one of them.
//!
//! A backend knows nothing of the network: bytes and [`crate::tensor`] go in, bytes come out.

mod contract;
mod error;
pub mod null;
mod onnx_provider;
pub mod openai;
mod options;
mod registry;
mod sample;
pub mod stream;
pub mod synthetic;

pub use contract::{Aside, Backend, BackendInfo, Execution, Half, Input, Worker};
pub use error::{BackendError, InferError};
pub use onnx_provider::{Provider, UnknownProvider};
pub use options::{BackendOptions, BatchDim, DimSize, OnnxEngine, TokenOptions, UnknownBatchDim, UnknownDim};
pub use registry::{BackendKind, Backends, Open};
pub use sample::BackendSample;
pub use stream::Streamer;
