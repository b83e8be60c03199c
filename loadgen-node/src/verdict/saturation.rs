//! How near to its limits the LoadGen node was while it measured: what a reader needs to tell the SUT's limit from ours.

use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use serde_json::{Value, json};

use crate::world::pace::Pacing;
use loadgen::run::RunOutcome;

/// Processor time that has been used so far.
#[derive(Clone, Copy, Debug)]
struct CpuTime {
    thread: Duration,
    process: Duration,
}

impl CpuTime {
    /// Of the calling thread and of its process; zero where the system does not say.
    fn now() -> CpuTime {
        let used = |who| {
            let usage = getrusage(who).ok()?;
            let us = (usage.user_time() + usage.system_time()).num_microseconds();
            Some(Duration::from_micros(u64::try_from(us).ok()?))
        };
        let [thread, process] =
            [UsageWho::RUSAGE_THREAD, UsageWho::RUSAGE_SELF].map(|who| used(who).unwrap_or_default());
        CpuTime { thread, process }
    }
}

/// Begun on the issuing thread before the run, ended on it after the run.
pub(crate) struct Watch {
    began: Instant,
    cpu: CpuTime,
}

/// What a run took of the LoadGen node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Saturation {
    pacing: Pacing,
    /// Samples that all nodes together take in.
    capacity: u64,
    /// Cores that the issuing thread used, on average; at most 1, and 1 while it spins.
    issuer_cores: f64,
    /// Cores that the whole process used.
    process_cores: f64,
}

impl Watch {
    pub(crate) fn begin() -> Watch {
        Watch { began: Instant::now(), cpu: CpuTime::now() }
    }

    pub(crate) fn end(self, pacing: Pacing, capacity: u64) -> Saturation {
        let (took, cpu) = (self.began.elapsed().as_secs_f64().max(1e-9), CpuTime::now());
        let cores = |now: Duration, before: Duration| now.saturating_sub(before).as_secs_f64() / took;
        Saturation {
            pacing,
            capacity,
            issuer_cores: cores(cpu.thread, self.cpu.thread),
            process_cores: cores(cpu.process, self.cpu.process),
        }
    }
}

impl Saturation {
    /// The key `saturation` of `result_summary.json`; `refused`: samples that found every node full.
    pub(crate) fn json(&self, outcome: &RunOutcome, refused: u64) -> Value {
        let phases = outcome.phases.iter().map(|phase| phase.max_pending);
        json!({
            "in_flight": { "max": phases.max().unwrap_or(0), "limit": self.capacity },
            "refused": refused,
            "issuer_cores": rounded(self.issuer_cores),
            "process_cores": rounded(self.process_cores),
            "io_threads": self.pacing.io_threads,
            "spin_ns": u64::try_from(self.pacing.spin.as_nanos()).unwrap_or(u64::MAX),
        })
    }
}

/// Rounds to three decimals; more would claim more than was measured.
fn rounded(cores: f64) -> f64 {
    (cores * 1e3).round() / 1e3
}
