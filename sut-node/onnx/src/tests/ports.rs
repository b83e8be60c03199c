//! Inputs and outputs that no sample or answer can have, and outputs that are chosen.

use super::*;

fn parsed(model: &[u8], outputs: &[&str]) -> Result<Model, String> {
    let outputs = outputs.iter().map(ToString::to_string).collect();
    Model::parse(model, &BackendOptions { outputs, ..BackendOptions::default() }).map(|(model, _)| model)
}

/// A model with one more output, which is no tensor: its type has this field of a `TypeProto`.
fn with_odd_output(tag: u8, op: &str) -> Vec<u8> {
    let nodes = vec![node("Identity", &["x"], "label"), node(op, &["x"], "odd")];
    let bytes = model(vec![value("x", DType::F32, &["N"])], vec![value("label", DType::F32, &["N"])], nodes);
    // Behind the model comes more of its graph (7): an output (12) of this name (1) and type (2).
    let kind = [tag << 3 | 2, 0];
    let port = [&[1 << 3 | 2, 3][..], b"odd", &[2 << 3 | 2, 2], &kind].concat();
    let graph = [&[12 << 3 | 2, port.len() as u8][..], &port].concat();
    [&bytes[..], &[7 << 3 | 2, graph.len() as u8], &graph].concat()
}

#[test]
fn outputs_that_are_no_tensors_are_named_with_a_way_out() {
    let zip_map = parsed(&with_odd_output(4, "ZipMap"), &[]).map(drop).unwrap_err();
    assert!(zip_map.contains("'odd' is a sequence of maps (ZipMap)"), "{zip_map}");
    assert!(zip_map.contains("'zipmap': False") && zip_map.contains("--outputs"), "{zip_map}");
    for (tag, what) in [(4, "a sequence"), (5, "a map"), (8, "a sparse tensor"), (9, "an optional")] {
        let odd = parsed(&with_odd_output(tag, "Identity"), &["odd"]).map(drop).unwrap_err();
        assert!(odd.contains(&format!("its output 'odd' is {what}, no tensor; export")), "{odd}");
    }
    assert_eq!(parsed(&with_odd_output(4, "ZipMap"), &["label"]).unwrap().outputs.to_string(), "label f32[N]");
}

#[test]
fn types_are_told_by_name() {
    let typed = |element: i32| {
        let mut model = pb::ModelProto::decode(&identity(DType::F32, &["N"])[..]).unwrap();
        let input = &mut model.graph.as_mut().unwrap().input[0];
        let Some(pb::type_proto::Value::TensorType(tensor)) = &mut input.r#type.as_mut().unwrap().value else {
            panic!()
        };
        tensor.elem_type = element;
        parsed(&model.encode_to_vec(), &[]).map(drop).unwrap_err()
    };
    assert!(typed(8).contains("'x' has elements of type string, which are not served (make numbers of texts"));
    assert!(typed(14).contains("type complex64, which are not served (served: f32"), "{}", typed(14));
    assert!(typed(99).contains("ONNX element type 99"));
}

fn chosen_outputs_are_answered_in_their_order(engine: OnnxEngine) {
    let three = model(
        vec![value("x", DType::I64, &["N"])],
        ["a", "b", "c"].map(|name| value(name, DType::I64, &["N"])).to_vec(),
        vec![node("Identity", &["x"], "a"), node("Add", &["x", "x"], "b"), node("Add", &["b", "x"], "c")],
    );
    let outputs = ["c", "a"].map(str::to_owned).to_vec();
    let backend = Onnx::from_bytes("test.onnx", three.clone(), &BackendOptions { outputs, ..options(engine, 2) });
    let backend = backend.unwrap();
    assert_eq!(backend.info().outputs.to_string(), "c i64[N], a i64[N]");
    let answers =
        backend.worker().unwrap().batch().unwrap().infer(&[sample(&[(DType::I64, &[], &5i64.to_le_bytes())])]);
    assert_eq!(answers, [Ok(Bytes::from([15i64, 5].map(i64::to_le_bytes).concat()))]);
    for (names, part) in
        [(["d", "a"], "no output 'd' (--outputs); its outputs are: a, b, c"), (["a", "a"], "'a' twice")]
    {
        let error = parsed(&three, &names).map(drop).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
}

for_both_engines! { chosen_outputs_are_answered_in_their_order }
