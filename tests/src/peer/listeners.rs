//! The ways to a scripted peer: one TCP port for gRPC and plain TCP, the UDP port of the same number for QUIC.

use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;

use lon_net::accept::{Accepted, accept};
use lon_net::io::NetStream;
use lon_net::quic::{self, QuicSource};
use lon_net::tcp::{self, StreamSource};
use lon_net::throwaway::Throwaway;
use lon_net::tls::ServerTls;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use super::service::ScriptedNode;
use super::{Scripted, stream};

/// A TCP port that is free over UDP, too, is found in so many tries.
const ATTEMPTS: usize = 16;

/// Connections that wait to be served.
const PLACES: usize = 64;

/// The two sockets of one number.
pub(super) struct Sockets {
    tcp: TcpListener,
    udp: UdpSocket,
}

impl Sockets {
    pub(super) fn bind() -> Sockets {
        // Sockets without a UDP partner stay open until a pair is found, or the system would offer the same port again.
        let mut half_taken = Vec::new();
        for _ in 0..ATTEMPTS {
            let tcp = TcpListener::bind("127.0.0.1:0").expect("a free port");
            match UdpSocket::bind(tcp.local_addr().expect("its address")) {
                Ok(udp) => return Sockets { tcp, udp },
                Err(_) => half_taken.push(tcp),
            }
        }
        panic!("no port is free for TCP and for UDP");
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.tcp.local_addr().expect("its address")
    }
}

/// Serves all transports until it is dropped.
pub(super) async fn serve(peer: Arc<Scripted>, sockets: Sockets, tls: Option<ServerTls>) {
    let (grpc, grpc_connections) = mpsc::channel(PLACES);
    let listening = listen(Arc::clone(&peer), sockets.tcp, tls.clone(), grpc);
    let node = ScriptedNode::new(Arc::clone(&peer));
    let serving = tonic::transport::Server::builder().serve_with_incoming(node, ReceiverStream::new(grpc_connections));
    let quic = serve_quic(peer, sockets.udp, tls);
    let ((), served, ()) = tokio::join!(listening, serving, quic);
    served.expect("gRPC is served");
}

async fn listen(
    peer: Arc<Scripted>,
    listener: TcpListener,
    tls: Option<ServerTls>,
    grpc: mpsc::Sender<io::Result<NetStream>>,
) {
    listener.set_nonblocking(true).expect("nonblocking");
    let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
    loop {
        let (socket, _) = listener.accept().await.expect("connections come");
        let (peer, tls, grpc) = (Arc::clone(&peer), tls.clone(), grpc.clone());
        tokio::spawn(async move {
            match accept(socket, tls.as_ref()).await {
                Ok(Accepted::Grpc(stream)) => drop(grpc.send(Ok(stream)).await),
                Ok(Accepted::Tcp(stream)) => carry_tcp(&peer, stream).await,
                // A caller that gave up, or was refused: the test sees what it makes of it.
                Err(_) => {}
            }
        });
    }
}

async fn carry_tcp(peer: &Arc<Scripted>, stream: NetStream) {
    peer.heard.lock().tcp_sockets.push(Arc::clone(stream.counters()));
    let (reading, mut writing) = tokio::io::split(stream);
    let answers = stream::open(peer, StreamSource::new(reading)).await.with_greeting();
    // It breaks when the other end goes first, as some tests want it to.
    let _ = tcp::write(&mut writing, answers, None).await;
}

async fn serve_quic(peer: Arc<Scripted>, socket: UdpSocket, tls: Option<ServerTls>) {
    let tls = tls.unwrap_or_else(|| {
        let own = Throwaway::new(&["localhost"]).expect("a certificate");
        own.server().expect("its own certificate")
    });
    let endpoint = quic::server_endpoint(socket, &tls).expect("QUIC is served");
    while let Some(incoming) = endpoint.accept().await {
        let peer = Arc::clone(&peer);
        tokio::spawn(async move {
            let Ok(connection) = incoming.await else { return };
            quic::welcome(&connection);
            while let Ok((mut sending, reading)) = connection.accept_bi().await {
                let peer = Arc::clone(&peer);
                tokio::spawn(async move {
                    let answers = stream::open(&peer, QuicSource::new(reading)).await.with_greeting();
                    let _ = quic::write(&mut sending, answers, None).await;
                });
            }
        });
    }
}
