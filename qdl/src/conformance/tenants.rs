//! Check of tenants: of a claim that names models of the node.

use std::collections::HashSet;

use bytes::Bytes;
use lon_proto::limits::SECRET_BYTES;
use lon_proto::run_identity::RunPass;
use lon_proto::v1::{StartRunResponse, TenantTerms};
use tonic::{Code, Status};

use super::caller::Caller;
use super::notes::{Notes, refused, status_text};
use super::rules::{MODEL_UNKNOWN, TENANTS};

/// A model that no node has.
const NO_MODEL: &str = "no-such-model";

/// Claims the node for tenants of its `models`, and leaves it free.
pub(super) async fn check(caller: &Caller, models: &[String], notes: &mut Notes) {
    let Some(model) = models.first() else {
        let why = "Describe names no models: the node knows no tenants";
        notes.not_seen(&MODEL_UNKNOWN, why);
        notes.not_seen(&TENANTS, why);
        return;
    };
    let unknown = caller.start_tenants(&[NO_MODEL]).await;
    if let Ok((run_id, response)) = &unknown {
        end_all(caller, run_id, response).await;
    }
    let what = format!("a tenant of '{NO_MODEL}'");
    notes.judge(&MODEL_UNKNOWN, refused(&what, Code::InvalidArgument, unknown));
    notes.judge(&TENANTS, two_tenants(caller, model).await);
}

/// Two tenants of one model: each has terms, and both have to end.
async fn two_tenants(caller: &Caller, model: &str) -> Result<String, String> {
    let claimed = caller.start_tenants(&[model, model]).await;
    let (run_id, response) = claimed.map_err(|status| format!("two tenants of '{model}': {}", status_text(&status)))?;
    let outcome = match terms(&response) {
        Ok([first, second]) => {
            ends(caller, &RunPass::new(run_id.clone(), first), &RunPass::new(run_id.clone(), second)).await
        }
        Err(why) => Err(why),
    };
    if outcome.is_err() {
        end_all(caller, &run_id, &response).await;
    }
    outcome
}

/// The secrets of both tenants.
fn terms(response: &StartRunResponse) -> Result<[Bytes; 2], String> {
    let [first, second] = response.tenants.as_slice() else {
        return Err(format!("terms of {} tenants came for 2", response.tenants.len()));
    };
    let is_bounded = |terms: &TenantTerms| {
        [terms.max_samples_in_flight, terms.max_bytes_in_flight, terms.max_sample_bytes].iter().all(|bound| *bound > 0)
    };
    if ![first, second].into_iter().all(is_bounded) {
        return Err("a tenant has a bound of 0".to_owned());
    }
    let secrets: HashSet<&Bytes> = [&first.secret, &second.secret].into();
    if secrets.len() < 2 || secrets.iter().any(|secret| secret.len() != SECRET_BYTES) {
        return Err(format!("the tenants have no secrets of their own with {SECRET_BYTES} bytes"));
    }
    Ok([first.secret.clone(), second.secret.clone()])
}

/// Ends one tenant after the other: the node is free after the second alone.
async fn ends(caller: &Caller, first: &RunPass, second: &RunPass) -> Result<String, String> {
    let failed =
        |which: &str, status: &Status| format!("EndRun of the {which} tenant failed with {}", status_text(status));
    caller.end(first).await.map_err(|status| failed("first", &status))?;
    let meanwhile = caller.start_again().await;
    if let Ok((other, _)) = &meanwhile {
        let _ = caller.end(other).await;
    }
    refused("StartRun beside a tenant that goes on", Code::ResourceExhausted, meanwhile)?;
    caller.end(second).await.map_err(|status| failed("second", &status))?;
    let (free, _) =
        caller.start_again().await.map_err(|status| format!("not free after both: {}", status_text(&status)))?;
    let _ = caller.end(&free).await;
    Ok("2 tenants".to_owned())
}

/// Ends whatever the node has begun.
async fn end_all(caller: &Caller, run_id: &Bytes, response: &StartRunResponse) {
    let secrets = response.tenants.iter().map(|terms| &terms.secret).chain([&response.secret]);
    for secret in secrets {
        let _ = caller.end(&RunPass::new(run_id.clone(), secret.clone())).await;
    }
}
