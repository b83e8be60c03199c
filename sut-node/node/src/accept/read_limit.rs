//! A connection of which no more is read than it may send now.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use lon_net::io::NetStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::open_connection::{OpenConnection, Ration};

/// A connection and its entry among the open ones. What is not read stays with the client.
#[derive(Debug)]
pub(crate) struct Rationed {
    stream: NetStream,
    entry: OpenConnection,
    ration: Ration,
}

impl Rationed {
    /// Nothing has been read of what comes now.
    pub(crate) fn new(stream: NetStream, entry: OpenConnection) -> Rationed {
        Rationed { stream, entry, ration: Ration::Exactly(0) }
    }
}

impl AsyncRead for Rationed {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if let Ration::Exactly(0) | Ration::About(0) = this.ration {
            this.ration = ready!(this.entry.poll_ration(cx));
        }
        let before = buf.filled().len();
        match &mut this.ration {
            Ration::About(bytes) => {
                ready!(Pin::new(&mut this.stream).poll_read(cx, buf))?;
                *bytes = bytes.saturating_sub(buf.filled().len() - before);
            }
            Ration::Exactly(bytes) => {
                let room = buf.remaining().min(*bytes);
                let mut part = ReadBuf::new(buf.initialize_unfilled_to(room));
                ready!(Pin::new(&mut this.stream).poll_read(cx, &mut part))?;
                let count = part.filled().len();
                buf.advance(count);
                *bytes -= count;
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Rationed {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
