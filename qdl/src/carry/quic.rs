//! Lanes over QUIC: a few share a connection, each a stream of its own.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use lon_net::framing::Inbound;
use lon_net::quic::{self, Link, QuicSource, Trust};
use lon_net::tls::{TlsFiles, Unverified};
use quinn::{ClientConfig, Connection, SendStream};
use tokio::sync::OnceCell;

use super::{accepted, broken};
use crate::lane::Lane;
use crate::remote::Remote;
use crate::types::NodeFailure;

/// A connection that the first of its lanes opens, and the last one closes.
#[derive(Clone, Debug)]
pub(crate) struct SharedLink(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    remote: Remote,
    config: ClientConfig,
    /// How long each of the node's addresses may take to answer.
    patience: Duration,
    /// What became of the one attempt, for all lanes: another would meet the same.
    link: OnceCell<Result<Link, NodeFailure>>,
}

/// An open stream, and what came with its acceptance.
type Stream = (QuicSource, Inbound, SendStream);

impl SharedLink {
    /// To a node with a certificate that `remote` accepts; without TLS of its own, to whoever answers.
    pub(crate) fn new(remote: Remote, patience: Duration) -> io::Result<SharedLink> {
        let config = match &remote.tls {
            Some(tls) => quic::client_config(Trust::Verified(tls))?,
            None => {
                let anyone = Unverified::new(&TlsFiles::default()).map_err(io::Error::other)?;
                quic::client_config(Trust::Anyone(&anyone))?
            }
        };
        Ok(SharedLink(Arc::new(Shared { remote, config, patience, link: OnceCell::new() })))
    }

    /// The connection, which the first to ask makes.
    pub(super) async fn connect(&self) -> Result<&Connection, NodeFailure> {
        let Shared { remote, config, patience, link } = &*self.0;
        let make = async || {
            let address = remote.address.to_string();
            let link = quic::connect_within(&address, config, *patience).await.map_err(broken)?;
            remote.sockets.linked(&link.connection);
            Ok(link)
        };
        match link.get_or_init(make).await {
            Ok(link) => Ok(&link.connection),
            Err(failure) => Err(failure.clone()),
        }
    }

    /// This lane has done with it; after the last one the node is told that it may forget the connection.
    pub(super) async fn leave(self) {
        let Some(Shared { remote, link, .. }) = Arc::into_inner(self.0) else { return };
        if let Some(Ok(link)) = link.into_inner() {
            let connection = link.connection.clone();
            link.close().await;
            remote.sockets.unlinked(&connection);
        }
    }
}

/// Opens a stream with the framed message `open`.
pub(super) async fn open(connection: &Connection, open: &[u8], lane: &Lane) -> Result<Stream, NodeFailure> {
    let (mut sending, reading) = connection.open_bi().await.map_err(broken)?;
    sending.write_all(open).await.map_err(broken)?;
    let mut source = QuicSource::new(reading);
    let inbound = accepted(&mut source, lane).await?;
    Ok((source, inbound, sending))
}
