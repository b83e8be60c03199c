//! The command `fleet`: the SUT nodes of several hosts, checked, started, watched and ended over ssh.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use anyhow::{Context as _, anyhow};
use lon_proto::figures::length_ns;
use lon_proto::text::few;

use super::io::{print, print_in, print_text};
use crate::cli::{FleetArgs, FleetCommand, FleetNodes, FleetOn, Format, USUAL_TRANSPORT};
use crate::fleet::checked::Fleet;
use crate::fleet::{Action, TEMPLATE, plan};
use lon_run::exit::{Exit, Failure, OrExit as _, Outcome};
use lon_run::outputs::documents::fleet::{FleetClock, FleetNode, FleetReport};
use lon_run::outputs::tables::table::Table;
use lon_run::signals::{Leaves, Signals, StopRequests as _};

/// With more nodes than this, those that are well are counted and not listed.
const LISTED: usize = 32;

/// Does what the command asks for.
pub(crate) fn fleet(args: &FleetArgs) -> Outcome {
    match &args.what {
        FleetCommand::Init { file } => init(file.as_deref()),
        FleetCommand::Nodes { which, form } => nodes(which, form.check()),
        FleetCommand::Check(on) => act(on, &Action::Check),
        FleetCommand::Start(on) => act(on, &Action::Start),
        FleetCommand::Status(on) => act(on, &Action::Status),
        FleetCommand::Stop(on) => act(on, &Action::Stop),
        FleetCommand::Logs { on, out } => act(on, &Action::Logs(out.clone())),
    }
}

fn init(file: Option<&Path>) -> Outcome {
    let Some(file) = file else { return print_text(TEMPLATE) };
    let cannot = || format!("cannot write {}", file.display());
    match std::fs::File::create_new(file) {
        Ok(mut new_file) => std::io::Write::write_all(&mut new_file, TEMPLATE.as_bytes()).with_context(cannot),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(anyhow!("{} is there already: it is never overwritten", file.display()))
        }
        Err(error) => Err(error).with_context(cannot),
    }
    .or_exit(Exit::Usage)?;
    print(&format!("{0} is written: name your hosts in it, then loadgen-node fleet check {0}", file.display()))
}

fn read(which: &FleetNodes) -> Outcome<Fleet> {
    Fleet::read(&which.file).and_then(|fleet| fleet.only(&which.only)).or_exit(Exit::Usage)
}

fn nodes(which: &FleetNodes, form: Format) -> Outcome {
    let fleet = read(which)?;
    let flags = fleet.run_flags().or_exit(Exit::Usage)?;
    let report = FleetReport::new("nodes", flags, plan::listed(&fleet));
    print_in(form, &report, || print(&report.run_flags.join(" ")), || table(&report.nodes))
}

fn act(on: &FleetOn, action: &Action) -> Outcome {
    let fleet = read(&on.which)?;
    // The command `nodes` reports flags that cannot be pasted, so an error is ignored here.
    let flags = fleet.run_flags().unwrap_or_default();
    if on.dry_run {
        let report = FleetReport::new(action.name(), flags, plan::commands(&fleet, action).or_exit(Exit::Usage)?);
        return print_in(on.form.check(), &report, || print_text(&pasted(&report)), || table(&report.nodes));
    }
    let signals = Signals::catch(Leaves::Nothing).context("cannot listen to signals").or_exit(Exit::Bug)?;
    let stop = signals.test_begins().context("cannot listen to signals").or_exit(Exit::Bug)?;
    let report =
        FleetReport::new(action.name(), flags, plan::act(&fleet, action, USUAL_TRANSPORT, &stop).or_exit(Exit::Usage)?);
    print_in(on.form.check(), &report, || print_text(&text(&report, on.all)), || table(&report.nodes))?;
    verdict(&report, &stop)
}

/// The exit code, and which nodes failed.
fn verdict(report: &FleetReport, stop: &AtomicBool) -> Outcome {
    let failed: Vec<&str> = report.nodes.iter().filter(|node| !node.faults.is_empty()).map(|it| &*it.name).collect();
    let error = || {
        anyhow!(
            "fleet {}: {} of {} nodes failed: {}",
            report.action,
            failed.len(),
            report.nodes.len(),
            few(&failed, ", ")
        )
    };
    match (failed.is_empty(), stop.load(Relaxed)) {
        (true, _) => Ok(Exit::Ok),
        (false, true) => Err(Failure::new(Exit::Interrupted, error().context("interrupted"))),
        (false, false) => Err(Failure::new(Exit::Network, error())),
    }
}

/// The commands of each node, behind a comment that names it.
fn pasted(report: &FleetReport) -> String {
    let of = |node: &FleetNode| {
        let commands: String = node.commands.iter().map(|command| format!("{command}\n")).collect();
        format!("# {} on {}\n{commands}", node.name, node.host)
    };
    report.nodes.iter().map(of).collect()
}

/// A line for each node, the logs of those that did not start, and how many are well.
fn text(report: &FleetReport, all: bool) -> String {
    let is_long = report.nodes.len() > LISTED && !all;
    let mut table = Table::new(["", "", "", ""]);
    for node in report.nodes.iter().filter(|node| !is_long || !node.faults.is_empty()) {
        let state = if node.faults.is_empty() { "ok" } else { "FAILED" };
        table.row([state, &node.name, &node.host, &what(node)]);
    }
    let mut text = table.aligned();
    for node in report.nodes.iter().filter(|node| !node.log.is_empty()) {
        text.push_str(&format!("log of {}:\n", node.name));
        text.extend(node.log.iter().map(|line| format!("    {line}\n")));
    }
    let hidden = if is_long && report.ok > 0 { " (--all lists them)" } else { "" };
    text + &format!("{} of {} nodes ok{hidden}\n", report.ok, report.nodes.len())
}

/// Describes a node on one line; its faults come first.
fn what(node: &FleetNode) -> String {
    let mut parts = node.faults.clone();
    parts.extend(node.done.clone());
    parts.extend(node.log_file.as_ref().map(|file| format!("to {file}")));
    parts.extend(node.pid.map(|pid| format!("process {pid}")));
    parts.extend(node.answer.as_ref().map(|answer| match &answer.model {
        Some(model) => format!("{} answers as {} ({}, model {model})", node.address, answer.name, answer.engine),
        None => format!("{} answers as {} ({})", node.address, answer.name, answer.engine),
    }));
    parts.extend((node.port_taken == Some(false)).then(|| "port free".to_owned()));
    parts.extend(node.program.as_ref().map(|program| match &program.revision {
        Some(revision) => format!("sut-node {} ({revision})", program.version),
        None => format!("sut-node {}", program.version),
    }));
    parts.extend(node.clock.as_ref().map(clock));
    parts.join("; ")
}

/// Describes how far a clock is ahead or behind, and the uncertainty of that.
fn clock(clock: &FleetClock) -> String {
    let sign = if clock.offset_ns < 0 { '-' } else { '+' };
    format!("clock {sign}{} (±{})", length_ns(clock.offset_ns.unsigned_abs()), length_ns(clock.uncertainty_ns))
}

/// The same for other programs: all nodes.
fn table(nodes: &[FleetNode]) -> Table {
    let mut table = Table::new(["node", "host", "address", "result", "what"]);
    for node in nodes {
        let state = if node.faults.is_empty() { "ok" } else { "failed" };
        table.row([&node.name, &node.host, &node.address, state, &what(node)]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(count: usize, failed: &[usize]) -> FleetReport {
        let node = |at| {
            let mut node = FleetNode::new(&format!("N{at}"), "h", "h:8000");
            if failed.contains(&at) {
                (node.faults, node.log) =
                    (vec!["ended soon after its start".to_owned()], vec!["no such flag".to_owned()]);
            }
            node
        };
        FleetReport::new("start", Vec::new(), (0..count).map(node).collect())
    }

    #[test]
    fn a_screen_is_enough_for_many_nodes() {
        let few = text(&report(3, &[1]), false);
        assert_eq!(few.lines().count(), 3 + 2 + 1, "{few}");
        assert!(
            few.contains("  FAILED  N1  h  ended soon after its start\n")
                && few.contains("log of N1:\n    no such flag\n")
        );
        let many = text(&report(128, &[5, 99]), false);
        assert_eq!(many.lines().count(), 2 + 4 + 1, "{many}");
        assert!(many.ends_with("126 of 128 nodes ok (--all lists them)\n"), "{many}");
        assert_eq!(text(&report(128, &[]), true).lines().count(), 129);
        let failure = verdict(&report(128, &(0..20).collect::<Vec<_>>()), &AtomicBool::new(false)).unwrap_err();
        assert!(failure.one_line().ends_with("20 of 128 nodes failed: N0, N1, N2, N3, N4, N5, N6, N7, and 12 more"));
        assert_eq!(failure.exit, Exit::Network);
    }

    #[test]
    fn clocks_are_ahead_or_behind() {
        assert_eq!(clock(&FleetClock { offset_ns: -1_500_000, uncertainty_ns: 200_000 }), "clock -1.5ms (±200.0µs)");
        assert!(clock(&FleetClock { offset_ns: 0, uncertainty_ns: 0 }).starts_with("clock +0"));
    }
}
