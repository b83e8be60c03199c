//! Highest rate of quinn: one stream of length-prefixed frames.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, Endpoint, ServerConfig};

use super::common::announce;
use super::{frames, tls};

const ALPN: &[u8] = b"lon-perf";

/// Answers one connection.
pub(crate) async fn serve(certificate: &Path, key: &Path) -> Result<()> {
    let tls = tls::server(certificate, key, ALPN)?;
    let config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    let endpoint = Endpoint::server(config, (Ipv4Addr::LOCALHOST, 0).into())?;
    announce(endpoint.local_addr()?)?;
    let connection = endpoint.accept().await.context("no connection came")?.await?;
    let (to, from) = connection.accept_bi().await?;
    frames::serve(from, to).await?;
    // The other side closes when it has every answer.
    connection.closed().await;
    Ok(())
}

/// Frames of `size` bytes per second.
pub(crate) async fn drive(address: SocketAddr, size: usize, seconds: f64, authority: &Path) -> Result<f64> {
    let tls = tls::client(authority, ALPN)?;
    let endpoint = Endpoint::client((Ipv4Addr::LOCALHOST, 0).into())?;
    let config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    let connection = endpoint.connect_with(config, address, "localhost")?.await?;
    let (to, from) = connection.open_bi().await?;
    let rate = frames::drive(from, to, size, seconds).await?;
    connection.close(0_u32.into(), b"");
    endpoint.wait_idle().await;
    Ok(rate)
}
