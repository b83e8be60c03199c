//! SUT nodes that a campaign starts, each a process of this machine, or of a host where another command starts it. They
//! end with the campaign, also when it is killed.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::fleet_nodes::FleetNodes;
use crate::campaign::checked::NodeSetup;
use crate::campaign::job_command::sut_node;
use crate::jobs::commands::{Commands, LOOK};
use crate::jobs::guard::{Guard, Lock};
use crate::jobs::log::last_words;

/// Time that a node has to load its model.
const START: Duration = Duration::from_secs(600);
/// Time that a node has to end before it is killed.
const END: Duration = Duration::from_secs(20);
/// Stands for the host in the command that starts a node.
const HOST: &str = "{host}";
/// The words before the address in the line by which a node says that it serves.
const SERVES_ON: &str = " on ";

/// The nodes that run now, with the setup that they have.
pub(super) struct Nodes<'a> {
    commands: &'a Commands,
    lock: &'a Lock,
    place: Place,
    up: Option<(NodeSetup, Vec<Node>)>,
}

/// The place in which nodes start.
#[derive(Debug)]
pub(super) enum Place {
    /// Processes that end with this one.
    Hosts(Hosts),
    /// Processes of other hosts, reached over ssh.
    Fleet(FleetNodes),
}

/// The hosts on which nodes start. Empty: this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Hosts {
    names: Vec<String>,
    /// Words before those of a node, with `{host}` for the host.
    launch: Vec<String>,
}

impl Hosts {
    /// # Errors
    /// The command has no word, or does not name the host.
    pub(super) fn new(names: &[String], launch: Option<&str>) -> Result<Hosts> {
        let launch: Vec<String> = launch.unwrap_or_default().split_whitespace().map(str::to_owned).collect();
        ensure!(
            names.is_empty() || launch.iter().any(|word| word.contains(HOST)),
            "--launch: {HOST} is missing, which stands for the host: --launch \"srun --nodelist={HOST}\""
        );
        Ok(Hosts { names: names.to_vec(), launch })
    }

    /// The program that starts a node, and its words before those of the node; the host at which the node listens.
    fn command(&self, number: u32) -> (Command, &str) {
        let Some(host) = self.names.get((number as usize - 1) % self.names.len().max(1)) else {
            return (Command::new(sut_node()), "127.0.0.1");
        };
        let mut launcher = self.launch.iter().map(|word| word.replace(HOST, host));
        let mut command = Command::new(launcher.next().unwrap_or_default());
        command.args(launcher).arg(sut_node());
        (command, host)
    }
}

/// A node that serves.
struct Node {
    child: Child,
    address: String,
    /// After the node, which it watches over.
    _guard: Guard,
}

impl<'a> Nodes<'a> {
    /// Nodes of a campaign, of which no one is started yet.
    pub(super) fn new(commands: &'a Commands, lock: &'a Lock, place: Place) -> Nodes<'a> {
        Nodes { commands, lock, place, up: None }
    }

    /// The addresses of nodes with this setup, as `--sut` takes them. Nodes that run with another setup end; those of
    /// the same setup stay. Nodes that are started have their logs in the folder `logs`.
    ///
    /// # Errors
    /// A node does not come to serve; the text has its last words.
    pub(super) fn with(&mut self, setup: &NodeSetup, logs: &Path) -> Result<String> {
        let hosts = match &mut self.place {
            Place::Fleet(nodes) => return nodes.with(setup, self.commands.stopped()),
            Place::Hosts(hosts) => hosts.clone(),
        };
        let is_up = self.up.as_mut().is_some_and(|(own, nodes)| own == setup && nodes.iter_mut().all(Node::runs));
        if !is_up {
            self.end();
            std::fs::create_dir_all(logs).with_context(|| format!("cannot make {}", logs.display()))?;
            let mut nodes = Vec::new();
            // All load at the same time.
            let loading_nodes =
                (1..=setup.count).map(|number| self.begin(&hosts, setup, number, logs)).collect::<Result<Vec<_>>>()?;
            for node in loading_nodes {
                nodes.push(node.serving(self.commands)?);
            }
            self.up = Some((setup.clone(), nodes));
        }
        let nodes = self.up.iter().flat_map(|(_, nodes)| nodes);
        Ok(nodes.map(|node| node.address.as_str()).collect::<Vec<_>>().join(","))
    }

    fn begin(&self, hosts: &Hosts, setup: &NodeSetup, number: u32, logs: &Path) -> Result<LoadingNode> {
        let ((mut command, host), name) = (hosts.command(number), format!("N{number}"));
        let program = command.get_program().display().to_string();
        let log = logs.join(format!("{name}.log"));
        let file = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        let mut child = command
            .args(["serve", &format!("--listen={host}:0"), &format!("--node={name}")])
            .args(&setup.flags)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(file)
            // Ctrl-C ends the run first, and the nodes after it.
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {program}"))?;
        let stdout = child.stdout.take();
        let guard = Guard::over(&child, self.lock);
        let mut node = LoadingNode { child: Some(child), guard: None, lines: listen(stdout)?, name, log };
        node.guard = Some(guard.context("cannot watch over a node")?);
        Ok(node)
    }

    /// Ends all nodes.
    pub(super) fn end(&mut self) {
        if let Place::Fleet(nodes) = &mut self.place {
            nodes.end();
        }
        let mut nodes = self.up.take().map(|(_, nodes)| nodes).unwrap_or_default();
        nodes.iter().for_each(Node::ask_to_end);
        nodes.iter_mut().for_each(|node| end(&mut node.child));
    }
}

impl Drop for Nodes<'_> {
    fn drop(&mut self) {
        self.end();
    }
}

/// A node that loads its model.
struct LoadingNode {
    child: Option<Child>,
    guard: Option<Guard>,
    lines: Receiver<String>,
    name: String,
    log: PathBuf,
}

impl LoadingNode {
    /// Waits until the node says where it serves.
    fn serving(mut self, commands: &Commands) -> Result<Node> {
        let start = Instant::now();
        loop {
            match self.lines.recv_timeout(LOOK) {
                Ok(line) => {
                    let address = line.trim().rsplit_once(SERVES_ON).map(|(_, address)| address.to_owned());
                    let parts = address.zip(self.child.take()).zip(self.guard.take());
                    let ((address, child), guard) = parts
                        .ok_or_else(|| anyhow!("node {} says '{}' in place of its address", self.name, line.trim()))?;
                    return Ok(Node { child, address, _guard: guard });
                }
                Err(RecvTimeoutError::Disconnected) => {
                    bail!("node {} does not start: {}", self.name, last_words(&self.log))
                }
                Err(RecvTimeoutError::Timeout) if commands.is_stopped() => bail!("stopped while nodes were starting"),
                Err(RecvTimeoutError::Timeout) if start.elapsed() > START => {
                    bail!("node {} does not serve after {} s", self.name, START.as_secs())
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

/// A node that does not come to serve ends with its setup.
impl Drop for LoadingNode {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Node {
    fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    fn ask_to_end(&self) {
        let _ = kill(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM);
    }
}

/// Waits for the end of a node that was asked to end, and kills it where it does not.
fn end(child: &mut Child) {
    let start = Instant::now();
    while matches!(child.try_wait(), Ok(None)) {
        if start.elapsed() > END {
            let _ = child.kill();
            let _ = child.wait();
            return;
        }
        std::thread::sleep(LOOK);
    }
}

/// Hands out the first line of a node, and reads on so that the node can write.
fn listen(stdout: Option<ChildStdout>) -> Result<Receiver<String>> {
    let stdout = stdout.context("a node has no output")?;
    let (sender, receiver) = channel();
    let forward = move || {
        let (mut reader, mut line) = (BufReader::new(stdout), String::new());
        if reader.read_line(&mut line).is_ok_and(|bytes| bytes > 0) && sender.send(line).is_ok() {
            let mut buffer = [0; 4096];
            while reader.read(&mut buffer).is_ok_and(|bytes| bytes > 0) {}
        }
    };
    std::thread::Builder::new().name("node output".to_owned()).spawn(forward).context("cannot start a thread")?;
    Ok(receiver)
}
