//! The threads, or the one thread, that carry the lanes of a run.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use lon_net::clock;
use lon_proto::run_identity::RunPass;
use tokio::runtime::Runtime;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinSet;

use super::alarm::Alarm;
use super::concurrency_limit::Gate;
use super::declared_outputs::Promise;
use super::endpoint::Endpoint;
use super::lane_task::{LaneTask, OpenReport};
use super::linger::Linger;
use super::losses::find_losses;
use super::transport::Transport;
use crate::dispatch::{Dispatcher, Lane};
use crate::error::ConnectError;
use crate::types::{NodeFailure, NodeIndex};

/// Shortest sleep when no core may be kept busy. What falls due meanwhile is sent in one go, which costs a fraction of
/// waking up for each.
const SHORTEST_NAP: Duration = Duration::from_micros(50);

/// Upper bound of how late the runtime's own timers are.
const COARSE_NAP: Duration = Duration::from_millis(3);

/// Time that streams get to end in good order once the run is over.
const CLOSING_TIME: Duration = Duration::from_millis(500);

/// Which thread does the network's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// Threads of the QDL; the caller's thread only hands samples over.
    Threads(NonZeroUsize),
    /// The caller's thread, while it waits in [`crate::Run::pump`]: nothing is handed over between threads.
    Inline,
}

/// Rules by which [`crate::Run::pump`] waits.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    /// When to return at the latest; `None`: when something is delivered, or after about a tenth of a second.
    pub until: Option<Instant>,
    /// Ends the wait at a delivery when true.
    pub on_delivery: bool,
    /// The last stretch of the wait, which is spent asking the network again and again instead of sleeping: on time to
    /// the microsecond, at the cost of a core. [`Duration::MAX`]: all of it. Zero: none, and sleeps are not too short.
    pub spin: Duration,
    /// Time for which the network is asked again and again before a sleep that a delivery ends, as long as no other
    /// program wants the core. Waking up from a sleep often takes longer than the answer does.
    pub linger: Duration,
}

/// Lanes that share one connection to a node, and how they are carried.
pub(crate) struct Connection {
    pub(crate) lanes: Vec<Arc<Lane>>,
    pub(crate) transport: Transport,
    pub(crate) endpoint: Endpoint,
    pub(crate) pass: RunPass,
    /// Longest time to open each stream.
    pub(crate) timeout: Duration,
    /// Form that the node's answers must have, where the node has declared it.
    pub(crate) promise: Arc<Promise>,
}

/// A lane's node, and where the lane reports that its stream is open or could not be opened.
pub(crate) type Opened = (NodeIndex, oneshot::Receiver<Result<(), NodeFailure>>);

/// The network's side of one run: every lane with a thread that carries it.
pub(crate) enum IoDriver {
    Threads(Vec<IoThread>),
    Inline { runtime: Arc<Runtime>, tasks: LaneTasks, alarm: Option<Alarm>, linger: Linger },
}

/// Tasks that carry lanes, and tasks that watch over them. All of them end when this is dropped.
#[derive(Default)]
pub(crate) struct LaneTasks {
    lanes: JoinSet<()>,
    watch: JoinSet<()>,
}

impl LaneTasks {
    /// Waits until the streams have ended, not longer than they may take.
    async fn close(&mut self) {
        let all = async { while self.lanes.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(CLOSING_TIME, all).await;
    }
}

/// One thread with a single-threaded runtime and some of the lanes.
pub(crate) struct IoThread {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl IoDriver {
    /// Begins to open every connection, on the threads that `driver` says. `runtime` is the one that the caller has
    /// brought for [`Driver::Inline`], if it has.
    ///
    /// # Errors
    /// The operating system refuses a thread, a runtime or a timer.
    pub(crate) fn start(
        driver: Driver,
        runtime: Option<&Arc<Runtime>>,
        dispatcher: &Arc<Dispatcher>,
        connections: Vec<Connection>,
        silence_timeout: Duration,
        realtime: bool,
    ) -> Result<(IoDriver, Vec<Opened>), ConnectError> {
        match driver {
            Driver::Threads(count) => IoDriver::threads(count, dispatcher, connections, silence_timeout, realtime),
            Driver::Inline => IoDriver::inline(runtime, dispatcher, connections, silence_timeout),
        }
    }

    /// Spreads the connections over `count` threads. The lanes of one connection stay on one thread.
    fn threads(
        count: NonZeroUsize,
        dispatcher: &Arc<Dispatcher>,
        connections: Vec<Connection>,
        silence_timeout: Duration,
        realtime: bool,
    ) -> Result<(IoDriver, Vec<Opened>), ConnectError> {
        let count = count.get().min(connections.len().max(1));
        let mut shares: Vec<Vec<Connection>> = (0..count).map(|_| Vec::new()).collect();
        for (number, connection) in connections.into_iter().enumerate() {
            shares[number % count].push(connection);
        }
        let mut opened = Vec::new();
        let mut threads = Vec::new();
        for (number, share) in shares.into_iter().enumerate() {
            threads.push(IoThread::start((number, realtime), dispatcher, share, silence_timeout, &mut opened)?);
        }
        Ok((IoDriver::Threads(threads), opened))
    }

    /// Leaves the connections to the thread that calls [`IoDriver::pump`].
    fn inline(
        brought: Option<&Arc<Runtime>>,
        dispatcher: &Arc<Dispatcher>,
        connections: Vec<Connection>,
        silence_timeout: Duration,
    ) -> Result<(IoDriver, Vec<Opened>), ConnectError> {
        let runtime = brought.map_or_else(|| build_runtime().map(Arc::new), |runtime| Ok(Arc::clone(runtime)))?;
        let mut opened = Vec::new();
        let _inside = runtime.enter();
        let tasks = spawn_lanes(dispatcher, connections, silence_timeout, &mut opened)?;
        let os = |error: std::io::Error| ConnectError::Os { what: "cannot make a timer", reason: error.to_string() };
        // The clock of a runtime that was brought may not be the system's, and a timer of the system's would be wrong.
        let alarm = if brought.is_some() { None } else { Some(Alarm::new().map_err(os)?) };
        drop(_inside);
        Ok((IoDriver::Inline { runtime, tasks, alarm, linger: Linger::default() }, opened))
    }

    /// Waits until every lane is open or has failed; the node and the outcome of each.
    pub(crate) fn wait_open(&self, opened: Vec<Opened>) -> Vec<(NodeIndex, Result<(), NodeFailure>)> {
        let outcome = |received: Result<_, oneshot::error::RecvError>| {
            received.unwrap_or_else(|_| Err(NodeFailure::Connection("its task ended".to_owned())))
        };
        match self {
            IoDriver::Threads(_) => {
                opened.into_iter().map(|(node, receiver)| (node, outcome(receiver.blocking_recv()))).collect()
            }
            IoDriver::Inline { runtime, .. } => runtime.block_on(async move {
                let mut outcomes = Vec::with_capacity(opened.len());
                for (node, receiver) in opened {
                    outcomes.push((node, outcome(receiver.await)));
                }
                outcomes
            }),
        }
    }

    /// Does the network's work on this thread while it waits. Does nothing when threads do the work.
    pub(crate) fn pump(&self, dispatcher: &Dispatcher, delivered: &Notify, wait: &Wait) {
        let IoDriver::Inline { runtime, alarm, linger, .. } = self else { return };
        runtime.block_on(async {
            // In here a wake-up is a push to a queue; from outside it would be a system call.
            dispatcher.wake_filled();
            let arrived = || wait.on_delivery && delivered.notified().now_or_never().is_some();
            if wait.on_delivery && linger.until(wait.linger, arrived).await {
                return;
            }
            loop {
                if arrived() {
                    return;
                }
                let ahead = wait.until.map(|until| until.saturating_duration_since(clock::now()));
                match ahead {
                    // Late already; the network gets its turn all the same.
                    Some(Duration::ZERO) => return tokio::task::yield_now().await,
                    Some(ahead) if ahead <= wait.spin => tokio::task::yield_now().await,
                    None if wait.spin == Duration::MAX => tokio::task::yield_now().await,
                    ahead => tokio::select! {
                        biased;
                        () = delivered.notified(), if wait.on_delivery => return,
                        () = nap(ahead, wait, alarm.as_ref()) => {}
                    },
                }
            }
        });
    }

    /// Gives the streams a moment to end, while what still comes is read, then drops them.
    pub(crate) fn finish(self) {
        match self {
            IoDriver::Inline { runtime, mut tasks, .. } => runtime.block_on(tasks.close()),
            IoDriver::Threads(mut threads) => {
                // All are told before the first is waited for.
                threads.iter_mut().for_each(|thread| drop(thread.stop.take()));
            }
        }
    }
}

impl IoThread {
    fn start(
        (number, realtime): (usize, bool),
        dispatcher: &Arc<Dispatcher>,
        connections: Vec<Connection>,
        silence_timeout: Duration,
        opened: &mut Vec<Opened>,
    ) -> Result<IoThread, ConnectError> {
        let runtime = build_runtime()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let mut tasks = {
            let _inside = runtime.enter();
            spawn_lanes(dispatcher, connections, silence_timeout, opened)?
        };
        let body = move || {
            shorten_slice();
            if realtime {
                take_priority();
            }
            runtime.block_on(async {
                // Ends with an error when the sender is dropped, which is how it is told.
                let _ = stopped.await;
                // The whole of it: of a field alone the closure would take no more, and the watch would end at once.
                tasks.close().await;
            });
        };
        let thread = std::thread::Builder::new().name(format!("qdl-io-{number}")).spawn(body);
        let os = |error: std::io::Error| ConnectError::Os { what: "cannot start a thread", reason: error.to_string() };
        Ok(IoThread { stop: Some(stop), thread: Some(thread.map_err(os)?) })
    }
}

impl Drop for IoThread {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Asks the system for a shorter time slice for the calling thread, so that it gets its turn sooner on a busy machine.
/// For threads that issue samples. Does nothing where the system has no such call.
pub fn shorten_slice() {
    if let Err(error) = lon_net::slice::shorten() {
        tracing::debug!(%error, "the time slice stays as it is");
    }
}

/// Real-time priority for the calling thread.
fn take_priority() {
    if let Err(error) = lon_net::slice::realtime() {
        tracing::warn!(%error, "a thread keeps its usual priority");
    }
}

/// Sleeps through most of what is ahead; the caller spends the rest as `wait` says.
async fn nap(ahead: Option<Duration>, wait: &Wait, alarm: Option<&Alarm>) {
    let Some(ahead) = ahead else { return std::future::pending().await };
    let Some(alarm) = alarm else { return tokio::time::sleep(ahead).await };
    if wait.on_delivery {
        // The delivery ends the wait and the time is only a ceiling, so the runtime's clock is precise enough. It costs
        // no system call.
        tokio::time::sleep(ahead).await;
    } else if ahead > 2 * COARSE_NAP {
        tokio::time::sleep(ahead - COARSE_NAP).await;
    } else if wait.spin.is_zero() {
        alarm.until(clock::now() + ahead.max(SHORTEST_NAP)).await;
    } else {
        alarm.until(clock::now() + (ahead - wait.spin)).await;
    }
}

/// Spawns, on the runtime that is entered, what carries these connections' lanes and what watches over them.
fn spawn_lanes(
    dispatcher: &Arc<Dispatcher>,
    connections: Vec<Connection>,
    silence_timeout: Duration,
    opened: &mut Vec<Opened>,
) -> Result<LaneTasks, ConnectError> {
    let mut tasks = LaneTasks::default();
    let gate = Gate::new();
    let mut watched = Vec::new();
    for connection in connections {
        let Connection { lanes, transport, endpoint, pass, timeout, promise } = connection;
        watched.extend(lanes.iter().map(Arc::clone));
        let task = |lane: Arc<Lane>| {
            let (sender, receiver) = oneshot::channel();
            opened.push((lane.node, receiver));
            let (dispatcher, pass, promise) = (Arc::clone(dispatcher), pass.clone(), Arc::clone(&promise));
            LaneTask { dispatcher, lane, pass, timeout, promise, opened: OpenReport { to: sender, gate: gate.clone() } }
        };
        transport.carry(endpoint, lanes.into_iter().map(task).collect(), &mut tasks.lanes)?;
    }
    tasks.watch.spawn(find_losses(Arc::clone(dispatcher), watched, silence_timeout));
    Ok(tasks)
}

fn build_runtime() -> Result<Runtime, ConnectError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| ConnectError::Os { what: "cannot build a runtime", reason: error.to_string() })
}
