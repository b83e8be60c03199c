//! The model file: its sum, its signature, and which batches it allows. Nothing is run here.

use std::num::NonZeroUsize;
use std::path::Path;

use bytes::Bytes;
use lon_sut::backend::GivenDim;
use lon_sut::others::{self, Limit, SUMS_FILE, entry};
use lon_sut::tensor::{DType, Signature, TensorSpec};
use sha2::{Digest as _, Sha256};
use tract_onnx::pb::{
    ModelProto, NodeProto, ValueInfoProto, tensor_shape_proto::dimension::Value as Dim, type_proto::Value as Type,
};
use tract_onnx::prelude::Framework as _;

use super::error::OnnxError;
use super::external;

/// The largest model: a message of Protocol Buffers has no more bytes.
const LIMIT: Limit = Limit::bytes(2 << 30);

/// The bytes of the file at `path`, checked against the list of sums beside it if the list names the file.
///
/// # Errors
/// The file or the list cannot be read, or the sum is another one.
pub(super) fn read(path: &Path) -> Result<Bytes, OnnxError> {
    let error = |path: &Path| {
        let path = path.to_owned();
        move |cause| OnnxError::Read { path, cause }
    };
    let bytes = others::bytes(path, LIMIT).map_err(error(path))?;
    let list = path.with_file_name(SUMS_FILE);
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let sums = match others::text(&list, Limit::DOCUMENT) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        sums => sums.map_err(error(&list))?,
    };
    let actual = sha256(&bytes);
    match listed_sum(&sums, name) {
        Some(expected) if expected != actual => Err(OnnxError::Sum { path: path.to_owned(), list, expected, actual }),
        _ => Ok(bytes.into()),
    }
}

/// The sum that the list has for the file of this name.
fn listed_sum(sums: &str, name: &str) -> Option<String> {
    sums.lines().filter_map(entry).find_map(|(listed, sum)| (listed == name).then_some(sum))
}

/// The SHA-256 of these bytes, in hexadecimal.
pub(super) fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// What is known of a model before it runs.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) inputs: Signature,
    pub(super) outputs: Signature,
    /// Whether all tensors leave their leading dimension free, as batches need it; if not, which one does not. That
    /// samples may share a run is for [`proof`](super::proof) to find out.
    pub(super) batching: Result<(), String>,
    /// All tensors, with the names of their leading dimensions where the model names them.
    leading: Vec<(TensorSpec, Option<String>)>,
    /// Names of the inputs' free dimensions, where the model names them: equal names are equal sizes.
    pub(super) symbols: Vec<Vec<Option<String>>>,
}

impl Model {
    /// Reads the signature, in which these sizes are given.
    ///
    /// # Errors
    /// A clause that says what is wrong with the bytes, or with the sizes.
    pub(super) fn parse(bytes: &[u8], given: &[GivenDim]) -> Result<(Model, ModelProto), String> {
        let proto = tract_onnx::onnx()
            .proto_model_for_read(&mut &*bytes)
            .map_err(|error| format!("it is not an ONNX model, or not the whole of one ({error})"))?;
        let graph = proto.graph.as_ref().ok_or("it is not an ONNX model: it has no graph")?;
        external::refuse(&proto, bytes)?;
        // Old models list their weights among the inputs too.
        let is_weight = |input: &&ValueInfoProto| graph.initializer.iter().any(|weight| weight.name == input.name);
        let inputs = graph.input.iter().filter(|input| !is_weight(input)).map(|input| port("input", input));
        let outputs = graph.output.iter().map(|output| port("output", output));
        let (mut inputs, mut outputs) =
            (inputs.collect::<Result<Vec<_>, _>>()?, outputs.collect::<Result<Vec<_>, _>>()?);
        given.iter().try_for_each(|given| give(given, &mut inputs, &mut outputs))?;
        if inputs.is_empty() || outputs.is_empty() {
            return Err("it needs at least one input and one output".to_owned());
        }
        let leading = |port: &Port| (port.spec.clone(), port.symbols.first().cloned().flatten());
        let leading: Vec<_> = inputs.iter().chain(&outputs).map(leading).collect();
        let batching = match leading.iter().find(|(spec, _)| spec.dims.first() != Some(&None)) {
            Some((spec, _)) => Err(format!("'{spec}' has no free leading dimension")),
            None => Ok(()),
        };
        let specs = |ports: &[Port]| Signature::new(ports.iter().map(|port| port.spec.clone()).collect());
        let (inputs_signature, outputs_signature) = (specs(&inputs), specs(&outputs));
        let symbols = inputs.into_iter().map(|port| port.symbols).collect();
        Ok((Model { inputs: inputs_signature, outputs: outputs_signature, batching, leading, symbols }, proto))
    }

    /// A clause that says which leading dimension has another name than `name`, or than the first that has a name.
    /// Where names differ, one of the dimensions may be free for another reason than the batch (the number of objects
    /// found, say).
    pub(super) fn odd_name(&self, name: Option<&str>) -> Option<String> {
        let named = || self.leading.iter().filter_map(|(spec, name)| Some((spec, name.as_deref()?)));
        let wanted = name.or_else(|| named().map(|(_, name)| name).next())?;
        let (spec, name) = named().find(|(_, name)| *name != wanted)?;
        Some(format!("the leading dimension of '{spec}' is called {name}, not {wanted}"))
    }

    /// The model of these tensors.
    #[cfg(test)]
    pub(super) fn of(inputs: Signature, outputs: Signature) -> Model {
        Model { inputs, outputs, batching: Ok(()), leading: Vec::new(), symbols: Vec::new() }
    }

    /// The largest batch when `asked` is what the user would like.
    pub(super) fn max_batch(&self, asked: NonZeroUsize) -> NonZeroUsize {
        if self.batching.is_ok() { asked } else { NonZeroUsize::MIN }
    }

    /// Whether sizes other than the batch depend on the sample.
    pub(super) fn has_free_dims(&self) -> bool {
        self.inputs.iter().any(|spec| spec.dims.iter().skip(1).any(Option::is_none))
    }
}

/// The order in which samples have the inputs.
#[derive(Clone, Debug)]
pub(super) struct InputOrder {
    /// The inputs in that order.
    pub(super) signature: Signature,
    /// For each input of the model, its place in a sample.
    pub(super) places: Vec<usize>,
}

impl InputOrder {
    /// The order that is named; that of the model when no names are given.
    ///
    /// # Errors
    /// A clause that says which name is wrong.
    pub(super) fn new(inputs: &Signature, names: &[String]) -> Result<InputOrder, String> {
        if names.is_empty() {
            return Ok(InputOrder { signature: inputs.clone(), places: (0..inputs.len()).collect() });
        }
        let find = |name: &String| {
            inputs.iter().find(|spec| spec.name == *name).cloned().ok_or_else(|| format!("it has no input '{name}'"))
        };
        let signature = Signature::new(names.iter().map(find).collect::<Result<_, _>>()?);
        let place = |spec: &TensorSpec| {
            let mut places = (0..names.len()).filter(|&place| names[place] == spec.name);
            match (places.next(), places.next()) {
                (Some(place), None) => Ok(place),
                (None, _) => Err(format!("its input '{}' is not named", spec.name)),
                (Some(_), Some(_)) => Err(format!("its input '{}' is named twice", spec.name)),
            }
        };
        Ok(InputOrder { signature, places: inputs.iter().map(place).collect::<Result<_, _>>()? })
    }
}

/// An input or output with the names of its free dimensions.
struct Port {
    spec: TensorSpec,
    symbols: Vec<Option<String>>,
}

/// Whether an engine can take tensors of this type and return them. tract has no bf16, and says so.
fn is_served(dtype: &DType) -> bool {
    !matches!(dtype, DType::F8E4M3 | DType::F8E5M2 | DType::U4 | DType::I4)
}

fn port(kind: &str, info: &ValueInfoProto) -> Result<Port, String> {
    let name = &info.name;
    let Some(Type::TensorType(tensor)) = info.r#type.as_ref().and_then(|kind| kind.value.as_ref()) else {
        return Err(format!("its {kind} '{name}' is not a tensor"));
    };
    let dtype = u8::try_from(tensor.elem_type).ok().and_then(DType::from_code).filter(is_served);
    let known = || DType::ALL.iter().filter(|dtype| is_served(dtype)).map(|d| d.name()).collect::<Vec<_>>().join(", ");
    let dtype = dtype.ok_or_else(|| {
        format!(
            "its {kind} '{name}' has ONNX element type {}, which is not served (served: {})",
            tensor.elem_type,
            known()
        )
    })?;
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
    Ok(Port { spec: TensorSpec::new(name, dtype, dims), symbols })
}

/// Gives a free dimension its size, in all tensors.
///
/// # Errors
/// No tensor has it.
fn give(given: &GivenDim, inputs: &mut [Port], outputs: &mut [Port]) -> Result<(), String> {
    let mut is_there = false;
    for Port { spec, symbols } in inputs.iter_mut().chain(outputs.iter_mut()) {
        for (axis, (dim, symbol)) in spec.dims.iter_mut().zip(symbols.iter_mut()).enumerate() {
            if dim.is_none() && given.is(&spec.name, axis, symbol.as_deref()) {
                (*dim, *symbol, is_there) = (Some(given.size), None, true);
            }
        }
    }
    if is_there {
        return Ok(());
    }
    let ports = inputs.iter().chain(outputs.iter());
    let mut names: Vec<&str> = ports.flat_map(|port| port.symbols.iter().flatten()).map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    let free = if names.is_empty() { "none that has a name".to_owned() } else { names.join(", ") };
    Err(format!("it has no free dimension '{}' (--dims); its free dimensions are: {free}", given.name))
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_put_in_the_order_of_their_names() {
        let inputs =
            Signature::new(["a", "b", "c"].map(|name| TensorSpec::new(name, DType::F32, vec![None, Some(4)])).to_vec());
        let order = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            InputOrder::new(&inputs, &names).map(|order| (order.signature[0].name.clone(), order.places))
        };
        assert_eq!(order(&[]), Ok(("a".to_owned(), vec![0, 1, 2])));
        assert_eq!(order(&["c", "a", "b"]), Ok(("c".to_owned(), vec![1, 2, 0])));
        assert_eq!(order(&["a", "b", "mask"]), Err("it has no input 'mask'".to_owned()));
        assert_eq!(order(&["a", "b"]), Err("its input 'c' is not named".to_owned()));
        assert_eq!(order(&["a", "b", "c", "b"]), Err("its input 'b' is named twice".to_owned()));
    }

    #[test]
    fn a_list_of_sums_is_read_as_sha256sum_writes_it() {
        let sums = "aa  other.onnx\nBB *m.onnx\ncc  ./n.onnx\r\n\nrubbish\n";
        assert_eq!(listed_sum(sums, "m.onnx").as_deref(), Some("bb"));
        assert_eq!(listed_sum(sums, "n.onnx").as_deref(), Some("cc"));
        assert_eq!(listed_sum(sums, "onnx"), None);
        assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
