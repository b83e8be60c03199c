//! How the QDL reaches its nodes and how patient it is.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use lon_net::tls::ClientTls;
use lon_proto::codec::Codec;

use crate::address::NodeAddress;

/// Everything [`crate::Qdl::connect`] wants to know.
#[derive(Clone, Debug)]
pub struct Config {
    /// The nodes, in the order in which the SUT's name lists them.
    pub nodes: Vec<NodeAddress>,
    /// Who we are, shown to others while a node is taken.
    pub client: String,
    /// How long to keep trying nodes that are not there yet, or are busy. Zero: try once.
    pub wait_ready: Duration,
    /// How long one attempt to connect, or one control call, may take.
    pub call_timeout: Duration,
    /// What samples and answers travel over. Control calls always go over gRPC.
    pub transport: Transport,
    /// How nodes are verified. Without it there is plain text, and over QUIC, which knows none, whoever answers is
    /// taken for the node; whether that is allowed is the caller's to decide.
    pub tls: Option<ClientTls>,
    /// Nodes are servers that speak KServe's protocol: what is asked of them. Goes with [`Transport::Kserve`].
    pub kserve: Option<KserveConfig>,
}

/// What a caller has to say of servers that say little of themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KserveConfig {
    /// Their names, as many as nodes and in their order.
    pub names: Vec<String>,
    /// The model that is asked for, by the name that the servers know it by.
    pub model: String,
}

impl Config {
    /// Defaults for these nodes.
    pub fn new(nodes: Vec<NodeAddress>) -> Config {
        Config {
            nodes,
            client: String::new(),
            wait_ready: Duration::ZERO,
            call_timeout: Duration::from_secs(5),
            transport: Transport::Grpc,
            tls: None,
            kserve: None,
        }
    }
}

/// What samples and answers travel over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// One HTTP/2 stream to a connection.
    Grpc,
    /// The same messages on a connection of their own, with nothing around them.
    Tcp,
    /// Several streams to a connection, so that a large sample does not hold up small ones.
    Quic,
    /// Calls of the Open Inference Protocol, over gRPC: for servers that are no SUT nodes.
    Kserve,
}

impl Transport {
    /// Lanes that share one connection.
    pub(crate) fn lanes(self) -> usize {
        match self {
            Transport::Grpc | Transport::Tcp | Transport::Kserve => 1,
            Transport::Quic => 4,
        }
    }
}

/// Everything [`crate::Qdl::start`] wants to know of one run.
#[derive(Clone, Debug)]
pub struct RunConfig {
    /// How samples find their node.
    pub policy: Policy,
    /// Which thread does the network's work.
    pub driver: Driver,
    /// Connections to each node, each with one Dispatch stream (QUIC: four).
    pub connections: NonZeroUsize,
    /// A sample without an answer after this long has failed.
    pub response_timeout: Duration,
    /// A node that was not heard of for this long, not even by a heartbeat, is lost.
    pub silence_timeout: Duration,
    /// What the samples are encoded with already. The nodes are told its name, the rest is the encoder's business.
    pub codec: Codec,
    /// What the nodes encode their answers with; inflated here.
    pub response_codec: Codec,
}

impl RunConfig {
    /// Defaults for this policy and driver.
    pub fn new(policy: Policy, driver: Driver) -> RunConfig {
        RunConfig {
            policy,
            driver,
            connections: NonZeroUsize::MIN,
            response_timeout: Duration::from_secs(60),
            silence_timeout: Duration::from_secs(5),
            codec: Codec::None,
            response_codec: Codec::None,
        }
    }
}

/// How samples find their node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Each sample goes at once to the node with the least outstanding; when all are full it fails.
    LeastOutstanding,
    /// Samples wait in one backlog from which each node takes as it finishes, so a slow node takes fewer.
    Pull,
}

/// Which thread does the network's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// Threads of our own; the caller's thread only hands over.
    Threads(NonZeroUsize),
    /// The caller's thread, while it waits in [`crate::Run::pump`]: no hand-over.
    Inline,
}

/// How [`crate::Run::pump`] waits.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    /// Until then; `None`: until something is delivered, or for a tenth of a second or so.
    pub until: Option<Instant>,
    /// Whether a delivery ends it.
    pub on_delivery: bool,
    /// The last stretch of it is spent asking the network again and again instead of sleeping: on time to the
    /// microsecond, at the cost of a core. [`Duration::MAX`]: all of it. Zero: none, and naps are not too short.
    pub spin: Duration,
    /// How long the network is asked again and again before a sleep that a delivery ends, as long as nobody else wants
    /// the core. Waking up from a sleep often takes longer than the answer does.
    pub linger: Duration,
}
