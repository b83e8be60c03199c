//! The two faces that a transport has for those who use it: something to send from, something to read into.

use std::task::{Context, Poll};
use std::time::Instant;

use tonic::Status;

use crate::framing::{Inbound, Outbound};

/// Bytes after which a [`Fill`] lets the transport write before it adds more.
pub const FILL_BYTES: usize = 64 << 10;

/// What [`Fill::poll_fill`] did.
#[derive(Debug)]
pub enum Filled {
    /// It added something, and may have more.
    Some,
    /// It has nothing more, ever.
    End(Result<(), Status>),
}

/// Where the messages of a stream come from.
pub trait Fill: Send + Unpin + 'static {
    /// Adds messages that are ready, about [`FILL_BYTES`] at most. When there are none, the waker is told of the next.
    fn poll_fill(&mut self, cx: &mut Context<'_>, out: &mut Outbound) -> Poll<Filled>;
}

/// Is told how far a stream has been handed to the kernel.
pub trait Departures: Send + Sync + 'static {
    /// The first `total` bytes that were ever put into this stream's [`Outbound`] have left; the call that handed the
    /// last of them to the kernel began at `at`. With TLS it handed them to TLS, which holds back 64 KiB at most when the
    /// socket is full.
    fn departed(&self, total: u64, at: Instant);

    /// The last byte of this stream of a connection's many has left, likewise. For connections over HTTP/2 that carry one
    /// call to a stream; those that carry one stream for ever do not care.
    fn stream_departed(&self, _stream: u32, _at: Instant) {}
}

/// Where the bytes of a stream come from.
pub trait Source: Send + Unpin + 'static {
    /// Waits for bytes and adds them; false when the stream has ended in good order.
    ///
    /// # Errors
    /// The stream broke, or its end carries a status.
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut Inbound) -> Poll<Result<bool, Status>>;
}

impl Source for Box<dyn Source> {
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut Inbound) -> Poll<Result<bool, Status>> {
        (**self).poll_read(cx, into)
    }
}
