//! Threads of a process, as `/proc` shows them: where a program waits that ought to be over.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Returns a line for each thread of this process: its name, state, processor time and place in the kernel. Empty where
/// there is no `/proc`.
pub fn of(pid: u32) -> String {
    let tasks = format!("/proc/{pid}/task");
    let mut lines = String::new();
    for task in fs::read_dir(tasks).into_iter().flatten().flatten() {
        let _ = writeln!(lines, "{}", line(&task.path()).unwrap_or_else(|| "a thread that has just ended".to_owned()));
    }
    lines
}

fn line(task: &Path) -> Option<String> {
    let text = |name: &str| fs::read_to_string(task.join(name));
    let stat = text("stat").ok()?;
    // The name is in brackets, and may have any sign in it.
    let (_, after_name) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = after_name.split(' ').collect();
    let [state, user, system, nice] = [0, 11, 12, 16].map(|place| fields.get(place).copied().unwrap_or("?"));
    // The kernel tells some of it to root alone.
    let waits_in = text("wchan").unwrap_or_default();
    let call = text("syscall").unwrap_or_default();
    let call = call.split(' ').next().unwrap_or_default().trim();
    let name = text("comm").unwrap_or_default();
    let name = name.trim();
    Some(format!("{name:<16} {state} nice {nice}, ticks {user}+{system}, in {waits_in}, call {call}"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn this_thread_is_among_its_own() {
        let named = std::thread::Builder::new().name("by this name".to_owned());
        let listing = named.spawn(|| super::of(std::process::id())).unwrap().join().unwrap();
        assert!(listing.lines().any(|line| line.starts_with("by this name") && line.contains(" nice ")), "{listing}");
    }
}
