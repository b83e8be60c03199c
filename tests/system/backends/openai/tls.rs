//! Servers of `https://` URLs: verified by the CA of `--server-ca`, by that alone, and for the name in the URL.

use lon_net::throwaway::Throwaway;
use lon_proto::v1::dispatch_response::Kind;
use lon_tests::chat::{Act, ChatServer, DONE, FINISH, ROLE, cut_stream, stream, text, usage};
use lon_tests::process::SutNode;
use tempfile::TempDir;

use super::node::talk;
use super::start::describe;

/// A server with a certificate for these names, and the file with the CA that signed it.
struct Secured {
    server: ChatServer,
    folder: TempDir,
}

impl Secured {
    fn start(names: &[&str]) -> Secured {
        let certificate = Throwaway::new(names).unwrap();
        let folder = tempfile::tempdir().unwrap();
        certificate.write(folder.path()).unwrap();
        let server = ChatServer::start_tls(&certificate, |prompt| {
            vec![Act::Send(match prompt {
                "cut" => cut_stream(&[ROLE, &text("a")]),
                prompt => stream(&[ROLE, &text("You said: "), &text(prompt), FINISH, &usage(5), DONE]),
            })]
        });
        Secured { server, folder }
    }

    fn ca(&self) -> String {
        self.folder.path().join("ca.pem").to_str().unwrap().to_owned()
    }
}

/// The node does not start, and says this.
fn refused(backend: &str, arguments: &[&str], parts: &[&str]) {
    let output = describe(backend, arguments, None);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    let line = stderr.lines().last().unwrap_or_default();
    for part in parts {
        assert!(line.starts_with("sut-node: ") && line.contains(part), "{part}: {stderr}");
    }
}

#[test]
fn a_node_asks_a_server_inside_tls() {
    let secured = Secured::start(&["127.0.0.1"]);
    let node = SutNode::start("a", &secured.server.backend("tiny"), &["--server-ca", &secured.ca()]);
    // More than one record of TLS, both ways.
    let long = "x".repeat(100_000);
    talk(&node, async |mut talk| {
        talk.ask(1, &long).await;
        let first = talk.hear().await;
        assert_eq!((first.id, first.kind(), &*first.data), (1, Kind::First, &b"You said: "[..]));
        let last = talk.hear().await;
        assert_eq!((last.id, last.kind(), last.n_tokens), (1, Kind::Final, 5));
        assert_eq!(last.data, format!("You said: {long}"));
        talk.ask(2, "cut").await;
        assert_eq!(talk.hear().await.kind(), Kind::First);
        let cut = talk.hear().await;
        assert!(cut.id == 2 && cut.error.contains("closed mid-stream"), "{cut:?}");
        talk.ask(3, "good").await;
        assert_eq!(talk.hear().await.kind(), Kind::First);
        assert_eq!(talk.hear().await.data, "You said: good");
    });
    let output = describe(&secured.server.backend("tiny"), &["--server-ca", &secured.ca()], None);
    let stdout = String::from_utf8(output.stdout).unwrap();
    let engine = format!("\"openai (https://{}, scripted)\"", secured.server.address);
    assert!(stdout.contains(&engine), "{stdout}");
}

#[test]
fn a_certificate_of_another_ca_or_for_another_name_is_refused() {
    let secured = Secured::start(&["127.0.0.1"]);
    let other = Secured::start(&["other.example"]);
    let wrong_ca = ["--server-ca", &other.ca()];
    refused(&secured.server.backend("tiny"), &wrong_ca, &["certificate", "--server-ca must be the CA that signed"]);
    let right_ca = ["--server-ca", &other.ca()];
    refused(&other.server.backend("tiny"), &right_ca, &["certificate", "a name that is in the server's certificate"]);
    assert!(secured.server.requests().is_empty() && other.server.requests().is_empty(), "nothing is sent before");
}

#[test]
fn tls_on_one_side_alone_is_told() {
    let plain = ChatServer::start(|_| vec![Act::Send(stream(&[&text("a"), FINISH, DONE]))]);
    let secured = Secured::start(&["127.0.0.1"]);
    let asks_for_tls = format!("openai:https://{}/tiny", plain.address);
    refused(&asks_for_tls, &[], &["needs --server-ca", "/etc/ssl/certs/ca-certificates.crt"]);
    let arguments = ["--server-ca", &secured.ca(), "--server-timeout", "8s"];
    refused(&asks_for_tls, &arguments, &["cannot be reached by TLS"]);
    refused(&plain.backend("tiny"), &arguments, &["plain text", "--server-ca is for https://"]);
    let asks_plainly = format!("openai:http://{}/tiny", secured.server.address);
    refused(&asks_plainly, &["--server-timeout", "8s"], &["is no server that can be asked"]);
}
