//! Path between two ends of a relay, and the changes that a test makes to it while bytes pass.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use tokio::sync::watch;

/// Bytes that no end can make sense of: too long for any head of a message, no type of any frame.
pub(super) const RUBBISH: [u8; 64] = [0xff; 64];

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heading {
    /// To the SUT node.
    Node,
    /// Back to the LoadGen node.
    LoadGen,
}

/// State of a relay that its connections look at.
#[derive(Debug)]
pub(super) struct RelayPath {
    pub(super) node: SocketAddr,
    pub(super) is_open: watch::Sender<bool>,
    pub(super) resets: watch::Sender<u64>,
    pub(super) delay_us: AtomicU64,
    pub(super) lost_every: AtomicU64,
    pub(super) spoil_to_node: AtomicBool,
    pub(super) spoil_to_loadgen: AtomicBool,
    pub(super) packet_to_node: AtomicBool,
    pub(super) packet_to_loadgen: AtomicBool,
}

impl RelayPath {
    pub(super) fn new(node: SocketAddr) -> RelayPath {
        RelayPath {
            node,
            is_open: watch::Sender::new(true),
            resets: watch::Sender::new(0),
            delay_us: AtomicU64::new(0),
            lost_every: AtomicU64::new(u64::MAX),
            spoil_to_node: AtomicBool::new(false),
            spoil_to_loadgen: AtomicBool::new(false),
            packet_to_node: AtomicBool::new(false),
            packet_to_loadgen: AtomicBool::new(false),
        }
    }

    pub(super) fn spoiled(&self, heading: Heading) -> &AtomicBool {
        match heading {
            Heading::Node => &self.spoil_to_node,
            Heading::LoadGen => &self.spoil_to_loadgen,
        }
    }

    pub(super) fn spoiled_packets(&self, heading: Heading) -> &AtomicBool {
        match heading {
            Heading::Node => &self.packet_to_node,
            Heading::LoadGen => &self.packet_to_loadgen,
        }
    }

    /// Returns once bytes pass.
    pub(super) async fn open(&self) {
        // Never an error: the sender is here.
        let _ = self.is_open.subscribe().wait_for(|is_open| *is_open).await;
    }

    pub(super) fn delay(&self) -> Duration {
        Duration::from_micros(self.delay_us.load(Relaxed))
    }
}
