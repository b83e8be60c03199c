//! Rights to read along and to ask: TLS at both ends, and plain text only where it is safe or asked for.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use lon_net::throwaway::CLIENT_NAME;
use lon_proto::v1::{DescribeRequest, GetNameRequest, ProbeRequest};
use lon_proto::{WIRE_VERSION, limits};
use lon_tests::client;
use lon_tests::process::{Finished, SutNode, binary};
use lon_tests::route::{Certificates, TRANSPORTS};
use lon_tests::test_run::TestRun;
use tempfile::TempDir;
use tonic::Code;

/// A short run with these flags; it fails with `code` and says all `parts`, or goes well with code 0.
fn assert_ends(sut: &str, flags: &[&str], code: i32, parts: &[&str]) {
    let test = TestRun::new("Offline").patient().on(sut);
    let test = test.set("min_duration=0,min_query_count=10,target_qps=1").args(flags);
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
    Finished {
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
        ..Finished::default()
    }
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
    // The TCP port of the same number may belong to another program; then the next number is tried.
    let answers = (0..20).map(|_| {
        let taken = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let listen = taken.local_addr().unwrap().to_string();
        let finished = serve(&["--listen", &listen]);
        assert_eq!(finished.code, Some(2), "{finished:?}");
        assert!(finished.stderr.contains(&listen), "{finished:?}");
        finished.stderr
    });
    let answers: Vec<String> = answers.take_while(|answer| !answer.contains("UDP")).collect();
    assert!(answers.len() < 20, "{answers:?}");
}

#[test]
fn flags_of_tls_that_do_not_fit_are_named() {
    let certificates = Certificates::new();
    let finished = serve(&[&["--listen", "127.0.0.1:0"][..], &certificates.trusted()].concat());
    assert_eq!(finished.code, Some(2), "{finished:?}");
    assert!(finished.stderr.contains("--tls-cert"), "{finished:?}");
    assert_ends("127.0.0.1:1", &certificates.server_args(), 2, &["--tls-ca"]);
    let finished = serve(&["--listen", "127.0.0.1:0", "--allow-client", "loadgen.lab"]);
    assert_eq!(finished.code, Some(2), "{finished:?}");
    assert!(finished.stderr.contains("--allow-client needs --tls-ca"), "{finished:?}");
    assert_ends("127.0.0.1:1", &["--tls-ca", "/no/such.pem"], 2, &["/no/such.pem", "--tls-ca"]);
}

#[test]
fn a_node_with_a_certificate_of_another_ca_is_not_asked_anything() {
    let (certificates, other) = (Certificates::new(), Certificates::new());
    let node = SutNode::start("a", "null", &certificates.server_args());
    for transport in TRANSPORTS {
        let flags = [&["--transport", transport][..], &other.trusted()].concat();
        assert_ends(&node.address, &flags, 4, &[&node.address, "--tls-ca must be the CA"]);
    }
}

#[test]
fn a_node_with_a_ca_serves_none_but_its_clients() {
    let (certificates, other) = (Certificates::new(), Certificates::new());
    let node = SutNode::start("a", "null", &[&certificates.server_args()[..], &certificates.trusted()].concat());
    for transport in TRANSPORTS {
        let nobody = [&["--transport", transport][..], &certificates.trusted()].concat();
        assert_ends(&node.address, &nobody, 4, &[&node.address, "--tls-cert"]);
        let stranger = [&nobody[..], &other.server_args()].concat();
        assert_ends(&node.address, &stranger, 4, &[&node.address]);
        let the_nodes_own = [&nobody[..], &certificates.server_args()].concat();
        assert_ends(&node.address, &the_nodes_own, 4, &[&node.address]);
        let client_flags = [&nobody[..], &certificates.client_args()].concat();
        assert_ends(&node.address, &client_flags, 0, &[]);
    }
}

#[test]
fn ends_that_disagree_about_tls_say_so() {
    let certificates = Certificates::new();
    let plain = SutNode::start("a", "null", &[]);
    assert_ends(&plain.address, &certificates.trusted(), 4, &[&plain.address, "--tls-cert and --tls-key"]);
    let tls = SutNode::start("a", "null", &certificates.server_args());
    assert_ends(&tls.address, &[], 4, &[&tls.address, "--tls-ca"]);
}

#[test]
fn a_node_serves_the_clients_that_it_was_told_by_name() {
    let certificates = Certificates::new();
    let all = [&certificates.server_args()[..], &certificates.trusted()].concat();
    let ours = SutNode::start("a", "null", &[&all[..], &["--allow-client", CLIENT_NAME]].concat());
    let others = SutNode::start("b", "null", &[&all[..], &["--allow-client", "other.test,third.test"]].concat());
    for transport in TRANSPORTS {
        let flags = [&["--transport", transport][..], &certificates.trusted(), &certificates.client_args()].concat();
        assert_ends(&ours.address, &flags, 0, &[]);
        assert_ends(&others.address, &flags, 4, &[&others.address]);
    }
    others.signal(nix::sys::signal::Signal::SIGTERM);
    let (_, log) = others.wait_with_log();
    for part in [CLIENT_NAME, "--allow-client"] {
        assert!(log.contains(part), "the node's log says why: no '{part}' in {log}");
    }
}

/// A folder with a file for this text, which only its owner can read.
fn secret(text: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    std::fs::write(&path, text).unwrap();
    set_mode(&path, 0o600);
    (folder, path)
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_node_with_a_token_is_claimed_by_those_who_know_it() {
    let (_folder, ours) = secret("the token of this node\n".replace(' ', "-").as_str());
    let (_other_folder, theirs) = secret("the-token-of-some-other-node");
    let [right, wrong] = [&ours, &theirs].map(|path| ["--token-file", path.to_str().unwrap()]);
    let node = SutNode::start("a", "null", &right);
    for transport in TRANSPORTS {
        let flags = ["--transport", transport];
        assert_ends(&node.address, &flags, 4, &["node a wants a token", "--token-file"]);
        assert_ends(&node.address, &[&flags[..], &wrong].concat(), 4, &["node a wants a token", "--token-file"]);
        assert_ends(&node.address, &[&flags[..], &right].concat(), 0, &[]);
    }
    // A node that wants none takes those that show one, and they are told.
    let open = SutNode::start("b", "null", &[]);
    assert_ends(&open.address, &right, 0, &["asks for no token", &open.address]);
    let kserve = ["--transport", "kserve", "--model", "m", "--token-file", ours.to_str().unwrap()];
    assert_ends("s=127.0.0.1:1", &kserve, 2, &["--token-file is for SUT nodes"]);
    let healthy = std::process::Command::new(binary("sut-node"))
        .args(["healthcheck", "--address", &node.address])
        .output()
        .unwrap();
    assert_eq!(healthy.status.code(), Some(0), "health is for everybody: {healthy:?}");
    node.signal(nix::sys::signal::Signal::SIGTERM);
    let (_, log) = node.wait_with_log();
    assert!(!log.contains("the-token-of"), "{log}");
    for cause in ["no token", "a wrong token"] {
        let is_refusal =
            |line: &str| line.contains("a client was refused") && line.contains(cause) && line.contains("127.0.0.1");
        assert!(log.lines().any(is_refusal), "{cause}: {log}");
    }
    // One without a token and one with another over each transport. Those with the right one ask without, too.
    assert_eq!(log.matches("a client was refused").count(), 2 * TRANSPORTS.len(), "{log}");
}

#[test]
fn a_stranger_without_the_token_learns_the_name_of_a_node() {
    let (_folder, path) = secret("0123456789abcdef");
    let node = SutNode::start("a", "null", &["--token-file", path.to_str().unwrap()]);
    client::talk(&node, async |mut client| {
        let name = client.get_name(GetNameRequest { nonce: 1 }).await.unwrap().into_inner();
        assert_eq!(name.name, "a");
        let nonce = vec![1; limits::HOST_NONCE_BYTES].into();
        let describe = DescribeRequest { wire_version: WIRE_VERSION, nonce };
        let run_id = vec![1; limits::RUN_ID_BYTES].into();
        let probe = ProbeRequest { run_id, wire_version: WIRE_VERSION, ..ProbeRequest::default() };
        let refusals = [
            client.describe(describe).await.err(),
            client::start(&mut client, 1).await.err(),
            client.probe(probe).await.err(),
        ];
        for refusal in refusals {
            assert_eq!(refusal.map(|status| status.code()), Some(Code::Unauthenticated));
        }
    });
}

#[test]
fn a_file_with_a_secret_that_others_can_read_is_refused_unless_told() {
    let certificates = Certificates::new();
    let (_folder, token) = secret("0123456789abcdef");
    let [_, _, _, key] = certificates.server_args();
    let [node_flags, token_flags] =
        [certificates.server_args().to_vec(), vec!["--token-file", token.to_str().unwrap()]];
    for (path, flag, flags) in [(Path::new(key), "--tls-key", node_flags), (&token, "--token-file", token_flags)] {
        set_mode(path, 0o644);
        let finished = serve(&[&["--listen", "127.0.0.1:0"][..], &flags].concat());
        assert_eq!(finished.code, Some(2), "{finished:?}");
        for part in [flag, path.to_str().unwrap(), "mode 644", "chmod 600", "--allow-open-key-files"] {
            assert!(finished.stderr.contains(part), "no '{part}' in: {}", finished.stderr);
        }
        drop(SutNode::start("a", "null", &[&flags[..], &["--allow-open-key-files"]].concat()));
        set_mode(path, 0o600);
    }
    set_mode(&token, 0o640);
    let flags = ["--token-file", token.to_str().unwrap()];
    assert_ends("127.0.0.1:1", &flags, 2, &["--token-file", "mode 640", "--allow-open-key-files"]);
    set_mode(&token, 0o600);
    std::fs::write(&token, "short").unwrap();
    assert_ends("127.0.0.1:1", &flags, 2, &["--token-file", "holds no token", "openssl rand -hex 32"]);
}

#[test]
fn names_that_look_like_others_are_refused_at_both_ends() {
    for name in ["N1\u{202e}", "N\u{200b}1", "\u{2066}N1"] {
        let serve = ["serve", "--backend", "null", "--listen", "127.0.0.1:0", "--node", name];
        let refused = std::process::Command::new(binary("sut-node")).args(serve).output().unwrap();
        let message = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(2), "{message}");
        assert!(message.contains("cannot be a node name"), "{message}");
        let peer = lon_tests::peer::Peer::start(lon_tests::peer::Behaviour::good(name));
        assert_ends(&peer.address.to_string(), &[], 4, &["gives the unusable name", "\u{fffd}"]);
    }
}
