//! Lanes over QUIC: a few share a connection, each a stream of its own.

use std::io;
use std::sync::Arc;

use lon_net::framing::Inbound;
use lon_net::quic::{self, Link, QuicSource, Trust};
use lon_net::tls::{ClientTls, TlsFiles, Unverified};
use quinn::{ClientConfig, SendStream};
use tokio::sync::OnceCell;

use super::{accepted, broken};
use crate::address::NodeAddress;
use crate::types::NodeFailure;

/// A connection that the first of its lanes opens, and the last one closes.
#[derive(Clone, Debug)]
pub(crate) struct SharedLink(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    address: String,
    config: ClientConfig,
    link: OnceCell<Link>,
}

/// An open stream, and what came with its acceptance.
type Stream = (QuicSource, Inbound, SendStream);

impl SharedLink {
    /// To a node with a certificate that `tls` accepts; without, to whoever answers.
    pub(crate) fn new(address: &NodeAddress, tls: Option<&ClientTls>) -> io::Result<SharedLink> {
        let config = match tls {
            Some(tls) => quic::client_config(Trust::Verified(tls))?,
            None => {
                let anyone = Unverified::new(&TlsFiles::default()).map_err(io::Error::other)?;
                quic::client_config(Trust::Anyone(&anyone))?
            }
        };
        Ok(SharedLink(Arc::new(Shared { address: address.to_string(), config, link: OnceCell::new() })))
    }

    /// Opens a stream with the framed message `open`; the connection first, if no other lane has.
    pub(super) async fn open(&self, open: &[u8]) -> Result<Stream, NodeFailure> {
        let Shared { address, config, link } = &*self.0;
        let link = link.get_or_try_init(|| quic::connect(address, config)).await.map_err(broken)?;
        let (mut sending, reading) = link.connection.open_bi().await.map_err(broken)?;
        sending.write_all(open).await.map_err(broken)?;
        let mut source = QuicSource::new(reading);
        let inbound = accepted(&mut source).await?;
        Ok((source, inbound, sending))
    }

    /// This lane has done with it; after the last one the node is told that it may forget the connection.
    pub(super) async fn leave(self) {
        if let Some(link) = Arc::into_inner(self.0).and_then(|shared| shared.link.into_inner()) {
            link.close().await;
        }
    }
}
