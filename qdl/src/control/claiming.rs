//! Claims all nodes of a run, or none.
//!
//! A claim without streams lapses after a while, so no claim is held while another node is waited for: when a node is
//! busy, the others are let go, and the busy one is asked first from then on. All clients begin with the node whose own
//! name comes first, so that of several that want the same nodes one gets them all, and the others wait.

use std::sync::Arc;
use std::time::{Duration, Instant};

use lon_net::clock;
use lon_net::random;

use super::all_nodes;
use super::connect::RETRY_PAUSE;
use super::peer::{Claim, Claimed, Peer};
use crate::error::ConnectError;

/// A node that is to be claimed.
pub(crate) struct ClaimTarget {
    pub(crate) peer: Arc<dyn Peer>,
    /// The name that it gave itself.
    pub(crate) name: String,
    pub(crate) claim: Claim,
}

/// Claims every node; returns the terms of each for its tenants. While one is busy, tries again until `deadline`.
///
/// # Errors
/// The node that is busy when the time is up, or that cannot be claimed for another reason. No claim is left then.
pub(crate) async fn claim_all(targets: &[ClaimTarget], deadline: Instant) -> Result<Vec<Vec<Claimed>>, ConnectError> {
    let mut first = (0..targets.len()).min_by_key(|&index| &targets[index].name).ok_or(ConnectError::NoNodes)?;
    let mut was_logged = false;
    loop {
        match try_all(targets, first).await {
            Ok(claimed) => return Ok(claimed),
            Err(Failed { index: busy, error: error @ ConnectError::Busy { .. }, .. }) if clock::now() < deadline => {
                if !std::mem::replace(&mut was_logged, true) {
                    tracing::info!(%error, "waiting for a busy node");
                }
                first = busy;
                tokio::time::sleep(pause()).await;
            }
            Err(Failed { error, more, .. }) => return Err(error.and_more(more, targets.len())),
        }
    }
}

/// Why not all nodes were claimed.
struct Failed {
    /// The node that the error is about.
    index: usize,
    error: ConnectError,
    /// Number of other nodes that failed.
    more: usize,
}

/// Claims the node at `first`, then all others at one time; lets go what it got when one fails.
///
/// # Errors
/// A node that failed, and how: one that is not merely busy, if there is one.
async fn try_all(targets: &[ClaimTarget], first: usize) -> Result<Vec<Vec<Claimed>>, Failed> {
    let alone = |error| Failed { index: first, error, more: 0 };
    let mut gate = Some(targets[first].claim().await.map_err(alone)?);
    let others = targets.iter().enumerate().filter(|&(index, _)| index != first);
    let mut others = all_nodes::all(others.map(|(_, node)| node.claim())).await.into_iter();
    let (mut claimed, mut failed): (_, Option<Failed>) = (Vec::with_capacity(targets.len()), None);
    for (index, node) in targets.iter().enumerate() {
        let outcome = if index == first { gate.take().map(Ok) } else { others.next() };
        match outcome {
            Some(Ok(terms)) => claimed.push((node, terms)),
            Some(Err(error)) => {
                let more = failed.as_ref().map_or(0, |failed| failed.more + 1);
                failed = Some(match failed {
                    Some(before) if !is_busy(&before.error) || is_busy(&error) => Failed { more, ..before },
                    _ => Failed { index, error, more },
                });
            }
            None => {}
        }
    }
    match failed {
        None => Ok(claimed.into_iter().map(|(_, terms)| terms).collect()),
        Some(failure) => {
            all_nodes::all(claimed.iter().map(|(node, terms)| node.let_go(terms))).await;
            Err(failure)
        }
    }
}

impl ClaimTarget {
    async fn claim(&self) -> Result<Vec<Claimed>, ConnectError> {
        self.peer.claim(&self.claim).await
    }

    /// Ends a claim before its run has begun, instead of when it lapses.
    pub(crate) async fn let_go(&self, terms: &[Claimed]) {
        all_nodes::all(terms.iter().map(|tenant| self.peer.end_run(&tenant.pass))).await;
    }
}

fn is_busy(error: &ConnectError) -> bool {
    matches!(error, ConnectError::Busy { .. })
}

/// A pause that differs from client to client, so that two that were in each other's way are not so again.
fn pause() -> Duration {
    let share = random::u64().map_or(0.0, |number| number as f64 / u64::MAX as f64);
    RETRY_PAUSE.mul_f64(0.5 + share)
}
