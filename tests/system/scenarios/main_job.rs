//! The main job over separate processes.

use lon_tests::process::{SutNode, repository, sut};
use lon_tests::route::Route;
use lon_tests::test_run::TestRun;

fn digits_backend() -> String {
    format!("onnx:{}", repository("loadgen-node/qsl/digits/digits.onnx").display())
}

#[test]
fn digits_are_answered_right_over_two_addresses() {
    let backend = digits_backend();
    let nodes = [
        SutNode::start_on("127.0.0.1:0", "left", &backend, &[]),
        SutNode::start_on(
            "127.0.0.2:0",
            "right",
            &backend,
            &["--max-batch", "4", "--max-delay", "1ms", "--workers", "2"],
        ),
    ];
    let test = TestRun::digits("Offline").on(&sut(&nodes)).args(&["--mode", "AccuracyOnly"]);
    let (finished, folder) = test.finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    folder.assert_complete();
    let result = folder.result();
    assert_eq!(result["sut_name"], "Network SUT: left, right");
    assert!(result["metric"]["value"].as_f64().unwrap() > 97.0, "{result}");
    assert_eq!(result["counts"]["completed"], 450);
    for node in result["network"]["nodes"].as_array().unwrap() {
        let bytes = &node["message_bytes"];
        assert_eq!(bytes["ingress"]["loadgen"], bytes["ingress"]["sut"], "{result}");
        assert_eq!(bytes["egress"]["loadgen"], bytes["egress"]["sut"], "{result}");
        assert!(node["samples"].as_u64().unwrap() > 0, "{result}");
        assert_eq!(node["model_sha256"].as_str().unwrap().len(), 64, "{result}");
    }
    let trips = result["network"]["name_round_trips"].as_array().unwrap();
    assert_eq!(trips.len(), 4, "two nodes, asked before and after");
    assert!(trips.iter().all(|trip| trip["nonce_ok"] == true && trip["rtt_ns"].as_u64().unwrap() > 0));
}

#[test]
fn every_scenario_is_valid_on_null_nodes_whatever_the_way() {
    for (scenario, settings) in [
        ("SingleStream", "min_duration=300ms,target_latency=0.01"),
        ("MultiStream", "min_duration=300ms,min_query_count=700,target_latency=0.1"),
        ("Server", "min_duration=300ms,target_qps=3000,target_latency=500"),
        ("Offline", "min_duration=300ms,target_qps=50000"),
    ] {
        for route in Route::ALL {
            let opened = route.open();
            let nodes = ["a", "b"].map(|name| opened.node(name, "null", &[]));
            let (finished, folder) = opened.on(TestRun::new(scenario), &nodes).set(settings).finish();
            folder.assert_complete();
            let result = folder.result();
            assert_eq!(result["counts"]["issued"], result["counts"]["completed"], "{route:?} {scenario}: {result}");
            // A machine that stalls can make a run INVALID; what it may not do is lose samples or hang.
            assert!(matches!(finished.code, Some(0 | 3)), "{route:?} {scenario}: {finished:?}");
            assert_eq!(finished.code == Some(0), result["result"] == "VALID", "{route:?} {scenario}: {result}");
            let network = &result["network"];
            assert_eq!((&network["transport"], &network["tls"]), (&route.transport().into(), &route.is_tls().into()));
        }
    }
}

/// The queries, answers and counts are the same on every way.
#[test]
fn a_way_changes_nothing_but_the_way() {
    let backend = digits_backend();
    let results = Route::ALL.map(|route| {
        let opened = route.open();
        let nodes = ["a", "b"].map(|name| opened.node(name, &backend, &[]));
        let test = TestRun::digits("Offline").args(&["--mode", "AccuracyOnly", "--connections", "2"]);
        let (finished, folder) = opened.on(test, &nodes).finish();
        assert_eq!(finished.code, Some(0), "{route:?}: {finished:?}");
        folder.result()
    });
    for result in &results {
        assert_eq!(result["result"], "VALID", "{result}");
        assert_eq!(result["counts"], results[0]["counts"], "{result}");
        assert_eq!(result["accuracy"], results[0]["accuracy"], "{result}");
        for node in result["network"]["nodes"].as_array().unwrap() {
            let bytes = &node["message_bytes"];
            assert_eq!(bytes["ingress"]["loadgen"], bytes["ingress"]["sut"], "{result}");
            assert_eq!(bytes["egress"]["loadgen"], bytes["egress"]["sut"], "{result}");
        }
    }
}

#[test]
fn large_samples_travel_in_parts() {
    for route in Route::ALL {
        let opened = route.open();
        let nodes = [opened.node("a", "null", &[])];
        // Just over two parts each, and one more connection than nodes.
        let (finished, folder) = opened
            .on(TestRun::new("Offline").patient(), &nodes)
            .dataset("synthetic:u8[2097153]x8")
            .set("min_duration=0,min_query_count=64,target_qps=1")
            .args(&["--connections", "2", "--io-threads", "2"])
            .finish();
        assert_eq!(finished.code, Some(0), "{route:?}: {finished:?}");
        let result = folder.result();
        assert_eq!(result["counts"]["completed"], 64, "{route:?}: {result}");
        let bytes = &result["network"]["nodes"][0]["message_bytes"]["ingress"];
        assert_eq!(bytes["loadgen"], bytes["sut"], "{route:?}: {result}");
        assert!(bytes["sut"].as_u64().unwrap() > 64 * 2_097_153, "{route:?}: {result}");
    }
}

#[test]
fn synthetic_service_time_shows_in_the_latency() {
    let node = SutNode::start("a", "synthetic:constant=2ms", &["--max-batch", "1"]);
    let test = TestRun::new("SingleStream").patient().on(&node.address);
    let (finished, folder) = test.set("min_duration=0,min_query_count=100,target_latency=1").finish();
    let result = folder.result();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(result["latency_ns"]["min"].as_u64().unwrap() >= 2_000_000, "{result}");
    assert!(result["network"]["latency_split_ns"]["inference"]["p50"].as_u64().unwrap() >= 1_900_000, "{result}");
}

#[test]
fn sut_node_describes_itself_and_drains_on_sigterm() {
    use nix::sys::signal::Signal;
    let output = std::process::Command::new(lon_tests::process::binary("sut-node"))
        .args(["describe", "--node", "N1", "--backend", &digits_backend()])
        .output()
        .unwrap();
    assert!(output.status.success());
    let described: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(described["backend"]["inputs"][0], "image u8[N,1,8,8]");
    assert_eq!(described["name"], "N1");
    let args = ["describe", "--backend", &digits_backend(), "--text"];
    let text = std::process::Command::new(lon_tests::process::binary("sut-node")).args(args).output().unwrap().stdout;
    let text = String::from_utf8(text).unwrap();
    let titles: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(titles, ["Model", "Engine", "Sample", "Answer"], "{text}");
    assert!(text.contains("Sample    image u8[N,1,8,8]\n"), "{text}");
    let node = SutNode::start("a", "null", &[]);
    node.signal(Signal::SIGTERM);
    assert_eq!(node.wait(), Some(0));
}

#[test]
fn standard_health_is_served() {
    use tonic_health::pb::health_check_response::ServingStatus;
    use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};
    let node = SutNode::start("a", "null", &[]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let status = runtime.block_on(async {
        let endpoint = tonic::transport::Endpoint::from_shared(format!("http://{}", node.address)).unwrap();
        let mut client = HealthClient::new(endpoint.connect().await.unwrap());
        let request = HealthCheckRequest { service: "lon.v1.SutNode".to_owned() };
        client.check(request).await.unwrap().into_inner().status()
    });
    assert_eq!(status, ServingStatus::Serving);
}

#[test]
fn a_generator_that_is_late_does_not_certify_itself() {
    let node = SutNode::start("a", "null", &[]);
    let settings = "min_duration=0,min_query_count=700,target_qps=2000,target_latency=1000";
    // Nothing is sent within a microsecond of the moment it was due in more than a few cases.
    let (finished, folder) =
        TestRun::new("Server").on(&node.address).set(settings).args(&["--max-lag", "1us"]).finish();
    assert_eq!(finished.code, Some(3), "{finished:?}");
    let result = folder.result();
    assert!(result["reasons"].to_string().contains("sent late"), "{result}");
    assert!(result["schedule_lag_ns"]["p99"].as_u64().unwrap() > 1000, "{result}");
}
