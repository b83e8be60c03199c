//! Processor time of the threads that issue samples and carry them: how long each ran, and how long it wanted to run
//! and other threads had the cores. Linux counts both for every thread, so that reading them costs the threads nothing.

use std::fs;
use std::time::{Duration, Instant};

use nix::unistd::{Pid, gettid};

/// First part of the names of the QDL's threads that do the network's work.
const IO: &str = "qdl-io-";

/// The threads that issue samples and carry them.
#[derive(Clone, Debug)]
pub struct Threads {
    issuing: Pid,
    /// The issuing thread first. Empty until they were looked for: it takes a look at every thread of the process.
    all: Vec<Pid>,
}

/// Time that a thread has had on the processors, and time that it waited for them, until now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadTime {
    /// Time for which it ran.
    pub ran: Duration,
    /// Time for which it was ready to run, and did not.
    pub waited: Duration,
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
        ThreadLook { at: Instant::now(), threads: self.all.iter().map_while(|thread| time(*thread)).collect() }
    }
}

impl ThreadTime {
    /// Returns the time since `before`.
    #[must_use]
    pub fn since(self, before: ThreadTime) -> ThreadTime {
        let ThreadTime { ran, waited } = self;
        ThreadTime { ran: ran.saturating_sub(before.ran), waited: waited.saturating_sub(before.waited) }
    }
}

fn carrying() -> impl Iterator<Item = Pid> {
    let is_io = |entry: &fs::DirEntry| fs::read_to_string(entry.path().join("comm")).is_ok_and(|n| n.starts_with(IO));
    let entries = fs::read_dir("/proc/self/task").into_iter().flatten().flatten().filter(is_io);
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok().map(Pid::from_raw))
}

fn time(thread: Pid) -> Option<ThreadTime> {
    parse(&fs::read_to_string(format!("/proc/self/task/{thread}/schedstat")).ok()?)
}

/// Two numbers of ns, and the number of time slices.
fn parse(text: &str) -> Option<ThreadTime> {
    let mut ns = text.split_whitespace().map(|number| number.parse().map(Duration::from_nanos));
    Some(ThreadTime { ran: ns.next()?.ok()?, waited: ns.next()?.ok()? })
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn running_and_waiting_are_told_apart() {
        let ms = Duration::from_millis;
        assert_eq!(parse("5000000 7000000 3\n"), Some(ThreadTime { ran: ms(5), waited: ms(7) }));
        assert_eq!((parse(""), parse("1 x 2")), (None, None));
        let (later, before) = (parse("9 9 9").unwrap(), parse("4 2 1").unwrap());
        assert_eq!(later.since(before), parse("5 7").unwrap());
    }

    #[test]
    fn the_calling_thread_and_those_that_carry_are_found() {
        let (stop, stopped) = mpsc::channel::<()>();
        let named = std::thread::Builder::new().name(format!("{IO}7")).spawn(move || _ = stopped.recv()).unwrap();
        // It names itself, first of all.
        let found = loop {
            let mut threads = Threads::of_this_one();
            let times = threads.look().threads;
            if times.len() != 1 {
                break times;
            }
        };
        drop(stop);
        named.join().unwrap();
        // A kernel that does not count says nothing of any.
        assert!(found.is_empty() || found.len() == 2, "{found:?}");
    }
}
