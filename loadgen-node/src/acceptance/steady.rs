//! The goodputs of a probe that are known too badly for a baseline.

use super::pair::WAYS;
use crate::network::spread::{self, FEWEST_REPEATS};
use crate::outputs::documents::probe::{ByWay, ProbeDocument};

/// Each goodput whose interval is wider than the tolerance to either side, or not known, in words.
pub(crate) fn unsteady(probe: &ProbeDocument, tolerance: f64) -> Vec<String> {
    let mut goodputs = Vec::new();
    for fabric in probe.fabrics() {
        let together = (fabric.nodes.len() > 1).then(|| ("all at once", fabric.together.repeats()));
        let nodes = fabric.nodes.iter().map(|node| (node.name.as_str(), node.repeats()));
        for (name, ByWay { up, down, both }) in nodes.chain(together) {
            for (values, way) in [up, down, both].iter().zip(WAYS) {
                let why = match spread::half_width(values) {
                    _ if values.len() < FEWEST_REPEATS => format!("{} of {FEWEST_REPEATS} repeats", values.len()),
                    Some(share) if share <= tolerance => continue,
                    share => format!("\u{b1}{:.1} %", share.unwrap_or(1.0) * 100.0),
                };
                goodputs.push(format!("{} goodput {way} of {name}: {why}", fabric.transport));
            }
        }
    }
    goodputs
}
