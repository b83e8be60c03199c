//! Who and what a node is: for the wire, and for people and scripts.

use lon_proto::WIRE_VERSION;
use lon_proto::v1::{self, DescribeResponse};

use crate::backend::Backend;
use crate::pipeline::images;
use crate::run::codecs;
use crate::{NodeName, host, tensor};

pub(crate) fn describe(node: &NodeName, backend: &dyn Backend, preprocesses: bool) -> DescribeResponse {
    let info = backend.info();
    let inputs = if preprocesses { images::inputs() } else { info.inputs.clone() };
    DescribeResponse {
        wire_version: WIRE_VERSION,
        name: node.to_string(),
        software: concat!("sut-node ", env!("CARGO_PKG_VERSION")).to_owned(),
        host: Some(host::describe()),
        backend: Some(v1::Backend {
            engine: info.engine.clone(),
            model: info.model.clone(),
            model_sha256: info.model_sha256.clone().unwrap_or_default(),
            inputs: inputs.iter().map(Into::into).collect(),
            outputs: info.outputs.iter().map(Into::into).collect(),
        }),
        codecs: codecs::known(preprocesses).map(str::to_owned).collect(),
    }
}

/// The same for people and scripts: what `sut-node describe` prints.
pub(crate) fn describe_json(node: &NodeName, backend: &dyn Backend, preprocesses: bool) -> serde_json::Value {
    let described = describe(node, backend, preprocesses);
    let inputs = if preprocesses { images::inputs() } else { backend.info().inputs.clone() };
    let host = described.host.unwrap_or_default();
    let info = backend.info();
    let specs = |specs: &[tensor::TensorSpec]| specs.iter().map(ToString::to_string).collect::<Vec<_>>();
    let nics = host.nics.iter().map(|nic| {
        serde_json::json!({
            "name": nic.name, "driver": nic.driver, "speed_mbit_s": nic.speed_mbit_s, "mtu_bytes": nic.mtu_bytes,
            "link": nic.link, "device": nic.device,
        })
    });
    serde_json::json!({
        "schema": 1,
        "name": described.name,
        "software": described.software,
        "wire_version": described.wire_version,
        "backend": {
            "engine": info.engine,
            "model": info.model,
            "model_sha256": info.model_sha256,
            "inputs": specs(&inputs),
            "outputs": specs(&info.outputs),
        },
        "codecs": described.codecs,
        "host": {
            "hostname": host.hostname, "machine_id": host.machine_id, "boot_id": host.boot_id,
            "os": host.os, "kernel": host.kernel, "cpu": host.cpu, "cores": host.cores,
            "memory_bytes": host.memory_bytes, "nics": nics.collect::<Vec<_>>(),
        },
    })
}
