//! Highest rate of one TCP connection: length-prefixed frames, nothing decoded, nothing copied twice.

use std::net::{SocketAddr, TcpListener};

use anyhow::Result;
use tokio::net::TcpStream;

use super::frames;

/// Answers one connection.
pub(crate) async fn serve(listener: TcpListener) -> Result<()> {
    listener.set_nonblocking(true)?;
    let (mut stream, _) = tokio::net::TcpListener::from_std(listener)?.accept().await?;
    stream.set_nodelay(true)?;
    let (from, to) = stream.split();
    frames::serve(from, to).await
}

/// Frames of `size` bytes per second.
pub(crate) async fn drive(address: SocketAddr, size: usize, seconds: f64) -> Result<f64> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (from, to) = stream.split();
    frames::drive(from, to, size, seconds).await
}
