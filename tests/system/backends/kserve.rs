//! Servers of the Open Inference Protocol as nodes: what must work, what must be refused, and what must not be taken
//! for an answer.

use bytes::Bytes;
use h2::Reason;
use lon_proto::kserve::v2::model_infer_response::InferOutputTensor;
use lon_proto::kserve::v2::{InferTensorContents, ModelInferRequest};
use lon_tests::json::Json;
use lon_tests::kserve::{Behaviour, Script, Server, Step, floats, output, raw, tensor};
use lon_tests::process::{Closed, Finished, LoadGen, SutNode};
use lon_tests::route::Certificates;
use lon_tests::run_folder::RunFolder;
use lon_tests::test_run::TestRun;
use tonic::Status;

const SHORT: &str = "min_duration=0,min_query_count=100,target_qps=2000";

/// Enough of it for a verdict of VALID.
const ENOUGH: &str = "min_duration=0,min_query_count=800,Server.target_qps=2000";

/// A run of this scenario that is to be VALID.
fn valid(scenario: &str, sut: &str) -> TestRun {
    test(scenario, sut).set(ENOUGH)
}

fn test(scenario: &str, sut: &str) -> TestRun {
    TestRun::new(scenario).patient().on(sut).args(&["--transport", "kserve", "--model", "m"])
}

/// A short run against one server.
fn short(server: &Server) -> TestRun {
    test("Server", &server.named("a")).set(SHORT)
}

fn assert_refused(run: TestRun, code: i32, parts: &[&str]) {
    let (finished, folder) = run.finish();
    assert_eq!(finished.code, Some(code), "{finished:?}");
    for part in parts {
        assert!(finished.stderr.contains(part), "no '{part}' in: {}", finished.stderr);
    }
    assert!(!folder.path.exists(), "a run that never started leaves nothing");
}

/// It ended with this code, complete files, these counts and this among its reasons.
fn assert_ended(finished: &Finished, folder: &RunFolder, code: i32, counts: &[(&str, u64)], reason: &str) {
    assert_eq!(finished.code, Some(code), "{finished:?}");
    folder.assert_complete();
    let result = folder.result();
    for (name, count) in counts {
        assert_eq!(result["counts"][name], *count, "{name} in {result}");
    }
    let reasons = result["reasons"].to_string();
    assert!(reasons.contains(reason), "no '{reason}' in {reasons}");
}

#[test]
fn two_servers_are_one_sut_in_every_scenario() {
    let runs = [
        ("Server", "0"),
        ("Server", "2"),
        ("Offline", "0"),
        ("Offline", "2"),
        ("SingleStream", "0"),
        ("MultiStream", "0"),
    ];
    for (scenario, io_threads) in runs {
        let servers = [Server::start(Behaviour::good()), Server::start(Behaviour::good())];
        let sut = format!("{},{}", servers[0].named("a"), servers[1].named("b"));
        let (finished, folder) =
            valid(scenario, &sut).args(&["--connections", "2", "--io-threads", io_threads]).finish();
        assert_ended(&finished, &folder, 0, &[("failed", 0)], "");
        let result = folder.result();
        assert_eq!(result["sut_name"], "Network SUT: a, b");
        assert_eq!(result["counts"]["issued"], result["counts"]["completed"], "{scenario}");
        let marks = result["marks"].to_string();
        assert!(marks.contains("KServe") && marks.contains("one host"), "{marks}");
        let report = folder.network_report();
        assert!(report.is_null("/ratio") && report.is_null("/response_ratio"), "the request is around the sample");
        assert!(result["counts"]["nan"].is_null() && !finished.stdout.contains("(ratio"), "{finished:?}");
        assert_eq!(report.text("/sut_counters"), "SUT counters not available: not a SUT node");
        let issued = result["counts"]["issued"].as_u64().unwrap();
        assert_eq!(report.count("/total/tensor_bytes/ingress"), 64 * issued);
        assert_eq!(report.count("/total/encoded_bytes/egress"), 8 * issued);
        for (number, server) in servers.iter().enumerate() {
            // Before the run, at its beginning, and when it is over.
            assert!(server.heard().names >= 3, "{scenario}: {}", server.heard().names);
            assert_node(&report.at(&format!("/nodes/{number}")), &server.heard().requests, scenario);
        }
        assert!(report.is_null("/name_round_trips/0/nonce_ok"), "{report}");
    }
}

fn assert_node(node: &Json, requests: &[ModelInferRequest], scenario: &str) {
    assert_eq!(node.count("/samples"), requests.len() as u64, "{scenario}");
    assert!(!requests.is_empty(), "{scenario}: both work");
    let sent: u64 = requests.iter().map(|request| prost::Message::encoded_len(request) as u64).sum();
    assert_eq!(node.count("/message_bytes/ingress/loadgen"), sent, "to the byte");
    assert!(node.is_null("/message_bytes/ingress/sut") && node.is_null("/socket_bytes/egress/sut"));
    assert!(node.count("/socket_bytes/ingress/loadgen") > sent);
    let mut ids: Vec<&str> = requests.iter().map(|request| request.id.as_str()).collect();
    ids.sort_unstable();
    // Of two connections, each with ids of its own.
    assert!(ids.chunk_by(|a, b| a == b).all(|same| same.len() <= 2) && !ids[0].is_empty());
    for request in requests {
        let [input] = &request.inputs[..] else { panic!("{request:?}") };
        assert_eq!((input.name.as_str(), input.datatype.as_str(), &input.shape[..]), ("x", "UINT8", &[1, 64][..]));
        assert_eq!((request.model_name.as_str(), request.raw_input_contents[0].len()), ("m", 64));
    }
}

#[test]
fn calls_go_over_tls_too() {
    let certificates = Certificates::new();
    let server =
        Server::start_with(Behaviour { farewell_after: Some(50), ..Behaviour::good() }, Some(certificates.server()));
    for scenario in ["Server", "SingleStream"] {
        let (finished, folder) = valid(scenario, &server.named("a")).args(&certificates.trusted()).finish();
        assert_ended(&finished, &folder, 0, &[("failed", 0)], "");
        assert_eq!(folder.result()["network"]["tls"], true);
    }
    assert_refused(test("Server", &server.named("a")), 4, &["--tls-ca"]);
    let other = Certificates::new();
    assert_refused(test("Server", &server.named("a")).args(&other.trusted()), 4, &["TLS with"]);
}

#[test]
fn large_samples_are_sent_whole_and_with_few_calls_at_a_time() {
    let inputs = vec![tensor("x", "FP32", &[1, 500_000])];
    let server = Server::start(Behaviour { inputs, max_streams: 2, ..Behaviour::good() });
    let run = test("Offline", &server.named("a")).dataset("synthetic:f32[500000]x3");
    let (finished, folder) = run.set("min_duration=0,min_query_count=40,target_qps=10").finish();
    assert_ended(&finished, &folder, 0, &[("failed", 0)], "");
    let heard = server.heard();
    assert!(heard.requests.iter().all(|request| request.raw_input_contents[0].len() == 2_000_000));
    assert_eq!(heard.requests.len() as u64, folder.result()["counts"]["issued"].as_u64().unwrap());
}

#[test]
fn a_model_that_is_not_ready_is_named_and_can_be_waited_for() {
    let never = Server::start(Behaviour { unready: u64::MAX, ..Behaviour::good() });
    assert_refused(short(&never), 4, &["server a", &never.address.to_string(), "'m' is not ready", "--wait-ready"]);
    let waited = short(&never).args(&["--wait-ready", "200ms"]).finish().0;
    assert!(
        waited.stderr.contains("--wait-ready has run out") && !waited.stderr.contains("waits for it"),
        "{waited:?}"
    );
    let later = Server::start(Behaviour { unready: 4, ..Behaviour::good() });
    let (finished, _folder) = valid("Server", &later.named("a")).args(&["--wait-ready", "60s"]).finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
}

#[test]
fn a_server_without_the_model_says_so() {
    let server = Server::start(Behaviour { model: "other".to_owned(), ..Behaviour::good() });
    assert_refused(short(&server), 4, &["unknown model", "'m'", "--model"]);
}

/// As mlserver does of models that it does not have, or not yet.
#[test]
fn an_exception_about_a_model_is_no_lost_server() {
    let behaviour =
        |unready| Behaviour { unready, unready_status: Some(Status::unknown("ModelNotFound")), ..Behaviour::good() };
    let never = Server::start(behaviour(u64::MAX));
    assert_refused(short(&never), 4, &["server a", "'m' is not ready: ModelNotFound", "--model", "--wait-ready"]);
    let later = Server::start(behaviour(4));
    let (finished, _folder) = valid("Server", &later.named("a")).args(&["--wait-ready", "60s"]).finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
}

#[test]
fn names_are_unique_and_must_be_given() {
    let servers = [Server::start(Behaviour::good()), Server::start(Behaviour::good())];
    let sut = format!("{},{}", servers[0].named("a"), servers[1].named("a"));
    assert_refused(test("Server", &sut), 4, &["'a'", &servers[0].address.to_string(), "unique"]);
    assert_refused(test("Server", &servers[0].address.to_string()), 2, &["--sut", "NAME=host:port"]);
    assert_eq!(servers[0].heard().names, 0, "nobody was asked");
}

#[test]
fn a_model_that_does_not_fit_the_dataset_is_named() {
    for (inputs, part) in [
        (vec![tensor("x", "FP32", &[-1, 64])], "x f32[N,64]"),
        (vec![tensor("x", "UINT8", &[-1, 65])], "x u8[N,65]"),
        (vec![tensor("x", "UINT8", &[-1, 64]), tensor("z", "INT32", &[-1, 1])], "x, z"),
        (vec![], "--kserve-inputs"),
    ] {
        let server = Server::start(Behaviour { inputs, ..Behaviour::good() });
        assert_refused(short(&server), 2, &["u8[64]", part, "server a"]);
        assert!(server.heard().requests.is_empty());
    }
    let text = Server::start(Behaviour { inputs: vec![tensor("x", "BYTES", &[-1])], ..Behaviour::good() });
    assert_refused(short(&text), 4, &["'x'", "BYTES"]);
    let two = [Behaviour::good(), Behaviour { inputs: vec![tensor("x", "UINT8", &[64])], ..Behaviour::good() }];
    let two = two.map(Server::start);
    let sut = format!("{},{}", two[0].named("a"), two[1].named("b"));
    assert_refused(test("Server", &sut), 2, &["a and b", "u8[N,64]", "u8[64]"]);
}

#[test]
fn inputs_that_the_server_does_not_tell_are_given() {
    let server = Server::start(Behaviour { inputs: vec![], ..Behaviour::good() });
    let (finished, _folder) = valid("Server", &server.named("a")).args(&["--kserve-inputs", "pixels"]).finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let heard = server.heard();
    assert_eq!(
        (heard.requests[0].inputs[0].name.as_str(), &heard.requests[0].inputs[0].shape[..]),
        ("pixels", &[1, 64][..])
    );
}

/// The main output has no rows; another has something.
#[test]
fn an_answer_without_its_main_output_is_a_failure() {
    let outputs = vec![tensor("y", "FP32", &[-1, 2]), tensor("z", "INT8", &[-1])];
    let script: Script = |_, r| {
        let other = InferOutputTensor { name: "z".into(), ..output("INT8", &[1]) };
        Step::Answer(raw(r, vec![output("FP32", &[0, 2]), other], vec![Bytes::new(), Bytes::from_static(b"i")]))
    };
    let server = Server::start(Behaviour { outputs, ..Behaviour::scripted(script) });
    let (finished, folder) = short(&server).finish();
    assert_ended(&finished, &folder, 3, &[("failed", 100), ("completed", 0)], "y FP32[0,2] is not FP32[-1,2]");
}

/// A detector that found nothing.
#[test]
fn answers_of_rows_may_be_empty_and_are_marked_but_not_all_of_them() {
    fn rows(request: &ModelInferRequest, count: usize) -> Step {
        let data = Bytes::from(vec![0; 8 * count]);
        Step::Answer(raw(request, vec![output("FP32", &[1, count as i64, 2])], vec![data]))
    }
    let run = |script: Script| {
        let outputs = vec![tensor("y", "FP32", &[-1, -1, 2])];
        let server = Server::start(Behaviour { outputs, ..Behaviour::scripted(script) });
        let (finished, folder) = short(&server).finish();
        assert_ended(&finished, &folder, 3, &[("failed", 0), ("completed", 100)], "");
        let (marks, reasons) = (folder.result()["marks"].to_string(), folder.result()["reasons"].to_string());
        assert!(marks.contains("lengths of answers checked in part: node a leaves y of any size"), "{marks}");
        (marks, reasons)
    };
    let (marks, reasons) = run(|number, request| rows(request, usize::from(number != 7)));
    assert!(marks.contains("empty answers: 1 of the 100 answers of node a have not a byte"), "{marks}");
    assert!(!reasons.contains("have not a byte"), "{reasons}");
    let (_, reasons) = run(|_, request| rows(request, 0));
    assert!(reasons.contains("all 100 answers of a phase have not a byte"), "{reasons}");
}

#[test]
fn a_dimension_that_is_no_size_is_named() {
    let server = Server::start(Behaviour { outputs: vec![tensor("y", "FP32", &[-1, -2])], ..Behaviour::good() });
    assert_refused(short(&server), 4, &["'y' has a dimension of -2", &server.address.to_string()]);
}

/// Each of these has the status OK. The fastest server of all must not be one that answers nothing.
#[test]
fn what_is_no_answer_is_a_failure() {
    let scripts: [(Script, &str); 11] = [
        (
            |_, r| Step::Answer(raw(r, vec![output("FP32", &[1, 1])], vec![Bytes::from_static(b"abcd")])),
            "y FP32[1,1] is not FP32[-1,2], as its metadata has it",
        ),
        (
            |_, r| Step::Answer(raw(r, vec![output("INT8", &[1, 2])], vec![Bytes::from_static(b"ab")])),
            "is not FP32[-1,2]",
        ),
        (
            |_, r| {
                let other = InferOutputTensor { name: "z".into(), ..output("FP32", &[1, 2]) };
                Step::Answer(raw(r, vec![other], vec![Bytes::from_static(b"abcdefgh")]))
            },
            "lacks output 'y'",
        ),
        (
            |_, r| {
                let other = InferOutputTensor { name: "z".into(), ..output("INT8", &[1]) };
                let data = [&b"abcdefgh"[..], b"i"].map(Bytes::from_static);
                Step::Answer(raw(r, vec![output("FP32", &[1, 2]), other], data.into()))
            },
            "an output z INT8[1]",
        ),
        (
            |_, r| Step::Answer(raw(r, vec![output("FP32", &[2, 2])], vec![Bytes::from_static(&[0; 16])])),
            "y FP32[2,2] is not FP32[-1,2], as its metadata has it for one sample",
        ),
        (|_, r| Step::Answer(raw(r, vec![], vec![])), "no outputs"),
        (|_, r| Step::Answer(raw(r, vec![output("FP32", &[1, 2])], vec![Bytes::new()])), "has 0 bytes of data, not 8"),
        (|_, r| Step::Answer(raw(r, vec![output("FP32", &[1, 2])], vec![])), "has 0 bytes of data, not 8"),
        (|_, r| Step::Answer(raw(r, vec![output("FP32", &[1, 2])], vec![Bytes::from_static(b"abcd")])), "4 bytes"),
        (
            |_, r| Step::Answer(lon_proto::kserve::v2::ModelInferResponse { id: "x".into(), ..floats(r) }),
            "another call",
        ),
        (|_, r| Step::NoStatus(floats(r)), "without a status"),
    ];
    for (script, reason) in scripts {
        let (finished, folder) = short(&Server::start(Behaviour::scripted(script))).finish();
        assert_ended(&finished, &folder, 3, &[("failed", 100), ("completed", 0)], reason);
        assert_eq!(folder.result()["official_result"], "INVALID", "over-latency in the statistics");
    }
}

#[test]
fn typed_outputs_become_the_same_bytes_as_raw_ones() {
    let typed: Script = |_, request| {
        let contents = InferTensorContents { fp32_contents: vec![1.0, -2.0], ..Default::default() };
        let mut tensor = output("FP32", &[1, 2]);
        tensor.contents = Some(contents);
        Step::Answer(raw(request, vec![tensor], vec![]))
    };
    for script in [Behaviour::good().script, typed] {
        let server = Server::start(Behaviour::scripted(script));
        let run = test("Offline", &server.named("a")).set(SHORT).args(&["--mode", "AccuracyOnly"]);
        let (finished, folder) = run.finish();
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let report = folder.network_report();
        assert_eq!(report.count("/total/encoded_bytes/egress"), 16 * 8);
        let log = std::fs::read_to_string(folder.path.join("mlperf_log_accuracy.json")).unwrap();
        assert!(log.contains("0000803F000000C0"), "{log}");
    }
}

/// The protocol names outputs and leaves their order free. Right: the bytes of `y` come first, as the metadata has it.
#[test]
fn outputs_in_another_order_than_the_metadata_are_used_in_its_order() {
    let script: Script = |_, request| {
        let extra = InferOutputTensor { name: "extra".into(), ..output("INT64", &[1, 1]) };
        let data = [1.0f32, -2.0].map(f32::to_le_bytes).concat();
        Step::Answer(raw(request, vec![extra, output("FP32", &[1, 2])], vec![Bytes::from_static(&[7; 8]), data.into()]))
    };
    let outputs = vec![tensor("y", "FP32", &[-1, 2]), tensor("extra", "INT64", &[-1, 1])];
    let server = Server::start(Behaviour { outputs, ..Behaviour::scripted(script) });
    let run = test("Offline", &server.named("a")).set(SHORT).args(&["--mode", "AccuracyOnly"]);
    let (finished, folder) = run.finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let log = std::fs::read_to_string(folder.path.join("mlperf_log_accuracy.json")).unwrap();
    assert!(log.contains("\"0000803F000000C00707070707070707\""), "{log}");
}

#[test]
fn answers_of_texts_are_not_scored_as_numbers() {
    let (inputs, outputs) = (vec![tensor("image", "UINT8", &[-1, 1, 8, 8])], vec![tensor("y", "BYTES", &[-1])]);
    let server = Server::start(Behaviour { inputs, outputs, ..Behaviour::good() });
    let run = TestRun::digits("Offline").on(&server.named("a")).args(&["--transport", "kserve", "--model", "m"]);
    assert_refused(run.args(&["--mode", "AccuracyOnly"]), 2, &["cannot be scored", "'m'", "BYTES"]);
    assert!(server.heard().requests.is_empty());
}

#[test]
fn a_call_that_is_refused_fails_alone() {
    let scripts: [(Script, &str); 2] = [
        (
            |number, r| match number {
                5 => Step::Refuse(Status::invalid_argument("unexpected shape")),
                _ => Step::Answer(floats(r)),
            },
            "InvalidArgument: unexpected shape",
        ),
        (|number, r| if number == 5 { Step::Reset(Reason::CANCEL) } else { Step::Answer(floats(r)) }, "reset the call"),
    ];
    for (script, reason) in scripts {
        let (finished, folder) = short(&Server::start(Behaviour::scripted(script))).finish();
        assert_ended(&finished, &folder, 3, &[("failed", 1), ("completed", 99)], reason);
    }
}

#[test]
fn a_call_that_the_server_has_not_looked_at_is_sent_again() {
    let script: Script =
        |number, r| if number == 5 { Step::Reset(Reason::REFUSED_STREAM) } else { Step::Answer(floats(r)) };
    let server = Server::start(Behaviour::scripted(script));
    let (finished, folder) = valid("Server", &server.named("a")).finish();
    assert_ended(&finished, &folder, 0, &[("failed", 0), ("completed", 800)], "");
    assert_eq!(server.heard().requests.len(), 801);
}

#[test]
fn a_call_without_an_answer_times_out_and_the_run_goes_on() {
    let script: Script = |number, r| if number == 5 { Step::Silence } else { Step::Answer(floats(r)) };
    let server = Server::start(Behaviour::scripted(script));
    let (finished, folder) = short(&server).args(&["--response-timeout", "20s"]).finish();
    assert_ended(&finished, &folder, 3, &[("failed", 1), ("completed", 99)], "no answer within");
}

#[test]
fn a_server_that_answers_nothing_any_more_is_lost() {
    let script: Script = |number, r| if number >= 5 { Step::Silence } else { Step::Answer(floats(r)) };
    let server = Server::start(Behaviour::scripted(script));
    let run = test("Server", &server.named("a")).set("min_duration=60000,target_qps=100");
    let (finished, folder) = run.args(&["--response-timeout", "300ms"]).finish();
    assert_ended(&finished, &folder, 4, &[], "a was lost");
}

/// One sample after the other: each would take the whole limit.
#[test]
fn a_server_that_hangs_is_given_the_limit_once() {
    let script: Script = |number, r| if number >= 5 { Step::Silence } else { Step::Answer(floats(r)) };
    let server = Server::start(Behaviour::scripted(script));
    let run = test("SingleStream", &server.named("a")).set("min_duration=60000,target_latency=1");
    let (finished, folder) = run.args(&["--response-timeout", "20s"]).finish();
    assert_ended(&finished, &folder, 4, &[("failed", 1), ("completed", 5)], "a was lost");
}

/// As load balancers do, and servers with an age limit for connections.
#[test]
fn a_server_that_asks_for_another_connection_gets_it_and_loses_nothing() {
    for scenario in ["Server", "Offline", "SingleStream"] {
        for after in [1, 7] {
            let server = Server::start(Behaviour { farewell_after: Some(after), ..Behaviour::good() });
            let (finished, folder) = valid(scenario, &server.named("a")).finish();
            assert_ended(&finished, &folder, 0, &[("failed", 0), ("late", 0), ("duplicate", 0)], "");
            let heard = server.heard();
            assert!(heard.connections > 1, "{scenario}: {}", heard.connections);
            // The client repeats the calls that a leaving server has not looked at, and no others.
            let issued = folder.result()["counts"]["issued"].as_u64();
            assert_eq!(Some(heard.requests.len() as u64), issued, "{scenario}");
        }
    }
}

#[test]
fn a_server_that_hangs_up_is_lost_with_complete_files() {
    for scenario in ["Server", "Offline", "SingleStream"] {
        let script: Script = |number, r| if number == 30 { Step::HangUp } else { Step::Answer(floats(r)) };
        let servers = [Server::start(Behaviour::good()), Server::start(Behaviour::scripted(script))];
        let sut = format!("{},{}", servers[0].named("stays"), servers[1].named("leaves"));
        let run = test(scenario, &sut).set("min_duration=60000,Server.target_qps=500,Offline.target_qps=5000");
        let (finished, folder) = run.finish();
        assert_ended(&finished, &folder, 4, &[], "node leaves was lost");
        assert_eq!(folder.result()["result"], "INVALID");
    }
}

#[test]
fn what_is_no_such_server_is_named() {
    let node = SutNode::start("n", "null", &[]);
    assert_refused(
        test("Server", &format!("a={}", node.address)),
        4,
        &["does not speak KServe's protocol", &node.address],
    );
    let closed = Closed::new();
    assert_refused(test("Server", &format!("a={}", closed.address)), 4, &[&closed.address, "cannot be reached"]);
    let server = Server::start(Behaviour::good());
    assert_refused(TestRun::new("Server").on(&server.address.to_string()), 4, &["lon.v1"]);
}

#[test]
fn what_such_servers_cannot_do_is_refused_before_they_are_asked() {
    let server = Server::start(Behaviour::good());
    for (flags, parts) in [
        (&["--compression", "zstd"][..], &["--compression", "no codec"][..]),
        (&["--response-compression", "lz4"], &["--response-compression", "no codec"]),
        (&["--probe"], &["--probe", "cannot be probed"]),
        (&["--set", "use_token_latencies=1"], &["use_token_latencies", "no first token"]),
        (&["--sut", "dns:localhost:1"], &["--sut", "NAME=host:port"]),
        (&["--division", "network"], &["without --division network"]),
    ] {
        let mut run = TestRun::new("Server").args(&["--transport", "kserve", "--model", "m"]);
        if !flags.contains(&"--sut") {
            run = run.on(&server.named("a"));
        }
        assert_refused(run.args(flags), 2, parts);
    }
    let probe = LoadGen::run(&["probe", "--transport", "kserve", "--sut", &server.named("a")]);
    assert_eq!(probe.code, Some(2), "{probe:?}");
    assert!(probe.stderr.contains("cannot be probed") && probe.stderr.contains("sut-node"), "{probe:?}");
    assert_refused(TestRun::new("Server").on(&server.named("a")).args(&["--transport", "kserve"]), 2, &["--model"]);
    assert_eq!(server.heard().names, 0);
}
