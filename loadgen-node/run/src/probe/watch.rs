//! A fabric under watch: all nodes are filled towards the SUT for half of each interval, and back for the other half,
//! until the user has seen enough.

use std::time::{Duration, SystemTime};

use lon_probe::{FloodDirection, FloodSpec, Load};
use qdl::{NodeIndex, Qdl};

use super::plan::ProbePlan;
use super::{ProbeError, claim};
use crate::exit::Outcome;
use crate::network::fabric::Percentiles;
use crate::network::spread;
use crate::signals::StopRequests;
use lon_net::link_errors::Troubles;

/// Measurements of one interval.
#[derive(Clone, Debug, Default)]
pub struct Interval {
    /// Counts from 1.
    pub number: u64,
    /// When it ended, by the system's clock.
    pub at: Option<SystemTime>,
    /// Goodput of all nodes together, bit/s; none when too little came through to say.
    pub up: Option<f64>,
    /// The same towards the LoadGen node, bit/s.
    pub down: Option<f64>,
    /// The node that got least, by its place, where there are several: up, and down.
    pub slowest_up: Option<(usize, f64)>,
    /// The slowest node towards the LoadGen node, with its rate.
    pub slowest_down: Option<(usize, f64)>,
    /// Round trips of 64 bytes to the first node while it was filled towards the SUT, and back.
    pub loaded_up: Option<Percentiles>,
    /// The same while it was filled towards the LoadGen node.
    pub loaded_down: Option<Percentiles>,
    /// Segments or packets that either end has sent again; none when a system does not say.
    pub retransmits: Option<u64>,
    /// Counters of trouble that grew, at this end and at all nodes'.
    pub own_troubles: Troubles,
    /// Counters of trouble that grew at the nodes.
    pub sut_troubles: Troubles,
}

/// Measurements of all intervals together.
#[derive(Clone, Debug, Default)]
pub struct Sum {
    /// Number of the intervals.
    pub intervals: u64,
    /// Goodput towards the nodes in each, bit/s.
    pub up: Vec<f64>,
    /// Goodput towards the LoadGen node in each, bit/s.
    pub down: Vec<f64>,
    /// Segments that TCP sent again.
    pub retransmits: Option<u64>,
    /// Counters of trouble that grew at this end.
    pub own_troubles: Troubles,
    /// Counters of trouble that grew at the nodes.
    pub sut_troubles: Troubles,
}

/// Intervals kept for the sum; of later ones, the sum has only their counters.
const MOST_KEPT: usize = 1 << 20;

impl Sum {
    fn add(&mut self, interval: &Interval) {
        let room = |values: &Vec<f64>| MOST_KEPT.saturating_sub(values.len()).min(1);
        self.up.extend(interval.up.into_iter().take(room(&self.up)));
        self.down.extend(interval.down.into_iter().take(room(&self.down)));
        let before = if self.intervals == 0 { Some(0) } else { self.retransmits };
        self.retransmits = before.zip(interval.retransmits).map(|(before, more)| before + more);
        self.intervals += 1;
        self.own_troubles.add(&interval.own_troubles);
        self.sut_troubles.add(&interval.sut_troubles);
    }

    /// Lowest, mean and highest of a direction; none when nothing was measured.
    pub(crate) fn spread(values: &[f64]) -> Option<[f64; 3]> {
        let lowest = values.iter().copied().reduce(f64::min)?;
        Some([lowest, spread::mean(values)?, values.iter().copied().reduce(f64::max)?])
    }
}

/// Measures interval after interval, and shows each. Returns the sum when the user wants to stop, and why it ended when
/// a node is of no use any more.
///
/// # Errors
/// The fabric could not be claimed, or what was measured cannot be shown.
pub fn watch(
    qdl: &Qdl,
    plan: &ProbePlan,
    length: Duration,
    stop: &dyn StopRequests,
    mut show: impl FnMut(&Interval) -> Outcome<()>,
) -> Outcome<(Sum, Result<(), ProbeError>)> {
    let mut load = claim(qdl, plan, stop)?;
    let mut sum = Sum::default();
    let mut targets = Vec::new();
    let mut outcome = Ok(());
    for number in 0..qdl.nodes().len() {
        match load.round_trips(NodeIndex(number), 64, Duration::from_millis(20)) {
            Ok(rtt) => targets.push((NodeIndex(number), Duration::from_nanos(rtt.percentiles.p50_ns))),
            Err(error) => outcome = Err(error),
        }
    }
    let connections = plan.most_connections().get();
    while outcome.is_ok() {
        match interval(&mut load, &targets, connections, (length, plan.max_bytes), sum.intervals + 1) {
            Ok(interval) => {
                sum.add(&interval);
                show(&interval)?;
            }
            Err(error) => outcome = Err(error),
        }
    }
    load.end();
    // A stop by the user is the intended end, so it is no error.
    Ok((sum, outcome.or_else(|error| if matches!(error, ProbeError::Interrupted) { Ok(()) } else { Err(error) })))
}

fn interval(
    load: &mut Load,
    targets: &[(NodeIndex, Duration)],
    connections: usize,
    (length, max_bytes): (Duration, u64),
    number: u64,
) -> Result<Interval, ProbeError> {
    let before: Vec<_> = targets.iter().map(|(node, _)| load.ends(*node)).collect();
    let spec = |direction| FloodSpec { nodes: targets, direction, connections, time: length / 2, max_bytes };
    let up = load.flood(&spec(FloodDirection::Up))?;
    let down = load.flood(&spec(FloodDirection::Down))?;
    let mut measurement = Interval {
        number,
        at: Some(SystemTime::now()),
        up: up.bits_per_s,
        down: down.bits_per_s,
        slowest_up: slowest(&up.by_node),
        slowest_down: slowest(&down.by_node),
        loaded_up: up.loaded.map(|rtt| rtt.percentiles),
        loaded_down: down.loaded.map(|rtt| rtt.percentiles),
        retransmits: Some(0),
        ..Interval::default()
    };
    for (place, ((node, _), (own, sut))) in targets.iter().zip(&before).enumerate() {
        let (own_now, sut_now) = load.ends(*node);
        let mut sent_again = own_now.retransmits.zip(own.retransmits).map(|(now, then)| now.saturating_sub(then));
        // The kernel's counters here are the same for all nodes.
        if place == 0 {
            measurement.own_troubles = own_now.troubles.since(&own.troubles);
        }
        if let (Some(now), Some(then)) = (sut_now, sut) {
            measurement.sut_troubles.add(&now.troubles.since(&then.troubles));
            let theirs = now.retransmits.zip(then.retransmits).map(|(now, then)| now.saturating_sub(then));
            sent_again = sent_again.zip(theirs).map(|(own, theirs)| own + theirs);
        }
        measurement.retransmits = measurement.retransmits.zip(sent_again).map(|(sum, more)| sum + more);
    }
    Ok(measurement)
}

/// The node that got least, where there are several and all of them are known.
fn slowest(by_node: &[Option<f64>]) -> Option<(usize, f64)> {
    let rates: Vec<f64> = by_node.iter().copied().collect::<Option<_>>()?;
    let several = rates.len() > 1;
    rates.into_iter().enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).filter(|_| several)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_has_every_interval() {
        let mut sum = Sum::default();
        for (up, again) in [(1e9, Some(2)), (3e9, Some(1))] {
            sum.add(&Interval { up: Some(up), retransmits: again, ..Interval::default() });
        }
        assert_eq!((sum.intervals, sum.retransmits), (2, Some(3)));
        assert_eq!((Sum::spread(&sum.up), Sum::spread(&sum.down)), (Some([1e9, 2e9, 3e9]), None));
        sum.add(&Interval::default());
        sum.add(&Interval { retransmits: Some(5), ..Interval::default() });
        assert_eq!((sum.intervals, sum.retransmits), (4, None), "once unknown, the sum is");
    }

    #[test]
    fn the_slowest_is_one_of_several() {
        assert_eq!(slowest(&[Some(3.0), Some(1.0), Some(2.0)]), Some((1, 1.0)));
        assert_eq!((slowest(&[Some(3.0)]), slowest(&[Some(3.0), None])), (None, None));
    }
}
