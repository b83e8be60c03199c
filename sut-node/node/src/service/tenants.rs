//! Tenants of a claim, as `StartRun` asks for them: each with a model, codecs and a share of the node's limits.

use lon_proto::node_name::NodeName;
use lon_proto::text::printable_within;
use lon_proto::v1::{StartRunRequest, StartRunResponse, TenantTerms};
use tonic::Status;

use super::models::{ServedModel, ServedModels};
use crate::config::{Limits, ServeConfig};
use crate::pipeline::Preprocessing;
use crate::run::codecs::Codecs;
use crate::run::state::{ClaimedRun, Purpose};
use crate::work::threads::INLINE_BUSY_SAMPLES;

/// The most tenants of one claim.
const MAX_TENANTS: usize = 16;

/// The most characters that an error shows of a model's name.
const MAX_NAME_CHARS: usize = 64;

/// One tenant that is asked for.
pub(crate) struct Tenant {
    /// The number of its model.
    pub(crate) model: usize,
    /// Its name, for people; none where the request has no tenants.
    pub(crate) title: Option<String>,
    pub(crate) limits: Limits,
    pub(crate) purpose: Purpose,
}

/// The tenants that `request` asks for: one of the first model where it names none.
///
/// # Errors
/// There are too many, a model is not known here, or codecs cannot be had.
pub(crate) fn of_request(
    request: &StartRunRequest,
    config: &ServeConfig,
    models: &ServedModels,
) -> Result<Vec<Tenant>, Status> {
    let StartRunRequest { tenants, codec, response_codec, .. } = request;
    let node = &config.node;
    if tenants.is_empty() {
        let codecs = agreed(codec, response_codec, node, models.first())?;
        return Ok(vec![Tenant { model: 0, title: None, limits: config.limits, purpose: Purpose::Run(codecs) }]);
    }
    if tenants.len() > MAX_TENANTS {
        let count = tenants.len();
        return Err(Status::invalid_argument(format!("{count} tenants: node {node} takes {MAX_TENANTS} at most")));
    }
    let limits = share(config.limits, tenants.len() as u64);
    let tenant = |(place, tenant): (usize, &lon_proto::v1::Tenant)| {
        let (number, model) = models.named(&tenant.model).ok_or_else(|| unknown(&tenant.model, node, models))?;
        let codecs = agreed(&tenant.codec, &tenant.response_codec, node, model);
        let title = format!("tenant {} ({})", place + 1, model.name);
        let codecs = codecs.map_err(|status| Status::new(status.code(), format!("{title}: {}", status.message())))?;
        Ok(Tenant { model: number, title: Some(title), limits, purpose: Purpose::Run(codecs) })
    };
    tenants.iter().enumerate().map(tenant).collect()
}

/// The only tenant of a probe, with these limits.
pub(crate) fn of_probe(limits: Limits) -> Vec<Tenant> {
    vec![Tenant { model: 0, title: None, limits, purpose: Purpose::Probe }]
}

/// The answer to the claim of these tenants. Each has its own terms where the request `names_tenants`.
pub(crate) fn response<'a>(
    runs: impl IntoIterator<Item = &'a ClaimedRun>,
    models: &ServedModels,
    names_tenants: bool,
) -> StartRunResponse {
    let terms: Vec<TenantTerms> = runs.into_iter().map(|run| terms(run, models)).collect();
    let first = terms.first().cloned().unwrap_or_default();
    StartRunResponse {
        max_samples_in_flight: first.max_samples_in_flight,
        max_bytes_in_flight: first.max_bytes_in_flight,
        max_sample_bytes: first.max_sample_bytes,
        busy_samples: first.busy_samples,
        secret: first.secret,
        tenants: if names_tenants { terms } else { Vec::new() },
    }
}

fn terms(run: &ClaimedRun, models: &ServedModels) -> TenantTerms {
    TenantTerms {
        max_samples_in_flight: run.limits.max_samples_in_flight,
        max_bytes_in_flight: run.limits.max_bytes_in_flight,
        max_sample_bytes: run.limits.max_sample_bytes,
        busy_samples: if run.is_probe { INLINE_BUSY_SAMPLES } else { models.of(run).busy_samples() },
        secret: run.pass.secret().clone(),
    }
}

fn agreed(codec: &str, response_codec: &str, node: &NodeName, model: &ServedModel) -> Result<Codecs, Status> {
    let takes_files = model.config.preprocess.as_ref().is_some_and(Preprocessing::takes_files);
    Codecs::agreed(codec, response_codec, node, &model.backend.info().outputs, takes_files)
}

fn unknown(name: &str, node: &NodeName, models: &ServedModels) -> Status {
    let name = printable_within(name, MAX_NAME_CHARS);
    Status::invalid_argument(format!("node {node} has no model '{name}' (its models: {})", models.names()))
}

/// The limits of each of `count` tenants: equal shares, none of them 0. A sample is within the share.
fn share(limits: Limits, count: u64) -> Limits {
    let of = |all: u64| (all / count).max(1);
    let max_bytes_in_flight = of(limits.max_bytes_in_flight);
    Limits {
        max_samples_in_flight: of(limits.max_samples_in_flight),
        max_bytes_in_flight,
        max_sample_bytes: limits.max_sample_bytes.min(max_bytes_in_flight),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenants_share_the_limits_evenly() {
        let limits = Limits { max_samples_in_flight: 100, max_bytes_in_flight: 1000, max_sample_bytes: 400 };
        let shares = |count| {
            let Limits { max_samples_in_flight, max_bytes_in_flight, max_sample_bytes } = share(limits, count);
            (max_samples_in_flight, max_bytes_in_flight, max_sample_bytes)
        };
        assert_eq!(shares(1), (100, 1000, 400));
        assert_eq!(shares(3), (33, 333, 333));
        assert_eq!(shares(2000), (1, 1, 1));
    }
}
