//! Counts how many bytes of a stream were given to the kernel, below HTTP/2.
//!
//! HTTP/2 accepts a message long before it writes it when the connection is full. This wrapper reads the frame headers
//! that pass through it (nine bytes each; payloads are skipped) and so knows which byte of the stream's DATA a write
//! has reached. The count is for connections with a single stream, as a lane has. On connections where each call has a
//! stream of its own, it reports which streams have ended. In what is read it sees DATA that HTTP/2 does not show yet,
//! because its frame is not complete.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::clock;
use crate::flow::Departures;

/// The first bytes of an HTTP/2 client.
const PREFACE_BYTES: usize = 24;
const HEADER_BYTES: usize = 9;
/// The frame type of DATA.
const DATA: u8 = 0;
/// The flag of a stream's last frame.
const END_STREAM: u8 = 1;

/// Follows the frames in the bytes that are written.
#[derive(Debug)]
struct FrameMeter {
    /// Number of bytes to skip before the next header: the preface, or a payload.
    skip: usize,
    /// True when the bytes to skip are DATA.
    in_data: bool,
    header: [u8; HEADER_BYTES],
    header_len: usize,
    data_bytes: u64,
    /// The stream whose last DATA is being skipped.
    ending: Option<u32>,
    /// The streams whose last DATA has passed.
    ended: Vec<u32>,
}

impl FrameMeter {
    /// For bytes that begin with this many before the first frame.
    fn new(preface_bytes: usize) -> FrameMeter {
        let (header, ending, ended) = ([0; HEADER_BYTES], None, Vec::new());
        FrameMeter { skip: preface_bytes, in_data: false, header, header_len: 0, data_bytes: 0, ending, ended }
    }

    /// Notes a stream as ended once nothing of its last DATA is left to skip.
    fn look_for_end(&mut self) {
        if self.skip == 0 {
            self.ended.extend(self.ending.take());
        }
    }

    fn pass(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let skipped = self.skip.min(bytes.len());
            self.skip -= skipped;
            self.data_bytes += if self.in_data { skipped as u64 } else { 0 };
            bytes = &bytes[skipped..];
            self.look_for_end();
            let len = (HEADER_BYTES - self.header_len).min(bytes.len());
            self.header[self.header_len..self.header_len + len].copy_from_slice(&bytes[..len]);
            self.header_len += len;
            bytes = &bytes[len..];
            if self.header_len == HEADER_BYTES {
                let [a, b, c, kind, flags, stream @ ..] = self.header;
                self.skip = u32::from_be_bytes([0, a, b, c]) as usize;
                self.in_data = kind == DATA;
                self.ending = (self.in_data && flags & END_STREAM != 0).then_some(u32::from_be_bytes(stream));
                self.header_len = 0;
                self.look_for_end();
            }
        }
    }
}

/// A client's connection that reports how far its stream was written.
#[derive(Debug)]
pub struct MeteredIo<T, D> {
    io: T,
    out_meter: FrameMeter,
    in_meter: FrameMeter,
    departures: Arc<D>,
}

impl<T, D: Departures> MeteredIo<T, D> {
    /// Wraps a connection on which nothing was written yet.
    pub fn new(io: T, departures: Arc<D>) -> MeteredIo<T, D> {
        MeteredIo { io, out_meter: FrameMeter::new(PREFACE_BYTES), in_meter: FrameMeter::new(0), departures }
    }

    fn wrote(&mut self, slices: &[IoSlice<'_>], mut count: usize, at: Instant) {
        let before = self.out_meter.data_bytes;
        for slice in slices {
            let passed = count.min(slice.len());
            self.out_meter.pass(&slice[..passed]);
            count -= passed;
            if count == 0 {
                break;
            }
        }
        if self.out_meter.data_bytes > before {
            self.departures.departed(self.out_meter.data_bytes, at);
        }
        for stream in self.out_meter.ended.drain(..) {
            self.departures.stream_departed(stream, at);
        }
    }
}

impl<T: AsyncWrite + Unpin, D: Departures> AsyncWrite for MeteredIo<T, D> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let at = clock::now();
        let count = ready!(Pin::new(&mut self.io).poll_write(cx, buf))?;
        self.wrote(&[IoSlice::new(buf)], count, at);
        Poll::Ready(Ok(count))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let at = clock::now();
        let count = ready!(Pin::new(&mut self.io).poll_write_vectored(cx, slices))?;
        self.wrote(slices, count, at);
        Poll::Ready(Ok(count))
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

impl<T: AsyncRead + Unpin, D: Departures> AsyncRead for MeteredIo<T, D> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let (filled, data_bytes) = (buf.filled().len(), self.in_meter.data_bytes);
        let outcome = Pin::new(&mut self.io).poll_read(cx, buf);
        self.in_meter.pass(&buf.filled()[filled..]);
        self.in_meter.ended.clear();
        if self.in_meter.data_bytes > data_bytes {
            self.departures.data_arrived();
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    fn frame(kind: u8, len: usize) -> Vec<u8> {
        let mut frame = vec![0, (len >> 8) as u8, len as u8, kind, 0, 0, 0, 0, 1];
        frame.extend(std::iter::repeat_n(0xEE, len));
        frame
    }

    /// However the bytes are cut into writes, only the DATA among them counts.
    #[test]
    fn only_data_counts_and_cuts_do_not_matter() {
        let mut bytes = vec![b'P'; PREFACE_BYTES];
        for (kind, len) in [(4, 12), (1, 30), (DATA, 300), (8, 4), (DATA, 0), (DATA, 7)] {
            bytes.extend(frame(kind, len));
        }
        for cut in [1, 2, 9, 10, 64, bytes.len()] {
            let mut meter = FrameMeter::new(PREFACE_BYTES);
            bytes.chunks(cut).for_each(|chunk| meter.pass(chunk));
            assert_eq!(meter.data_bytes, 307, "in pieces of {cut}");
        }
        let mut meter = FrameMeter::new(PREFACE_BYTES);
        meter.pass(&bytes[..bytes.len() - 3]);
        assert_eq!(meter.data_bytes, 304);
    }

    /// Half a frame of DATA is seen, and what is no DATA is not.
    #[tokio::test]
    async fn data_is_seen_before_its_frame_is_whole() {
        #[derive(Default)]
        struct ArrivalCount(AtomicU64);
        impl Departures for ArrivalCount {
            fn departed(&self, _: u64, _: Instant) {}
            fn data_arrived(&self) {
                self.0.fetch_add(1, Relaxed);
            }
        }
        let count = Arc::new(ArrivalCount::default());
        let (near, mut far) = tokio::io::duplex(1 << 10);
        let mut near = MeteredIo::new(near, Arc::clone(&count));
        for (bytes, expected) in [(frame(4, 12), 0), (frame(DATA, 300)[..40].to_vec(), 1), (vec![0xEE; 9], 2)] {
            far.write_all(&bytes).await.unwrap();
            near.read_exact(&mut vec![0; bytes.len()]).await.unwrap();
            assert_eq!(count.0.load(Relaxed), expected);
        }
    }

    /// A stream has left when its last DATA has, empty or not, whatever else lies between.
    #[test]
    fn streams_end_with_their_last_byte() {
        let last = |stream: u8, len: usize| {
            let mut frame = frame(DATA, len);
            (frame[4], frame[8]) = (END_STREAM, stream);
            frame
        };
        let mut bytes = vec![b'P'; PREFACE_BYTES];
        for frame in [frame(1, 9), frame(DATA, 20), last(3, 5), last(1, 0), last(5, 30)] {
            bytes.extend(frame);
        }
        for cut in [1, 7, 9, 40, bytes.len()] {
            let mut meter = FrameMeter::new(PREFACE_BYTES);
            bytes.chunks(cut).for_each(|chunk| meter.pass(chunk));
            assert_eq!(meter.ended, [3, 1, 5], "in pieces of {cut}");
        }
        let mut meter = FrameMeter::new(PREFACE_BYTES);
        meter.pass(&bytes[..bytes.len() - 1]);
        assert_eq!(meter.ended, [3, 1]);
    }
}
