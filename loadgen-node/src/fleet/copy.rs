//! The copy of a file to the host of a node, checked there by its SHA-256.

use lon_proto::files::{self, Limit};

use super::file_copy::CopiedFile;
use super::node_access::NodeAccess;
use super::script;
use super::shell::ShellError;
use lon_run::outputs::documents::fleet::FleetNode;

/// Copies the file to the host of a node, unless it is there with the same content.
pub(super) fn copy(at: NodeAccess<'_>, copied: &CopiedFile, node: &mut FleetNode) -> Result<(), ShellError> {
    let answer = at.shell().run(&script::has(at.node, copied)?, at.fleet.timeout)?;
    if answer.lines().any(|line| line == script::SAME) {
        node.done = Some("has the file already".to_owned());
        return Ok(());
    }
    let content = files::open(&copied.path, Limit::DATA)?;
    at.shell().run_from(&script::copy(at.node, copied)?, at.fleet.ready_timeout, content)?;
    node.done = Some("copied to the host".to_owned());
    Ok(())
}
