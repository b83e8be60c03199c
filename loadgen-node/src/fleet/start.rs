//! Starts a node and waits until it answers; its end; its log.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use super::answers::{self, Facts, Started, Stopped};
use super::node_access::NodeAccess;
use super::shell::ShellError;
use super::{node_state, script};
use lon_run::outputs::documents::fleet::FleetNode;

/// First wait for an answer before the host is asked whether the node still runs. Each further wait is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(250);
const LONGEST_WAIT: Duration = Duration::from_secs(4);
/// Between two attempts to dial.
const PAUSE: Duration = Duration::from_millis(50);

/// Starts the node, unless it runs already, and waits until it answers.
pub(super) fn start(at: NodeAccess<'_>, report: &mut FleetNode) -> Result<(), ShellError> {
    let output = at.shell().run(&script::start(at.node)?, at.fleet.timeout)?;
    let from = match answers::started(&output) {
        Some(Started::New { pid, from }) => {
            (report.done, report.pid) = (Some("started".to_owned()), Some(pid));
            from
        }
        Some(Started::Running { pid }) => {
            (report.done, report.pid) = (Some("ran already".to_owned()), Some(pid));
            // The place in the log where this start began is not known, so the end of the whole log is read.
            0
        }
        Some(Started::Taken) => {
            report.port_taken = Some(true);
            let owner = match at.dial.ask(&at.node.address, at.fleet.timeout) {
                Ok(answer) => format!("node '{}', which was not started from here", answer.name),
                Err(error) => format!("somebody else ({error:#})"),
            };
            report.faults.push(format!("not started: {} is taken by {owner}", at.node.listen));
            return Ok(());
        }
        Some(Started::OtherSystem(name)) => {
            report.faults.extend(node_state::other_system(&at.node.host, Some(&name)));
            return Ok(());
        }
        None => {
            report.faults.push("the host did not say whether it has started the node".to_owned());
            return Ok(());
        }
    };
    await_answer(at, from, report)
}

/// Waits until the node answers, or has ended.
fn await_answer(at: NodeAccess<'_>, from: u64, report: &mut FleetNode) -> Result<(), ShellError> {
    let deadline = Instant::now() + at.fleet.ready_timeout;
    let mut wait = FIRST_WAIT;
    loop {
        let answer = dial_for(at, wait.min(deadline.saturating_duration_since(Instant::now())));
        // Another node may answer at the address, so the process of this one has to be alive, too.
        let facts = Facts::of(&at.shell().run(&script::started(at.node, from)?, at.fleet.timeout)?);
        match (facts.pid, answer) {
            (None, _) => {
                report.faults.push("ended soon after its start; see its log".to_owned());
                (report.done, report.pid, report.log) = (None, None, facts.log);
                return Ok(());
            }
            (Some(_), Ok(answer)) => {
                node_state::judge(at, &answer, report);
                report.answer = Some(answer);
                return Ok(());
            }
            (Some(_), Err(error)) if Instant::now() >= deadline => {
                let waited = at.fleet.ready_timeout;
                report.faults.push(format!("runs, but has not answered after {waited:?}: {error:#}"));
                report.log = facts.log;
                return Ok(());
            }
            (Some(_), Err(_)) if at.stop.load(Relaxed) => return Err(ShellError::Interrupted),
            (Some(_), Err(_)) => wait = (wait * 2).min(LONGEST_WAIT),
        }
    }
}

/// Dials until somebody answers, for about so long.
fn dial_for(at: NodeAccess<'_>, wait: Duration) -> anyhow::Result<lon_run::outputs::documents::fleet::FleetAnswer> {
    let until = Instant::now() + wait;
    loop {
        // A node that loads its model takes connections and says nothing.
        let answer = at.dial.ask(&at.node.address, wait.max(FIRST_WAIT));
        if answer.is_ok() || Instant::now() >= until || at.stop.load(Relaxed) {
            return answer;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Asks the node to end, and waits for that.
pub(super) fn stop(at: NodeAccess<'_>, report: &mut FleetNode) -> Result<(), ShellError> {
    let wait = at.fleet.stop_timeout;
    let output = at.shell().run(&script::stop(at.node, wait)?, wait + at.fleet.timeout)?;
    match answers::stopped(&output) {
        Some(Stopped::Ended { pid }) => report.done = Some(format!("ended (process {pid})")),
        Some(Stopped::NotRunning) => report.done = Some("nothing to end".to_owned()),
        Some(Stopped::Still { pid }) => {
            report.pid = Some(pid);
            report.faults.push(format!(
                "process {pid} has not ended {wait:?} after SIGTERM: it may have samples to answer; else kill -KILL \
                 {pid} on {}",
                at.node.host
            ));
        }
        None => report.faults.push("the host did not say whether the node has ended".to_owned()),
    }
    Ok(())
}

/// Copies the node's log into a folder here.
pub(super) fn log(at: NodeAccess<'_>, folder: &Path, report: &mut FleetNode) -> Result<(), ShellError> {
    // Complete, or not there.
    let part = tempfile::NamedTempFile::new_in(folder)?;
    let into: File = part.as_file().try_clone()?;
    at.shell().run_into(&script::log(at.node)?, at.fleet.ready_timeout, into)?;
    let file = folder.join(format!("{}.log", at.node.stem));
    part.persist(&file).map_err(|error| error.error)?;
    report.done = Some("copied".to_owned());
    report.log_file = Some(file.display().to_string());
    Ok(())
}
