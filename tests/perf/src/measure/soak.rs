//! The long run: does it go on as it began, and in the memory it began with?
//!
//! No process tells how far it is, so the kernel is asked: bytes over the loopback device stand for samples, of which
//! each takes the same number. Nothing else should use the loopback device meanwhile.

use std::time::{Duration, Instant};
use std::{fmt, fs};

use anyhow::{Context as _, Result, ensure};
use nix::unistd::{SysconfVar, sysconf};

use super::context::{Context, tell};
use crate::product::{self, Spec};
use crate::row::{Figure, Outcome, SMALL};

const QUERIES: u64 = 20_000_000;
/// Queries per second: less than half of what the goal for the Server rate asks for.
const RATE: u64 = 200_000;
const LOOK: Duration = Duration::from_millis(200);
/// The run may take this many times as long as it should.
const TOO_LONG: u64 = 4;
/// Bytes that the recorder keeps of each sample.
const ROW: u64 = 8;
/// Growth that allocators account for.
const SLACK: u64 = 16 << 20;
const MIB: f64 = (1 << 20) as f64;

/// The kernel's figures at one moment.
#[derive(Clone, Copy, Debug)]
struct Look {
    at_s: f64,
    /// Over the loopback device since it exists.
    bytes: u64,
    /// Resident memory, bytes.
    loadgen: u64,
    sut: u64,
}

/// One run; the first tenth of it is the reference.
pub(crate) fn measure(context: &Context, outcome: &mut Outcome) -> Result<()> {
    let set = format!(
        "target_qps={RATE},target_latency=1000,min_duration=1000,min_query_count={QUERIES},max_query_count={QUERIES}"
    );
    let spec = Spec::new("Server", SMALL, set);
    let Context { starter, programs, tls, folder, .. } = context;
    let mut running = product::start(starter, programs, tls, folder.path(), &spec)?;
    let limit = Duration::from_secs(QUERIES / RATE * TOO_LONG);
    let (begin, mut looks, mut period) = (Instant::now(), Vec::new(), 0);
    while running.loadgen.is_running()? {
        let at = begin.elapsed();
        ensure!(at < limit, "the run was not done after {limit:.0?}");
        // Gone between the two questions: the loop ends.
        let Ok(loadgen) = resident(running.loadgen.id()) else { continue };
        let sut = running.nodes.iter().map(|node| resident(node.id())).sum::<Result<u64>>()?;
        looks.push(Look { at_s: at.as_secs_f64(), bytes: loopback()?, loadgen, sut });
        if at.as_secs() / 10 > period {
            period = at.as_secs() / 10;
            let [loadgen, sut] = [loadgen, sut].map(|bytes| bytes as f64 / MIB);
            tell(&format!(
                "soak: {:.0} s, resident: loadgen-node {loadgen:.0} MiB, sut-node {sut:.0} MiB",
                at.as_secs_f64()
            ));
        }
        std::thread::sleep(LOOK);
    }
    let run = running.wait(limit)?;
    let lag_ms = run.number("/schedule_lag_ns/p99")? / 1e6;
    let parts = Parts::of(&looks).context("the run was too short to be looked at")?;
    outcome.reference.push(parts.first_rate * run.cpu.samples as f64);
    outcome.ours.push(Figure { value: parts.last_rate * run.cpu.samples as f64, cpu: run.cpu });
    outcome.is_otherwise_met = parts.loadgen.is_flat(run.cpu.samples * ROW) && parts.sut.is_flat(0);
    outcome.note = Some(format!(
        "resident from the first tenth's end to the last tenth's start: loadgen-node {}, sut-node {}; the recorder's \
         rows take {:.0} MiB; schedule lag p99 {lag_ms:.2} ms",
        parts.loadgen,
        parts.sut,
        (run.cpu.samples * ROW) as f64 / MIB
    ));
    // After the figures: how far it came is worth knowing too.
    run.all_answered().map(|_| ())
}

/// Figures of the parts of the run, from the looks.
#[derive(Debug, PartialEq)]
struct Parts {
    /// Shares of the whole per second.
    first_rate: f64,
    last_rate: f64,
    loadgen: Memory,
    sut: Memory,
}

/// Resident bytes at the end of the first tenth, and at the start of the last.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Memory {
    early: u64,
    late: u64,
}

impl Memory {
    /// Returns true when memory did not grow by more than the `rows` bytes that are known to be kept. They are
    /// allocated before the run, but whether they are resident then is the allocator's decision.
    fn is_flat(self, rows: u64) -> bool {
        let allowed = if self.early >= rows { SLACK } else { rows + SLACK };
        self.late <= self.early + allowed
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} to {:.1} MiB", self.early as f64 / MIB, self.late as f64 / MIB)
    }
}

impl Parts {
    /// Of each outer tenth, the outermost hundredth is left out: there the run starts and drains.
    fn of(looks: &[Look]) -> Option<Parts> {
        let (first, last) = (looks.first()?, looks.last()?);
        let total = (last.bytes - first.bytes) as f64;
        let share = |look: &Look| (look.bytes - first.bytes) as f64 / total;
        let at_s = |fraction: f64| {
            let pair = looks.windows(2).find(|pair| share(&pair[1]) >= fraction)?;
            let [before, after] = [share(&pair[0]), share(&pair[1])];
            Some(pair[0].at_s + (pair[1].at_s - pair[0].at_s) * (fraction - before) / (after - before))
        };
        let rate = |from: f64, to: f64| Some((to - from) / (at_s(to)? - at_s(from)?));
        let [early, late] = [0.1, 0.9].map(|fraction| looks.iter().find(|look| share(look) >= fraction));
        let memory = |of: fn(&Look) -> u64| Some(Memory { early: of(early?), late: of(late?) });
        Some(Parts {
            first_rate: rate(0.01, 0.1)?,
            last_rate: rate(0.9, 0.99)?,
            loadgen: memory(|look| look.loadgen)?,
            sut: memory(|look| look.sut)?,
        })
    }
}

/// Bytes received by the loopback device.
fn loopback() -> Result<u64> {
    let text = fs::read_to_string("/proc/net/dev").context("/proc/net/dev")?;
    received(&text).context("/proc/net/dev has no line for lo")
}

fn received(net_dev: &str) -> Option<u64> {
    let line = net_dev.lines().find_map(|line| line.trim_start().strip_prefix("lo:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Resident memory of a process, bytes.
fn resident(id: u32) -> Result<u64> {
    let text = fs::read_to_string(format!("/proc/{id}/statm"))?;
    let pages: u64 = text.split_whitespace().nth(1).context("statm has no second number")?.parse()?;
    let page = sysconf(SysconfVar::PAGE_SIZE)?.context("no page size")?;
    Ok(pages * page.cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One look a second; `speed` gives the bytes of each.
    fn looks(speed: impl Fn(u64) -> u64) -> Vec<Look> {
        let mut bytes = 1_000;
        let look = |second| {
            bytes += speed(second);
            Look { at_s: second as f64, bytes, loadgen: 100 + second, sut: 50 }
        };
        (0..=100).map(look).collect()
    }

    #[test]
    fn a_steady_run_has_equal_ends() {
        // Five seconds pass before anything is sent.
        let parts = Parts::of(&looks(|second| if second <= 5 { 0 } else { 95 })).unwrap();
        assert!(
            (parts.first_rate - 1.0 / 95.0).abs() < 1e-9 && (parts.last_rate - 1.0 / 95.0).abs() < 1e-9,
            "{parts:?}"
        );
        assert_eq!(parts.loadgen, Memory { early: 115, late: 191 });
        assert_eq!(parts.sut, Memory { early: 50, late: 50 });
    }

    #[test]
    fn a_run_that_slows_down_shows() {
        let parts = Parts::of(&looks(|second| if second <= 50 { 200 } else { 100 })).unwrap();
        assert!((parts.last_rate / parts.first_rate - 0.5).abs() < 1e-9, "{parts:?}");
    }

    #[test]
    fn memory_may_grow_by_rows_that_were_not_there_yet() {
        let grown = |early, by| Memory { early, late: early + by };
        assert!(grown(1 << 30, SLACK).is_flat(1 << 28) && !grown(1 << 30, SLACK + 1).is_flat(1 << 28));
        assert!(grown(1 << 20, 1 << 28).is_flat(1 << 28) && !grown(1 << 20, 1 << 29).is_flat(1 << 28));
        assert!(Memory { early: 9, late: 5 }.is_flat(0));
    }

    #[test]
    fn nothing_to_look_at() {
        assert_eq!(Parts::of(&[]), None);
        assert_eq!(Parts::of(&looks(|_| 0)), None);
    }

    #[test]
    fn the_loopback_line() {
        assert_eq!(received("Inter-|\n face |bytes\n    lo: 123 4 0\n  eth0: 9 9\n"), Some(123));
        assert_eq!(received("  eth0: 9 9\n"), None);
    }
}
