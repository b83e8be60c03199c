//! The control calls that every kind of node has.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lon_net::clock;
use lon_net::end_counters::EndCounters;
use lon_proto::run_identity::RunPass;

use super::describe::NodeDescription;
use crate::account::report::SutCounts;
use crate::carry::Promise;
use crate::dispatch::Bounds;
use crate::error::ConnectError;
use crate::peer_probe::{PeerOrder, PeerResult};

/// The control side of one node. A new kind of node is an implementation of this and a kind of
/// [`Peers`](super::Peers).
#[tonic::async_trait]
pub(crate) trait Peer: fmt::Debug + Send + Sync {
    /// Asks a node that has just been connected to whether it is ready, and for its name. An error that
    /// [`ConnectError::may_pass`] is met by another attempt.
    async fn first_name(&self) -> Result<String, ConnectError>;

    /// Asks for the name: one round trip.
    async fn ask_name(&self) -> Result<String, ConnectError>;

    /// Asks what the node is and what its model takes.
    async fn describe(&self) -> Result<Described, ConnectError>;

    /// Claims the node for one run, and returns its terms for each tenant; [`ConnectError::Busy`] when another run has
    /// it.
    async fn claim(&self, claim: &Claim) -> Result<Vec<Claimed>, ConnectError>;

    /// Tells the node that no more samples come for now; returns when it has answered `samples_sent` samples.
    async fn flush(&self, pass: &RunPass, samples_sent: u64) -> Result<(), ConnectError>;

    /// Ends the run there; the node's counters, or why there are none.
    async fn end_run(&self, pass: &RunPass) -> Result<SutCounts, String>;

    /// Returns the CPU time and counters of the node's end of a probe until now, or the reason why they are not known.
    async fn probe_counters(&self, _pass: &RunPass) -> Result<EndCounters, String> {
        Err("nodes of its kind have no such call".to_owned())
    }

    /// Has the node probe another one, under a claim to probe; what it found, or why it does not.
    async fn probe_peer(&self, _pass: &RunPass, _order: &PeerOrder) -> Result<PeerResult, String> {
        Err("nodes of its kind have no such call".to_owned())
    }

    /// Bytes that have crossed the control connection until now, in and out.
    fn traffic(&self) -> (u64, u64);

    /// One timed round trip for the name. A failure is its outcome, not an error.
    async fn name_trip(&self) -> NameTrip {
        let started = clock::now();
        let answer = self.ask_name().await;
        let rtt = clock::since(started);
        NameTrip { name: answer.map_err(|error| error.to_string()), rtt }
    }
}

/// A node's description, and what its answers are held against.
#[derive(Debug)]
pub(crate) struct Described {
    pub(crate) node: NodeDescription,
    /// Empty for SUT nodes: their answers are held against the outputs in `node`.
    pub(crate) promise: Arc<Promise>,
}

/// Contents of a claim on a node.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub(crate) run_id: Bytes,
    /// Name of the client, which the node shows to others while it is taken.
    pub(crate) client: String,
    pub(crate) purpose: Purpose,
}

/// Purpose of a claim on a node.
#[derive(Clone, Debug)]
pub(crate) enum Purpose {
    /// A run of one tenant, which asks the node's first model.
    Run(RunCodecs),
    /// A run of several tenants.
    Tenants(Vec<Tenant>),
    /// To measure the fabric.
    Probe,
}

impl Purpose {
    /// Number of tenants, each of which has terms of its own.
    pub(crate) fn tenants(&self) -> usize {
        match self {
            Purpose::Run(_) | Purpose::Probe => 1,
            Purpose::Tenants(tenants) => tenants.len(),
        }
    }
}

/// Codecs of samples and answers, as the wire names them; empty: none.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunCodecs {
    pub(crate) samples: String,
    pub(crate) answers: String,
}

/// One tenant of a run.
#[derive(Clone, Debug)]
pub(crate) struct Tenant {
    /// Name of the model at the node.
    pub(crate) model: String,
    pub(crate) codecs: RunCodecs,
}

/// Terms of a node that has been claimed, for one tenant.
#[derive(Clone, Debug)]
pub(crate) struct Claimed {
    /// Bounds of the node: the most that it takes at one time.
    pub(crate) bounds: Bounds,
    /// The field of its bounds that is 0, if one is: nothing could be sent to it.
    pub(crate) zero: Option<&'static str>,
    /// Pass that this node wants with each call from now on.
    pub(crate) pass: RunPass,
}

/// One round trip for a node's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameTrip {
    /// The name it gave, or why it gave none.
    pub name: Result<String, String>,
    /// From sending to receiving.
    pub rtt: Duration,
}

impl NameTrip {
    /// The nonce came back as it was sent: a name with another nonce counts as none.
    pub fn nonce_ok(&self) -> bool {
        self.name.is_ok()
    }
}
