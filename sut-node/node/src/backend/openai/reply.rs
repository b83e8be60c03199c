//! One reply to one prompt, from the bytes of the connection to the answer. No socket and no clock.

use bytes::Bytes;

use super::answer::{Completion, ServerAnswer, message_of};
use super::error::PromptFailure;
use super::http::{Head, HttpAnswer};
use super::prompt::Lengths;
use super::sse::SseParser;

/// Bytes of a body that is no stream at most. More are not looked at.
const MAX_BODY_BYTES: usize = 64 << 10;

/// A reply under way.
#[derive(Debug)]
pub(super) struct Reply {
    http: HttpAnswer,
    sse: SseParser,
    answer: ServerAnswer,
    /// The bytes of the body that came last; all of its bytes when it is no stream.
    body: Vec<u8>,
}

/// Progress of a reply by its last bytes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Progress {
    /// The first text of the answer, once.
    pub(super) first: Option<Bytes>,
    /// The end of the answer.
    pub(super) end: Option<Result<Completion, PromptFailure>>,
}

impl Reply {
    /// The reply to a prompt whose answer may have so many tokens.
    pub(super) fn new(tokens: Lengths) -> Reply {
        let (http, sse) = (HttpAnswer::default(), SseParser::default());
        Reply { http, sse, answer: ServerAnswer::new(tokens), body: Vec::new() }
    }

    /// Returns true when the server has begun to answer.
    pub(super) fn has_head(&self) -> bool {
        self.http.head().is_some()
    }

    /// Takes bytes as they came. It must not be called again after an end.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Progress {
        let mut progress = Progress::default();
        match self.read(bytes, &mut progress.first) {
            Ok(false) => {}
            Ok(true) => progress.end = Some(self.finish()),
            Err(failure) => progress.end = Some(Err(failure)),
        }
        progress
    }

    /// The connection was closed.
    pub(super) fn close(&mut self) -> Progress {
        let mut progress = Progress::default();
        progress.end = Some(match self.http.head() {
            None => Err(PromptFailure::NoAnswer),
            Some(head) if !is_stream(head) => self.finish(),
            // A last event may lack its empty line, but nothing is made up where the body itself was cut.
            Some(_) if self.http.may_close() => self.end_events(&mut progress.first).and_then(|()| self.finish()),
            Some(_) => self.finish(),
        });
        progress
    }

    /// Returns the name that the server gives its software; empty when it gives none.
    pub(super) fn server(&self) -> &str {
        self.http.head().map_or("", |head| &head.server)
    }

    /// Feeds the three parts in a row. Whether the answer is over.
    fn read(&mut self, bytes: &[u8], first: &mut Option<Bytes>) -> Result<bool, PromptFailure> {
        self.http.feed(bytes, &mut self.body)?;
        let Some(head) = self.http.head() else { return Ok(false) };
        if !is_stream(head) {
            return Ok(self.http.is_over() || self.body.len() > MAX_BODY_BYTES);
        }
        let Reply { sse, answer, body, .. } = self;
        sse.feed(body, |event| {
            let first_bytes = answer.event(event)?;
            *first = first.take().or(first_bytes);
            Ok::<(), PromptFailure>(())
        })?;
        body.clear();
        if self.http.is_over() {
            self.end_events(first)?;
        }
        Ok(self.http.is_over() || self.answer.is_done())
    }

    fn end_events(&mut self, first: &mut Option<Bytes>) -> Result<(), PromptFailure> {
        let Reply { sse, answer, .. } = self;
        sse.end(|event| {
            let first_bytes = answer.event(event)?;
            *first = first.take().or(first_bytes);
            Ok(())
        })
    }

    fn finish(&mut self) -> Result<Completion, PromptFailure> {
        match self.http.head() {
            Some(head) if head.status != 200 => {
                Err(PromptFailure::Status { status: head.status, message: message_of(&self.body) })
            }
            Some(head) if !is_stream(head) => Err(PromptFailure::NotAStream {
                content_type: head.content_type.clone(),
                message: message_of(&self.body),
            }),
            _ => self.answer.finish(),
        }
    }
}

/// Returns true when the body is a stream of events. Streams come as `text/event-stream`, but also as `text/plain` or
/// without a type. JSON and HTML are messages for people.
fn is_stream(head: &Head) -> bool {
    head.status == 200 && !matches!(head.content_type.as_str(), "application/json" | "text/html")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::stream::Output;

    const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    const ROLE: &str = r#"data: {"choices":[{"delta":{"role":"assistant","content":null}}]}"#;
    const A: &str = r#"data: {"choices":[{"delta":{"content":"é"}}]}"#;
    const STOP: &str = r#"data: {"choices":[{"delta":{},"finish_reason":"length"}]}"#;
    const USAGE: &str = r#"data: {"choices":[],"usage":{"completion_tokens":2}}"#;
    const DONE: &str = "data: [DONE]";

    /// An answer in chunks of these events, without the end of its body.
    fn stream(events: &[&str]) -> String {
        let chunk = |event: &&str| format!("{:x}\r\n{event}\n\n\r\n", event.len() + 2);
        HEAD.to_owned() + &events.iter().map(chunk).collect::<String>()
    }

    /// First text and end of an answer whose connection then closes; the same however its bytes are cut.
    fn read(bytes: &[u8]) -> (Option<Bytes>, Result<Output, PromptFailure>) {
        let read_in = |step: usize| {
            let (mut reply, mut first) = (Reply::new(Lengths::up_to(64)), None);
            let mut take = |progress: Progress| {
                assert!(first.is_none() || progress.first.is_none(), "two firsts");
                first = first.take().or(progress.first);
                progress.end.map(|end| end.map(|completion| completion.output))
            };
            let end = bytes.chunks(step).find_map(|part| take(reply.feed(part)));
            let end = end.or_else(|| take(reply.close()));
            (first, end.expect("an end"))
        };
        let whole = read_in(bytes.len());
        for step in [1, 2, 3, 7, 50] {
            assert_eq!(read_in(step), whole, "in pieces of {step}");
        }
        whole
    }

    fn expect(answer: &str, n_tokens: u64) {
        let bytes = Bytes::from("éé");
        assert_eq!(read(answer.as_bytes()), (Some("é".into()), Ok(Output { bytes, n_tokens })), "{answer}");
    }

    #[test]
    fn an_answer_ends_with_done_with_its_body_or_with_its_connection() {
        let events = [ROLE, A, A, STOP, USAGE];
        let done = stream(&[&events[..], &[DONE]].concat());
        expect(&done, 2);
        expect(&(done + "0\r\n\r\n"), 2);
        expect(&(stream(&events) + "0\r\n\r\n"), 2);
        expect(&stream(&events), 2);
        expect(&(stream(&[": ping", ROLE, A, ": ping", A, STOP]) + "0\r\n\r\n"), 2);
    }

    #[test]
    fn all_of_it_may_come_in_one_piece_and_as_plain_text() {
        let body = [ROLE, A, A, STOP, DONE].join("\r\n\r\n") + "\r\n\r\n";
        for head in ["Content-Type: text/plain; charset=utf-8\r\n", ""] {
            expect(&format!("HTTP/1.1 200 OK\r\n{head}Content-Length: {}\r\n\r\n{body}", body.len()), 2);
            expect(&format!("HTTP/1.0 200 OK\r\n{head}\r\n{body}"), 2);
            expect(&format!("HTTP/1.0 200 OK\r\n{head}\r\n{}", body.trim_end()), 2);
        }
    }

    #[test]
    fn a_stream_that_is_cut_is_no_answer() {
        let first = || Some("é".into());
        assert_eq!(read(stream(&[ROLE, A, A]).as_bytes()), (first(), Err(PromptFailure::Cut { chunks: 2 })));
        assert_eq!(
            read((stream(&[ROLE, A]) + "0\r\n\r\n").as_bytes()),
            (first(), Err(PromptFailure::Cut { chunks: 1 }))
        );
        assert_eq!(read(HEAD.as_bytes()), (None, Err(PromptFailure::Cut { chunks: 0 })));
        assert_eq!(read(b"HTTP/1.1 200 OK\r\nContent-"), (None, Err(PromptFailure::NoAnswer)));
        // The end of an event that lies in the part that is missing must not be made up.
        let cut = stream(&[ROLE, A]) + "ff\r\n" + &STOP[..STOP.len() - 4];
        assert_eq!(read(cut.as_bytes()), (first(), Err(PromptFailure::Cut { chunks: 1 })));
    }

    #[test]
    fn no_text_is_no_answer() {
        let none = |answer: &str| assert_eq!(read(answer.as_bytes()), (None, Err(PromptFailure::Empty)), "{answer}");
        none(&stream(&[DONE]));
        none(&stream(&[ROLE, STOP, USAGE, DONE]));
    }

    #[test]
    fn errors_are_in_the_servers_words() {
        let error = |answer: &str| read(answer.as_bytes()).1.unwrap_err().to_string();
        let body = r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#;
        let head = format!("Content-Type: application/json\r\nContent-Length: {}\r\n\r\n", body.len());
        assert_eq!(error(&format!("HTTP/1.1 503 X\r\n{head}{body}")), "HTTP 503: Loading model");
        assert_eq!(error("HTTP/1.1 500 X\r\n\r\n<h1>oh\nno</h1>"), "HTTP 500: <h1>oh no</h1>");
        assert_eq!(error("HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n"), "HTTP 404: ");
        let whole = error(&format!("HTTP/1.1 200 OK\r\n{head}{body}"));
        assert!(whole.contains("not with a stream") && whole.contains("Loading model"), "{whole}");
        assert_eq!(error(&stream(&[ROLE, A, "data: {\"error\":{\"message\":\"no\"}}"])), "the server says: no");
        for body in [r#"{"detail":"no"}"#, "{\n \"error\": {\n  \"message\": \"no\"\n }\n}\n", "no", "event: x\nno\n\n"]
        {
            for head in ["Content-Type: text/event-stream\r\n", "Content-Type: text/plain\r\n", ""] {
                let head = format!("HTTP/1.1 200 OK\r\n{head}Content-Length: {}\r\n\r\n", body.len());
                assert_eq!(error(&(head + body)), "the server says: no");
            }
        }
        let endless = format!("HTTP/1.1 500 X\r\n\r\n{}", "x".repeat(3 * MAX_BODY_BYTES));
        assert!(error(&endless).len() < 400);
    }
}
