//! Whole models through the backend: the digits benchmark, and small models made here.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use lon_sut::backend::{BackendSample, InferError, OnnxEngine};
use lon_sut::tensor::{DType, Tensor};
use prost::Message as _;
use tract_onnx::pb;

use super::footprint::Footprint;
use super::*;

/// Each of these holds for both engines.
macro_rules! for_both_engines {
    ($($name:ident),* $(,)?) => {
        mod with_tract {
            $(#[test] fn $name() { super::$name(super::OnnxEngine::Tract); })*
        }
        mod with_onnx_runtime {
            $(
                #[test]
                #[ignore = ".ci/run models"]
                fn $name() { super::$name(super::OnnxEngine::OnnxRuntime); }
            )*
        }
    };
}

mod engines;
mod external;
mod faults;
mod free_sizes;
mod generated;
mod inputs_and_outputs;
mod ports;
mod sharing;
mod warm_up;

fn digits_file(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../loadgen-node/qsl/digits")).join(name)
}

fn options(engine: OnnxEngine, max_batch: usize) -> BackendOptions {
    BackendOptions { engine, max_batch: NonZeroUsize::new(max_batch).unwrap(), ..BackendOptions::default() }
}

fn sample(tensors: &[(DType, &[u32], &[u8])]) -> BackendSample {
    let tensor =
        |&(dtype, dims, data): &(DType, &[u32], &[u8])| Tensor::new(dtype, dims, Bytes::copy_from_slice(data)).unwrap();
    BackendSample { bytes: Bytes::new(), tensors: tensors.iter().map(tensor).collect() }
}

struct Digits {
    samples: Vec<BackendSample>,
    labels: Vec<i64>,
}

impl Digits {
    fn load() -> Digits {
        let data = |name| {
            let file = fs::read(digits_file(name)).unwrap();
            // The header of these two files says how long it is in bytes 8 and 9.
            let at = 10 + usize::from(u16::from_le_bytes([file[8], file[9]]));
            file[at..].to_vec()
        };
        let samples = data("images.npy").chunks(64).map(|image| sample(&[(DType::U8, &[1, 8, 8], image)])).collect();
        let labels = data("labels.npy").as_chunks().0.iter().map(|&bytes| i64::from_le_bytes(bytes)).collect();
        Digits { samples, labels }
    }

    /// Answers in batches of this size, with all checks that hold for any engine.
    fn predictions(&self, engine: OnnxEngine, max_batch: usize) -> Vec<usize> {
        let backend = Onnx::open(&digits_file("digits.onnx"), &options(engine, max_batch)).unwrap();
        assert_eq!(backend.info().inputs.to_string(), "image u8[N,1,8,8]");
        assert_eq!(backend.info().outputs.to_string(), "logits f32[N,10]");
        let mut worker = backend.worker().unwrap().batch().unwrap();
        let answers = self.samples.chunks(max_batch).flat_map(|batch| worker.infer(batch));
        let predictions: Vec<usize> = answers.map(|answer| largest(&answer.unwrap())).collect();
        let right =
            predictions.iter().zip(&self.labels).filter(|(prediction, label)| **prediction as i64 == **label).count();
        let accuracy = right as f64 / self.labels.len() as f64;
        println!("{} in batches of {max_batch}: accuracy {accuracy:.4}", backend.info().engine);
        assert!(accuracy > 0.97 && predictions.len() == self.labels.len());
        predictions
    }
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()
}

fn largest(logits: &[u8]) -> usize {
    let logits = floats(logits);
    assert_eq!(logits.len(), 10);
    (0..10).max_by(|&a, &b| logits[a].total_cmp(&logits[b])).unwrap()
}

#[test]
fn tract_reads_digits() {
    let digits = Digits::load();
    let one_by_one = digits.predictions(OnnxEngine::Tract, 1);
    assert_eq!(digits.predictions(OnnxEngine::Tract, 8), one_by_one);
    // 450 samples in sevens: pieces of 4, 2 and 1.
    assert_eq!(digits.predictions(OnnxEngine::Tract, 7), one_by_one);
}

#[test]
#[ignore = ".ci/run models"]
fn onnx_runtime_reads_digits_as_tract_does() {
    let digits = Digits::load();
    let tract = digits.predictions(OnnxEngine::Tract, 8);
    for max_batch in [1, 8] {
        assert_eq!(digits.predictions(OnnxEngine::OnnxRuntime, max_batch), tract);
    }
}

#[test]
fn a_sample_that_does_not_fit_fails_alone() {
    let backend = Onnx::open(&digits_file("digits.onnx"), &options(OnnxEngine::Tract, 4)).unwrap();
    let mut worker = backend.worker().unwrap().batch().unwrap();
    let good = Digits::load().samples.remove(0);
    let with_batch_dim = sample(&[(DType::U8, &[1, 1, 8, 8], &good.tensors[0].data()[..])]);
    let bad = sample(&[(DType::F32, &[2], &[0; 8])]);
    let answers = worker.infer(&[good, bad, with_batch_dim, BackendSample::default()]);
    assert_eq!(answers.len(), 4);
    assert_eq!(largest(answers[0].as_ref().unwrap()), largest(answers[2].as_ref().unwrap()));
    let error = answers[1].as_ref().unwrap_err().to_string();
    assert!(error.contains("the sample is f32[2], the model takes image u8[N,1,8,8]"), "{error}");
    assert!(matches!(answers[3], Err(InferError::Mismatch(_))));
}

#[test]
fn more_samples_than_asked_for_still_run() {
    let backend = Onnx::open(&digits_file("digits.onnx"), &options(OnnxEngine::Tract, 2)).unwrap();
    let answers = backend.worker().unwrap().batch().unwrap().infer(&Digits::load().samples[..7]);
    assert!(answers.len() == 7 && answers.iter().all(Result::is_ok));
}

fn load_error(place: &Path) -> String {
    Onnx::open(place, &options(OnnxEngine::Tract, 1)).unwrap_err().to_string()
}

#[test]
fn a_model_that_is_not_what_it_should_be_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("m.onnx");
    let error = load_error(&place);
    assert!(error.starts_with(&format!("cannot read {}", place.display())), "{error}");

    let model = fs::read(digits_file("digits.onnx")).unwrap();
    let listed = sums::sha256(&model);
    for len in [0, 1, 100, model.len() / 2, model.len() - 1] {
        fs::write(&place, &model[..len]).unwrap();
        let (error, sum) = (load_error(&place), sums::sha256(&model[..len]));
        assert!(
            error.contains("m.onnx") && error.contains(&sum[..12]) && error.contains("not an ONNX model"),
            "{error}"
        );
    }
    fs::write(&place, b"<html>404</html>").unwrap();
    assert!(load_error(&place).contains("not an ONNX model"));

    fs::write(folder.path().join("SHA256SUMS"), format!("{listed}  m.onnx\n")).unwrap();
    fs::write(&place, &model[1..]).unwrap();
    let error = load_error(&place);
    assert!(error.contains("m.onnx") && error.contains(&listed) && error.contains(&sums::sha256(&model[1..])));
    fs::write(&place, &model).unwrap();
    let backend = Onnx::open(&place, &options(OnnxEngine::Tract, 1)).unwrap();
    assert_eq!((backend.info().model.as_str(), backend.info().model_sha256.as_deref()), ("m.onnx", Some(&*listed)));
}

#[test]
fn a_library_that_is_none_is_an_error_and_not_a_fall_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("libonnxruntime.so");
    fs::write(&path, b"not a library").unwrap();
    let library = library::Library { path, origin: "found beside the program" };
    let (model, proto) = Model::parse(&identity(DType::F32, &["N"]), &BackendOptions::default()).unwrap();
    let (source, footprint) = (ort::Source::Memory(Bytes::new()), Footprint::unknown());
    let parts = ort::Parts { model: &model, proto: &proto, source, folder: None, footprint };
    let error = ort::OnnxRuntime::new(&library, parts, &BackendOptions::default());
    let error = error.err().unwrap().to_string();
    assert!(error.contains("libonnxruntime.so (found beside the program) cannot be used"), "{error}");
    assert!(error.contains("ORT_DYLIB_PATH"), "{error}");
}

// Models made here. A dimension is a size, a name, or "" (free without a name).

fn value(name: &str, dtype: DType, dims: &[&str]) -> pb::ValueInfoProto {
    use pb::tensor_shape_proto::{Dimension, dimension::Value};
    let dim = |text: &&str| {
        let named = || (!text.is_empty()).then(|| Value::DimParam((*text).to_owned()));
        let value = text.parse().map(Value::DimValue).ok().or_else(named);
        Dimension { value, ..Dimension::default() }
    };
    let shape = Some(pb::TensorShapeProto { dim: dims.iter().map(dim).collect() });
    let tensor = pb::type_proto::Tensor { elem_type: i32::from(dtype.code()), shape };
    let kind = pb::TypeProto { value: Some(pb::type_proto::Value::TensorType(tensor)), ..pb::TypeProto::default() };
    pb::ValueInfoProto { name: name.to_owned(), r#type: Some(kind), ..pb::ValueInfoProto::default() }
}

fn node(op: &str, inputs: &[&str], output: &str) -> pb::NodeProto {
    let input = inputs.iter().map(|&input| input.to_owned()).collect();
    let (name, output) = (format!("make {output}"), vec![output.to_owned()]);
    pb::NodeProto { name, op_type: op.to_owned(), input, output, ..pb::NodeProto::default() }
}

fn model(inputs: Vec<pb::ValueInfoProto>, outputs: Vec<pb::ValueInfoProto>, nodes: Vec<pb::NodeProto>) -> Vec<u8> {
    let graph = pb::GraphProto {
        name: "test".to_owned(),
        input: inputs,
        output: outputs,
        node: nodes,
        ..pb::GraphProto::default()
    };
    let opset = pb::OperatorSetIdProto { version: 17, ..pb::OperatorSetIdProto::default() };
    pb::ModelProto { ir_version: 8, graph: Some(graph), opset_import: vec![opset], ..pb::ModelProto::default() }
        .encode_to_vec()
}

fn identity(dtype: DType, dims: &[&str]) -> Vec<u8> {
    model(vec![value("x", dtype, dims)], vec![value("y", dtype, dims)], vec![node("Identity", &["x"], "y")])
}

fn infer(model: Vec<u8>, engine: OnnxEngine, max_batch: usize, batch: &[BackendSample]) -> Vec<Vec<u8>> {
    let backend = Onnx::from_bytes("test.onnx", model, &options(engine, max_batch)).unwrap();
    let answers = backend.worker().unwrap().batch().unwrap().infer(batch);
    answers.into_iter().map(|answer| answer.unwrap().to_vec()).collect()
}

fn every_type_goes_through(engine: OnnxEngine) {
    let is_served = |dtype: &&DType| match dtype {
        DType::F8E4M3 | DType::F8E5M2 | DType::U4 | DType::I4 => false,
        DType::Bf16 => engine == OnnxEngine::OnnxRuntime,
        _ => true,
    };
    for &dtype in DType::ALL.iter().filter(is_served) {
        let data: Vec<u8> = (0..2 * dtype.size()).map(|i| if dtype == DType::Bool { 1 } else { i as u8 + 1 }).collect();
        let batch = vec![sample(&[(dtype, &[2], &data)]); 3];
        assert_eq!(infer(identity(dtype, &["N", "2"]), engine, 2, &batch), vec![data; 3], "{dtype}");
    }
    let loose = sample(&[(DType::Bool, &[3], &[0, 1, 7])]);
    assert_eq!(infer(identity(DType::Bool, &["N", "3"]), engine, 1, &[loose]), [[0, 1, 1]]);
}

fn several_inputs_and_outputs(engine: OnnxEngine) {
    let model = model(
        vec![value("k", DType::I64, &["N"]), value("x", DType::U8, &["N", "2"])],
        vec![value("sum", DType::I64, &["N"]), value("copy", DType::U8, &["N", "2"])],
        vec![node("Add", &["k", "k"], "sum"), node("Identity", &["x"], "copy")],
    );
    let one = |k: i64, x: &[u8]| sample(&[(DType::I64, &[], &k.to_le_bytes()), (DType::U8, &[2], x)]);
    let answers = infer(model, engine, 4, &[one(1, b"ab"), one(-3, b"cd"), one(500, b"ef")]);
    let expected = |k: i64, x: &[u8]| [&(2 * k).to_le_bytes()[..], x].concat();
    assert_eq!(answers, [expected(1, b"ab"), expected(-3, b"cd"), expected(500, b"ef")]);
}

/// All are of one type and shape, so that another order would be seen in the numbers alone. Right: the order in which
/// the model names them, which is neither that of its nodes nor that of the alphabet.
fn outputs_and_inputs_are_those_of_their_names(engine: OnnxEngine) {
    let ports = |names: [&str; 3]| names.map(|name| value(name, DType::I64, &["N"])).to_vec();
    let nodes =
        vec![node("Add", &["i", "j"], "i_j"), node("Add", &["j", "k"], "j_k"), node("Add", &["i_j", "i"], "i_j_i")];
    let model = model(ports(["k", "i", "j"]), ports(["j_k", "i_j_i", "i_j"]), nodes);
    let ints = |values: &[i64]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let one = |[k, i, j]: [i64; 3]| {
        sample(&[k, i, j].map(i64::to_le_bytes).each_ref().map(|int| (DType::I64, &[][..], &int[..])))
    };
    let answers = infer(model, engine, 2, &[one([100, 10, 1]), one([500, 70, 3])]);
    assert_eq!(answers, [ints(&[101, 21, 11]), ints(&[503, 143, 73])]);
}

fn free_sizes_run_in_groups(engine: OnnxEngine) {
    for dims in [["N", "length"], ["", ""]] {
        let model = model(
            vec![value("a", DType::I32, &dims), value("b", DType::I32, &dims)],
            vec![value("y", DType::I32, &dims)],
            vec![node("Add", &["a", "b"], "y")],
        );
        let one = |values: &[i32]| {
            let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            let tensor = (DType::I32, &[values.len() as u32][..], &data[..]);
            sample(&[tensor, tensor])
        };
        let batch = [one(&[1, 2]), one(&[3]), one(&[4, 5]), one(&[6])];
        let answers = infer(model, engine, 4, &batch);
        let ints = |answer: &Vec<u8>| answer.as_chunks().0.iter().map(|&b| i32::from_le_bytes(b)).collect::<Vec<_>>();
        assert_eq!(answers.iter().map(ints).collect::<Vec<_>>(), [vec![2, 4], vec![6], vec![8, 10], vec![12]]);
    }
}

fn a_fixed_batch_of_one_runs_one_by_one(engine: OnnxEngine) {
    let batch: Vec<BackendSample> = (0..3).map(|i| sample(&[(DType::U8, &[2], &[i, i + 1])])).collect();
    assert_eq!(infer(identity(DType::U8, &["1", "2"]), engine, 8, &batch), [[0, 1], [1, 2], [2, 3]]);
    let whole = [sample(&[(DType::U8, &[2, 2], b"abcd")])];
    assert_eq!(infer(identity(DType::U8, &["2", "2"]), engine, 8, &whole), [b"abcd"]);
}

fn an_operator_nobody_has_is_named(engine: OnnxEngine) {
    let mut odd = model(
        vec![value("x", DType::F32, &["N"])],
        vec![value("y", DType::F32, &["N"])],
        vec![node("Frobnicate", &["x"], "y")],
    );
    let engine_name = if engine == OnnxEngine::Tract { "tract" } else { "onnxruntime" };
    let outcome = |bytes: Vec<u8>| {
        let backend = Onnx::from_bytes("odd.onnx", bytes, &options(engine, 1)).map_err(BackendError::from);
        backend.and_then(|backend| backend.worker()).err().unwrap().to_string()
    };
    let error = outcome(odd.clone());
    assert!(error.contains("odd.onnx") && error.contains("Frobnicate") && error.contains(engine_name), "{error}");
    // An edge from nowhere.
    odd = model(
        vec![value("x", DType::F32, &["N"])],
        vec![value("y", DType::F32, &["N"])],
        vec![node("Identity", &["x"], "z")],
    );
    assert!(outcome(odd).contains("odd.onnx"));
}

fn a_value_that_breaks_a_run_fails_alone(engine: OnnxEngine) {
    let mut gather = model_with_table();
    gather.ir_version = 8;
    let index = |i: i64| sample(&[(DType::I64, &[], &i.to_le_bytes())]);
    let backend = Onnx::from_bytes("test.onnx", gather.encode_to_vec(), &options(engine, 4)).unwrap();
    let answers = backend.worker().unwrap().batch().unwrap().infer(&[index(1), index(99), index(0)]);
    assert_eq!(answers[0].as_deref(), Ok(&b"b"[..]));
    assert!(matches!(&answers[1], Err(InferError::Engine { batch: 1, .. })), "{:?}", answers[1]);
    assert_eq!(answers[2].as_deref(), Ok(&b"a"[..]));
}

fn model_with_table() -> pb::ModelProto {
    let bytes = model(
        vec![value("i", DType::I64, &["N"])],
        vec![value("y", DType::U8, &["N"])],
        vec![node("Gather", &["table", "i"], "y")],
    );
    let mut model = pb::ModelProto::decode(&bytes[..]).unwrap();
    let table = pb::TensorProto {
        name: "table".to_owned(),
        dims: vec![3],
        data_type: i32::from(DType::U8.code()),
        raw_data: b"abc".to_vec(),
        ..pb::TensorProto::default()
    };
    model.graph.as_mut().unwrap().initializer.push(table);
    model
}

for_both_engines! {
    every_type_goes_through,
    several_inputs_and_outputs,
    outputs_and_inputs_are_those_of_their_names,
    free_sizes_run_in_groups,
    a_fixed_batch_of_one_runs_one_by_one,
    an_operator_nobody_has_is_named,
    a_value_that_breaks_a_run_fails_alone,
}

#[test]
fn types_that_an_engine_has_not_are_refused_by_name() {
    let open = |dtype| {
        let opened = Onnx::from_bytes("test.onnx", identity(dtype, &["N", "2"]), &options(OnnxEngine::Tract, 1));
        opened.err().unwrap().to_string()
    };
    assert!(
        open(DType::Bf16).contains("bf16") && open(DType::Bf16).contains("ORT_DYLIB_PATH"),
        "{}",
        open(DType::Bf16)
    );
    for dtype in [DType::F8E4M3, DType::F8E5M2, DType::U4, DType::I4] {
        assert!(open(dtype).contains("which are not served"), "{}", open(dtype));
    }
}
