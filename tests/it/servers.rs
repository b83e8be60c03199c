//! Against inference servers that nobody of ours wrote. They take seconds to install and to start: `.ci/run` does.

use lon_tests::process::SutNode;
use lon_tests::run_folder::RunFolder;
use lon_tests::servers::Outsider;
use lon_tests::test_run::TestRun;
use nix::sys::signal::Signal;

/// A run on the digits; the model has the same name.
fn digits(scenario: &str, sut: &str) -> TestRun {
    TestRun::digits(scenario).on(sut).args(&["--transport", "kserve", "--model", "digits", "--wait-ready", "60s"])
}

fn accuracy_log(folder: &RunFolder) -> String {
    std::fs::read_to_string(folder.path.join("mlperf_log_accuracy.json")).unwrap()
}

#[test]
#[ignore = "needs LON_TEST_SERVERS"]
fn triton_answers_the_digits_as_a_sut_node_does() {
    let triton = Outsider::triton(&[]);
    let (finished, folder) = digits("Offline", &triton.named("t")).args(&["--mode", "AccuracyOnly"]).finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let result = folder.result();
    assert_eq!(result["sut_name"], "Network SUT: t");
    assert_eq!(result["network"]["nodes"][0]["software"], "triton 2.51.0");
    let onnx = lon_tests::process::repository("loadgen-node/qsl/digits/digits.onnx");
    let node = SutNode::start("n", &format!("onnx:{}", onnx.display()), &[]);
    let (finished, ours) = TestRun::digits("Offline").on(&node.address).args(&["--mode", "AccuracyOnly"]).finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert_eq!(result["accuracy"], ours.result()["accuracy"]);
    assert!(result["accuracy"]["value"].as_f64().unwrap() > 97.0, "{result}");
    // Ten floats of each of 450 samples.
    assert_eq!(accuracy_log(&folder).len(), accuracy_log(&ours).len());
    assert_eq!(folder.network_report().count("/total/encoded_bytes/egress"), 450 * 40);
}

#[test]
#[ignore = "needs LON_TEST_SERVERS"]
fn every_scenario_runs_on_two_tritons() {
    let tritons = [Outsider::triton(&[]), Outsider::triton(&[])];
    let sut = format!("{},{}", tritons[0].named("a"), tritons[1].named("b"));
    for scenario in ["SingleStream", "MultiStream", "Server", "Offline"] {
        let run = digits(scenario, &sut).set("min_duration=500,Server.target_qps=200,Offline.target_qps=1000");
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

/// With numpy 2 this Triton says OK, the right names and shapes, and nothing else.
#[test]
#[ignore = "needs LON_TEST_SERVERS"]
fn a_triton_that_answers_nothing_has_failed_every_sample() {
    let triton = Outsider::silent_triton();
    let (finished, folder) = digits("Server", &triton.named("t")).set("min_duration=300,target_qps=300").finish();
    assert_eq!(finished.code, Some(3), "{finished:?}");
    folder.assert_complete();
    let result = folder.result();
    assert_eq!(result["counts"]["completed"], 0, "{result}");
    assert_eq!(result["counts"]["failed"], result["counts"]["issued"]);
    assert!(result["reasons"].to_string().contains("logits FP32[1,10] has 0 bytes of data, not 40"), "{result}");
}

#[test]
#[ignore = "needs LON_TEST_SERVERS"]
fn what_triton_refuses_is_passed_on() {
    let triton = Outsider::triton(&[]);
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
#[ignore = "needs LON_TEST_SERVERS"]
fn a_triton_that_ends_in_the_middle_ends_the_run() {
    for signal in [Signal::SIGKILL, Signal::SIGTERM] {
        let triton = Outsider::triton(&[]);
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
