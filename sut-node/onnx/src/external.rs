//! Parts of a model that lie in files of their own, as exporters write them for models above 2 GB.
//!
//! Weights may lie in files of the model's folder, or of folders inside. Any other path could name any file of this
//! machine, and is refused. Tensors stand in many places of a model: all of them are looked at, and only weights may
//! lie elsewhere. The SHA-256 of the model covers these files, too: it is that of the model file and of them, one after
//! the other in the order of their names (`cat MODEL.onnx FILE... | sha256sum`).

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use lon_sut::backend_files::{self, Limit};
use prost::Message;
use sha2::{Digest as _, Sha256};
use tract_onnx::pb::tensor_proto::DataLocation;
use tract_onnx::pb::{AttributeProto, GraphProto, ModelProto, NodeProto, SparseTensorProto, TensorProto};

use super::error::OnnxError;
use super::sums::Sums;

/// The weights of a model that lie in files beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct External {
    /// The folder of the model file.
    pub(super) folder: String,
    /// The names of the files in it.
    names: BTreeSet<String>,
}

/// Bytes that are read at once.
const PIECE_BYTES: usize = 1 << 20;

impl External {
    /// The files that `model` has weights in; none where all of it is in its own file, whose content is `bytes`.
    /// `folder` is that of the model file, where there is one.
    ///
    /// # Errors
    /// A clause that names a tensor or node that is where it must not be, and says what to do about it.
    pub(super) fn of(model: &ModelProto, bytes: &[u8], folder: Option<&Path>) -> Result<Option<External>, String> {
        let mut names = BTreeSet::new();
        model.graph.iter().try_for_each(|of_model| graph(of_model, &mut names))?;
        model.functions.iter().flat_map(|function| &function.node).try_for_each(|one| node(one, &mut names))?;
        let training = model.training_info.iter().flat_map(|info| info.initialization.iter().chain(&info.algorithm));
        training.into_iter().try_for_each(|of_training| graph(of_training, &mut names))?;
        let unread = Unread::decode(bytes).map_err(|error| format!("its functions cannot be read ({error})"))?;
        let attributes = unread.functions.iter().flat_map(|function| &function.attributes);
        attributes.into_iter().try_for_each(|one| attribute(one, "a function", &mut names))?;
        if names.is_empty() {
            return Ok(None);
        }
        let folder = folder.ok_or("its weights are in files of their own, and it is not read from a folder")?;
        let folder = folder.to_str().ok_or("its weights are in files of their own, and its path is not UTF-8")?;
        Ok(Some(External { folder: folder.to_owned(), names }))
    }

    /// Goes on with the sum of the model file over its other files, each of which is held against the list of sums.
    /// Returns the bytes of these files.
    ///
    /// # Errors
    /// A file cannot be read, or is not the one that the list has.
    pub(super) fn add_to(&self, sum: &mut Sha256, sums: &Sums) -> Result<u64, OnnxError> {
        let mut total = 0;
        for name in &self.names {
            let path = PathBuf::from(&self.folder).join(name);
            let file = backend_files::open(&path, Limit::DATA);
            let outcome = file.and_then(|file| digest(file, sum));
            let (bytes, own) = outcome.map_err(|cause| OnnxError::Read { path: path.clone(), cause })?;
            sums.check(&path, name, own)?;
            total += bytes;
        }
        Ok(total)
    }
}

/// Adds the content of a file to `sum`. Returns its length and its own sum.
fn digest(mut file: File, sum: &mut Sha256) -> io::Result<(u64, String)> {
    let (mut own, mut total, mut piece) = (Sha256::new(), 0, vec![0; PIECE_BYTES]);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok((total, hex::encode(own.finalize()))),
            bytes => {
                sum.update(&piece[..bytes]);
                own.update(&piece[..bytes]);
                total += bytes as u64;
            }
        }
    }
}

/// Parts of a model that tract's reader leaves out: default attributes of its functions. ONNX Runtime reads them.
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

/// Adds the files of a graph's weights to `names`.
fn graph(graph: &GraphProto, names: &mut BTreeSet<String>) -> Result<(), String> {
    graph.initializer.iter().try_for_each(|weight| add_file(weight, names))?;
    graph.sparse_initializer.iter().try_for_each(|weight| sparse(weight, "the weights"))?;
    graph.node.iter().try_for_each(|one| node(one, names))
}

fn node(node: &NodeProto, names: &mut BTreeSet<String>) -> Result<(), String> {
    let place = format!("node '{}' ({})", node.name.escape_debug(), node.op_type.escape_debug());
    let is_apart = |attribute: &AttributeProto| attribute.name == "embed_mode" && attribute.i != 1;
    // Code that an execution provider has compiled is in the node, or else in a file that the node names.
    if node.op_type == "EPContext" && node.attribute.iter().any(is_apart) {
        return Err(format!("{place} is compiled into a file of its own; compile it with embed_mode=1"));
    }
    node.attribute.iter().try_for_each(|one| attribute(one, &place, names))
}

fn attribute(attribute: &AttributeProto, place: &str, names: &mut BTreeSet<String>) -> Result<(), String> {
    attribute.t.iter().chain(&attribute.tensors).try_for_each(|value| here(value, place))?;
    attribute.sparse_tensor.iter().chain(&attribute.sparse_tensors).try_for_each(|value| sparse(value, place))?;
    attribute.g.iter().chain(&attribute.graphs).try_for_each(|inner| graph(inner, names))
}

fn sparse(value: &SparseTensorProto, place: &str) -> Result<(), String> {
    value.values.iter().chain(&value.indices).try_for_each(|part| here(part, place))
}

/// The path that a tensor is at; none where it is in the model file.
fn location(value: &TensorProto) -> Option<&str> {
    let entry = || value.external_data.iter().find(|entry| entry.key == "location");
    let is_here = value.data_location.unwrap_or_default() == DataLocation::Default as i32;
    (!is_here).then(|| entry().map_or("", |entry| entry.value.as_str()))
}

/// Refuses a tensor that is not in the model file.
fn here(value: &TensorProto, place: &str) -> Result<(), String> {
    let Some(location) = location(value) else { return Ok(()) };
    Err(format!(
        "a tensor of {place} ('{}') is in a file of its own, '{}', where only weights may be; save the model as one \
         file (onnx.save_model with save_as_external_data=False)",
        value.name.escape_debug(),
        location.escape_debug()
    ))
}

/// Adds the file that a weight is in to `names`.
fn add_file(weight: &TensorProto, names: &mut BTreeSet<String>) -> Result<(), String> {
    let Some(location) = location(weight) else { return Ok(()) };
    let parts = || Path::new(location).components();
    if parts().next().is_none() || !parts().all(|part| matches!(part, Component::Normal(_))) {
        return Err(format!(
            "its weight '{}' is in the file '{}', which is not in the model's folder; save the model with all of it \
             in one folder (onnx.save_model with location=NAME)",
            weight.name.escape_debug(),
            location.escape_debug()
        ));
    }
    names.insert(location.to_owned());
    Ok(())
}
