//! The bytes of one HTTP/1.1 answer, taken apart as they come: head, then body. No socket and no clock.
//!
//! Heads and the sizes of chunks are read by `httparse`, hyper's own parser. hyper's client itself was tried in this
//! place, polled after each read and without a runtime, which is the least that it can cost. It cost more. Medians of
//! eight runs of `tests/src/bin/openai-cost.rs` on one machine, alternating, hyper's number first:
//!
//! - CPU time of the worker for a token that comes alone: 21.3 against 18.8 µs;
//! - CPU time for a token that comes with others: 1.06 against 0.76 µs;
//! - from the server's write of the first token until it is told: 94 against 83 µs.
//!
//! It was not shorter either: the code that moved bytes in and out of it, counted interim answers and refused encodings
//! was as long as this file.

use httparse::{EMPTY_HEADER, Response, Status, parse_chunk_size};

/// Bytes of status line and headers at most.
const MAX_HEAD_BYTES: usize = 64 << 10;
/// Headers at most.
const MAX_HEADERS: usize = 128;
/// Interim answers (1xx) before the final one at most.
const MAX_INTERIM: usize = 16;
/// Bytes of a line between chunks at most.
const MAX_LINE_BYTES: usize = 4 << 10;

/// An answer under way.
#[derive(Debug, Default)]
pub(super) struct HttpAnswer {
    state: State,
    head: Option<Head>,
    /// Interim answers so far.
    interim: usize,
    /// Bytes that came and could not be used yet.
    pending: Vec<u8>,
}

/// The part of an answer's head that this backend looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) status: u16,
    /// In lower case, without parameters; empty when there is none.
    pub(super) content_type: String,
    /// The header `Server`, which names the server's software; empty when there is none.
    pub(super) server: String,
    framing: Framing,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Head,
    Body(Framing),
    Over,
}

/// Rule for the end of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    /// The head gave a length; so many bytes are still to come.
    Length(u64),
    /// The end of the connection is the end of the body.
    UntilClose,
    /// The body is in chunks; this is what comes next.
    Chunks(Chunks),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chunks {
    Size,
    Data(u64),
    /// The line break behind a chunk's data.
    Gap,
    /// All chunks came. Trailers may follow, which are neither read nor waited for.
    End,
}

/// Bytes that are not HTTP, or HTTP that is not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    /// The status line or the headers are not what HTTP/1.1 allows; the parser's words.
    #[error("not an HTTP/1.1 answer: {0}")]
    Head(String),
    /// A head or a line goes on beyond so many bytes.
    #[error("not an HTTP/1.1 answer: more than {0} bytes without an end of line")]
    TooLong(usize),
    /// More interim answers than this came before the final one.
    #[error("not an HTTP/1.1 answer: more than {0} interim ones (1xx)")]
    Interim(usize),
    /// The answer has a transfer or content encoding that was not asked for.
    #[error("an answer in the encoding '{0}', which was not asked for")]
    Encoding(String),
    /// The content length is no number.
    #[error("a Content-Length of '{0}'")]
    Length(String),
    /// A chunk's size, or what follows its data, is not what HTTP/1.1 allows.
    #[error("a broken chunk")]
    Chunk,
}

impl HttpAnswer {
    /// Takes bytes as they came and adds those of the body to `body`. What follows the end is ignored.
    ///
    /// # Errors
    /// The bytes are not an answer; see [`HttpError`].
    pub(super) fn feed(&mut self, bytes: &[u8], body: &mut Vec<u8>) -> Result<(), HttpError> {
        self.pending.extend_from_slice(bytes);
        let mut used = 0;
        while let Some(more) = self.take(used, body)? {
            used += more;
        }
        self.pending.drain(..used);
        Ok(())
    }

    /// The head, once it is there.
    pub(super) fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    /// Returns true when all of the body has come.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    /// Returns true when the answer is whole if the connection closes now.
    pub(super) fn may_close(&self) -> bool {
        matches!(self.state, State::Over | State::Body(Framing::UntilClose))
    }

    /// Uses one piece of what is pending from `used` on. Gives its length in bytes, or `None` when more have to come.
    fn take(&mut self, used: usize, body: &mut Vec<u8>) -> Result<Option<usize>, HttpError> {
        let input = &self.pending[used..];
        match &mut self.state {
            State::Over => Ok((!input.is_empty()).then_some(input.len())),
            State::Head => {
                let Some((len, head)) = read_head(input)? else { return Ok(None) };
                // 1xx: the final answer follows.
                if head.status < 200 {
                    self.interim += 1;
                    if self.interim > MAX_INTERIM {
                        return Err(HttpError::Interim(MAX_INTERIM));
                    }
                } else {
                    self.state = if head.is_empty() { State::Over } else { State::Body(head.framing) };
                    self.head = Some(head);
                }
                Ok(Some(len))
            }
            State::Body(framing) => {
                let taken = framing.take(input, body)?;
                if matches!(framing, Framing::Length(0) | Framing::Chunks(Chunks::End)) {
                    self.state = State::Over;
                }
                Ok(taken)
            }
        }
    }
}

impl Head {
    fn is_empty(&self) -> bool {
        matches!(self.status, 204 | 304) || self.framing == Framing::Length(0)
    }
}

impl Framing {
    /// Moves what it can of `input` to `body`. Gives the bytes that it used, or `None` when more have to come.
    fn take(&mut self, input: &[u8], body: &mut Vec<u8>) -> Result<Option<usize>, HttpError> {
        if input.is_empty() {
            return Ok(None);
        }
        match self {
            Framing::UntilClose => {
                body.extend_from_slice(input);
                Ok(Some(input.len()))
            }
            Framing::Length(remainder) | Framing::Chunks(Chunks::Data(remainder)) => {
                let len = usize::try_from(*remainder).unwrap_or(usize::MAX).min(input.len());
                body.extend_from_slice(&input[..len]);
                *remainder -= len as u64;
                if *self == Framing::Chunks(Chunks::Data(0)) {
                    *self = Framing::Chunks(Chunks::Gap);
                }
                Ok(Some(len))
            }
            Framing::Chunks(Chunks::Gap) => match input {
                [b'\r', b'\n', ..] => {
                    *self = Framing::Chunks(Chunks::Size);
                    Ok(Some(2))
                }
                [b'\r'] => Ok(None),
                _ => Err(HttpError::Chunk),
            },
            Framing::Chunks(next @ Chunks::Size) => match parse_chunk_size(input).map_err(|_| HttpError::Chunk)? {
                Status::Complete((len, 0)) => {
                    *next = Chunks::End;
                    Ok(Some(len))
                }
                Status::Complete((len, size)) => {
                    *next = Chunks::Data(size);
                    Ok(Some(len))
                }
                Status::Partial => bounded(input, MAX_LINE_BYTES),
            },
            // The caller knows that the body ends here.
            Framing::Chunks(Chunks::End) => Ok(None),
        }
    }
}

/// The head at the beginning of `input` and its length in bytes, or `None` when more have to come.
fn read_head(input: &[u8]) -> Result<Option<(usize, Head)>, HttpError> {
    let mut headers = [EMPTY_HEADER; MAX_HEADERS];
    let mut response = Response::new(&mut headers);
    let parsed = response.parse(input).map_err(|error| HttpError::Head(error.to_string()))?;
    let Status::Complete(len) = parsed else { return bounded(input, MAX_HEAD_BYTES) };
    let status = response.code.unwrap_or_default();
    let mut head = Head { status, content_type: String::new(), server: String::new(), framing: Framing::UntilClose };
    for header in response.headers.iter() {
        let value = String::from_utf8_lossy(header.value).trim().to_owned();
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        if is("transfer-encoding") {
            if !value.eq_ignore_ascii_case("chunked") {
                return Err(HttpError::Encoding(value));
            }
            head.framing = Framing::Chunks(Chunks::Size);
        } else if is("content-length") && !matches!(head.framing, Framing::Chunks(_)) {
            head.framing = Framing::Length(value.parse().map_err(|_| HttpError::Length(value))?);
        } else if is("content-encoding") && !value.eq_ignore_ascii_case("identity") {
            return Err(HttpError::Encoding(value));
        } else if is("content-type") {
            head.content_type = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        } else if is("server") {
            head.server = value;
        }
    }
    Ok(Some((len, head)))
}

/// More bytes have to come, unless there are too many already.
fn bounded<T>(input: &[u8], limit: usize) -> Result<Option<T>, HttpError> {
    if input.len() > limit { Err(HttpError::TooLong(limit)) } else { Ok(None) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The body, and whether the answer was over; the same however the bytes are cut.
    fn read(answer: &[u8]) -> Result<(Head, String, bool), HttpError> {
        let read_in = |step: usize| {
            let (mut http, mut body) = (HttpAnswer::default(), Vec::new());
            for bytes in answer.chunks(step) {
                http.feed(bytes, &mut body)?;
            }
            let head = http.head().expect("a head").clone();
            Ok((head, String::from_utf8(body).unwrap(), http.is_over()))
        };
        let whole = read_in(answer.len());
        for step in 1..8 {
            assert_eq!(read_in(step), whole, "in pieces of {step}");
        }
        whole
    }

    #[test]
    fn a_body_ends_as_its_head_says() {
        let (head, body, over) = read(
            b"HTTP/1.1 200 OK\r\nServer: llama.cpp\r\nContent-Type: Text/Plain; charset=utf-8\r\n\
                   Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nX: y\r\n\r\n",
        )
        .unwrap();
        assert_eq!((head.status, head.content_type.as_str(), head.server.as_str()), (200, "text/plain", "llama.cpp"));
        assert_eq!((body.as_str(), over), ("abc0123456789", true));
        for (answer, body, over) in [
            (&b"HTTP/1.1 500 X\r\nContent-Length: 3\r\n\r\nabcdef"[..], "abc", true),
            (b"HTTP/1.1 500 X\r\nContent-Length: 4\r\n\r\nabc", "abc", false),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "", true),
            (b"HTTP/1.1 204 No Content\r\n\r\n", "", true),
            (b"HTTP/1.0 200 OK\r\n\r\nabc", "abc", false),
            (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", "a", true),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n", "a", false),
        ] {
            let (_, content, is_over) = read(answer).unwrap();
            assert_eq!((content.as_str(), is_over), (body, over), "{}", answer.escape_ascii());
        }
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        for (answer, part) in [
            (&b"SSH-2.0-OpenSSH_9.2\r\n"[..], "not an HTTP/1.1 answer"),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "'gzip, chunked'"),
            (b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\n", "'br'"),
            (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "'-1'"),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", "chunk"),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", "chunk"),
        ] {
            let error = read(answer).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        let endless = [&b"HTTP/1.1 200 OK\r\nX: "[..], &vec![b'x'; MAX_HEAD_BYTES]].concat();
        let error = HttpAnswer::default().feed(&endless, &mut Vec::new()).unwrap_err();
        assert_eq!(error, HttpError::TooLong(MAX_HEAD_BYTES));
    }

    #[test]
    fn neither_interim_answers_nor_trailers_go_on_for_ever() {
        let interim = "HTTP/1.1 100 Continue\r\n\r\n";
        let some = interim.repeat(MAX_INTERIM) + "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na";
        assert!(read(some.as_bytes()).unwrap().2);
        assert_eq!(read(interim.repeat(MAX_INTERIM + 1).as_bytes()), Err(HttpError::Interim(MAX_INTERIM)));
        let trailers = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX: y\r\n";
        let (_, body, over) = read(trailers.as_bytes()).unwrap();
        assert_eq!((body.as_str(), over), ("a", true), "the body is over before its trailers are");
    }
}
