//! Floods, repeated until their mean is known well enough, and what they cost at both ends.

use std::time::{Duration, Instant};

use lon_probe::{FloodDirection, FloodSpec, Load, ProbeError};
use qdl::{EndCounters, NodeIndex};

use super::plan::ProbePlan;
use super::steps::Steps;
use crate::network::ends::Spent;
use crate::network::fabric::{Missing, Rtt};
use crate::network::spread;

/// Measurements of the repeats of one flood.
#[derive(Clone, Debug, Default)]
pub(super) struct Measured {
    /// Payload in bit/s in each direction that was used, of each repeat that says something.
    pub(super) bits_per_s: Vec<f64>,
    /// Why the last repeat that says nothing does so.
    missing: Option<Missing>,
    /// Round trips during the last repeat.
    pub(super) loaded: Option<Rtt>,
    moved_bytes: u64,
    /// Duration of all repeats.
    took: Duration,
    /// Processor time of this end's process.
    own: Times,
    /// Processor time of the node's process. `None` when the node did not report it.
    sut: Option<Times>,
}

/// Processor time of a process during floods, ns.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    cpu_ns: u64,
    /// Time for which its threads waited for a core; none when its system does not say.
    waited_ns: Option<u64>,
}

impl Times {
    fn between(before: &EndCounters, now: &EndCounters) -> Times {
        let waited = now.waited_ns.zip(before.waited_ns);
        Times {
            cpu_ns: now.cpu_ns.saturating_sub(before.cpu_ns),
            waited_ns: waited.map(|(now, before)| now.saturating_sub(before)),
        }
    }

    /// The sum with the times of an earlier flood.
    fn and(self, earlier: Times) -> Times {
        let waited_ns = self.waited_ns.map(|waited_ns| waited_ns + earlier.waited_ns.unwrap_or(0));
        Times { cpu_ns: self.cpu_ns + earlier.cpu_ns, waited_ns }
    }
}

impl Measured {
    /// Payload in bit/s, the mean of the repeats.
    pub(super) fn mean(&self) -> Option<f64> {
        spread::mean(&self.bits_per_s)
    }

    /// Why there is no goodput. `None` where there is one, or nothing was tried.
    pub(super) fn missing(&self) -> Option<Missing> {
        self.missing.filter(|_| self.bits_per_s.is_empty())
    }

    /// The processor time that it cost: here, and at the node.
    pub(super) fn spent(&self) -> (Spent, Spent) {
        let took_ns = self.took.as_nanos() as f64;
        let spent = |times: Times| Spent {
            cpu_s_per_gb: (self.moved_bytes > 0).then(|| times.cpu_ns as f64 / self.moved_bytes as f64),
            core_wait_s_per_s: times.waited_ns.filter(|_| took_ns > 0.0).map(|waited_ns| waited_ns as f64 / took_ns),
        };
        (spent(self.own), self.sut.map(spent).unwrap_or_default())
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
        direction: FloodDirection,
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
            let start = Instant::now();
            let flood = self.load.flood(&FloodSpec { nodes, direction, connections, time, max_bytes })?;
            if let Some((node, (own, sut))) = before {
                into.took += start.elapsed();
                let (own_now, sut_now) = self.load.ends(node);
                into.own = Times::between(&own, &own_now).and(into.own);
                let spent = sut_now.zip(sut).map(|(now, before)| Times::between(&before, &now));
                into.sut = spent.map(|spent| spent.and(into.sut.unwrap_or_default()));
            }
            into.moved_bytes += flood.moved_bytes;
            into.bits_per_s.extend(flood.bits_per_s);
            if flood.bits_per_s.is_none() {
                into.missing = Some(if flood.is_cut { Missing::Cut } else { Missing::Little(time) });
            }
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
            took: Duration::from_secs(2),
            own: Times { cpu_ns: 500_000_000, waited_ns: Some(1_580_000_000) },
            sut: Some(Times { cpu_ns: 1_000_000_000, waited_ns: None }),
            ..Measured::default()
        };
        let own = Spent { cpu_s_per_gb: Some(0.25), core_wait_s_per_s: Some(0.79) };
        let sut = Spent { cpu_s_per_gb: Some(0.5), core_wait_s_per_s: None };
        assert_eq!((measured.mean(), measured.spent()), (Some(12e9), (own, sut)));
        let silent = Measured { moved_bytes: 1, ..Measured::default() };
        let free = Spent { cpu_s_per_gb: Some(0.0), core_wait_s_per_s: None };
        assert_eq!((silent.mean(), silent.spent()), (None, (free, Spent::default())));
    }

    #[test]
    fn waits_of_several_floods_add_up() {
        let at = |cpu_ns, waited_ns| EndCounters { cpu_ns, waited_ns, ..EndCounters::default() };
        let first = Times::between(&at(5, Some(10)), &at(9, Some(30)));
        let both = Times::between(&at(9, Some(30)), &at(10, Some(37))).and(first);
        assert_eq!((both.cpu_ns, both.waited_ns), (5, Some(27)));
        assert_eq!(Times::between(&at(1, None), &at(2, Some(4))).waited_ns, None, "a reading is missing");
    }

    #[test]
    fn a_goodput_of_some_repeats_is_not_missing() {
        let none = Measured { missing: Some(Missing::Cut), ..Measured::default() };
        assert_eq!(none.missing(), Some(Missing::Cut));
        assert_eq!(Measured { bits_per_s: vec![1.0], ..none }.missing(), None);
        assert_eq!(Measured::default().missing(), None, "nothing was tried");
    }
}
