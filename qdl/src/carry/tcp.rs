//! A lane over plain TCP, or TLS: one connection, written and read by one task.

use lon_net::framing::Inbound;
use lon_net::io::NetStream;
use lon_net::tcp::StreamSource;
use lon_net::tls::Protocol;
use tokio::io::{AsyncWriteExt as _, ReadHalf, WriteHalf};

use super::{accepted, broken};
use crate::lane::Lane;
use crate::remote::Remote;
use crate::types::NodeFailure;

/// An open stream, and what came with its acceptance.
type Stream = (StreamSource<ReadHalf<NetStream>>, Inbound, WriteHalf<NetStream>);

/// Opens the stream with the framed message `open`.
pub(super) async fn open(remote: &Remote, open: &[u8], lane: &Lane) -> Result<Stream, NodeFailure> {
    let (reading, mut writing) = tokio::io::split(remote.dial(Protocol::Tcp).await.map_err(broken)?);
    writing.write_all(open).await.map_err(broken)?;
    writing.flush().await.map_err(broken)?;
    let mut source = StreamSource::new(reading);
    let inbound = accepted(&mut source, lane).await?;
    Ok((source, inbound, writing))
}
