//! The nodes of a model, wherever they stand.

use tract_onnx::pb::{ModelProto, NodeProto};

/// All nodes of a model, those inside of others and of functions too.
pub(super) fn nodes(model: &ModelProto) -> Vec<&NodeProto> {
    let functions = model.functions.iter().flat_map(|function| &function.node);
    let mut nodes: Vec<&NodeProto> = model.graph.iter().flat_map(|graph| &graph.node).chain(functions).collect();
    let mut at = 0;
    while let Some(&node) = nodes.get(at) {
        let graphs = node.attribute.iter().flat_map(|attribute| attribute.g.iter().chain(&attribute.graphs));
        nodes.extend(graphs.flat_map(|graph| &graph.node));
        at += 1;
    }
    nodes
}
