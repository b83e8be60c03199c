//! The transport `quic`: four lanes share a connection, each on a stream of its own.

use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use lon_net::flow::{Fill, Source};
use lon_net::framing::Inbound;
use lon_net::quic::{self, Link, QuicSource, Trust};
use lon_net::tls::{TlsFiles, Unverified};
use quinn::{ClientConfig, Connection, SendStream};
use tokio::sync::OnceCell;
use tokio::task::JoinSet;
use tonic::Status;

use super::endpoint::Endpoint;
use super::lane_task::LaneTask;
use super::stream::{Outgoing, accepted, bare_accepted, broken, exchange, framed_open};
use super::transport::{BareStream, Carry};
use crate::dispatch::Lane;
use crate::error::ConnectError;
use crate::types::NodeFailure;

/// Streams of a connection.
const STREAMS: NonZeroUsize = NonZeroUsize::new(4).unwrap();

#[derive(Debug)]
pub(super) struct Quic;

impl Carry for Quic {
    fn name(&self) -> &'static str {
        "quic"
    }

    fn help(&self) -> &'static str {
        "UDP: several streams per connection, so that a large sample does not hold up small ones"
    }

    fn protocol(&self) -> &'static str {
        "QUIC over UDP"
    }

    fn segments(&self) -> &'static str {
        "QUIC"
    }

    fn lanes_per_connection(&self) -> NonZeroUsize {
        STREAMS
    }

    fn without_tls(&self) -> &'static str {
        "to whoever answers (and control calls go in plain text)"
    }

    fn counts_resends(&self) -> bool {
        true
    }

    fn carry(&self, endpoint: Endpoint, lanes: Vec<LaneTask>, tasks: &mut JoinSet<()>) -> Result<(), ConnectError> {
        let Some(timeout) = lanes.first().map(|lane| lane.timeout) else { return Ok(()) };
        let shared = SharedConnection::new(endpoint, timeout);
        let shared = shared.map_err(|error| ConnectError::Os { what: "QUIC", reason: error.to_string() })?;
        for lane in lanes {
            tasks.spawn(carry_lane(shared.clone(), lane));
        }
        Ok(())
    }

    fn bare_stream(&self, endpoint: Endpoint, fill: Box<dyn Fill>) -> BareStream {
        Box::pin(async move {
            let unknown = |error: io::Error| Status::unknown(error.to_string());
            let config = config(&endpoint).map_err(unknown)?;
            let link = quic::connect_at(&endpoint.address.to_string(), &endpoint.at, &config, CONNECT_TIMEOUT).await;
            let link = link.map_err(unknown)?;
            let (mut sending, reading) = link.connection.open_bi().await.map_err(|error| unknown(error.into()))?;
            // The connection lives as long as somebody writes; what fails here is seen by who reads.
            tokio::spawn(async move {
                let _ = quic::write(&mut sending, fill, None).await;
                link.close().await;
            });
            let mut source: Box<dyn Source> = Box::new(QuicSource::new(reading));
            let inbound = bare_accepted(&mut source).await?;
            Ok((source, inbound))
        })
    }
}

/// Longest time for each address of a node to answer a bare stream. The caller that opens the stream has a limit for
/// the whole.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

async fn carry_lane(shared: SharedConnection, task: LaneTask) {
    let LaneTask { dispatcher, lane, pass, timeout, opened, .. } = task;
    let open_message = framed_open(&pass, &lane);
    // Connecting has bounds of its own, one for each address of the node; the timeout is for what follows.
    let stream = match opened.gate.pass(shared.connect()).await {
        Ok(connection) => opened.wait(timeout, open(connection, &open_message, &lane)).await,
        Err(failure) => opened.send(Err(failure)),
    };
    if let Some((source, inbound, mut sending)) = stream {
        let writing = quic::write(&mut sending, Outgoing::new(&dispatcher, &lane, None), Some(&*lane));
        exchange(&dispatcher, &lane, source, inbound, writing).await;
    }
    shared.leave().await;
}

/// A connection that the first of its lanes opens, and the last one closes.
#[derive(Clone, Debug)]
struct SharedConnection(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    endpoint: Endpoint,
    config: ClientConfig,
    /// Longest time for each of the node's addresses to answer.
    timeout: Duration,
    /// The outcome of the one attempt, for all lanes: another attempt would meet the same.
    link: OnceCell<Result<Link, NodeFailure>>,
}

/// For a node with a certificate that `endpoint` accepts. Without TLS any node that answers is accepted.
fn config(endpoint: &Endpoint) -> io::Result<ClientConfig> {
    match &endpoint.tls {
        Some(tls) => quic::client_config(Trust::Verified(tls)),
        None => {
            let anyone = Unverified::new(&TlsFiles::default()).map_err(io::Error::other)?;
            quic::client_config(Trust::Anyone(&anyone))
        }
    }
}

/// An open stream, and the bytes that came behind its acceptance.
type Stream = (QuicSource, Inbound, SendStream);

impl SharedConnection {
    fn new(endpoint: Endpoint, timeout: Duration) -> io::Result<SharedConnection> {
        let config = config(&endpoint)?;
        Ok(SharedConnection(Arc::new(Shared { endpoint, config, timeout, link: OnceCell::new() })))
    }

    /// The connection. The first lane that asks makes it, the others wait for that.
    async fn connect(&self) -> Result<&Connection, NodeFailure> {
        let Shared { endpoint, config, timeout, link } = &*self.0;
        let make = async || {
            let address = endpoint.address.to_string();
            let link = quic::connect_at(&address, &endpoint.at, config, *timeout).await.map_err(broken)?;
            endpoint.sockets.quic_opened(&link.connection);
            Ok(link)
        };
        match link.get_or_init(make).await {
            Ok(link) => Ok(&link.connection),
            Err(failure) => Err(failure.clone()),
        }
    }

    /// This lane is done with the connection. The last lane closes it, so that the node may forget it.
    async fn leave(self) {
        let Some(Shared { endpoint, link, .. }) = Arc::into_inner(self.0) else { return };
        if let Some(Ok(link)) = link.into_inner() {
            let connection = link.connection.clone();
            link.close().await;
            endpoint.sockets.quic_closed(&connection);
        }
    }
}

/// Opens a stream with the framed message `open_message`.
async fn open(connection: &Connection, open_message: &[u8], lane: &Lane) -> Result<Stream, NodeFailure> {
    let (mut sending, reading) = connection.open_bi().await.map_err(broken)?;
    sending.write_all(open_message).await.map_err(broken)?;
    let mut source = QuicSource::new(reading);
    let inbound = accepted(&mut source, lane).await?;
    Ok((source, inbound, sending))
}
