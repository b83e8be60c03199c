//! One node's way to another, measured from its end: a round trip, and each direction alone.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use qdl::{Config, NodeIndex, PeerOrder, PeerResult, Qdl};

use crate::load::{FloodDirection, FloodSpec, Load};

/// The size of requests whose round trips are measured, in bytes.
const TRIP_BYTES: usize = 64;

/// Round trips get this share of the time of a direction.
const TRIPS_SHARE: f64 = 0.25;

/// Claims the only node of `config` for as long as it takes, and measures what `order` asks for. What was found is
/// there also when it ends early. Blocks; ends early when `stop` turns true.
pub fn measure_peer(config: Config, order: &PeerOrder, stop: &Arc<AtomicBool>) -> PeerResult {
    let mut measurement = PeerResult::default();
    if let Err(why) = measure(config, order, stop, &mut measurement) {
        measurement.error = Some(why);
    }
    measurement
}

fn measure(
    config: Config,
    order: &PeerOrder,
    stop: &Arc<AtomicBool>,
    measurement: &mut PeerResult,
) -> Result<(), String> {
    let qdl = Qdl::connect(config).map_err(|error| error.to_string())?;
    measurement.name = qdl.nodes().first().map(|node| node.name.clone()).unwrap_or_default();
    let mut load = Load::claim(&qdl, order.connections, Arc::clone(stop)).map_err(|error| error.to_string())?;
    let outcome = both_ways(&mut load, order, measurement);
    load.end();
    outcome
}

fn both_ways(load: &mut Load, order: &PeerOrder, measurement: &mut PeerResult) -> Result<(), String> {
    let node = NodeIndex(0);
    let trips =
        load.round_trips(node, TRIP_BYTES, order.time.mul_f64(TRIPS_SHARE)).map_err(|error| error.to_string())?;
    let rtt = Duration::from_nanos(trips.percentiles.p50_ns);
    measurement.rtt = Some(rtt);
    for _ in 0..order.repeats.get() {
        for (direction, into) in [
            (FloodDirection::Up, &mut measurement.sent_bits_per_s),
            (FloodDirection::Down, &mut measurement.received_bits_per_s),
        ] {
            let spec = FloodSpec {
                nodes: &[(node, rtt)],
                direction,
                connections: order.connections.get(),
                time: order.time,
                max_bytes: order.max_bytes,
            };
            let start = Instant::now();
            let flood = load.flood(&spec).map_err(|error| error.to_string())?;
            // Over a very slow way too little comes within the time to leave the warm-up out. What came until the last
            // answer is an answer, too: that such a way is slow is what has to be known.
            let all = || flood.moved_bytes as f64 * 8.0 / start.elapsed().as_secs_f64();
            into.push(flood.bits_per_s.unwrap_or_else(all));
        }
    }
    Ok(())
}
