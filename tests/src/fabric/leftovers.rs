//! The names of namespaces, and what is left of fabrics whose process died before it could clear up.

use std::path::Path;
use std::sync::Once;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::ip;

/// What the names of all our namespaces begin with; behind it, the process that made them.
const PREFIX: &str = "lon-test-";

/// The name of this process's fabric of this number.
pub(super) fn name(number: u32) -> String {
    format!("{PREFIX}{}-{number}", std::process::id())
}

/// Ends what runs in a namespace, and removes it. What is not there any more is no matter.
pub(super) fn remove(namespace: &str) {
    let pids = ip::run("ip", &["netns", "pids", namespace]).unwrap_or_default();
    for pid in pids.split_whitespace().filter_map(|pid| pid.parse().ok()) {
        let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
    }
    let _ = ip::run("ip", &["netns", "delete", namespace]);
}

/// Removes the namespaces of processes that are gone; once in a process.
pub(super) fn sweep() {
    static SWEPT: Once = Once::new();
    SWEPT.call_once(|| {
        let listed = ip::run("ip", &["netns", "list"]).unwrap_or_default();
        let names = listed.lines().filter_map(|line| line.split_whitespace().next());
        names.filter(|name| owner(name).is_some_and(|pid| !is_alive(pid))).for_each(remove);
    });
}

/// The process that made a namespace, if one of ours did.
fn owner(namespace: &str) -> Option<u32> {
    namespace.strip_prefix(PREFIX)?.split('-').next()?.parse().ok()
}

fn is_alive(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_namespaces_of_dead_processes_are_left_over() {
        assert_eq!(owner(&format!("{}-h0", name(3))), Some(std::process::id()));
        assert!(is_alive(std::process::id()));
        assert_eq!([owner("lon-test-x-1-sw"), owner("lon"), owner("blue")], [None; 3]);
        // Beyond what Linux gives out.
        assert!(!is_alive(1 << 30));
    }
}
