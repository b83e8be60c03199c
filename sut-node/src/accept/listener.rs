//! The door of a node: takes connections in, spreads them over the I/O threads, has them say what they speak, and hands
//! them on.
//!
//! Not here: what is then spoken on them. Nothing that a single connection does ends the loop.

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

/// Connections that are making their handshake at once; further ones wait in the kernel's backlog.
pub(crate) const MAX_HANDSHAKES: usize = 256;

/// Pause when the operating system has no descriptors left: until one is closed, accepting fails at once.
const OUT_OF_DESCRIPTORS_PAUSE: Duration = Duration::from_millis(100);

/// At most one log line in this time says so.
const COMPLAINT_INTERVAL: Duration = Duration::from_secs(1);

/// Where connections go. Whoever drops a receiver has those connections closed.
#[derive(Clone, Debug)]
pub(crate) struct Doors {
    /// HTTP/2: what tonic's `serve_with_incoming` takes, once the receiver is wrapped as a stream.
    pub(crate) grpc: mpsc::Sender<io::Result<NetStream>>,
    /// Ours, magic read.
    pub(crate) tcp: mpsc::Sender<NetStream>,
}

impl Doors {
    async fn hand_on(&self, accepted: Accepted) {
        // A receiver that is gone belongs to a node that shuts down.
        match accepted {
            Accepted::Grpc(stream) => drop(self.grpc.send(Ok(stream)).await),
            Accepted::Tcp(stream) => drop(self.tcp.send(stream).await),
        }
    }
}

/// Where the connections of one thread say what they speak, and where they go then.
#[derive(Clone, Debug)]
pub(crate) struct Reception {
    pub(crate) tls: Option<ServerTls>,
    pub(crate) doors: Doors,
}

/// A connection on its way to the thread that will serve it.
#[derive(Debug)]
pub(crate) struct Arrival {
    tcp: std::net::TcpStream,
    peer: SocketAddr,
    /// Among those that make their handshake.
    place: OwnedSemaphorePermit,
}

/// Accepts until `shutdown` resolves, then closes the port; connections that are still making their handshake are
/// closed with it. Runs on a runtime's worker; each handshake is a task of its own. Connections go to `reception` and to
/// the threads behind `elsewhere` in turn.
pub(crate) async fn listen(
    listener: TcpListener,
    reception: Reception,
    elsewhere: Vec<mpsc::Sender<Arrival>>,
    shutdown: impl Future<Output = ()>,
) {
    // Aborts what is in it when it is dropped.
    let mut handshakes = JoinSet::new();
    let places = Arc::new(Semaphore::new(MAX_HANDSHAKES));
    let mut complaints = Complaints::default();
    let mut turns = std::iter::once(None).chain(elsewhere.iter().map(Some)).cycle();
    let accepting = async {
        loop {
            // The place comes first: who has none stays in the backlog.
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            while handshakes.try_join_next().is_some() {}
            match listener.accept().await {
                Ok((tcp, peer)) => match turns.next().flatten() {
                    Some(door) => send_elsewhere(door, tcp, peer, place),
                    None => drop(handshakes.spawn(welcome(tcp, peer, reception.clone(), place))),
                },
                Err(error) if is_out_of_descriptors(&error) => {
                    if complaints.is_due(Instant::now()) {
                        tracing::warn!("connections wait: {error}; raise the limit on open files (ulimit -n)");
                    }
                    tokio::time::sleep(OUT_OF_DESCRIPTORS_PAUSE).await;
                }
                // The connection went away while it waited, or the like: the next one is another's.
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
    mut arrivals: mpsc::Receiver<Arrival>,
    reception: Reception,
    shutdown: impl Future<Output = ()>,
) {
    let mut handshakes = JoinSet::new();
    let receiving = async {
        while let Some(Arrival { tcp, peer, place }) = arrivals.recv().await {
            while handshakes.try_join_next().is_some() {}
            match TcpStream::from_std(tcp) {
                Ok(tcp) => drop(handshakes.spawn(welcome(tcp, peer, reception.clone(), place))),
                Err(error) => tracing::warn!("connection from {peer} cannot be served: {error}"),
            }
        }
        // The listener is gone; what it has let in may still become something.
        while handshakes.join_next().await.is_some() {}
    };
    tokio::select! {
        () = receiving => {}
        () = shutdown => {}
    }
}

/// Leaves this thread's reactor for another's.
fn send_elsewhere(door: &mpsc::Sender<Arrival>, tcp: TcpStream, peer: SocketAddr, place: OwnedSemaphorePermit) {
    match tcp.into_std() {
        // There is room for everybody who has a place. A thread that is gone belongs to a node that shuts down.
        Ok(tcp) => drop(door.try_send(Arrival { tcp, peer, place })),
        Err(error) => tracing::warn!("connection from {peer} cannot be served: {error}"),
    }
}

async fn welcome(tcp: TcpStream, peer: SocketAddr, reception: Reception, place: OwnedSemaphorePermit) {
    match accept(tcp, reception.tls.as_ref()).await {
        Ok(accepted) => reception.doors.hand_on(accepted).await,
        Err(error) if error.is_tls() => tracing::info!("connection from {peer} refused: {error}"),
        Err(error) => tracing::debug!("connection from {peer} refused: {error}"),
    }
    drop(place);
}

/// This process, or the whole machine, has as many files open as it may.
fn is_out_of_descriptors(error: &io::Error) -> bool {
    use nix::libc::{EMFILE, ENFILE};
    matches!(error.raw_os_error(), Some(EMFILE | ENFILE))
}

/// Keeps the log readable.
#[derive(Debug, Default)]
struct Complaints {
    last: Option<Instant>,
}

impl Complaints {
    fn is_due(&mut self, now: Instant) -> bool {
        let due = self.last.is_none_or(|last| now.duration_since(last) >= COMPLAINT_INTERVAL);
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
        grpc: mpsc::Receiver<io::Result<NetStream>>,
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
        let reception = Reception { tls, doors: Doors { grpc: grpc_sender, tcp: tcp_sender } };
        let shutdown = async {
            let _ = stopped.await;
        };
        let listening = tokio::spawn(listen(listener, reception, Vec::new(), shutdown));
        Node { address, grpc, tcp, stop, listening }
    }

    async fn both_arrive(node: &mut Node, tls: Option<&ClientTls>) {
        let _ours = dial(&node.address, tls, Protocol::Tcp, Arc::default()).await.unwrap();
        assert_eq!(node.tcp.recv().await.unwrap().is_tls(), tls.is_some());
        let mut http = dial(&node.address, tls, Protocol::Grpc, Arc::default()).await.unwrap();
        http.write_all(b"PRI * HTTP/2.0").await.unwrap();
        http.flush().await.unwrap();
        let mut preface = [0; 14];
        node.grpc.recv().await.unwrap().unwrap().read_exact(&mut preface).await.unwrap();
        assert_eq!(&preface, b"PRI * HTTP/2.0");
    }

    /// Clients that say nothing, or the wrong thing, are in nobody's way.
    #[tokio::test]
    async fn connections_go_through_the_right_door() {
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

    /// Three threads, this one among them: each gets every third, and nobody loses its place on the way.
    #[tokio::test]
    async fn connections_are_spread_in_turn() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let room = || {
            let (grpc, _) = mpsc::channel(4);
            let (tcp, room) = mpsc::channel(4);
            (Reception { tls: None, doors: Doors { grpc, tcp } }, room)
        };
        let (here, mut room_here) = room();
        let (doors, arrivals): (Vec<_>, Vec<_>) = (0..2).map(|_| mpsc::channel(MAX_HANDSHAKES)).unzip();
        let mut rooms_elsewhere = Vec::new();
        for arrivals in arrivals {
            let (elsewhere, room) = room();
            tokio::spawn(receive(arrivals, elsewhere, std::future::pending()));
            rooms_elsewhere.push(room);
        }
        tokio::spawn(listen(listener, here, doors, std::future::pending()));
        let mut kept = Vec::new();
        for _ in 0..2 {
            // One after the other, so that it is known whose turn it is.
            kept.push(dial(&address, None, Protocol::Tcp, Arc::default()).await.unwrap());
            room_here.recv().await.unwrap();
            for room in &mut rooms_elsewhere {
                kept.push(dial(&address, None, Protocol::Tcp, Arc::default()).await.unwrap());
                room.recv().await.unwrap();
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
        let mut complaints = Complaints::default();
        let start = Instant::now();
        let due = [0, 999, 1000, 1500, 2001].map(|ms| complaints.is_due(start + Duration::from_millis(ms)));
        assert_eq!(due, [true, false, true, false, true]);
    }
}
