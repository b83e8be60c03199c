//! Document that `fleet` prints with `--json`: the findings at each node, or the changes made there.

use serde::{Deserialize, Serialize};

/// The version of [`FleetReport`].
const SCHEMA: u32 = 1;

/// The whole document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FleetReport {
    /// Version of this form: 1.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: u32,
    /// Action that was asked for: check, start, stop, status, logs or nodes.
    pub action: String,
    /// The flags with which `loadgen-node run` reaches the nodes.
    pub run_flags: Vec<String>,
    /// Number of nodes without faults.
    pub ok: usize,
    /// Number of nodes with faults.
    pub failed: usize,
    /// The nodes, in the order of the file.
    pub nodes: Vec<FleetNode>,
}

/// State of one node, as far as it is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FleetNode {
    /// Its name in the file.
    pub name: String,
    /// Its host in the file.
    pub host: String,
    /// Where it is dialled.
    pub address: String,
    /// Faults of the node; empty when there are none.
    pub faults: Vec<String>,
    /// Change by an action: started, ran already, ended, nothing to end (no process runs that fleet has started),
    /// copied; null when there is none.
    pub done: Option<String>,
    /// Its process on its host; null: none runs that fleet has started, or it was not asked.
    pub pid: Option<u32>,
    /// True when a process listens on the node's port; null when the host was not asked.
    pub port_taken: Option<bool>,
    /// The program on its host; null: there is none, or it was not asked.
    pub program: Option<FleetProgram>,
    /// The clock of its host; null: it was not asked, or did not say.
    pub clock: Option<FleetClock>,
    /// Answer from the node's address; null when nothing answers there, or when it was not asked.
    pub answer: Option<FleetAnswer>,
    /// The last lines of its log, where it did not start.
    pub log: Vec<String>,
    /// Where its log was copied to; null: it was not.
    pub log_file: Option<String>,
    /// With --dry-run: the commands, to be pasted into a shell.
    pub commands: Vec<String>,
}

/// The program on a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FleetProgram {
    /// The version of it.
    pub version: String,
    /// The git revision that it was built from; null where it is not known.
    pub revision: Option<String>,
}

/// The clock of a host, held against the one here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FleetClock {
    /// Time by which the host's clock is ahead of the one here, ns.
    pub offset_ns: i64,
    /// Uncertainty of the offset in either direction, ns: half a round trip, and the part that the host's `date` leaves
    /// out.
    pub uncertainty_ns: u64,
}

/// Description of a node by the node itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FleetAnswer {
    /// The name that it gives itself.
    pub name: String,
    /// Engine that runs the model.
    pub engine: String,
    /// The name of the model; null where there is none.
    pub model: Option<String>,
    /// The version of its program; null where it does not say.
    pub version: Option<String>,
    /// The revision of its program; null where it does not say.
    pub revision: Option<String>,
}

impl FleetReport {
    /// Of these nodes.
    pub fn new(action: &str, run_flags: Vec<String>, nodes: Vec<FleetNode>) -> FleetReport {
        let failed = nodes.iter().filter(|node| !node.faults.is_empty()).count();
        FleetReport { schema: SCHEMA, action: action.to_owned(), run_flags, ok: nodes.len() - failed, failed, nodes }
    }
}

impl FleetNode {
    /// Of which nothing is known yet.
    pub fn new(name: &str, host: &str, address: &str) -> FleetNode {
        FleetNode {
            name: name.to_owned(),
            host: host.to_owned(),
            address: address.to_owned(),
            faults: Vec::new(),
            done: None,
            pid: None,
            port_taken: None,
            program: None,
            clock: None,
            answer: None,
            log: Vec::new(),
            log_file: None,
            commands: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::reads_back;
    use super::*;

    #[test]
    fn nodes_with_faults_have_failed() {
        let mut bad = FleetNode::new("N2", "h2", "h2:8000");
        bad.faults.push("hangs".to_owned());
        let report = FleetReport::new("check", vec!["--sut".to_owned()], vec![FleetNode::new("N1", "h", "h:1"), bad]);
        assert_eq!((report.ok, report.failed), (1, 1));
        assert_eq!(reads_back(&report)["nodes"][1]["faults"][0], "hangs");
    }
}
