//! Watches over lanes: silent nodes are lost, overdue samples are given up.
//!
//! Silence is counted in ticks of this task, not in time: on a runtime that was not driven for a while (the inline
//! driver between phases) what the node said meanwhile is read before the next tick.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use tokio::time::MissedTickBehavior;

use crate::dispatch::{Dispatcher, Lane, NOT_OPEN};
use crate::types::NodeFailure;

const TICK: Duration = Duration::from_millis(100);

/// How patient to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    pub(crate) response_timeout: Duration,
    pub(crate) silence_timeout: Duration,
}

/// Runs until it is dropped with its runtime. `lanes`: those that the same thread carries.
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
            // What was given up has made room, and no answer will say so.
            lanes.iter().for_each(|lane| lane.wake());
        }
        dispatcher.sink.tick();
    }
}
