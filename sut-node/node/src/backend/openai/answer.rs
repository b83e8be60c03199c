//! The text, the tokens and the end of a streamed chat completion, chunk by chunk. No socket and no clock.
//!
//! Servers differ in all that is not text: the tests say which server sends what. So nothing is taken for granted:
//!
//! - *End.* An answer is whole when the server says why it ended, with a reason that is an end, or when its own count,
//!   given behind the last text, is the number of chunks that came. `[DONE]` alone is none: servers send it behind a
//!   failure, too.
//! - *Failures.* What a chunk says besides choices and a count is an error of the server's.
//! - *Text.* What a model thinks before it answers is generated text. Text in other parts (`refusal`, `tool_calls`) is
//!   no answer to a prompt; a chunk with nothing else is a failure.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::error::PromptFailure;
use super::prompt::Lengths;
use super::sse::Event;
use crate::backend::stream::Output;
use crate::backend_files::is_hidden;

/// Bytes of an answer's text at most.
const MAX_TEXT_BYTES: usize = 64 << 20;

/// Reasons that are the end of an answer: OpenAI's, and those of text-generation-inference and of Together.
const ENDS: [&str; 5] = ["stop", "length", "eos_token", "stop_sequence", "eos"];

/// The parts of a delta with text, in their order. vLLM and others send thoughts under both names at once.
const THOUGHTS: [&str; 2] = ["reasoning_content", "reasoning"];
const CONTENT: &str = "content";

/// An answer, as far as it came.
#[derive(Debug)]
pub(super) struct ServerAnswer {
    /// Limits on the number of tokens, as the request has them.
    lengths: Lengths,
    text: Vec<u8>,
    /// Chunks that brought text, so far.
    chunks: u64,
    /// The server's count, when it sent one. The last count is the one of the whole answer.
    tokens: Option<u64>,
    /// The count came behind all text so far. One beside text is of what came up to there.
    is_counted: bool,
    /// The last text, or what came behind it, had the reason for the end of the answer (`finish_reason`).
    has_reason: bool,
    /// The event `[DONE]` came, which ends the stream.
    is_done: bool,
    /// A part with text that stood beside the answer's own and is not known.
    unread: Option<String>,
}

/// A whole answer, and who counted its tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Completion {
    pub(super) output: Output,
    /// The server did not count its tokens: chunks with text were counted instead.
    pub(super) chunks_counted: bool,
    /// A part of a chunk whose text was left out.
    pub(super) unread: Option<String>,
}

/// A chunk, and where servers put errors.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Chunk {
    choices: Option<Vec<Choice>>,
    usage: Option<Usage>,
    error: Value,
    errors: Value,
    detail: Value,
    message: Value,
    code: Value,
    object: Value,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Choice {
    index: u64,
    delta: Option<Map<String, Value>>,
    finish_reason: Value,
    error: Value,
    /// Field that stands for a delta in whole answers, and in completions that are no chats.
    message: Value,
    text: Value,
}

#[derive(Deserialize)]
struct Usage {
    completion_tokens: Option<u64>,
}

impl Chunk {
    /// Returns true when the chunk reports an error. A message may also report success, with a code of 0.
    fn is_error(&self) -> bool {
        let is_failed = self.choices.as_ref().is_none_or(Vec::is_empty) || says(&self.code);
        [&self.error, &self.errors, &self.detail].into_iter().any(says)
            || self.object == "error"
            || (says(&self.message) && is_failed)
    }
}

impl ServerAnswer {
    /// An answer of which nothing came, and which may have so many tokens.
    pub(super) fn new(lengths: Lengths) -> ServerAnswer {
        ServerAnswer {
            lengths,
            text: Vec::new(),
            chunks: 0,
            tokens: None,
            is_counted: false,
            has_reason: false,
            is_done: false,
            unread: None,
        }
    }

    /// Takes one event. Gives its text when that is the first text of the answer.
    ///
    /// # Errors
    /// The event is an error of the server, or no chunk of an answer.
    pub(super) fn event(&mut self, event: Event<'_>) -> Result<Option<Bytes>, PromptFailure> {
        if self.is_done {
            return Ok(None);
        }
        if event.is_error {
            let body = if event.data.is_empty() { &b"error"[..] } else { event.data };
            return Err(PromptFailure::ServerError(message_of(body)));
        }
        if event.data.trim_ascii() == b"[DONE]" {
            self.is_done = true;
            return Ok(None);
        }
        let no_chunk = |reason: String| PromptFailure::NotAChunk { text: shorten(event.data), reason };
        let chunk: Chunk = serde_json::from_slice(event.data).map_err(|error| no_chunk(error.to_string()))?;
        if chunk.is_error() || chunk.choices.iter().flatten().any(|choice| says(&choice.error)) {
            return Err(PromptFailure::ServerError(message_of(event.data)));
        }
        let choices = match (chunk.choices, &chunk.usage) {
            (None, None) => return Err(no_chunk("it has no choices".to_owned())),
            (choices, _) => choices.unwrap_or_default(),
        };
        // One answer was asked for, so there is one choice at most; usage alone has none.
        if choices.len() > 1 || choices.iter().any(|choice| choice.index > 0) {
            return Err(no_chunk("it is of another answer than the one that was asked for".to_owned()));
        }
        let (text_before, chunks_before) = (self.text.len(), self.chunks);
        choices.into_iter().try_for_each(|choice| self.choice(choice))?;
        let has_text = self.chunks > chunks_before;
        match chunk.usage.and_then(|usage| usage.completion_tokens) {
            Some(tokens) => (self.tokens, self.is_counted) = (Some(tokens), !has_text),
            None => self.is_counted &= !has_text,
        }
        Ok((has_text && text_before == 0).then(|| Bytes::copy_from_slice(&self.text)))
    }

    fn choice(&mut self, choice: Choice) -> Result<(), PromptFailure> {
        let mut delta = choice.delta.unwrap_or_default();
        let before = self.text.len();
        for part in text_of(&mut delta)? {
            self.text.extend_from_slice(part.as_bytes());
        }
        if self.text.len() > MAX_TEXT_BYTES {
            return Err(PromptFailure::TooLong(MAX_TEXT_BYTES));
        }
        let has_text = self.text.len() > before;
        self.chunks += u64::from(has_text);
        let others = delta.iter().map(|(name, value)| (format!("delta.{name}"), value));
        let others = others.chain([("message".to_owned(), &choice.message), ("text".to_owned(), &choice.text)]);
        if let Some((part, value)) = others.into_iter().find(|(_, value)| has_words(value)) {
            match has_text {
                true => self.unread = Some(shorten(part.as_bytes())),
                false => {
                    let text = shorten(value.as_str().map_or_else(|| value.to_string(), str::to_owned).as_bytes());
                    return Err(PromptFailure::Unread { part: shorten(part.as_bytes()), text });
                }
            }
        }
        match ended(&choice.finish_reason)? {
            true => self.has_reason = true,
            false => self.has_reason &= !has_text,
        }
        Ok(())
    }

    /// Returns true when the stream has ended and nothing can follow.
    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    /// Nothing follows: gives the answer.
    ///
    /// # Errors
    /// The answer has no end or no text, or its count of tokens cannot be true.
    pub(super) fn finish(&mut self) -> Result<Completion, PromptFailure> {
        let is_whole = self.has_reason || (self.is_counted && self.tokens == Some(self.chunks));
        if !self.is_done && !is_whole {
            return Err(PromptFailure::Cut { chunks: self.chunks });
        }
        if self.text.is_empty() {
            return Err(PromptFailure::Empty);
        }
        if !is_whole {
            return Err(PromptFailure::Unfinished { chunks: self.chunks });
        }
        // Tokens are what is measured: a count that cannot be true is not passed on.
        match self.tokens {
            Some(0) => return Err(PromptFailure::NoTokens),
            Some(tokens) if tokens > u64::from(self.lengths.most) => {
                return Err(PromptFailure::TooManyTokens { tokens, limit: self.lengths.most });
            }
            Some(tokens) if tokens < u64::from(self.lengths.least) => {
                return Err(PromptFailure::TooFewTokens { tokens, limit: self.lengths.least });
            }
            _ => {}
        }
        let n_tokens = self.tokens.unwrap_or(self.chunks);
        let output = Output { bytes: std::mem::take(&mut self.text).into(), n_tokens };
        Ok(Completion { output, chunks_counted: self.tokens.is_none(), unread: self.unread.take() })
    }
}

/// Takes the parts with text out of a delta: what the model thinks, once, and what it answers. The rest stays.
fn text_of(delta: &mut Map<String, Value>) -> Result<[String; 3], PromptFailure> {
    delta.remove("role");
    let mut part = |name: &str| match delta.remove(name) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text),
        Some(other) => {
            let (part, text) = (format!("delta.{name}"), shorten(other.to_string().as_bytes()));
            Err(PromptFailure::Unread { part, text })
        }
    };
    let [one, other] = THOUGHTS.map(&mut part);
    let (one, other, content) = (one?, other?, part(CONTENT)?);
    let other = if one == other { String::new() } else { other };
    Ok([one, other, content])
}

/// Returns true when this is the reason for the end of an answer.
///
/// # Errors
/// It is the reason for another end.
fn ended(reason: &Value) -> Result<bool, PromptFailure> {
    match reason {
        Value::Null => Ok(false),
        // Some say with every chunk that there is no reason yet.
        Value::String(reason) if reason.is_empty() => Ok(false),
        Value::String(reason) if ENDS.contains(&reason.as_str()) => Ok(true),
        Value::String(reason) => Err(PromptFailure::Stopped(shorten(reason.as_bytes()))),
        other => Err(PromptFailure::Stopped(shorten(other.to_string().as_bytes()))),
    }
}

/// Returns true when a field says anything.
fn says(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(is_so) => *is_so,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(values) => !values.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
    }
}

/// Returns true when the value holds text, however deep.
fn has_words(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.is_empty(),
        Value::Array(values) => values.iter().any(has_words),
        Value::Object(fields) => fields.values().any(has_words),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Characters of a server's words that are passed on at most.
const WORDS: usize = 300;

/// The message in the body of an error, as one line: OpenAI's `{"error": {"message": ...}}`, forms like it, or the
/// text itself.
pub(super) fn message_of(body: &[u8]) -> String {
    let json: Value = serde_json::from_slice(body).unwrap_or_default();
    let at = |pointer: &str| json.pointer(pointer).and_then(Value::as_str);
    let places = ["/error/message", "/error", "/errors/0/message", "/message", "/detail", "/choices/0/error/message"];
    let message = places.into_iter().find_map(at).filter(|text| !text.is_empty());
    message.map_or_else(|| shorten(body), |text| shorten(text.as_bytes()))
}

/// The beginning of a text from outside, as one line of printable characters.
pub(super) fn shorten(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let mut line: String = text.split_whitespace().collect::<Vec<_>>().join(" ").replace(is_hidden, "?");
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
    fn read(events: &[&str]) -> Result<(String, String, u64, bool), PromptFailure> {
        let (mut answer, mut first) = (ServerAnswer::new(Lengths::up_to(ASKED)), None);
        for data in events {
            let first_bytes = answer.event(Event { data: data.as_bytes(), is_error: false })?;
            assert!(first.is_none() || first_bytes.is_none(), "two firsts");
            first = first.or(first_bytes);
        }
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let Completion { output, chunks_counted, .. } = answer.finish()?;
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
        assert_eq!(outcome(0), Err(PromptFailure::NoTokens));
        for tokens in [u64::from(ASKED) + 1, 1_000_000, u64::MAX] {
            assert_eq!(outcome(tokens), Err(PromptFailure::TooManyTokens { tokens, limit: ASKED }));
        }
        let error = outcome(1_000_000).unwrap_err().to_string();
        assert!(error.contains("counts 1000000 tokens, 64 were asked for at most"), "{error}");
    }

    #[test]
    fn an_answer_of_too_few_tokens_is_a_failure_where_the_server_counts_them() {
        let of = |tokens: Option<u64>| {
            let usage = tokens.map(|n| format!(r#"{{"choices":[],"usage":{{"completion_tokens":{n}}}}}"#));
            let mut answer = ServerAnswer::new(Lengths { least: 3, most: 64 });
            for data in [Some(A), Some(STOP), usage.as_deref(), Some(DONE)].into_iter().flatten() {
                answer.event(Event { data: data.as_bytes(), is_error: false }).unwrap();
            }
            answer.finish().map(|completion| completion.output.n_tokens)
        };
        assert_eq!(of(Some(3)), Ok(3));
        assert_eq!(of(Some(2)), Err(PromptFailure::TooFewTokens { tokens: 2, limit: 3 }));
        assert_eq!(of(None), Ok(1), "a chunk may have several");
    }

    #[test]
    fn an_end_that_is_neither_stop_nor_length_is_a_failure() {
        for (reason, named) in [(r#""abort""#, "abort"), (r#""content_filter""#, "content_filter"), ("7", "7")] {
            let end = format!(r#"{{"choices":[{{"delta":{{}},"finish_reason":{reason}}}]}}"#);
            assert_eq!(read(&[A, &end, DONE]), Err(PromptFailure::Stopped(named.to_owned())));
        }
        let not_yet = r#"{"choices":[{"delta":{"content":"a"},"finish_reason":""}]}"#;
        assert_eq!(read(&[not_yet]), Err(PromptFailure::Cut { chunks: 1 }));
    }

    #[test]
    fn a_reason_ends_an_answer_and_nothing_behind_done_is_read() {
        expect(&[A, STOP], "a", "a", 1, true);
        expect(&[A, STOP, DONE, B, "what follows is not read"], "a", "a", 1, true);
        for reason in ENDS {
            let end = format!(r#"{{"choices":[{{"delta":{{"content":"b"}},"finish_reason":"{reason}"}}]}}"#);
            expect(&[A, &end, DONE], "a", "ab", 2, true);
        }
        // A reason before the last text is not that of the end.
        assert_eq!(read(&[A, STOP, B, DONE]), Err(PromptFailure::Unfinished { chunks: 2 }));
        assert_eq!(read(&[A, STOP, B]), Err(PromptFailure::Cut { chunks: 2 }));
        assert_eq!(read(&[ROLE, A]), Err(PromptFailure::Cut { chunks: 1 }));
        assert_eq!(read(&[]), Err(PromptFailure::Cut { chunks: 0 }));
    }

    #[test]
    fn done_alone_is_no_end() {
        assert_eq!(read(&[A, DONE]), Err(PromptFailure::Unfinished { chunks: 1 }));
        assert_eq!(read(&[A, r#"{"choices":[]}"#, DONE]), Err(PromptFailure::Unfinished { chunks: 1 }));
        assert_eq!(read(&[A, r#"{"choices":[]}"#]), Err(PromptFailure::Cut { chunks: 1 }));
    }

    #[test]
    fn a_count_behind_the_text_that_agrees_with_it_is_an_end() {
        let usage = |n: u64| format!(r#"{{"choices":[],"usage":{{"completion_tokens":{n}}}}}"#);
        expect(&[A, B, &usage(2), DONE], "a", "ab", 2, false);
        expect(&[A, B, &usage(2)], "a", "ab", 2, false);
        assert_eq!(read(&[A, B, &usage(3), DONE]), Err(PromptFailure::Unfinished { chunks: 2 }));
        assert_eq!(
            read(&[A, &usage(1), B, DONE]),
            Err(PromptFailure::Unfinished { chunks: 2 }),
            "a count of the first half"
        );
        // As vLLM counts with every chunk, where it is asked to.
        let chunk =
            |n: u64| format!(r#"{{"choices":[{{"delta":{{"content":"x"}}}}],"usage":{{"completion_tokens":{n}}}}}"#);
        assert_eq!(read(&[&chunk(1), &chunk(2), DONE]), Err(PromptFailure::Unfinished { chunks: 2 }));
    }

    #[test]
    fn thoughts_are_text_under_either_name() {
        let delta = |parts: &str| format!(r#"{{"choices":[{{"delta":{{{parts}}}}}]}}"#);
        for thought in [
            r#""reasoning_content":"hm""#,
            r#""reasoning":"hm""#,
            r#""reasoning":"hm","reasoning_content":"hm","content":null"#,
        ] {
            expect(&[ROLE, &delta(thought), A, STOP, DONE], "hm", "hma", 2, true);
        }
        let both = delta(r#""content":"a","reasoning":"hm""#);
        expect(&[ROLE, &both, STOP, DONE], "hma", "hma", 1, true);
    }

    #[test]
    fn text_in_other_parts_is_no_answer_and_is_named() {
        for (choice, part, text) in [
            (r#""delta":{"refusal":"I will\nnot"}"#, "delta.refusal", "I will not"),
            (r#""delta":{"content":"","thinking":"hm"}"#, "delta.thinking", "hm"),
            (r#""delta":{"tool_calls":[{"id":"x"}]}"#, "delta.tool_calls", r#"[{"id":"x"}]"#),
            (r#""delta":{"content":[{"text":"a"}]}"#, "delta.content", r#"[{"text":"a"}]"#),
            (r#""message":{"content":"a"},"finish_reason":"stop""#, "message", r#"{"content":"a"}"#),
            (r#""text":"a","finish_reason":"stop""#, "text", "a"),
        ] {
            let event = format!(r#"{{"choices":[{{{choice}}}]}}"#);
            let failure = PromptFailure::Unread { part: part.to_owned(), text: text.to_owned() };
            assert_eq!(read(&[A, &event, STOP, DONE]), Err(failure), "{event}");
        }
        let empty = r#"{"choices":[{"delta":{"content":"b","refusal":null,"tool_calls":[],"token_id":7,"x":""}}]}"#;
        expect(&[A, empty, STOP, DONE], "a", "ab", 2, true);
        // Beside the answer's own text it is left out, and said.
        let mut answer = ServerAnswer::new(Lengths::up_to(ASKED));
        for data in [r#"{"choices":[{"delta":{"content":"a","kind":"text"}}]}"#, STOP] {
            answer.event(Event { data: data.as_bytes(), is_error: false }).unwrap();
        }
        assert_eq!(answer.finish().unwrap().unread.as_deref(), Some("delta.kind"));
    }

    #[test]
    fn one_answer_was_asked_for() {
        let other = r#"{"choices":[{"index":1,"delta":{"content":"a"}}]}"#;
        let two = r#"{"choices":[{"index":0,"delta":{"content":"a"}},{"index":0,"delta":{"content":"b"}}]}"#;
        for event in [other, two] {
            assert!(matches!(read(&[A, event, STOP, DONE]), Err(PromptFailure::NotAChunk { .. })), "{event}");
        }
    }

    #[test]
    fn no_text_is_no_answer() {
        let usage = r#"{"choices":[],"usage":{"completion_tokens":7}}"#;
        for events in [&[DONE][..], &[ROLE, STOP, DONE], &[ROLE, STOP, usage, DONE]] {
            assert_eq!(read(events), Err(PromptFailure::Empty));
        }
    }

    #[test]
    fn errors_are_passed_on() {
        let failure_of = |text: &str| Err(PromptFailure::ServerError(text.to_owned()));
        assert_eq!(read(&[A, r#"{"error":{"code":500,"message":"out of\n slots"}}"#]), failure_of("out of slots"));
        for error_event in [
            r#"{"error":"no"}"#,
            r#"{"error":"no","error_type":"overloaded"}"#,
            r#"{"choices":[],"error":{"message":"no"}}"#,
            r#"{"object":"error","message":"no","code":400}"#,
            r#"{"message":"no","code":503}"#,
            r#"{"message":"no"}"#,
            r#"{"choices":[],"message":"no"}"#,
            r#"{"choices":[{"delta":{}}],"message":"no","code":"x"}"#,
            r#"{"detail":"no"}"#,
            r#"{"errors":[{"message":"no"}],"success":false}"#,
            r#"{"choices":[{"delta":{},"error":{"message":"no"},"finish_reason":"stop"}]}"#,
        ] {
            assert_eq!(read(&[A, error_event, STOP, DONE]), failure_of("no"), "{error_event}");
            assert_eq!(read(&[A, STOP, error_event, DONE]), failure_of("no"), "{error_event}");
        }
        let well = r#"{"code":0,"message":"Success","error":null,"choices":[{"delta":{"content":"b"}}]}"#;
        expect(&[A, well, STOP, DONE], "a", "ab", 2, true);
        for odd in ["{}", r#"{"choices":null}"#, r#"{"status":"overloaded"}"#] {
            let failure = PromptFailure::NotAChunk { text: odd.to_owned(), reason: "it has no choices".to_owned() };
            assert_eq!(read(&[A, odd, STOP, DONE]), Err(failure));
        }
        let mut answer = ServerAnswer::new(Lengths::up_to(ASKED));
        let outcome = answer.event(Event { data: br#"{"message":"bad"}"#, is_error: true });
        assert_eq!(outcome, Err(PromptFailure::ServerError("bad".to_owned())));
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
