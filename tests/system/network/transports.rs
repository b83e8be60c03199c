//! A transport that neither end knows: one file, and no line of the product changes.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use lon_net::tcp::{self, StreamSource};
use lon_sut::backend::{BackendOptions, Backends};
use lon_sut::{Connection, ServeConfig, Serving, SocketTraffic, Sockets, Streams};
use qdl::{
    Carry, Config, ConnectError, Driver, Endpoint, LaneTask, NodeFailure, NodeIndex, Outcome, Peers, Policy, Qdl,
    Reply, RunConfig, Sample, SampleId, Sink, Wait,
};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

const SAMPLES: u64 = 100;
const SAMPLE_BYTES: usize = 3 << 20;

/// Where the node's Unix-domain socket is.
static SOCKET: OnceLock<PathBuf> = OnceLock::new();

/// The LoadGen node's half: framed messages over a Unix-domain socket.
#[derive(Debug)]
struct Dial;

const UNIX: qdl::Transport = qdl::Transport::new(&Dial);

impl Carry for Dial {
    fn name(&self) -> &'static str {
        "unix"
    }

    fn help(&self) -> &'static str {
        "Unix-domain sockets"
    }

    fn protocol(&self) -> &'static str {
        "Unix-domain socket"
    }

    fn carry(&self, _: Endpoint, lanes: Vec<LaneTask>, tasks: &mut JoinSet<()>) -> Result<(), ConnectError> {
        for lane in lanes {
            tasks.spawn(lane.carry_over(UnixStream::connect(SOCKET.get().unwrap())));
        }
        Ok(())
    }
}

/// The SUT node's half.
struct Accept(std::os::unix::net::UnixListener);

impl lon_sut::Acceptor for Accept {
    fn serve(self: Box<Self>, streams: Streams) -> Serving {
        Box::pin(async move {
            self.0.set_nonblocking(true).unwrap();
            let listener = UnixListener::from_std(self.0).unwrap();
            let mut connections = JoinSet::new();
            loop {
                tokio::select! {
                    accepted = listener.accept() => {
                        let (stream, _) = accepted.unwrap();
                        connections.spawn(carry(streams.clone(), stream));
                    }
                    () = streams.stopped() => break,
                }
            }
            connections.join_all().await;
            Ok(())
        })
    }
}

async fn carry(streams: Streams, stream: UnixStream) {
    let (reading, mut writing) = tokio::io::split(stream);
    let answers = streams.open(StreamSource::new(reading), Arc::new(Uncounted)).await;
    tcp::write(&mut writing, answers, None).await.unwrap();
}

/// A connection whose bytes neither end counts.
#[derive(Debug)]
struct Uncounted;

impl Connection for Uncounted {
    fn traffic(&self) -> SocketTraffic {
        SocketTraffic { bytes_in: 0, bytes_out: 0, retransmits: None }
    }

    fn path(&self) -> Option<lon_net::path::Path> {
        None
    }
}

/// A SUT node in this process, with one transport more than others.
struct Node {
    address: String,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Node {
    fn start(socket: &Path) -> Node {
        let sockets = Sockets::bind("127.0.0.1:0").unwrap();
        let address = sockets.address().to_string();
        let sockets = sockets.with(Accept(std::os::unix::net::UnixListener::bind(socket).unwrap()));
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let config = ServeConfig::new("N1".parse().unwrap());
            let backend = Backends::new().open("null", &BackendOptions::default()).unwrap();
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let shutdown = async { stopped.await.unwrap() };
            runtime.block_on(lon_sut::serve(sockets, config, backend, shutdown, || {})).unwrap();
        });
        Node { address, stop: Some(stop), thread: Some(thread) }
    }

    /// Stops it; it must end in good order.
    fn stop(mut self) {
        self.stop.take().unwrap().send(()).unwrap();
        self.thread.take().unwrap().join().unwrap();
    }
}

#[derive(Default)]
struct ReplySink(Mutex<Vec<Reply>>);

impl Sink for ReplySink {
    fn replies(&self, replies: &mut Vec<Reply>) {
        self.0.lock().unwrap().append(replies);
    }

    fn node_lost(&self, node: NodeIndex, failure: &NodeFailure) {
        panic!("{node:?} was lost: {failure}");
    }
}

#[test]
fn a_run_goes_over_a_transport_that_both_ends_are_given() {
    let folder = tempfile::tempdir().unwrap();
    let socket = SOCKET.get_or_init(|| folder.path().join("node.sock"));
    let node = Node::start(socket);
    let address = node.address.parse().unwrap();
    let qdl = Qdl::connect(Config {
        wait_ready: Duration::from_secs(20),
        ..Config::new(Peers::sut_nodes(vec![address], UNIX))
    });
    let qdl = qdl.unwrap();
    for driver in [Driver::Inline, Driver::Threads(NonZeroUsize::MIN)] {
        let sink = Arc::new(ReplySink::default());
        let run = qdl.start(&RunConfig::new(Policy::Pull, driver), Arc::clone(&sink) as _).unwrap();
        let payload = Bytes::from(vec![7; SAMPLE_BYTES]);
        let sample = |id| Sample { id: SampleId(id), payload: payload.clone(), tensor_bytes: SAMPLE_BYTES as u64 };
        run.issue((0..SAMPLES).map(sample), Instant::now());
        let wait = Wait { until: None, on_delivery: true, spin: Duration::ZERO, linger: Duration::ZERO };
        while (sink.0.lock().unwrap().len() as u64) < SAMPLES {
            run.pump(&wait);
            std::thread::yield_now();
        }
        let report = run.end().remove(0);
        let replies = sink.0.lock().unwrap();
        assert!(replies.iter().all(|reply| matches!(reply.outcome, Outcome::Done(_))), "{driver:?}");
        assert_eq!(report.counts.tensor_bytes_out, SAMPLES * SAMPLE_BYTES as u64, "{driver:?}");
        assert_eq!(qdl::reconcile(&report), [], "both ends counted the same: {driver:?}");
        assert!(report.sut.is_ok() && report.lost.is_none(), "{report:?}");
    }
    node.stop();
}
