//! Models that tract computes wrongly: it must refuse them, and ONNX Runtime must compute them.

use super::*;

fn number(name: &str, dtype: DType, bytes: &[u8]) -> pb::TensorProto {
    let data_type = i32::from(dtype.code());
    pb::TensorProto { name: name.to_owned(), data_type, raw_data: bytes.to_vec(), ..pb::TensorProto::default() }
}

/// Bytes, taken as numbers with steps of 1/16 above 128, through these nodes from `d` to `p`, to bytes in steps of
/// 1/256.
fn quantised(between: Vec<pb::NodeProto>) -> pb::ModelProto {
    let mut nodes = vec![node("DequantizeLinear", &["x", "step", "middle"], "d")];
    nodes.extend(between);
    nodes.push(node("QuantizeLinear", &["p", "fine", "zero"], "y"));
    let bytes = model(vec![value("x", DType::U8, &["N", "3"])], vec![value("y", DType::U8, &["N", "3"])], nodes);
    let mut model = pb::ModelProto::decode(&bytes[..]).unwrap();
    model.graph.as_mut().unwrap().initializer = vec![
        number("step", DType::F32, &(1.0f32 / 16.0).to_le_bytes()),
        number("middle", DType::U8, &[128]),
        number("fine", DType::F32, &(1.0f32 / 256.0).to_le_bytes()),
        number("zero", DType::U8, &[0]),
    ];
    model
}

fn refusal(model: &pb::ModelProto) -> Option<String> {
    let opened = Onnx::from_bytes("test.onnx", model.encode_to_vec(), &options(OnnxEngine::Tract, 2));
    opened.err().map(|error| error.to_string())
}

#[test]
fn a_softmax_that_is_quantised_is_refused() {
    for (op, between) in [
        ("Softmax", vec![node("Softmax", &["d"], "p")]),
        ("LogSoftmax", vec![node("LogSoftmax", &["d"], "p")]),
        ("Softmax", vec![node("Neg", &["d"], "n"), node("Softmax", &["n"], "s"), node("Relu", &["s"], "p")]),
    ] {
        let model = quantised(between);
        let message = refusal(&model).unwrap();
        assert!(message.contains(&format!("({op}) wrongly")) && message.contains("ORT_DYLIB_PATH"), "{message}");
        let function = pb::FunctionProto { node: model.graph.unwrap().node, ..pb::FunctionProto::default() };
        let sigmoid = quantised(vec![node("Sigmoid", &["d"], "p")]);
        assert!(refusal(&pb::ModelProto { functions: vec![function], ..sigmoid }).is_some());
    }
}

/// Element by element, or with a product between them: tract computes these as they are.
#[test]
fn other_quantised_models_are_computed() {
    let rows = [sample(&[(DType::U8, &[3], &[112, 128, 144])]), sample(&[(DType::U8, &[3], &[144, 144, 128])])];
    let sigmoid = quantised(vec![node("Sigmoid", &["d"], "p")]);
    let answers = infer(sigmoid.encode_to_vec(), OnnxEngine::Tract, 2, &rows);
    assert_eq!(answers, [[69, 128, 187], [187, 187, 128]]);
    let mut product = quantised(vec![node("MatMul", &["d", "w"], "m"), node("Softmax", &["m"], "p")]);
    let unit: Vec<u8> = [1f32, 0., 0., 0., 1., 0., 0., 0., 1.].into_iter().flat_map(f32::to_le_bytes).collect();
    let weights = pb::TensorProto { dims: vec![3, 3], ..number("w", DType::F32, &unit) };
    product.graph.as_mut().unwrap().initializer.push(weights);
    assert_eq!(refusal(&product), None);
    assert_eq!(infer(product.encode_to_vec(), OnnxEngine::Tract, 2, &rows), softmax_of_rows());
}

fn softmax_of_rows() -> [[u8; 3]; 2] {
    [[-1f32, 0.0, 1.0], [1.0, 1.0, 0.0]].map(|row| {
        let all: f32 = row.iter().map(|x| x.exp()).sum();
        row.map(|x| (256.0 * x.exp() / all).round() as u8)
    })
}

/// One tree of three nodes: class 1 has the weights, of which the larger one is for values above a half.
fn tree(change: impl FnOnce(&mut pb::NodeProto)) -> pb::ModelProto {
    let floats = |name: &str, values: &[f32]| pb::AttributeProto {
        name: name.to_owned(),
        r#type: 6,
        floats: values.to_vec(),
        ..pb::AttributeProto::default()
    };
    let ints = |name: &str, values: &[i64]| pb::AttributeProto {
        name: name.to_owned(),
        r#type: 7,
        ints: values.to_vec(),
        ..pb::AttributeProto::default()
    };
    let modes = ["BRANCH_LEQ", "LEAF", "LEAF"].map(|mode| mode.as_bytes().to_vec()).to_vec();
    let modes = pb::AttributeProto { name: "nodes_modes".to_owned(), r#type: 8, strings: modes, ..Default::default() };
    let attribute = vec![
        ints("classlabels_int64s", &[0, 1]),
        ints("nodes_treeids", &[0, 0, 0]),
        ints("nodes_nodeids", &[0, 1, 2]),
        ints("nodes_featureids", &[0, 0, 0]),
        ints("nodes_truenodeids", &[1, 0, 0]),
        ints("nodes_falsenodeids", &[2, 0, 0]),
        floats("nodes_values", &[0.5, 0.0, 0.0]),
        modes,
        ints("class_treeids", &[0, 0]),
        ints("class_nodeids", &[1, 2]),
        ints("class_ids", &[0, 0]),
        floats("class_weights", &[0.1, 0.9]),
    ];
    let mut classifier = pb::NodeProto {
        domain: "ai.onnx.ml".to_owned(),
        output: vec!["label".to_owned(), "shares".to_owned()],
        attribute,
        ..node("TreeEnsembleClassifier", &["x"], "label")
    };
    change(&mut classifier);
    let outputs = vec![value("label", DType::I64, &["N"]), value("shares", DType::F32, &["N", "2"])];
    let bytes = super::model(vec![value("x", DType::F32, &["N", "1"])], outputs, vec![classifier]);
    let mut model = pb::ModelProto::decode(&bytes[..]).unwrap();
    model.opset_import.push(pb::OperatorSetIdProto { domain: "ai.onnx.ml".to_owned(), version: 1 });
    model
}

fn set(node: &mut pb::NodeProto, name: &str, change: impl FnOnce(&mut pb::AttributeProto)) {
    change(node.attribute.iter_mut().find(|attribute| attribute.name == name).unwrap());
}

#[test]
fn trees_that_are_computed_wrongly_are_refused() {
    let three = |node: &mut pb::NodeProto| set(node, "classlabels_int64s", |labels| labels.ints = vec![0, 1, 2]);
    let message = refusal(&tree(|_| ())).unwrap();
    assert!(
        message.contains("'make label' (TreeEnsembleClassifier) wrongly, whose trees distinguish no more than two"),
        "{message}"
    );
    assert!(message.contains("ORT_DYLIB_PATH"), "{message}");
    let message = refusal(&tree(|node| {
        three(node);
        set(node, "nodes_modes", |modes| modes.strings[0] = b"BRANCH_GTE".to_vec());
    }));
    assert!(message.unwrap().contains("BRANCH_GTE"));
    let message = refusal(&tree(|node| {
        three(node);
        set(node, "nodes_nodeids", |ids| ids.ints = vec![4, 1, 2]);
    }));
    assert!(message.unwrap().contains("not numbered in their order"));
    assert_eq!(refusal(&tree(three)), None);
}

/// A model of one node with these inputs: `x` of these sizes, and weights of three numbers.
fn one_node(op: &str, inputs: &[&str], sizes: &[&str]) -> pb::ModelProto {
    let bytes =
        model(vec![value("x", DType::F32, sizes)], vec![value("y", DType::F32, &["N"])], vec![node(op, inputs, "y")]);
    let mut model = pb::ModelProto::decode(&bytes[..]).unwrap();
    let three: Vec<u8> = [1f32, 2.0, 3.0].into_iter().flat_map(f32::to_le_bytes).collect();
    model.graph.as_mut().unwrap().initializer = vec![
        pb::TensorProto { dims: vec![3], ..number("three", DType::F32, &three) },
        number("one", DType::F32, &2f32.to_le_bytes()),
    ];
    model
}

/// Each was wrong in a model of the package `onnx`.
#[test]
fn operators_that_are_computed_wrongly_are_refused() {
    let refusal_of = |model: &pb::ModelProto| refusal(model).filter(|message| message.contains("wrongly"));
    assert!(refusal_of(&one_node("Mod", &["x", "three"], &["N"])).unwrap().contains("no single constant number"));
    assert_eq!(refusal_of(&one_node("Mod", &["x", "one"], &["N"])), None);
    let mut resize = one_node("Resize", &["x", "", "three"], &["N", "3", "4"]);
    assert_eq!(refusal_of(&resize), None);
    let attribute = &mut resize.graph.as_mut().unwrap().node[0].attribute;
    attribute.push(pb::AttributeProto {
        name: "coordinate_transformation_mode".to_owned(),
        r#type: 3,
        s: b"align_corners".to_vec(),
        ..pb::AttributeProto::default()
    });
    assert!(refusal_of(&resize).unwrap().contains("align_corners"));
    assert!(refusal_of(&one_node("ReduceMax", &["x"], &["N", "0"])).unwrap().contains("without elements"));
    assert_eq!(refusal_of(&one_node("ReduceMax", &["x"], &["N", "2"])), None);
}

#[test]
#[ignore = ".ci/run models"]
fn onnx_runtime_computes_trees_of_two_classes() {
    let samples = [0.0f32, 1.0].map(|value| sample(&[(DType::F32, &[1], &value.to_le_bytes())]));
    let answers = infer(tree(|_| ()).encode_to_vec(), OnnxEngine::OnnxRuntime, 2, &samples);
    let answer =
        |label: i64, shares: [f32; 2]| [label.to_le_bytes().to_vec(), shares.map(f32::to_le_bytes).concat()].concat();
    assert_eq!(answers, [answer(0, [0.9, 0.1]), answer(1, [1.0 - 0.9, 0.9])]);
}

#[test]
fn nodes_that_go_in_circles_do_not_hang() {
    let model = quantised(vec![node("Softmax", &["p"], "n"), node("Neg", &["n"], "p")]);
    assert!(refusal(&model).is_none_or(|message| !message.contains("wrongly")));
}

#[test]
#[ignore = ".ci/run models"]
fn onnx_runtime_computes_a_softmax_that_is_quantised() {
    let model = quantised(vec![node("Softmax", &["d"], "p")]);
    let rows = [sample(&[(DType::U8, &[3], &[112, 128, 144])]), sample(&[(DType::U8, &[3], &[144, 144, 128])])];
    assert_eq!(infer(model.encode_to_vec(), OnnxEngine::OnnxRuntime, 2, &rows), softmax_of_rows());
}
