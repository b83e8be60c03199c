//! Prompts: as tensors for a backend in this process, and as a dataset for runs on a node whose backend is a chat
//! server.

use bytes::Bytes;
use lon_sut::backend::{Backend, Streamer};
use lon_sut::tensor::{DType, Tensor};

use crate::process::SutNode;
use crate::run_folder::RunFolder;
use crate::test_run::TestRun;

/// The tensors of a prompt.
pub fn prompt(text: &str, max_tokens: Option<i32>) -> Vec<Tensor> {
    let bytes = Bytes::copy_from_slice(text.as_bytes());
    let text = Tensor::new(DType::U8, &[bytes.len() as u32], bytes).unwrap();
    let limit = max_tokens.map(|limit| Tensor::new(DType::I32, &[], limit.to_le_bytes().to_vec().into()).unwrap());
    std::iter::once(text).chain(limit).collect()
}

/// Where a backend streams.
pub fn streamer(backend: &dyn Backend) -> Box<dyn Streamer> {
    backend.worker().unwrap().stream().expect("it streams")
}

/// Prompts in a file, each another, since servers remember what they were asked.
fn prompts(folder: &RunFolder, count: usize) -> String {
    let line = |n: usize| format!("{{\"prompt\":\"Tell me story number {n}, please.\",\"max_tokens\":12}}\n");
    let path = folder.path.with_file_name("prompts.jsonl");
    std::fs::write(&path, (0..count).map(line).collect::<String>()).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A Server run over prompts on a node whose backend is this; checks what every such run has.
pub fn run_prompts(backend: &str) -> (serde_json::Value, RunFolder) {
    let node = SutNode::start("llm", backend, &["--workers", "4"]);
    let data = RunFolder::new();
    // Limits that a busy machine keeps.
    let settings = "target_qps=50,min_duration=0,min_query_count=100,use_token_latencies=1,\
                    ttft_latency=60000,tpot_latency=60000,target_latency_percentile=50";
    let run = TestRun::of("synthetic", "Server").patient().args(&["--dataset", &prompts(&data, 64)]);
    let run = run.set(settings);
    let (finished, folder) = run.on(&node.address).finish();
    assert_eq!(finished.code, Some(0), "{}\n{}", finished.stdout, finished.stderr);
    folder.assert_complete();
    let result = folder.result();
    assert_eq!(result["result"], "VALID", "{result}");
    let (ttft, latency) = (&result["ttft_ns"]["p50"], &result["latency_ns"]["p50"]);
    assert!(ttft.as_f64().unwrap() > 0.0 && ttft.as_f64() <= latency.as_f64(), "{ttft} {latency}");
    assert!(result["tpot_ns"]["p50"].as_f64().is_some() && result["tokens_per_s"].as_f64().unwrap() > 0.0, "{result}");
    assert!(finished.stdout.contains("openai (http://"), "{}", finished.stdout);
    (result, folder)
}
