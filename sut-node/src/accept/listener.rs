//! The TCP port of a node: takes connections in, spreads them over the I/O threads, makes the handshake, finds out what
//! is spoken on each connection, and hands it to that transport.
//!
//! What is then spoken is not known here. Nothing that a single connection does ends the loop.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lon_net::accept::{Accepted, accept};
use lon_net::io::NetStream;
use lon_net::tls::ServerTls;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;

/// How many connections may make their handshake at one time. Further ones wait in the kernel's backlog.
pub(crate) const MAX_HANDSHAKES: usize = 256;

/// How long accepting pauses when the operating system has no descriptors left: until one is closed, it fails at once.
const OUT_OF_DESCRIPTORS_PAUSE: Duration = Duration::from_millis(100);

/// The log says so once in this time at most.
const WARNING_INTERVAL: Duration = Duration::from_secs(1);

/// Where the connections of one I/O thread go, by what is spoken on them. When a receiver is dropped, its connections
/// are closed.
#[derive(Clone, Debug)]
pub(crate) struct ByProtocol {
    /// Connections that begin as HTTP/2 does. The first bytes are still to be read.
    pub(crate) grpc: mpsc::Sender<NetStream>,
    /// Connections that begin with our magic, which has been read.
    pub(crate) tcp: mpsc::Sender<NetStream>,
}

impl ByProtocol {
    async fn hand_over(&self, accepted: Accepted) {
        // A receiver that is gone belongs to a node that shuts down.
        match accepted {
            Accepted::Grpc(stream) => drop(self.grpc.send(stream).await),
            Accepted::Tcp(stream) => drop(self.tcp.send(stream).await),
        }
    }
}

/// How the connections of one I/O thread make their handshake, and where they go then.
#[derive(Clone, Debug)]
pub(crate) struct Handshake {
    /// TLS for every connection; none: plain text.
    pub(crate) tls: Option<ServerTls>,
    pub(crate) then: ByProtocol,
}

impl Handshake {
    /// Finds out what is spoken on a connection and hands it over. One that speaks nothing we know is closed.
    async fn make(self, tcp: TcpStream, client: SocketAddr, permit: OwnedSemaphorePermit) {
        match accept(tcp, self.tls.as_ref()).await {
            Ok(accepted) => self.then.hand_over(accepted).await,
            Err(error) if error.is_tls() => tracing::info!("connection from {client} refused: {error}"),
            Err(error) => tracing::debug!("connection from {client} refused: {error}"),
        }
        drop(permit);
    }
}

/// A connection on its way to the I/O thread that will serve it.
#[derive(Debug)]
pub(crate) struct NewConnection {
    tcp: std::net::TcpStream,
    client: SocketAddr,
    /// Counts it among those that make their handshake.
    permit: OwnedSemaphorePermit,
}

/// Accepts until `shutdown` resolves, then closes the port; connections that are still making their handshake are
/// closed with it. Connections make `handshake` here, each in a task of its own, and on the threads behind `elsewhere`,
/// in turn.
pub(crate) async fn listen(
    listener: TcpListener,
    handshake: Handshake,
    elsewhere: Vec<mpsc::Sender<NewConnection>>,
    shutdown: impl Future<Output = ()>,
) {
    // Aborts its tasks when it is dropped.
    let mut handshakes = JoinSet::new();
    let permits = Arc::new(Semaphore::new(MAX_HANDSHAKES));
    let mut warnings = WarningLimit::default();
    let mut turns = std::iter::once(None).chain(elsewhere.iter().map(Some)).cycle();
    let accepting = async {
        loop {
            // The permit comes first: a connection that has none stays in the backlog.
            let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
            while handshakes.try_join_next().is_some() {}
            match listener.accept().await {
                Ok((tcp, client)) => match turns.next().flatten() {
                    Some(thread) => send_elsewhere(thread, tcp, client, permit),
                    None => drop(handshakes.spawn(handshake.clone().make(tcp, client, permit))),
                },
                Err(error) if is_out_of_descriptors(&error) => {
                    if warnings.is_due(Instant::now()) {
                        tracing::warn!("connections wait: {error}; raise the limit on open files (ulimit -n)");
                    }
                    tokio::time::sleep(OUT_OF_DESCRIPTORS_PAUSE).await;
                }
                // The connection went away while it waited, or the like. The next one is another client's.
                Err(error) => tracing::debug!("a connection could not be accepted: {error}"),
            }
        }
    };
    tokio::select! {
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
        while let Some(NewConnection { tcp, client, permit }) = connections.recv().await {
            while handshakes.try_join_next().is_some() {}
            match TcpStream::from_std(tcp) {
                Ok(tcp) => drop(handshakes.spawn(handshake.clone().make(tcp, client, permit))),
                Err(error) => tracing::warn!("connection from {client} cannot be served: {error}"),
            }
        }
        // The listener is gone, but connections that it took in may still become streams.
        while handshakes.join_next().await.is_some() {}
    };
    tokio::select! {
        () = receiving => {}
        () = shutdown => {}
    }
}

/// Moves a connection from this thread's reactor to another thread.
fn send_elsewhere(
    thread: &mpsc::Sender<NewConnection>,
    tcp: TcpStream,
    client: SocketAddr,
    permit: OwnedSemaphorePermit,
) {
    match tcp.into_std() {
        // There is room for every connection that has a permit. A thread that is gone belongs to a node that shuts
        // down.
        Ok(tcp) => drop(thread.try_send(NewConnection { tcp, client, permit })),
        Err(error) => tracing::warn!("connection from {client} cannot be served: {error}"),
    }
}

/// Whether this process, or the whole machine, has as many files open as it may.
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
    /// Whether the warning may be logged at `now`.
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
    use lon_net::dial::dial;
    use lon_net::throwaway::Throwaway;
    use lon_net::tls::{ClientTls, Protocol};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::sync::oneshot;
    use tokio::task::JoinHandle;

    use super::*;

    struct Node {
        address: String,
        grpc: mpsc::Receiver<NetStream>,
        tcp: mpsc::Receiver<NetStream>,
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
        let listening = tokio::spawn(listen(listener, handshake, Vec::new(), shutdown));
        Node { address, grpc, tcp, stop, listening }
    }

    async fn both_arrive(node: &mut Node, tls: Option<&ClientTls>) {
        let _ours = dial(&node.address, tls, Protocol::Tcp, Arc::default()).await.unwrap();
        assert_eq!(node.tcp.recv().await.unwrap().is_tls(), tls.is_some());
        let mut http = dial(&node.address, tls, Protocol::Grpc, Arc::default()).await.unwrap();
        http.write_all(b"PRI * HTTP/2.0").await.unwrap();
        http.flush().await.unwrap();
        let mut preface = [0; 14];
        node.grpc.recv().await.unwrap().read_exact(&mut preface).await.unwrap();
        assert_eq!(&preface, b"PRI * HTTP/2.0");
    }

    /// Clients that say nothing, or the wrong thing, are in nobody's way.
    #[tokio::test]
    async fn connections_go_to_the_transport_that_they_speak() {
        let made = Throwaway::new(&["127.0.0.1"]).unwrap();
        for (server, client) in [(None, None), (Some(made.server().unwrap()), Some(made.client().unwrap()))] {
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
        let (senders, receivers): (Vec<_>, Vec<_>) = (0..2).map(|_| mpsc::channel(MAX_HANDSHAKES)).unzip();
        let mut incoming_elsewhere = Vec::new();
        for connections in receivers {
            let (elsewhere, incoming) = thread();
            tokio::spawn(receive(connections, elsewhere, std::future::pending()));
            incoming_elsewhere.push(incoming);
        }
        tokio::spawn(listen(listener, here, senders, std::future::pending()));
        let mut kept = Vec::new();
        for _ in 0..2 {
            // One after the other, so that it is known whose turn it is.
            kept.push(dial(&address, None, Protocol::Tcp, Arc::default()).await.unwrap());
            incoming_here.recv().await.unwrap();
            for incoming in &mut incoming_elsewhere {
                kept.push(dial(&address, None, Protocol::Tcp, Arc::default()).await.unwrap());
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

    /// More silent clients than may make their handshake at once: the next is served when one of them leaves.
    #[tokio::test]
    async fn handshakes_are_bounded() {
        let mut node = node(None).await;
        let mut silent = Vec::new();
        for _ in 0..MAX_HANDSHAKES {
            silent.push(TcpStream::connect(&node.address).await.unwrap());
        }
        let _ours = dial(&node.address, None, Protocol::Tcp, Arc::default()).await.unwrap();
        for _ in 0..1000 {
            tokio::task::yield_now().await;
        }
        assert!(node.tcp.try_recv().is_err());
        silent.pop();
        assert!(node.tcp.recv().await.is_some());
    }

    #[test]
    fn want_of_descriptors_is_known_and_not_repeated() {
        use nix::libc::{ECONNABORTED, EMFILE, ENFILE};
        assert!([EMFILE, ENFILE].map(io::Error::from_raw_os_error).iter().all(is_out_of_descriptors));
        assert!(!is_out_of_descriptors(&io::Error::from_raw_os_error(ECONNABORTED)));
        let mut warnings = WarningLimit::default();
        let start = Instant::now();
        let due = [0, 999, 1000, 1500, 2001].map(|ms| warnings.is_due(start + Duration::from_millis(ms)));
        assert_eq!(due, [true, false, true, false, true]);
    }
}
