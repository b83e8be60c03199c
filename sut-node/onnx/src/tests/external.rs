//! Tensors in files of their own, wherever a model can have a tensor.

use super::*;

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
    Model::parse(&bytes, &[]).map(|_| ()).expect_err("a part of the model is in another file")
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
        let told = refusal(model, &[]);
        assert!(told.contains("'/etc/passwd'") && told.contains("save_as_external_data=False"), "{told}");
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
    assert!(Model::parse(&model.encode_to_vec(), &[]).is_ok());
    model.graph.as_mut().unwrap().node.push(context(mode(0)));
    assert!(refusal(&model, &[]).contains("embed_mode=1"));
}
