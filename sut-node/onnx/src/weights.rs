//! Weights that the sessions of several workers share: one copy of them in memory, and one of what ONNX Runtime packs
//! them into.

use std::collections::HashSet;
use std::sync::Arc;

use lon_sut::tensor::DType;
use ort::session::builder::{PrepackedWeights, SessionBuilder};
use ort::value::DynValue;
use tract_onnx::pb::{ModelProto, TensorProto};

use super::values;

/// Weights that have fewer bytes are not worth sharing.
const LEAST_BYTES: usize = 4 << 10;

/// The weights of a model.
pub(super) struct Weights {
    values: Vec<(String, Arc<DynValue>)>,
    packed: PrepackedWeights,
}

impl Weights {
    /// The weights that lie in the model file as plain bytes, and that no input can replace.
    ///
    /// # Errors
    /// ONNX Runtime does not take one of them.
    pub(super) fn of(proto: &ModelProto) -> ort::Result<Weights> {
        let graph = proto.graph.iter();
        let inputs: HashSet<&str> = graph.clone().flat_map(|graph| &graph.input).map(|input| &*input.name).collect();
        let large = graph.flat_map(|graph| &graph.initializer);
        let large = large.filter(|weight| weight.raw_data.len() >= LEAST_BYTES && !inputs.contains(&*weight.name));
        let values = large.filter_map(value).collect::<ort::Result<Vec<_>>>()?;
        Ok(Weights { values, packed: PrepackedWeights::new() })
    }

    /// Has a session take these weights instead of its own.
    ///
    /// # Errors
    /// ONNX Runtime does not take one of them.
    pub(super) fn give(&self, mut builder: SessionBuilder) -> ort::Result<SessionBuilder> {
        for (name, value) in &self.values {
            builder = builder.with_initializer(name, Arc::clone(value))?;
        }
        Ok(builder.with_prepacked_weights(&self.packed)?)
    }
}

/// A weight with its name; none where its type or its size is not what it says.
fn value(weight: &TensorProto) -> Option<ort::Result<(String, Arc<DynValue>)>> {
    let dtype = u8::try_from(weight.data_type).ok().and_then(DType::from_code)?;
    let dims = weight.dims.iter().map(|&dim| usize::try_from(dim).ok()).collect::<Option<Vec<usize>>>()?;
    let elements = dims.iter().try_fold(1u64, |product, &dim| product.checked_mul(dim as u64))?;
    if dtype.bits() < 8 || dtype.bytes_of(elements) != Some(weight.raw_data.len() as u64) {
        return None;
    }
    let is_known = !matches!(dtype, DType::F8E4M3 | DType::F8E5M2);
    let tensor = || values::weight(dtype, &dims, &weight.raw_data);
    is_known.then(|| tensor().map(|tensor| (weight.name.clone(), Arc::new(tensor))))
}
