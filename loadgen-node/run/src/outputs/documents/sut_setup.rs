//! Set-up of a SUT node: part of `result_summary.json` and of `system_desc.json`.

use lon_machine::host::Host;
use qdl::NodeDescription;
use serde::{Deserialize, Serialize};

use super::ordered_map;

/// Set-up of one SUT node, as the node reported it before the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SutSetup {
    /// The node's unique name.
    pub name: String,
    /// The program and its version.
    pub software: String,
    /// Build of the program; null where the node does not report it.
    pub build: Option<BuildDocument>,
    /// Engine that runs the model, with its version.
    pub engine: String,
    /// The model's name.
    pub model: String,
    /// SHA-256 of the model file, hexadecimal; null when there is none.
    pub model_sha256: Option<String>,
    /// Bytes of the model file; null when there is none.
    pub model_bytes: Option<u64>,
    /// Tensors that a sample must have, with the precision of each; empty when anything is taken.
    pub inputs: Vec<String>,
    /// Tensors that an answer has; empty when the node does not say.
    pub outputs: Vec<String>,
    /// Options of the node and of its backend; empty where the node does not tell.
    #[serde(with = "ordered_map")]
    #[cfg_attr(test, schemars(with = "std::collections::BTreeMap<String, String>"))]
    pub settings: Vec<(String, String)>,
}

/// A SUT node and the machine that it runs on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SutNode {
    /// Set-up of the node.
    #[serde(flatten)]
    pub setup: SutSetup,
    /// The machine that it runs on.
    #[serde(default)]
    pub host: Host,
}

/// Build of a program. A null field is one that the node does not report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BuildDocument {
    /// The version of the program.
    pub version: String,
    /// The revision of its source.
    pub revision: Option<String>,
    /// The digest of the container image that it ran in.
    pub image_digest: Option<String>,
    /// Features that were built in beside the rest.
    pub features: Vec<String>,
}

impl From<&NodeDescription> for SutSetup {
    fn from(node: &NodeDescription) -> SutSetup {
        let build = node.build.clone().map(|build| BuildDocument {
            version: build.version,
            revision: optional_text(build.revision),
            image_digest: optional_text(build.image_digest),
            features: build.features,
        });
        SutSetup {
            name: node.name.clone(),
            software: node.software.clone(),
            build,
            engine: node.engine.clone(),
            model: node.model.clone(),
            model_sha256: optional_text(node.model_sha256.clone()),
            model_bytes: node.model_bytes,
            inputs: node.inputs.iter().map(ToString::to_string).collect(),
            outputs: node.outputs.iter().map(ToString::to_string).collect(),
            settings: node.settings.iter().map(|setting| (setting.name.clone(), setting.value.clone())).collect(),
        }
    }
}

impl From<&NodeDescription> for SutNode {
    fn from(node: &NodeDescription) -> SutNode {
        SutNode { setup: SutSetup::from(node), host: node.host.clone() }
    }
}

fn optional_text(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}
