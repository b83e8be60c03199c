//! A short time slice for threads on which others wait, and a lighter weight for those that would take every core.
//!
//! Linux (6.12 and later) lets a thread choose the length of its slice. A thread with a short slice gets the same share
//! of the processor in smaller pieces and sooner: an issuing or answering thread does not wait for three milliseconds
//! because another thread has just begun its slice. No privilege is needed. On other systems nothing is changed.

use std::io;

/// The shortest slice that Linux grants.
const SLICE_NS: u64 = 100_000;

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

/// Reads the scheduler's settings of the calling thread, and writes them back changed.
fn change(how: impl FnOnce(&mut SchedAttr)) -> io::Result<()> {
    let mut attr = SchedAttr::default();
    let size = size_of::<SchedAttr>() as u32;
    // SAFETY: both calls are given the calling thread, a live structure of the size they are told, and no flags; the
    // kernel writes to it, respectively reads from it, during the call only.
    #[allow(unsafe_code)]
    let outcome = unsafe {
        match libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attr, size, 0) {
            0 => {
                attr.size = size;
                how(&mut attr);
                libc::syscall(libc::SYS_sched_setattr, 0, &raw const attr, 0)
            }
            failed => failed,
        }
    };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    /// On a kernel that knows nothing of it, too.
    #[test]
    fn asking_does_no_harm() {
        super::shorten().unwrap();
        super::shorten().unwrap();
    }

    #[test]
    fn a_thread_that_yields_passes_it_on_and_nobody_else_changes() {
        let nice = || {
            let mut nice = 0;
            super::change(|attr| nice = attr.nice).unwrap();
            nice
        };
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
