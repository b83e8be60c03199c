//! Check of the claim of a node, and of the access to the run.

use lon_proto::limits::{RUN_ID_BYTES, SECRET_BYTES};
use lon_proto::run_identity::RunPass;
use lon_proto::v1::StartRunResponse;
use tonic::{Code, Status};

use super::caller::{Caller, random_bytes};
use super::notes::{Notes, refused, status_text};
use super::rules::{CLAIM_BUSY, CODEC_UNKNOWN, RUN_UNKNOWN, Rule, SECRET_WRONG, START_BOUNDS, START_SECRET};
use super::tenants;
use crate::control::NodeDescription;
use crate::error::ConnectError;

/// A codec that no node knows.
const NO_CODEC: &str = "no-such-codec";

/// A claim of ours, which is to be ended.
pub(super) struct Claim {
    pub(super) pass: RunPass,
    /// Bounds of the node: the most that it takes at one time.
    pub(super) bounds: StartRunResponse,
}

/// Claims the node, and tries what must be refused meanwhile; `None` when it cannot be claimed.
///
/// # Errors
/// Somebody else has the node.
pub(super) async fn check(
    caller: &Caller,
    node: &NodeDescription,
    models: &[String],
    notes: &mut Notes,
) -> Result<Option<Claim>, ConnectError> {
    let unknown = caller.start(NO_CODEC).await;
    if let Err(status) = &unknown
        && status.code() == Code::ResourceExhausted
    {
        return Err(caller.refused("StartRun", status));
    }
    notes.judge(&CODEC_UNKNOWN, unknown_codec(caller, unknown, node).await);
    tenants::check(caller, models, notes).await;
    let (pass, bounds) = match caller.start("").await {
        Ok(claimed) => claimed,
        Err(status) if status.code() == Code::ResourceExhausted => return Err(caller.refused("StartRun", &status)),
        Err(status) => {
            notes.judge(&START_BOUNDS, Err(format!("StartRun failed with {}", status_text(&status))));
            notes.stop("the node cannot be claimed");
            return Ok(None);
        }
    };
    notes.judge(&START_BOUNDS, above_zero(&bounds));
    let len = bounds.secret.len();
    let says = format!("{len} bytes");
    notes.judge(&START_SECRET, if len == SECRET_BYTES { Ok(says) } else { Err(says) });
    match caller.start_again().await {
        Ok((other, _)) => {
            notes.judge(&CLAIM_BUSY, Err("a second StartRun was accepted".to_owned()));
            let _ = caller.end(&other).await;
        }
        busy => notes.judge(&CLAIM_BUSY, refused("a second StartRun", Code::ResourceExhausted, busy)),
    }
    strangers(caller, &pass, notes).await;
    Ok(Some(Claim { pass, bounds }))
}

/// Judges the node's answer to a claim with a codec that it does not know. Ends the claim if the node makes it all the
/// same.
async fn unknown_codec(
    caller: &Caller,
    outcome: Result<(RunPass, StartRunResponse), Status>,
    node: &NodeDescription,
) -> Result<String, String> {
    match outcome {
        Ok((pass, _)) => {
            let _ = caller.end(&pass).await;
            Err(format!("'{NO_CODEC}' was accepted; Describe names {}", node.codecs.join(", ")))
        }
        Err(status) => Ok(format!("'{NO_CODEC}': {}", status_text(&status))),
    }
}

fn above_zero(bounds: &StartRunResponse) -> Result<String, String> {
    let StartRunResponse { max_samples_in_flight, max_bytes_in_flight, max_sample_bytes, busy_samples, .. } = bounds;
    let says = format!(
        "{max_samples_in_flight} samples and {max_bytes_in_flight} bytes in flight, {max_sample_bytes} bytes a \
         sample, {busy_samples} samples keep it busy"
    );
    let all = [max_samples_in_flight, max_bytes_in_flight, max_sample_bytes, busy_samples];
    if all.iter().all(|&&bound| bound > 0) { Ok(says) } else { Err(says) }
}

/// Calls with passes that admit nobody.
async fn strangers(caller: &Caller, pass: &RunPass, notes: &mut Notes) {
    let passes = random_bytes(RUN_ID_BYTES).and_then(|run| Ok((run, random_bytes(SECRET_BYTES)?)));
    let Ok((run, secret)) = passes else { return };
    stranger(caller, &RunPass::new(run, pass.secret().clone()), "of another run", &RUN_UNKNOWN, notes).await;
    let run_id = pass.open().run_id;
    stranger(caller, &RunPass::new(run_id, secret), "with another secret", &SECRET_WRONG, notes).await;
}

/// The calls of a run, none of which may be accepted.
pub(super) async fn stranger(caller: &Caller, pass: &RunPass, how: &str, rule: &'static Rule, notes: &mut Notes) {
    let opened = match caller.open(pass).await {
        // Over gRPC the headers may have been sent before the run was looked for.
        Ok(mut stream) => stream.hear_end(caller.timeout()).await,
        Err(status) => Err(status),
    };
    notes.judge(rule, refused(&format!("Dispatch {how}"), Code::NotFound, opened));
    let flushed = tokio::time::timeout(caller.timeout(), caller.flush(pass, 0)).await;
    let flushed = flushed.unwrap_or_else(|_| Err(Status::deadline_exceeded("nothing came")));
    notes.judge(rule, refused(&format!("Flush {how}"), Code::NotFound, flushed));
    notes.judge(rule, refused(&format!("EndRun {how}"), Code::NotFound, caller.end(pass).await));
}
