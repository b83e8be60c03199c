//! What tract computes wrongly: it must be refused, and ONNX Runtime must compute it.

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
        let told = refusal(&model).unwrap();
        assert!(told.contains(&format!("({op}) wrongly")) && told.contains("ORT_DYLIB_PATH"), "{told}");
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

#[test]
fn nodes_that_go_in_circles_do_not_hang() {
    let model = quantised(vec![node("Softmax", &["p"], "n"), node("Neg", &["n"], "p")]);
    assert!(refusal(&model).is_none_or(|told| !told.contains("wrongly")));
}

#[test]
#[ignore = ".ci/run models"]
fn onnx_runtime_computes_a_softmax_that_is_quantised() {
    let model = quantised(vec![node("Softmax", &["d"], "p")]);
    let rows = [sample(&[(DType::U8, &[3], &[112, 128, 144])]), sample(&[(DType::U8, &[3], &[144, 144, 128])])];
    assert_eq!(infer(model.encode_to_vec(), OnnxEngine::OnnxRuntime, 2, &rows), softmax_of_rows());
}
