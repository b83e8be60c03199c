//! Floods, repeated until their mean is known well enough, and what they cost at both ends.

use std::time::Duration;

use lon_probe::{Direction, FloodSpec, Load, ProbeError};
use qdl::NodeIndex;

use super::plan::ProbePlan;
use super::steps::Steps;
use crate::network::fabric::Percentiles;
use crate::network::spread;

/// Measurements of the repeats of one flood.
#[derive(Clone, Debug, Default)]
pub(super) struct Measured {
    /// Payload in bit/s in each direction that was used, of each repeat that says something.
    pub(super) bits_per_s: Vec<f64>,
    /// Repeats that say nothing were stopped by --max-bytes.
    pub(super) is_cut: bool,
    /// Round trips during the last repeat.
    pub(super) loaded: Option<Percentiles>,
    moved_bytes: u64,
    /// Processor time of this end's process, and of the node's, in ns.
    own_cpu_ns: u64,
    /// Processor time of the node's process, ns. `None` when the node did not report it.
    sut_cpu_ns: Option<u64>,
}

impl Measured {
    /// Payload in bit/s, the mean of the repeats.
    pub(super) fn mean(&self) -> Option<f64> {
        spread::mean(&self.bits_per_s)
    }

    /// Processor time in seconds for 10^9 bytes of payload: here, and at the node.
    pub(super) fn cpu_s_per_gb(&self) -> (Option<f64>, Option<f64>) {
        let per_gb = |ns: u64| (self.moved_bytes > 0).then(|| ns as f64 / self.moved_bytes as f64);
        (per_gb(self.own_cpu_ns), self.sut_cpu_ns.and_then(per_gb))
    }
}

/// Common parts of all floods of a probe.
pub(super) struct Floods<'a> {
    pub(super) load: &'a mut Load,
    pub(super) plan: &'a ProbePlan,
    pub(super) steps: &'a mut Steps,
}

impl Floods<'_> {
    /// Floods these nodes as often as the plan wants it. What was measured is in `into`, also when a later repeat
    /// fails. `who` is shown.
    pub(super) fn measure(
        &mut self,
        into: &mut Measured,
        nodes: &[(NodeIndex, Duration)],
        direction: Direction,
        connections: usize,
        who: &str,
    ) -> Result<(), ProbeError> {
        let (least, most) = self.plan.repeats();
        let ProbePlan { duration: time, max_bytes, known_to, .. } = *self.plan;
        for repeat in 0..most {
            if repeat >= least {
                if into.bits_per_s.is_empty() || spread::is_within(&into.bits_per_s, known_to) {
                    break;
                }
                self.steps.one_more();
            }
            self.steps.next(&format!("{who}: goodput {}, connections {connections}", direction.way()));
            // The costs are a node's, so only where there is one of them.
            let before = if let [(node, _)] = nodes { Some((*node, self.load.ends(*node))) } else { None };
            let flood = self.load.flood(&FloodSpec { nodes, direction, connections, time, max_bytes })?;
            if let Some((node, (own, sut))) = before {
                let (own_now, sut_now) = self.load.ends(node);
                into.own_cpu_ns += own_now.cpu_ns.saturating_sub(own.cpu_ns);
                let spent = sut_now.zip(sut).map(|(now, before)| now.cpu_ns.saturating_sub(before.cpu_ns));
                into.sut_cpu_ns = spent.map(|spent| spent + into.sut_cpu_ns.unwrap_or(0));
            }
            into.moved_bytes += flood.moved_bytes;
            into.bits_per_s.extend(flood.bits_per_s);
            into.is_cut |= flood.is_cut;
            into.loaded = flood.loaded;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_seconds_for_a_gigabyte() {
        let measured = Measured {
            bits_per_s: vec![8e9, 16e9],
            moved_bytes: 2_000_000_000,
            own_cpu_ns: 500_000_000,
            sut_cpu_ns: Some(1_000_000_000),
            ..Measured::default()
        };
        assert_eq!((measured.mean(), measured.cpu_s_per_gb()), (Some(12e9), (Some(0.25), Some(0.5))));
        let silent = Measured { moved_bytes: 1, ..Measured::default() };
        assert_eq!((silent.mean(), silent.cpu_s_per_gb()), (None, (Some(0.0), None)));
    }
}
