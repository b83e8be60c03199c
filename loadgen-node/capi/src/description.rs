//! Description that `lon_describe` returns, as JSON.

use serde::Serialize;

/// A dataset, and in a run its nodes.
#[derive(Debug, Serialize)]
pub(crate) struct Description {
    /// The benchmark's name.
    pub(crate) benchmark: &'static str,
    /// The dataset: a path, a built-in name, or `synthetic:` with what is generated.
    pub(crate) dataset: String,
    /// Samples of the dataset.
    pub(crate) total_count: usize,
    /// Samples that fit into memory together.
    pub(crate) performance_count: usize,
    /// The codec of samples; `none` without.
    pub(crate) codec: String,
    /// Benchmark and scenario; null without nodes.
    pub(crate) title: Option<String>,
    /// The nodes in the order given; empty without nodes.
    pub(crate) nodes: Vec<NodeDescription>,
}

/// A SUT node, as it described itself.
#[derive(Debug, Serialize)]
pub(crate) struct NodeDescription {
    /// Its unique name.
    pub(crate) name: String,
    /// Its address, `host:port`.
    pub(crate) address: String,
    /// Its program and version.
    pub(crate) software: String,
    /// Engine that runs its model, with its version.
    pub(crate) engine: String,
    /// Its model's name.
    pub(crate) model: String,
}

impl From<&qdl::NodeDescription> for NodeDescription {
    fn from(node: &qdl::NodeDescription) -> NodeDescription {
        NodeDescription {
            name: node.name.clone(),
            address: node.address.to_string(),
            software: node.software.clone(),
            engine: node.engine.clone(),
            model: node.model.clone(),
        }
    }
}
