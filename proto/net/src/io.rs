//! One type for every connection over TCP, with or without TLS, at either end, and the counters of its socket.
//!
//! Connections are made in `dial` (client) and `accept` (server).

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bytes::{Buf as _, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::TlsStream;
use tonic::transport::server::Connected;

use crate::clock;
use crate::path::Path;
use crate::send_room::{Looked, Room, RoomCounters};
use crate::socket::Socket;

/// The interval at which a connection in use asks the kernel how many segments were sent again.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// Counts the bytes that a connection has given to the kernel and taken from it: records and handshakes of TLS
/// included, headers of TCP and IP not.
#[derive(Debug, Default)]
pub struct SocketCounters {
    /// Bytes taken from the kernel.
    pub read: AtomicU64,
    /// Bytes given to the kernel.
    pub written: AtomicU64,
    retransmits: AtomicU64,
    /// True when the system does not report the number of segments that were sent again.
    mute: AtomicBool,
    /// The path of the connection that asked the kernel last.
    path: Mutex<Option<Path>>,
    /// The counters of the room to write.
    room: RoomCounters,
}

impl SocketCounters {
    /// Bytes taken from the kernel until now.
    pub fn read(&self) -> u64 {
        self.read.load(Relaxed)
    }

    /// Bytes handed to the kernel until now.
    pub fn written(&self) -> u64 {
        self.written.load(Relaxed)
    }

    /// Segments that this end has sent again; none when the system does not say.
    ///
    /// The number is complete once the connection is closed. While it is open the number lags: the connection asks the
    /// kernel when it is read from or written to, every 100 ms at most. With heartbeats every half second the lag is
    /// 0.6 s at most.
    pub fn retransmits(&self) -> Option<u64> {
        (!self.mute.load(Relaxed)).then(|| self.retransmits.load(Relaxed))
    }

    /// Returns the path of a connection that is counted here; `None` before the kernel was asked for the first time.
    pub fn path(&self) -> Option<Path> {
        self.path.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the counters of the room to write, until the kernel was last asked.
    pub fn room(&self) -> Room {
        self.room.read()
    }

    /// Adds bytes that were counted elsewhere: QUIC has counters of its own.
    pub fn add(&self, read: u64, written: u64, retransmits: u64) {
        self.read.fetch_add(read, Relaxed);
        self.written.fetch_add(written, Relaxed);
        self.retransmits.fetch_add(retransmits, Relaxed);
    }
}

/// The socket and its counters. Only this type asks the kernel about the descriptor, and only while it owns it: a
/// number that was closed may already belong to another file.
#[derive(Debug)]
pub(crate) struct Counted {
    socket: Socket,
    counters: Arc<SocketCounters>,
    /// The last answer of the kernel, and the outcome of the writes since.
    looked: Looked,
}

impl Counted {
    pub(crate) fn new(socket: Socket, counters: Arc<SocketCounters>) -> Counted {
        Counted { socket, counters, looked: Looked::new() }
    }

    fn took(&mut self, count: usize) {
        self.counters.read.fetch_add(count as u64, Relaxed);
        self.look_sometimes();
    }

    /// Counts what a write has done, or that it waits.
    #[inline]
    fn wrote(&mut self, outcome: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &outcome {
            Poll::Pending => self.looked.blocks(),
            Poll::Ready(Ok(count)) => {
                self.counters.written.fetch_add(*count as u64, Relaxed);
                self.looked.wrote(&self.counters.room);
            }
            Poll::Ready(Err(_)) => {}
        }
        outcome
    }

    /// Asks the kernel when it is time. Before a write, not after it: what has just been written is no backlog.
    #[inline]
    fn look_sometimes(&mut self) {
        let now = clock::now();
        if self.looked.age(now) >= LOOK_INTERVAL {
            self.look(now);
        }
    }

    /// Adds the segments that the kernel has sent again since it was last asked.
    fn look(&mut self, now: Instant) {
        let Some(info) = self.socket.info() else {
            return self.counters.mute.store(true, Relaxed);
        };
        let before = self.looked.look(now, info, &self.counters.room);
        let new = info.retransmits.wrapping_sub(before.retransmits);
        *self.counters.path.lock().unwrap_or_else(PoisonError::into_inner) = self.socket.path(info);
        if new > 0 {
            self.counters.retransmits.fetch_add(u64::from(new), Relaxed);
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.look(clock::now());
    }
}

impl AsyncRead for Counted {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.socket).poll_read(cx, buf))?;
        self.took(buf.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Counted {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.look_sometimes();
        let outcome = Pin::new(&mut self.socket).poll_write(cx, buf);
        self.wrote(outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.look_sometimes();
        let outcome = Pin::new(&mut self.socket).poll_write_vectored(cx, slices);
        self.wrote(outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

#[derive(Debug)]
enum Layer {
    Plain(Counted),
    /// A box: a session of rustls has more than a kilobyte, and plain connections should not have room for it.
    Tls(Box<TlsStream<Counted>>),
}

/// A connection over TCP: plain or TLS, dialled or accepted.
#[derive(Debug)]
pub struct NetStream {
    layer: Layer,
    /// Bytes that were read to find out the protocol, and that are given out first.
    put_back: Bytes,
}

impl NetStream {
    pub(crate) fn plain(socket: Counted) -> NetStream {
        NetStream { layer: Layer::Plain(socket), put_back: Bytes::new() }
    }

    pub(crate) fn tls(stream: impl Into<TlsStream<Counted>>) -> NetStream {
        NetStream { layer: Layer::Tls(Box::new(stream.into())), put_back: Bytes::new() }
    }

    /// Puts bytes that were read in front of those that were not.
    pub(crate) fn put_back(&mut self, bytes: Bytes) {
        self.put_back = bytes;
    }

    fn counted(&self) -> &Counted {
        match &self.layer {
            Layer::Plain(socket) => socket,
            Layer::Tls(stream) => stream.get_ref().0,
        }
    }

    /// The socket, for its options and the kernel's facts about it. It must not be read from or written to.
    pub fn socket(&self) -> &Socket {
        &self.counted().socket
    }

    /// The counters of the socket.
    pub fn counters(&self) -> &Arc<SocketCounters> {
        &self.counted().counters
    }

    /// Returns true when the connection has TLS.
    pub fn is_tls(&self) -> bool {
        matches!(self.layer, Layer::Tls(_))
    }
}

impl AsyncRead for NetStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if !self.put_back.is_empty() {
            let count = self.put_back.len().min(buf.remaining());
            buf.put_slice(&self.put_back[..count]);
            self.put_back.advance(count);
            return Poll::Ready(Ok(()));
        }
        match &mut self.layer {
            Layer::Plain(socket) => Pin::new(socket).poll_read(cx, buf),
            Layer::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for NetStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.layer {
            Layer::Plain(socket) => Pin::new(socket).poll_write(cx, buf),
            Layer::Tls(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.layer {
            Layer::Plain(socket) => Pin::new(socket).poll_write_vectored(cx, slices),
            Layer::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.layer {
            Layer::Plain(socket) => socket.is_write_vectored(),
            Layer::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.layer {
            Layer::Plain(socket) => Pin::new(socket).poll_flush(cx),
            Layer::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.layer {
            Layer::Plain(socket) => Pin::new(socket).poll_shutdown(cx),
            Layer::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

/// The facts that a gRPC server knows about a connection. They are in the extensions of every request.
#[derive(Clone, Debug)]
pub struct Peer {
    /// The client's address; none once the socket is gone.
    pub address: Option<SocketAddr>,
    /// The address of this host that the client connected to.
    pub local: Option<SocketAddr>,
    /// The counters of the connection's socket.
    pub counters: Arc<SocketCounters>,
    /// True when the connection has TLS.
    pub tls: bool,
    /// True once a call over this connection has shown the node's token.
    pub has_shown_token: Arc<AtomicBool>,
}

impl Connected for NetStream {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        let (address, local) = (self.socket().peer_addr(), self.socket().local_addr());
        Peer {
            address,
            local,
            counters: Arc::clone(self.counters()),
            tls: self.is_tls(),
            has_shown_token: Arc::default(),
        }
    }
}

/// Returns the remedy for an error that is a shortage of this end, and no fault of the network or of the other end. The
/// text is the end of a sentence.
pub fn own_shortage(error: &io::Error) -> Option<&'static str> {
    match error.raw_os_error()? {
        libc::EMFILE => Some("; that is this program's own limit of open files: raise it (ulimit -n)"),
        libc::ENFILE => Some("; this machine has no open file left: raise fs.file-max, or end what holds them"),
        libc::ENOBUFS | libc::ENOMEM => Some("; this machine has no memory left for sockets"),
        libc::EADDRNOTAVAIL => Some("; this machine has no port or address left for it (net.ipv4.ip_local_port_range)"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};
    use tokio_rustls::{TlsAcceptor, TlsConnector};

    use super::*;
    use crate::tcp_info::TcpInfo;
    use crate::throwaway::Throwaway;
    use crate::tls::{Protocol, server_name};

    async fn sockets() -> (Counted, Counted) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (near, far) = tokio::join!(TcpStream::connect(address), listener.accept());
        let counted = |tcp| Counted::new(Socket::Tcp(tcp), Arc::default());
        (counted(near.unwrap()), counted(far.unwrap().0))
    }

    async fn plain() -> (NetStream, NetStream) {
        let (near, far) = sockets().await;
        (NetStream::plain(near), NetStream::plain(far))
    }

    async fn tls() -> (NetStream, NetStream) {
        let certificates = Throwaway::new(&["localhost"]).unwrap();
        let (near, far) = sockets().await;
        let connector = TlsConnector::from(certificates.client().unwrap().config(Protocol::Tcp));
        let acceptor = TlsAcceptor::from(certificates.server().unwrap().stream());
        let (near, far) =
            tokio::join!(connector.connect(server_name("localhost").unwrap(), near), acceptor.accept(far));
        (NetStream::tls(near.unwrap()), NetStream::tls(far.unwrap()))
    }

    /// 300 KB in slices of 1000 one way, read to the end at the other; returns what was read.
    async fn transfer(near: &mut NetStream, far: &mut NetStream) -> Vec<u8> {
        let payload: Vec<u8> = (0..300_000u32).map(|n| (n % 251) as u8).collect();
        let write = async {
            let mut sent = 0;
            while sent < payload.len() {
                let slices: Vec<_> = payload[sent..].chunks(1000).take(64).map(IoSlice::new).collect();
                sent += near.write_vectored(&slices).await.unwrap();
            }
            near.shutdown().await.unwrap();
        };
        let mut content = Vec::new();
        let ((), outcome) = tokio::join!(write, far.read_to_end(&mut content));
        outcome.unwrap();
        assert!(content.ends_with(&payload));
        content
    }

    #[tokio::test]
    async fn plain_bytes_are_counted_at_both_ends() {
        let (mut near, mut far) = plain().await;
        assert!(near.is_write_vectored() && !near.is_tls());
        assert_eq!(transfer(&mut near, &mut far).await.len(), 300_000);
        let counts = |stream: &NetStream| (stream.counters().read(), stream.counters().written());
        assert_eq!((counts(&near), counts(&far)), ((0, 300_000), (300_000, 0)));
    }

    /// Below TLS: handshake and records are counted, and both ends agree.
    #[tokio::test]
    async fn tls_bytes_are_counted_as_they_are_on_the_wire() {
        let (mut near, mut far) = tls().await;
        assert!(near.is_write_vectored() && near.is_tls());
        let before = near.counters().written();
        assert!(before > 0);
        assert_eq!(transfer(&mut near, &mut far).await.len(), 300_000);
        assert!(near.counters().written() - before > 300_000);
        assert_eq!(near.counters().written(), far.counters().read());
        assert!(far.connect_info().tls);
    }

    #[tokio::test]
    async fn retransmits_are_known_while_open_and_after_the_end_and_add_up() {
        let counters = Arc::<SocketCounters>::default();
        let (mut near, _far) = sockets().await;
        near.counters = Arc::clone(&counters);
        assert_eq!(counters.retransmits(), Some(0));
        // As if the kernel had counted from here: what it says since wraps around, and is added once.
        let now = clock::now();
        near.looked.look(now, TcpInfo { retransmits: u32::MAX - 1, ..TcpInfo::default() }, &counters.room);
        near.look(now);
        let first = counters.retransmits();
        near.look(now);
        assert_eq!((first, counters.retransmits()), (Some(2), Some(2)));
        counters.add(10, 20, 3);
        drop(near);
        assert_eq!((counters.read(), counters.written(), counters.retransmits()), (10, 20, Some(5)));
    }

    #[tokio::test]
    async fn writes_that_nobody_reads_wait_and_that_is_counted() {
        let (mut near, mut far) = plain().await;
        let block = vec![0; 1 << 20];
        let fill = |cx: &mut Context<'_>| {
            while let Poll::Ready(outcome) = Pin::new(&mut near).poll_write(cx, &block) {
                outcome.unwrap();
            }
            Poll::Ready(())
        };
        std::future::poll_fn(fill).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
        let reader = tokio::spawn(async move { far.read_to_end(&mut Vec::new()).await });
        near.write_all(&block).await.unwrap();
        assert!(near.counters().room().blocked >= Duration::from_millis(20));
        drop(near);
        reader.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn what_is_put_back_comes_first_and_is_not_counted_twice() {
        let (mut near, mut far) = plain().await;
        far.put_back(Bytes::from_static(b"before"));
        let mut three = [0; 3];
        far.read_exact(&mut three).await.unwrap();
        assert_eq!(&three, b"bef");
        let content = transfer(&mut near, &mut far).await;
        assert!(content.starts_with(b"ore\x00\x01") && content.len() == 300_003);
        assert_eq!(far.counters().read(), 300_000);
    }

    #[tokio::test]
    async fn a_server_knows_its_peer() {
        let (near, far) = plain().await;
        let peer = far.connect_info();
        assert_eq!(peer.address, near.socket().local_addr());
        assert_eq!(peer.local, near.socket().peer_addr());
        assert!(Arc::ptr_eq(&peer.counters, far.counters()) && !peer.tls);
    }

    #[test]
    fn a_shortage_of_our_own_is_not_the_networks() {
        let shortage = |code| own_shortage(&io::Error::from_raw_os_error(code));
        assert!(shortage(libc::EMFILE).unwrap().contains("ulimit -n"));
        assert!([libc::ENFILE, libc::ENOBUFS, libc::EADDRNOTAVAIL].into_iter().all(|code| shortage(code).is_some()));
        assert_eq!(shortage(libc::ECONNREFUSED), None);
    }
}
