//! Bytes over time: the QDL's exact counters, looked at once a second while the run goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::network::by_direction::ByDirection;
use lon_world::threads::{ThreadLook, Threads};
use qdl::{Meter, NodeTraffic};

/// The time between two looks.
const SECOND: Duration = Duration::from_secs(1);

/// Looks kept: a day of them; later ones are counted in the totals alone.
const MOST_LOOKS: usize = 24 * 3600;

/// All nodes' bytes until some moment of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Look {
    /// Seconds since the first look.
    pub(crate) at_s: f64,
    pub(crate) message: Bytes,
    pub(crate) socket: Bytes,
}

/// All looks, in order.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    pub(crate) traffic: Vec<Look>,
    /// At the threads that issue and carry samples.
    pub(crate) threads: Vec<ThreadLook>,
}

/// Bytes of one layer.
pub(crate) type Bytes = ByDirection<u64>;

impl Bytes {
    pub(crate) fn plus(self, other: Bytes) -> Bytes {
        Bytes { ingress: self.ingress + other.ingress, egress: self.egress + other.egress }
    }
}

/// Looks once a second, on a thread of its own, until it is told to end.
pub(crate) struct Sampler {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Looks>>,
}

impl Sampler {
    /// Starts the thread, which looks at once. To be called by the thread that issues.
    pub(crate) fn start(meter: Meter) -> Sampler {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let threads = Threads::of_this_one();
        let body = move || sample(&meter, threads, &stopped);
        // Without the thread there is no series; the totals do not depend on it.
        let thread = std::thread::Builder::new().name("traffic".to_owned()).spawn(body);
        Sampler { stop, thread: thread.inspect_err(|error| tracing::warn!(%error, "no bytes per second")).ok() }
    }

    /// Ends the thread. Returns all looks, with a last one taken now.
    pub(crate) fn end(self) -> Looks {
        self.stop.store(true, SeqCst);
        let Some(thread) = self.thread else { return Looks::default() };
        thread.thread().unpark();
        thread.join().unwrap_or_default()
    }
}

fn sample(meter: &Meter, mut threads: Threads, stop: &AtomicBool) -> Looks {
    let start = Instant::now();
    let mut looks = Looks { traffic: vec![look(&meter.traffic(), 0.0)], threads: vec![threads.look()] };
    loop {
        let next = start + SECOND * looks.traffic.len() as u32;
        while !stop.load(SeqCst) && Instant::now() < next {
            std::thread::park_timeout(next.saturating_duration_since(Instant::now()));
        }
        if looks.traffic.len() < MOST_LOOKS {
            looks.traffic.push(look(&meter.traffic(), start.elapsed().as_secs_f64()));
            looks.threads.push(threads.look());
        }
        if stop.load(SeqCst) {
            return looks;
        }
    }
}

fn look(nodes: &[NodeTraffic], at_s: f64) -> Look {
    let sum = |of: fn(&NodeTraffic) -> u64| nodes.iter().map(of).sum::<u64>();
    Look {
        at_s,
        message: Bytes { ingress: sum(|node| node.message_bytes_out), egress: sum(|node| node.message_bytes_in) },
        socket: Bytes { ingress: sum(|node| node.socket_bytes_out), egress: sum(|node| node.socket_bytes_in) },
    }
}
