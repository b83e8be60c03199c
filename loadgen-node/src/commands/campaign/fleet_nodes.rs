//! SUT nodes of a fleet file that a campaign starts over ssh, with the flags of a cell. Models are copied to the hosts.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::{Result, bail, ensure};

use crate::campaign::checked::NodeSetup;
use crate::cli::USUAL_TRANSPORT;
use crate::fleet::checked::{FOLDER, Fleet};
use crate::fleet::file_copy::CopiedFile;
use crate::fleet::{Action, plan};

/// The flag whose value names a model of this machine.
const MODEL: &str = "--backend=onnx:";

/// The nodes of a fleet, and the setup with which they run.
#[derive(Debug)]
pub(super) struct FleetNodes {
    fleet: Fleet,
    up: Option<NodeSetup>,
}

impl FleetNodes {
    /// # Errors
    /// The file cannot be used.
    pub(super) fn read(file: &Path) -> Result<FleetNodes> {
        Ok(FleetNodes { fleet: Fleet::read(file)?, up: None })
    }

    /// The addresses of the nodes, which run with this setup.
    ///
    /// # Errors
    /// A model cannot be copied, or a node does not come to serve.
    pub(super) fn with(&mut self, setup: &NodeSetup, stop: &AtomicBool) -> Result<String> {
        if self.up.as_ref() != Some(setup) {
            ensure!(setup.count == 1, "node.count is for nodes of this machine: the fleet file names its nodes");
            // Nodes of a campaign that was killed have other flags.
            self.act(&self.fleet, &Action::Stop, stop)?;
            let fleet = self.fleet.with_flags(&self.flags(setup, stop)?)?;
            self.act(&fleet, &Action::Start, stop)?;
            self.up = Some(setup.clone());
        }
        Ok(self.fleet.addresses())
    }

    /// Ends the nodes.
    pub(super) fn end(&mut self) {
        if self.up.take().is_some() {
            // The next start ends those that are left.
            let _ = self.act(&self.fleet, &Action::Stop, &AtomicBool::new(false));
        }
    }

    /// The flags of a setup, with paths of the hosts for models of this machine.
    fn flags(&self, setup: &NodeSetup, stop: &AtomicBool) -> Result<Vec<String>> {
        let mut flags = Vec::new();
        for flag in &setup.flags {
            let model = flag.strip_prefix(MODEL).map(Path::new).filter(|path| path.is_file());
            let Some(model) = model else {
                flags.push(flag.clone());
                continue;
            };
            let copied = CopiedFile::new(model)?;
            self.act(&self.fleet, &Action::Copy(copied.clone()), stop)?;
            flags.push(format!("{MODEL}{FOLDER}/{}", copied.place()));
        }
        Ok(flags)
    }

    fn act(&self, fleet: &Fleet, action: &Action, stop: &AtomicBool) -> Result<()> {
        let nodes = plan::act(fleet, action, USUAL_TRANSPORT, stop)?;
        match nodes.iter().find(|node| !node.faults.is_empty()) {
            Some(node) => {
                let log = node.log.last().map(|line| format!(": {line}")).unwrap_or_default();
                bail!("fleet {}: node {} on {}: {}{log}", action.name(), node.name, node.host, node.faults.join("; "))
            }
            None => Ok(()),
        }
    }
}
