//! The interfaces that a transport sends from ([`Fill`]) and reads from ([`Source`]). They do not depend on the
//! transport.

use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tonic::Status;

use crate::framing::{Inbound, Outbound};

/// Number of bytes after which a [`Fill`] lets the transport write before it adds more.
pub const FILL_BYTES: usize = 64 << 10;

/// The result of [`Fill::poll_fill`].
#[derive(Debug)]
pub enum Filled {
    /// Something was added, and there may be more.
    Some,
    /// There will never be more; how the stream ended.
    End(Result<(), Status>),
}

/// Gives a transport the messages to send on a stream.
pub trait Fill: Send + Unpin + 'static {
    /// Adds messages that are ready, about [`FILL_BYTES`] at most. When there are none, the waker is called for the
    /// next.
    fn poll_fill(&mut self, cx: &mut Context<'_>, out: &mut Outbound) -> Poll<Filled>;

    /// HTTP/2 took so long until it asked for more: its window was full, or the socket below it.
    fn record_wait(&mut self, _waited: Duration) {}
}

impl Fill for Box<dyn Fill> {
    fn poll_fill(&mut self, cx: &mut Context<'_>, out: &mut Outbound) -> Poll<Filled> {
        (**self).poll_fill(cx, out)
    }

    fn record_wait(&mut self, waited: Duration) {
        (**self).record_wait(waited);
    }
}

/// Takes reports of how far a stream was given to the kernel.
pub trait Departures: Send + Sync + 'static {
    /// The first `total` bytes that were ever put into this stream's [`Outbound`] have left. The call that gave the
    /// last of them to the kernel began at `at`. With TLS the call gave them to TLS, which holds back 64 KiB at most
    /// while the socket is full.
    fn departed(&self, total: u64, at: Instant);

    /// A write waited so long for room. It is called where the socket does not count that itself: over QUIC.
    fn blocked(&self, _waited: Duration) {}

    /// The last byte of one of a connection's streams has left, in the same sense. It is called on HTTP/2 connections
    /// where each call has a stream of its own; connections with a single stream ignore it.
    fn stream_departed(&self, _stream: u32, _at: Instant) {}

    /// Some bytes of an HTTP/2 connection's DATA came in. Their frame may be incomplete still: it can be as large as
    /// 1 MiB, and is given on only when it is whole.
    fn data_arrived(&self) {}
}

/// Reads the bytes of a stream.
pub trait Source: Send + Unpin + 'static {
    /// Waits for bytes and adds them to `into`; false when the stream has ended without an error.
    ///
    /// # Errors
    /// The stream failed, or it ended with a status.
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut Inbound) -> Poll<Result<bool, Status>>;
}

impl Source for Box<dyn Source> {
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut Inbound) -> Poll<Result<bool, Status>> {
        (**self).poll_read(cx, into)
    }
}
