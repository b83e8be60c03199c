//! Tensors in files of their own, wherever a model can have a tensor; weights beside the model.

use super::*;
use crate::external::External;

/// A tensor that is in `/etc/passwd`.
fn elsewhere() -> pb::TensorProto {
    let location = pb::StringStringEntryProto { key: "location".to_owned(), value: "/etc/passwd".to_owned() };
    pb::TensorProto {
        name: "w".to_owned(),
        data_type: 1,
        dims: vec![1],
        data_location: Some(1),
        external_data: vec![location],
        ..pb::TensorProto::default()
    }
}

fn with(attribute: pb::AttributeProto) -> pb::NodeProto {
    pb::NodeProto { attribute: vec![attribute], ..node("Constant", &[], "c") }
}

fn sparse() -> pb::SparseTensorProto {
    pb::SparseTensorProto { indices: Some(elsewhere()), ..pb::SparseTensorProto::default() }
}

fn attributes() -> Vec<pb::AttributeProto> {
    let graph = || pb::GraphProto { initializer: vec![elsewhere()], ..pb::GraphProto::default() };
    let inner = || pb::AttributeProto { t: Some(elsewhere()), ..pb::AttributeProto::default() };
    let nested = pb::GraphProto { node: vec![with(inner())], ..pb::GraphProto::default() };
    vec![
        inner(),
        pb::AttributeProto { tensors: vec![elsewhere()], ..pb::AttributeProto::default() },
        pb::AttributeProto { sparse_tensor: Some(sparse()), ..pb::AttributeProto::default() },
        pb::AttributeProto { sparse_tensors: vec![sparse()], ..pb::AttributeProto::default() },
        pb::AttributeProto { g: Some(graph()), ..pb::AttributeProto::default() },
        pb::AttributeProto { graphs: vec![nested], ..pb::AttributeProto::default() },
    ]
}

fn plain() -> pb::ModelProto {
    pb::ModelProto::decode(&*identity(DType::F32, &["N", "2"])).unwrap()
}

fn refusal(model: &pb::ModelProto, more: &[u8]) -> String {
    let bytes = [&model.encode_to_vec(), more].concat();
    External::of(model, &bytes, Some(Path::new("/models"))).expect_err("a tensor is where it must not be")
}

#[test]
fn a_tensor_in_another_file_is_refused_wherever_it_stands() {
    let mut models = Vec::new();
    for attribute in attributes() {
        let mut model = plain();
        model.graph.as_mut().unwrap().node.push(with(attribute.clone()));
        models.push(model);
        let function = pb::FunctionProto { node: vec![with(attribute)], ..pb::FunctionProto::default() };
        models.push(pb::ModelProto { functions: vec![function], ..plain() });
    }
    let mut model = plain();
    model.graph.as_mut().unwrap().sparse_initializer.push(sparse());
    models.push(model.clone());
    let training = pb::TrainingInfoProto { algorithm: model.graph, ..pb::TrainingInfoProto::default() };
    models.push(pb::ModelProto { training_info: vec![training], ..plain() });
    for model in &models {
        let message = refusal(model, &[]);
        assert!(message.contains("'/etc/passwd'") && message.contains("onnx.save_model"), "{message}");
    }
}

/// Field 11 of a function, which tract's reader leaves out: default values of its attributes.
#[test]
fn a_default_attribute_of_a_function_is_looked_at_too() {
    let nested = |tag: u32, bytes: &[u8]| {
        let mut out = Vec::new();
        prost::encoding::encode_key(tag, prost::encoding::WireType::LengthDelimited, &mut out);
        prost::encoding::encode_varint(bytes.len() as u64, &mut out);
        out.extend_from_slice(bytes);
        out
    };
    let function = nested(25, &nested(11, &attributes()[0].encode_to_vec()));
    assert!(refusal(&plain(), &function).contains("a tensor of a function ('w')"));
}

#[test]
fn what_was_compiled_into_another_file_is_refused() {
    let mut model = plain();
    let mode = |i| pb::AttributeProto { name: "embed_mode".to_owned(), i, ..pb::AttributeProto::default() };
    let context = |mode| pb::NodeProto { op_type: "EPContext".to_owned(), ..with(mode) };
    model.graph.as_mut().unwrap().node.push(context(mode(1)));
    assert_eq!(External::of(&model, &model.encode_to_vec(), None), Ok(None));
    model.graph.as_mut().unwrap().node.push(context(mode(0)));
    assert!(refusal(&model, &[]).contains("embed_mode=1"));
}

/// The same numbers four times: the weight has the second and third of them, or the first.
const NUMBERS: &[u8] = &[1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0];

/// A model that adds a weight, which lies in a file of this name at this offset.
fn adds(location: &str, offset: usize) -> pb::ModelProto {
    let (x, y) = (value("x", DType::I32, &["N", "1"]), value("y", DType::I32, &["N", "1"]));
    let bytes = model(vec![x], vec![y], vec![node("Add", &["x", "w"], "y")]);
    let entries = [("location", location.to_owned()), ("offset", offset.to_string()), ("length", "4".to_owned())];
    let entry = |(key, value): (&str, String)| pb::StringStringEntryProto { key: key.to_owned(), value };
    let weight = pb::TensorProto {
        data_type: i32::from(DType::I32.code()),
        external_data: entries.into_iter().map(entry).collect(),
        ..elsewhere()
    };
    let mut model = pb::ModelProto::decode(&bytes[..]).unwrap();
    model.graph.as_mut().unwrap().initializer.push(weight);
    model
}

fn weights_beside_the_model_are_its_own(engine: OnnxEngine) {
    let folder = tempfile::tempdir().unwrap();
    let (path, weights) = (folder.path().join("m.onnx"), folder.path().join("m.onnx.data"));
    let file = adds("m.onnx.data", 4).encode_to_vec();
    fs::write(&path, &file).unwrap();
    fs::write(&weights, NUMBERS).unwrap();
    let backend = Onnx::open(&path, &options(engine, 2)).unwrap();
    let info = backend.info();
    assert_eq!(info.model_sha256, Some(sums::sha256(&[&file, NUMBERS].concat())));
    assert_eq!(info.model_bytes, Some((file.len() + NUMBERS.len()) as u64));
    let answers = backend.worker().unwrap().batch().unwrap().infer(&[sample(&[(DType::I32, &[1], &[7, 0, 0, 0])])]);
    assert_eq!(answers, [Ok(Bytes::from_static(&[9, 0, 0, 0]))]);
    // Another content is another model.
    fs::write(folder.path().join("SHA256SUMS"), format!("{}  m.onnx.data\n", sums::sha256(NUMBERS))).unwrap();
    fs::write(&weights, [&NUMBERS[..8], &[4, 0, 0, 0]].concat()).unwrap();
    let error = Onnx::open(&path, &options(engine, 2)).unwrap_err().to_string();
    assert!(error.contains("m.onnx.data is not the file that"), "{error}");
    fs::remove_file(&weights).unwrap();
    let error = Onnx::open(&path, &options(engine, 2)).unwrap_err().to_string();
    assert!(error.starts_with(&format!("cannot read {}", weights.display())), "{error}");
}

for_both_engines! { weights_beside_the_model_are_its_own }

#[test]
fn weights_are_in_the_folder_of_the_model_alone() {
    for place in ["/etc/passwd", "../w", "a/../../w", ""] {
        let model = adds(place, 0);
        let message = External::of(&model, &model.encode_to_vec(), Some(Path::new("/models"))).unwrap_err();
        assert!(message.contains(&format!("the file '{place}', which is not in the model's folder")), "{message}");
    }
    let model = adds("data/w", 0);
    let message = External::of(&model, &model.encode_to_vec(), None).unwrap_err();
    assert!(message.contains("not read from a folder"), "{message}");
}
