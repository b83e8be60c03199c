//! Inputs and outputs as a model file has them: tensors that a sample or an answer can have, and the remedy for those
//! that are something else.

use lon_sut::tensor::{DType, TensorSpec};
use prost::Message;
use tract_onnx::pb::{
    ModelProto, ValueInfoProto, tensor_shape_proto::dimension::Value as Dim, type_proto::Value as Type,
};

use super::nodes::nodes;

/// An input or output with the names of its free dimensions.
#[derive(Clone, Debug)]
pub(super) struct Port {
    pub(super) spec: TensorSpec,
    pub(super) symbols: Vec<Option<String>>,
}

/// Which end of a model a port is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Input,
    Output,
}

impl End {
    fn name(self) -> &'static str {
        match self {
            End::Input => "input",
            End::Output => "output",
        }
    }

    /// The other remedy for a port that is not served: the outputs that are tensors.
    fn otherwise(self, model: &ModelProto) -> String {
        let outputs = model.graph.iter().filter(|_| self == End::Output).flat_map(|graph| &graph.output);
        let names: Vec<String> =
            outputs.filter(is_tensor).map(|output| output.name.escape_debug().to_string()).collect();
        if names.is_empty() { String::new() } else { format!(", or leave it out: --outputs {}", names.join(",")) }
    }
}

/// Returns true for a tensor of numbers.
fn is_tensor(info: &&ValueInfoProto) -> bool {
    let kind = info.r#type.as_ref().and_then(|kind| kind.value.as_ref());
    let Some(Type::TensorType(tensor)) = kind else { return false };
    let dtype = u8::try_from(tensor.elem_type).ok().and_then(DType::from_code);
    dtype.as_ref().is_some_and(is_served)
}

/// The names that ONNX has for types of elements, by their numbers.
const ELEMENTS: [&str; 24] = [
    "undefined",
    "float",
    "uint8",
    "int8",
    "uint16",
    "int16",
    "int32",
    "int64",
    "string",
    "bool",
    "float16",
    "double",
    "uint32",
    "uint64",
    "complex64",
    "complex128",
    "bfloat16",
    "float8e4m3fn",
    "float8e4m3fnuz",
    "float8e5m2",
    "float8e5m2fnuz",
    "uint4",
    "int4",
    "float4e2m1",
];

const STRING: i32 = 8;

/// Returns true when an engine can take tensors of this type and return them. tract has no bf16, and gives an error for
/// it.
fn is_served(dtype: &DType) -> bool {
    !matches!(dtype, DType::F8E4M3 | DType::F8E5M2 | DType::U4 | DType::I4)
}

/// Reads an input or output of `model`, whose file has these `bytes`.
///
/// # Errors
/// A clause that says why no sample or answer can have it, and what to do about that.
pub(super) fn port(end: End, info: &ValueInfoProto, model: &ModelProto, bytes: &[u8]) -> Result<Port, String> {
    let (kind, name) = (end.name(), info.name.escape_debug().to_string());
    let Some(Type::TensorType(tensor)) = info.r#type.as_ref().and_then(|kind| kind.value.as_ref()) else {
        return Err(format!("its {kind} '{name}' is {}", no_tensor(end, info, model, bytes)));
    };
    let dtype = u8::try_from(tensor.elem_type).ok().and_then(DType::from_code).filter(is_served);
    let dtype = dtype.ok_or_else(|| format!("its {kind} '{name}' {}", no_elements(end, tensor.elem_type, model)))?;
    let no_shape =
        || format!("its {kind} '{name}' has no shape; run onnx.shape_inference on it, or export it with one");
    let shape = tensor.shape.as_ref().ok_or_else(no_shape)?;
    let dims = shape.dim.iter().map(|dim| match &dim.value {
        Some(Dim::DimValue(size)) if *size >= 0 => match u32::try_from(*size) {
            Ok(size) => Ok((Some(size), None)),
            Err(_) => Err(format!("its {kind} '{name}' has a dimension of {size}")),
        },
        Some(Dim::DimParam(symbol)) if !symbol.is_empty() => Ok((None, Some(symbol.clone()))),
        _ => Ok((None, None)),
    });
    let (dims, symbols) = dims.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
    Ok(Port { spec: TensorSpec::new(&info.name, dtype, dims), symbols })
}

/// Says of elements of this type that they are not served.
fn no_elements(end: End, element: i32, model: &ModelProto) -> String {
    let name = usize::try_from(element).ok().and_then(|number| ELEMENTS.get(number).copied());
    let name = name.map_or_else(|| format!("ONNX element type {element}"), str::to_owned);
    let remedy = match end {
        _ if element != STRING => {
            let served = DType::ALL.iter().filter(|dtype| is_served(dtype)).map(|dtype| dtype.name());
            format!("served: {}; add a Cast to one of these", served.collect::<Vec<_>>().join(", "))
        }
        End::Input => "make numbers of texts before the model: categories as whole numbers, token ids".to_owned(),
        End::Output => "train with whole numbers as labels".to_owned(),
    };
    format!("has elements of type {name}, which are not served ({remedy}{})", end.otherwise(model))
}

/// Says of a port what it is instead of a tensor.
fn no_tensor(end: End, info: &ValueInfoProto, model: &ModelProto, bytes: &[u8]) -> String {
    let is_made_by = |op: &str| nodes(model).iter().any(|node| node.op_type == op && node.output.contains(&info.name));
    if is_made_by("ZipMap") {
        return format!(
            "a sequence of maps (ZipMap), no tensor; convert the model without it: skl2onnx with \
             options={{'zipmap': False}}, onnxmltools with zipmap=False{}",
            end.otherwise(model)
        );
    }
    let remedy = match end {
        End::Input => "export the model with a tensor there (SequenceAt, OptionalGetElement)",
        End::Output => "export the model with a tensor there (ConcatFromSequence, OptionalGetElement)",
    };
    format!("{}, no tensor; {remedy}{}", kind_of(info, end, bytes), end.otherwise(model))
}

/// The kind of a port that is no tensor. tract's reader knows tensors alone.
fn kind_of(info: &ValueInfoProto, end: End, bytes: &[u8]) -> &'static str {
    let file = File::decode(bytes).unwrap_or_default();
    let graph = file.graph.unwrap_or_default();
    let ports = if end == End::Input { graph.inputs } else { graph.outputs };
    let kind = ports.into_iter().find(|port| port.name == info.name).and_then(|port| port.kind).unwrap_or_default();
    match kind {
        Kind { sequence: Some(_), .. } => "a sequence",
        Kind { map: Some(_), .. } => "a map",
        Kind { sparse: Some(_), .. } => "a sparse tensor",
        Kind { optional: Some(_), .. } => "an optional",
        Kind { .. } => "of no type",
    }
}

/// The part of a model's types that tract's reader leaves unread.
#[derive(Clone, PartialEq, Message)]
struct File {
    #[prost(message, optional, tag = "7")]
    graph: Option<Graph>,
}

#[derive(Clone, PartialEq, Message)]
struct Graph {
    #[prost(message, repeated, tag = "11")]
    inputs: Vec<Named>,
    #[prost(message, repeated, tag = "12")]
    outputs: Vec<Named>,
}

#[derive(Clone, PartialEq, Message)]
struct Named {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, optional, tag = "2")]
    kind: Option<Kind>,
}

#[derive(Clone, PartialEq, Message)]
struct Kind {
    #[prost(bytes = "vec", optional, tag = "4")]
    sequence: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "5")]
    map: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "8")]
    sparse: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "9")]
    optional: Option<Vec<u8>>,
}
