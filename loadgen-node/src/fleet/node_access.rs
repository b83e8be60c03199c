//! A node with what is needed to act on it.

use std::sync::atomic::AtomicBool;

use super::checked::{Fleet, Node};
use super::dial::Dial;
use super::shell::Shell;

/// A node with what is needed to act on it.
#[derive(Clone, Copy)]
pub(super) struct NodeAccess<'a> {
    pub(super) fleet: &'a Fleet,
    pub(super) node: &'a Node,
    pub(super) dial: &'a Dial,
    /// Turns true when the user wants an end.
    pub(super) stop: &'a AtomicBool,
}

impl<'a> NodeAccess<'a> {
    pub(super) fn shell(self) -> Shell<'a> {
        Shell { ssh: &self.fleet.ssh, host: &self.node.host, stop: self.stop }
    }
}
