//! The TCP port of a node: takes connections in, spreads them over the I/O threads, makes the handshake, finds out what
//! is spoken on each connection, and hands it to that transport.
//!
//! What is then spoken is not known here. Nothing that a single connection does ends the loop, and nobody has to wait:
//! when there are too many clients, others leave for the one that comes.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use lon_net::accept::{Accepted, accept};
use lon_net::clock;
use lon_net::io::NetStream;
use lon_net::socket::Socket;
use lon_net::tls::ServerTls;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::open_connection::OpenConnection;
use super::open_connections::OpenConnections;
use super::sockets::{Brought, Port};

/// Pause in accepting while the next connection would replace one that has only just come.
const CROWDED_PAUSE: Duration = Duration::from_millis(2);

/// Pause in accepting when the operating system has no descriptors left: until one is closed, it fails at once.
const OUT_OF_DESCRIPTORS_PAUSE: Duration = Duration::from_millis(20);

/// Number of connections that may be on their way to one I/O thread.
pub(crate) const MAX_ON_THE_WAY: usize = 512;

/// The log says so once in this time at most.
const WARNING_INTERVAL: Duration = Duration::from_secs(1);

/// A connection that a transport is to serve, and its entry among the open connections.
#[derive(Debug)]
pub(crate) struct Visit {
    pub(crate) stream: NetStream,
    pub(crate) entry: OpenConnection,
}

/// The port that connections come from, in use.
pub(crate) enum Listener {
    Tcp(TcpListener),
    Brought(Brought),
}

impl Listener {
    /// Must be called on the runtime that will accept.
    ///
    /// # Errors
    /// The operating system refuses.
    pub(crate) fn new(port: Port) -> io::Result<Listener> {
        Ok(match port {
            Port::Tcp(tcp) => {
                tcp.set_nonblocking(true)?;
                Listener::Tcp(TcpListener::from_std(tcp)?)
            }
            Port::Brought(connections) => Listener::Brought(connections),
        })
    }

    /// The next connection. On a network that was brought and is gone, none comes any more.
    pub(super) async fn accept(&mut self) -> io::Result<(Socket, SocketAddr)> {
        match self {
            Listener::Tcp(tcp) => tcp.accept().await.map(|(tcp, client)| (Socket::Tcp(tcp), client)),
            Listener::Brought(connections) => match connections.recv().await {
                Some(connection) => Ok(connection),
                None => std::future::pending().await,
            },
        }
    }
}

/// Where the connections of one I/O thread go, by what is spoken on them. When a receiver is dropped, its connections
/// are closed.
#[derive(Clone, Debug)]
pub(crate) struct ByProtocol {
    /// Connections that begin as HTTP/2 does. The first bytes are still to be read.
    pub(crate) grpc: mpsc::Sender<Visit>,
    /// Connections that begin with our magic, which has been read.
    pub(crate) tcp: mpsc::Sender<Visit>,
}

impl ByProtocol {
    async fn hand_over(&self, accepted: Accepted, entry: OpenConnection) {
        let (transport, stream) = match accepted {
            Accepted::Grpc(stream) => (&self.grpc, stream),
            Accepted::Tcp(stream) => (&self.tcp, stream),
        };
        // A receiver that is gone belongs to a node that shuts down.
        drop(transport.send(Visit { stream, entry }).await);
    }
}

/// Handshake of the connections of one I/O thread, and their destinations after it.
#[derive(Clone, Debug)]
pub(crate) struct Handshake {
    /// TLS for every connection; none: plain text.
    pub(crate) tls: Option<ServerTls>,
    pub(crate) then: ByProtocol,
}

impl Handshake {
    /// Finds out what is spoken on a connection and hands it over. One that speaks nothing we know is closed.
    async fn make(self, socket: Socket, client: SocketAddr, entry: OpenConnection) {
        let handshake = entry.serve(async {
            match accept(socket, self.tls.as_ref()).await {
                Ok(accepted) => self.then.hand_over(accepted, entry.clone()).await,
                Err(error) if error.is_tls() => tracing::info!(%client, %error, "a client was refused"),
                Err(error) => tracing::debug!(%client, %error, "a client was refused"),
            }
        });
        if let Err(why) = handshake.await {
            tracing::debug!(%client, %why, "connection closed");
        }
    }
}

/// A connection on its way to the I/O thread that will serve it.
#[derive(Debug)]
pub(crate) struct NewConnection {
    tcp: std::net::TcpStream,
    client: SocketAddr,
    entry: OpenConnection,
}

/// Accepts until `shutdown` resolves, then closes the port; connections that are still making their handshake are
/// closed with it. Connections join `open_connections` and make `handshake` here, each in a task of its own, and on the
/// threads behind `elsewhere`, in turn.
pub(crate) async fn listen(
    mut listener: Listener,
    open_connections: OpenConnections,
    handshake: Handshake,
    elsewhere: Vec<mpsc::Sender<NewConnection>>,
    shutdown: impl Future<Output = ()>,
) {
    // Aborts its tasks when it is dropped.
    let mut handshakes = JoinSet::new();
    let mut warnings = WarningLimit::default();
    let mut turns = std::iter::once(None).chain(elsewhere.iter().map(Some)).cycle();
    let accepting = async {
        loop {
            while handshakes.try_join_next().is_some() {}
            match listener.accept().await {
                Ok((socket, client)) => {
                    while open_connections.is_crowded(client.ip()) {
                        tokio::time::sleep(CROWDED_PAUSE).await;
                    }
                    match (open_connections.enter(client.ip()), turns.next().flatten(), socket) {
                        (Some(entry), Some(thread), Socket::Tcp(tcp)) => send_elsewhere(thread, tcp, client, entry),
                        (Some(entry), _, socket) => {
                            handshakes.spawn(handshake.clone().make(socket, client, entry));
                        }
                        (None, ..) => tracing::debug!(%client, "connection closed: the run has all there may be"),
                    }
                    // The new connection's task gets a turn before the loop accepts the next connection.
                    tokio::task::yield_now().await;
                }
                Err(error) if is_out_of_descriptors(&error) => {
                    open_connections.make_room();
                    if warnings.is_due(clock::now()) {
                        tracing::warn!(%error, "connections wait: raise the limit on open files (ulimit -n)");
                    }
                    tokio::time::sleep(OUT_OF_DESCRIPTORS_PAUSE).await;
                }
                // The connection went away while it waited, or the like. The next one is another client's.
                Err(error) => tracing::debug!(%error, "a connection could not be accepted"),
            }
        }
    };
    tokio::select! {
        biased;
        () = accepting => {}
        () = shutdown => {}
    }
}

/// Takes in what [`listen`] has sent to this thread, until `shutdown` resolves or nothing more can come.
pub(crate) async fn receive(
    mut connections: mpsc::Receiver<NewConnection>,
    handshake: Handshake,
    shutdown: impl Future<Output = ()>,
) {
    let mut handshakes = JoinSet::new();
    let receiving = async {
        while let Some(NewConnection { tcp, client, entry }) = connections.recv().await {
            while handshakes.try_join_next().is_some() {}
            match TcpStream::from_std(tcp) {
                Ok(tcp) => drop(handshakes.spawn(handshake.clone().make(Socket::Tcp(tcp), client, entry))),
                Err(error) => tracing::warn!(%client, %error, "connection cannot be served"),
            }
        }
        // The listener is gone, but connections that it took in may still become streams.
        while handshakes.join_next().await.is_some() {}
    };
    tokio::select! {
        biased;
        () = receiving => {}
        () = shutdown => {}
    }
}

/// Serves every connection that comes in, each in a task of its own, until no more can come and all have ended.
pub(crate) async fn serve_each<F>(mut incoming: mpsc::Receiver<Visit>, serve: impl Fn(Visit) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            Some(_) = connections.join_next() => {}
            visit = incoming.recv() => match visit {
                Some(visit) => drop(connections.spawn(serve(visit))),
                // The listener is gone: the node shuts down.
                None => break,
            },
        }
    }
    while connections.join_next().await.is_some() {}
}

/// Moves a connection from this thread's reactor to another thread.
fn send_elsewhere(thread: &mpsc::Sender<NewConnection>, tcp: TcpStream, client: SocketAddr, entry: OpenConnection) {
    match tcp.into_std() {
        // Without room: a flood that the thread is behind with. A thread that is gone belongs to a node that shuts
        // down.
        Ok(tcp) => drop(thread.try_send(NewConnection { tcp, client, entry })),
        Err(error) => tracing::warn!(%client, %error, "connection cannot be served"),
    }
}

/// Returns true when this process, or the whole machine, has as many files open as it may.
fn is_out_of_descriptors(error: &io::Error) -> bool {
    use nix::libc::{EMFILE, ENFILE};
    matches!(error.raw_os_error(), Some(EMFILE | ENFILE))
}

/// Keeps a warning that would come again and again from filling the log.
#[derive(Debug, Default)]
struct WarningLimit {
    last: Option<Instant>,
}

impl WarningLimit {
    /// Returns true when the log may have the warning at `now`.
    fn is_due(&mut self, now: Instant) -> bool {
        let due = self.last.is_none_or(|last| now.duration_since(last) >= WARNING_INTERVAL);
        if due {
            self.last = Some(now);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use lon_net::dial::dial;
    use lon_net::throwaway::Throwaway;
    use lon_net::tls::{ClientTls, Protocol};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::sync::oneshot;
    use tokio::task::JoinHandle;

    use super::*;

    struct Node {
        address: String,
        grpc: mpsc::Receiver<Visit>,
        tcp: mpsc::Receiver<Visit>,
        stop: oneshot::Sender<()>,
        listening: JoinHandle<()>,
    }

    async fn node(tls: Option<ServerTls>) -> Node {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (grpc_sender, grpc) = mpsc::channel(4);
        let (tcp_sender, tcp) = mpsc::channel(4);
        let (stop, stopped) = oneshot::channel();
        let handshake = Handshake { tls, then: ByProtocol { grpc: grpc_sender, tcp: tcp_sender } };
        let shutdown = async {
            let _ = stopped.await;
        };
        let listening =
            tokio::spawn(listen(Listener::Tcp(listener), OpenConnections::new(), handshake, Vec::new(), shutdown));
        Node { address, grpc, tcp, stop, listening }
    }

    async fn both_arrive(node: &mut Node, tls: Option<&ClientTls>) {
        let _ours = dial(&node.address, tls, Protocol::Tcp, Arc::default()).await.unwrap();
        assert_eq!(node.tcp.recv().await.unwrap().stream.is_tls(), tls.is_some());
        let mut http = dial(&node.address, tls, Protocol::Grpc, Arc::default()).await.unwrap();
        http.write_all(b"PRI * HTTP/2.0").await.unwrap();
        http.flush().await.unwrap();
        let mut preface = [0; 14];
        node.grpc.recv().await.unwrap().stream.read_exact(&mut preface).await.unwrap();
        assert_eq!(&preface, b"PRI * HTTP/2.0");
    }

    /// Clients that say nothing, or the wrong thing, are in nobody's way.
    #[tokio::test]
    async fn connections_go_to_the_transport_that_they_speak() {
        let certificates = Throwaway::new(&["127.0.0.1"]).unwrap();
        for (server, client) in
            [(None, None), (Some(certificates.server().unwrap()), Some(certificates.client().unwrap()))]
        {
            let mut node = node(server).await;
            let _silent = TcpStream::connect(&node.address).await.unwrap();
            let mut wrong = TcpStream::connect(&node.address).await.unwrap();
            wrong.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
            both_arrive(&mut node, client.as_ref()).await;
            assert!(wrong.read_u8().await.is_err(), "it is closed");
        }
    }

    /// Three threads, this one among them: each gets every third, and no connection is lost on the way.
    #[tokio::test]
    async fn connections_are_spread_in_turn() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let thread = || {
            let (grpc, _) = mpsc::channel(4);
            let (tcp, incoming) = mpsc::channel(4);
            (Handshake { tls: None, then: ByProtocol { grpc, tcp } }, incoming)
        };
        let (here, mut incoming_here) = thread();
        let (senders, receivers): (Vec<_>, Vec<_>) = (0..2).map(|_| mpsc::channel(MAX_ON_THE_WAY)).unzip();
        let mut incoming_elsewhere = Vec::new();
        for connections in receivers {
            let (elsewhere, incoming) = thread();
            tokio::spawn(receive(connections, elsewhere, std::future::pending()));
            incoming_elsewhere.push(incoming);
        }
        tokio::spawn(listen(Listener::Tcp(listener), OpenConnections::new(), here, senders, std::future::pending()));
        let mut connections = Vec::new();
        for _ in 0..2 {
            // One after the other, so that it is known whose turn it is.
            connections.push(dial(&address, None, Protocol::Tcp, Arc::default()).await.unwrap());
            incoming_here.recv().await.unwrap();
            for incoming in &mut incoming_elsewhere {
                connections.push(dial(&address, None, Protocol::Tcp, Arc::default()).await.unwrap());
                incoming.recv().await.unwrap();
            }
        }
    }

    #[tokio::test]
    async fn shutdown_closes_the_port_and_ends_handshakes() {
        let node = node(None).await;
        let mut silent = TcpStream::connect(&node.address).await.unwrap();
        node.stop.send(()).unwrap();
        node.listening.await.unwrap();
        assert!(silent.read_u8().await.is_err());
        assert!(TcpStream::connect(&node.address).await.is_err());
    }

    /// Far more silent clients than there may be: whoever speaks is served, and the first silent ones are closed.
    #[tokio::test]
    async fn the_silent_are_in_nobodys_way() {
        let mut node = node(None).await;
        let mut silent = Vec::new();
        for _ in 0..500 {
            silent.push(TcpStream::connect(&node.address).await.unwrap());
        }
        let _ours = dial(&node.address, None, Protocol::Tcp, Arc::default()).await.unwrap();
        assert!(node.tcp.recv().await.is_some());
        assert!(silent[0].read_u8().await.is_err(), "it is closed");
        let last = silent.last_mut().unwrap();
        assert!(tokio::time::timeout(Duration::from_millis(20), last.read_u8()).await.is_err(), "it is not");
    }

    #[test]
    fn want_of_descriptors_is_known_and_not_repeated() {
        use nix::libc::{ECONNABORTED, EMFILE, ENFILE};
        assert!([EMFILE, ENFILE].map(io::Error::from_raw_os_error).iter().all(is_out_of_descriptors));
        assert!(!is_out_of_descriptors(&io::Error::from_raw_os_error(ECONNABORTED)));
        let mut warnings = WarningLimit::default();
        let start = clock::now();
        let due = [0, 999, 1000, 1500, 2001].map(|ms| warnings.is_due(start + Duration::from_millis(ms)));
        assert_eq!(due, [true, false, true, false, true]);
    }
}
