//! Distance of the LoadGen node from its limits while it measured. A reader needs it to tell the SUT's limit from the
//! LoadGen node's.

use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;

use lon_world::pace::Pacing;
use lon_world::threads::{ThreadLook, Threads};

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
    threads: Threads,
    first: ThreadLook,
}

/// Resources of the LoadGen node that a run took.
#[derive(Clone, Debug)]
pub(crate) struct Saturation {
    pub(crate) pacing: Pacing,
    /// The threads that issue and carry had real-time priority.
    pub(crate) realtime: bool,
    /// Samples that all nodes together take in.
    pub(crate) capacity: u64,
    /// Cores that the issuing thread used, on average; at most 1, and 1 while it spins.
    pub(crate) issuer_cores: f64,
    /// Cores that the whole process used.
    pub(crate) process_cores: f64,
    /// Processor time of the threads that issue and carry, right before the run and after it.
    pub(crate) threads: [ThreadLook; 2],
}

impl Watch {
    pub(crate) fn begin() -> Watch {
        let mut threads = Threads::of_this_one();
        let first = threads.look();
        Watch { began: Instant::now(), cpu: CpuTime::now(), threads, first }
    }

    pub(crate) fn end(mut self, pacing: Pacing, realtime: bool, capacity: u64) -> Saturation {
        let (took, cpu) = (self.began.elapsed().as_secs_f64().max(1e-9), CpuTime::now());
        let cores = |now: Duration, before: Duration| now.saturating_sub(before).as_secs_f64() / took;
        Saturation {
            pacing,
            realtime,
            capacity,
            issuer_cores: cores(cpu.thread, self.cpu.thread),
            process_cores: cores(cpu.process, self.cpu.process),
            threads: [self.first, self.threads.look()],
        }
    }
}
