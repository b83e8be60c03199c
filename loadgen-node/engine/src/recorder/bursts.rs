//! Whole bursts of a closed phase, from the latencies of their samples.

use crate::effective::Effective;
use crate::judge::BurstTimes;
use crate::traffic::Arrivals;

/// Times of the bursts that have a group of latencies each, ns, in issue order; `None` where nothing is asked in
/// bursts. A burst that was cut off counts as it is.
pub(super) fn of(effective: &Effective, latencies_ns: &[i64]) -> Option<BurstTimes> {
    let size = effective.shape.burst_size()?.max(1);
    let each = usize::try_from(size).unwrap_or(usize::MAX);
    let first_ns: Vec<i64> = latencies_ns.chunks(each).filter_map(|burst| burst.iter().copied().min()).collect();
    let completion_ns: Vec<i64> = latencies_ns.chunks(each).filter_map(|burst| burst.iter().copied().max()).collect();
    let starts_ns = starts_ns(effective, &completion_ns);
    let backlogs = backlogs(&starts_ns, latencies_ns, each);
    Some(BurstTimes { size, starts_ns, first_ns: first_ns.into(), completion_ns: completion_ns.into(), backlogs })
}

/// Due times: at equal distances, or each at the end of the burst before.
fn starts_ns(effective: &Effective, completion_ns: &[i64]) -> Vec<u64> {
    let every_ns = match effective.arrivals {
        Arrivals::Bursts { every_ns, .. } => Some(every_ns),
        _ => None,
    };
    let mut start_ns = 0_u64;
    let starts = completion_ns.iter().map(|completion_ns| {
        let after_ns = every_ns.unwrap_or_else(|| u64::try_from(*completion_ns).unwrap_or(0));
        let next_ns = start_ns.saturating_add(after_ns);
        std::mem::replace(&mut start_ns, next_ns)
    });
    starts.collect()
}

/// Samples of earlier bursts that had no answer at each due time.
fn backlogs(starts_ns: &[u64], latencies_ns: &[i64], each: usize) -> Vec<u64> {
    let mut ends_ns: Vec<u64> = starts_ns
        .iter()
        .zip(latencies_ns.chunks(each))
        .flat_map(|(start_ns, burst)| {
            burst.iter().map(|latency_ns| start_ns.saturating_add(u64::try_from(*latency_ns).unwrap_or(0)))
        })
        .collect();
    ends_ns.sort_unstable();
    let ended = |start_ns: &u64| ends_ns.partition_point(|end_ns| end_ns <= start_ns);
    starts_ns
        .iter()
        .enumerate()
        .map(|(burst, start_ns)| (burst * each).saturating_sub(ended(start_ns)) as u64)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use crate::settings::{Qsl, Scenario, TestSettings};

    fn bursts(interval: &str, latencies_ns: &[i64]) -> BurstTimes {
        let mut settings = TestSettings { scenario: Scenario::BURST, ..TestSettings::default() };
        for setting in ["burst_size=2", interval] {
            settings.set(setting).unwrap();
        }
        let plan = Plan::for_judging(settings, Qsl { total: 8, performance: 8 }).unwrap();
        of(plan.effective(), latencies_ns).unwrap()
    }

    #[test]
    fn an_open_loop_goes_on_over_a_backlog() {
        // Due at 0, 100, 200, 300; the second burst takes until 250 and 320.
        let times = bursts("burst_interval=100ns", &[10, 20, 150, 220, 30, 40, 1, 2]);
        assert_eq!(times.starts_ns, [0, 100, 200, 300]);
        assert_eq!(times.first_ns, vec![10, 150, 30, 1].into());
        assert_eq!(times.completion_ns, vec![20, 220, 40, 2].into());
        assert_eq!(times.backlogs, [0, 0, 2, 1]);
    }

    #[test]
    fn a_closed_loop_of_bursts_has_no_backlog() {
        let times = bursts("burst_interval=0", &[10, 20, 150, 220, 30]);
        assert_eq!((times.starts_ns, times.backlogs), (vec![0, 20, 240], vec![0, 0, 0]));
        assert_eq!(times.completion_ns, vec![20, 220, 30].into());
    }

    #[test]
    fn other_scenarios_have_no_bursts() {
        let plan = Plan::for_judging(TestSettings::default(), Qsl { total: 8, performance: 8 }).unwrap();
        assert_eq!(of(plan.effective(), &[1, 2]), None);
    }
}
