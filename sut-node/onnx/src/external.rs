//! Refuses models that keep a part of themselves in other files.
//!
//! The SHA-256 of a model file does not cover such parts, and their paths could name any file of this machine. Tensors
//! stand in many places of a model: all of them are looked at.

use prost::Message;
use tract_onnx::pb::tensor_proto::DataLocation;
use tract_onnx::pb::{AttributeProto, GraphProto, ModelProto, NodeProto, SparseTensorProto, TensorProto};

/// What tract's reader leaves out of a model: default attributes of its functions. ONNX Runtime reads them.
#[derive(Clone, PartialEq, Message)]
struct Unread {
    #[prost(message, repeated, tag = "25")]
    functions: Vec<UnreadFunction>,
}

#[derive(Clone, PartialEq, Message)]
struct UnreadFunction {
    #[prost(message, repeated, tag = "11")]
    attributes: Vec<AttributeProto>,
}

/// Checks that all of a model is in its file, whose content is `bytes`.
///
/// # Errors
/// A clause that names a tensor or node that is elsewhere, and says what to do about it.
pub(super) fn refuse(model: &ModelProto, bytes: &[u8]) -> Result<(), String> {
    model.graph.iter().try_for_each(graph)?;
    model.functions.iter().flat_map(|function| &function.node).try_for_each(node)?;
    let training = model.training_info.iter().flat_map(|info| info.initialization.iter().chain(&info.algorithm));
    training.into_iter().try_for_each(graph)?;
    let unread = Unread::decode(bytes).map_err(|error| format!("its functions cannot be read ({error})"))?;
    let attributes = unread.functions.iter().flat_map(|function| &function.attributes);
    attributes.into_iter().try_for_each(|attribute| self::attribute(attribute, "a function"))
}

fn graph(graph: &GraphProto) -> Result<(), String> {
    graph.initializer.iter().try_for_each(|weight| tensor(weight, "the weights"))?;
    graph.sparse_initializer.iter().try_for_each(|weight| sparse(weight, "the weights"))?;
    graph.node.iter().try_for_each(node)
}

fn node(node: &NodeProto) -> Result<(), String> {
    let place = format!("node '{}' ({})", node.name.escape_debug(), node.op_type.escape_debug());
    let is_apart = |attribute: &AttributeProto| attribute.name == "embed_mode" && attribute.i != 1;
    // What an execution provider has compiled is in the node, or else in a file that the node names.
    if node.op_type == "EPContext" && node.attribute.iter().any(is_apart) {
        return Err(format!("{place} is compiled into a file of its own; compile it with embed_mode=1"));
    }
    node.attribute.iter().try_for_each(|attribute| self::attribute(attribute, &place))
}

fn attribute(attribute: &AttributeProto, place: &str) -> Result<(), String> {
    attribute.t.iter().chain(&attribute.tensors).try_for_each(|value| tensor(value, place))?;
    attribute.sparse_tensor.iter().chain(&attribute.sparse_tensors).try_for_each(|value| sparse(value, place))?;
    attribute.g.iter().chain(&attribute.graphs).try_for_each(graph)
}

fn sparse(value: &SparseTensorProto, place: &str) -> Result<(), String> {
    value.values.iter().chain(&value.indices).try_for_each(|part| tensor(part, place))
}

fn tensor(value: &TensorProto, place: &str) -> Result<(), String> {
    if value.data_location.unwrap_or_default() == DataLocation::Default as i32 {
        return Ok(());
    }
    let location = value.external_data.iter().find(|entry| entry.key == "location");
    let location = location.map_or_else(String::new, |entry| format!(", '{}'", entry.value.escape_debug()));
    Err(format!(
        "a tensor of {place} ('{}') is in a file of its own{location}, which the model's SHA-256 does not cover; save \
         the model as one file (onnx.save_model with save_as_external_data=False)",
        value.name.escape_debug()
    ))
}
