//! The threads, or the one thread, that carry the lanes.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::FutureExt as _;
use tokio::runtime::Runtime;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinSet;

use crate::alarm::Alarm;
use crate::config::Wait;
use crate::error::ConnectError;
use crate::lane::Lane;
use crate::linger::Linger;
use crate::shared::Shared;
use crate::stream::{self, Way};
use crate::types::{NodeFailure, NodeIndex};
use crate::watch::{Patience, watch};

/// Without a core to burn, no sleep is shorter than this: what falls due meanwhile is sent in one go, which costs a
/// fraction of waking up for each.
const SHORTEST_NAP: Duration = Duration::from_micros(50);

/// What the runtime's own clock may be late by, generously.
const COARSE_NAP: Duration = Duration::from_millis(3);

/// How long streams get to end in good order once the run is over.
const FAREWELL: Duration = Duration::from_millis(500);

/// A lane with what it takes to connect it.
pub(crate) struct Wire {
    pub(crate) lane: Arc<Lane>,
    pub(crate) way: Way,
    /// Lanes of one connection stay on one thread.
    pub(crate) connection: usize,
    pub(crate) run_id: Bytes,
    /// How long opening the stream may take.
    pub(crate) timeout: Duration,
}

/// What a lane reports once it is open, or could not be opened.
pub(crate) type Opened = (NodeIndex, oneshot::Receiver<Result<(), NodeFailure>>);

/// Who does the network's work.
pub(crate) enum Carrier {
    Threads(Vec<IoThread>),
    Inline { runtime: Runtime, tasks: JoinSet<()>, alarm: Alarm, linger: Linger },
}

/// One thread with a current-thread runtime and some of the lanes.
pub(crate) struct IoThread {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Carrier {
    /// Spreads the lanes over `count` threads of their own.
    pub(crate) fn threads(
        count: NonZeroUsize,
        shared: &Arc<Shared>,
        wires: Vec<Wire>,
        patience: Patience,
    ) -> Result<(Carrier, Vec<Opened>), ConnectError> {
        let count = count.get().min(wires.last().map_or(1, |last| last.connection + 1));
        let mut shares: Vec<Vec<Wire>> = (0..count).map(|_| Vec::new()).collect();
        for wire in wires {
            shares[wire.connection % count].push(wire);
        }
        let mut opened = Vec::new();
        let mut threads = Vec::new();
        for (number, share) in shares.into_iter().enumerate() {
            threads.push(IoThread::start(number, shared, share, patience, &mut opened)?);
        }
        Ok((Carrier::Threads(threads), opened))
    }

    /// Leaves the lanes to whoever calls [`Carrier::pump`].
    pub(crate) fn inline(
        shared: &Arc<Shared>,
        wires: Vec<Wire>,
        patience: Patience,
    ) -> Result<(Carrier, Vec<Opened>), ConnectError> {
        let runtime = build_runtime()?;
        let mut opened = Vec::new();
        let mut tasks = JoinSet::new();
        let alarm = {
            let _inside = runtime.enter();
            spawn_lanes(&mut tasks, shared, wires, patience, &mut opened);
            Alarm::new()
        };
        let os = |error: std::io::Error| ConnectError::Os { what: "cannot make a timer", reason: error.to_string() };
        Ok((Carrier::Inline { runtime, tasks, alarm: alarm.map_err(os)?, linger: Linger::default() }, opened))
    }

    /// Waits until every lane is open or has failed; which node each belongs to, and how it went.
    pub(crate) fn wait_open(&self, opened: Vec<Opened>) -> Vec<(NodeIndex, Result<(), NodeFailure>)> {
        let outcome = |received: Result<_, oneshot::error::RecvError>| {
            received.unwrap_or_else(|_| Err(NodeFailure::Connection("its task ended".to_owned())))
        };
        match self {
            Carrier::Threads(_) => {
                opened.into_iter().map(|(node, receiver)| (node, outcome(receiver.blocking_recv()))).collect()
            }
            Carrier::Inline { runtime, .. } => runtime.block_on(async move {
                let mut outcomes = Vec::with_capacity(opened.len());
                for (node, receiver) in opened {
                    outcomes.push((node, outcome(receiver.await)));
                }
                outcomes
            }),
        }
    }

    /// Does the network's work on this thread while it waits. Does nothing when threads do the work.
    pub(crate) fn pump(&self, shared: &Shared, delivered: &Notify, wait: &Wait) {
        let Carrier::Inline { runtime, alarm, linger, .. } = self else { return };
        runtime.block_on(async {
            // In here a wake-up is a push to a queue; from outside it would be a system call.
            shared.wake_filled();
            let arrived = || wait.on_delivery && delivered.notified().now_or_never().is_some();
            if wait.on_delivery && linger.until(wait.linger, arrived).await {
                return;
            }
            loop {
                if arrived() {
                    return;
                }
                let ahead = wait.until.map(|until| until.saturating_duration_since(Instant::now()));
                match ahead {
                    // Late already; the network gets its turn all the same.
                    Some(Duration::ZERO) => return tokio::task::yield_now().await,
                    Some(ahead) if ahead <= wait.spin => tokio::task::yield_now().await,
                    None if wait.spin == Duration::MAX => tokio::task::yield_now().await,
                    ahead => tokio::select! {
                        () = delivered.notified(), if wait.on_delivery => return,
                        () = nap(ahead, wait, alarm) => {}
                    },
                }
            }
        });
    }

    /// Gives the streams a moment to end, reading what still comes, then lets go of them.
    pub(crate) fn finish(self) {
        match self {
            Carrier::Inline { runtime, mut tasks, .. } => runtime.block_on(farewell(&mut tasks)),
            Carrier::Threads(mut threads) => {
                // All are told before the first is waited for.
                threads.iter_mut().for_each(|thread| drop(thread.stop.take()));
            }
        }
    }
}

impl IoThread {
    fn start(
        number: usize,
        shared: &Arc<Shared>,
        wires: Vec<Wire>,
        patience: Patience,
        opened: &mut Vec<Opened>,
    ) -> Result<IoThread, ConnectError> {
        let runtime = build_runtime()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let mut tasks = JoinSet::new();
        {
            let _inside = runtime.enter();
            spawn_lanes(&mut tasks, shared, wires, patience, opened);
        }
        let body = move || {
            shorten_slice();
            runtime.block_on(async {
                // The sender's drop is as good as its word.
                let _ = stopped.await;
                farewell(&mut tasks).await;
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

/// Gets the calling thread to its turn sooner on a busy machine, where the system can do that. For threads that issue.
pub fn shorten_slice() {
    if let Err(error) = lon_net::slice::shorten() {
        tracing::debug!("the time slice stays as it is: {error}");
    }
}

/// Sleeps through most of what is ahead.
async fn nap(ahead: Option<Duration>, wait: &Wait, alarm: &Alarm) {
    let Some(ahead) = ahead else { return std::future::pending().await };
    if wait.on_delivery {
        // What is waited for is the delivery; the time is a ceiling, and the runtime's clock costs no system call.
        tokio::time::sleep(ahead).await;
    } else if ahead > 2 * COARSE_NAP {
        tokio::time::sleep(ahead - COARSE_NAP).await;
    } else if wait.spin.is_zero() {
        alarm.until(Instant::now() + ahead.max(SHORTEST_NAP)).await;
    } else {
        alarm.until(Instant::now() + (ahead - wait.spin)).await;
    }
}

/// Spawns, on the runtime that is entered, what carries these lanes and what watches over them.
fn spawn_lanes(
    tasks: &mut JoinSet<()>,
    shared: &Arc<Shared>,
    wires: Vec<Wire>,
    patience: Patience,
    opened: &mut Vec<Opened>,
) {
    let lanes = wires.iter().map(|wire| Arc::clone(&wire.lane)).collect();
    for wire in wires {
        let (sender, receiver) = oneshot::channel();
        opened.push((wire.lane.node, receiver));
        tasks.spawn(stream::carry(Arc::clone(shared), wire, sender));
    }
    tokio::spawn(watch(Arc::clone(shared), lanes, patience));
}

async fn farewell(tasks: &mut JoinSet<()>) {
    let all = async { while tasks.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(FAREWELL, all).await;
}

fn build_runtime() -> Result<Runtime, ConnectError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| ConnectError::Os { what: "cannot build a runtime", reason: error.to_string() })
}
