//! Claims all nodes of a run, or none.
//!
//! A claim without streams lapses after a while, so no claim is held while another node is waited for: when a node is
//! busy, the others are let go, and the busy one is asked first from then on. All clients begin with the node whose own
//! name comes first, so that of several that want the same nodes one gets them all, and the others wait.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use lon_net::clock;
use lon_net::random;

use super::connect::RETRY_PAUSE;
use super::peer::{Claim, Claimed, Peer};
use crate::error::ConnectError;

/// Claims every node; `names` are the names that the nodes gave themselves. While one is busy, tries again until
/// `deadline`.
///
/// # Errors
/// The node that is busy when the time is up, or that cannot be claimed for another reason. No claim is left then.
pub(crate) async fn claim_all(
    peers: &[Arc<dyn Peer>],
    names: &[String],
    claim: &Claim,
    deadline: Instant,
) -> Result<Vec<Claimed>, ConnectError> {
    let mut first = (0..peers.len()).min_by_key(|&index| names.get(index)).ok_or(ConnectError::NoNodes)?;
    let mut said_so = false;
    loop {
        match try_all(peers, first, claim).await {
            Ok(claimed) => return Ok(claimed),
            Err((busy, error @ ConnectError::Busy { .. })) if clock::now() < deadline => {
                if !std::mem::replace(&mut said_so, true) {
                    tracing::info!(%error, "waiting for a busy node");
                }
                first = busy;
                tokio::time::sleep(pause()).await;
            }
            Err((_, error)) => return Err(error),
        }
    }
}

/// Claims the node at `first`, then all others at one time; lets go what it got when one fails.
///
/// # Errors
/// A node that failed, and how: one that is not merely busy, if there is one.
async fn try_all(peers: &[Arc<dyn Peer>], first: usize, claim: &Claim) -> Result<Vec<Claimed>, (usize, ConnectError)> {
    let mut gate = Some(peers[first].claim(claim).await.map_err(|error| (first, error))?);
    let others = peers.iter().enumerate().filter(|&(index, _)| index != first);
    let mut others = join_all(others.map(|(_, peer)| peer.claim(claim))).await.into_iter();
    let (mut claimed, mut failed) = (Vec::with_capacity(peers.len()), None);
    for (index, peer) in peers.iter().enumerate() {
        let outcome = if index == first { gate.take().map(Ok) } else { others.next() };
        match outcome {
            Some(Ok(node)) => claimed.push((peer, node)),
            Some(Err(error)) if failed.is_none() || !matches!(error, ConnectError::Busy { .. }) => {
                failed = Some((index, error));
            }
            _ => {}
        }
    }
    match failed {
        None => Ok(claimed.into_iter().map(|(_, node)| node).collect()),
        Some(failure) => {
            join_all(claimed.iter().map(|(peer, node)| peer.end_run(&node.pass))).await;
            Err(failure)
        }
    }
}

/// A pause that differs from client to client, so that two that were in each other's way are not so again.
fn pause() -> Duration {
    let share = random::u64().map_or(0.0, |number| number as f64 / u64::MAX as f64);
    RETRY_PAUSE.mul_f64(0.5 + share)
}
