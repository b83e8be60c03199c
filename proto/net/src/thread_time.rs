//! Processor time of threads: how long each ran, and how long it wanted to run and other threads had the cores. Linux
//! counts both for every thread, so that reading them costs the threads nothing.

use std::fmt::Display;
use std::fs;
use std::iter::Sum;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use lon_proto::v1::ProcessorTime;

use crate::clock;

/// Time that a thread has had on the processors, and time that it waited for them, until now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadTime {
    /// Time for which it ran.
    pub ran: Duration,
    /// Time for which it was ready to run, and did not.
    pub waited: Duration,
}

impl ThreadTime {
    /// The time of a thread of this process, by the system's number of it. `None` where the system does not say.
    pub fn of(thread: impl Display) -> Option<ThreadTime> {
        parse(&fs::read_to_string(format!("/proc/self/task/{thread}/schedstat")).ok()?)
    }

    /// The sum over all threads that this process has now. `None` where the system does not say.
    pub fn of_process() -> Option<ThreadTime> {
        let threads = fs::read_dir("/proc/self/task").ok()?.flatten();
        let times: Vec<ThreadTime> = threads.filter_map(|entry| ThreadTime::of(entry.file_name().to_str()?)).collect();
        (!times.is_empty()).then(|| times.into_iter().sum())
    }

    /// The same, not older than ten times what reading it costs. A thousand nodes in one process have more than a
    /// thousand threads, and each node asks when a run claims it: together a million readings.
    pub fn of_process_lately() -> Option<ThreadTime> {
        static LATEST: Mutex<Option<Reading>> = Mutex::new(None);
        let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
        let reading = latest.filter(Reading::is_fresh).unwrap_or_else(Reading::make);
        *latest = Some(reading);
        reading.time
    }

    /// Share of the time in which threads were ready to run and had no core; 0 where none was ready.
    pub fn waited_share(self) -> f64 {
        let (ran, waited) = (self.ran.as_secs_f64(), self.waited.as_secs_f64());
        if waited > 0.0 { waited / (ran + waited) } else { 0.0 }
    }

    /// Returns the time since `before`.
    #[must_use]
    pub fn since(self, before: ThreadTime) -> ThreadTime {
        let ThreadTime { ran, waited } = self;
        ThreadTime { ran: ran.saturating_sub(before.ran), waited: waited.saturating_sub(before.waited) }
    }
}

/// The time of all threads at a moment.
#[derive(Clone, Copy)]
struct Reading {
    time: Option<ThreadTime>,
    at: Instant,
    cost: Duration,
}

impl Reading {
    fn make() -> Reading {
        let start = clock::now();
        let time = ThreadTime::of_process();
        Reading { time, at: clock::now(), cost: clock::since(start) }
    }

    fn is_fresh(&self) -> bool {
        clock::since(self.at) < self.cost * 10
    }
}

impl From<ThreadTime> for ProcessorTime {
    fn from(ThreadTime { ran, waited }: ThreadTime) -> ProcessorTime {
        ProcessorTime { ran_ns: ran.as_nanos() as u64, waited_ns: waited.as_nanos() as u64 }
    }
}

impl From<ProcessorTime> for ThreadTime {
    fn from(ProcessorTime { ran_ns, waited_ns }: ProcessorTime) -> ThreadTime {
        ThreadTime { ran: Duration::from_nanos(ran_ns), waited: Duration::from_nanos(waited_ns) }
    }
}

impl Sum for ThreadTime {
    fn sum<I: Iterator<Item = ThreadTime>>(times: I) -> ThreadTime {
        times.fold(ThreadTime::default(), |sum, time| ThreadTime {
            ran: sum.ran + time.ran,
            waited: sum.waited + time.waited,
        })
    }
}

/// Two numbers of ns, and the number of time slices.
fn parse(text: &str) -> Option<ThreadTime> {
    let mut ns = text.split_whitespace().map(|number| number.parse().map(Duration::from_nanos));
    Some(ThreadTime { ran: ns.next()?.ok()?, waited: ns.next()?.ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_and_waiting_are_told_apart() {
        let ms = Duration::from_millis;
        let five = ThreadTime { ran: ms(5), waited: ms(7) };
        assert_eq!(parse("5000000 7000000 3\n"), Some(five));
        assert_eq!((parse(""), parse("1 x 2")), (None, None));
        assert_eq!(ThreadTime::from(ProcessorTime::from(five)), five);
        assert_eq!((ThreadTime::default().waited_share(), parse("9 3 1").unwrap().waited_share()), (0.0, 0.25));
        let (later, before) = (parse("9 9 9").unwrap(), parse("4 2 1").unwrap());
        assert_eq!(later.since(before), parse("5 7").unwrap());
        assert_eq!([five, five].into_iter().sum::<ThreadTime>(), ThreadTime { ran: ms(10), waited: ms(14) });
    }

    #[test]
    fn the_process_has_at_least_the_time_of_the_calling_thread() {
        let own = ThreadTime::of(nix::unistd::gettid());
        let all = ThreadTime::of_process();
        // A kernel that does not count says nothing of any.
        assert_eq!(own.is_some(), all.is_some());
        let lately = ThreadTime::of_process_lately();
        assert_eq!(lately.is_some(), all.is_some());
        assert!(all.unwrap_or_default().ran >= own.unwrap_or_default().ran, "{own:?} {all:?}");
    }
}
