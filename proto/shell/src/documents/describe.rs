//! The output of `sut-node describe`: a node that does not serve, and its backend.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use lon_machine::host::Host;

/// The version of [`DescribeDocument`].
pub const DESCRIBE_SCHEMA: u32 = 1;

/// The whole document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DescribeDocument {
    /// Version of this form: 1.
    #[cfg_attr(feature = "schema", schemars(extend("const" = DESCRIBE_SCHEMA)))]
    pub schema: u32,
    /// The name of the node.
    pub name: String,
    /// The program and its version.
    pub software: String,
    /// The version of the wire contract.
    pub wire_version: u32,
    /// The backend that answers the samples.
    pub backend: BackendDocument,
    /// The codecs that the node knows, by name.
    pub codecs: Vec<String>,
    /// The machine that it runs on.
    pub host: Host,
    /// With `--try`: each engine, and whether it can run the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<TriedEngine>,
}

/// An engine that a model was tried with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TriedEngine {
    /// The engine, with its version where it could be opened.
    pub engine: String,
    /// True where it can run the model.
    pub runs: bool,
    /// The reason why not; null where it can.
    pub reason: Option<String>,
}

/// The backend that answers the samples.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BackendDocument {
    /// Engine that runs the model, with its version.
    pub engine: String,
    /// The model's file name; empty when there is none.
    pub model: String,
    /// SHA-256 of the model file, hexadecimal; null when there is none.
    pub model_sha256: Option<String>,
    /// Bytes of the model file; null when there is none.
    pub model_bytes: Option<u64>,
    /// The backend's options by name.
    pub settings: BTreeMap<String, String>,
    /// Tensors that a sample must have, one in each entry.
    pub inputs: Vec<String>,
    /// Tensors that an answer has, one in each entry.
    pub outputs: Vec<String>,
}
