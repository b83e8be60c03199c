//! One stream: messages onto it and bytes off it, without copies of ours.

use std::future::{Future as _, poll_fn};
use std::io;
use std::pin::pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use quinn::{ReadError, RecvStream, SendStream};
use tonic::Status;

use super::explained;
use crate::clock;
use crate::flow::{Departures, FILL_BYTES, Fill, Filled, Source};
use crate::framing::{Inbound, Outbound};

/// Chunks taken per call: a chunk is what one packet brought, so this is some 90 KB under one lock.
const CHUNKS: usize = 64;

/// Writes what `fill` has until it ends, then its end, and waits until the other end has acknowledged all of it: who
/// drops a connection earlier takes back what was not yet sent.
///
/// Says how far it got to `departures`, which means here: quinn has taken the bytes. That is earlier than the kernel's
/// taking them: what the stream's window (4 MiB) lets through may still wait for the congestion window.
///
/// # Errors
/// The connection's, or the other end does not want to read on. Not when the connection ends after the last byte was
/// taken: whether that was in good order is for the reader of the other direction to say.
pub async fn write(
    stream: &mut SendStream,
    mut fill: impl Fill,
    departures: Option<&dyn Departures>,
) -> io::Result<()> {
    let mut out = Outbound::default();
    let mut chunks: Vec<Bytes> = Vec::new();
    let mut departed = 0;
    let mut ended = false;
    while !ended {
        ended = poll_fn(|cx| gather(cx, &mut fill, &mut out)).await;
        chunks.clear();
        chunks.extend(std::iter::from_fn(|| out.pop()));
        let mut unsent = chunks.as_mut_slice();
        while !unsent.is_empty() {
            let mut blocked_since = None;
            let (progress, at) = poll_fn(|cx| {
                let at = clock::now();
                // As in reading: quinn keeps the waker, and a future that did not resolve has taken nothing.
                match pin!(stream.write_chunks(unsent)).poll(cx) {
                    Poll::Ready(progress) => Poll::Ready((progress, at)),
                    Poll::Pending => {
                        blocked_since.get_or_insert(at);
                        Poll::Pending
                    }
                }
            })
            .await;
            let progress = progress?;
            departed += progress.bytes as u64;
            if let Some(departures) = departures {
                if let Some(since) = blocked_since {
                    departures.blocked(at.saturating_duration_since(since));
                }
                departures.departed(departed, at);
            }
            unsent = &mut unsent[progress.chunks..];
        }
    }
    // Fails only when the other end has stopped the stream; then there is nothing to wait for either.
    if stream.finish().is_ok() {
        let _ = stream.stopped().await;
    }
    Ok(())
}

/// Takes what is ready; true when that was the last.
fn gather(cx: &mut Context<'_>, fill: &mut impl Fill, out: &mut Outbound) -> Poll<bool> {
    while out.len() < FILL_BYTES {
        match fill.poll_fill(cx, out) {
            Poll::Ready(Filled::Some) => {}
            Poll::Ready(Filled::End(how)) => {
                out.push_end(&how);
                return Poll::Ready(true);
            }
            Poll::Pending if out.is_empty() => return Poll::Pending,
            Poll::Pending => break,
        }
    }
    Poll::Ready(false)
}

/// Reads a stream.
#[derive(Debug)]
pub struct QuicSource {
    stream: RecvStream,
    chunks: [Bytes; CHUNKS],
}

impl QuicSource {
    /// Everything that comes from `stream`.
    pub fn new(stream: RecvStream) -> QuicSource {
        QuicSource { stream, chunks: [const { Bytes::new() }; CHUNKS] }
    }
}

impl Source for QuicSource {
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut Inbound) -> Poll<Result<bool, Status>> {
        // Nothing is lost with the future: quinn keeps the waker with the stream.
        let outcome = ready!(pin!(self.stream.read_chunks(&mut self.chunks)).poll(cx));
        Poll::Ready(match outcome {
            Ok(Some(count)) => {
                for chunk in &mut self.chunks[..count] {
                    into.push(std::mem::take(chunk));
                }
                Ok(true)
            }
            Ok(None) => Err(Status::unknown("the other end closed the stream")),
            Err(ReadError::Reset(code)) => Err(Status::unknown(format!("the other end reset the stream ({code})"))),
            Err(ReadError::ConnectionLost(error)) => Err(Status::unknown(explained(&error))),
            Err(error) => Err(Status::unknown(error.to_string())),
        })
    }
}
