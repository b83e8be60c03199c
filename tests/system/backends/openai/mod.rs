//! The backend `openai`: what a server may do to a client, and what the client makes of it.
//!
//! - `start`: servers that cannot be used, found before the first sample
//! - `node`: a whole SUT node in front of a server, and a LoadGen node in front of that
//! - `tls`: servers of `https://` URLs, and those whose certificate is refused

use std::time::{Duration, Instant};

use bytes::Bytes;
use lon_sut::backend::openai::OpenAiOptions;
use lon_sut::backend::stream::{Event, Output, What};
use lon_sut::backend::{Backend, BackendOptions, BackendSample, Backends, Streamer, TokenOptions};
use lon_sut::tensor::{DType, Tensor};
use lon_tests::chat::{Act, ChatServer, DONE, FINISH, ROLE, cut_stream, models, stream, text, usage, whole};
use lon_tests::prompts::{prompt, streamer};
mod node;
mod start;
mod tls;

const PATIENCE: Duration = Duration::from_secs(300);

/// Silence after which a server counts as hanging. A server that works sends its first words sooner on any machine.
const HANGS_AFTER: Duration = Duration::from_secs(8);

/// A backend in this process.
fn open(server: &ChatServer) -> std::sync::Arc<dyn Backend> {
    open_within(server, PATIENCE)
}

/// The same; a server that says nothing for so long hangs.
fn open_within(server: &ChatServer, server_timeout: Duration) -> std::sync::Arc<dyn Backend> {
    let openai = OpenAiOptions { server_timeout, ..OpenAiOptions::default() };
    let options = BackendOptions { openai, ..BackendOptions::default() };
    Backends::new().open(&server.backend("tiny"), &options).unwrap()
}

/// The first token and the end.
type Answer = (Option<Bytes>, Result<Output, String>);

fn ask(streamer: &mut dyn Streamer, tensors: Vec<Tensor>) -> Answer {
    let sample = BackendSample { tensors, ..BackendSample::default() };
    if let Err(error) = streamer.begin(0, &sample) {
        return (None, Err(error.to_string()));
    }
    let (start, mut events, mut first) = (Instant::now(), Vec::new(), None);
    loop {
        streamer.step(&mut events);
        for Event { slot, what } in events.drain(..) {
            assert_eq!(slot, 0);
            match what {
                What::First(token) => assert_eq!(first.replace(token), None, "two first tokens"),
                What::Done(output) => return (first, Ok(output)),
                What::Failed(error) => return (first, Err(error.to_string())),
            }
        }
        assert!(start.elapsed() < PATIENCE, "a hang");
    }
}

/// The answer to one prompt of a server that does this with it.
fn answer(acts: Vec<Act>) -> Answer {
    let server = ChatServer::start(move |_| acts.clone());
    ask(streamer(open(&server).as_ref()).as_mut(), prompt("a prompt", None))
}

fn expect(acts: Vec<Act>, first: &'static str, text: &'static str, n_tokens: u64) {
    let what = format!("{acts:?}");
    let bytes = Bytes::from_static(text.as_bytes());
    assert_eq!(answer(acts), (Some(first.into()), Ok(Output { bytes, n_tokens })), "{what}");
}

fn expect_failure(acts: Vec<Act>, first: Option<&'static str>, part: &str) {
    assert_failure(answer(acts), first, part);
}

fn assert_failure((token, end): Answer, first: Option<&'static str>, part: &str) {
    let error = end.expect_err("a failure");
    assert!(error.contains(part), "{error}");
    assert_eq!(token, first.map(Into::into), "{error}");
}

#[test]
fn tokens_are_counted_by_the_server_wherever_it_says_so() {
    let (a, b) = (text("a"), text("b"));
    expect(vec![Act::Send(stream(&[ROLE, &a, &b, FINISH, &usage(7), DONE]))], "a", "ab", 7);
    let finish = r#"{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"completion_tokens":9}}"#;
    expect(vec![Act::Send(stream(&[ROLE, &a, &b, finish, DONE]))], "a", "ab", 9);
    let usage_event = r#"{"choices":[{"delta":{"content":""}}],"usage":{"completion_tokens":5}}"#;
    expect(vec![Act::Send(stream(&[&a, &b, FINISH, usage_event, DONE]))], "a", "ab", 5);
    expect(vec![Act::Send(stream(&[ROLE, &a, &b, FINISH, DONE]))], "a", "ab", 2);
}

#[test]
fn a_role_alone_is_no_token_and_with_text_it_is_one() {
    let both = r#"{"choices":[{"delta":{"role":"assistant","content":"Hi"}}]}"#;
    let empty = r#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#;
    expect(vec![Act::Send(stream(&[both, &text("!"), FINISH, DONE]))], "Hi", "Hi!", 2);
    expect(vec![Act::Send(stream(&[empty, &text("é"), FINISH, DONE]))], "é", "é", 1);
    // The role and the first token in one piece, the rest in another.
    let (one, two) = (cut_stream(&[ROLE, &text("a")]), stream(&[&text("b"), FINISH, DONE]));
    let tail = two.split_once("\r\n\r\n").unwrap().1.to_owned();
    expect(vec![Act::Send(one), Act::Send(tail)], "a", "ab", 2);
}

#[test]
fn bytes_come_as_they_please() {
    let events = stream(&[ROLE, &text("où"), &text("…"), FINISH, &usage(2), DONE]);
    expect(vec![Act::Trickle(events)], "où", "où…", 2);
    let body =
        format!(": ping\r\n\r\ndata: {}\r\n\r\n: ping\r\n\r\ndata: {FINISH}\r\n\r\ndata: {DONE}\r\n\r\n", text("a"));
    expect(vec![Act::Send(whole("200 OK", "text/plain; charset=utf-8", &body))], "a", "a", 1);
}

#[test]
fn a_server_that_closes_after_each_reply_loses_nothing() {
    let server = ChatServer::start(|prompt| vec![Act::Send(stream(&[ROLE, &text(prompt), FINISH, &usage(1), DONE]))]);
    let backend = open(&server);
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let mut streamer = streamer(backend.as_ref());
            scope.spawn(move || {
                for number in 0..25 {
                    let text = format!("prompt {worker} {number}");
                    let (_, end) = ask(streamer.as_mut(), prompt(&text, None));
                    assert_eq!(end, Ok(Output { bytes: text.into(), n_tokens: 1 }));
                }
            });
        }
    });
    // And the list of models, and the first prompt of the backend itself.
    assert_eq!(server.requests().len(), 102);
}

#[test]
fn what_ends_too_early_is_a_failure_and_the_next_prompt_is_answered() {
    let server = ChatServer::start(|prompt| {
        let (a, b) = (text("a"), text("b"));
        vec![Act::Send(match prompt {
            "cut" => cut_stream(&[ROLE, &a, &b]),
            "ended" => stream(&[ROLE, &a]),
            "closed" => String::new(),
            "half a head" => "HTTP/1.1 200 OK\r\nContent-Ty".to_owned(),
            "no done" => stream(&[ROLE, &a, FINISH]),
            _ => stream(&[ROLE, &a, &b, FINISH, DONE]),
        })]
    });
    let backend = open(&server);
    let mut streamer = streamer(backend.as_ref());
    let mut end = |text: &str| ask(streamer.as_mut(), prompt(text, None)).1;
    for (text, part) in [
        ("cut", "closed mid-stream, after 2 chunks"),
        ("ended", "closed mid-stream, after 1 chunks"),
        ("closed", "without an answer"),
        ("half a head", "without an answer"),
    ] {
        let error = end(text).expect_err(text);
        assert!(error.contains(part), "{text}: {error}");
        assert_eq!(end("good").unwrap().bytes, "ab", "after {text}");
    }
    assert_eq!(end("no done").unwrap().bytes, "a", "a finish_reason is an end");
}

#[test]
fn an_end_is_told_by_the_server_and_not_by_done_alone() {
    let a = text("a");
    let none = "without a finish_reason and without a count of tokens that agrees";
    expect_failure(vec![Act::Send(stream(&[ROLE, &a, DONE]))], Some("a"), none);
    expect_failure(vec![Act::Send(stream(&[ROLE, &a, r#"{"choices":[]}"#, DONE]))], Some("a"), none);
    expect_failure(vec![Act::Send(stream(&[ROLE, &a, &usage(2), DONE]))], Some("a"), none);
    expect(vec![Act::Send(stream(&[ROLE, &a, &usage(1), DONE]))], "a", "a", 1);
    let overloaded = r#"{"object":"error","message":"overloaded","code":503}"#;
    expect_failure(vec![Act::Send(stream(&[ROLE, &a, overloaded, FINISH, DONE]))], Some("a"), "says: overloaded");
    let refused = r#"{"choices":[{"delta":{"refusal":"I will not"}}]}"#;
    expect_failure(vec![Act::Send(stream(&[ROLE, refused, FINISH, DONE]))], None, "'I will not' as delta.refusal");
    expect_failure(vec![Act::Send(whole("200 OK", "text/event-stream", r#"{"detail":"no"}"#))], None, "says: no");
}

/// vLLM calls them `reasoning`, and others `reasoning_content`. Right: the first token is the first that is generated.
#[test]
fn what_a_model_thinks_begins_its_answer_under_either_name() {
    for name in ["reasoning", "reasoning_content"] {
        let thought = format!(r#"{{"choices":[{{"index":0,"delta":{{"{name}":"hm"}},"finish_reason":null}}]}}"#);
        let letters = ["a", "b", "c", "d"].map(text);
        let [a, b, c, d] = letters.each_ref().map(String::as_str);
        let events = [ROLE, &thought, a, b, c, d, FINISH, &usage(5), DONE];
        expect(vec![Act::Send(stream(&events))], "hm", "hmabcd", 5);
    }
}

#[test]
fn no_text_is_never_a_fast_success() {
    expect_failure(vec![Act::Send(stream(&[DONE]))], None, "without any text");
    expect_failure(vec![Act::Send(stream(&[ROLE, FINISH, &usage(7), DONE]))], None, "without any text");
    expect_failure(vec![Act::Send(whole("200 OK", "text/event-stream", ""))], None, "after 0 chunks");
    expect_failure(vec![Act::Send(whole("200 OK", "application/json", "{}"))], None, "not with a stream");
}

#[test]
fn errors_are_told_in_the_servers_words() {
    let json = r#"{"error":{"message":"out of memory","type":"server_error"}}"#;
    expect_failure(
        vec![Act::Send(whole("500 Internal Server Error", "application/json", json))],
        None,
        "HTTP 500: out of memory",
    );
    let long = "x".repeat(1 << 20);
    let (_, end) = answer(vec![Act::Send(whole("502 Bad Gateway", "text/html", &long))]);
    let error = end.unwrap_err();
    assert!(error.starts_with("HTTP 502: xxx") && error.len() < 400, "{error}");
    expect_failure(vec![Act::Send(stream(&[ROLE, &text("a"), json]))], Some("a"), "the server says: out of memory");
    expect_failure(vec![Act::Send("SSH-2.0-x\r\n".to_owned())], None, "not an HTTP/1.1 answer");
    expect_failure(vec![Act::Send(stream(&["<html>"]))], None, "not a chunk");
}

#[test]
fn a_server_that_hangs_fails_the_sample() {
    let cut_answer = vec![Act::Send(cut_stream(&[ROLE, &text("a")])), Act::Hang];
    for (acts, first) in [(vec![Act::Hang], None), (cut_answer, Some("a"))] {
        let server = ChatServer::start(move |_| acts.clone());
        let backend = open_within(&server, HANGS_AFTER);
        let answer = ask(streamer(backend.as_ref()).as_mut(), prompt("a prompt", None));
        assert_failure(answer, first, "sent nothing for 8s (--server-timeout)");
    }
}

#[test]
fn a_prompt_that_nobody_waits_for_leaves_the_server() {
    let server = ChatServer::start(|prompt| match prompt {
        "slow" => vec![Act::Send(cut_stream(&[ROLE, &text("a")])), Act::Hang],
        _ => vec![Act::Send(stream(&[&text("b"), FINISH, DONE]))],
    });
    let backend = open(&server);
    let mut streamer = streamer(backend.as_ref());
    streamer.begin(0, &BackendSample { tensors: prompt("slow", None), ..BackendSample::default() }).unwrap();
    let (start, mut events) = (Instant::now(), Vec::new());
    while events.is_empty() && start.elapsed() < PATIENCE {
        streamer.step(&mut events);
    }
    assert_eq!(events, [Event { slot: 0, what: What::First("a".into()) }]);
    streamer.cancel(0);
    while server.hangups() == 0 {
        assert!(start.elapsed() < PATIENCE, "the connection stays open");
        std::thread::sleep(Duration::from_millis(5));
    }
    let (first, end) = ask(streamer.as_mut(), prompt("next", None));
    assert_eq!((first, end.unwrap().bytes), (Some("b".into()), Bytes::from("b")));
}

/// Source: vLLM's chat completions, which take `min_tokens` beside `max_tokens`.
#[test]
fn the_least_tokens_of_an_answer_are_asked_for_and_told() {
    let tokens = TokenOptions { min_tokens: 30, ..TokenOptions::default() };
    let options = BackendOptions { tokens, ..BackendOptions::default() };
    let open = |server: &ChatServer| Backends::new().open(&server.backend("tiny"), &options);
    let server = ChatServer::raw(|request| {
        vec![Act::Send(match request.prompt() {
            "" => models(&["tiny"]),
            "short" => stream(&[&text("a"), FINISH, &usage(29), DONE]),
            _ => stream(&[&text("a"), FINISH, &usage(request.body["min_tokens"].as_u64().unwrap()), DONE]),
        })]
    });
    let backend = open(&server).unwrap();
    let setting_of = |name: &str| backend.info().settings.iter().find(|setting| setting.name == name).unwrap().clone();
    assert_eq!((setting_of("min_tokens").value.as_str(), setting_of("min_tokens").shapes_answers), ("30", true));
    let mut streamer = streamer(backend.as_ref());
    for (tensors, least) in [(prompt("one", None), 30), (prompt("two", Some(3)), 3)] {
        assert_eq!(ask(streamer.as_mut(), tensors).1.unwrap().n_tokens, least);
        assert_eq!(server.requests().pop().unwrap().body["min_tokens"], least);
    }
    let error = ask(streamer.as_mut(), prompt("short", None)).1.unwrap_err();
    assert!(error.contains("counts 29 tokens, 30 were asked for at least"), "{error}");
    // One that heeds nothing is found before the first sample: its first answer has one token.
    let heedless = ChatServer::start(|_| Vec::new());
    let error = open(&heedless).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("counts 1 tokens, 8 were asked for at least"), "{error}");
}

#[test]
fn a_sample_says_how_long_its_answer_may_be() {
    let server = ChatServer::start(|_| vec![Act::Send(stream(&[&text("a"), FINISH, DONE]))]);
    let backend = open(&server);
    let mut streamer = streamer(backend.as_ref());
    for (tensors, limit) in [(prompt("one", None), 128), (prompt("two", Some(3)), 3)] {
        ask(streamer.as_mut(), tensors).1.unwrap();
        let request = server.requests().pop().unwrap();
        assert!(request.head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{}", request.head);
        let body = request.body;
        assert_eq!((&body["max_tokens"], &body["temperature"]), (&limit.into(), &0.into()), "{body}");
        assert_eq!((&body["stream"], &body["stream_options"]["include_usage"]), (&true.into(), &true.into()), "{body}");
    }
    assert!(server.requests().iter().all(|request| request.body.get("min_tokens").is_none()), "nobody asks for it");
    let requests = server.requests().len();
    let bytes = Bytes::from_static(&[b'a', 0xff]);
    let (_, end) = ask(streamer.as_mut(), vec![Tensor::new(DType::U8, &[2], bytes).unwrap()]);
    assert_eq!(end, Err("the prompt is not UTF-8 from byte 1 on".to_owned()));
    assert_eq!(server.requests().len(), requests, "what is no prompt is not sent");
}
