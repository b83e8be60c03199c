//! Models that tract would compute wrongly without a word are refused.
//!
//! tract 0.23.9 turns what stands between a `DequantizeLinear` and a `QuantizeLinear` into a table of 256 bytes, where
//! all of it works element by element. It takes a softmax for such an operator, which it is not: the attention of a
//! model that is quantised to 8 bits in this form would be nonsense.
//!
//! The trees of a `TreeEnsembleClassifier` of two classes vote for one of them, as scikit-learn and LightGBM have it.
//! tract takes the larger of that score and of nothing: the label is always the same, or the wrong one. Where they vote
//! for both, ONNX Runtime looks at the second score alone, and tract at the larger one.
//! It takes a node of mode `BRANCH_GTE` for a leaf, and the number of a node for its place in the file.

use std::collections::{HashMap, HashSet};

use tract_onnx::pb::{AttributeProto, GraphProto, ModelProto, NodeProto};

use super::model;

/// Checks that the model has nothing that tract is known to compute wrongly.
///
/// # Errors
/// A clause that names the node, and says what to do about it.
pub(super) fn refuse(model: &ModelProto) -> Result<(), String> {
    model.graph.iter().try_for_each(graph)?;
    model.functions.iter().try_for_each(|function| nodes(&function.node))?;
    model::nodes(model).into_iter().try_for_each(|node| match wrong_tree(node) {
        Some(what) => Err(computed_wrongly(node, what)),
        None => Ok(()),
    })
}

fn computed_wrongly(node: &NodeProto, what: &str) -> String {
    format!(
        "the embedded tract computes its node '{}' ({}) wrongly, {what}; ONNX Runtime computes it well: set \
         ORT_DYLIB_PATH to the path of libonnxruntime.so",
        node.name.escape_debug(),
        node.op_type.escape_debug()
    )
}

/// What of these trees tract gets wrong.
fn wrong_tree(node: &NodeProto) -> Option<&'static str> {
    if node.op_type != "TreeEnsembleClassifier" {
        return None;
    }
    let attribute = |name: &str| node.attribute.iter().find(|attribute| attribute.name == name);
    let ints = |name: &str| attribute(name).map_or(&[][..], |attribute: &AttributeProto| &attribute.ints[..]);
    let strings = |name: &str| attribute(name).map_or(&[][..], |attribute: &AttributeProto| &attribute.strings[..]);
    let classes = ints("classlabels_int64s").len().max(strings("classlabels_strings").len());
    if classes <= 2 {
        return Some("whose trees distinguish no more than two classes");
    }
    if strings("nodes_modes").iter().any(|mode| mode[..] == *b"BRANCH_GTE") {
        return Some("which has nodes of mode BRANCH_GTE");
    }
    // Each tree's nodes must be numbered from 0 on.
    let mut next: HashMap<i64, i64> = HashMap::new();
    let mut numbers = ints("nodes_treeids").iter().zip(ints("nodes_nodeids"));
    let is_counted = numbers.all(|(tree, number)| {
        let next = next.entry(*tree).or_default();
        *next += 1;
        *number == *next - 1
    });
    if is_counted { None } else { Some("whose nodes are not numbered in their order") }
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
        Some(softmax) => Err(computed_wrongly(softmax, "which stands between DequantizeLinear and QuantizeLinear")),
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
