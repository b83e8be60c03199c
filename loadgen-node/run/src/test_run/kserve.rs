//! Servers that speak KServe's protocol and are no SUT nodes: what they cannot do, and how samples are made to fit
//! their model.

use anyhow::bail;
use lon_qsl::dataset::Dataset;
use qdl::{NodeDescription, Payload, PeerKind};

use super::spec::Codecs;
use loadgen::plan::Plan;

/// Refuses what nodes of this kind cannot do, before they are asked anything.
pub(super) fn check(kind: PeerKind, codecs: Codecs, probe: bool, plan: &Plan) -> anyhow::Result<()> {
    if !kind.has_codecs && codecs != Codecs::default() {
        let flag = if codecs.samples.is_none() { "--response-compression" } else { "--compression" };
        bail!("{flag}: KServe's protocol knows no codec, so that samples and answers go as they are (none)");
    }
    if probe && kind.no_probe.is_some() {
        bail!("--probe: {}", no_probe());
    }
    if kind.payload == Payload::KserveRequest && plan.effective().settings.use_token_latencies {
        bail!(
            "use_token_latencies: a call of KServe's protocol has one answer and no first token; a SUT node in front \
             of the model (sut-node serve) can tell"
        );
    }
    Ok(())
}

/// Why the fabric to such servers is not measured.
pub fn no_probe() -> &'static str {
    "servers of KServe's protocol cannot be probed, they have no such call: put a SUT node (sut-node serve --backend \
     null) on that host and probe it"
}

/// Makes the dataset's samples into requests that all of the servers take.
pub(super) fn fit(dataset: &mut Dataset, nodes: &[NodeDescription], inputs: &[String]) -> anyhow::Result<()> {
    let Some((first, others)) = nodes.split_first() else { return Ok(()) };
    if let Some(other) = others.iter().find(|other| other.inputs != first.inputs) {
        let inputs_text = |node: &NodeDescription| match node.inputs.to_string() {
            nothing if nothing.is_empty() => "nothing".to_owned(),
            inputs => inputs,
        };
        bail!(
            "servers {} and {} say different things of the inputs of model '{}': {} and {}",
            first.name,
            other.name,
            first.model,
            inputs_text(first),
            inputs_text(other)
        );
    }
    let message =
        || format!("model '{}' of server {} ({}) does not fit the dataset", first.model, first.name, first.address);
    // Where both ends have names nobody has to give them.
    let own_order = if inputs.is_empty() { dataset.other_order(&first.inputs) } else { None };
    if let Some(order) = &own_order {
        tracing::info!(model = first.model, inputs = order.join(", "), "a sample's tensors are found by their names");
    }
    let inputs = own_order.as_deref().unwrap_or(inputs);
    dataset
        .set_kserve(&first.model, &first.inputs, inputs)
        .map_err(|error| anyhow::Error::new(error).context(message()))
}
