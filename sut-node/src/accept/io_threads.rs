//! The side of a node that faces the network: its ports, and the threads that serve what comes in.
//!
//! The caller's thread is the first: it has the listener and QUIC. Every further one has a runtime, an HTTP server and a
//! share of the TCP connections of its own, handshakes included; they meet in the service, the lanes and the queues only.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use lon_net::io::NetStream;
use lon_net::quic;
use lon_net::throwaway::Throwaway;
use lon_net::tls::ServerTls;
use lon_proto::limits;
use quinn::Endpoint;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_stream::wrappers::ReceiverStream;
use tonic::service::Routes;
use tonic::transport::Server;

use crate::accept::listener::{self, Arrival, Doors, MAX_HANDSHAKES, Reception};
use crate::accept::streams;
use crate::service::calls::{GrpcNode, Service};
use crate::{ServeError, Sockets, os, stay_awake, stopped};

/// Connections that have said what they speak and wait to be served.
const DOOR_PLACES: usize = 64;

/// What every thread that serves connections needs.
#[derive(Clone)]
pub(crate) struct Serving {
    pub(crate) service: Arc<Service>,
    /// The same over HTTP, health beside it.
    pub(crate) routes: Routes,
    pub(crate) tls: Option<ServerTls>,
    /// Ask again and again instead of sleeping.
    pub(crate) busy_poll: bool,
    pub(crate) stop: watch::Receiver<bool>,
}

/// The ports of a node.
pub(crate) struct Front {
    tcp: TcpListener,
    pub(crate) quic: Endpoint,
}

impl Front {
    /// On a runtime, which drives QUIC from here on.
    pub(crate) fn open(sockets: Sockets, tls: Option<&ServerTls>) -> Result<Front, ServeError> {
        let Sockets { tcp, udp, .. } = sockets;
        tcp.set_nonblocking(true).map_err(os("cannot use the listener"))?;
        let tcp = TcpListener::from_std(tcp).map_err(os("cannot use the listener"))?;
        let for_quic = match tls {
            Some(tls) => tls.clone(),
            None => Throwaway::new(&["localhost"])?.server()?,
        };
        let quic = quic::server_endpoint(udp, &for_quic).map_err(os("cannot serve QUIC"))?;
        Ok(Front { tcp, quic })
    }

    /// Serves all three transports, on this thread and on `others`. Returns once the node is told to stop and every
    /// connection has ended.
    pub(crate) async fn serve(self, serving: Serving, others: &mut IoThreads) -> Result<(), ServeError> {
        let stop = serving.stop.clone();
        let (reception, rooms) = reception(&serving);
        let listening = listener::listen(self.tcp, reception, others.take_doors(), stopped(stop.clone()));
        let quic = streams::serve_quic(Arc::clone(&serving.service), self.quic, stop);
        let ((), here, (), elsewhere) = tokio::join!(listening, rooms.serve(serving), quic, others.outcome());
        here?;
        elsewhere
    }
}

/// Where connections go that one thread has taken in.
struct Rooms {
    grpc: mpsc::Receiver<io::Result<NetStream>>,
    tcp: mpsc::Receiver<NetStream>,
}

fn reception(serving: &Serving) -> (Reception, Rooms) {
    let (grpc, grpc_room) = mpsc::channel(DOOR_PLACES);
    let (tcp, tcp_room) = mpsc::channel(DOOR_PLACES);
    let reception = Reception { tls: serving.tls.clone(), doors: Doors { grpc, tcp } };
    (reception, Rooms { grpc: grpc_room, tcp: tcp_room })
}

impl Rooms {
    /// Serves the connections of this thread. Returns once the node is told to stop and they have ended.
    async fn serve(self, serving: Serving) -> Result<(), tonic::transport::Error> {
        if serving.busy_poll {
            tokio::spawn(stay_awake(serving.service.claim_cell()));
        }
        let grpc = Server::builder()
            .initial_stream_window_size(limits::HTTP2_STREAM_WINDOW_BYTES)
            .initial_connection_window_size(limits::HTTP2_CONNECTION_WINDOW_BYTES)
            .max_frame_size(limits::HTTP2_FRAME_BYTES)
            // A LoadGen node whose host died closes nothing; its claim must lapse all the same.
            .http2_keepalive_interval(Some(limits::KEEPALIVE_INTERVAL))
            .http2_keepalive_timeout(Some(limits::KEEPALIVE_TIMEOUT))
            .add_routes(serving.routes)
            .serve_with_incoming_shutdown(ReceiverStream::new(self.grpc), stopped(serving.stop));
        let tcp = streams::serve_tcp(serving.service, self.tcp);
        tokio::join!(grpc, tcp).0
    }
}

/// Health and the node itself, as HTTP sees them. Health changes when the node is told to stop, for as long as the
/// future runs.
pub(crate) async fn routes(
    service: &Arc<Service>,
    stop: watch::Receiver<bool>,
) -> (Routes, impl Future<Output = ()> + use<>) {
    let (health, health_service) = tonic_health::server::health_reporter();
    health.set_serving::<GrpcNode>().await;
    let routes = Routes::new(GrpcNode::new(Arc::clone(service))).add_service(health_service);
    let until_stop = async move {
        stopped(stop).await;
        health.set_not_serving::<GrpcNode>().await;
    };
    (routes, until_stop)
}

/// The threads that serve connections besides the caller's. They end with it.
pub(crate) struct IoThreads {
    threads: Vec<IoThread>,
    over: watch::Sender<bool>,
}

struct IoThread {
    /// Until it is given to the listener.
    door: Option<mpsc::Sender<Arrival>>,
    outcome: Option<oneshot::Receiver<Result<(), tonic::transport::Error>>>,
    thread: Option<JoinHandle<()>>,
}

impl IoThreads {
    /// Starts `count` threads.
    pub(crate) fn start(count: usize, serving: &Serving) -> Result<IoThreads, ServeError> {
        let (over, until_over) = watch::channel(false);
        // Threads that were started end with it if one cannot be.
        let mut all = IoThreads { threads: Vec::new(), over };
        for number in 1..=count {
            all.threads.push(IoThread::start(number, serving.clone(), until_over.clone())?);
        }
        Ok(all)
    }

    /// Where connections for each of them go; whoever has the doors keeps them open.
    fn take_doors(&mut self) -> Vec<mpsc::Sender<Arrival>> {
        self.threads.iter_mut().filter_map(|thread| thread.door.take()).collect()
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
        let _ = self.over.send(true);
        for thread in self.threads.iter_mut().filter_map(|thread| thread.thread.take()) {
            // What it says of a panic, its outcome has said.
            let _ = thread.join();
        }
    }
}

impl IoThread {
    fn start(number: usize, serving: Serving, over: watch::Receiver<bool>) -> Result<IoThread, ServeError> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(os("cannot start a runtime"))?;
        let (door, arrivals) = mpsc::channel(MAX_HANDSHAKES);
        let (tell, outcome) = oneshot::channel();
        let work = move || run_io_thread(&runtime, serving, arrivals, over, tell);
        let thread = std::thread::Builder::new().name(format!("io-{number}")).spawn(work);
        let thread = thread.map_err(os("cannot start an I/O thread"))?;
        Ok(IoThread { door: Some(door), outcome: Some(outcome), thread: Some(thread) })
    }
}

fn run_io_thread(
    runtime: &Runtime,
    serving: Serving,
    arrivals: mpsc::Receiver<Arrival>,
    over: watch::Receiver<bool>,
    tell: oneshot::Sender<Result<(), tonic::transport::Error>>,
) {
    runtime.block_on(async {
        let (reception, rooms) = reception(&serving);
        let receiving = listener::receive(arrivals, reception, stopped(serving.stop.clone()));
        tokio::select! {
            ((), outcome) = async { tokio::join!(receiving, rooms.serve(serving)) } => drop(tell.send(outcome)),
            () = stopped(over) => {}
        }
    });
}
