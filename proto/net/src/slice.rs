//! A short time slice for threads on which others wait.
//!
//! Linux (6.12 and later) takes a wish for the length of a thread's slice. A thread with a short one gets the same share
//! of the processor in smaller and sooner pieces: an issuing or answering thread is not kept waiting for three
//! milliseconds because something else just began its own slice. It needs no privilege. Elsewhere this does nothing.

use std::io;

/// The shortest slice that Linux grants.
const SLICE_NS: u64 = 100_000;

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
    let mut attr = SchedAttr::default();
    let size = size_of::<SchedAttr>() as u32;
    // SAFETY: both calls are given the calling thread, a live structure of the size they are told, and no flags; the
    // kernel writes to it, respectively reads from it, during the call only.
    #[allow(unsafe_code)]
    let outcome = unsafe {
        match libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attr, size, 0) {
            0 => {
                attr.size = size;
                attr.runtime = SLICE_NS;
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
}
