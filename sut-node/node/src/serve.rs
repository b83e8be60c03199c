//! A whole node: its threads, its transports and its service, from the first connection to the last answer.

use std::future::Future;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use lon_shell::metrics::server::MetricsServer;

use crate::accept::acceptor::Streams;
use crate::accept::grpc::Services;
use crate::accept::io_threads::{IoThread, IoThreads};
use crate::accept::listener::Listener;
use crate::accept::open_connections::OpenConnections;
use crate::accept::refusal::refuse;
use crate::accept::registry;
use crate::accept::sockets::Sockets;
use crate::config::ServeConfig;
use crate::error::{ServeError, os};
use crate::metrics::collector::{NodeInfo, NodeMetrics};
use crate::model::{Model, Models};
use crate::run::ledger::Ledger;
use crate::service::calls::Service;
use crate::service::claim::Claim;
use crate::service::models::ServedModels;
use crate::stop::{Stop, stop};
use crate::work::compute_turns::Turns;
use crate::work::threads::{ComputeThreads, busy_threads, takes_turns};

/// Interval at which a node that shuts down checks whether everything is answered.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// Time for the last messages of a node that shuts down to leave.
const LAST_MESSAGES: Duration = Duration::from_millis(200);

/// Serves `models`, or one backend, on `sockets` until `shutdown` resolves, then answers what it has taken in and
/// returns.
///
/// `ready` is called once all of them are warm and connections are accepted. Must run on a tokio runtime (a
/// current-thread one is the fastest here: the hot path has no work to share). Further I/O threads and inference have
/// threads of their own, which have ended when this returns, unless inference was what took too long.
///
/// # Errors
/// See [`ServeError`].
pub async fn serve(
    sockets: Sockets,
    config: ServeConfig,
    models: impl Into<Models>,
    shutdown: impl Future<Output = ()> + Send + 'static,
    ready: impl FnOnce(),
) -> Result<(), ServeError> {
    let (models, compute) = match started(&config, models.into()) {
        Ok(started) => started,
        Err(error) => {
            refuse(sockets, &config, &error.to_string()).await;
            return Err(error);
        }
    };
    let Sockets { tcp, udp, more, metrics, .. } = sockets;
    let listener = Listener::new(tcp).map_err(os("cannot use the listener"))?;
    let open_connections = OpenConnections::new();
    let mut transports = registry::of_own_ports(udp, config.tls.as_ref(), &open_connections)?;
    transports.extend(more);
    let closing: Vec<_> = transports.iter().map(|transport| transport.closing()).collect();

    let (stopper, stop) = stop();
    let ServeConfig { drain, busy_poll, realtime, io_threads, tls, token, .. } = config.clone();
    // Without anybody to ask for it, nothing is kept.
    let ledger = metrics.as_ref().map(|_| Arc::new(Ledger::new(compute.len())));
    let info = NodeInfo::new(&config);
    let service = Service::new(config, Arc::clone(&models), stop.clone()).with_ledger(ledger.clone());
    let claim = service.claim().clone();
    let service = Arc::new(service);
    let metrics = metrics.zip(ledger).map(|(port, ledger)| {
        let metrics = NodeMetrics { info, models, claim: claim.clone(), ledger }.metrics();
        MetricsServer::start(port.for_token(token), metrics)
    });
    let _metrics = metrics.transpose().map_err(os("cannot serve metrics"))?;
    let (services, health) = Services::new(&service, stop.clone()).await;
    let streams = Streams::new(service, stop.clone());
    let busy_poll = busy_poll.then(|| claim.clone());
    let io = IoThread { streams, open_connections, services, tls, busy_poll, realtime, stop: stop.clone() };
    let mut others = IoThreads::start(io_threads.get() - 1, &io)?;
    let stop_signal = async move {
        shutdown.await;
        stopper.tell();
        health.await;
        std::future::pending().await
    };
    ready();
    let (outcome, is_late) = tokio::select! {
        biased;
        outcome = io.serve_first(listener, transports, &mut others) => (outcome, false),
        is_late = drained(stop, &claim, drain) => (Ok(()), is_late),
        never = stop_signal => never,
    };
    drop(others);
    join_all(closing).await;
    if is_late {
        // The workers are not waited for either: they are what is late.
        tracing::warn!(limit_ms = drain.as_millis() as u64, "not everything was answered before the shutdown");
        return Ok(());
    }
    compute.into_iter().for_each(ComputeThreads::finish);
    outcome
}

/// Brings all models up, each with threads of its own.
fn started(config: &ServeConfig, models: Models) -> Result<(Arc<ServedModels>, Vec<ComputeThreads>), ServeError> {
    let turns = shared(config, &models)?.map(Turns::new);
    let busy = busy(config, &models);
    let is_single = models.iter().count() == 1;
    let mut compute = Vec::new();
    let served = ServedModels::start(models, &config.model, |name, of_model, backend| {
        let threads =
            ComputeThreads::start(of_model, backend, busy, turns.clone()).map_err(|error| match is_single {
                true => error,
                false => ServeError::Model { model: name.clone(), source: Box::new(error) },
            })?;
        let queues = threads.queues.clone();
        compute.push(threads);
        Ok(queues)
    });
    served.map(|served| (Arc::new(served), compute))
}

/// Returns the number of batches that all models compute at one time, where they share their workers.
///
/// # Errors
/// Fewer than two models take turns.
fn shared(config: &ServeConfig, models: &Models) -> Result<Option<NonZeroUsize>, ServeError> {
    let sharing: Vec<&str> =
        models.iter().filter(|model| takes_turns(&*model.backend)).map(|model| model.name.as_ref()).collect();
    match config.shared_workers {
        Some(_) if sharing.len() < 2 => Err(ServeError::NothingToShare),
        Some(workers) => {
            tracing::info!(workers, models = sharing.join(", "), "these models share workers");
            Ok(Some(workers))
        }
        None => Ok(None),
    }
}

/// Returns the number of cores that inferences of all models can keep busy on threads of their own.
fn busy(config: &ServeConfig, models: &Models) -> usize {
    let of_model = |model: &Model| busy_threads(model.config.as_ref().unwrap_or(&config.model), &*model.backend);
    let takes_turns = |model: &&Model| config.shared_workers.is_some() && takes_turns(&*model.backend);
    let (sharing, others): (Vec<_>, Vec<_>) = models.iter().partition(takes_turns);
    let each = sharing.iter().map(|model| model.backend.cores_per_inference()).max().unwrap_or(0);
    let at_once = config.shared_workers.map_or(0, |workers| workers.get().saturating_mul(each));
    let of_sharing = sharing.into_iter().map(of_model).fold(0, usize::saturating_add).min(at_once);
    others.into_iter().map(of_model).fold(of_sharing, usize::saturating_add)
}

/// Once shutdown has begun, resolves when nothing is left to answer (false), or when `drain` is over (true). A
/// connection that merely stands open is no reason to stay.
async fn drained(stop: Stop, claim: &Claim, drain: Duration) -> bool {
    stop.wait().await;
    let idle = async {
        while claim.is_at_work() {
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
        tokio::time::sleep(LAST_MESSAGES).await;
    };
    tokio::time::timeout(drain, idle).await.is_err()
}
