//! Tests of generated models behind SUT nodes: a decoder, token by token, and a model of free sizes. `ORT_DYLIB_PATH`
//! is ONNX Runtime, `LON_TEST_MODELS` the folder that `tests/models/make.py` wrote.

use std::process::Command;

use bytes::Bytes;
use lon_proto::sample::{self, DType, Tensor};
use lon_proto::v1::DispatchRequest;
use lon_proto::v1::dispatch_response::Kind;
use lon_sut::backend::stream::{Event, What};
use lon_sut::backend::{BackendOptions, BackendSample, Backends, TokenOptions};
use lon_tests::client::{open, start, talk};
use lon_tests::folder_check::FolderCheck;
use lon_tests::memory::{self, MOST_MORE_BYTES};
use lon_tests::process::{SutNode, binary};
use lon_tests::test_run::{TestRun, token_run};

/// The folder of the generated models.
fn models() -> String {
    std::env::var("LON_TEST_MODELS").expect("LON_TEST_MODELS names what tests/models/make.py wrote")
}

/// The decoder among them.
fn decoder() -> String {
    format!("onnx:{}/decoder.onnx", models())
}

const ANSWER_TOKENS: usize = 12;

fn prompt(number: usize) -> Bytes {
    let ids: Vec<u8> =
        (0..3 + 7 * number).flat_map(|at| ((at * 4111 + number * 17) as i64 % 30_000).to_le_bytes()).collect();
    let ids = Tensor::new(DType::I64, &[(ids.len() / 8) as u32], ids.into()).unwrap();
    sample::encode(&[ids]).unwrap()
}

/// Returns the answers of the backend in this process. The backend's own tests compare them with a decoder without a
/// cache.
fn in_process(prompts: &[Bytes]) -> Vec<Bytes> {
    let max_tokens = ANSWER_TOKENS.try_into().unwrap();
    let tokens = TokenOptions { max_tokens, ..TokenOptions::default() };
    let options = BackendOptions { tokens, ..BackendOptions::default() };
    let backend = Backends::new().with(lon_onnx::KIND).open(&decoder(), &options).unwrap();
    let mut streamer = backend.worker().unwrap().stream().unwrap();
    let mut answer = |prompt: &Bytes| {
        let tensors = sample::decode(prompt.clone()).unwrap();
        streamer.begin(0, &BackendSample { bytes: prompt.clone(), tensors }).unwrap();
        loop {
            let mut events = Vec::new();
            streamer.step(&mut events);
            match events.pop() {
                Some(Event { what: What::Done(output), .. }) => return output.bytes,
                Some(Event { what: What::Failed(error), .. }) => panic!("{error}"),
                _ => {}
            }
        }
    };
    prompts.iter().map(&mut answer).collect()
}

#[test]
#[ignore = ".ci/run models"]
fn a_decoder_answers_over_the_wire_as_in_process() {
    let prompts: Vec<Bytes> = (0..6).map(prompt).collect();
    let expected = in_process(&prompts);
    let node = SutNode::start("a", &decoder(), &["--slots", "4", "--max-tokens", &ANSWER_TOKENS.to_string()]);
    talk(&node, async |mut client| {
        let run = start(&mut client, 1).await.unwrap();
        let (sender, mut answers) = open(&mut client, &run).await.unwrap();
        for (id, data) in prompts.iter().cloned().enumerate() {
            let total_len = data.len() as u64;
            sender
                .send(DispatchRequest { id: id as u64, last: true, total_len, data, ..Default::default() })
                .await
                .unwrap();
        }
        let mut firsts = vec![Bytes::new(); prompts.len()];
        let mut open_count = prompts.len();
        while open_count > 0 {
            let message = answers.message().await.unwrap().unwrap();
            assert_eq!(message.error, "");
            let id = message.id as usize;
            match message.kind() {
                _ if message.heartbeat.is_some() => {}
                Kind::First => firsts[id] = message.data,
                Kind::Final => {
                    assert_eq!((message.n_tokens, &message.data), (ANSWER_TOKENS as u64, &expected[id]));
                    assert_eq!(firsts[id], message.data[..8]);
                    open_count -= 1;
                }
            }
        }
        client.end_run(run.end_run()).await.unwrap();
    });
}

#[test]
#[ignore = ".ci/run models"]
fn a_decoder_is_measured_by_its_tokens() {
    let node = SutNode::start("a", &decoder(), &["--slots", "8", "--max-tokens", "8"]);
    let test = token_run("Server").on(&node.address).args(&["--transport", "tcp", "--compression", "zstd"]);
    let (finished, folder) = test.set("target_qps=40,min_query_count=80").finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let result = folder.result();
    assert!(
        result["tokens_per_s"].as_f64().unwrap() > 0.0 && result["tpot_ns"]["p50"].as_u64().unwrap() > 0,
        "{result}"
    );
}

#[test]
#[ignore = ".ci/run models"]
fn bench_asks_a_decoder_with_token_ids() {
    let output = Command::new(binary("sut-node")).args(["bench", "--seconds", "1", "--backend", &decoder()]).output();
    let output = output.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains("Tokens ") && !text.contains("Failed"), "{text}");
}

#[test]
#[ignore = ".ci/run models"]
fn a_decoder_says_what_it_takes() {
    let node = SutNode::start("a", &decoder(), &["--max-tokens", "8"]);
    let (finished, _folder) = TestRun::new("Server").dataset("synthetic:f32[64]x16").on(&node.address).finish();
    assert_eq!(finished.code, Some(2), "{finished:?}");
    assert!(finished.stderr.contains("input_ids i64|i32[N,?], max_tokens? i32|i64[N]"), "{finished:?}");
    // As a benchmark of the rules has them.
    let folder = tempfile::tempdir().unwrap();
    let lines = folder.path().join("prompts.jsonl");
    std::fs::write(&lines, "{\"input_ids\":[5,6,7],\"max_tokens\":3}\n{\"input_ids\":[8,9]}\n").unwrap();
    let run = TestRun::of("llama2-70b", "SingleStream").args(&["--dataset", lines.to_str().unwrap()]);
    let run = run.set("min_duration=0,min_query_count=20,max_query_count=20,use_token_latencies=0");
    let (finished, folder) = run.on(&node.address).finish();
    let counts = &folder.result()["counts"];
    assert_eq!((&counts["issued"], &counts["completed"]), (&20.into(), &20.into()), "{finished:?}");
}

/// A model whose answer is as large as the square of its sample: 17 terabytes for 16 MiB.
#[test]
#[ignore = ".ci/run models"]
fn samples_that_a_model_of_free_sizes_has_no_memory_for_are_refused_before_they_take_it() {
    let node = SutNode::start("a", &format!("onnx:{}/pairs.onnx", models()), &["--memory", "256MiB"]);
    let run = |shape: &str| {
        let test = TestRun::new("Offline").on(&node.address).dataset(&format!("synthetic:f32[{shape},2]x2"));
        let (finished, folder) = test.set("min_duration=0,min_query_count=12,target_qps=1").finish();
        (FolderCheck::of(&folder.path, finished.code), finished)
    };
    let (small, finished) = run("100");
    assert_eq!((small.count("failed"), small.count("completed")), (0, 12), "{finished:?}");
    let quiet_bytes = memory::most_bytes(node.id());
    let (large, finished) = run("2097152");
    assert_eq!((finished.code, large.faults.as_slice()), (Some(3), &[][..]), "{finished:?}");
    assert_eq!(large.count("failed"), 12, "{finished:?}");
    assert!(
        large.verdict_text().contains("are set aside for one inference (sut-node --memory)"),
        "{}",
        large.verdict_text()
    );
    // Samples on their way have a quarter of the memory to themselves.
    let more_bytes = memory::most_bytes(node.id()) - quiet_bytes;
    println!("{more_bytes} bytes more than {quiet_bytes}");
    assert!(more_bytes < MOST_MORE_BYTES + (64 << 20), "{more_bytes} bytes more than {quiet_bytes}");
}
