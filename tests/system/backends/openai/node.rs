//! A SUT node in front of a chat server, as the other end of the wire sees it, and whole runs.

use std::time::Duration;

use lon_proto::run_identity::RunPass;
use lon_proto::sample;
use lon_proto::v1::dispatch_response::Kind;
use lon_proto::v1::sut_node_client::SutNodeClient;
use lon_proto::v1::{DispatchRequest, DispatchResponse};
use lon_tests::chat::{Act, ChatServer, DONE, FINISH, ROLE, cut_stream, stream, text, usage, whole};
use lon_tests::client;
use lon_tests::process::SutNode;
use lon_tests::prompts::{prompt, run_prompts};
use lon_tests::test_run::TestRun;
use nix::sys::signal::Signal;
use tokio::sync::mpsc;
use tonic::Streaming;
use tonic::transport::Channel;

/// A run of one's own on a node: prompts in, messages out.
pub(super) struct Talk {
    client: SutNodeClient<Channel>,
    pass: RunPass,
    sender: mpsc::Sender<DispatchRequest>,
    answers: Streaming<DispatchResponse>,
}

impl Talk {
    async fn start(mut client: SutNodeClient<Channel>) -> Talk {
        let pass = client::start(&mut client, 1).await.unwrap();
        let (sender, answers) = client::open(&mut client, &pass).await.unwrap();
        Talk { client, pass, sender, answers }
    }

    pub(super) async fn ask(&mut self, id: u64, text: &str) {
        let data = sample::encode(&prompt(text, None)).unwrap();
        let total_len = data.len() as u64;
        self.sender.send(DispatchRequest { id, last: true, total_len, data, ..Default::default() }).await.unwrap();
    }

    /// The next message that says anything.
    pub(super) async fn hear(&mut self) -> DispatchResponse {
        loop {
            let message = self.answers.message().await.unwrap().expect("a message");
            if message.heartbeat.is_none() {
                return message;
            }
        }
    }
}

pub(super) fn talk(node: &SutNode, conversation: impl AsyncFnOnce(Talk)) {
    client::talk(node, async |client| conversation(Talk::start(client).await).await);
}

#[test]
fn the_wire_has_first_and_whole_answer_and_failures_with_their_reason() {
    let server = ChatServer::start(|prompt| {
        vec![Act::Send(match prompt {
            "fail" => whole("500 Internal Server Error", "text/plain", "no memory"),
            "cut" => cut_stream(&[ROLE, &text("a")]),
            _ => stream(&[ROLE, &text("fir"), &text("st"), FINISH, &usage(5), DONE]),
        })]
    });
    let node = SutNode::start("a", &server.backend("tiny"), &[]);
    talk(&node, async |mut talk| {
        talk.ask(1, "good").await;
        let first = talk.hear().await;
        assert_eq!((first.id, first.kind(), &*first.data), (1, Kind::First, &b"fir"[..]));
        let last = talk.hear().await;
        assert_eq!((last.id, last.kind(), &*last.data, last.n_tokens), (1, Kind::Final, &b"first"[..], 5));
        talk.ask(2, "fail").await;
        let failed = talk.hear().await;
        assert_eq!((failed.id, failed.error.as_str()), (2, "HTTP 500: no memory"));
        talk.ask(3, "cut").await;
        assert_eq!(talk.hear().await.kind(), Kind::First);
        let cut = talk.hear().await;
        assert!(cut.id == 3 && cut.error.contains("closed mid-stream"), "{cut:?}");
        talk.ask(4, "good").await;
        assert_eq!(talk.hear().await.kind(), Kind::First);
        assert_eq!(talk.hear().await.n_tokens, 5);
    });
}

#[test]
fn the_end_of_a_run_leaves_a_server_that_hangs() {
    let server = ChatServer::start(|_| vec![Act::Send(cut_stream(&[ROLE, &text("a")])), Act::Hang]);
    let node = SutNode::start("a", &server.backend("tiny"), &["--workers", "2"]);
    talk(&node, async |mut talk| {
        talk.ask(1, "one").await;
        talk.ask(2, "two").await;
        assert_eq!(talk.hear().await.kind(), Kind::First);
        assert_eq!(talk.hear().await.kind(), Kind::First);
        talk.client.end_run(talk.pass.end_run()).await.unwrap();
        while server.hangups() < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    node.signal(Signal::SIGTERM);
    assert_eq!(node.wait(), Some(0));
}

#[test]
fn samples_that_are_no_text_fail_with_a_reason() {
    let server = ChatServer::start(|_| vec![Act::Send(stream(&[&text("a"), FINISH, &usage(1), DONE]))]);
    let node = SutNode::start("a", &server.backend("tiny"), &[]);
    let run = TestRun::new("SingleStream").set("min_query_count=16,max_query_count=16,min_duration=0");
    let (finished, folder) = run.on(&node.address).finish();
    assert_eq!(finished.code, Some(3), "{}", finished.stderr);
    assert!((finished.stdout + &finished.stderr).contains("not UTF-8"));
    folder.assert_complete();
}

#[test]
fn samples_of_other_tensors_are_refused_before_the_run() {
    let server = ChatServer::start(|_| vec![Act::Send(stream(&[&text("a"), FINISH, &usage(1), DONE]))]);
    let node = SutNode::start("a", &server.backend("tiny"), &[]);
    let requests = server.requests().len();
    for dataset in ["synthetic:f32[64]x16", "synthetic:u8[64]+f32[]x16", "synthetic:i64[64]x16"] {
        let (finished, _folder) = TestRun::new("SingleStream").dataset(dataset).on(&node.address).finish();
        assert_eq!(finished.code, Some(2), "{}", finished.stderr);
        assert!(finished.stderr.contains("prompt u8[N,?], max_tokens? i32[N]"), "{}", finished.stderr);
    }
    assert_eq!(server.requests().len(), requests);
}

#[test]
fn a_token_run_over_prompts_is_valid() {
    let server = ChatServer::start(|prompt| {
        vec![Act::Send(stream(&[ROLE, &text(prompt), &text(" So"), &text(" be it."), FINISH, &usage(4), DONE]))]
    });
    let (result, _) = run_prompts(&server.backend("tiny"));
    let requests = server.requests();
    let answered = result["counts"]["completed"].as_u64().unwrap();
    assert_eq!(requests.len() as u64, answered + 2, "one request for each sample");
    assert!(
        requests[2..].iter().all(|request| request.body["max_tokens"] == 12 && request.prompt().starts_with("Tell me"))
    );
}
