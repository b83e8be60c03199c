//! Metrics of the programs: the numbers of the run, and all that the board asks for.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use bytes::Bytes;
use lon_proto::v1::DispatchRequest;
use lon_tests::board::{questions, questions_and_legends};
use lon_tests::client;
use lon_tests::metrics::{Node, Page, ask};
use lon_tests::process::{binary, repository};
use lon_tests::test_run::TestRun;

#[test]
fn a_node_tells_what_end_run_reports() {
    let Node { node, metrics } = Node::start("a", "synthetic:constant=1ms", &["--max-batch", "4"]);
    let page = || Page::at(&metrics);
    client::talk(&node, async |mut client| {
        let run = client::start(&mut client, 1).await.unwrap();
        let (sender, mut answers) = client::open(&mut client, &run).await.unwrap();
        assert_eq!(page().count("lon_sut_claimed", "purpose=run"), 1);
        assert_eq!(client::start(&mut client, 2).await.unwrap_err().code(), tonic::Code::ResourceExhausted);
        for id in 0..50 {
            let data = Bytes::from_static(b"abcd");
            sender.send(DispatchRequest { id, last: true, total_len: 4, data, ..Default::default() }).await.unwrap();
        }
        let mut answered = 0;
        while answered < 50 {
            let message = answers.message().await.unwrap().unwrap();
            answered += usize::from(message.heartbeat.is_none());
        }
        let report = client.end_run(run.end_run()).await.unwrap().into_inner();
        let page = page();
        for (name, labels, expected) in [
            ("lon_sut_runs_begun_total", "purpose=run", 1),
            ("lon_sut_runs_ended_total", "purpose=run,end=client", 1),
            ("lon_sut_runs_ended_total", "end=lapsed", 0),
            ("lon_sut_claims_refused_total", "", 1),
            ("lon_sut_claimed", "", 0),
            ("lon_sut_in_flight_samples", "", 0),
            ("lon_sut_waiting_samples", "", 0),
            ("lon_sut_received_samples_total", "purpose=run", report.samples_received),
            ("lon_sut_answered_samples_total", "purpose=run", report.samples_answered),
            ("lon_sut_failed_samples_total", "", report.samples_failed),
            ("lon_sut_nan_samples_total", "", report.samples_nan),
            ("lon_sut_network_bytes_total", "layer=tensor,direction=ingress", report.tensor_bytes_in),
            ("lon_sut_network_bytes_total", "layer=tensor,direction=egress", report.tensor_bytes_out),
            ("lon_sut_network_bytes_total", "layer=encoded,direction=ingress", report.payload_bytes_in),
            ("lon_sut_network_bytes_total", "layer=encoded,direction=egress", report.payload_bytes_out),
            ("lon_sut_network_bytes_total", "layer=message,direction=ingress", report.message_bytes_in),
            ("lon_sut_network_bytes_total", "layer=message,direction=egress", report.message_bytes_out),
            ("lon_sut_network_bytes_total", "layer=socket,direction=ingress", report.socket_bytes_in.unwrap()),
            ("lon_sut_network_bytes_total", "layer=socket,direction=egress", report.socket_bytes_out.unwrap()),
            ("lon_sut_heartbeats_total", "direction=ingress", report.client_heartbeats),
            ("lon_sut_heartbeats_total", "direction=egress", report.heartbeats),
            ("lon_sut_sample_seconds_count", "", 50),
            ("lon_sut_stage_seconds_count", "stage=inference", 50),
            ("lon_sut_stage_seconds_count", "stage=encode", 0),
            ("lon_sut_batch_samples_sum", "", 50),
        ] {
            assert_eq!(page.count(name, labels), expected, "{name} {labels}");
        }
        assert_eq!(report.samples_answered, 50);
        let inference_s = page.sum("lon_sut_stage_seconds_sum", "stage=inference");
        assert!(inference_s >= 0.05, "50 samples of 1 ms each took {inference_s} s");
        assert!(page.sum("lon_sut_sample_seconds_sum", "") >= inference_s);
        let batches = page.count("lon_sut_batch_samples_count", "");
        assert!((13..=50).contains(&batches), "{batches} batches of 50 samples, up to 4 in each");
        assert_eq!(page.count("lon_sut_batch_samples_bucket", "le=4.0"), batches);
    });
}

/// Four bytes are no digit.
#[test]
fn failures_are_told_by_their_reason() {
    let model = repository("loadgen-node/qsl/digits/digits.onnx");
    let Node { node, metrics } = Node::start("a", &format!("onnx:{}", model.display()), &[]);
    client::talk(&node, async |mut client| {
        let run = client::start(&mut client, 1).await.unwrap();
        let (sender, mut answers) = client::open(&mut client, &run).await.unwrap();
        let data = Bytes::from_static(b"abcd");
        sender.send(DispatchRequest { last: true, total_len: 4, data, ..Default::default() }).await.unwrap();
        while answers.message().await.unwrap().unwrap().heartbeat.is_some() {}
        let page = Page::at(&metrics);
        assert_eq!(page.count("lon_sut_failed_samples_total", "purpose=run,reason=unreadable"), 1);
        assert_eq!(page.count("lon_sut_failed_samples_total", ""), 1);
        assert_eq!(page.count("lon_sut_sample_seconds_count", ""), 0, "there was no answer");
    });
}

/// Two runs and a probe on one node, with a codec: the sums are those of both reports.
#[test]
fn runs_add_up_and_both_ends_have_the_same_numbers() {
    let node = Node::start("a", "null", &[]);
    let mut expected = [[0; 2]; 4];
    let mut samples = 0;
    for transport in ["grpc", "tcp"] {
        let test = TestRun::new("Offline")
            .patient()
            .on(&node.node.address)
            .set("min_duration=0,min_query_count=1,target_qps=500");
        let test = test.args(&["--transport", transport, "--compression", "zstd", "--probe"]);
        let (finished, folder) = test.finish();
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let report = folder.network_report();
        samples += report.count("/nodes/0/samples");
        for (sum, layer) in expected.iter_mut().zip(["tensor", "encoded", "message", "socket"]) {
            for (sum, direction) in sum.iter_mut().zip(["ingress", "egress"]) {
                // The report has two figures for a layer that both ends count.
                let end = if ["message", "socket"].contains(&layer) { "/sut" } else { "" };
                *sum += report.count(&format!("/nodes/0/{layer}_bytes/{direction}{end}"));
            }
        }
    }
    let page = node.page();
    assert!(samples > 0);
    assert_eq!(page.count("lon_sut_answered_samples_total", "purpose=run"), samples);
    assert_eq!(page.count("lon_sut_sample_seconds_count", ""), samples, "samples of probes are not among them");
    for (bytes, layer) in expected.iter().zip(["tensor", "encoded", "message", "socket"]) {
        for (&bytes, direction) in bytes.iter().zip(["ingress", "egress"]) {
            let labels = format!("purpose=run,layer={layer},direction={direction}");
            assert_eq!(page.count("lon_sut_network_bytes_total", &labels), bytes, "{labels}");
        }
    }
    assert_eq!(page.count("lon_sut_runs_begun_total", "purpose=run"), 2);
    assert_eq!(page.count("lon_sut_runs_begun_total", "purpose=probe"), 2);
    assert!(page.count("lon_sut_received_samples_total", "purpose=probe") > 0);
}

/// A client that goes without a word: its samples leave the gauges, and the counters say what happened to them.
#[test]
fn a_run_that_lapses_is_told_as_one() {
    // So long that none but the first is begun before the run lapses.
    let Node { node, metrics } = Node::start("a", "synthetic:constant=8s", &["--max-batch", "1"]);
    client::talk(&node, async |mut client| {
        let run = client::start(&mut client, 1).await.unwrap();
        let (sender, answers) = client::open(&mut client, &run).await.unwrap();
        for id in 0..5 {
            let data = Bytes::from_static(b"abcd");
            sender.send(DispatchRequest { id, last: true, total_len: 4, data, ..Default::default() }).await.unwrap();
        }
        while Page::at(&metrics).count("lon_sut_received_samples_total", "") < 5 {
            // Only while this waits are samples sent.
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let page = Page::at(&metrics);
        assert!(page.count("lon_sut_in_flight_samples", "") > 0);
        assert!(page.count("lon_sut_waiting_samples", "queue=worker") > 0);
        assert_eq!(page.count("lon_sut_streams", ""), 1);
        drop((sender, answers));
    });
    let page = loop {
        let page = Page::at(&metrics);
        if page.count("lon_sut_runs_ended_total", "purpose=run,end=lapsed") == 1
            && page.count("lon_sut_answered_samples_total", "") == 5
        {
            break page;
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(page.count("lon_sut_in_flight_samples", ""), 0);
    assert!(page.count("lon_sut_failed_samples_total", "reason=run_over") >= 3);
}

#[test]
fn who_may_ask_is_ruled_as_for_everything_else() {
    let serve = |flags: &[&str]| {
        let mut command = Command::new(binary("sut-node"));
        command.args(["serve", "--node", "n", "--backend", "null", "--listen", "127.0.0.1:0"]).args(flags);
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, message) = serve(&["--metrics-listen", "0.0.0.0:0"]);
    assert_eq!(code, Some(2), "{message}");
    for part in ["0.0.0.0", "--metrics-listen", "--tls-cert", "--insecure"] {
        assert!(message.contains(part), "no '{part}' in: {message}");
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (code, message) = serve(&["--metrics-listen", &taken.local_addr().unwrap().to_string()]);
    assert!(code == Some(2) && message.contains("--metrics-listen"), "{message}");

    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    std::fs::write(&token, "0123456789abcdef").unwrap();
    let flags = ["--token-file", token.to_str().unwrap(), "--allow-open-key-files"];
    let node = Node::start("a", "null", &flags);
    assert_eq!(ask(&node.metrics, "").status, 401);
    assert_eq!(ask(&node.metrics, "Authorization: Bearer 0123456789abcdeX\r\n").status, 401);
    assert_eq!(ask(&node.metrics, "Authorization: Bearer 0123456789abcdef\r\n").status, 200);
}

/// The names of metrics in an expression.
fn names_in(expression: &str) -> BTreeSet<String> {
    let identifiers = expression.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    identifiers.filter(|word| word.starts_with("lon_")).map(str::to_owned).collect()
}

/// The labels that an expression and its legend speak of: in `by (...)`, in `{...}`, and in `{{...}}`.
fn labels_in(expression: &str, legend: &str) -> BTreeSet<String> {
    let inside = |text: &str, open: &str, close: &str| -> Vec<String> {
        let parts = text.split(open).skip(1).filter_map(|part| part.split_once(close));
        parts.flat_map(|(part, _)| part.split(',').map(str::to_owned).collect::<Vec<_>>()).collect()
    };
    let grouped = inside(expression, "by (", ")");
    let matched = inside(expression, "{", "}");
    let named = inside(legend, "{{", "}}");
    let all = grouped.iter().chain(&matched).chain(&named);
    all.filter_map(|label| label.split(['=', '!']).next()).map(|label| label.trim().to_owned()).collect()
}

/// A board that asks for a metric which nobody exports stays empty, and says nothing.
#[test]
fn the_board_asks_only_for_what_there_is() {
    let node = Node::start("a", "null", &[]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.prom");
    let run = TestRun::new("Server").on(&node.node.address).set("min_duration=0,min_query_count=10");
    let (finished, _) = run.args(&["--max-lag", "60s", "--metrics-file", file.to_str().unwrap()]).finish();
    assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
    let of_run = Page::read(&std::fs::read_to_string(file).unwrap());
    let page = node.page();
    let names: BTreeSet<&str> = page.names().into_iter().chain(of_run.names()).collect();
    let board_names: BTreeSet<String> = questions().iter().flat_map(|question| names_in(question)).collect();
    let unknown: Vec<&String> = board_names.iter().filter(|name| !names.contains(name.as_str())).collect();
    assert!(unknown.is_empty(), "the board asks for {unknown:?}; there are {names:?}");
    for (question, legend) in questions_and_legends() {
        let families = || page.families.iter().chain(&of_run.families);
        let question_names = names_in(&question);
        let of_question = families().filter(|family| question_names.iter().any(|name| name.starts_with(&family.name)));
        let labels: BTreeSet<&str> = of_question.flat_map(|family| family.labels.iter().map(String::as_str)).collect();
        let unknown: Vec<String> = labels_in(&question, &legend)
            .into_iter()
            .filter(|it| it != "le" && !labels.contains(it.as_str()))
            .collect();
        assert!(unknown.is_empty(), "'{question}' ('{legend}') speaks of labels {unknown:?}; there are {labels:?}");
    }
    for program in ["lon_sut_", "lon_loadgen_"] {
        assert!(board_names.iter().filter(|name| name.starts_with(program)).count() > 8, "{program}: {board_names:?}");
    }
}
