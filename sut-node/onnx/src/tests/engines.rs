//! Models of others, as `tests/models/engines.py` writes them: each sample has the answer that ONNX Runtime gives it
//! alone, or the model is refused before the first sample comes. Samples go in eight at a time.

use super::super::proof::apart;
use super::*;

/// Outcome of a model.
enum Outcome {
    Right,
    Refused(String),
    Wrong(String),
}

fn folder() -> PathBuf {
    std::env::var_os("LON_TEST_ENGINES").expect("LON_TEST_ENGINES names what tests/models/engines.py wrote").into()
}

/// The tensors of one kind in a sample's folder.
fn tensors(folder: &Path, kind: &str) -> Vec<pb::TensorProto> {
    let read = |number| fs::read(folder.join(format!("{kind}_{number}.pb"))).ok();
    (0..).map_while(read).map(|bytes| pb::TensorProto::decode(&bytes[..]).unwrap()).collect()
}

fn dtype(tensor: &pb::TensorProto) -> DType {
    DType::from_code(tensor.data_type.try_into().unwrap()).unwrap()
}

fn sample_of(folder: &Path) -> BackendSample {
    let tensor = |tensor: pb::TensorProto| {
        let dims: Vec<u32> = tensor.dims.iter().map(|&dim| dim.try_into().unwrap()).collect();
        Tensor::new(dtype(&tensor), &dims, tensor.raw_data.into()).unwrap()
    };
    BackendSample { bytes: Bytes::new(), tensors: tensors(folder, "input").into_iter().map(tensor).collect() }
}

/// Why the answers to samples are not the right ones. Numbers are held against what those of all samples span, since a
/// sample may have a single one.
fn fault(answers: &[Vec<u8>], right: &[Vec<pb::TensorProto>]) -> Option<String> {
    let mut tails: Vec<&[u8]> = answers.iter().map(Vec::as_slice).collect();
    for (number, first) in right.first()?.iter().enumerate() {
        let expected: Vec<&[u8]> = right.iter().map(|tensors| &tensors[number].raw_data[..]).collect();
        let mut parts = Vec::new();
        for (sample, (tail, expected)) in tails.iter_mut().zip(&expected).enumerate() {
            let Some((part, after)) = tail.split_at_checked(expected.len()) else {
                return Some(format!("sample {sample} has {} bytes", answers[sample].len()));
            };
            parts.extend_from_slice(part);
            *tail = after;
        }
        let (dtype, is_float) = (dtype(first), matches!(first.data_type, 1 | 10 | 11 | 16));
        let tolerance = if matches!(dtype, DType::F16 | DType::Bf16) { 2e-2 } else { 1e-3 };
        let expected_all = expected.concat();
        let is_right = parts == expected_all
            || is_float && apart(dtype, &expected, &parts, tolerance).is_none()
            || dtype == DType::F32 && is_close(&parts, &expected_all);
        if !is_right {
            return Some(format!("output {number} is another one"));
        }
    }
    let more = tails.iter().position(|tail| !tail.is_empty())?;
    Some(format!("sample {more} has {} bytes more", tails[more].len()))
}

/// True where each number is as near as sums and exponentials of single precision come: to 1e-4 of itself, or to 2e-6.
fn is_close(answers: &[u8], right: &[u8]) -> bool {
    let numbers = |bytes: &[u8]| -> Vec<f32> {
        bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
    };
    let is_near = |(one, right): (f32, f32)| (one - right).abs() <= 2e-6 + 1e-4 * right.abs();
    answers.len() == right.len() && numbers(answers).into_iter().zip(numbers(right)).all(is_near)
}

fn outcome(folder: &Path, engine: OnnxEngine) -> Outcome {
    let backend = match Onnx::open(&folder.join("model.onnx"), &options(engine, 8)) {
        Ok(backend) => backend,
        Err(error) => return Outcome::Refused(error.to_string()),
    };
    let mut worker = match backend.worker() {
        Ok(half) => half.batch().unwrap(),
        Err(error) => return Outcome::Refused(error.to_string()),
    };
    let folders: Vec<PathBuf> = (0..).map(|n| folder.join(n.to_string())).take_while(|path| path.exists()).collect();
    let samples: Vec<BackendSample> = folders.iter().map(|folder| sample_of(folder)).collect();
    let answers: Result<Vec<Vec<u8>>, _> = samples
        .chunks(8)
        .flat_map(|batch| worker.infer(batch))
        .map(|answer| answer.map(|answer| answer.to_vec()))
        .collect();
    let right: Vec<Vec<pb::TensorProto>> = folders.iter().map(|folder| tensors(folder, "output")).collect();
    match answers {
        Ok(answers) => fault(&answers, &right).map_or(Outcome::Right, Outcome::Wrong),
        // No wrong answer: the run is INVALID, and says this.
        Err(error) => Outcome::Refused(format!("a sample failed: {error}")),
    }
}

/// Fails for every wrong answer, and when fewer models are right than `least`.
fn answers_are_right_or_refused(engine: OnnxEngine, least: usize) {
    let names = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let mut names: Vec<PathBuf> = names.collect();
    names.sort();
    let (mut right, mut refused, mut wrong) = (0, Vec::new(), Vec::new());
    for path in &names {
        let name = path.file_name().unwrap().to_string_lossy();
        match outcome(path, engine) {
            Outcome::Right => right += 1,
            Outcome::Refused(why) => refused.push(format!("{name}: {why}")),
            Outcome::Wrong(why) => wrong.push(format!("{name}: {why}")),
        }
    }
    println!("{engine:?}: {right} right, {} refused, {} wrong", refused.len(), wrong.len());
    refused.iter().for_each(|line| println!("refused {line}"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(right >= least, "{right} models are right");
}

#[test]
#[ignore = ".ci/run engines"]
fn onnx_runtime_answers_as_in_python() {
    answers_are_right_or_refused(OnnxEngine::OnnxRuntime, 3_300);
}

#[test]
#[ignore = ".ci/run engines"]
fn tract_answers_as_onnx_runtime_does_or_refuses_the_model() {
    answers_are_right_or_refused(OnnxEngine::Tract, 2_500);
}
