//! Samples of any size, for models that leave sizes free: what would not fit into memory is refused before it runs.

use super::*;

const MIB: u64 = 1 << 20;

/// Each row with each row: `L` rows become `L` x `L` numbers.
fn pairs() -> Vec<u8> {
    let nodes = vec![node("Transpose", &["x"], "t"), node("MatMul", &["x", "t"], "y")];
    let mut model = pb::ModelProto::decode(&*model(
        vec![value("x", DType::F32, &["N", "L", "2"])],
        vec![value("y", DType::F32, &["N", "L", "L"])],
        nodes,
    ))
    .unwrap();
    let turned =
        pb::AttributeProto { name: "perm".to_owned(), r#type: 7, ints: vec![0, 2, 1], ..pb::AttributeProto::default() };
    model.graph.as_mut().unwrap().node[0].attribute.push(turned);
    model.encode_to_vec()
}

fn rows(count: u32) -> BackendSample {
    sample(&[(DType::F32, &[count, 2], &vec![0; 8 * count as usize])])
}

fn what_does_not_fit_is_refused_and_the_rest_is_answered(engine: OnnxEngine) {
    let options = BackendOptions { max_run_bytes: 64 * MIB, ..options(engine, 8) };
    let backend = Onnx::from_bytes("test.onnx", pairs(), &options).unwrap();
    let mut worker = backend.worker().unwrap().batch().unwrap();
    // 16 MiB each, whose pairs would be 17 terabytes.
    let batch = [rows(1_000), rows(2 << 20), rows(1_000), rows(2 << 20)];
    let answers = worker.infer(&batch);
    for (answer, sample) in answers.iter().zip(&batch) {
        let rows = sample.tensors[0].dims()[0];
        match answer {
            Ok(bytes) => assert_eq!((rows, bytes.len()), (1_000, 4_000_000)),
            Err(error) => {
                let message = error.to_string();
                assert!(
                    rows > 1_000 && message.contains("f32[2097152,2]") && message.contains("--memory"),
                    "{message}"
                );
            }
        }
    }
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 2);
}

/// Of eight that fit one by one not all fit together.
fn a_batch_is_cut_into_what_fits(engine: OnnxEngine) {
    let options = BackendOptions { max_run_bytes: 64 * MIB, ..options(engine, 8) };
    let backend = Onnx::from_bytes("test.onnx", pairs(), &options).unwrap();
    let mut worker = backend.worker().unwrap().batch().unwrap();
    let batch: Vec<BackendSample> = (0..8).map(|_| rows(2_000)).collect();
    assert!(worker.infer(&batch).iter().all(|answer| answer.as_ref().is_ok_and(|bytes| bytes.len() == 16_000_000)));
}

for_both_engines! {
    what_does_not_fit_is_refused_and_the_rest_is_answered,
    a_batch_is_cut_into_what_fits,
}

/// Exact up to the factor: the rows, the turned rows, and their pairs.
#[test]
fn the_largest_moment_of_a_run_is_known() {
    let (model, proto) = Model::parse(&pairs(), &BackendOptions::default()).unwrap();
    let footprint = tract::footprint(&model, &proto);
    assert!(footprint.is_known());
    for rows in [10, 1_000] {
        let bytes = footprint.bytes(&[(DType::F32, &[1, rows, 2])]);
        let least = 4 * (rows * rows + 2 * rows) as u64;
        assert!((2 * least..=2 * least + 16 * rows as u64).contains(&bytes), "{rows}: {bytes}, {least}");
    }
    // Beyond what 64 bits count.
    assert_eq!(footprint.bytes(&[(DType::F32, &[1, 1 << 31, 2])]), u64::MAX);
}

#[test]
fn a_model_that_is_not_known_counts_by_its_inputs() {
    let footprint = Footprint::unknown();
    assert_eq!(footprint.bytes(&[(DType::I64, &[2, 384]), (DType::F32, &[10])]), 768 * 16_384 + 2_560);
    assert_eq!(footprint.bytes(&[(DType::U8, &[usize::MAX, 1 << 40])]), u64::MAX);
}
