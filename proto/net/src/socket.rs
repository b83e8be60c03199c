//! The carrier of a connection's bytes below TLS: the kernel's TCP, or a network that the caller brings, as simulations
//! do.

use std::fmt::Debug;
use std::future::Future;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::AsFd as _;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::path::Path;
use crate::tcp_info::{TcpInfo, congestion_control, tcp_info};

/// A stream of bytes each way that is not the kernel's.
pub trait Pipe: AsyncRead + AsyncWrite + Debug + Send + Sync + Unpin {}

impl<T: AsyncRead + AsyncWrite + Debug + Send + Sync + Unpin> Pipe for T {}

/// One end of a connection. Each call on a TCP connection costs one comparison more than on the stream itself.
#[derive(Debug)]
pub enum Socket {
    /// A connection of the kernel's.
    Tcp(TcpStream),
    /// A connection of a network that was brought. It has no addresses and no options.
    Brought(Box<dyn Pipe>),
}

/// A network that is brought along: how connections are made where the kernel's TCP is not used.
pub trait Network: Debug + Send + Sync {
    /// Connects to `HOST:PORT`. As with TCP, who calls it sets the limit of time.
    fn connect<'a>(&'a self, host_and_port: &'a str) -> Connecting<'a>;
}

/// A connection attempt on a [`Network`].
pub type Connecting<'a> = Pin<Box<dyn Future<Output = io::Result<Socket>> + Send + 'a>>;

impl From<TcpStream> for Socket {
    fn from(tcp: TcpStream) -> Socket {
        Socket::Tcp(tcp)
    }
}

impl Socket {
    /// The kernel's socket, if it is one.
    pub fn tcp(&self) -> Option<&TcpStream> {
        match self {
            Socket::Tcp(tcp) => Some(tcp),
            Socket::Brought(_) => None,
        }
    }

    /// Turns off Nagle's delay.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(crate) fn set_nodelay(&self) -> io::Result<()> {
        self.tcp().map_or(Ok(()), |tcp| tcp.set_nodelay(true))
    }

    /// Waits for the first bytes and copies them, without taking them from the connection.
    ///
    /// # Errors
    /// The connection failed, or its network cannot do that.
    pub(crate) async fn peek(&self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(tcp) => tcp.peek(into).await,
            Socket::Brought(_) => Err(io::Error::new(io::ErrorKind::Unsupported, "TLS needs the kernel's TCP")),
        }
    }

    /// The address of this end.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.tcp()?.local_addr().ok()
    }

    /// The address of the other end.
    pub fn peer_addr(&self) -> Option<SocketAddr> {
        self.tcp()?.peer_addr().ok()
    }

    /// Returns the kernel's data about the connection, if the kernel gives them.
    pub(crate) fn info(&self) -> Option<TcpInfo> {
        tcp_info(self.tcp()?.as_fd())
    }

    /// Returns the path of the connection, from the kernel's data about it.
    pub(crate) fn path(&self, info: TcpInfo) -> Option<Path> {
        let congestion_control = congestion_control(self.tcp()?.as_fd());
        Some(Path { segment_bytes: info.segment_bytes, mtu_bytes: info.mtu_bytes, congestion_control })
    }
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Socket::Tcp(tcp) => Pin::new(tcp).poll_read(cx, buf),
            Socket::Brought(pipe) => Pin::new(pipe).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Socket::Tcp(tcp) => Pin::new(tcp).poll_write(cx, buf),
            Socket::Brought(pipe) => Pin::new(pipe).poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Socket::Tcp(tcp) => Pin::new(tcp).poll_write_vectored(cx, slices),
            Socket::Brought(pipe) => Pin::new(pipe).poll_write_vectored(cx, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Socket::Tcp(tcp) => tcp.is_write_vectored(),
            Socket::Brought(pipe) => pipe.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Socket::Tcp(tcp) => Pin::new(tcp).poll_flush(cx),
            Socket::Brought(pipe) => Pin::new(pipe).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Socket::Tcp(tcp) => Pin::new(tcp).poll_shutdown(cx),
            Socket::Brought(pipe) => Pin::new(pipe).poll_shutdown(cx),
        }
    }
}
