//! Models that tract would compute wrongly without a word are refused.
//!
//! tract 0.23.9 turns what stands between a `DequantizeLinear` and a `QuantizeLinear` into a table of 256 bytes, where
//! all of it works element by element. It takes a softmax for such an operator, which it is not: the attention of a
//! model that is quantised to 8 bits in this form would be nonsense.

use std::collections::{HashMap, HashSet};

use tract_onnx::pb::{GraphProto, ModelProto, NodeProto};

/// Checks that the model has nothing that tract is known to compute wrongly.
///
/// # Errors
/// A clause that names the node, and says what to do about it.
pub(super) fn refuse(model: &ModelProto) -> Result<(), String> {
    model.graph.iter().try_for_each(graph)?;
    model.functions.iter().try_for_each(|function| nodes(&function.node))
}

fn graph(graph: &GraphProto) -> Result<(), String> {
    nodes(&graph.node)
}

fn nodes(nodes: &[NodeProto]) -> Result<(), String> {
    let attributes = nodes.iter().flat_map(|node| &node.attribute);
    attributes.flat_map(|attribute| attribute.g.iter().chain(&attribute.graphs)).try_for_each(graph)?;
    let made = nodes.iter().flat_map(|node| node.output.iter().map(move |output| (output.as_str(), node))).collect();
    let mut quantises = nodes.iter().filter(|node| node.op_type == "QuantizeLinear");
    match quantises.find_map(|node| softmax_before(node, &made)) {
        Some(softmax) => Err(format!(
            "the embedded tract computes its node '{}' ({}) wrongly, which stands between DequantizeLinear and \
             QuantizeLinear; ONNX Runtime computes it well: set ORT_DYLIB_PATH to the path of libonnxruntime.so",
            softmax.name.escape_debug(),
            softmax.op_type.escape_debug()
        )),
        None => Ok(()),
    }
}

/// The softmax that stands between this `QuantizeLinear` and the nearest `DequantizeLinear` before it.
fn softmax_before<'m>(quantise: &'m NodeProto, made: &HashMap<&'m str, &'m NodeProto>) -> Option<&'m NodeProto> {
    let maker = |node: &NodeProto| made.get(node.input.first()?.as_str()).copied();
    let mut softmax = None;
    // A malformed model may go round in circles.
    let mut seen = HashSet::new();
    let mut next = maker(quantise);
    while let Some(node) = next.filter(|node| seen.insert(std::ptr::from_ref(*node))) {
        match node.op_type.as_str() {
            "DequantizeLinear" => return softmax,
            "Softmax" | "LogSoftmax" => softmax = Some(node),
            // These are no tables, whatever their second input is.
            "MatMul" | "Gemm" | "Conv" | "QuantizeLinear" => return None,
            _ => {}
        }
        next = maker(node);
    }
    None
}
