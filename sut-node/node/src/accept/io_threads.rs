//! The threads that serve connections.
//!
//! The caller's thread is the first: it has the listener and the transports with ports of their own. Every further
//! thread has a runtime, an HTTP server and its share of the TCP connections, handshakes included. The threads meet in
//! the service, the answer queues and the sample queues only.

use std::io;
use std::thread::JoinHandle;
use std::time::Duration;

use futures_util::future::join_all;
use lon_net::tls::ServerTls;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot};

use super::acceptor::{Acceptor, Streams};
use super::grpc::Services;
use super::listener::{self, ByProtocol, Handshake, Listener, MAX_ON_THE_WAY, NewConnection};
use super::open_connections::OpenConnections;
use super::registry;
use crate::error::{ServeError, os};
use crate::service::claim::Claim;
use crate::stop::{Stop, Stopper, stop};

/// Interval at which a thread that stays awake during runs checks for a run.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// Everything that an I/O thread needs.
#[derive(Clone)]
pub(crate) struct IoThread {
    /// Receiver of the transports' streams.
    pub(crate) streams: Streams,
    /// The connections of all threads.
    pub(crate) open_connections: OpenConnections,
    /// The node and its health, as HTTP sees them.
    pub(crate) services: Services,
    /// TLS for connections of the TCP port; none: plain text.
    pub(crate) tls: Option<ServerTls>,
    /// While this node has a run, ask the network again and again instead of sleeping; none: sleep.
    pub(crate) busy_poll: Option<Claim>,
    /// Threads besides the caller's get real-time priority.
    pub(crate) realtime: bool,
    pub(crate) stop: Stop,
}

impl IoThread {
    /// Serves on the caller's thread: takes connections of the TCP port in for all threads, and has `transports`, which
    /// have ports of their own. Returns once the node is told to stop and every connection of all threads has ended.
    ///
    /// # Errors
    /// A transport failed as a whole, here or on another thread.
    pub(crate) async fn serve_first(
        self,
        listener: Listener,
        transports: Vec<Box<dyn Acceptor>>,
        others: &mut IoThreads,
    ) -> Result<(), ServeError> {
        let (handshake, of_tcp_port) = self.tcp_port();
        let (open_connections, stop) = (self.open_connections.clone(), self.stop.clone());
        let listening = listener::listen(listener, open_connections, handshake, others.take_senders(), stop.wait());
        let here = self.serve(of_tcp_port.into_iter().chain(transports));
        let ((), here, elsewhere) = tokio::join!(listening, here, others.outcome());
        here?;
        elsewhere
    }

    /// Returns the handshake and the transports for this thread's share of the TCP connections.
    fn tcp_port(&self) -> (Handshake, Vec<Box<dyn Acceptor>>) {
        let (then, transports): (ByProtocol, _) = registry::of_tcp_port(self.services.clone());
        (Handshake { tls: self.tls.clone(), then }, transports)
    }

    /// Runs transports on this thread until all of them have ended.
    async fn serve(self, transports: impl Iterator<Item = Box<dyn Acceptor>>) -> Result<(), ServeError> {
        if let Some(claim) = self.busy_poll {
            tokio::spawn(stay_awake(claim));
        }
        let serving = join_all(transports.map(|transport| transport.serve(self.streams.clone())));
        serving.await.into_iter().collect()
    }
}

/// Keeps the runtime from sleeping while a run has the node: each turn asks the sockets anew.
async fn stay_awake(claim: Claim) {
    loop {
        if claim.is_at_work() {
            tokio::task::yield_now().await;
        } else {
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    }
}

/// The I/O threads besides the caller's. They end when this is dropped.
pub(crate) struct IoThreads {
    threads: Vec<Started>,
    end: Stopper,
}

/// One thread that was started.
struct Started {
    /// Connections for it; none once the listener has it.
    sender: Option<mpsc::Sender<NewConnection>>,
    outcome: Option<oneshot::Receiver<Result<(), ServeError>>>,
    thread: Option<JoinHandle<()>>,
}

impl IoThreads {
    /// Starts `count` threads.
    ///
    /// # Errors
    /// The operating system has no thread or runtime left. Threads that were started end.
    pub(crate) fn start(count: usize, io: &IoThread) -> Result<IoThreads, ServeError> {
        let (end, until_end) = stop();
        // Threads that were started end with it if one cannot be.
        let mut all = IoThreads { threads: Vec::new(), end };
        for number in 1..=count {
            all.threads.push(Started::new(number, io.clone(), until_end.clone())?);
        }
        Ok(all)
    }

    /// Where to send the connections of each thread. The threads expect connections for as long as a sender is kept.
    fn take_senders(&mut self) -> Vec<mpsc::Sender<NewConnection>> {
        self.threads.iter_mut().filter_map(|thread| thread.sender.take()).collect()
    }

    /// Resolves when all of them have nothing left to serve.
    async fn outcome(&mut self) -> Result<(), ServeError> {
        for thread in &mut self.threads {
            let Some(outcome) = thread.outcome.take() else { continue };
            let died = |_| os("an I/O thread died")(io::Error::other("it panicked"));
            outcome.await.map_err(died)??;
        }
        Ok(())
    }
}

impl Drop for IoThreads {
    fn drop(&mut self) {
        self.end.tell();
        for thread in self.threads.iter_mut().filter_map(|thread| thread.thread.take()) {
            // Its outcome has reported a panic already.
            let _ = thread.join();
        }
    }
}

impl Started {
    fn new(number: usize, io: IoThread, end: Stop) -> Result<Started, ServeError> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(os("cannot start a runtime"))?;
        let (sender, connections) = mpsc::channel(MAX_ON_THE_WAY);
        let (tell, outcome) = oneshot::channel();
        let work = move || {
            if io.realtime
                && let Err(error) = lon_net::slice::realtime()
            {
                tracing::warn!(%error, "an I/O thread keeps its usual priority");
            }
            run(&runtime, io, connections, end, tell);
        };
        let thread = std::thread::Builder::new().name(format!("io-{number}")).spawn(work);
        let thread = thread.map_err(os("cannot start an I/O thread"))?;
        Ok(Started { sender: Some(sender), outcome: Some(outcome), thread: Some(thread) })
    }
}

/// Serves on a thread of its own until there is nothing left to serve, or until `end` is told.
fn run(
    runtime: &Runtime,
    io: IoThread,
    connections: mpsc::Receiver<NewConnection>,
    end: Stop,
    tell: oneshot::Sender<Result<(), ServeError>>,
) {
    runtime.block_on(async {
        let (handshake, transports) = io.tcp_port();
        let receiving = listener::receive(connections, handshake, io.stop.clone().wait());
        let serving = io.serve(transports.into_iter());
        tokio::select! {
            biased;
            ((), outcome) = async { tokio::join!(receiving, serving) } => drop(tell.send(outcome)),
            () = end.wait() => {}
        }
    });
}
