//! Actions at every node, and the commands that a user would paste to do the same.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result};
use qdl::Transport;

use super::checked::{Fleet, Node};
use super::file_copy::CopiedFile;
use super::node_access::NodeAccess;
use super::shell::Shell;
use super::{copy, node_state, node_threads, script, start};
use lon_run::outputs::documents::fleet::FleetNode;

/// Action at each node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Looks whether everything is there that a node needs.
    Check,
    /// Starts it and waits until it answers.
    Start,
    /// Asks it to end and waits for that.
    Stop,
    /// Says whether it runs and answers.
    Status,
    /// Copies its log into this folder.
    Logs(PathBuf),
    /// Copies a file to its host.
    Copy(CopiedFile),
}

impl Action {
    /// Its name on the command line.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Action::Check => "check",
            Action::Start => "start",
            Action::Stop => "stop",
            Action::Status => "status",
            Action::Logs(_) => "logs",
            Action::Copy(_) => "copy",
        }
    }

    /// The lines of shell that it begins with at a node. What it asks afterwards depends on the answers.
    fn lines(&self, fleet: &Fleet, node: &Node) -> Result<Vec<String>, shlex::QuoteError> {
        Ok(match self {
            Action::Check => vec![script::facts(node, node.program.as_deref())?, script::clock()],
            Action::Start => vec![script::start(node)?],
            Action::Stop => vec![script::stop(node, fleet.stop_timeout)?],
            Action::Status => vec![script::facts(node, None)?],
            Action::Logs(_) => vec![script::log(node)?],
            Action::Copy(copied) => vec![script::has(node, copied)?, script::copy(node, copied)?],
        })
    }
}

/// Does it at all nodes, which are dialled over this transport.
///
/// # Errors
/// Files that nodes are dialled with cannot be used, or the folder for logs cannot be made. What goes wrong at a node
/// is said with the node.
pub(crate) fn act(fleet: &Fleet, action: &Action, transport: Transport, stop: &AtomicBool) -> Result<Vec<FleetNode>> {
    let dial = fleet.dial(transport)?;
    if let Action::Logs(folder) = action {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    Ok(node_threads::in_order(&fleet.nodes, fleet.parallel, |node| {
        let (mut report, at) = (bare(node), NodeAccess { fleet, node, dial: &dial, stop });
        let outcome = match action {
            Action::Check => node_state::check(at, &mut report),
            Action::Start => start::start(at, &mut report),
            Action::Stop => start::stop(at, &mut report),
            Action::Status => node_state::status(at, &mut report),
            Action::Logs(folder) => start::log(at, folder, &mut report),
            Action::Copy(copied) => copy::copy(at, copied, &mut report),
        };
        report.faults.extend(outcome.err().map(|error| error.to_string()));
        report
    }))
}

/// The nodes with the commands that would be run at first, and nothing done.
///
/// # Errors
/// A word that no shell can have.
pub(crate) fn commands(fleet: &Fleet, action: &Action) -> Result<Vec<FleetNode>> {
    let stop = AtomicBool::new(false);
    let of = |node: &Node| {
        let shell = Shell { ssh: &fleet.ssh, host: &node.host, stop: &stop };
        let pasted = action.lines(fleet, node)?.iter().map(|line| shell.pasted(line)).collect::<Result<_, _>>();
        Ok(FleetNode { commands: pasted?, ..bare(node) })
    };
    fleet.nodes.iter().map(of).collect()
}

/// The nodes as they stand in the file.
pub(crate) fn listed(fleet: &Fleet) -> Vec<FleetNode> {
    fleet.nodes.iter().map(bare).collect()
}

fn bare(node: &Node) -> FleetNode {
    FleetNode::new(node.name.as_ref(), &node.host, &node.address.to_string())
}
