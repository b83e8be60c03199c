//! One call: an HTTP/2 stream with a request on it, until its answer is complete or it is clear that there will be
//! none.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use h2::client::ResponseFuture;
use h2::{Reason, RecvStream};
use lon_net::framing::PREFIX_BYTES;
use tonic::codegen::http::{HeaderMap, Response, StatusCode};
use tonic::{Code, Status};

use lon_proto::text::printable;

use crate::dispatch::{AROUND_BYTES, Expected, Reservation};

/// End of a call.
#[derive(Debug)]
pub(super) enum End {
    /// The server answered with this message.
    Answer(Bytes),
    /// The server answered with an error, in words.
    Refused(String),
    /// The answer cannot be used; why, in words.
    Unusable(String),
    /// The server says that it has not looked at the call: it can be sent again.
    Unseen,
    /// The connection ended, and knows why.
    Cut,
}

/// A call that has ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) wire_id: u64,
    /// The number of its HTTP/2 stream.
    pub(super) stream: u32,
    /// The request's body, for when it has to be sent again.
    pub(super) body: Bytes,
    pub(super) end: End,
}

/// A call under way. When it is dropped before its end, its stream is reset.
#[derive(Debug)]
pub(super) struct Call {
    wire_id: u64,
    stream: u32,
    body: Bytes,
    step: Step,
    received: Received,
}

#[derive(Debug)]
enum Step {
    /// Nothing has come yet.
    Head(ResponseFuture),
    /// The answer is coming.
    Data(RecvStream),
    /// The answer is complete; its status is coming.
    Trailers(RecvStream),
    /// The call has ended.
    Over,
}

impl Call {
    /// A call whose request has been handed over completely.
    pub(super) fn new(wire_id: u64, body: Bytes, response: ResponseFuture, expected: &Expected) -> Call {
        let stream = response.stream_id().as_u32();
        Call { wire_id, stream, body, step: Step::Head(response), received: Received::new(expected) }
    }

    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<Result<End, h2::Error>> {
        loop {
            self.step = match std::mem::replace(&mut self.step, Step::Over) {
                Step::Head(mut response) => match Pin::new(&mut response).poll(cx)? {
                    Poll::Ready(response) => match refusal(&response) {
                        Some(reason) => return Poll::Ready(Ok(End::Refused(reason))),
                        None => Step::Data(response.into_body()),
                    },
                    Poll::Pending => return self.wait(Step::Head(response)),
                },
                Step::Data(mut stream) => match stream.poll_data(cx) {
                    Poll::Ready(Some(data)) => {
                        let data = data?;
                        stream.flow_control().release_capacity(data.len())?;
                        if let Err(too_large) = self.received.push(data) {
                            return Poll::Ready(Ok(End::Unusable(too_large)));
                        }
                        Step::Data(stream)
                    }
                    Poll::Ready(None) => Step::Trailers(stream),
                    Poll::Pending => return self.wait(Step::Data(stream)),
                },
                Step::Trailers(mut stream) => match stream.poll_trailers(cx)? {
                    Poll::Ready(trailers) => return Poll::Ready(Ok(self.ended(trailers.as_ref()))),
                    Poll::Pending => return self.wait(Step::Trailers(stream)),
                },
                Step::Over => return Poll::Ready(Ok(End::Cut)),
            };
        }
    }

    fn wait(&mut self, step: Step) -> Poll<Result<End, h2::Error>> {
        self.step = step;
        Poll::Pending
    }

    fn ended(&mut self, trailers: Option<&HeaderMap>) -> End {
        let Some(status) = trailers.and_then(Status::from_header_map) else {
            return End::Unusable("its answer ended without a status".to_owned());
        };
        match status.code() {
            Code::Ok => self.received.message().map_or_else(End::Unusable, End::Answer),
            _ => End::Refused(status_text(&status)),
        }
    }
}

impl Future for Call {
    type Output = Ended;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Ended> {
        let end = ready!(self.poll_end(cx)).unwrap_or_else(|error| end_of(&error));
        let Call { wire_id, stream, .. } = *self;
        Poll::Ready(Ended { wire_id, stream, body: std::mem::take(&mut self.body), end })
    }
}

/// The end of a call whose stream ended early.
fn end_of(error: &h2::Error) -> End {
    let reason = error.reason().unwrap_or(Reason::INTERNAL_ERROR);
    // With GOAWAY h2 ends only those calls that came after the last one that the server has looked at.
    let unseen =
        (error.is_go_away() && reason == Reason::NO_ERROR) || (error.is_reset() && reason == Reason::REFUSED_STREAM);
    if error.is_remote() && unseen {
        End::Unseen
    } else if error.is_reset() {
        End::Refused(format!("it reset the call: {reason:?} ({})", reason.description()))
    } else {
        End::Cut
    }
}

/// The error in the head of a response; `None` when it has none.
fn refusal<B>(response: &Response<B>) -> Option<String> {
    if response.status() != StatusCode::OK {
        return Some(format!("HTTP {}: not a gRPC server", response.status()));
    }
    Status::from_header_map(response.headers()).filter(|status| status.code() != Code::Ok).map(|s| status_text(&s))
}

/// A status in words: `InvalidArgument: unexpected shape`.
fn status_text(status: &Status) -> String {
    printable(&format!("{:?}: {}", status.code(), status.message()))
}

/// The bytes of an answer as they come. An answer that comes in one piece is not copied.
#[derive(Debug)]
struct Received {
    first: Bytes,
    joined: BytesMut,
    max_bytes: u64,
    reservation: Reservation,
}

impl Received {
    fn new(expected: &Expected) -> Received {
        let max_bytes = expected.max_bytes().saturating_add(AROUND_BYTES);
        Received { first: Bytes::new(), joined: BytesMut::new(), max_bytes, reservation: expected.budget.hold() }
    }

    fn push(&mut self, data: Bytes) -> Result<(), String> {
        let max_bytes = self.max_bytes;
        if (self.first.len() + self.joined.len() + data.len()) as u64 > max_bytes {
            return Err(format!("its answer is larger than {max_bytes} bytes (--max-answer)"));
        }
        self.reservation.add(data.len()).map_err(|error| error.to_string())?;
        if self.first.is_empty() && self.joined.is_empty() {
            self.first = data;
            return Ok(());
        }
        if self.joined.is_empty() {
            // The size that the answer states is not believed beyond 1 MiB.
            let announced_len = self.message_bytes().unwrap_or(0).min(1 << 20);
            self.joined.reserve(self.first.len() + data.len().max(announced_len));
            self.joined.extend_from_slice(&std::mem::take(&mut self.first));
        }
        self.joined.extend_from_slice(&data);
        Ok(())
    }

    /// The size of the message as its prefix states it.
    fn message_bytes(&self) -> Option<usize> {
        let [_, a, b, c, d] = *self.first.first_chunk::<PREFIX_BYTES>()?;
        Some(u32::from_be_bytes([a, b, c, d]) as usize)
    }

    /// The message without its prefix; there must be exactly one.
    fn message(&mut self) -> Result<Bytes, String> {
        let (first, joined) = (std::mem::take(&mut self.first), std::mem::take(&mut self.joined));
        let mut whole = if joined.is_empty() { first } else { joined.freeze() };
        if whole.is_empty() {
            return Err("its status is OK, but there is no answer".to_owned());
        }
        let Some([flag, a, b, c, d]) = whole.first_chunk::<PREFIX_BYTES>().copied() else {
            return Err("its answer is cut off".to_owned());
        };
        let len = u32::from_be_bytes([a, b, c, d]) as usize;
        let body_len = whole.len() - PREFIX_BYTES;
        if flag != 0 {
            return Err("its answer is compressed, which it was not asked for".to_owned());
        }
        if body_len != len {
            return Err(format!("its answer is announced with {len} bytes and has {body_len}"));
        }
        Ok(whole.split_off(PREFIX_BYTES))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::dispatch::AnswerRule;

    fn expected(max_bytes: u64) -> Expected {
        Expected::new(&Arc::new(AnswerRule::anything("n", max_bytes)), false, Duration::from_secs(60), 0)
    }

    #[test]
    fn an_answer_is_bounded_and_so_are_all_together() {
        let expected = expected(10);
        let most = 10 + AROUND_BYTES as usize;
        let mut one = Received::new(&expected);
        one.push(vec![0; most].into()).unwrap();
        assert!(one.push(vec![0].into()).unwrap_err().contains("--max-answer"));
        let mut other = Received::new(&expected);
        assert!(other.push(vec![0; 20].into()).unwrap_err().contains("together"));
        drop(one);
        other.push(vec![0; 20].into()).unwrap();
    }

    fn message(chunks: &[&'static [u8]]) -> Result<Bytes, String> {
        let mut received = Received::new(&expected(1 << 20));
        chunks.iter().copied().for_each(|chunk| received.push(Bytes::from_static(chunk)).unwrap());
        received.message()
    }

    #[test]
    fn a_message_is_whole_however_it_comes() {
        assert_eq!(message(&[b"\0\0\0\0\x03abc"]).unwrap(), "abc");
        assert_eq!(message(&[b"\0\0", b"\0\0\x03a", b"bc"]).unwrap(), "abc");
        assert_eq!(message(&[b"\0\0\0\0\0"]).unwrap(), "");
        for (chunks, part) in [
            (&[][..], "no answer"),
            (&[&b"\0\0\0"[..]], "cut off"),
            (&[b"\0\0\0\0\x03ab"], "announced with 3 bytes and has 2"),
            (&[b"\0\0\0\0\x01a\0\0\0\0\x01b"], "announced with 1 bytes and has 7"),
            (&[b"\x01\0\0\0\x01a"], "compressed"),
        ] {
            let error = message(chunks).unwrap_err();
            assert!(error.contains(part), "no '{part}' in: {error}");
        }
    }

    #[test]
    fn a_refusal_names_its_status() {
        let refused = |code: Code, message: &str| {
            let mut response = Response::new(());
            Status::new(code, message).add_header(response.headers_mut()).unwrap();
            refusal(&response)
        };
        assert_eq!(refused(Code::NotFound, "no model 'x'").unwrap(), "NotFound: no model 'x'");
        assert_eq!(refused(Code::Ok, ""), None);
        let mut plain = Response::new(());
        *plain.status_mut() = StatusCode::NOT_FOUND;
        assert!(refusal(&plain).unwrap().contains("404"));
    }
}
