//! Trials before the first sample: zeros, ones, and whether outputs are as the file says.

use super::*;

fn opened(bytes: Vec<u8>, options: &BackendOptions) -> Result<Box<dyn lon_sut::backend::Worker>, String> {
    let backend = Onnx::from_bytes("test.onnx", bytes, options).map_err(BackendError::from);
    let half = backend.and_then(|backend| backend.worker()).map_err(|error| error.to_string())?;
    Ok(half.batch().unwrap())
}

/// Whole numbers that are divided: nothing is divided by zero.
fn division() -> Vec<u8> {
    let ports = ["x", "y"].map(|name| value(name, DType::I32, &["1", "1"])).to_vec();
    model(ports, vec![value("z", DType::I32, &["1", "1"])], vec![node("Div", &["x", "y"], "z")])
}

/// A table of three rows: neither row 5 nor row 6 is there.
fn beyond_a_table() -> Vec<u8> {
    let mut model = model_with_table();
    let graph = model.graph.as_mut().unwrap();
    let five = pb::TensorProto {
        name: "five".to_owned(),
        data_type: i32::from(DType::I64.code()),
        raw_data: 5i64.to_le_bytes().to_vec(),
        ..pb::TensorProto::default()
    };
    graph.initializer.push(five);
    graph.node = vec![node("Add", &["i", "five"], "j"), node("Gather", &["table", "j"], "y")];
    model.encode_to_vec()
}

fn a_model_that_cannot_divide_by_zero_is_served(engine: OnnxEngine) {
    let mut worker = opened(division(), &options(engine, 1)).unwrap();
    let int = |value: i32| value.to_le_bytes();
    let answers = worker.infer(&[sample(&[(DType::I32, &[1], &int(12)), (DType::I32, &[1], &int(4))])]);
    assert_eq!(answers, [Ok(Bytes::from(int(3).to_vec()))]);
}

fn a_model_that_nothing_made_up_fits_is_served(engine: OnnxEngine) {
    let mut worker = opened(beyond_a_table(), &options(engine, 4)).unwrap();
    let row = |row: i64| sample(&[(DType::I64, &[], &(row - 5).to_le_bytes())]);
    assert_eq!(worker.infer(&[row(2), row(0)]), [Ok(Bytes::from_static(b"c")), Ok(Bytes::from_static(b"a"))]);
    assert!(worker.infer(&[row(7)])[0].is_err());
}

/// A table has three columns, and the file says four.
fn an_output_of_another_size_is_refused_at_the_start(engine: OnnxEngine) {
    for (input, size) in [("1", "4"), ("N", "4")] {
        let (x, y) = (value("x", DType::F32, &[input, "3"]), value("y", DType::F32, &[input, size]));
        let error = opened(model(vec![x], vec![y], vec![node("Neg", &["x"], "y")]), &options(engine, 2)).err();
        let error = error.unwrap();
        assert!(error.contains("test.onnx"), "{error}");
        // tract finds out by itself, where it does.
        assert!(engine == OnnxEngine::Tract || error.contains("its output is 'y f32["), "{error}");
    }
    // Of a free length.
    let (x, y) = (value("x", DType::F32, &["N", "L", "3"]), value("y", DType::F32, &["N", "L", "4"]));
    let error = opened(model(vec![x], vec![y], vec![node("Neg", &["x"], "y")]), &options(engine, 1)).err().unwrap();
    assert!(engine == OnnxEngine::Tract || error.contains("its output is 'y f32[N,?,4]'"), "{error}");
}

/// The places of what is not zero: in zeros there are none.
fn finds() -> Vec<u8> {
    let (x, y) = (value("x", DType::F32, &["1", "3"]), value("y", DType::I64, &["2", "found"]));
    model(vec![x], vec![y], vec![node("NonZero", &["x"], "y")])
}

fn an_empty_answer_is_one_where_that_is_said(engine: OnnxEngine) {
    let nothing = || sample(&[(DType::F32, &[3], &[0; 12])]);
    let mut worker = opened(finds(), &options(engine, 1)).unwrap();
    let error = worker.infer(&[nothing()]).remove(0).unwrap_err().to_string();
    assert!(error.contains("no elements") && error.contains("--allow-empty"), "{error}");
    let mut worker = opened(finds(), &BackendOptions { allows_empty: true, ..options(engine, 1) }).unwrap();
    assert_eq!(worker.infer(&[nothing()]), [Ok(Bytes::new())]);
}

/// As many zeros as the input says, which are five by the file; of zeros and of ones come other numbers.
#[test]
#[ignore = ".ci/run models"]
fn a_size_that_follows_from_an_input_is_no_fault_of_the_file() {
    let (n, y) = (value("n", DType::I64, &["1"]), value("y", DType::F32, &["5"]));
    let model = model(vec![n], vec![y], vec![node("ConstantOfShape", &["n"], "y")]);
    let mut worker = opened(model, &options(OnnxEngine::OnnxRuntime, 1)).unwrap();
    let count = |count: i64| sample(&[(DType::I64, &[], &count.to_le_bytes())]);
    assert_eq!(worker.infer(&[count(5)]), [Ok(Bytes::from(vec![0; 20]))]);
    let error = worker.infer(&[count(4)]).remove(0).unwrap_err().to_string();
    assert!(error.contains("came with shape [4]"), "{error}");
}

for_both_engines! {
    a_model_that_cannot_divide_by_zero_is_served,
    a_model_that_nothing_made_up_fits_is_served,
    an_output_of_another_size_is_refused_at_the_start,
    an_empty_answer_is_one_where_that_is_said,
}
