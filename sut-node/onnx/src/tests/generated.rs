//! Networks of real shapes with random weights, as `tests/models/make.py` writes them: both engines must say the same.

use super::*;

/// The model of this name in the folder of generated models.
fn path(name: &str) -> PathBuf {
    let folder = std::env::var_os("LON_TEST_MODELS").expect("LON_TEST_MODELS names what tests/models/make.py wrote");
    Path::new(&folder).join(name)
}

/// Returns the answers of an engine, in batches of this size.
fn answers(engine: OnnxEngine, name: &str, max_batch: usize, samples: &[BackendSample]) -> Vec<Vec<f32>> {
    let backend = Onnx::open(&path(name), &options(engine, max_batch)).unwrap();
    let mut worker = batch_half(&backend);
    let answers: Vec<Vec<f32>> = samples
        .chunks(max_batch)
        .flat_map(|batch| worker.infer(batch))
        .map(|answer| floats(&answer.unwrap()))
        .collect();
    assert_eq!(answers.len(), samples.len());
    assert_eq!(worker.aside().nan, [0usize; 0]);
    answers
}

fn batch_half(backend: &Onnx) -> Box<dyn lon_sut::backend::Worker> {
    backend.worker().unwrap().batch().unwrap()
}

fn place_of_largest(values: &[f32]) -> usize {
    (0..values.len()).max_by(|&a, &b| values[a].total_cmp(&values[b])).unwrap()
}

/// The largest difference, which must be small against the largest value.
fn assert_close(one: &[Vec<f32>], other: &[Vec<f32>]) {
    assert_eq!(one.len(), other.len());
    for (one, other) in one.iter().zip(other) {
        assert_eq!(one.len(), other.len());
        let scale = one.iter().fold(0f32, |most, value| most.max(value.abs()));
        let apart = one.iter().zip(other).fold(0f32, |most, (a, b)| most.max((a - b).abs()));
        assert!(apart <= 1e-4 * scale, "{apart} apart, values up to {scale}");
    }
}

/// The image that `pattern` in make.py makes of this number.
fn waves(number: usize, side: usize) -> BackendSample {
    let n = number as f32;
    let mut pixels = Vec::with_capacity(12 * side * side);
    for c in 0..3 {
        let lift = if number % 3 == c { 100.0 } else { 0.0 };
        for y in 0..side {
            for x in 0..side {
                let (row, column) = (y as f32 * (0.02 * (n + 1.0) + 0.3 * c as f32), x as f32 * (0.05 * n + 0.1));
                pixels.extend((100.0 * row.sin() * column.cos() + lift).to_le_bytes());
            }
        }
    }
    sample(&[(DType::F32, &[3, side as u32, side as u32], &pixels)])
}

/// A question of this many tokens, others for every length.
fn question(tokens: usize) -> BackendSample {
    let column = |value: &dyn Fn(usize) -> usize| -> Vec<u8> {
        (0..tokens).flat_map(|place| (value(place) as i64).to_le_bytes()).collect()
    };
    let ids = column(&|place| (place * 37 + tokens * 11) % 1000);
    let mask = column(&|place| usize::from(place + 2 < tokens));
    let types = column(&|place| usize::from(place > tokens / 2));
    let dims = [tokens as u32];
    sample(&[(DType::I64, &dims, &ids), (DType::I64, &dims, &mask), (DType::I64, &dims, &types)])
}

#[test]
#[ignore = ".ci/run models"]
fn a_resnet50_sees_the_same_with_both_engines() {
    let images: Vec<BackendSample> = (0..6).map(|number| waves(number, 224)).collect();
    let tract = answers(OnnxEngine::Tract, "resnet50.onnx", 2, &images);
    let classes: Vec<usize> = tract.iter().map(|logits| place_of_largest(logits)).collect();
    assert!(tract[0].len() == 1000 && classes.iter().any(|class| *class != classes[0]), "{classes:?}");
    for max_batch in [1, 4] {
        let runtime = answers(OnnxEngine::OnnxRuntime, "resnet50.onnx", max_batch, &images);
        assert_close(&tract, &runtime);
        assert_eq!(runtime.iter().map(|logits| place_of_largest(logits)).collect::<Vec<_>>(), classes);
    }
}

#[test]
#[ignore = ".ci/run models"]
fn a_bert_of_free_length_answers_the_same_with_both_engines() {
    let questions: Vec<BackendSample> = [7, 20, 7, 33, 20, 8, 7].into_iter().map(question).collect();
    let tract = answers(OnnxEngine::Tract, "bert.onnx", 4, &questions);
    let runtime = answers(OnnxEngine::OnnxRuntime, "bert.onnx", 4, &questions);
    assert_close(&tract, &runtime);
    let spans = |answers: &[Vec<f32>]| {
        let halves = answers.iter().map(|logits| logits.split_at(logits.len() / 2));
        halves.map(|(start, end)| (place_of_largest(start), place_of_largest(end))).collect::<Vec<_>>()
    };
    assert_eq!(spans(&tract), spans(&runtime));
    // Two logits for each token, whatever else was in the batch; the same question has the same answer.
    assert_eq!(tract.iter().map(Vec::len).collect::<Vec<_>>(), [14, 40, 14, 66, 40, 16, 14]);
    assert_close(&tract[..1], &tract[2..3]);
}

#[test]
#[ignore = ".ci/run models"]
fn a_detector_finds_the_same_with_both_engines() {
    let images: Vec<BackendSample> = (0..5).map(|number| waves(number, 96)).collect();
    let answers_of = |engine, limit: &str| {
        let postprocess = limit.parse().unwrap();
        let options = BackendOptions { postprocess, ..options(engine, 4) };
        let backend = Onnx::open(&path("detector.onnx"), &options).unwrap();
        let outputs = backend.info().outputs.to_string();
        let mut worker = batch_half(&backend);
        (outputs, images.chunks(4).flat_map(|b| worker.infer(b)).map(Result::unwrap).collect::<Vec<Bytes>>())
    };
    let (signature, all) = answers_of(OnnxEngine::Tract, "none");
    assert_eq!(signature, "boxes f32[N,576,4], scores f32[N,576], labels i64[N,576]");
    let (_, all_runtime) = answers_of(OnnxEngine::OnnxRuntime, "none");
    let floats_of = |all: &[Bytes]| all.iter().map(|answer| floats(&answer[..576 * 20])).collect::<Vec<_>>();
    assert_close(&floats_of(&all), &floats_of(&all_runtime));
    assert!(all.iter().zip(&all_runtime).all(|(one, other)| one[576 * 20..] == other[576 * 20..]), "the labels");
    // A limit that no score lies close to, so that rounding does not decide.
    let mut scores: Vec<f32> = all.iter().flat_map(|answer| floats(&answer[576 * 16..576 * 20])).collect();
    scores.sort_by(f32::total_cmp);
    let gap = (scores.len() / 2..scores.len() - 1)
        .max_by(|&a, &b| (scores[a + 1] - scores[a]).total_cmp(&(scores[b + 1] - scores[b])));
    let limit = format!("threshold={}", gap.map(|at| f32::midpoint(scores[at], scores[at + 1])).unwrap());
    let (signature, answers) = answers_of(OnnxEngine::Tract, &limit);
    assert_eq!(signature, "boxes f32[N,?,4], scores f32[N,?], labels i64[N,?]");
    let rows = |answers: &[Bytes]| answers.iter().map(|answer| answer.len() / 28).collect::<Vec<_>>();
    assert_eq!(rows(&answers), rows(&answers_of(OnnxEngine::OnnxRuntime, &limit).1));
    assert!(rows(&answers).iter().sum::<usize>() > 0 && answers.iter().all(|answer| answer.len() % 28 == 0));
}
