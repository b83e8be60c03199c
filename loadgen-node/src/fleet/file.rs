//! The file of a fleet, as it is written: TOML, by one struct. Unknown keys are errors.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

/// The whole file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct FleetFile {
    /// The command that runs a line of shell on a host: `{host}` in it is the host, and the line is its last word.
    /// `{quoted}`, if it is in it, is the line in quotes instead, for commands that join their words, as ssh does.
    #[serde(default = "ssh")]
    pub(super) ssh: String,
    /// The program on the hosts.
    #[serde(default = "program")]
    pub(super) program: String,
    /// The folder on the hosts for logs and pids.
    #[serde(default = "folder")]
    pub(super) folder: String,
    /// Flags of `sut-node serve` at every node.
    #[serde(default)]
    pub(super) serve: Vec<String>,
    /// Command that starts a node in place of `program serve ...`.
    pub(super) command: Option<Vec<String>>,
    /// Variables that nodes are started with.
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    /// Longest time for a line of shell at a host.
    #[serde(default = "timeout")]
    pub(super) timeout: String,
    /// Longest time from the start of a node until it answers, and for the copy of a log.
    #[serde(default = "ready_timeout")]
    pub(super) ready_timeout: String,
    /// Longest time for a node to end.
    #[serde(default = "stop_timeout")]
    pub(super) stop_timeout: String,
    /// Hosts that are asked at the same time, at most.
    #[serde(default = "parallel")]
    pub(super) parallel: usize,
    /// Settings by which this LoadGen node reaches the nodes.
    #[serde(default)]
    pub(super) reach: Reach,
    /// The nodes, a table for each.
    #[serde(default)]
    pub(super) node: Vec<NodeTable>,
}

/// Settings by which the LoadGen node reaches the nodes: flags of `loadgen-node run`. Paths are from the folder of the
/// file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Reach {
    /// The CA that certificates of nodes are signed by.
    pub(super) tls_ca: Option<PathBuf>,
    /// The certificate to show to nodes that ask for one.
    pub(super) tls_cert: Option<PathBuf>,
    /// The certificate's private key.
    pub(super) tls_key: Option<PathBuf>,
    /// The file with the token that nodes want.
    pub(super) token_file: Option<PathBuf>,
    /// Plain text to other hosts.
    #[serde(default)]
    pub(super) insecure: bool,
    /// Key files that others can read are read.
    #[serde(default)]
    pub(super) allow_open_key_files: bool,
}

/// The table of one node.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct NodeTable {
    /// Its name, as `sut-node serve --node` has it.
    pub(super) name: String,
    /// Its host, as the command of `ssh` takes it.
    pub(super) host: String,
    /// Where the LoadGen node dials it; the host and port 8000 unless given.
    pub(super) address: Option<String>,
    /// Address on which the node listens. All addresses of its host unless given, or the loopback address that is
    /// dialled.
    pub(super) listen: Option<String>,
    /// The program on this host.
    pub(super) program: Option<String>,
    /// The folder on this host.
    pub(super) folder: Option<String>,
    /// Flags of this node, behind those of all.
    #[serde(default)]
    pub(super) serve: Vec<String>,
    /// Command that starts this node in place of `program serve ...`.
    pub(super) command: Option<Vec<String>>,
    /// Variables of this node, beside those of all.
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
}

fn ssh() -> String {
    "ssh -o BatchMode=yes {host} sh -c {quoted}".to_owned()
}

fn program() -> String {
    "sut-node".to_owned()
}

fn folder() -> String {
    "lon-fleet".to_owned()
}

fn timeout() -> String {
    "10s".to_owned()
}

fn ready_timeout() -> String {
    "60s".to_owned()
}

fn stop_timeout() -> String {
    "30s".to_owned()
}

fn parallel() -> usize {
    16
}
