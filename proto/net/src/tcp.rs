//! Plain TCP, or TLS over TCP: the magic, then framed messages in both directions.
//!
//! A node accepts a stream with an immediate heartbeat and refuses it with an End. QUIC's streams do the same.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::io::poll_read_buf;
use tonic::Status;

use crate::clock;
use crate::flow::{Departures, FILL_BYTES, Fill, Filled, Source};
use crate::framing::{Inbound, Outbound};

/// The first bytes of a client, by which the node knows it from HTTP/2 on the same port.
pub const MAGIC: [u8; 8] = *b"LON-TCP\n";

/// The most pieces that are given to the kernel in one call.
const MAX_SLICES: usize = 64;

/// Writes what `fill` has until it ends, then its end. Reports to `departures` how far it got.
///
/// # Errors
/// The connection failed.
pub async fn write<W: AsyncWrite + Unpin>(
    io: &mut W,
    mut fill: impl Fill,
    departures: Option<&dyn Departures>,
) -> io::Result<()> {
    let mut writer = Writer { out: Outbound::default(), ended: false };
    let mut departed = 0;
    poll_fn(|cx| writer.poll_write(cx, io, &mut fill, departures, &mut departed)).await?;
    poll_fn(|cx| Pin::new(&mut *io).poll_shutdown(cx)).await
}

struct Writer {
    out: Outbound,
    ended: bool,
}

impl Writer {
    fn poll_write<W: AsyncWrite + Unpin>(
        &mut self,
        cx: &mut Context<'_>,
        io: &mut W,
        fill: &mut impl Fill,
        departures: Option<&dyn Departures>,
        departed: &mut u64,
    ) -> Poll<io::Result<()>> {
        loop {
            while !self.ended && self.out.len() < FILL_BYTES {
                match fill.poll_fill(cx, &mut self.out) {
                    Poll::Ready(Filled::Some) => {}
                    Poll::Ready(Filled::End(how)) => {
                        self.out.push_end(&how);
                        self.ended = true;
                    }
                    Poll::Pending => break,
                }
            }
            if self.out.is_empty() {
                // TLS may hold back what it was given; a plain socket has nothing to flush.
                ready!(Pin::new(&mut *io).poll_flush(cx))?;
                return if self.ended { Poll::Ready(Ok(())) } else { Poll::Pending };
            }
            let mut slices = [IoSlice::new(&[]); MAX_SLICES];
            let count = self.out.slices(&mut slices);
            let at = clock::now();
            let len = ready!(Pin::new(&mut *io).poll_write_vectored(cx, &slices[..count]))?;
            if len == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.out.advance(len);
            *departed += len as u64;
            if let Some(departures) = departures {
                departures.departed(*departed, at);
            }
        }
    }
}

/// Reads a stream from a socket.
#[derive(Debug)]
pub struct StreamSource<R> {
    io: R,
}

impl<R: AsyncRead + Unpin + Send + 'static> StreamSource<R> {
    /// Reads all that comes from `io`; the magic must have been read before.
    pub fn new(io: R) -> StreamSource<R> {
        StreamSource { io }
    }
}

impl<R: AsyncRead + Unpin + Send + 'static> Source for StreamSource<R> {
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut Inbound) -> Poll<Result<bool, Status>> {
        match ready!(poll_read_buf(Pin::new(&mut self.io), cx, into.spare())) {
            Ok(0) => Poll::Ready(Err(Status::unknown("the other end closed the connection"))),
            Ok(_) => Poll::Ready(Ok(true)),
            Err(error) => Poll::Ready(Err(Status::unknown(error.to_string()))),
        }
    }
}
