//! Claims all nodes of a run, or none.
//!
//! A claim without streams lapses after a while, so no claim is held while another node is waited for: when a node is
//! busy, the others are let go, and the busy one is asked first from then on. All clients begin with the node whose own
//! name comes first, so that of several that want the same nodes one gets them all, and the others wait.

use std::sync::Arc;
use std::time::{Duration, Instant};

use lon_net::clock;
use lon_net::random;

use super::connect::RETRY_PAUSE;
use super::many;
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
            Err(Failed { index: busy, error: error @ ConnectError::Busy { .. }, .. }) if clock::now() < deadline => {
                if !std::mem::replace(&mut said_so, true) {
                    tracing::info!(%error, "waiting for a busy node");
                }
                first = busy;
                tokio::time::sleep(pause()).await;
            }
            Err(Failed { error, more, .. }) => return Err(error.and_more(more, peers.len())),
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
async fn try_all(peers: &[Arc<dyn Peer>], first: usize, claim: &Claim) -> Result<Vec<Claimed>, Failed> {
    let alone = |error| Failed { index: first, error, more: 0 };
    let mut gate = Some(peers[first].claim(claim).await.map_err(alone)?);
    let others = peers.iter().enumerate().filter(|&(index, _)| index != first);
    let mut others = many::all(others.map(|(_, peer)| peer.claim(claim))).await.into_iter();
    let (mut claimed, mut failed): (_, Option<Failed>) = (Vec::with_capacity(peers.len()), None);
    for (index, peer) in peers.iter().enumerate() {
        let outcome = if index == first { gate.take().map(Ok) } else { others.next() };
        match outcome {
            Some(Ok(node)) => claimed.push((peer, node)),
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
        None => Ok(claimed.into_iter().map(|(_, node)| node).collect()),
        Some(failure) => {
            many::all(claimed.iter().map(|(peer, node)| peer.end_run(&node.pass))).await;
            Err(failure)
        }
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
