//! Who may read along and who may ask: TLS at both ends, and plain text only where it is safe or asked for.

use lon_tests::process::{Finished, SutNode, binary};
use lon_tests::test_run::TestRun;
use lon_tests::way::Certificates;

const TRANSPORTS: [&str; 3] = ["grpc", "tcp", "quic"];

/// A short run with these flags; it fails with `code` and says all `parts`, or goes well with code 0.
fn assert_ends(sut: &str, flags: &[&str], code: i32, parts: &[&str]) {
    let test = TestRun::new("Offline").on(sut).set("min_duration=0,min_query_count=10,target_qps=1").args(flags);
    let (finished, folder) = test.finish();
    assert_eq!(finished.code, Some(code), "{flags:?}: {finished:?}");
    assert_eq!(folder.path.exists(), code == 0, "a run that never started leaves nothing");
    for part in parts {
        assert!(finished.stderr.contains(part), "{flags:?}: no '{part}' in: {}", finished.stderr);
    }
}

#[test]
fn plain_text_to_another_host_is_refused_unless_asked_for() {
    for transport in TRANSPORTS {
        // An address for documentation, which leads nowhere: nothing may be sent there.
        let flags = ["--transport", transport];
        assert_ends("127.0.0.1:1,192.0.2.1:8000", &flags, 2, &["192.0.2.1:8000", "--tls-ca", "--insecure"]);
    }
    let node = SutNode::start("a", "null", &[]);
    assert_ends(&node.address, &["--insecure"], 0, &[]);
}

fn serve(flags: &[&str]) -> Finished {
    let output = std::process::Command::new(binary("sut-node"))
        .args(["serve", "--node", "n", "--backend", "null"])
        .args(flags)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Finished { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

#[test]
fn a_node_refuses_plain_text_to_other_hosts_unless_asked_for() {
    let finished = serve(&["--listen", "0.0.0.0:0"]);
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(2), ""), "{finished:?}");
    for part in ["0.0.0.0", "--listen", "--tls-cert", "--tls-key", "--insecure"] {
        assert!(finished.stderr.contains(part), "no '{part}' in: {}", finished.stderr);
    }
    let node = SutNode::start_on("0.0.0.0:0", "a", "null", &["--insecure"]);
    let port = node.address.rsplit_once(':').unwrap().1;
    for transport in TRANSPORTS {
        assert_ends(&format!("127.0.0.1:{port}"), &["--transport", transport], 0, &[]);
    }
}

#[test]
fn one_port_of_two_is_not_enough() {
    let taken = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap().to_string();
    let finished = serve(&["--listen", &listen]);
    assert_eq!(finished.code, Some(2), "{finished:?}");
    assert!(finished.stderr.contains("UDP") && finished.stderr.contains(&listen), "{finished:?}");
}

#[test]
fn flags_of_tls_that_do_not_fit_are_named() {
    let made = Certificates::new();
    let finished = serve(&[&["--listen", "127.0.0.1:0"][..], &made.trusted()].concat());
    assert_eq!(finished.code, Some(2), "{finished:?}");
    assert!(finished.stderr.contains("--tls-cert"), "{finished:?}");
    assert_ends("127.0.0.1:1", &made.shown(), 2, &["--tls-ca"]);
    assert_ends("127.0.0.1:1", &["--tls-ca", "/no/such.pem"], 2, &["/no/such.pem", "--tls-ca"]);
}

#[test]
fn a_node_with_a_certificate_of_another_ca_is_not_asked_anything() {
    let (made, other) = (Certificates::new(), Certificates::new());
    let node = SutNode::start("a", "null", &made.shown());
    for transport in TRANSPORTS {
        let flags = [&["--transport", transport][..], &other.trusted()].concat();
        assert_ends(&node.address, &flags, 4, &[&node.address, "--tls-ca must be the CA"]);
    }
}

#[test]
fn a_node_with_a_ca_serves_none_but_its_clients() {
    let (made, other) = (Certificates::new(), Certificates::new());
    let node = SutNode::start("a", "null", &[&made.shown()[..], &made.trusted()].concat());
    for transport in TRANSPORTS {
        let nobody = [&["--transport", transport][..], &made.trusted()].concat();
        assert_ends(&node.address, &nobody, 4, &[&node.address, "--tls-cert"]);
        let stranger = [&nobody[..], &other.shown()].concat();
        assert_ends(&node.address, &stranger, 4, &[&node.address]);
        let known = [&nobody[..], &made.shown()].concat();
        assert_ends(&node.address, &known, 0, &[]);
    }
}

#[test]
fn ends_that_disagree_about_tls_say_so() {
    let made = Certificates::new();
    let plain = SutNode::start("a", "null", &[]);
    assert_ends(&plain.address, &made.trusted(), 4, &[&plain.address, "--tls-cert and --tls-key"]);
    let tls = SutNode::start("a", "null", &made.shown());
    assert_ends(&tls.address, &[], 4, &[&tls.address, "--tls-ca"]);
}
