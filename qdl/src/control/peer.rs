//! The control side of one node, whatever kind of node it is.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use futures_util::future::try_join_all;
use lon_proto::v1::StartRunResponse;

use crate::config::Config;
use crate::control::{Control, NameTrip, Purpose};
use crate::describe::NodeDescription;
use crate::error::ConnectError;
use crate::kserve::{self, Promise};
use crate::report::SutCounts;

/// Who is asked. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) enum Contact {
    /// A SUT node.
    Node(Control),
    /// A server that speaks KServe's protocol: nothing is claimed, flushed or ended there.
    Kserve(kserve::Server),
}

impl Contact {
    /// All nodes of `config`, in their order, each with its name: a node that does not say it is not there yet.
    pub(crate) async fn reach_all(config: &Config) -> Result<Vec<(Contact, String)>, ConnectError> {
        let Some(kserve) = &config.kserve else {
            let controls = config.nodes.iter().map(|node| Control::reach(node.clone(), config));
            let reached = try_join_all(controls).await?;
            return Ok(reached.into_iter().map(|(control, name)| (Contact::Node(control), name)).collect());
        };
        let servers = config
            .nodes
            .iter()
            .zip(&kserve.names)
            .map(|(node, name)| kserve::Server::reach(node.clone(), name.clone(), kserve.model.clone(), config));
        let reached = try_join_all(servers).await?;
        Ok(reached.into_iter().map(|(server, name)| (Contact::Kserve(server), name)).collect())
    }

    /// What answers are held against, as the node described itself; nodes of ours are held against their dataset.
    pub(crate) fn promise(&self) -> Arc<Promise> {
        match self {
            Contact::Node(_) => Arc::default(),
            Contact::Kserve(server) => server.promise(),
        }
    }

    /// One timed round trip for the name, whatever comes of it.
    pub(crate) async fn name(&self) -> NameTrip {
        match self {
            Contact::Node(control) => control.name().await,
            Contact::Kserve(server) => server.name().await,
        }
    }

    pub(crate) async fn describe(&self) -> Result<NodeDescription, ConnectError> {
        match self {
            Contact::Node(control) => control.describe().await,
            Contact::Kserve(server) => server.describe().await,
        }
    }

    /// Claims the node; a busy node is asked again until `deadline`.
    pub(crate) async fn claim(
        &self,
        run_id: Bytes,
        client: String,
        purpose: Purpose,
        deadline: Instant,
    ) -> Result<StartRunResponse, ConnectError> {
        match self {
            Contact::Node(control) => control.claim(run_id, client, purpose, deadline).await,
            Contact::Kserve(server) => server.check().await.map(|()| kserve::bounds()),
        }
    }

    /// Bytes in and out on the control connection until now.
    pub(crate) fn traffic(&self) -> (u64, u64) {
        match self {
            Contact::Node(control) => control.traffic(),
            Contact::Kserve(server) => server.traffic(),
        }
    }

    /// Returns when the node has answered `samples_sent` samples, if it is one that waits for more.
    pub(crate) async fn flush(&self, run_id: Bytes, samples_sent: u64) -> Result<(), ConnectError> {
        match self {
            Contact::Node(control) => control.flush(run_id, samples_sent).await,
            Contact::Kserve(_) => Ok(()),
        }
    }

    /// Ends the run there; the node's counters, or why there are none.
    pub(crate) async fn end_run(&self, run_id: Bytes) -> Result<SutCounts, String> {
        match self {
            Contact::Node(control) => control.end_run(run_id).await.map(SutCounts::from).map_err(|e| e.to_string()),
            Contact::Kserve(_) => Err(kserve::NO_COUNTERS.to_owned()),
        }
    }
}
