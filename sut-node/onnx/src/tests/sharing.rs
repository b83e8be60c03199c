//! Samples share runs only where each is answered as it is alone.

use super::*;
use lon_sut::backend::{BatchDim, Worker};

/// A tensor of a model: its values are part of it.
fn weight(name: &str, dtype: DType, dims: &[i64], data: Vec<u8>) -> pb::TensorProto {
    let (name, dims) = (name.to_owned(), dims.to_vec());
    pb::TensorProto { name, dims, data_type: i32::from(dtype.code()), raw_data: data, ..pb::TensorProto::default() }
}

fn ints(name: &str, values: &[i64]) -> pb::AttributeProto {
    pb::AttributeProto { name: name.to_owned(), r#type: 7, ints: values.to_vec(), ..pb::AttributeProto::default() }
}

fn with_weights(model: &[u8], weights: Vec<pb::TensorProto>) -> Vec<u8> {
    let mut model = pb::ModelProto::decode(model).unwrap();
    model.graph.as_mut().unwrap().initializer = weights;
    model.encode_to_vec()
}

fn bytes_of(values: impl IntoIterator<Item = f32>) -> Vec<u8> {
    values.into_iter().flat_map(f32::to_le_bytes).collect()
}

/// Rows of `[samples, time, 3]` to `[time, samples, 3]`.
fn time_first(inputs: &[&str], outputs: &[&str]) -> Vec<u8> {
    let turn = pb::NodeProto { attribute: vec![ints("perm", &[1, 0, 2])], ..node("Transpose", &["x"], "y") };
    model(vec![value("x", DType::F32, inputs)], vec![value("y", DType::F32, outputs)], vec![turn])
}

/// The leading dimension is a sequence, over which is summed.
fn cumulative() -> Vec<u8> {
    let (x, y) = (value("x", DType::F32, &["", "3"]), value("y", DType::F32, &["", "3"]));
    let axis = weight("axis", DType::I64, &[], vec![0; 8]);
    with_weights(&model(vec![x], vec![y], vec![node("CumSum", &["x", "axis"], "y")]), vec![axis])
}

/// Numbers as bytes, whose scale is that of the largest of all.
fn scaled() -> Vec<u8> {
    let quantise = pb::NodeProto {
        output: ["q", "scale", "zero"].map(str::to_owned).to_vec(),
        ..node("DynamicQuantizeLinear", &["x"], "q")
    };
    let nodes = vec![quantise, node("DequantizeLinear", &["q", "scale", "zero"], "y")];
    model(vec![value("x", DType::F32, &["N", "2"])], vec![value("y", DType::F32, &["N", "2"])], nodes)
}

fn rows(count: u32, first: f32) -> BackendSample {
    let dims: &[u32] = if count == 0 { &[3] } else { &[count, 3] };
    let values = (0..3 * count.max(1)).map(|at| first + at as f32);
    sample(&[(DType::F32, dims, &bytes_of(values))])
}

/// Returns the node's report of its batches.
fn report_of(backend: &Onnx) -> String {
    let setting = backend.info().settings.iter().find(|setting| setting.name == "batches");
    setting.map(|setting| setting.value.clone()).unwrap_or_default()
}

fn opened(model: Vec<u8>, engine: OnnxEngine, max_batch: usize) -> Onnx {
    Onnx::from_bytes("test.onnx", model, &options(engine, max_batch)).unwrap()
}

fn batch_half(backend: &Onnx) -> Box<dyn Worker> {
    backend.worker().unwrap().batch().unwrap()
}

fn answered(backend: &Onnx, samples: &[BackendSample]) -> Vec<Vec<f32>> {
    batch_half(backend).infer(samples).into_iter().map(|answer| floats(&answer.unwrap())).collect()
}

/// The answers to eight samples that go in together are those that each has alone, and the node says why that takes
/// eight runs.
fn run_one_by_one(model: Vec<u8>, engine: OnnxEngine, samples: &[BackendSample], reason: &str) {
    let backend = opened(model.clone(), engine, 8);
    let report = report_of(&backend);
    assert!(report.starts_with("samples run one by one: ") && report.contains(reason), "{report}");
    assert!(report.contains("--batch-dim"), "{report}");
    assert_eq!(backend.samples_of_a_run(), Some(NonZeroUsize::MIN));
    let alone = opened(model, engine, 1);
    assert_eq!(report_of(&alone), "", "nobody asked for batches");
    assert_eq!(answered(&backend, samples), answered(&alone, samples));
}

/// Eight samples of eight steps: the output looks as if it began with the samples.
fn time_that_comes_first_is_no_batch(engine: OnnxEngine) {
    let samples: Vec<BackendSample> = (0..8).map(|number| rows(8, 100.0 * number as f32)).collect();
    let free = || time_first(&["", "", "3"], &["", "", "3"]);
    run_one_by_one(free(), engine, &samples, "its leading dimension does not count samples");
    run_one_by_one(time_first(&["", "8", "3"], &["", "", "3"]), engine, &samples, "does not count samples");
    let backend = opened(free(), engine, 8);
    assert_eq!(backend.info().outputs.to_string(), "y f32[1,?,?,3]");
    assert_eq!(answered(&backend, &samples[3..4])[0], (0..24).map(|at| 300.0 + at as f32).collect::<Vec<_>>());
}

/// The file says by names that the output has the samples second: each gets its own values, in one piece.
fn a_batch_that_is_named_may_come_second(engine: OnnxEngine) {
    let samples: Vec<BackendSample> = (0..8).map(|number| rows(8, 100.0 * number as f32)).collect();
    let named = time_first(&["N", "time", "3"], &["time", "N", "3"]);
    let backend = opened(named.clone(), engine, 8);
    assert_eq!((report_of(&backend).as_str(), backend.samples_of_a_run()), ("proved", None));
    assert_eq!(backend.info().outputs.to_string(), "y f32[N,?,3]");
    let right: Vec<Vec<f32>> = (0..8).map(|n| (0..24).map(|at| (100 * n + at) as f32).collect()).collect();
    assert_eq!(answered(&backend, &samples), right);
    assert_eq!(answered(&opened(named, engine, 1), &samples), right);
}

fn samples_that_an_operator_mixes_run_alone(engine: OnnxEngine) {
    let samples: Vec<BackendSample> = (0..8).map(|number| rows(0, number as f32)).collect();
    run_one_by_one(cumulative(), engine, &samples, "depends on the samples beside it");
    assert_eq!(opened(cumulative(), engine, 8).info().outputs.to_string(), "y f32[N,3]", "one row each");
}

/// The file says the output has a row for each sample; it has one row.
fn an_answer_that_cannot_be_cut_is_found_before_the_run(engine: OnnxEngine) {
    let sum = node("ReduceSum", &["x"], "y");
    let model = model(vec![value("x", DType::F32, &["", "3"])], vec![value("y", DType::F32, &["", "1"])], vec![sum]);
    let samples: Vec<BackendSample> = (0..8).map(|number| rows(0, number as f32)).collect();
    run_one_by_one(model, engine, &samples, "which is not one row for each");
}

/// tract does not run the operator.
#[test]
#[ignore = ".ci/run models"]
fn a_scale_that_spans_the_batch_is_named() {
    let row = |values: [f32; 2]| sample(&[(DType::F32, &[2], &bytes_of(values))]);
    let samples: Vec<BackendSample> = (0..8).map(|power| row([2f32.powi(power), -2f32.powi(-power)])).collect();
    let engine = OnnxEngine::OnnxRuntime;
    run_one_by_one(scaled(), engine, &samples, "the scale of its quantisation (DynamicQuantizeLinear) spans the batch");
}

/// As converters name them: each dimension has a name of its own.
fn names_may_differ_where_it_is_proved(engine: OnnxEngine) {
    let twice = |outputs: &[&str]| {
        let inputs = vec![value("a", DType::F32, &["unk_1", "3"]), value("b", DType::F32, &["unk_2", "3"])];
        model(inputs, vec![value("y", DType::F32, outputs)], vec![node("Sub", &["a", "b"], "y")])
    };
    let pair = |number: u8| {
        let (a, b) = (bytes_of([f32::from(number), 5.0, 7.0]), bytes_of([1.0, f32::from(number), 0.0]));
        sample(&[(DType::F32, &[3], &a), (DType::F32, &[3], &b)])
    };
    let samples: Vec<BackendSample> = (0..8).map(pair).collect();
    let backend = opened(twice(&["unk_3", "3"]), engine, 8);
    assert_eq!((report_of(&backend).as_str(), backend.samples_of_a_run()), ("proved", None));
    assert_eq!(backend.info().outputs.to_string(), "y f32[N,3]");
    let right: Vec<_> = (0..8u8).map(f32::from).map(|n| vec![n - 1.0, 5.0 - n, 7.0]).collect();
    assert_eq!(answered(&backend, &samples), right);
}

/// Small ids, whatever the table: every row that is asked for is there.
fn ids_and_tables_are_proved(engine: OnnxEngine) {
    assert_eq!(report_of(&opened(model_with_table().encode_to_vec(), engine, 8)), "proved");
}

/// The number of rows depends on values, and names differ: that it was once the batch would prove nothing.
fn rows_that_values_ask_for_are_no_batch(engine: OnnxEngine) {
    let nodes = vec![node("NonZero", &["x"], "n"), node("Transpose", &["n"], "y")];
    let (x, y) = (value("x", DType::F32, &["N", "3"]), value("y", DType::I64, &["found", "2"]));
    let backend = Onnx::from_bytes("test.onnx", model(vec![x], vec![y], nodes), &options(engine, 8)).unwrap();
    let report = report_of(&backend);
    assert!(report.contains("is called found, not N, and its NonZero makes as many rows"), "{report}");
    assert_eq!(backend.info().outputs.to_string(), "y i64[1,?,2]");
}

/// Rows of 37 numbers, which the file does not say.
fn sizes_that_are_given_let_a_model_be_tried(engine: OnnxEngine) {
    let bytes = model(
        vec![value("x", DType::F32, &["N", "width"])],
        vec![value("y", DType::F32, &["N", "1"])],
        vec![node("MatMul", &["x", "w"], "y")],
    );
    let bytes = with_weights(&bytes, vec![weight("w", DType::F32, &[37, 1], bytes_of((0..37u8).map(f32::from)))]);
    let open = |dims: &[&str]| {
        let dims = dims.iter().map(|dim| dim.parse().unwrap()).collect();
        Onnx::from_bytes("test.onnx", bytes.clone(), &BackendOptions { dims, ..options(engine, 4) })
    };
    if engine == OnnxEngine::OnnxRuntime {
        let report = report_of(&open(&[]).unwrap());
        assert!(report.contains("does not run on samples that are made up") && report.contains("--dims"), "{report}");
    }
    for flag in ["width=37", "x:1=37"] {
        let backend = open(&[flag]).unwrap();
        assert_eq!(
            (report_of(&backend).as_str(), backend.info().inputs.to_string().as_str()),
            ("proved", "x f32[N,37]")
        );
        assert!(backend.info().settings.iter().any(|it| it.name == "dims" && it.value == flag && it.shapes_answers));
    }
    let error = open(&["length=37"]).err().unwrap().to_string();
    assert!(
        error.contains("no free dimension 'length' (--dims); the free dimensions of its inputs are: N, width"),
        "{error}"
    );
}

/// No zero is a divisor, and a node that warms up on zeros must not fail on them.
fn a_model_that_takes_no_zeros_serves(engine: OnnxEngine) {
    let inputs = vec![value("a", DType::I32, &["N", "3"]), value("b", DType::I32, &["N", "3"])];
    let model = model(inputs, vec![value("y", DType::I32, &["N", "3"])], vec![node("Div", &["a", "b"], "y")]);
    let backend = opened(model, engine, 4);
    assert_eq!(report_of(&backend), "proved");
    let (a, b): (Vec<u8>, Vec<u8>) =
        ([7i32, 8, -9].map(i32::to_le_bytes).concat(), [2i32; 3].map(i32::to_le_bytes).concat());
    let answers = batch_half(&backend).infer(&[sample(&[(DType::I32, &[3], &a), (DType::I32, &[3], &b)])]);
    assert_eq!(answers, [Ok(Bytes::from([3i32, 4, -4].map(i32::to_le_bytes).concat()))]);
}

for_both_engines! {
    time_that_comes_first_is_no_batch,
    a_batch_that_is_named_may_come_second,
    samples_that_an_operator_mixes_run_alone,
    an_answer_that_cannot_be_cut_is_found_before_the_run,
    names_may_differ_where_it_is_proved,
    ids_and_tables_are_proved,
    rows_that_values_ask_for_are_no_batch,
    sizes_that_are_given_let_a_model_be_tried,
    a_model_that_takes_no_zeros_serves,
}

#[test]
fn the_user_may_say_which_dimension_is_the_batch() {
    let open = |model: Vec<u8>, flag: &str| {
        let batch_dim: Option<BatchDim> = Some(flag.parse().unwrap());
        Onnx::from_bytes("test.onnx", model, &BackendOptions { batch_dim, ..options(OnnxEngine::Tract, 2) })
    };
    let samples = [rows(0, 1.0), rows(0, 10.0)];
    let together = open(cumulative(), "0").unwrap();
    assert_eq!(answered(&together, &samples)[1], [11.0, 13.0, 15.0], "as it was said");
    assert!(together.info().settings.iter().any(|it| it.name == "batch_dim" && it.value == "0" && it.shapes_answers));
    assert_eq!(answered(&open(cumulative(), "none").unwrap(), &samples)[1], [10.0, 11.0, 12.0]);
    let named = identity(DType::F32, &["N", "3"]);
    assert_eq!(open(named.clone(), "N").unwrap().samples_of_a_run(), None);
    let error = open(named, "batch").err().unwrap().to_string();
    assert!(error.contains("--batch-dim batch") && error.contains("'x f32[N,3]' is called N, not batch"), "{error}");
    let error = open(identity(DType::F32, &["2", "3"]), "0").err().unwrap().to_string();
    assert!(error.contains("'x f32[2,3]' has no free leading dimension"), "{error}");
    assert!("1".parse::<BatchDim>().is_err() && "".parse::<BatchDim>().is_err());
}
