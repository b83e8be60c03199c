//! The number of files and sockets that a program may have open at one time.
//!
//! Most systems give a program a low limit that it may raise by itself: some old programs break with a high one. Ours
//! do not, and both ends have a descriptor for each connection.

use std::io;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// With fewer than this many, a program of ours cannot even begin: libraries, threads that wait, the log and one
/// connection have some each.
const LEAST: u64 = 48;

/// The error of a program that may have too few open files and sockets to do anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this program may have {0} open files and sockets, and needs {LEAST} at least: raise the limit (ulimit -n)")]
pub struct TooFew(u64);

/// The error of a program that may have too few open files and sockets for so many nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{nodes} SUT nodes take {needed} open files and sockets here, and this program may have {limit}: raise the limit \
     (ulimit -n {needed})"
)]
pub struct TooFewForNodes {
    nodes: usize,
    needed: u64,
    limit: u64,
}

/// Checks that this program may have enough open files and sockets for `nodes` nodes, with `each` of them for one node.
///
/// # Errors
/// It may not; the error has the number that is needed.
pub fn enough_for(nodes: usize, each: u64) -> Result<(), TooFewForNodes> {
    fits(nodes, each, limit())
}

fn fits(nodes: usize, each: u64, limit: u64) -> Result<(), TooFewForNodes> {
    let needed = LEAST.saturating_add(each.saturating_mul(nodes as u64));
    if limit < needed { Err(TooFewForNodes { nodes, needed, limit }) } else { Ok(()) }
}

/// Raises this program's limit of open files and sockets to the most that it may have without a privilege. Returns the
/// number that it may have now.
///
/// # Errors
/// It is too small for this program to work.
pub fn raise_limit() -> Result<u64, TooFew> {
    // Where the system does not grant it, the limit stays as it is, and that may be enough.
    let _ = raise();
    enough(limit())
}

fn raise() -> io::Result<()> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft < hard {
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    }
    Ok(())
}

fn enough(limit: u64) -> Result<u64, TooFew> {
    if limit < LEAST { Err(TooFew(limit)) } else { Ok(limit) }
}

/// Returns the number of files and sockets that this program may have open now. Where the system does not report the
/// number, it is that of the oldest systems.
pub fn limit() -> u64 {
    getrlimit(Resource::RLIMIT_NOFILE).map_or(256, |(soft, _)| soft)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_limit_is_as_high_as_it_may_be() {
        let raised = super::raise_limit().unwrap();
        assert_eq!(super::limit(), raised);
        assert_eq!(super::raise_limit().unwrap(), raised);
    }

    #[test]
    fn the_number_that_many_nodes_need_is_named() {
        assert_eq!(super::fits(1_000, 2, 2_048), Ok(()));
        let message = super::fits(1_000, 2, 2_047).unwrap_err().to_string();
        assert!(message.contains("1000 SUT nodes take 2048") && message.contains("may have 2047: raise"), "{message}");
        assert!(message.ends_with("(ulimit -n 2048)"), "{message}");
    }

    #[test]
    fn a_limit_under_which_nothing_works_is_refused_in_words() {
        assert_eq!(super::enough(48), Ok(48));
        let message = super::enough(12).unwrap_err().to_string();
        assert!(message.contains("12 open files") && message.contains("ulimit -n"), "{message}");
    }
}
