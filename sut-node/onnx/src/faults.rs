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
//!
//! It exchanges the operands of a `Mod` where the second has more elements, as if 7 mod 3 were 3 mod 7. It places the
//! pixels of a `Resize` with `align_corners` by the product of size and scale, which is no whole number. The largest of
//! no elements is the least finite number to it, where ONNX has minus infinity.

use std::collections::{HashMap, HashSet};

use tract_onnx::pb::tensor_shape_proto::dimension::Value;
use tract_onnx::pb::type_proto;
use tract_onnx::pb::{AttributeProto, GraphProto, ModelProto, NodeProto, ValueInfoProto};

use super::nodes;

/// Checks that the model has nothing that tract is known to compute wrongly.
///
/// # Errors
/// A clause that names the node, and says what to do about it.
pub(super) fn refuse(model: &ModelProto) -> Result<(), String> {
    model.graph.iter().try_for_each(graph)?;
    model.functions.iter().try_for_each(|function| nodes(&function.node))?;
    let all = nodes::nodes(model);
    let numbers = numbers(model, &all);
    let has_empty_input = model.graph.iter().flat_map(|graph| &graph.input).any(is_empty);
    all.into_iter().try_for_each(|node| {
        let what = match node.op_type.as_str() {
            "TreeEnsembleClassifier" => wrong_tree(node),
            "Mod" => node.input.get(1).filter(|input| !numbers.contains(input.as_str())).map(|_| MOD),
            "Resize" => is_aligned_by_scales(node).then_some(RESIZE),
            "ReduceMax" | "ReduceMin" => has_empty_input.then_some(EMPTY),
            _ => None,
        };
        what.map_or(Ok(()), |what| Err(computed_wrongly(node, what)))
    })
}

const MOD: &str = "whose second operand is no single constant number";
const RESIZE: &str = "which has align_corners and scales";
const EMPTY: &str = "in a model that has an input without elements";

/// The names of constants of one number.
fn numbers<'m>(model: &'m ModelProto, nodes: &[&'m NodeProto]) -> HashSet<&'m str> {
    let is_one = |dims: &[i64]| dims.iter().product::<i64>() == 1;
    let weights = model.graph.iter().flat_map(|graph| &graph.initializer);
    let weights = weights.filter(|weight| is_one(&weight.dims)).map(|weight| weight.name.as_str());
    let is_number = |attribute: &AttributeProto| match attribute.name.as_str() {
        "value" => attribute.t.as_ref().is_some_and(|tensor| is_one(&tensor.dims)),
        "value_int" | "value_float" => true,
        _ => false,
    };
    let constants = nodes.iter().filter(|node| node.op_type == "Constant" && node.attribute.iter().any(is_number));
    weights.chain(constants.filter_map(|node| node.output.first()).map(String::as_str)).collect()
}

/// True where one of its sizes is zero.
fn is_empty(input: &ValueInfoProto) -> bool {
    let Some(type_proto::Value::TensorType(tensor)) = input.r#type.as_ref().and_then(|kind| kind.value.as_ref()) else {
        return false;
    };
    let mut dims = tensor.shape.iter().flat_map(|shape| &shape.dim);
    dims.any(|dim| matches!(dim.value, Some(Value::DimValue(0))))
}

fn is_aligned_by_scales(node: &NodeProto) -> bool {
    let mut modes = node.attribute.iter().filter(|attribute| attribute.name == "coordinate_transformation_mode");
    modes.any(|mode| mode.s == b"align_corners") && node.input.get(2).is_some_and(|scales| !scales.is_empty())
}

fn computed_wrongly(node: &NodeProto, what: &str) -> String {
    format!(
        "the embedded tract computes its node '{}' ({}) wrongly, {what}; ONNX Runtime computes it well: set \
         ORT_DYLIB_PATH to the path of libonnxruntime.so",
        node.name.escape_debug(),
        node.op_type.escape_debug()
    )
}

/// Returns the property of these trees that tract gets wrong.
fn wrong_tree(node: &NodeProto) -> Option<&'static str> {
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
    let producers =
        nodes.iter().flat_map(|node| node.output.iter().map(move |output| (output.as_str(), node))).collect();
    let mut quantises = nodes.iter().filter(|node| node.op_type == "QuantizeLinear");
    match quantises.find_map(|node| softmax_before(node, &producers)) {
        Some(softmax) => Err(computed_wrongly(softmax, "which stands between DequantizeLinear and QuantizeLinear")),
        None => Ok(()),
    }
}

/// The softmax that stands between this `QuantizeLinear` and the nearest `DequantizeLinear` before it.
fn softmax_before<'m>(quantise: &'m NodeProto, producers: &HashMap<&'m str, &'m NodeProto>) -> Option<&'m NodeProto> {
    let maker = |node: &NodeProto| producers.get(node.input.first()?.as_str()).copied();
    let mut softmax = None;
    // A malformed model may go round in circles.
    let mut visits = HashSet::new();
    let mut next = maker(quantise);
    while let Some(node) = next.filter(|node| visits.insert(std::ptr::from_ref(*node))) {
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
