//! Who and what a node is: for its clients (`Describe`), and for people and scripts (`sut-node describe`).

use lon_net::host::Host;
use lon_proto::WIRE_VERSION;
use lon_proto::node_name::NodeName;
use lon_proto::v1::{self, DescribeResponse};
use lon_shell::documents::HostDocument;
use serde::Serialize;

use crate::backend::{Backend, BackendInfo};
use crate::host;
use crate::pipeline::images;
use crate::run::codecs;
use crate::tensor::{Signature, TensorSpec};

/// The program and its version.
pub(crate) const SOFTWARE: &str = concat!("sut-node ", env!("CARGO_PKG_VERSION"));

/// What has to be sent to a node of this backend. One that pre-processes takes images, not what the model takes.
pub(crate) fn inputs(info: &BackendInfo, preprocesses: bool) -> Signature {
    if preprocesses { images::inputs() } else { info.inputs.clone() }
}

/// One text for each tensor of a signature: `name dtype[dims]`.
pub(crate) fn texts(specs: &[TensorSpec]) -> Vec<String> {
    specs.iter().map(ToString::to_string).collect()
}

/// The answer to `Describe`.
pub(crate) fn describe(node: &NodeName, backend: &dyn Backend, preprocesses: bool) -> DescribeResponse {
    let info = backend.info();
    DescribeResponse {
        wire_version: WIRE_VERSION,
        name: node.to_string(),
        software: SOFTWARE.to_owned(),
        host: Some(host::message(Host::here())),
        backend: Some(v1::Backend {
            engine: info.engine.clone(),
            model: info.model.clone(),
            model_sha256: info.model_sha256.clone().unwrap_or_default(),
            inputs: inputs(info, preprocesses).iter().map(Into::into).collect(),
            outputs: info.outputs.iter().map(Into::into).collect(),
        }),
        codecs: codecs::known(preprocesses).map(str::to_owned).collect(),
    }
}

/// The version of [`Description`].
const SCHEMA: u32 = 1;

/// What `sut-node describe` prints, as JSON.
#[derive(Debug, Serialize)]
pub(crate) struct Description {
    /// Version of this form.
    schema: u32,
    /// The name of the node.
    name: String,
    /// The program and its version.
    software: &'static str,
    /// The version of the wire contract.
    wire_version: u32,
    backend: BackendDescription,
    /// The codecs that the node knows, by name.
    codecs: Vec<&'static str>,
    host: HostDocument,
}

/// What answers the samples.
#[derive(Debug, Serialize)]
struct BackendDescription {
    /// What runs the model, with its version.
    engine: String,
    /// The model's file name; empty when there is none.
    model: String,
    /// SHA-256 of the model file, hexadecimal; null when there is none.
    model_sha256: Option<String>,
    /// What a sample must have, one tensor each.
    inputs: Vec<String>,
    /// What an answer has, one tensor each.
    outputs: Vec<String>,
}

impl Description {
    /// Describes a node that does not serve.
    pub(crate) fn new(node: &NodeName, backend: &dyn Backend, preprocesses: bool) -> Description {
        let info = backend.info();
        let mut host = HostDocument::from(&Host::here());
        // A speed that the driver does not claim is 0 here, as it is in `Describe`.
        host.nics.iter_mut().for_each(|nic| nic.speed_mbit_s = nic.speed_mbit_s.or(Some(0)));
        Description {
            schema: SCHEMA,
            name: node.to_string(),
            software: SOFTWARE,
            wire_version: WIRE_VERSION,
            backend: BackendDescription {
                engine: info.engine.clone(),
                model: info.model.clone(),
                model_sha256: info.model_sha256.clone(),
                inputs: texts(&inputs(info, preprocesses)),
                outputs: texts(&info.outputs),
            },
            codecs: codecs::known(preprocesses).collect(),
            host,
        }
    }
}
