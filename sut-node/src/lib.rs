//! A SUT node: takes samples from a LoadGen node over the network and answers them with an inference backend.
//!
//! ```text
//! service ── claims, names, counters            run    ── one run's admission and counters
//!    │ one reader and one lane per stream
//! reader ── parts -> sample -> admitted ──────> queue ── batches ──> workers ── backend
//!    ├───── inline backends ─┐                    │                     │
//!    └───── codecs ──> decode threads ────────────┘                     │
//! lane   <── answers ────────┴──────────────────────────────────────────┘   parts leave in order
//! ```
//!
//! In front of it: `listener` takes TCP connections in and tells gRPC from plain TCP, `streams` carries plain TCP and
//! QUIC, `sockets` has the ports of all three, `front` the threads that serve them. `crew` has the threads that compute.
//!
//! [`serve`] is the whole node; [`cli`] is the binary around it. Nothing about a run outlives it, nothing about a
//! sample outlives its answer, and nothing here knows LoadGen: no scenario, no sample index, no schedule.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use lon_net::throwaway::ThrowawayError;
use lon_net::tls::TlsError;
use tokio::sync::watch;

mod accept;
pub mod backend;
mod bench;
pub mod cli;
mod config;
mod host;
pub mod pipeline;
mod run;
mod service;
pub mod tensor;
mod work;

use crate::pipeline::images::PreprocessError;
use accept::io_threads::{self as front, Front, IoThreads, Serving};
pub use accept::sockets::{ListenError, Sockets};
pub use config::{Limits, NodeName, NodeNameError, ServeConfig};
use service::calls::{self as calls, Claim, Service};
use work::threads::Crew;

use crate::backend::{Backend, BackendError};

/// How often a node that shuts down looks whether it is done.
const LOOK_AROUND: Duration = Duration::from_millis(20);

/// How long connections get for their last words.
const FAREWELL: Duration = Duration::from_millis(200);

/// Why a node could not serve, or stopped serving.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The backend could not be brought up.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The model does not take what pre-processing makes.
    #[error(transparent)]
    Preprocess(#[from] PreprocessError),
    /// `bench` asks for what the node does not do.
    #[error("bench: {0}")]
    Bench(String),
    /// A thread or the listener could not be had from the operating system.
    #[error("{what}: {source}")]
    Os {
        /// What was asked for.
        what: &'static str,
        /// The operating system's answer.
        source: std::io::Error,
    },
    /// No certificate for QUIC could be made.
    #[error(transparent)]
    Throwaway(#[from] ThrowawayError),
    /// Nor used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The transport failed as a whole (a single connection's failure is that connection's end, not this).
    #[error("serving failed: {0}")]
    Transport(#[from] tonic::transport::Error),
}

fn os(what: &'static str) -> impl Fn(std::io::Error) -> ServeError {
    move |source| ServeError::Os { what, source }
}

/// Serves `backend` on `sockets` until `shutdown` resolves, then answers what it has taken in and returns.
///
/// `ready` is called once the backend is warm and connections are accepted. Must run on a tokio runtime (a
/// current-thread one is the fastest here: the hot path has no work to share); further I/O threads and inference have
/// threads of their own, which have ended when this returns, unless inference is what was too late.
///
/// # Errors
/// See [`ServeError`].
pub async fn serve(
    sockets: Sockets,
    config: ServeConfig,
    backend: Arc<dyn Backend>,
    shutdown: impl Future<Output = ()> + Send + 'static,
    ready: impl FnOnce(),
) -> Result<(), ServeError> {
    let crew = Crew::start(&config, backend.as_ref())?;
    let front = Front::open(sockets, config.tls.as_ref())?;
    let quic = front.quic.clone();

    let (stop_sender, stop) = watch::channel(false);
    let ServeConfig { drain, busy_poll, io_threads, tls, .. } = config.clone();
    let claim = Claim::default();
    let service = Service::new(config, backend, crew.work.clone(), stop.clone(), Arc::clone(&claim));
    let service = Arc::new(service);
    let (routes, health) = front::routes(&service, stop.clone()).await;
    let serving = Serving { service, routes, tls, busy_poll, stop: stop.clone() };
    let mut others = IoThreads::start(io_threads.get() - 1, &serving)?;
    let signalled = async move {
        shutdown.await;
        // Whoever listens is gone only when serving has ended by itself.
        let _ = stop_sender.send(true);
        health.await;
        std::future::pending().await
    };
    ready();
    let (outcome, overdue) = tokio::select! {
        outcome = front.serve(serving, &mut others) => (outcome, false),
        overdue = drained(stop, &claim, drain) => (Ok(()), overdue),
        never = signalled => never,
    };
    drop(others);
    quic.close(quinn::VarInt::from_u32(0), b"");
    let _ = tokio::time::timeout(FAREWELL, quic.wait_idle()).await;
    if overdue {
        // The workers are not waited for either: they are what is late.
        tracing::warn!("not everything was answered within {drain:?} of the shutdown");
        return Ok(());
    }
    crew.finish();
    outcome
}

/// Keeps the runtime from sleeping while a run has the node: each turn asks the sockets anew.
async fn stay_awake(claim: Claim) {
    loop {
        if calls::is_at_work(&claim) {
            tokio::task::yield_now().await;
        } else {
            tokio::time::sleep(LOOK_AROUND).await;
        }
    }
}

/// Resolves when the node is told to stop.
async fn stopped(mut stop: watch::Receiver<bool>) {
    if stop.wait_for(|stop| *stop).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// After shutdown began: resolves when nothing is left to answer (false), or when the time is up (true). Connections
/// that merely stand open are no reason to stay.
async fn drained(stop: watch::Receiver<bool>, claim: &Claim, drain: Duration) -> bool {
    stopped(stop).await;
    let idle = async {
        while calls::is_at_work(claim) {
            tokio::time::sleep(LOOK_AROUND).await;
        }
        // Time for the last words to leave.
        tokio::time::sleep(FAREWELL).await;
    };
    tokio::time::timeout(drain, idle).await.is_err()
}

pub(crate) use service::describe::describe_json;
