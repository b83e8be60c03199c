//! Codecs: what cannot be is told before the start where possible, else of one sample alone; and where samples are
//! inflated.

use std::time::Duration;

use bytes::Bytes;
use lon_proto::codec::{Codec, Encoder, Layout};
use lon_proto::run_identity::RunPass;
use lon_proto::sample::{DType, Tensor};
use lon_proto::v1::sut_node_client::SutNodeClient;
use lon_proto::v1::{DispatchRequest, DispatchResponse, StartRunRequest};
use lon_proto::{WIRE_VERSION, limits, sample};
use lon_tests::memory;
use lon_tests::peer::{Behaviour, Script, Step, eight_bytes};
use lon_tests::process::SutNode;
use lon_tests::route::Route;
use lon_tests::run_folder::RunFolder;
use lon_tests::test_run::{TestRun, went_well};
use lon_tests::traffic::IMAGES;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Endpoint;

/// Checks that the test is refused before anything is sent: nobody listens at its address.
fn refused(test: TestRun, parts: &[&str]) {
    let (finished, folder) = test.on("127.0.0.1:1").finish();
    assert_eq!(finished.code, Some(2), "{finished:?}");
    for part in parts {
        assert!(finished.stderr.contains(part), "no '{part}' in: {}", finished.stderr);
    }
    assert!(!folder.path.exists(), "a run that never started leaves nothing");
}

#[test]
fn an_unknown_codec_is_named_with_those_that_are_known() {
    for flag in ["--compression", "--response-compression"] {
        refused(TestRun::new("Offline").args(&[flag, "gzip"]), &["gzip", flag, "delta-zstd", "lz4", "none"]);
    }
}

#[test]
fn a_level_out_of_range_is_named_with_the_range() {
    for level in ["zstd:0", "zstd:20", "shuffle-zstd:99", "delta-zstd:-1"] {
        let (codec, number) = level.split_once(':').unwrap();
        refused(TestRun::new("Offline").args(&["--compression", level]), &[codec, number, "19"]);
    }
    // One that is no number, and one for a codec that has none.
    refused(TestRun::new("Offline").args(&["--compression", "zstd:fast"]), &["zstd:fast"]);
    refused(TestRun::new("Offline").args(&["--compression", "lz4:3"]), &["lz4:3"]);
}

#[test]
fn a_codec_that_the_division_forbids_is_refused_with_the_rule() {
    let tokens = ["--dataset", "synthetic:tokens-i64[1024]x16", "--division", "network"];
    let test = TestRun::of("llama2-70b", "Offline").args(&tokens).args(&["--compression", "zstd"]);
    refused(test, &["Network division", "llama2-70b", "zstd", "none"]);
    let images = ["--dataset", "synthetic:u8[3,224,224]x16", "--division", "network"];
    let test = TestRun::of("resnet50", "Offline").args(&images).args(&["--response-compression", "zstd"]);
    refused(test, &["Network division", "resnet50", "zstd"]);
    let test = TestRun::of("resnet50", "SingleStream").args(&images);
    refused(test, &["Network division", "SingleStream"]);
    refused(TestRun::new("Offline").args(&["--division", "network"]), &["Network division", "synthetic"]);
}

/// The division `open` allows the codec that `network` refuses, and every output says so.
#[test]
fn the_open_division_allows_a_forbidden_codec_and_marks_it() {
    let node = SutNode::start("a", "null", &[]);
    let tokens = ["--dataset", "synthetic:tokens-i64[1024]x16", "--division", "none", "--compression", "zstd"];
    let test = TestRun::of("llama2-70b", "Offline").args(&tokens).on(&node.address);
    let (finished, folder) = test.set("min_duration=0,min_query_count=100,target_qps=1").finish();
    assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
    let result = folder.result();
    assert_eq!(result["division"]["name"], "none");
    for output in [&result.to_string(), &finished.stdout] {
        assert!(output.contains("Network division") && output.contains("zstd"), "no mark in {output}");
    }
}

#[test]
fn a_node_that_lacks_the_codec_is_named() {
    for route in Route::ALL {
        let opened = route.open();
        let peer = opened.peer(Behaviour { codecs: vec!["none".to_owned()], ..Behaviour::good("plain") });
        for flag in ["--compression", "--response-compression"] {
            let test = opened.to(TestRun::new("Offline").args(&[flag, "zstd"]), &peer.address.to_string());
            let (finished, folder) = test.finish();
            assert_eq!(finished.code, Some(4), "{route:?}: {finished:?}");
            for part in ["plain", "zstd", "none"] {
                assert!(finished.stderr.contains(part), "{route:?}: no '{part}' in: {}", finished.stderr);
            }
            assert!(peer.heard().starts.is_empty(), "{route:?}: it was claimed all the same");
            assert!(!folder.path.exists(), "{route:?}");
        }
    }
}

/// Returns these bytes as the codec encodes them.
fn encoded(codec: &str, raw: &'static [u8]) -> Vec<u8> {
    let mut encoder = Encoder::new(codec.parse().unwrap());
    encoder.encode(&Bytes::from_static(raw), Layout::Elements { element_bytes: 1 }).unwrap().to_vec()
}

/// Replaces the raw size that is declared in `frame`, wherever that is.
fn declare(frame: &mut [u8], raw_bytes: u64, other_bytes: u64) {
    let declared = raw_bytes.to_le_bytes();
    let at = frame.windows(8).position(|window| window == declared).expect("the size is declared in the frame");
    frame[at..at + 8].copy_from_slice(&other_bytes.to_le_bytes());
}

/// A frame as it should be, and all that can be wrong with it.
fn bad_frames(codec: &str) -> Vec<(&'static str, Vec<u8>)> {
    let good = encoded(codec, &[7; 1000]);
    let mut bad = vec![
        ("truncated", good[..good.len() - 1].to_vec()),
        ("cut to its head", good[..8.min(good.len())].to_vec()),
        ("empty", Vec::new()),
        ("no frame", vec![0xa5; 64]),
        ("followed by rubbish", [good.as_slice(), b"rubbish"].concat()),
    ];
    for (what, other) in [("declared too small", 999), ("declared too large", 1001), ("huge", u64::MAX / 2)] {
        let mut frame = good.clone();
        declare(&mut frame, 1000, other);
        bad.push((what, frame));
    }
    bad
}

fn answer(id: u64, data: Vec<u8>) -> Step {
    let data = Bytes::from(data);
    Step::Send(DispatchResponse { total_len: data.len() as u64, data, ..eight_bytes(id) })
}

/// An answer that cannot be inflated is that sample's failure, not the node's.
#[test]
fn an_answer_that_cannot_be_inflated_fails_alone() {
    let script: Script = |number, id| {
        let mut bad = bad_frames("zstd");
        vec![match (number / 10) as usize {
            // Every tenth one, as long as there are more.
            which if number % 10 == 5 && which < bad.len() => answer(id, bad.swap_remove(which).1),
            _ => answer(id, encoded("zstd", &[7; 1000])),
        }]
    };
    let bad = bad_frames("zstd").len() as u64;
    for route in Route::ALL {
        let opened = route.open();
        let peer = opened.peer(Behaviour { script, ..Behaviour::good("odd") });
        let test = TestRun::new("Server").args(&["--response-compression", "zstd"]);
        let test = test.set("min_duration=0,min_query_count=200,target_qps=2000");
        let (finished, folder) = opened.to(test, &peer.address.to_string()).finish();
        assert_eq!(finished.code, Some(3), "{route:?}: {finished:?}");
        folder.assert_complete();
        let result = folder.result();
        assert_eq!(result["counts"]["failed"], bad, "{route:?}: {result}");
        assert_eq!(result["counts"]["completed"], 200 - bad, "{route:?}: {result}");
        assert!(result["reasons"].to_string().contains("zstd"), "{route:?}: the cause in {result}");
    }
}

/// The same towards a SUT node, which goes on with the next sample, and whose memory does not follow what is declared.
#[test]
fn a_sample_that_cannot_be_inflated_fails_alone() {
    let node = SutNode::start("a", "null", &[]);
    for codec in &Codec::NAMES[1..] {
        let answers = ask(&node, codec, &bad_frames(codec));
        for (what, answer) in &answers[..answers.len() - 1] {
            assert!(answer.error.contains(codec), "{codec}, {what}: '{}'", answer.error);
        }
        let (_, last) = answers.last().unwrap();
        assert_eq!((last.error.as_str(), last.data.len()), ("", 8), "{codec}: the good one behind them");
    }
    let peak = memory::most_bytes(node.id());
    assert!(peak < 256 << 20, "{peak} bytes");
}

/// Three threads could inflate three samples at one time. What that takes is known before, both buffers of a filter
/// among it, and bounded by the share of --memory: a quarter of it, 64 MiB here.
#[test]
fn what_inflating_takes_is_bounded_and_given_back() {
    const MIB: u64 = 1 << 20;
    let codec = "shuffle-zstd";
    let zeros = |mib: u64| {
        let count = (mib * MIB / 4) as u32;
        let tensor = Tensor::new(DType::F32, &[count], Bytes::from(vec![0; 4 * count as usize])).unwrap();
        let raw = sample::encode(&[tensor]).unwrap();
        Encoder::new(codec.parse().unwrap()).encode(&raw, Layout::Sample).unwrap().to_vec()
    };
    let node = SutNode::start("a", "null", &["--memory", "256MiB", "--decode-threads", "3"]);
    let quiet = memory::now_bytes(node.id());
    let (fits, large) = (zeros(24), zeros(40));
    assert!(large.len() < 10_000, "{}", large.len());
    let frame = |i| if i % 2 == 0 { ("fits", fits.clone()) } else { ("large", large.clone()) };
    let frames: Vec<_> = (0..12).map(frame).collect();
    for (what, answer) in ask(&node, codec, &frames) {
        match what {
            "large" => assert!(answer.error.contains("67108864 are set aside (sut-node --memory)"), "{}", answer.error),
            _ => assert_eq!(answer.error, "", "{what}"),
        }
    }
    let peak = memory::most_bytes(node.id());
    assert!(peak < quiet + 64 * MIB + 24 * MIB, "{peak} bytes, {quiet} when it was quiet");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(300);
    while memory::now_bytes(node.id()) > quiet + 16 * MIB {
        let now = memory::now_bytes(node.id());
        assert!(std::time::Instant::now() < deadline, "{now} bytes after the run, {quiet} before it");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

/// Sends these and a good sample to the node, in a run of this codec; its answers.
fn ask(node: &SutNode, codec: &str, frames: &[(&'static str, Vec<u8>)]) -> Vec<(&'static str, DispatchResponse)> {
    // A sample as the layout has it, not just any bytes.
    let tensor = Tensor::new(DType::U8, &[1000], Bytes::from_static(&[7; 1000])).unwrap();
    let raw = sample::encode(&[tensor]).unwrap();
    let good = Encoder::new(codec.parse().unwrap()).encode(&raw, Layout::Sample).unwrap();
    let all: Vec<(&str, Bytes)> =
        frames.iter().map(|(what, frame)| (*what, frame.clone().into())).chain([("good", good)]).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let talk = async {
        let channel = Endpoint::from_shared(format!("http://{}", node.address)).unwrap().connect().await.unwrap();
        let mut client = SutNodeClient::new(channel);
        let run_id = Bytes::from(vec![1; limits::RUN_ID_BYTES]);
        let codec = codec.to_owned();
        let start = StartRunRequest { run_id: run_id.clone(), wire_version: WIRE_VERSION, codec, ..Default::default() };
        let claimed = client.start_run(start).await.unwrap().into_inner();
        let pass = RunPass::new(run_id, claimed.secret);
        let (sender, receiver) = mpsc::channel(64);
        let open = Some(pass.open());
        sender.send(DispatchRequest { open, ..Default::default() }).await.unwrap();
        let mut incoming = client.dispatch(ReceiverStream::new(receiver)).await.unwrap().into_inner();
        let mut answers = Vec::new();
        for (id, (what, data)) in (1..).zip(all) {
            let total_len = data.len() as u64;
            sender.send(DispatchRequest { id, last: true, total_len, data, ..Default::default() }).await.unwrap();
            let answer = loop {
                let message = incoming.message().await.unwrap_or_else(|status| panic!("{what}: {status}"));
                let message = message.unwrap_or_else(|| panic!("{what}: the stream ended"));
                if message.heartbeat.is_none() {
                    break message;
                }
            };
            assert_eq!(answer.id, id, "{what}");
            answers.push((what, answer));
        }
        client.end_run(pass.end_run()).await.unwrap();
        answers
    };
    runtime.block_on(async { tokio::time::timeout(Duration::from_secs(300), talk).await.expect("a hang") })
}

/// Time that the threads of a process have had on a core, in ticks: those whose name begins with `prefix`, and the
/// others.
fn ticks(pid: u32, prefix: &str) -> (u64, u64) {
    let (mut with, mut without) = (0, 0);
    for task in std::fs::read_dir(format!("/proc/{pid}/task")).unwrap() {
        // A thread may end meanwhile.
        let Ok(stat) = std::fs::read_to_string(task.unwrap().path().join("stat")) else { continue };
        let (head, tail) = stat.rsplit_once(')').unwrap();
        let name = head.split_once('(').unwrap().1;
        let fields: Vec<&str> = tail.split_whitespace().collect();
        // utime and stime are the 14th and 15th field of the line, the name the second.
        let spent: u64 = fields[11..=12].iter().map(|ticks| ticks.parse::<u64>().unwrap()).sum();
        *if name.starts_with(prefix) { &mut with } else { &mut without } += spent;
    }
    (with, without)
}

/// A run of 600 images or so with this codec, and the ticks that it took on decode threads.
fn inflated(node: &SutNode, codec: &str) -> (u64, RunFolder) {
    let before = ticks(node.id(), "decode");
    let test = TestRun::new("Server").on(&node.address).dataset(IMAGES).args(&["--compression", codec]);
    let settings = "target_qps=300,target_latency=1000,min_duration=2000,min_query_count=1";
    let (_, folder) = went_well(test.set(settings), codec);
    (ticks(node.id(), "decode").0 - before.0, folder)
}

/// Samples are inflated where nobody waits for it: not on the threads that read and write.
#[test]
fn inflating_keeps_off_the_io_threads() {
    let node = SutNode::start("a", "null", &[]);
    assert_eq!(inflated(&node, "none").0, 0, "nothing to inflate");
    let (inflating, folder) = inflated(&node, "delta-zstd");
    let result = folder.result();
    assert!(result["network"]["latency_split_ns"]["decode"]["p50"].as_u64().unwrap() > 0, "{result}");
    // 600 images at several hundred MB/s are a tenth of a second, which is ten ticks.
    assert!(inflating >= 3, "{inflating} ticks on decode threads");
}

/// The lag has a bound of its own, 1 % of the target latency.
#[test]
#[ignore = ".ci/run timing"]
fn inflating_leaves_the_schedule_alone() {
    let node = SutNode::start("a", "null", &[]);
    let (_, folder) = inflated(&node, "delta-zstd");
    let result = folder.result();
    assert!(!result["reasons"].to_string().contains("sent late"), "{result}");
}
