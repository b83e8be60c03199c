//! Processor time of the threads that issue samples and carry them.

use std::fs;
use std::time::Instant;

use nix::unistd::{Pid, gettid};
pub use qdl::ThreadTime;

/// First part of the names of the QDL's threads that do the network's work.
const IO: &str = "qdl-io-";

/// The threads that issue samples and carry them.
#[derive(Clone, Debug)]
pub struct Threads {
    issuing: Pid,
    /// The issuing thread first. Empty until they were looked for: it takes a look at every thread of the process.
    all: Vec<Pid>,
}

/// Times of all threads until some moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadLook {
    /// When it was looked at them.
    pub at: Instant,
    /// The time of each, the issuing thread first. Empty where the system does not say.
    pub threads: Vec<ThreadTime>,
}

impl Threads {
    /// The calling thread, which issues, and those that carry.
    pub fn of_this_one() -> Threads {
        Threads { issuing: gettid(), all: Vec::new() }
    }

    /// Looks at them now.
    pub fn look(&mut self) -> ThreadLook {
        if self.all.is_empty() {
            self.all = std::iter::once(self.issuing).chain(carrying()).collect();
        }
        ThreadLook {
            at: Instant::now(),
            threads: self.all.iter().map_while(|thread| ThreadTime::of(*thread)).collect(),
        }
    }
}

fn carrying() -> impl Iterator<Item = Pid> {
    let is_io = |entry: &fs::DirEntry| fs::read_to_string(entry.path().join("comm")).is_ok_and(|n| n.starts_with(IO));
    let entries = fs::read_dir("/proc/self/task").into_iter().flatten().flatten().filter(is_io);
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok().map(Pid::from_raw))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn the_calling_thread_and_those_that_carry_are_found() {
        let (stop, stopped) = mpsc::channel::<()>();
        let named = std::thread::Builder::new().name(format!("{IO}7")).spawn(move || _ = stopped.recv()).unwrap();
        // It names itself, first of all.
        let times = loop {
            let mut threads = Threads::of_this_one();
            let times = threads.look().threads;
            if times.len() != 1 {
                break times;
            }
        };
        drop(stop);
        named.join().unwrap();
        // A kernel that does not count says nothing of any.
        assert!(times.is_empty() || times.len() == 2, "{times:?}");
    }
}
