//! Tests of what goes into a run and comes out: providers, inputs by name, the answers that are made of outputs, and
//! the values in outputs.

use super::*;

fn open_error(bytes: Vec<u8>, options: &BackendOptions) -> String {
    let backend = Onnx::from_bytes("test.onnx", bytes, options).map_err(BackendError::from);
    backend.and_then(|backend| backend.worker()).err().unwrap().to_string()
}

fn with_provider(engine: OnnxEngine, name: &str) -> BackendOptions {
    BackendOptions { provider: Some(name.parse().unwrap()), ..options(engine, 1) }
}

#[test]
fn tract_has_no_providers() {
    let error = open_error(identity(DType::F32, &["N", "2"]), &with_provider(OnnxEngine::Tract, "CPU"));
    assert!(error.contains("--ep") && error.contains("tract") && error.contains("ORT_DYLIB_PATH"), "{error}");
}

#[test]
#[ignore = ".ci/run models"]
fn a_provider_is_used_or_those_that_are_there_are_named() {
    let bytes = identity(DType::F32, &["N", "2"]);
    let cpu = with_provider(OnnxEngine::OnnxRuntime, "CPU");
    let backend = Onnx::from_bytes("test.onnx", bytes.clone(), &cpu).unwrap();
    assert!(backend.info().engine.ends_with(" on CPU"), "{}", backend.info().engine);
    let one = sample(&[(DType::F32, &[2], &[0; 8])]);
    assert!(backend.worker().unwrap().batch().unwrap().infer(&[one])[0].is_ok());
    // The library from PyPI is built for the CPU.
    let error = open_error(bytes, &with_provider(OnnxEngine::OnnxRuntime, "CUDA"));
    assert!(error.contains("without the execution provider CUDA (--ep); it has ") && error.contains("CPU"), "{error}");
}

#[test]
fn outputs_are_post_processed_and_the_signature_says_so() {
    let model = identity(DType::F32, &["N", "3"]);
    let top2 = BackendOptions { postprocess: "top-k=2".parse().unwrap(), ..options(OnnxEngine::Tract, 2) };
    let backend = Onnx::from_bytes("test.onnx", model, &top2).unwrap();
    assert_eq!(backend.info().outputs.to_string(), "y i64[N,2]");
    let row = |values: [f32; 3]| sample(&[(DType::F32, &[3], &values.map(f32::to_le_bytes).concat())]);
    let mut worker = backend.worker().unwrap().batch().unwrap();
    let answers = worker.infer(&[row([0., 2., 1.]), row([5., 4., 3.])]);
    let expected = |places: [i64; 2]| Ok(Bytes::from(places.map(i64::to_le_bytes).concat()));
    assert_eq!(answers, [expected([1, 2]), expected([0, 1])]);
    let argmax = BackendOptions { postprocess: "argmax".parse().unwrap(), ..options(OnnxEngine::Tract, 1) };
    let error = open_error(identity(DType::I64, &["N", "3"]), &argmax);
    assert!(error.contains("--postprocess argmax") && error.contains("'y i64[N,3]'"), "{error}");
}

#[test]
fn a_nan_is_told_of_the_sample_that_has_it() {
    let model = identity(DType::F32, &["N", "L"]);
    let backend = Onnx::from_bytes("test.onnx", model, &options(OnnxEngine::Tract, 8)).unwrap();
    let row = |values: &[f32]| {
        let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        sample(&[(DType::F32, &[values.len() as u32], &data)])
    };
    let mut worker = backend.worker().unwrap().batch().unwrap();
    let answers = worker.infer(&[row(&[1.0]), row(&[2.0, f32::NAN]), row(&[f32::NAN]), row(&[3.0, 4.0])]);
    assert!(answers.iter().all(Result::is_ok));
    let mut nan = worker.aside().nan.clone();
    nan.sort_unstable();
    assert_eq!(nan, [1, 2]);
    worker.infer(&[row(&[1.0])]);
    assert!(worker.aside().nan.is_empty());
}

#[test]
fn inputs_can_be_given_by_name_and_must_be_the_models() {
    let two = model(
        vec![value("a", DType::U8, &["N", "1"]), value("b", DType::U8, &["N", "2"])],
        vec![value("y", DType::U8, &["N", "1"]), value("z", DType::U8, &["N", "2"])],
        vec![node("Identity", &["a"], "y"), node("Identity", &["b"], "z")],
    );
    let named = |names: &[&str]| {
        let inputs = names.iter().map(ToString::to_string).collect();
        BackendOptions { inputs, ..options(OnnxEngine::Tract, 2) }
    };
    let backend = Onnx::from_bytes("test.onnx", two.clone(), &named(&["b", "a"])).unwrap();
    assert_eq!(backend.info().inputs.to_string(), "b u8[N,2], a u8[N,1]");
    let one = |b: &[u8], a: &[u8]| sample(&[(DType::U8, &[2], b), (DType::U8, &[1], a)]);
    let answers = backend.worker().unwrap().batch().unwrap().infer(&[one(b"bc", b"a"), one(b"yz", b"x")]);
    assert_eq!(answers, [Ok(Bytes::from_static(b"abc")), Ok(Bytes::from_static(b"xyz"))]);
    let error = open_error(two, &named(&["input_ids", "a"]));
    for part in ["--inputs does not fit test.onnx", "no input 'input_ids'", "a u8[N,1], b u8[N,2]"] {
        assert!(error.contains(part), "{error}");
    }
}

/// A model whose output has as many columns as its input, and one that finds objects.
#[test]
fn an_answer_without_elements_is_no_answer() {
    let none = identity(DType::F32, &["N", "0"]);
    let error = open_error(none, &options(OnnxEngine::Tract, 2));
    assert!(error.contains("the output 'y f32[N,0]' has no elements"), "{error}");
    let free =
        Onnx::from_bytes("test.onnx", identity(DType::F32, &["N", "L"]), &options(OnnxEngine::Tract, 2)).unwrap();
    let mut worker = free.worker().unwrap().batch().unwrap();
    let answers = worker.infer(&[sample(&[(DType::F32, &[0], &[])]), sample(&[(DType::F32, &[1], &[0; 4])])]);
    let error = answers[0].as_ref().unwrap_err().to_string();
    assert!(error.contains("the output 'y f32[N,?]' has no elements"), "{error}");
    assert_eq!(answers[1], Ok(Bytes::from_static(&[0; 4])));
}

/// Models give their inputs names; samples have them in the model's order. What lacks one is told both.
#[test]
fn a_sample_without_one_of_the_inputs_or_of_another_rank_is_told_what_is_wanted() {
    let model = model(
        vec![value("ids", DType::I64, &["N", "4"]), value("mask", DType::I64, &["N", "4"])],
        vec![value("y", DType::I64, &["N", "4"])],
        vec![node("Add", &["ids", "mask"], "y")],
    );
    let backend = Onnx::from_bytes("test.onnx", model, &options(OnnxEngine::Tract, 4)).unwrap();
    let mut worker = backend.worker().unwrap().batch().unwrap();
    let (data, i64s) = ([0; 32], DType::I64);
    let samples = [
        sample(&[(i64s, &[4], &data)]),
        sample(&[(i64s, &[4], &data), (i64s, &[2, 2], &data)]),
        sample(&[(i64s, &[4], &data), (DType::I32, &[8], &data)]),
        sample(&[(i64s, &[4], &data), (i64s, &[4], &data)]),
    ];
    let answers = worker.infer(&samples);
    for (answer, shapes) in answers.iter().zip(["i64[4]", "i64[4], i64[2,2]", "i64[4], i32[8]"]) {
        let error = answer.as_ref().unwrap_err().to_string();
        let message = format!("the sample is {shapes}, the model takes ids i64[N,4], mask i64[N,4]");
        assert!(error.contains(&message), "{error}");
    }
    assert!(answers[3].is_ok());
}

/// A model that multiplies with a weight of 16 KiB, which several workers share.
#[test]
#[ignore = ".ci/run models"]
fn workers_that_share_weights_answer_as_one_that_has_its_own() {
    let bytes = model(
        vec![value("x", DType::F32, &["N", "64"])],
        vec![value("y", DType::F32, &["N", "64"])],
        vec![node("MatMul", &["x", "w"], "y")],
    );
    let numbers = |count: u32, step: u32| -> Vec<u8> {
        (0..count).flat_map(|at| ((at * step % 101) as f32 - 50.0).to_le_bytes()).collect()
    };
    let mut proto = pb::ModelProto::decode(&bytes[..]).unwrap();
    proto.graph.as_mut().unwrap().initializer.push(pb::TensorProto {
        name: "w".to_owned(),
        dims: vec![64, 64],
        data_type: i32::from(DType::F32.code()),
        raw_data: numbers(64 * 64, 37),
        ..pb::TensorProto::default()
    });
    let samples: Vec<BackendSample> = (1..4).map(|step| sample(&[(DType::F32, &[64], &numbers(64, step))])).collect();
    let answers = |workers: usize| -> Vec<Vec<Result<Bytes, InferError>>> {
        let workers = NonZeroUsize::new(workers).unwrap();
        let options = BackendOptions { workers, ..options(OnnxEngine::OnnxRuntime, 2) };
        let backend = Onnx::from_bytes("test.onnx", proto.encode_to_vec(), &options).unwrap();
        let all: Vec<_> = (0..workers.get()).map(|_| backend.worker().unwrap().batch().unwrap()).collect();
        all.into_iter().map(|mut worker| worker.infer(&samples)).collect()
    };
    let own = answers(1).remove(0);
    assert!(own.iter().all(Result::is_ok) && own[0] != own[1]);
    for shared in answers(3) {
        assert_eq!(shared, own);
    }
}
