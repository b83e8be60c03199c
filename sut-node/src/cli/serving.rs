//! `sut-node serve`: one node, or many in this process, until SIGTERM or SIGINT.

use std::cell::Cell;
use std::io::Write as _;
use std::num::NonZeroUsize;

use anyhow::{Context as _, anyhow};
use futures_util::future::{join_all, try_join_all};
use lon_net::slice::Priority;
use lon_proto::node_name::NodeName;
use lon_shell::failure::OrExit as _;
use lon_shell::metrics::port::MetricsPort;
use lon_sut::backend::{Backends, Execution};
use lon_sut::{Model, Models, ServeConfig, ServeError, Sockets, Stop, refuse, serve, stop};
use tokio::signal::unix::{SignalKind, signal};

use super::args::ServeArgs;
use super::commands::host_name;
use super::exit::{Exit, Failure};
use super::naming::NodeNaming;
use super::open_backend::load_all;

/// Nodes of this process whose runs are logged; of a thousand nodes each line would come a thousand times.
const LOGGED_NODES: usize = 8;

/// Sockets of each of many nodes: it listens for TCP and for UDP, and a run has a connection for calls and one for
/// samples.
const DESCRIPTORS_EACH: u64 = 4;

/// One of the nodes of this process, listening.
struct Node {
    sockets: Sockets,
    config: ServeConfig,
}

/// Serves until SIGTERM or SIGINT.
pub(super) fn run_serve(args: &ServeArgs, backends: &Backends) -> Result<(), Failure> {
    lon_net::descriptors::raise_limit().or_exit(Exit::Usage)?;
    if args.nodes.get() > 1 {
        lon_net::descriptors::enough_for(args.nodes.get(), DESCRIPTORS_EACH).or_exit(Exit::Usage)?;
    }
    let mut nodes = nodes(args, backends.features())?;
    let models = match load_all(&args.backend, &args.compute, args.shared_workers, backends) {
        Ok(models) => models,
        Err(failure) => {
            refuse_all(nodes, &failure);
            return Err(failure);
        }
    };
    let realtime = decide_priority(args, &models)?;
    nodes.iter_mut().for_each(|node| node.config.realtime = realtime);
    let line = announcement(&nodes, &engines(&models));
    let models = Models::new(each_share(args, models)).or_exit(Exit::Usage)?;
    if let Err(error) = lon_net::slice::shorten() {
        tracing::debug!(%error, "the time slice stays as it is");
    }
    if realtime {
        // Of this thread, which is the first I/O thread. Those that it starts are usual ones unless they ask, too.
        lon_net::slice::realtime().context("--priority").or_exit(Exit::Bug)?;
        tracing::info!("I/O threads have real-time priority");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().or_exit(Exit::Bug)?;
    runtime.block_on(async {
        let mut term = signal(SignalKind::terminate()).or_exit(Exit::Bug)?;
        let mut int = signal(SignalKind::interrupt()).or_exit(Exit::Bug)?;
        let (stopper, shutdown) = stop();
        tokio::spawn(async move {
            let signal = tokio::select! { _ = term.recv() => "SIGTERM", _ = int.recv() => "SIGINT" };
            tracing::info!(signal, "shutting down, as a signal asks for: answering what was taken in");
            stopper.tell();
        });
        let served = serve_all(nodes, &models, &shutdown, &line).await;
        served.map_err(|error| Failure::new(if is_of_usage(&error) { Exit::Usage } else { Exit::Bug }, error))
    })
}

/// Returns true when another model or another flag would help.
fn is_of_usage(error: &ServeError) -> bool {
    match error {
        ServeError::Backend(_) | ServeError::Preprocess(_) | ServeError::NothingToShare => true,
        ServeError::Model { source, .. } => is_of_usage(source),
        _ => false,
    }
}

/// The engines of these models, each with its model's name where there are several.
fn engines(models: &[Model]) -> String {
    let engine = |model: &Model| model.backend.info().engine.clone();
    match models {
        [model] => engine(model),
        _ => models.iter().map(|model| format!("{} ({})", model.name, engine(model))).collect::<Vec<_>>().join(", "),
    }
}

/// The models of each of the nodes, with its share of the threads and of the memory.
fn each_share(args: &ServeArgs, mut models: Vec<Model>) -> Vec<Model> {
    if args.nodes.get() > 1 {
        for config in models.iter_mut().filter_map(|model| model.config.as_mut()) {
            // Each node has threads for itself.
            config.decode_threads = args.compute.decode_threads.unwrap_or(NonZeroUsize::MIN);
            config.memory = config.memory.shared_by(args.nodes);
        }
    }
    models
}

/// Tells the clients that wait for these nodes why none of them will serve.
fn refuse_all(nodes: Vec<Node>, failure: &Failure) {
    // Without a runtime nobody is told, and the failure stays the one that it is.
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
    let why = failure.one_line();
    let refusing = nodes.into_iter().map(|Node { sockets, config }| {
        let why = why.clone();
        async move { refuse(sockets, &config, &why).await }
    });
    runtime.block_on(join_all(refusing));
}

/// Returns true when I/O threads get real-time priority. They must leave a core to others. With priority auto they do
/// not get it when inference runs on them, or when this program was started to give way.
fn decide_priority(args: &ServeArgs, models: &[Model]) -> Result<bool, Failure> {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    // All nodes of a process share their first one.
    let threads = 1 + (args.io_threads.get() - 1).saturating_mul(args.nodes.get());
    let infers = models.iter().map(|model| &model.backend);
    let infers = infers.into_iter().any(|it| it.execution() == Execution::Inline && it.cores_per_inference() > 0);
    let spares_a_core = match args.priority {
        Priority::Realtime => !args.busy_poll || threads < cores,
        Priority::Auto | Priority::Normal => !infers && threads < cores,
    };
    if args.priority == Priority::Auto && lon_net::slice::gives_way() {
        tracing::info!("started to give way (idle, batch or nice): no real-time priority");
    }
    args.priority.decide(spares_a_core).context("--priority realtime").or_exit(Exit::Usage)
}

/// Serves all nodes until told to stop, and says so on standard output once all of them do.
async fn serve_all(nodes: Vec<Node>, models: &Models, shutdown: &Stop, line: &str) -> Result<(), ServeError> {
    let missing = Cell::new(nodes.len());
    let ready = || {
        missing.set(missing.get() - 1);
        if missing.get() == 0 {
            // The one line on standard output: scripts wait for it and read the port from it.
            let _ = writeln!(std::io::stdout(), "{line}");
        }
    };
    let serving =
        nodes.into_iter().map(|node| serve(node.sockets, node.config, models.clone(), shutdown.clone().wait(), ready));
    try_join_all(serving).await.map(drop)
}

/// All nodes of this process, each with a name and a port of its own.
fn nodes(args: &ServeArgs, features: Vec<&'static str>) -> Result<Vec<Node>, Failure> {
    let mut usual = ServeConfig::new(names(args, 1)?);
    usual.set_memory(args.compute.memory());
    usual.features = features;
    usual.shared_workers = args.shared_workers;
    usual.io_threads = args.io_threads;
    usual.busy_poll = args.busy_poll;
    if args.nodes.get() > 1 {
        usual.set_memory(args.compute.memory().shared_by(args.nodes));
    }
    usual.token = args.security.token(args.backend.trust).or_exit(Exit::Usage)?;
    let peers = args.peers.check(&args.security, args.backend.trust, usual.token.as_ref());
    usual.probe_peers = peers.or_exit(Exit::Usage)?;
    let node = |number: usize| -> Result<Node, Failure> {
        let sockets = Sockets::bind(&listen(args, number)?).or_exit(Exit::Usage)?;
        if number == 1 {
            // All nodes listen on the same host.
            usual.tls = args.security.tls(sockets.address(), args.backend.trust).or_exit(Exit::Usage)?;
        }
        let mut config = usual.clone();
        config.node = names(args, number)?;
        config.logs_runs = number <= LOGGED_NODES;
        let sockets = sockets.with_metrics(metrics(args, &config)?);
        Ok(Node { sockets, config })
    };
    (1..=args.nodes.get()).map(node).collect()
}

/// Where this process serves metrics, which are those of its only node.
fn metrics(args: &ServeArgs, config: &ServeConfig) -> Result<Option<MetricsPort>, Failure> {
    let Some(listen) = args.metrics_listen.as_deref() else { return Ok(None) };
    if args.nodes.get() > 1 {
        let why = anyhow!("--metrics-listen has the metrics of one node; without --nodes {} there is one", args.nodes);
        return Err(why).or_exit(Exit::Usage);
    }
    let port = MetricsPort::bind(listen, config.tls.clone(), args.backend.trust.insecure).or_exit(Exit::Usage)?;
    tracing::info!(address = %port.address(), "metrics are served");
    Ok(Some(port))
}

/// The name of one of the nodes, from 1.
fn names(args: &ServeArgs, number: usize) -> Result<NodeName, Failure> {
    match (args.nodes.get(), &args.node) {
        (1, None) => host_name(),
        (1, Some(naming)) => naming.name().or_exit(Exit::Usage),
        (_, None) => NodeNaming::Name(host_name()?).of(number).or_exit(Exit::Usage),
        (_, Some(naming)) => naming.of(number).or_exit(Exit::Usage),
    }
}

/// Where one of the nodes listens: ports follow each other.
fn listen(args: &ServeArgs, number: usize) -> Result<String, Failure> {
    if args.nodes.get() == 1 {
        return Ok(args.listen.clone());
    }
    let parted = args.listen.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse::<u16>().ok()?)));
    // Binding the socket refuses an address that is no HOST:PORT.
    let Some((host, first)) = parted else { return Ok(args.listen.clone()) };
    let port = u16::try_from(number - 1).ok().and_then(|more| first.checked_add(more)).filter(|_| first > 0);
    let why = || {
        let (listen, nodes) = (&args.listen, args.nodes);
        anyhow!("{listen} (--listen) and --nodes {nodes}: ports follow each other from the first, up to 65535; not 0")
    };
    let port = port.ok_or_else(why).or_exit(Exit::Usage)?;
    Ok(format!("{host}:{port}"))
}

/// Returns the line that is printed once all nodes serve.
fn announcement(nodes: &[Node], engine: &str) -> String {
    match nodes {
        [first, .., last] => format!(
            "sut-node {} to {} serving {engine} on {} to {}",
            first.config.node,
            last.config.node,
            first.sockets.address(),
            last.sockets.address().port()
        ),
        [node] => format!("sut-node {} serving {engine} on {}", node.config.node, node.sockets.address()),
        [] => String::new(),
    }
}
