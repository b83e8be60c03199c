//! `probe --matrix`: what SUT nodes measure among each other, who may have them do it, and what is said of it.

use lon_net::throwaway::Throwaway;
use lon_tests::probe::json;
use lon_tests::process::{Finished, LoadGen, SutNode, binary, sut};
use lon_tests::secrets::{Secrets, texts};
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};

/// Flags that keep a probe short.
const SHORT: [&str; 6] = ["--duration", "200ms", "--sizes", "64", "--transport", "tcp"];

/// A probe of these nodes and of their ways to each other.
fn probe(sut: &str, more: &[&str]) -> Finished {
    LoadGen::run(&[&["probe", "--sut", sut, "--matrix", "--json"][..], &SHORT, more].concat())
}

/// Two nodes with a token; the first may measure the second, which is at this address.
fn two(secrets: &Secrets, second_at: &str) -> [SutNode; 2] {
    let token = secrets.flags(&[("--token-file", "token")]);
    let second = SutNode::start_on(second_at, "b", "null", &texts(&token));
    let flags = [&texts(&token)[..], &["--probe-peers", &second.address]].concat();
    [SutNode::start("a", "null", &flags), second]
}

/// On one address, where nothing is judged.
#[test]
fn two_nodes_with_a_token_measure_each_other() {
    let secrets = Secrets::new();
    let nodes = two(&secrets, "127.0.0.1:0");
    let token = secrets.flags(&[("--token-file", "token")]);
    let finished = probe(&sut(&nodes), &texts(&token));
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let document = json(&finished);
    let directions = document.items("/matrix/0/ways");
    let pairs: Vec<_> = directions.iter().map(|direction| (direction.text("/from"), direction.text("/to"))).collect();
    assert_eq!(pairs, [("a".into(), "b".into()), ("b".into(), "a".into())], "{document}");
    for direction in &directions {
        assert!(direction.number("/goodput_gbit_s") > 0.0 && direction.count("/rtt_ns") > 0, "{document}");
        assert!(
            direction.flag("/same_address") && direction.text("/measured_by") == "a" && direction.is_null("/error"),
            "{document}"
        );
    }
    assert!(document.is_null("/matrix/0/judgement/usual_gbit_s"), "one address is no link: {document}");
    assert_eq!(document.items("/nodes").len(), 2, "the probe from here is there, too: {document}");
    // Both nodes are free again.
    assert_eq!(probe(&sut(&nodes), &[&texts(&token)[..], &["--matrix-at-once", "1"]].concat()).code, Some(0));
}

/// Two nodes have one link, and no other to compare it with.
#[test]
fn the_link_of_two_nodes_is_measured_and_not_judged() {
    let secrets = Secrets::new();
    let nodes = two(&secrets, "127.0.0.2:0");
    let token = secrets.flags(&[("--token-file", "token")]);
    let sut = sut(&nodes);
    let args = [&["probe", "--sut", &sut, "--matrix", "--tolerance", "40%"][..], &SHORT].concat();
    let finished = LoadGen::run(&[&args[..], &texts(&token)].concat());
    assert_eq!(finished.code, Some(0), "{finished:?}");
    for part in ["Between SUT nodes over tcp", "#1   a", "Not judged: that takes links between three hosts"] {
        assert!(finished.stdout.contains(part), "no '{part}' in {}", finished.stdout);
    }
    assert!(!finished.stdout.contains("SLOW: "), "{}", finished.stdout);
}

#[test]
fn nodes_measure_each_other_over_tls_and_every_transport() {
    let (secrets, certificate) = (Secrets::new(), Throwaway::new(&["127.0.0.1"]).unwrap());
    certificate.write(secrets.folder()).unwrap();
    let own = [("--tls-cert", "cert.pem"), ("--tls-key", "key.pem"), ("--token-file", "token")];
    let second = SutNode::start("b", "null", &texts(&secrets.flags(&own)));
    let first = secrets.flags(&[&own[..], &[("--probe-ca", "ca.pem")]].concat());
    let first = SutNode::start("a", "null", &[&texts(&first)[..], &["--probe-peers", &second.address]].concat());
    let nodes = [first, second];
    let trusted = secrets.flags(&[("--tls-ca", "ca.pem"), ("--token-file", "token")]);
    let sut = sut(&nodes);
    let args = ["probe", "--sut", &sut, "--matrix", "--json", "--duration", "200ms", "--sizes", "64"];
    let finished = LoadGen::run(&[&args[..], &["--transport", "all"], &texts(&trusted)].concat());
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let document = json(&finished);
    let transports: Vec<String> = document.items("/matrix").iter().map(|matrix| matrix.text("/transport")).collect();
    assert_eq!(transports, ["grpc", "tcp", "quic"], "{document}");
    for matrix in document.items("/matrix") {
        assert!(matrix.number("/ways/0/goodput_gbit_s") > 0.0, "{matrix}");
    }
}

/// A CA, and certificates of nodes that are good for servers and for clients.
fn certificates_for_both_ends(secrets: &Secrets, nodes: &[&str]) {
    let mut ca = CertificateParams::new([]).unwrap();
    ca.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    let key = KeyPair::generate().unwrap();
    secrets.write("ca.pem", &ca.self_signed(&key).unwrap().pem());
    let issuer = Issuer::new(ca, key);
    for node in nodes {
        let mut certificate = CertificateParams::new(["127.0.0.1".to_owned(), format!("{node}.test")]).unwrap();
        certificate.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().unwrap();
        secrets.write(&format!("{node}.pem"), &certificate.signed_by(&key, &issuer).unwrap().pem());
        secrets.write(&format!("{node}.key"), &key.serialize_pem());
    }
}

/// By its own certificate a node measures those that name it by --allow-client, and no others.
#[test]
fn nodes_with_certificates_measure_those_that_allow_them() {
    let secrets = Secrets::new();
    certificates_for_both_ends(&secrets, &["a", "b", "loadgen"]);
    let files = |of: &str| {
        let (cert, key) = (format!("{of}.pem"), format!("{of}.key"));
        secrets.flags(&[("--tls-ca", "ca.pem"), ("--tls-cert", &cert), ("--tls-key", &key)])
    };
    for (allowed, code) in [("loadgen.test,a.test", 0), ("loadgen.test", 4)] {
        let own = files("b");
        let second = SutNode::start("b", "null", &[&texts(&own)[..], &["--allow-client", allowed]].concat());
        let (own, more) = (files("a"), ["--allow-client", "loadgen.test", "--probe-peers", &second.address]);
        let first = SutNode::start("a", "null", &[&texts(&own)[..], &more].concat());
        let nodes = [first, second];
        let finished = probe(&sut(&nodes), &texts(&files("loadgen")));
        assert_eq!(finished.code, Some(code), "{allowed}: {finished:?}");
    }
}

/// Why the nodes do not measure each other, which is known before anything is measured.
fn refusal(finished: &Finished) -> &str {
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(4), ""), "{finished:?}");
    assert!(!finished.stderr.contains("probing"), "nothing was measured: {finished:?}");
    finished.stderr.lines().last().unwrap()
}

#[test]
fn nodes_that_anybody_may_claim_measure_nobody() {
    let nodes = [SutNode::start("a", "null", &[]), SutNode::start("b", "null", &[])];
    let finished = probe(&sut(&nodes), &[]);
    let message = refusal(&finished);
    for part in ["node a", "--token-file or --tls-ca", "--probe-peers"] {
        assert!(message.contains(part), "no '{part}' in {message}");
    }
}

#[test]
fn a_node_measures_only_what_it_was_told_it_may() {
    let secrets = Secrets::new();
    let flags = secrets.flags(&[("--token-file", "token")]);
    let token = texts(&flags);
    let second = SutNode::start("b", "null", &token);
    for (peers, part) in [
        (
            &["--probe-peers", "127.0.0.1:9"][..],
            format!("may not measure {}: it is not in its --probe-peers", second.address),
        ),
        (&[], "measures no other nodes: start it with --probe-peers".to_owned()),
    ] {
        let first = SutNode::start("a", "null", &[&token[..], peers].concat());
        let finished = probe(&format!("{},{}", first.address, second.address), &token);
        let message = refusal(&finished);
        assert!(message.contains(&part), "no '{part}' in {message}");
    }
}

fn refused(program: &str, args: &[&str]) -> String {
    let output = std::process::Command::new(binary(program)).args(args).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {stderr}");
    stderr
}

#[test]
fn flags_that_cannot_be_are_refused() {
    let (secrets, certificate) = (Secrets::new(), Throwaway::new(&["127.0.0.1"]).unwrap());
    certificate.write(secrets.folder()).unwrap();
    let token = secrets.flags(&[("--token-file", "token")]);
    let tls = secrets.flags(&[("--tls-cert", "cert.pem"), ("--tls-key", "key.pem"), ("--token-file", "token")]);
    let ca = secrets.flags(&[("--probe-ca", "ca.pem")]);
    let serve = ["serve", "--node", "a", "--backend", "null", "--listen", "127.0.0.1:0"];
    let here = ["--probe-peers", "127.0.0.1:9"];
    for (flags, part) in [
        (here.to_vec(), "they have to show something"),
        ([&texts(&tls)[..], &here].concat(), "give --probe-ca"),
        (texts(&ca), "--probe-ca is for --probe-peers"),
        ([&texts(&token)[..], &["--probe-peers", "192.0.2.7:8000"]].concat(), "192.0.2.7:8000 may be another host"),
        ([&texts(&token)[..], &["--probe-peers", "http://a"]].concat(), "no scheme"),
    ] {
        let message = refused("sut-node", &[&serve[..], &flags].concat());
        assert!(message.contains(part), "no '{part}' in {message}");
    }
    let two = ["probe", "--sut", "127.0.0.1:9,127.0.0.1:10"];
    for (args, part) in [
        (vec!["probe", "--sut", "127.0.0.1:9", "--matrix"], "two nodes or more"),
        ([&two[..], &["--matrix-at-once", "2"]].concat(), "--matrix"),
        ([&two[..], &["--matrix", "--matrix-at-once", "0"]].concat(), "a number from 1"),
        ([&two[..], &["--matrix", "--watch", "1s"]].concat(), "cannot be used with"),
        ([&two[..], &["--matrix", "--duration", "200s", "--repeats", "2"]].concat(), "600s at most"),
        ([&two[..], &["--matrix", "--max-bytes", "200000000000"]].concat(), "--max-bytes"),
    ] {
        let message = refused("loadgen-node", &args);
        assert!(message.contains(part), "no '{part}' in {message}");
    }
}
