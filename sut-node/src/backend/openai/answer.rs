//! The text, the tokens and the end of a streamed chat completion, chunk by chunk. No socket and no clock.
//!
//! Servers differ in all that is not text: the tests say which server sends what.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;

use super::error::Failure;
use super::sse::Event;
use crate::backend::stream::Output;

/// Bytes of an answer's text at most.
const MAX_TEXT_BYTES: usize = 64 << 20;

/// An answer, as far as it came.
#[derive(Debug)]
pub(super) struct Answer {
    /// Most tokens that were asked for.
    max_tokens: u32,
    text: Vec<u8>,
    /// Chunks that brought text, so far.
    chunks: u64,
    /// The server's count, when it sent one. The last count is the one of the whole answer.
    tokens: Option<u64>,
    /// A chunk gave the reason for the end of the answer (`finish_reason`).
    has_reason: bool,
    /// The event `[DONE]` came, which ends the stream.
    is_done: bool,
}

/// A whole answer, and who counted its tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Completion {
    pub(super) output: Output,
    /// The server did not count its tokens: chunks with text were counted instead.
    pub(super) chunks_counted: bool,
}

#[derive(Deserialize)]
struct Chunk {
    choices: Option<Vec<Choice>>,
    usage: Option<Usage>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    delta: Option<Delta>,
    finish_reason: Option<Value>,
}

/// The text of a chunk. What a model thinks before it answers is generated text, too, and some servers keep it apart.
#[derive(Deserialize)]
struct Delta {
    reasoning_content: Option<String>,
    content: Option<String>,
}

#[derive(Deserialize)]
struct Usage {
    completion_tokens: Option<u64>,
}

impl Answer {
    /// An answer of which nothing came, and which may have so many tokens.
    pub(super) fn new(max_tokens: u32) -> Answer {
        Answer { max_tokens, text: Vec::new(), chunks: 0, tokens: None, has_reason: false, is_done: false }
    }

    /// Takes one event. Gives its text when that is the first text of the answer.
    ///
    /// # Errors
    /// The event is an error of the server, or no chunk of an answer.
    pub(super) fn event(&mut self, event: Event<'_>) -> Result<Option<Bytes>, Failure> {
        if self.is_done {
            return Ok(None);
        }
        if event.is_error {
            return Err(Failure::Told(message_of(event.data)));
        }
        if event.data.trim_ascii() == b"[DONE]" {
            self.is_done = true;
            return Ok(None);
        }
        let chunk: Chunk = serde_json::from_slice(event.data)
            .map_err(|error| Failure::NotAChunk { text: shorten(event.data), reason: error.to_string() })?;
        if chunk.error.is_some_and(|error| !error.is_null()) {
            return Err(Failure::Told(message_of(event.data)));
        }
        if let Some(tokens) = chunk.usage.and_then(|usage| usage.completion_tokens) {
            self.tokens = Some(tokens);
        }
        // One answer was asked for, so there is one choice at most; usage alone has none.
        let choice = chunk.choices.into_iter().flatten().next();
        choice.map_or(Ok(None), |choice| self.choice(choice))
    }

    fn choice(&mut self, choice: Choice) -> Result<Option<Bytes>, Failure> {
        match choice.finish_reason {
            None | Some(Value::Null) => {}
            // Some say with every chunk that there is no reason yet.
            Some(Value::String(reason)) if reason.is_empty() => {}
            Some(Value::String(reason)) if matches!(reason.as_str(), "stop" | "length") => self.has_reason = true,
            Some(Value::String(reason)) => return Err(Failure::Stopped(shorten(reason.as_bytes()))),
            Some(other) => return Err(Failure::Stopped(shorten(other.to_string().as_bytes()))),
        }
        let delta = choice.delta.map(|delta| [delta.reasoning_content, delta.content]);
        let before = self.text.len();
        for part in delta.into_iter().flatten().flatten() {
            self.text.extend_from_slice(part.as_bytes());
        }
        if self.text.len() == before {
            return Ok(None);
        }
        if self.text.len() > MAX_TEXT_BYTES {
            return Err(Failure::TooLong(MAX_TEXT_BYTES));
        }
        self.chunks += 1;
        Ok((before == 0).then(|| Bytes::copy_from_slice(&self.text)))
    }

    /// Whether the stream has ended and nothing can follow.
    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    /// Nothing follows: gives the answer.
    ///
    /// # Errors
    /// The answer has no end or no text, or its count of tokens cannot be true.
    pub(super) fn finish(&mut self) -> Result<Completion, Failure> {
        if !self.is_done && !self.has_reason {
            return Err(Failure::Cut { chunks: self.chunks });
        }
        if self.text.is_empty() {
            return Err(Failure::Empty);
        }
        // Tokens are what is measured: a count that cannot be true is not passed on.
        match self.tokens {
            Some(0) => return Err(Failure::NoTokens),
            Some(tokens) if tokens > u64::from(self.max_tokens) => {
                return Err(Failure::TooManyTokens { tokens, asked: self.max_tokens });
            }
            _ => {}
        }
        let n_tokens = self.tokens.unwrap_or(self.chunks);
        let output = Output { bytes: std::mem::take(&mut self.text).into(), n_tokens };
        Ok(Completion { output, chunks_counted: self.tokens.is_none() })
    }
}

/// Characters of a server's words that are passed on at most.
const WORDS: usize = 300;

/// The message in the body of an error, as one line: OpenAI's `{"error": {"message": ...}}`, forms like it, or the
/// text itself.
pub(super) fn message_of(body: &[u8]) -> String {
    let json: Value = serde_json::from_slice(body).unwrap_or_default();
    let at = |pointer: &str| json.pointer(pointer).and_then(Value::as_str);
    let found = ["/error/message", "/error", "/message", "/detail"].into_iter().find_map(at);
    found.map_or_else(|| shorten(body), |text| shorten(text.as_bytes()))
}

/// The beginning of a text from outside, as one line of printable characters.
pub(super) fn shorten(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let mut line: String = text.split_whitespace().collect::<Vec<_>>().join(" ").replace(char::is_control, "?");
    if let Some((at, _)) = line.char_indices().nth(WORDS) {
        line.truncate(at);
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKED: u32 = 64;

    /// First text, whole text, tokens, whether these are chunks.
    fn read(events: &[&str]) -> Result<(String, String, u64, bool), Failure> {
        let (mut answer, mut first) = (Answer::new(ASKED), None);
        for data in events {
            let found = answer.event(Event { data: data.as_bytes(), is_error: false })?;
            assert!(first.is_none() || found.is_none(), "two firsts");
            first = first.or(found);
        }
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let Completion { output, chunks_counted } = answer.finish()?;
        Ok((text(&first.unwrap()), text(&output.bytes), output.n_tokens, chunks_counted))
    }

    fn expect(events: &[&str], first: &str, text: &str, tokens: u64, chunks_counted: bool) {
        assert_eq!(read(events).unwrap(), (first.to_owned(), text.to_owned(), tokens, chunks_counted));
    }

    const ROLE: &str = r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":null},"finish_reason":null}]}"#;
    const A: &str = r#"{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}"#;
    const B: &str = r#"{"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":null}]}"#;
    const STOP: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    const DONE: &str = "[DONE]";

    #[test]
    fn llama_cpp_counts_in_a_chunk_without_choices() {
        let usage = r#"{"choices":[],"usage":{"completion_tokens":7,"prompt_tokens":3,"total_tokens":10}}"#;
        expect(&[ROLE, A, B, STOP, usage, DONE], "a", "ab", 7, false);
    }

    #[test]
    fn llmsim_and_fakeai_count_in_the_chunk_that_finishes() {
        let role = r#"{"choices":[{"delta":{"role":"assistant"}}]}"#;
        let stop = r#"{"choices":[{"delta":{"content":""},"finish_reason":"stop"}],"usage":{"completion_tokens":9}}"#;
        expect(&[role, A, B, stop, DONE], "a", "ab", 9, false);
    }

    #[test]
    fn litellm_begins_with_role_and_text_and_counts_beside_a_choice() {
        let first = r#"{"choices":[{"delta":{"role":"assistant","content":"Hi"}}]}"#;
        let usage = r#"{"choices":[{"index":0,"delta":{}}],"usage":{"completion_tokens":5}}"#;
        expect(&[first, A, STOP, usage, DONE], "Hi", "Hia", 5, false);
    }

    #[test]
    fn the_last_count_is_the_one_that_counts() {
        let usage =
            |n: u64| format!(r#"{{"choices":[{{"delta":{{"content":"x"}}}}],"usage":{{"completion_tokens":{n}}}}}"#);
        expect(&[&usage(1), &usage(2), STOP, DONE], "x", "xx", 2, false);
    }

    #[test]
    fn without_a_count_chunks_with_text_are_counted() {
        expect(&[ROLE, A, A, B, STOP, DONE], "a", "aab", 3, true);
        let none = r#"{"choices":[],"usage":null}"#;
        expect(&[A, STOP, none, DONE], "a", "a", 1, true);
    }

    #[test]
    fn a_count_that_cannot_be_true_is_a_failure() {
        let usage = |n: u64| format!(r#"{{"choices":[],"usage":{{"completion_tokens":{n}}}}}"#);
        let outcome = |n| read(&[A, STOP, &usage(n), DONE]);
        assert_eq!(outcome(u64::from(ASKED)).unwrap().2, u64::from(ASKED));
        assert_eq!(outcome(0), Err(Failure::NoTokens));
        for tokens in [u64::from(ASKED) + 1, 1_000_000, u64::MAX] {
            assert_eq!(outcome(tokens), Err(Failure::TooManyTokens { tokens, asked: ASKED }));
        }
        let error = outcome(1_000_000).unwrap_err().to_string();
        assert!(error.contains("counts 1000000 tokens, 64 were asked for at most"), "{error}");
    }

    #[test]
    fn an_end_that_is_neither_stop_nor_length_is_a_failure() {
        for (reason, named) in [(r#""abort""#, "abort"), (r#""content_filter""#, "content_filter"), ("7", "7")] {
            let end = format!(r#"{{"choices":[{{"delta":{{}},"finish_reason":{reason}}}]}}"#);
            assert_eq!(read(&[A, &end, DONE]), Err(Failure::Stopped(named.to_owned())));
        }
        let not_yet = r#"{"choices":[{"delta":{"content":"a"},"finish_reason":""}]}"#;
        assert_eq!(read(&[not_yet]), Err(Failure::Cut { chunks: 1 }));
    }

    #[test]
    fn a_reason_or_done_ends_an_answer() {
        expect(&[A, DONE], "a", "a", 1, true);
        expect(&[A, STOP], "a", "a", 1, true);
        expect(&[A, DONE, B, "what follows is not read"], "a", "a", 1, true);
        assert_eq!(read(&[ROLE, A]), Err(Failure::Cut { chunks: 1 }));
        assert_eq!(read(&[]), Err(Failure::Cut { chunks: 0 }));
    }

    #[test]
    fn thoughts_are_text() {
        let thought = r#"{"choices":[{"delta":{"reasoning_content":"hm"}}]}"#;
        expect(&[ROLE, thought, A, STOP, DONE], "hm", "hma", 2, true);
    }

    #[test]
    fn no_text_is_no_answer() {
        let usage = r#"{"choices":[],"usage":{"completion_tokens":7}}"#;
        for events in [&[DONE][..], &[ROLE, STOP, DONE], &[ROLE, STOP, usage, DONE], &[r#"{"choices":null}"#, DONE]] {
            assert_eq!(read(events), Err(Failure::Empty));
        }
    }

    #[test]
    fn errors_are_passed_on() {
        let told = |text: &str| Err(Failure::Told(text.to_owned()));
        assert_eq!(read(&[A, r#"{"error":{"code":500,"message":"out of\n slots"}}"#]), told("out of slots"));
        assert_eq!(read(&[A, r#"{"error":"no"}"#]), told("no"));
        let mut answer = Answer::new(ASKED);
        let outcome = answer.event(Event { data: br#"{"message":"bad"}"#, is_error: true });
        assert_eq!(outcome, Err(Failure::Told("bad".to_owned())));
        let error = read(&["<html>"]).unwrap_err().to_string();
        assert!(error.contains("<html>"), "{error}");
    }

    #[test]
    fn words_are_bounded() {
        assert_eq!(message_of(br#"{"detail":"nothing here"}"#), "nothing here");
        assert_eq!(message_of(b"plain\r\n\x1b[31mtext"), "plain ?[31mtext");
        let long = shorten("é".repeat(5000).as_bytes());
        assert_eq!(long.chars().count(), WORDS + 1);
    }
}
