//! The model file: its signature, and which batches it allows. Nothing is run here.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use lon_sut::backend::{BackendOptions, DimSize};
use lon_sut::tensor::{Signature, TensorSpec};
use tract_onnx::pb::{GraphProto, ModelProto, ValueInfoProto};
use tract_onnx::prelude::Framework as _;

use super::port::{End, Port, port};

/// Facts about a model before it runs.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) inputs: Signature,
    pub(super) outputs: Signature,
    /// `Ok` when all tensors leave their leading dimension free, as batches need it; else the tensor that does not. It
    /// is for [`proof`](super::proof) to find out that samples may share a run.
    pub(super) batching: Result<(), String>,
    /// All tensors, with the names of their leading dimensions where the model names them.
    leading: Vec<(TensorSpec, Option<String>)>,
    /// Names of the inputs' free dimensions, where the model names them: equal names are equal sizes.
    pub(super) symbols: Vec<Vec<Option<String>>>,
    /// For each output of the engine, the dimension that counts samples. `outputs` has it first already.
    pub(super) batch_axes: BatchAxes,
    /// The places that the outputs have among those of the file, where they are not all of these in their order.
    pub(super) chosen: Option<Vec<usize>>,
}

impl Model {
    /// Reads the signature, with the sizes and the outputs that the options name.
    ///
    /// # Errors
    /// A clause that says what is wrong with the bytes, or with what is named.
    pub(super) fn parse(bytes: &[u8], options: &BackendOptions) -> Result<(Model, ModelProto), String> {
        let proto = tract_onnx::onnx()
            .proto_model_for_read(&mut &*bytes)
            .map_err(|error| format!("it is not an ONNX model, or not the whole of one ({error})"))?;
        let graph = proto.graph.as_ref().ok_or("it is not an ONNX model: it has no graph")?;
        // Old models list their weights among the inputs too.
        let is_weight = |input: &&ValueInfoProto| graph.initializer.iter().any(|weight| weight.name == input.name);
        let inputs = graph.input.iter().filter(|input| !is_weight(input));
        let inputs = inputs.map(|input| port(End::Input, input, &proto, bytes));
        let chosen = choose(graph, &options.outputs)?;
        let places = chosen.as_ref().map_or_else(|| (0..graph.output.len()).collect(), Vec::clone);
        let outputs = places.into_iter().map(|place| port(End::Output, &graph.output[place], &proto, bytes));
        let (mut inputs, mut outputs) =
            (inputs.collect::<Result<Vec<_>, _>>()?, outputs.collect::<Result<Vec<_>, _>>()?);
        options.dims.iter().try_for_each(|dim| give(dim, &mut inputs, &mut outputs))?;
        if inputs.is_empty() || outputs.is_empty() {
            return Err("it needs at least one input and one output".to_owned());
        }
        let batch_axes = BatchAxes::put_first(&inputs, &mut outputs);
        let leading = |port: &Port| (port.spec.clone(), port.symbols.first().cloned().flatten());
        let leading: Vec<_> = inputs.iter().chain(&outputs).map(leading).collect();
        let batching = match leading.iter().find(|(spec, _)| spec.dims.first() != Some(&None)) {
            Some((spec, _)) => Err(format!("'{spec}' has no free leading dimension")),
            None => Ok(()),
        };
        let specs = |ports: &[Port]| Signature::new(ports.iter().map(|port| port.spec.clone()).collect());
        let (signature, outputs) = (specs(&inputs), specs(&outputs));
        let symbols = inputs.into_iter().map(|port| port.symbols).collect();
        Ok((Model { inputs: signature, outputs, batching, leading, symbols, batch_axes, chosen }, proto))
    }

    /// A clause that says which leading dimension has another name than `name`, or than the first that has a name.
    /// Where names differ, one of the dimensions may be free for another reason than the batch (the number of objects
    /// found, say).
    pub(super) fn odd_name(&self, name: Option<&str>) -> Option<String> {
        let named = || self.leading.iter().filter_map(|(spec, name)| Some((spec, name.as_deref()?)));
        let batch_name = name.or_else(|| named().map(|(_, name)| name).next())?;
        let (spec, name) = named().find(|(_, name)| *name != batch_name)?;
        Some(format!("the leading dimension of '{spec}' is called {name}, not {batch_name}"))
    }

    /// The model of these tensors.
    #[cfg(test)]
    pub(super) fn of(inputs: Signature, outputs: Signature) -> Model {
        let batch_axes = BatchAxes::default();
        Model { inputs, outputs, batching: Ok(()), leading: Vec::new(), symbols: Vec::new(), batch_axes, chosen: None }
    }

    /// The largest batch when `limit` is what the user would like.
    pub(super) fn max_batch(&self, limit: NonZeroUsize) -> NonZeroUsize {
        if self.batching.is_ok() { limit } else { NonZeroUsize::MIN }
    }

    /// The words by which `--dims` gives every free size of the inputs but the batch: `x:2=SIZE,x:3=SIZE`. None: there
    /// is no such size.
    pub(super) fn dims_to_give(&self) -> Option<String> {
        let inputs = self.inputs.iter().zip(&self.symbols);
        let batch = inputs.clone().filter(|(spec, _)| spec.dims.first() == Some(&None));
        let batch: BTreeSet<String> =
            batch.filter_map(|(spec, names)| free_names(spec, names).into_iter().next()).collect();
        let all: BTreeSet<String> = inputs.flat_map(|(spec, names)| free_names(spec, names)).collect();
        let flags: Vec<String> = all.difference(&batch).map(|name| format!("{name}=SIZE")).collect();
        (!flags.is_empty()).then(|| flags.join(","))
    }

    /// Returns true when sizes other than the batch depend on the sample.
    pub(super) fn has_free_dims(&self) -> bool {
        self.inputs.iter().any(|spec| spec.dims.iter().skip(1).any(Option::is_none))
    }
}

/// For each output the place of its batch dimension; 0 where the file names none other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BatchAxes(pub(super) Vec<usize>);

impl BatchAxes {
    /// Finds the outputs that have the leading dimension of the inputs, by its name, at one other place, and puts it
    /// first in their signature.
    fn put_first(inputs: &[Port], outputs: &mut [Port]) -> BatchAxes {
        let leading = |port: &Port| port.symbols.first().cloned().flatten();
        let batch = inputs.first().and_then(leading).filter(|name| name.contains(char::is_alphanumeric));
        let Some(batch) = batch.filter(|name| inputs.iter().all(|port| leading(port).as_ref() == Some(name))) else {
            return BatchAxes::default();
        };
        let axis = |port: &mut Port| {
            let mut named = (0..port.symbols.len()).filter(|&axis| port.symbols[axis].as_ref() == Some(&batch));
            let (Some(axis), None) = (named.next(), named.next()) else { return 0 };
            port.spec.dims[..=axis].rotate_right(1);
            port.symbols[..=axis].rotate_right(1);
            axis
        };
        BatchAxes(outputs.iter_mut().map(axis).collect())
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

/// The places of the outputs of these names, in the order of the names; none where no names are given.
///
/// # Errors
/// A clause that says which name is wrong.
fn choose(graph: &GraphProto, names: &[String]) -> Result<Option<Vec<usize>>, String> {
    if names.is_empty() {
        return Ok(None);
    }
    let place = |(number, name): (usize, &String)| {
        if names[..number].contains(name) {
            return Err(format!("--outputs names '{name}' twice"));
        }
        graph.output.iter().position(|output| output.name == *name).ok_or_else(|| {
            let names: Vec<String> = graph.output.iter().map(|output| output.name.escape_debug().to_string()).collect();
            format!("it has no output '{name}' (--outputs); its outputs are: {}", names.join(", "))
        })
    };
    names.iter().enumerate().map(place).collect::<Result<Vec<_>, _>>().map(Some)
}

/// Gives a free dimension its size, in all tensors.
///
/// # Errors
/// No tensor has it.
fn give(setting: &DimSize, inputs: &mut [Port], outputs: &mut [Port]) -> Result<(), String> {
    let mut is_there = false;
    for Port { spec, symbols } in inputs.iter_mut().chain(outputs.iter_mut()) {
        for (axis, (dim, symbol)) in spec.dims.iter_mut().zip(symbols.iter_mut()).enumerate() {
            if dim.is_none() && setting.is(&spec.name, axis, symbol.as_deref()) {
                (*dim, *symbol, is_there) = (Some(setting.size), None, true);
            }
        }
    }
    if is_there {
        return Ok(());
    }
    let names: BTreeSet<String> = inputs.iter().flat_map(|port| free_names(&port.spec, &port.symbols)).collect();
    let free = if names.is_empty() { "none".to_owned() } else { Vec::from_iter(names).join(", ") };
    Err(format!("it has no free dimension '{}' (--dims); the free dimensions of its inputs are: {free}", setting.name))
}

/// The names that `--dims` has for the free dimensions of an input: those in the file, and `TENSOR:AXIS` where the file
/// has none, or one that is no word (`?`) and may stand at several.
fn free_names(spec: &TensorSpec, symbols: &[Option<String>]) -> Vec<String> {
    let is_free = |(axis, dim): (usize, &Option<u32>)| dim.is_none().then_some(axis);
    let name = |axis: usize| match symbols.get(axis) {
        Some(Some(symbol)) if symbol.contains(char::is_alphanumeric) => symbol.clone(),
        _ => format!("{}:{axis}", spec.name),
    };
    spec.dims.iter().enumerate().filter_map(is_free).map(name).collect()
}

#[cfg(test)]
mod tests {
    use lon_sut::tensor::DType;

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
}
