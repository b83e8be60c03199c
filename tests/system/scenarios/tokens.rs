//! Token runs: first tokens and whole answers as separate messages, from a synthetic stream.

use lon_proto::v1::DispatchResponse;
use lon_proto::v1::dispatch_response::Kind;
use lon_tests::peer::{Behaviour, Peer, Script, Step, eight_bytes};
use lon_tests::process::SutNode;
use lon_tests::route::Route;
use lon_tests::test_run::token_run;
use nix::sys::signal::Signal;
use serde_json::Value;

/// Token by token: 20 ms to the first of 16, 2 ms for each further one.
const STREAM: &str = "synthetic:ttft=20ms,tpot=2ms,tokens=16";

fn ns(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn first_tokens_and_times_per_token_are_judged_and_every_byte_agrees() {
    for (route, codec) in [(Route::Grpc, "none"), (Route::Tcp, "zstd:1"), (Route::Quic, "none")] {
        let opened = route.open();
        let nodes = [opened.node("a", STREAM, &["--slots", "64"])];
        let test = opened.on(token_run("Server"), &nodes).args(&["--response-compression", codec]);
        let (finished, folder) = test.finish();
        // Bytes that do not agree would be a reason against it.
        assert_eq!(finished.code, Some(0), "{route:?}: {finished:?}");
        folder.assert_complete();
        let result = folder.result();
        let samples = ns(&result["counts"]["completed"]);
        assert!(samples >= 200 && result["counts"]["failed"] == 0, "{route:?}: {result}");
        assert!(ns(&result["ttft_ns"]["min"]) >= 20_000_000, "{route:?}: {}", result["ttft_ns"]);
        assert!(
            ns(&result["tpot_ns"]["p50"]) > 0 && ns(&result["latency_ns"]["min"]) >= 50_000_000,
            "{route:?}: {result}"
        );
        let keys = |key: &str| result[key].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!((keys("ttft_ns"), keys("tpot_ns")), (keys("latency_ns"), keys("latency_ns")));
        assert!(result["tokens_per_s"].as_f64().unwrap() > 0.0);
        let inference = &result["network"]["latency_split_ns"]["inference"];
        assert!(ns(&inference["p50"]) >= 45_000_000, "{route:?}: from slot to answer: {inference}");
        for part in [
            "TTFT",
            "limit 60.0s: within (from when a query was due until its first token came;",
            "TPOT",
            "limit 60.0s: within ((latency - TTFT) / (tokens - 1) of each answer;",
            " tokens/s",
        ] {
            assert!(finished.stdout.contains(part), "{route:?}: no '{part}' in {}", finished.stdout);
        }
        let report = std::fs::read_to_string(folder.path.join("network_report.json")).unwrap();
        let report: Value = serde_json::from_str(&report).unwrap();
        // A first token and sixteen, of eight bytes each.
        assert_eq!(ns(&report["nodes"][0]["tensor_bytes"]["egress"]), samples * 17 * 8, "{route:?}");
    }
}

#[test]
fn offline_counts_tokens_and_has_no_first_ones() {
    let node = SutNode::start("a", "synthetic:ttft=2ms,tpot=1ms,tokens=8,0.5", &["--slots", "4", "--workers", "2"]);
    let test = token_run("Offline").on(&node.address);
    let (finished, folder) = test.set("use_token_latencies=1,min_duration=0,min_query_count=100,target_qps=1").finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let result = folder.result();
    assert!(result["tokens_per_s"].as_f64().unwrap() > 0.0, "{result}");
    assert_eq!((&result["ttft_ns"], &result["tpot_ns"]), (&Value::Null, &Value::Null));
    assert!(finished.stdout.contains("tokens/s") && !finished.stdout.contains("TTFT"), "{}", finished.stdout);
}

#[test]
fn a_run_without_tokens_says_nothing_of_them() {
    let node = SutNode::start("a", "synthetic:ttft=1ms,tpot=1ms,tokens=2", &[]);
    let test = token_run("SingleStream").on(&node.address).set("min_duration=0,min_query_count=64,target_latency=1");
    let (finished, folder) = test.finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(folder.result().get("ttft_ns").is_none() && !finished.stdout.contains("TTFT"), "{}", finished.stdout);
}

#[test]
fn a_node_that_is_told_to_stop_ends_its_streams_first() {
    let node = SutNode::start("a", "synthetic:ttft=50ms,tpot=20ms,tokens=20", &["--slots", "64"]);
    let test = token_run("Server").on(&node.address).set("min_duration=60000,target_qps=100");
    let (run, folder) = test.begin();
    node.signal(Signal::SIGTERM);
    let (code, log) = node.wait_with_log();
    assert_eq!(code, Some(0), "{log}");
    assert!(!log.contains("not everything was answered") && !log.contains("panicked"), "{log}");
    assert_eq!(run.finish().code, Some(4));
    folder.assert_complete();
}

/// Samples that take a quarter of an hour would keep the node beyond its patience, if they were still held.
#[test]
fn streams_of_a_load_generator_that_is_gone_are_cancelled() {
    let node = SutNode::start("a", "synthetic:ttft=5ms,tpot=10s,tokens=100", &["--slots", "4"]);
    let (run, _folder) = token_run("Server").on(&node.address).set("min_duration=60000").begin();
    run.signal(Signal::SIGKILL);
    assert_eq!(run.finish().code, None);
    node.signal(Signal::SIGTERM);
    let (code, log) = node.wait_with_log();
    assert_eq!(code, Some(0), "{log}");
    assert!(!log.contains("not everything was answered"), "{log}");
}

fn first(id: u64) -> Step {
    Step::Send(DispatchResponse { kind: Kind::First.into(), ..eight_bytes(id) })
}

fn last(id: u64, n_tokens: u64) -> Step {
    Step::Send(DispatchResponse { n_tokens, ..eight_bytes(id) })
}

#[test]
fn token_information_that_cannot_be_used_makes_a_run_invalid() {
    let scripts: [(Script, &str); 4] = [
        (|_, id| vec![last(id, 4)], "before it's first token latency"),
        (|_, id| vec![first(id), last(id, 0)], "n_tokens argument missing"),
        (|_, id| vec![first(id), last(id, 1)], "need to be greater than 1"),
        (
            |number, id| if number % 2 == 0 { vec![first(id), last(id, 2)] } else { vec![last(id, 0)] },
            "first token latency",
        ),
    ];
    for (script, message) in scripts {
        let peer = Peer::start(Behaviour { script, ..Behaviour::good("peer") });
        let (finished, folder) = token_run("Server").on(&peer.address.to_string()).finish();
        assert_eq!(finished.code, Some(3), "{message}: {finished:?}");
        let result = folder.result();
        assert!(result["reasons"].to_string().contains("had unusable token information"), "{message}: {result}");
        let detail = std::fs::read_to_string(folder.path.join("mlperf_log_detail.txt")).unwrap();
        assert!(detail.contains(message), "no '{message}'");
    }
}

#[test]
fn a_first_token_that_comes_twice_or_without_end_is_never_an_answer() {
    let twice: Script = |_, id| vec![first(id), first(id), last(id, 2)];
    let peer = Peer::start(Behaviour { script: twice, ..Behaviour::good("peer") });
    let (finished, folder) = token_run("Server").on(&peer.address.to_string()).finish();
    assert_eq!(finished.code, Some(4), "{finished:?}");
    assert!(folder.result()["reasons"].to_string().contains("the first token of a sample twice"));

    let no_end: Script = |number, id| if number == 5 { vec![first(id)] } else { vec![first(id), last(id, 2)] };
    let peer = Peer::start(Behaviour { script: no_end, ..Behaviour::good("peer") });
    let test = token_run("Server").on(&peer.address.to_string()).args(&["--response-timeout", "20s"]);
    let (finished, folder) = test.finish();
    assert_eq!(finished.code, Some(3), "{finished:?}");
    assert!(folder.result()["reasons"].to_string().contains("no answer within"));
}

#[test]
fn a_backend_without_tokens_cannot_do_a_token_run() {
    let node = SutNode::start("a", "synthetic:constant=1ms", &[]);
    let (finished, folder) = token_run("Server").on(&node.address).finish();
    assert_eq!(finished.code, Some(3), "{finished:?}");
    assert!(folder.result()["reasons"].to_string().contains("had unusable token information"));
}
