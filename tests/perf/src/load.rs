//! Load that other programs put on the machine meanwhile: figures of a disturbed row are worth less, and it must show.

use std::time::Instant;

use anyhow::{Context as _, Result};
use nix::sys::resource::{UsageWho, getrusage};
use nix::unistd::{SysconfVar, sysconf};

/// The machine's and our own CPU time at one moment.
#[derive(Debug)]
pub(crate) struct Moment {
    at: Instant,
    machine_s: f64,
    ours_s: f64,
}

impl Moment {
    /// Now. Our processes count from when they have been waited for.
    pub(crate) fn now() -> Result<Moment> {
        let stat = std::fs::read_to_string("/proc/stat").context("/proc/stat")?;
        let ticks = busy_ticks(&stat).context("/proc/stat has no line for all CPUs")?;
        let tick_s = 1.0 / sysconf(SysconfVar::CLK_TCK)?.unwrap_or(100) as f64;
        let ours_s = cpu_s(UsageWho::RUSAGE_SELF)? + cpu_s(UsageWho::RUSAGE_CHILDREN)?;
        Ok(Moment { at: Instant::now(), machine_s: ticks as f64 * tick_s, ours_s })
    }

    /// Cores that others kept busy since `earlier`. An estimate: the machine's counts are of whole ticks.
    pub(crate) fn others_since(&self, earlier: &Moment) -> f64 {
        let others_s = (self.machine_s - earlier.machine_s) - (self.ours_s - earlier.ours_s);
        (others_s / (self.at - earlier.at).as_secs_f64().max(1e-3)).max(0.0)
    }
}

/// User and system time.
pub(crate) fn cpu_s(who: UsageWho) -> Result<f64> {
    let usage = getrusage(who).context("getrusage")?;
    let seconds =
        [usage.user_time(), usage.system_time()].map(|time| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6);
    Ok(seconds[0] + seconds[1])
}

/// Ticks of all CPUs that were not idle: user, nice, system, irq, softirq, steal.
fn busy_ticks(stat: &str) -> Option<u64> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Option<Vec<u64>> = line.split_whitespace().take(8).map(|field| field.parse().ok()).collect();
    let ticks = ticks.filter(|ticks| ticks.len() == 8)?;
    // Idle and waiting for disks, fields 3 and 4, are not work.
    Some(ticks[..3].iter().chain(&ticks[5..]).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_time_is_no_work() {
        assert_eq!(busy_ticks("cpu  1 2 4 1000 2000 8 16 32 7 7\ncpu0 9 9 9 9 9 9 9 9 9 9\n"), Some(63));
        assert_eq!(busy_ticks("cpu 1 2\n"), None);
        assert_eq!(busy_ticks(""), None);
    }

    #[test]
    fn what_is_ours_is_not_others() {
        let earlier = Moment { at: Instant::now(), machine_s: 10.0, ours_s: 5.0 };
        let later =
            |machine_s, ours_s| Moment { at: earlier.at + std::time::Duration::from_secs(2), machine_s, ours_s };
        assert_eq!(later(13.0, 7.0).others_since(&earlier), 0.5);
        assert_eq!(later(12.0, 8.0).others_since(&earlier), 0.0);
    }
}
