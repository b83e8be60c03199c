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
//! In front of it: `listener` takes TCP connections in and tells gRPC from plain TCP, `streams` carries plain TCP and
//! QUIC, `sockets` has the ports of all three.
//!
//! [`serve`] is the whole node; [`cli`] is the binary around it. Nothing about a run outlives it, nothing about a
//! sample outlives its answer, and nothing here knows LoadGen: no scenario, no sample index, no schedule.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use lon_net::quic;
use lon_net::throwaway::{Throwaway, ThrowawayError};
use lon_net::tls::{ServerTls, TlsError};
use quinn::Endpoint;
use tokio::sync::{mpsc, watch};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Server;

pub mod backend;
pub mod cli;
mod config;
mod healthcheck;
mod host;
mod lane;
mod listener;
mod queue;
mod reader;
mod run;
mod service;
mod sockets;
mod streams;
pub mod tensor;
mod workers;

pub use config::{Limits, NodeName, NodeNameError, ServeConfig};
use listener::Doors;
use lon_proto::limits;
use queue::JobQueue;
use service::{Claim, GrpcNode, Service};
pub use sockets::{ListenError, Sockets};

use crate::backend::{Backend, BackendError, Execution, Worker};

/// How often a node that shuts down looks whether it is done.
const LOOK_AROUND: Duration = Duration::from_millis(20);

/// How long connections get for their last words.
const FAREWELL: Duration = Duration::from_millis(200);

/// Connections that have said what they speak and wait to be served.
const DOOR_PLACES: usize = 64;

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
/// current-thread one is the fastest here: the hot path has no work to share); inference has threads of its own.
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
    let queue = Arc::new(JobQueue::new(config.max_batch.get(), config.max_delay));
    let warm = warm_workers(&config, backend.as_ref())?;
    let threads = workers::start(warm, &queue).map_err(os("cannot start a worker thread"))?;
    let front = Front::open(sockets, config.tls.as_ref())?;
    let quic = front.quic.clone();

    let (stop_sender, stop) = watch::channel(false);
    let drain = config.drain;
    let claim = Claim::default();
    if config.busy_poll {
        tokio::spawn(stay_awake(Arc::clone(&claim)));
    }
    let service = Arc::new(Service::new(config, backend, Arc::clone(&queue), stop.clone(), Arc::clone(&claim)));
    let signalled = async move {
        shutdown.await;
        // Whoever listens is gone only when serving has ended by itself.
        let _ = stop_sender.send(true);
        std::future::pending().await
    };
    ready();
    let (outcome, overdue) = tokio::select! {
        outcome = front.serve(service, stop.clone()) => (outcome, false),
        overdue = drained(stop, &claim, drain) => (Ok(()), overdue),
        never = signalled => never,
    };
    quic.close(quinn::VarInt::from_u32(0), b"");
    let _ = tokio::time::timeout(FAREWELL, quic.wait_idle()).await;
    if overdue {
        // The workers are not waited for either: they are what is late.
        tracing::warn!("not everything was answered within {drain:?} of the shutdown");
        return Ok(());
    }
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

/// The side of a node that faces the network.
struct Front {
    tcp: tokio::net::TcpListener,
    quic: Endpoint,
    tls: Option<ServerTls>,
}

impl Front {
    fn open(sockets: Sockets, tls: Option<&ServerTls>) -> Result<Front, ServeError> {
        let Sockets { tcp, udp, .. } = sockets;
        tcp.set_nonblocking(true).map_err(os("cannot use the listener"))?;
        let tcp = tokio::net::TcpListener::from_std(tcp).map_err(os("cannot use the listener"))?;
        let for_quic = match tls {
            Some(tls) => tls.clone(),
            None => Throwaway::new(&["localhost"])?.server()?,
        };
        let quic = quic::server_endpoint(udp, &for_quic).map_err(os("cannot serve QUIC"))?;
        Ok(Front { tcp, quic, tls: tls.cloned() })
    }

    /// Serves all three transports. Returns once `stop` is true and every connection has ended.
    async fn serve(self, service: Arc<Service>, stop: watch::Receiver<bool>) -> Result<(), ServeError> {
        let (grpc, grpc_door) = mpsc::channel(DOOR_PLACES);
        let (tcp, tcp_door) = mpsc::channel(DOOR_PLACES);
        let listening = listener::listen(self.tcp, self.tls, Doors { grpc, tcp }, stopped(stop.clone()));
        let (health, health_service) = tonic_health::server::health_reporter();
        health.set_serving::<GrpcNode>().await;
        let stopping = stopped(stop.clone());
        let stopping = async move {
            stopping.await;
            health.set_not_serving::<GrpcNode>().await;
        };
        let grpc = Server::builder()
            .initial_stream_window_size(limits::HTTP2_STREAM_WINDOW_BYTES)
            .initial_connection_window_size(limits::HTTP2_CONNECTION_WINDOW_BYTES)
            .max_frame_size(limits::HTTP2_FRAME_BYTES)
            // A LoadGen node whose host died closes nothing; its claim must lapse all the same.
            .http2_keepalive_interval(Some(limits::KEEPALIVE_INTERVAL))
            .http2_keepalive_timeout(Some(limits::KEEPALIVE_TIMEOUT))
            .add_service(GrpcNode::new(Arc::clone(&service)))
            .add_service(health_service)
            .serve_with_incoming_shutdown(ReceiverStream::new(grpc_door), stopping);
        let tcp = streams::serve_tcp(Arc::clone(&service), tcp_door);
        let quic = streams::serve_quic(service, self.quic, stop);
        let ((), outcome, (), ()) = tokio::join!(listening, grpc, tcp, quic);
        Ok(outcome?)
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
