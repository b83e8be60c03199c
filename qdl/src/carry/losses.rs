//! Watches over lanes: nodes that are silent are lost, samples that are overdue are given up.
//!
//! Silence is counted in ticks of this task, not in time: when a runtime was not driven for a while (the inline driver
//! between phases), what the node sent meanwhile is read before the next tick.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use lon_net::clock;
use lon_proto::limits::HEARTBEAT_INTERVAL;
use tokio::time::MissedTickBehavior;

use super::stalls::OwnGaps;
use crate::dispatch::{Dispatcher, Lane, NOT_OPEN};
use crate::types::{NodeFailure, Reply};

/// Interval at which the lanes are looked at.
const TICK: Duration = Duration::from_millis(100);

/// Ticks without anything to send after which a heartbeat is sent.
const BEAT_TICKS: u32 = (HEARTBEAT_INTERVAL.as_millis() / TICK.as_millis()) as u32;

/// Watches the lanes that one thread carries. A node from which nothing comes for `silence_timeout`, not even a
/// heartbeat, is lost. Runs until it is dropped with its runtime.
pub(crate) async fn find_losses(dispatcher: Arc<Dispatcher>, lanes: Vec<Arc<Lane>>, silence_timeout: Duration) {
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let allowed = (silence_timeout.as_millis() / TICK.as_millis()).max(1) as u32;
    let mut overdue: Vec<Reply> = Vec::new();
    let mut own = OwnGaps::new(clock::now());
    loop {
        ticks.tick().await;
        let now = clock::now();
        own.tick(now);
        for lane in lanes.iter().filter(|lane| !lane.is_closing()) {
            let is_open = lane.silent_ticks.load(Relaxed) != NOT_OPEN;
            if is_open {
                lane.keep_alive(BEAT_TICKS);
                lane.hear_partly(now);
                own.look_at(lane, &dispatcher.nodes[lane.node.0], now);
            }
            if is_open && lane.silent_ticks.fetch_add(1, Relaxed) >= allowed {
                dispatcher.lose(lane.node, &NodeFailure::Silent(silence_timeout));
            }
            let (before, node) = (overdue.len(), &dispatcher.nodes[lane.node.0]);
            let is_stalled = lane.expire(now, &mut overdue);
            // Without heartbeats a server that has said nothing since the sample was sent is taken for one that hangs.
            let last_sent = overdue[before..].iter().filter_map(|reply| reply.sent_at).max();
            let hangs = !is_open && last_sent.is_some_and(|sent_at| sent_at >= node.heard_at());
            if is_stalled || hangs {
                dispatcher.lose(lane.node, &NodeFailure::Stalled(lane.expected().within));
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
