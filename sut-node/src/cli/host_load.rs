//! Processor time that other programs took on this host while something was measured.

use std::fs;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use nix::time::ClockId;
use nix::unistd::{SysconfVar, sysconf};

/// Share of the cores from which on other programs are named: below it, a measurement repeats.
const MUCH: f64 = 0.1;

/// Processor time until some moment: of the whole host, and of this process.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostLoad {
    at: Instant,
    all: Duration,
    own: Duration,
}

impl HostLoad {
    /// Reads the times. `None` where the system does not say.
    pub(super) fn now() -> Option<HostLoad> {
        let all = busy(&fs::read_to_string("/proc/stat").ok()?)?;
        let own = ClockId::CLOCK_PROCESS_CPUTIME_ID.now().ok()?;
        Some(HostLoad { at: Instant::now(), all, own: own.into() })
    }

    /// Returns the cores that other programs had on average since this moment. 0 where the system does not say.
    pub(super) fn others_since(before: Option<HostLoad>) -> f64 {
        let (Some(before), Some(after)) = (before, HostLoad::now()) else { return 0.0 };
        let all = after.all.saturating_sub(before.all);
        let own = after.own.saturating_sub(before.own);
        all.saturating_sub(own).as_secs_f64() / after.at.duration_since(before.at).as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

/// The cores that this program may use.
pub(super) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Returns true when other programs had so many of the cores that a measurement does not repeat.
pub(super) fn is_busy(others: f64) -> bool {
    others >= MUCH * cores() as f64
}

/// Logs a warning when other programs spoilt what was measured since this moment.
pub(super) fn warn_since(before: Option<HostLoad>) {
    let others = HostLoad::others_since(before);
    if is_busy(others) {
        tracing::warn!(
            cores_of_others = format!("{others:.1}"),
            cores = cores(),
            "other programs used this host during the measurement: measure again on a quiet host"
        );
    }
}

/// Time for which processors were busy, of the first line of `/proc/stat`; also the time that a hypervisor took.
fn busy(stat: &str) -> Option<Duration> {
    const TICKS_PER_S: f64 = 100.0;
    let ticks_per_s = sysconf(SysconfVar::CLK_TCK).ok().flatten().map_or(TICKS_PER_S, |ticks| ticks as f64);
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = line.split_whitespace().map_while(|number| number.parse().ok()).collect();
    let [user, nice, system, _idle, _iowait, irq, softirq, steal, ..] = ticks[..] else { return None };
    Some(Duration::from_secs_f64((user + nice + system + irq + softirq + steal) as f64 / ticks_per_s))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_time_is_all_but_idle_and_waiting_for_disks() {
        let ticks_per_s = sysconf(SysconfVar::CLK_TCK).unwrap().unwrap() as u64;
        let stat = format!("cpu  {0} {0} {0} 77777 99999 {0} {0} {0} 5 5\ncpu0 1 2 3\n", ticks_per_s);
        assert_eq!(busy(&stat), Some(Duration::from_secs(6)));
        assert_eq!((busy("cpu  1 2 3\n"), busy("")), (None, None));
    }

    #[test]
    fn a_host_is_busy_from_a_tenth_of_its_cores_on() {
        assert!(!is_busy(0.05 * cores() as f64) && is_busy(0.5 * cores() as f64));
    }
}
