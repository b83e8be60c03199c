//! A SUT node: takes samples from a LoadGen node over the network and answers them with an inference backend.
//!
//! ```text
//! service ── claims, names, counters            run    ── one run's admission and counters
//!    │ one reader and one lane per stream
//! reader ── parts -> sample -> admitted ──────> queue ── batches ──> workers ── backend
//!    └───── inline backends ─┐                                          │
//! lane   <── answers ────────┴──────────────────────────────────────────┘   parts leave in order
//! ```
//!
//! [`serve`] is the whole node; [`cli`] is the binary around it. Nothing about a run outlives it, nothing about a
//! sample outlives its answer, and nothing here knows LoadGen: no scenario, no sample index, no schedule.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

pub mod backend;
pub mod cli;
mod config;
mod host;
mod lane;
mod queue;
mod reader;
mod run;
mod service;
pub mod tensor;
mod workers;

pub use config::{Limits, NodeName, NodeNameError, ServeConfig};
use lon_proto::limits;
use queue::JobQueue;
use service::{Claim, GrpcNode, Service};

use crate::backend::{Backend, BackendError, Execution, Worker};

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
    /// A worker thread or the listener could not be had from the operating system.
    #[error("{what}: {source}")]
    Os {
        /// What was asked for.
        what: &'static str,
        /// The operating system's answer.
        source: std::io::Error,
    },
    /// The transport failed as a whole (a single connection's failure is that connection's end, not this).
    #[error("serving failed: {0}")]
    Transport(#[from] tonic::transport::Error),
}

/// Serves `backend` on `listener` until `shutdown` resolves, then answers what it has taken in and returns.
///
/// `ready` is called once the backend is warm and connections are accepted. Must run on a tokio runtime (a
/// current-thread one is the fastest here: the hot path has no work to share); inference has threads of its own.
///
/// # Errors
/// See [`ServeError`].
pub async fn serve(
    listener: std::net::TcpListener,
    config: ServeConfig,
    backend: Arc<dyn Backend>,
    shutdown: impl Future<Output = ()> + Send + 'static,
    ready: impl FnOnce(),
) -> Result<(), ServeError> {
    let os = |what| move |source| ServeError::Os { what, source };
    let queue = Arc::new(JobQueue::new(config.max_batch.get(), config.max_delay));
    let warm = warm_workers(&config, backend.as_ref())?;
    let threads = workers::start(warm, &queue).map_err(os("cannot start a worker thread"))?;
    listener.set_nonblocking(true).map_err(os("cannot use the listener"))?;
    let listener = tokio::net::TcpListener::from_std(listener).map_err(os("cannot use the listener"))?;
    // Small answers must not wait for acknowledgements of earlier ones.
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));

    let (stop_sender, stop) = watch::channel(false);
    let drain = config.drain;
    let claim = Claim::default();
    if config.busy_poll {
        tokio::spawn(stay_awake(Arc::clone(&claim)));
    }
    let service = Arc::new(Service::new(config, backend, Arc::clone(&queue), stop.clone(), Arc::clone(&claim)));
    let (health, health_service) = tonic_health::server::health_reporter();
    health.set_serving::<GrpcNode>().await;
    let stopped = async move {
        shutdown.await;
        health.set_not_serving::<GrpcNode>().await;
        let _ = stop_sender.send(true);
    };
    let router = Server::builder()
        .initial_stream_window_size(limits::HTTP2_STREAM_WINDOW_BYTES)
        .initial_connection_window_size(limits::HTTP2_CONNECTION_WINDOW_BYTES)
        .max_frame_size(limits::HTTP2_FRAME_BYTES)
        // A LoadGen node whose host died closes nothing; its claim must lapse all the same.
        .http2_keepalive_interval(Some(limits::KEEPALIVE_INTERVAL))
        .http2_keepalive_timeout(Some(limits::KEEPALIVE_TIMEOUT))
        .add_service(GrpcNode::new(service))
        .add_service(health_service);
    ready();
    let serving = router.serve_with_incoming_shutdown(incoming, stopped);
    let outcome = tokio::select! {
        outcome = serving => outcome.map_err(ServeError::from),
        overdue = drained(stop, &claim, drain) => {
            if overdue {
                // The workers are not waited for either: they are what is late.
                tracing::warn!("not everything was answered within {drain:?} of the shutdown");
                return Ok(());
            }
            Ok(())
        }
    };
    queue.close();
    for thread in threads {
        if thread.join().is_err() {
            tracing::error!("a worker thread panicked");
        }
    }
    outcome
}

/// Keeps the runtime from sleeping while a run has the node: each turn asks the sockets anew.
async fn stay_awake(claim: Claim) {
    loop {
        if service::is_at_work(&claim) {
            tokio::task::yield_now().await;
        } else {
            tokio::time::sleep(LOOK_AROUND).await;
        }
    }
}

/// After shutdown began: resolves when nothing is left to answer (false), or when the time is up (true). Connections
/// that merely stand open are no reason to stay.
async fn drained(mut stop: watch::Receiver<bool>, claim: &Claim, drain: Duration) -> bool {
    if stop.wait_for(|stop| *stop).await.is_err() {
        std::future::pending::<()>().await;
    }
    let idle = async {
        while service::is_at_work(claim) {
            tokio::time::sleep(LOOK_AROUND).await;
        }
        // Time for the last words to leave.
        tokio::time::sleep(FAREWELL).await;
    };
    tokio::time::timeout(drain, idle).await.is_err()
}

fn warm_workers(config: &ServeConfig, backend: &dyn Backend) -> Result<Vec<Box<dyn Worker>>, BackendError> {
    let count = match backend.execution() {
        Execution::Workers => config.workers.get(),
        Execution::Inline => 0,
    };
    (0..count).map(|_| backend.worker()).collect()
}

pub(crate) use service::describe_json;
