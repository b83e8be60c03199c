//! Inference servers that nobody of ours wrote, and a SUT node in Python: `LON_TEST_SERVERS` is where
//! `tests/servers/install.sh` put them.

use std::collections::BTreeMap;

use lon_run::documents::mix_result::MixResult;
use lon_run::documents::result_summary::Validity;
use lon_tests::conformance::{check, rules};
use lon_tests::json::Json;
use lon_tests::process::{SutNode, repository};
use lon_tests::prompts::run_prompts;
use lon_tests::run_folder::RunFolder;
use lon_tests::servers::OtherServer;
use lon_tests::test_run::TestRun;
use nix::sys::signal::Signal;

/// A server of KServe's protocol that is written in Python.
struct Pythonic {
    start: fn() -> OtherServer,
    software: &'static str,
    /// True when the server reports the inputs of its models.
    tells: bool,
    /// Bytes of a message that it takes unless told otherwise.
    limit: usize,
}

const PYTHONIC: [Pythonic; 2] = [
    Pythonic { start: OtherServer::mlserver, software: "mlserver 1.7.1", tells: true, limit: 4 << 20 },
    Pythonic { start: OtherServer::kserve, software: "kserve 0.21.0", tells: false, limit: 8 << 20 },
];

impl Pythonic {
    /// The input's name, where it has to be given.
    fn inputs<'a>(&self, name: &'a str) -> Vec<&'a str> {
        if self.tells { Vec::new() } else { vec!["--kserve-inputs", name] }
    }

    /// A run on the digits.
    fn digits(&self, scenario: &str, sut: &str) -> TestRun {
        digits(scenario, sut).args(&self.inputs("image"))
    }
}

/// A run on the digits; the model has the same name.
fn digits(scenario: &str, sut: &str) -> TestRun {
    TestRun::digits(scenario).on(sut).args(&["--transport", "kserve", "--model", "digits", "--wait-ready", "100s"])
}

/// The digit that each sample was taken for, by the accuracy log: ten floats for each.
fn predictions(folder: &RunFolder) -> BTreeMap<u64, usize> {
    let log = Json::read(&folder.path.join("mlperf_log_accuracy.json"));
    let predicted = |entry: &Json| {
        let data = entry.text("/data");
        let byte = |at: usize| u8::from_str_radix(&data[2 * at..2 * at + 2], 16).unwrap();
        let logits: Vec<f32> =
            (0..data.len() / 8).map(|at| f32::from_le_bytes([0, 1, 2, 3].map(|i| byte(4 * at + i)))).collect();
        assert_eq!(logits.len(), 10, "{entry}");
        (entry.count("/qsl_idx"), (0..10).max_by(|&a, &b| logits[a].total_cmp(&logits[b])).unwrap())
    };
    log.items("").iter().map(predicted).collect()
}

/// A run on node `n` in AccuracyOnly is what a SUT node makes of it: every sample is taken for the same digit.
fn assert_answers_as_a_sut_node(run: TestRun, software: &str) {
    let (finished, folder) = run.args(&["--mode", "AccuracyOnly"]).finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let result = folder.result();
    assert_eq!(result["sut_name"], "Network SUT: n");
    assert_eq!(result["network"]["nodes"][0]["software"], software);
    let onnx = repository("loadgen-node/qsl/digits/digits.onnx");
    let node = SutNode::start("n", &format!("onnx:{}", onnx.display()), &[]);
    let (finished, ours) = TestRun::digits("Offline").on(&node.address).args(&["--mode", "AccuracyOnly"]).finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert_eq!(result["accuracy"], ours.result()["accuracy"]);
    assert!(result["accuracy"]["value"].as_f64().unwrap() > 97.0, "{result}");
    let theirs = predictions(&folder);
    assert_eq!(theirs.len(), 450);
    assert_eq!(theirs, predictions(&ours), "{software}");
    assert_eq!(folder.network_report().count("/total/encoded_bytes/egress"), 450 * 40);
}

#[test]
#[ignore = ".ci/run servers"]
fn triton_answers_the_digits_as_a_sut_node_does() {
    let triton = OtherServer::triton(&[]);
    assert_answers_as_a_sut_node(digits("Offline", &triton.named("n")), "triton 2.51.0");
}

#[test]
#[ignore = ".ci/run servers"]
fn mlserver_and_kserve_answer_the_digits_as_a_sut_node_does() {
    for kind in PYTHONIC {
        let server = (kind.start)();
        assert_answers_as_a_sut_node(kind.digits("Offline", &server.named("n")), kind.software);
    }
}

#[test]
#[ignore = ".ci/run servers"]
fn every_scenario_runs_on_two_tritons() {
    let tritons = [OtherServer::triton(&[]), OtherServer::triton(&[])];
    let sut = format!("{},{}", tritons[0].named("a"), tritons[1].named("b"));
    for scenario in ["SingleStream", "MultiStream", "Server", "Offline"] {
        let run = digits(scenario, &sut).set("min_duration=500ms,Server.target_qps=200,Offline.target_qps=1000");
        let (finished, folder) = run.args(&["--connections", "2"]).finish();
        // VALID or not is the machine's business.
        assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
        folder.assert_complete();
        let result = folder.result();
        assert_eq!(result["sut_name"], "Network SUT: a, b");
        assert_eq!((&result["counts"]["failed"], &result["counts"]["late"]), (&0.into(), &0.into()), "{result}");
        let nodes = result["network"]["nodes"].as_array().unwrap();
        assert!(nodes.iter().all(|node| node["samples"].as_u64().unwrap() > 10), "{result}");
    }
}

/// Several servers of one kind call themselves the same: what they are called here tells them apart.
#[test]
#[ignore = ".ci/run servers"]
fn server_and_offline_run_on_two_mlservers_and_two_kserves() {
    for kind in PYTHONIC {
        let servers = [(kind.start)(), (kind.start)()];
        let sut = format!("{},{}", servers[0].named("a"), servers[1].named("b"));
        for scenario in ["Server", "Offline"] {
            let run =
                kind.digits(scenario, &sut).set("min_duration=500ms,Server.target_qps=100,Offline.target_qps=300");
            let (finished, folder) = run.args(&["--connections", "2"]).finish();
            // VALID or not is the machine's business.
            assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
            folder.assert_complete();
            let result = folder.result();
            assert_eq!(result["sut_name"], "Network SUT: a, b");
            assert_eq!(result["counts"]["completed"], result["counts"]["issued"], "{result}");
            assert_eq!((&result["counts"]["failed"], &result["counts"]["late"]), (&0.into(), &0.into()), "{result}");
            for node in result["network"]["nodes"].as_array().unwrap() {
                assert_eq!(node["software"], kind.software);
                assert!(node["samples"].as_u64().unwrap() > 10, "{result}");
            }
        }
    }
}

/// With numpy 2 this Triton says OK, the right names and shapes, and nothing else.
#[test]
#[ignore = ".ci/run servers"]
fn a_triton_that_answers_nothing_has_failed_every_sample() {
    let triton = OtherServer::silent_triton();
    let (finished, folder) = digits("Server", &triton.named("t")).set("min_duration=300ms,target_qps=300").finish();
    assert_eq!(finished.code, Some(3), "{finished:?}");
    folder.assert_complete();
    let result = folder.result();
    assert_eq!(result["counts"]["completed"], 0, "{result}");
    assert_eq!(result["counts"]["failed"], result["counts"]["issued"]);
    assert!(result["reasons"].to_string().contains("logits FP32[1,10] has 0 bytes of data, not 40"), "{result}");
}

#[test]
#[ignore = ".ci/run servers"]
fn what_triton_refuses_is_passed_on() {
    let triton = OtherServer::triton(&[]);
    let (finished, _) = digits("Offline", &triton.named("t")).args(&["--mode", "AccuracyOnly"]).finish();
    assert_eq!(finished.code, Some(0), "it is up: {finished:?}");
    let on = |model: &str, dataset: &str| {
        let run = TestRun::new("Offline").dataset(dataset).on(&triton.named("t"));
        run.args(&["--transport", "kserve", "--model", model]).finish().0
    };
    let unknown = on("absent", "synthetic:u8[1,8,8]x4");
    assert_eq!(unknown.code, Some(4), "{unknown:?}");
    assert!(
        unknown.stderr.contains("'absent' is not ready") && unknown.stderr.contains("unknown model"),
        "{unknown:?}"
    );
    let other = on("digits", "synthetic:f32[1,8,8]x4");
    assert_eq!(other.code, Some(2), "{other:?}");
    assert!(other.stderr.contains("f32[1,8,8]") && other.stderr.contains("image u8[N,1,8,8]"), "{other:?}");
}

#[test]
#[ignore = ".ci/run servers"]
fn models_that_mlserver_and_kserve_do_not_have_are_named_before_the_run() {
    for kind in PYTHONIC {
        let server = (kind.start)();
        let (finished, _) = kind.digits("Offline", &server.named("n")).args(&["--mode", "AccuracyOnly"]).finish();
        assert_eq!(finished.code, Some(0), "it is up: {finished:?}");
        let run = TestRun::digits("Offline").on(&server.named("n")).args(&["--transport", "kserve"]);
        let (absent, folder) = run.args(&["--model", "absent"]).args(&kind.inputs("image")).finish();
        assert_eq!(absent.code, Some(4), "{absent:?}");
        let message = match kind.tells {
            true => "Model absent with version  not found",
            false => "Model with name absent does not exist.",
        };
        for part in ["server n", "'absent' is not ready", message, "--model", "--wait-ready"] {
            assert!(absent.stderr.contains(part), "no '{part}' in {absent:?}");
        }
        assert!(!folder.path.exists(), "a run that never started leaves nothing");
    }
}

/// They answer before they have read it, and go on to take what is smaller.
#[test]
#[ignore = ".ci/run servers"]
fn samples_beyond_what_mlserver_and_kserve_take_fail_with_the_limit_named() {
    for kind in PYTHONIC {
        let server = (kind.start)();
        for scenario in ["Offline", "SingleStream"] {
            // The rest of the message has some fifty bytes.
            for (bytes, fits) in [(kind.limit, false), (4 * kind.limit, false), (kind.limit - 100, true)] {
                let run = TestRun::new(scenario).dataset(&format!("synthetic:u8[{bytes}]x2")).on(&server.named("n"));
                let run = run.args(&["--transport", "kserve", "--model", "total", "--wait-ready", "100s"]);
                let run = run.args(&kind.inputs("x")).set("min_duration=0,min_query_count=4,Offline.target_qps=1");
                let (finished, folder) = run.finish();
                folder.assert_complete();
                let result = folder.result();
                let (ended, other) = if fits { ("completed", "failed") } else { ("failed", "completed") };
                assert_eq!(result["counts"][ended], result["counts"]["issued"], "{result}");
                assert_eq!(result["counts"][other], 0, "{result}");
                if !fits {
                    assert_eq!(finished.code, Some(3), "{finished:?}");
                    let reasons = result["reasons"].to_string();
                    let limit = format!("vs. {})", kind.limit);
                    for part in ["ResourceExhausted", "message larger than max", &limit] {
                        assert!(reasons.contains(part), "no '{part}' in {reasons}");
                    }
                }
            }
        }
    }
}

#[test]
#[ignore = ".ci/run servers"]
fn kserve_needs_to_be_told_the_inputs() {
    let kserve = OtherServer::kserve();
    let (finished, folder) = digits("Offline", &kserve.named("k")).finish();
    assert_eq!(finished.code, Some(2), "{finished:?}");
    for part in ["server k", "does not say what inputs model 'digits' has", "u8[1,8,8]", "--kserve-inputs"] {
        assert!(finished.stderr.contains(part), "no '{part}' in {finished:?}");
    }
    assert!(!folder.path.exists(), "a run that never started leaves nothing");
}

#[test]
#[ignore = ".ci/run servers"]
fn an_mlserver_or_kserve_that_ends_in_the_middle_ends_the_run() {
    for kind in PYTHONIC {
        for signal in [Signal::SIGKILL, Signal::SIGTERM] {
            let server = (kind.start)();
            let run = kind.digits("Server", &server.named("n")).set("min_duration=60000,target_qps=100");
            let (run, folder) = run.begin();
            server.signal(signal);
            let finished = run.finish();
            assert_eq!(finished.code, Some(4), "{signal} to {}: {finished:?}", kind.software);
            folder.assert_complete();
            let result = folder.result();
            assert!(result["reasons"].to_string().contains("node n was lost"), "{signal}: {result}");
        }
    }
}

#[test]
#[ignore = ".ci/run servers"]
fn a_triton_that_ends_in_the_middle_ends_the_run() {
    for signal in [Signal::SIGKILL, Signal::SIGTERM] {
        let triton = OtherServer::triton(&[]);
        let run = digits("Server", &triton.named("t")).set("min_duration=60000,target_qps=200");
        let (run, folder) = run.begin();
        triton.signal(signal);
        let finished = run.finish();
        assert_eq!(finished.code, Some(4), "{signal}: {finished:?}");
        folder.assert_complete();
        let result = folder.result();
        assert!(result["reasons"].to_string().contains("node t was lost"), "{signal}: {result}");
    }
}

/// A node can be written from lon.proto alone. Figures that such a node cannot count are absent, and the result says
/// so.
#[test]
#[ignore = ".ci/run servers"]
fn a_node_in_python_from_the_proto_file_alone_gives_valid_results() {
    let node = OtherServer::python_node();
    for (scenario, settings) in [
        ("Server", "target_qps=200,min_duration=4000,target_latency=5000"),
        ("Offline", "target_qps=20000,min_duration=1000"),
        ("SingleStream", "target_latency=0.05,min_duration=1000"),
    ] {
        let patient = ["--max-lag", "60s", "--wait-ready", "60s"];
        let settings = format!("{settings},min_query_count=1");
        let (finished, folder) = TestRun::new(scenario).on(&node.address).set(&settings).args(&patient).finish();
        assert_eq!(finished.code, Some(0), "{scenario}: {finished:?}");
        let marks = folder.result()["marks"].to_string();
        assert!(marks.contains("socket bytes not compared: node python counts no bytes of sockets"), "{marks}");
    }
}

/// Against llama.cpp.
#[test]
#[ignore = ".ci/run servers"]
fn a_real_server_answers_a_token_run() {
    let llama = OtherServer::llama(&[]);
    let (result, _) = run_prompts(&format!("openai:http://{}/tiny", llama.address));
    assert_eq!(result["counts"]["failed"], 0, "{result}");
}

#[test]
#[ignore = ".ci/run servers"]
fn a_node_in_python_from_the_proto_file_alone_keeps_every_rule() {
    let node = OtherServer::python_node();
    let (finished, document) = check(&node.address, "grpc");
    assert_eq!((finished.code, rules(&document, "not seen").len()), (Some(0), 0), "{finished:?}");
    let rule_names = rules(&document, "kept");
    assert!(["model-unknown", "tenants"].iter().all(|rule| rule_names.contains(rule)), "{rule_names:?}");
}

/// The second tenant has answers that only its own model gives.
#[test]
#[ignore = ".ci/run servers"]
fn a_node_in_python_from_the_proto_file_alone_serves_a_mix_of_two_models() {
    let node = OtherServer::python_node();
    let tenant = |model: &str, rate: u64| {
        format!(
            "[[tenant]]\nname = \"{model}\"\nmodel = \"{model}\"\nscenario = \"Server\"\n\
             settings = {{ target_qps = {rate}, target_latency = 3600000, target_latency_percentile = 50, \
             min_query_count = 50, min_duration = \"500ms\" }}\n"
        )
    };
    let test = TestRun::mix(&(tenant("zeros", 100) + &tenant("sizes", 30))).on(&node.address);
    let (finished, folder) = test.args(&["--max-lag", "3600s", "--wait-ready", "60s"]).finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let text = std::fs::read_to_string(folder.path.join("mix_result.json")).unwrap();
    let result: MixResult = serde_json::from_str(&text).unwrap();
    let tenants: Vec<_> = result.tenants.iter().map(|tenant| (tenant.name.as_str(), tenant.result)).collect();
    assert_eq!(tenants, [("zeros", Validity::Valid), ("sizes", Validity::Valid)], "{result:?}");
    // A model by its name, and that of the node where none is named.
    for (flags, answer) in [(&["--model", "sizes"][..], "4800000000000000"), (&[], "0000000000000000")] {
        let test = TestRun::new("Offline").on(&node.address).args(&["--mode", "AccuracyOnly", "--max-lag", "60s"]);
        let (finished, folder) = test.args(flags).finish();
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let log = Json::read(&folder.path.join("mlperf_log_accuracy.json"));
        assert!(log.items("").iter().all(|entry| entry.text("/data") == answer), "{log}");
    }
}
