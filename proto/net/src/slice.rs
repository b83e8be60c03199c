//! The scheduling of threads. Threads on which others wait get a short time slice, or real-time priority. Threads that
//! would take every core get a lighter weight.
//!
//! Linux (6.12 and later) lets a thread choose the length of its slice. A thread with a short slice gets the same share
//! of the processor in smaller pieces and sooner: an issuing or answering thread does not wait for three milliseconds
//! because another thread has just begun its slice. No privilege is needed. On other systems nothing is changed.
//!
//! A real-time thread runs as soon as it is ready, whatever other programs want. Linux grants that to who has
//! CAP_SYS_NICE or a limit of real-time priorities. Threads that a real-time thread starts are none: inference must not
//! keep others from their cores. A program that was started to give way (`chrt -i 0`, `chrt -b 0`, `nice`) gets no
//! real-time priority unless it is told to.

use std::io;

/// The shortest slice that Linux grants.
const SLICE_NS: u64 = 100_000;

/// The real-time priority that is asked for: above no kernel thread that matters to it, such as those of interrupts.
const REALTIME_PRIORITY: u32 = 10;

/// The kernel's number of the policy SCHED_RR. Threads of the same priority take turns, so that none of many nodes on a
/// host waits for one that never rests.
const SCHED_RR: u32 = 2;

/// The kernel's numbers of the policies SCHED_BATCH and SCHED_IDLE, whose threads give way to others.
const YIELDING_POLICIES: [u32; 2] = [3, 5];

/// The kernel's flag for threads whose children are usual ones.
const RESET_ON_FORK: u64 = 1;

/// The nice value of threads that yield. They get about a tenth of what a busy thread of the usual weight gets on the
/// same core, and the whole core when there is no such thread.
const YIELDING_NICE: i32 = 10;

/// `struct sched_attr` of the kernel, in its first version.
#[repr(C)]
#[derive(Default)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// Asks for the shortest slice for the calling thread, and for the threads that it starts.
///
/// # Errors
/// The system does not grant it; nothing has changed.
pub fn shorten() -> io::Result<()> {
    change(|attr| attr.runtime = SLICE_NS)
}

/// The priority that is wanted for the threads on which others wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Priority {
    /// Real-time priority where it is granted, a core remains for others, and the program was not started to give way.
    #[default]
    Auto,
    /// The usual one.
    Normal,
    /// Real-time priority, or an error.
    Realtime,
}

/// Why threads do not get real-time priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotRealtime {
    /// The system does not grant it.
    #[error(
        "the system does not grant it: it takes CAP_SYS_NICE, or a limit of real-time priorities (ulimit -r 10, \
         LimitRTPRIO=10)"
    )]
    Refused,
    /// They could keep everybody else from the last core.
    #[error("its threads stay awake, and would hold the last core: let them sleep (--spin off, no --busy-poll)")]
    LastCore,
}

impl Priority {
    /// Returns true when threads are to have real-time priority. With `spares_a_core`, a core remains for others
    /// whatever these threads do.
    ///
    /// # Errors
    /// It is wanted, and cannot be.
    pub fn decide(self, spares_a_core: bool) -> Result<bool, NotRealtime> {
        match self {
            Priority::Normal => Ok(false),
            Priority::Auto => Ok(spares_a_core && !gives_way() && is_granted()),
            Priority::Realtime if !spares_a_core => Err(NotRealtime::LastCore),
            Priority::Realtime if !is_granted() => Err(NotRealtime::Refused),
            Priority::Realtime => Ok(true),
        }
    }

    /// Its word on the command line.
    pub fn name(is_realtime: bool) -> &'static str {
        if is_realtime { "realtime" } else { "normal" }
    }
}

/// True where the calling thread gives way to others: SCHED_IDLE, SCHED_BATCH or a positive nice value. A program that
/// is started so has a thread of this kind.
pub fn gives_way() -> bool {
    // A system that does not say has no such threads.
    read().is_ok_and(|attr| YIELDING_POLICIES.contains(&attr.policy) || attr.nice > 0)
}

/// True where the system grants real-time priority; tried on a thread of its own.
fn is_granted() -> bool {
    let tried = std::thread::Builder::new().spawn(|| realtime().is_ok());
    tried.is_ok_and(|thread| thread.join().unwrap_or(false))
}

/// Gives the calling thread real-time priority. Threads that it starts do not have it.
///
/// # Errors
/// The system does not grant it; nothing has changed.
pub fn realtime() -> io::Result<()> {
    change(|attr| {
        (attr.policy, attr.priority) = (SCHED_RR, REALTIME_PRIORITY);
        attr.flags |= RESET_ON_FORK;
    })
}

/// Takes it from the calling thread, which has the usual priority and a short slice again.
///
/// # Errors
/// The system refuses; nothing has changed.
pub fn usual() -> io::Result<()> {
    change(|attr| (attr.policy, attr.priority, attr.runtime) = (0, 0, SLICE_NS))
}

/// Gives way to other threads: the calling thread, and the threads that it starts from here on, keep their cores only
/// while no thread of the usual weight wants them. Their slices are the system's own again. A thread that was made
/// nicer by its user stays as it is.
///
/// # Errors
/// The system does not grant it; nothing has changed.
pub fn yield_to_others() -> io::Result<()> {
    change(|attr| {
        attr.nice = attr.nice.max(YIELDING_NICE);
        attr.runtime = 0;
    })
}

/// Reads the scheduler's settings of the calling thread.
fn read() -> io::Result<SchedAttr> {
    let mut attr = SchedAttr::default();
    let size = size_of::<SchedAttr>() as u32;
    // SAFETY: the call gets the calling thread, a live structure of the size that it is told, and no flags; the kernel
    // writes to it during the call only.
    #[allow(unsafe_code)]
    let outcome = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attr, size, 0) };
    attr.size = size;
    if outcome == 0 { Ok(attr) } else { Err(io::Error::last_os_error()) }
}

/// Reads the scheduler's settings of the calling thread, and writes them back changed.
fn change(how: impl FnOnce(&mut SchedAttr)) -> io::Result<()> {
    let mut attr = read()?;
    how(&mut attr);
    // SAFETY: the call gets the calling thread, a live structure that says its size, and no flags; the kernel reads
    // from it during the call only.
    #[allow(unsafe_code)]
    let outcome = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attr, 0) };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::{NotRealtime, Priority};

    /// On a kernel that knows nothing of it, too.
    #[test]
    fn asking_does_no_harm() {
        super::shorten().unwrap();
        super::shorten().unwrap();
    }

    #[test]
    fn real_time_threads_start_usual_ones_and_become_usual_again() {
        let policy = || super::read().unwrap().policy;
        let (before, starts_aside) = (policy(), super::gives_way());
        let policies = std::thread::spawn(move || {
            let is_granted = super::realtime().is_ok();
            let own = policy();
            let started = std::thread::spawn(policy).join().unwrap();
            super::usual().unwrap();
            (is_granted, own, started, policy())
        });
        let (is_granted, own, started, after) = policies.join().unwrap();
        assert_eq!(own, if is_granted { super::SCHED_RR } else { before });
        assert_eq!((started, after), (if is_granted { 0 } else { before }, 0));
        assert_eq!(Priority::Auto.decide(true), Ok(is_granted && !starts_aside));
        let expected = if is_granted { Ok(true) } else { Err(NotRealtime::Refused) };
        assert_eq!(Priority::Realtime.decide(true), expected);
    }

    /// As `chrt -i 0`, `chrt -b 0` and `nice` start programs.
    #[test]
    fn a_program_that_was_started_to_give_way_is_left_alone() {
        let [batch, idle] = super::YIELDING_POLICIES;
        for (policy, nice) in [(batch, 0), (idle, 0), (0, 5)] {
            let decided = std::thread::spawn(move || {
                super::change(|attr| (attr.policy, attr.nice, attr.runtime) = (policy, attr.nice.max(nice), 0))
                    .unwrap();
                (super::gives_way(), Priority::Auto.decide(true))
            });
            assert_eq!(decided.join().unwrap(), (true, Ok(false)), "policy {policy}, nice {nice}");
        }
    }

    #[test]
    fn the_last_core_is_never_held() {
        assert_eq!(Priority::Auto.decide(false), Ok(false));
        assert_eq!(Priority::Normal.decide(true), Ok(false));
        assert_eq!(Priority::Realtime.decide(false), Err(NotRealtime::LastCore));
    }

    #[test]
    fn a_thread_that_yields_passes_it_on_and_nobody_else_changes() {
        let nice = || super::read().unwrap().nice;
        let before = nice();
        let yielding = std::thread::spawn(move || {
            super::yield_to_others().unwrap();
            super::yield_to_others().unwrap();
            (nice(), std::thread::spawn(nice).join().unwrap())
        });
        let expected = before.max(super::YIELDING_NICE);
        assert_eq!(yielding.join().unwrap(), (expected, expected));
        assert_eq!(nice(), before);
    }
}
