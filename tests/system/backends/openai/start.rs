//! Servers that cannot be used are found at the start, with an error that says what to do.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output};

use lon_tests::chat::{Act, ChatServer, DONE, FINISH, models, stream, text, usage, whole};
use lon_tests::process::{Closed, binary};

/// Returns the output of `sut-node describe`, which opens the backend and nothing else.
pub(super) fn describe(backend: &str, more: &[&str], key: Option<&str>) -> Output {
    let mut command = Command::new(binary("sut-node"));
    command.args(["describe", "--node", "N1", "--backend", backend]).args(more).env_remove("OPENAI_API_KEY");
    if let Some(key) = key {
        command.env("OPENAI_API_KEY", key);
    }
    command.output().unwrap()
}

/// The one line of an error, with exit code 2.
fn refused(backend: &str, parts: &[&str]) {
    let output = describe(backend, &["--server-timeout", "300s"], None);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    let line = stderr.lines().last().unwrap_or_default();
    for part in parts {
        assert!(line.starts_with("sut-node: ") && line.contains(part), "{part}: {stderr}");
    }
}

/// A server with these models whose answer to any prompt is this.
fn server(list: String, answer: String) -> ChatServer {
    ChatServer::raw(move |request| {
        let answer = if request.head.starts_with("GET /v1/models ") { &list } else { &answer };
        vec![Act::Send(answer.clone())]
    })
}

fn good() -> String {
    stream(&[&text("Hi"), FINISH, &usage(1), DONE])
}

#[test]
fn a_wrong_url_is_told() {
    refused("openai:127.0.0.1:8080/tiny", &["does not begin with http://"]);
    refused("openai:https://127.0.0.1/tiny", &["https"]);
    refused("openai:http://127.0.0.1:8080", &["names no model"]);
    // An address for documentation, which leads nowhere: nothing may be sent there.
    refused("openai:http://192.0.2.7:8080/tiny", &["http://192.0.2.7:8080", "plain text", "https://", "--insecure"]);
    refused("openai:http://no-such-host.invalid/tiny", &["no-such-host.invalid", "has no address"]);
    let closed = Closed::new();
    refused(&format!("openai:http://{}/tiny", closed.address), &[&closed.address, "refused", "correct the URL"]);
}

#[test]
fn a_server_that_is_not_ready_is_told() {
    let loading = whole("503 Service Unavailable", "application/json", r#"{"error":{"message":"Loading model"}}"#);
    let not_ready = server(loading.clone(), good());
    refused(&not_ready.backend("tiny"), &["is not ready", "HTTP 503", "Loading model"]);
    let later = server(models(&["tiny"]), loading);
    refused(&later.backend("tiny"), &["does not answer a first prompt", "HTTP 503", "Loading model"]);
}

#[test]
fn a_model_that_is_not_there_is_told_with_those_that_are() {
    let server = server(models(&["tiny", "org/large"]), good());
    refused(&server.backend("huge"), &["no model 'huge'", "'tiny'", "'org/large'"]);
    assert_eq!(describe(&server.backend("org/large"), &[], None).status.code(), Some(0));
}

#[test]
fn what_is_no_such_server_is_told() {
    let page = server(whole("200 OK", "text/html", "<html>Welcome</html>"), good());
    refused(&page.backend("tiny"), &["not a list of models", "Welcome"]);
    let no_chat = server(models(&["tiny"]), whole("404 Not Found", "application/json", r#"{"detail":"Not Found"}"#));
    refused(&no_chat.backend("tiny"), &["does not answer a first prompt", "HTTP 404: Not Found"]);
    let no_stream = server(models(&["tiny"]), whole("200 OK", "application/json", r#"{"choices":[]}"#));
    refused(&no_stream.backend("tiny"), &["does not answer a first prompt", "not with a stream"]);
}

#[test]
fn a_server_without_a_list_is_taken_with_a_warning() {
    let server = server(whole("404 Not Found", "text/plain", "no"), good());
    let output = describe(&server.backend("anything"), &[], None);
    let (stdout, stderr) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("the model is not checked") && stderr.contains("anything"), "{stderr}");
    assert!(stdout.contains("anything"), "{stdout}");
}

#[test]
fn who_counts_is_said() {
    let counts = server(models(&["tiny"]), good());
    let output = describe(&counts.backend("tiny"), &[], None);
    let engine = format!("\"openai (http://{}, scripted)\"", counts.address);
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(stdout.contains(&engine), "{stdout}");
    let silent = server(models(&["tiny"]), stream(&[&text("Hi"), FINISH, DONE]));
    let output = describe(&silent.backend("tiny"), &[], None);
    let (stdout, stderr) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(stdout.contains("scripted, tokens counted as chunks)"), "{stdout}");
    assert!(stderr.contains("tokens counted as chunks"), "{stderr}");
}

#[test]
fn a_key_reaches_the_server_and_no_log() {
    let server = ChatServer::raw(|request| {
        let is_known = request.head.contains("\r\nAuthorization: Bearer sk-secret\r\n");
        vec![Act::Send(match (is_known, request.head.starts_with("GET ")) {
            (false, _) => whole("401 Unauthorized", "application/json", r#"{"error":{"message":"no key"}}"#),
            (true, true) => models(&["tiny"]),
            (true, false) => good(),
        })]
    });
    refused(&server.backend("tiny"), &["HTTP 401", "no key", "--api-key-file", "OPENAI_API_KEY"]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    std::fs::write(&path, "sk-secret\n").unwrap();
    let file = ["--api-key-file", path.to_str().unwrap()];
    let mode = |mode| std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    mode(0o644);
    let stderr = String::from_utf8(describe(&server.backend("tiny"), &file, None).stderr).unwrap();
    assert!(stderr.contains("mode 644") && stderr.contains("--allow-open-key-files"), "{stderr}");
    mode(0o600);
    for output in [
        describe(&server.backend("tiny"), &file, Some("sk-other")),
        describe(&server.backend("tiny"), &[], Some("sk-secret")),
    ] {
        let streams = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert_eq!(output.status.code(), Some(0), "{streams}");
        assert!(!streams.contains("secret"), "{streams}");
    }
    let output = describe(&server.backend("tiny"), &["--api-key-file", "/no/such/key"], None);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && stderr.contains("/no/such/key"), "{stderr}");
}
