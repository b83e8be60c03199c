//! Watches over lanes: nodes that are silent are lost, samples that are overdue are given up.
//!
//! Silence is counted in ticks of this task, not in time: when a runtime was not driven for a while (the inline driver
//! between phases), what the node sent meanwhile is read before the next tick.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use tokio::time::MissedTickBehavior;

use crate::dispatch::{Dispatcher, Lane, NOT_OPEN};
use crate::types::NodeFailure;

/// How often the lanes are looked at.
const TICK: Duration = Duration::from_millis(100);

/// How long a run waits for nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// For the answer to a sample.
    pub(crate) response_timeout: Duration,
    /// For anything to come from a node, a heartbeat at least.
    pub(crate) silence_timeout: Duration,
}

/// Watches the lanes that one thread carries. Runs until it is dropped with its runtime.
pub(crate) async fn watch(dispatcher: Arc<Dispatcher>, lanes: Vec<Arc<Lane>>, patience: Patience) {
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let allowed = (patience.silence_timeout.as_millis() / TICK.as_millis()).max(1) as u32;
    let mut overdue = Vec::new();
    loop {
        ticks.tick().await;
        let now = Instant::now();
        for lane in lanes.iter().filter(|lane| !lane.is_closing()) {
            let is_open = lane.silent_ticks.load(Relaxed) != NOT_OPEN;
            if is_open && lane.silent_ticks.fetch_add(1, Relaxed) >= allowed {
                dispatcher.lose(lane.node, &NodeFailure::Silent(patience.silence_timeout));
            }
            if lane.expire(now, patience.response_timeout, &mut overdue) {
                dispatcher.lose(lane.node, &NodeFailure::Stalled(patience.response_timeout));
            }
        }
        if !overdue.is_empty() {
            dispatcher.sink.replies(&mut overdue);
            overdue.clear();
            // Samples that were given up have made room, and no answer will wake the lanes.
            lanes.iter().for_each(|lane| lane.wake());
        }
        dispatcher.sink.tick();
    }
}
