//! Nodes held against the wire contract, rule by rule: ours keeps it, and each liar breaks the rule that it lies about.

use lon_proto::v1::{DispatchResponse, Stages, TensorSpec};
use lon_tests::conformance::{check, rules};
use lon_tests::peer::{Behaviour, Peer, Script, Step, answer_once, answer_with_stages, eight_bytes};
use lon_tests::process::{Closed, LoadGen, SutNode, repository};
use lon_tests::route::TRANSPORTS;
use serde_json::Value;

/// The rule that is about time: a node has to be heard of every half second. In the simulation a node that is not heard
/// of for long is lost, and ours is not (`tests/sim`).
const TIMED: &str = "heartbeats";

/// The rules that are broken, whatever the machine does beside.
fn broken(document: &Value) -> Vec<&str> {
    rules(document, "broken").into_iter().filter(|rule| *rule != TIMED).collect()
}

#[test]
fn our_own_node_keeps_every_rule_over_every_transport() {
    let node = SutNode::start("N1", "null", &[]);
    for transport in TRANSPORTS {
        let (finished, document) = check(&node.address, transport);
        assert_eq!(broken(&document), [""; 0], "{transport}: {finished:?}");
        assert_eq!(rules(&document, "not seen"), [""; 0], "{transport}: {finished:?}");
        assert_eq!((&document["name"], &document["transport"]), (&"N1".into(), &transport.into()));
    }
    // The claims of the checks have ended.
    let finished = LoadGen::run(&["conformance", "--sut", &node.address]);
    assert!(finished.stdout.contains(" kept, ") && finished.stdout.contains(" broken, 0 not seen"), "{finished:?}");
}

/// The same with its heartbeats, and the table says what the document says.
#[test]
#[ignore = ".ci/run timing"]
fn our_own_node_is_heard_of_in_time_over_every_transport() {
    let node = SutNode::start("N1", "null", &[]);
    for transport in TRANSPORTS {
        let finished = LoadGen::run(&["conformance", "--sut", &node.address, "--transport", transport]);
        assert_eq!(finished.code, Some(0), "{transport}: {finished:?}");
        assert!(finished.stdout.contains("26 kept, 0 broken, 0 not seen"), "{transport}: {}", finished.stdout);
    }
}

#[test]
fn a_node_with_a_model_keeps_every_rule_that_can_be_seen() {
    let model = repository("loadgen-node/qsl/digits/digits.onnx");
    let node = SutNode::start("N1", &format!("onnx:{}", model.display()), &[]);
    let (finished, document) = check(&node.address, "grpc");
    assert_eq!((broken(&document), rules(&document, "not seen")), (vec![], vec!["sample-large"]), "{finished:?}");
}

#[test]
fn each_lie_breaks_the_rule_that_it_is_about() {
    let strict = || Behaviour::strict("odd");
    let scripted = |script: Script| Behaviour { script, ..strict() };
    let output = TensorSpec { name: "y".to_owned(), dtype: "f32".to_owned(), dims: vec![1, 3], ..Default::default() };
    let liars: [(&str, Behaviour, &[&str]); 12] = [
        ("none", strict(), &[]),
        ("another nonce", Behaviour { honest_nonce: false, ..strict() }, &["name-nonce"]),
        ("a comma", Behaviour { name: "a, b".to_owned(), ..strict() }, &["name-form"]),
        ("another name", Behaviour { later_name: Some("b".to_owned()), ..strict() }, &["name-stable"]),
        (
            "everybody is let in",
            Behaviour { guards: false, ..strict() },
            &["codec-unknown", "start-secret", "claim-busy", "run-unknown", "secret-wrong", "flush", "end-frees"],
        ),
        (
            "answers twice",
            scripted(|n, id| [answer_with_stages(n, id), answer_with_stages(n, id)].into_iter().flatten().collect()),
            &["answer-once"],
        ),
        (
            "a gap between parts",
            scripted(|_, id| vec![Step::Send(DispatchResponse { part: 1, ..eight_bytes(id) })]),
            &["answer-parts"],
        ),
        ("other outputs", Behaviour { outputs: vec![output], ..strict() }, &["answer-outputs"]),
        ("no stages", scripted(answer_once), &["stages"]),
        (
            "an hour of inference",
            scripted(|_, id| {
                let stages = Some(Stages { inference_ns: 3_600_000_000_000, ..Stages::default() });
                vec![Step::Send(DispatchResponse { stages, ..eight_bytes(id) })]
            }),
            &["stages"],
        ),
        ("wrong counters", Behaviour { miscounts: true, ..strict() }, &["counters"]),
        ("no bytes on sockets", Behaviour { honest_sockets: false, ..strict() }, &["sockets"]),
    ];
    for (lie, behaviour, expected) in liars {
        let peer = Peer::start(behaviour);
        let (finished, document) = check(&peer.address.to_string(), "tcp");
        assert_eq!(broken(&document), expected, "{lie}: {finished:?}");
        let code = if rules(&document, "broken").is_empty() { 0 } else { 3 };
        assert_eq!(finished.code, Some(code), "{lie}: {finished:?}");
    }
}

/// Over gRPC and QUIC, what is in the streams is read by the same code.
#[test]
fn a_lie_is_seen_over_every_transport() {
    for transport in TRANSPORTS {
        let silent = Peer::start(Behaviour { heartbeats: false, ..Behaviour::strict("silent") });
        let (finished, document) = check(&silent.address.to_string(), transport);
        assert_eq!((finished.code, rules(&document, "broken")), (Some(3), vec!["heartbeats"]), "{finished:?}");
    }
}

#[test]
fn what_cannot_be_checked_is_said_as_a_run_says_it() {
    let closed = Closed::new();
    let finished = LoadGen::run(&["conformance", "--sut", &closed.address]);
    assert!(finished.code == Some(4) && finished.stderr.contains(&closed.address), "{finished:?}");
    let two = LoadGen::run(&["conformance", "--sut", "a:1,b:1", "--insecure"]);
    assert!(two.code == Some(2) && two.stderr.contains("one node is checked at a time"), "{two:?}");
    let kserve = LoadGen::run(&["conformance", "--sut", "a=127.0.0.1:1", "--transport", "kserve"]);
    assert!(kserve.code == Some(2) && kserve.stderr.contains("wire contract is for SUT nodes"), "{kserve:?}");
}
