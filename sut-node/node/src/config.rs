//! Configuration of one SUT node: checked values, made from flags, by a test, or by `loadgen-node demo`.

use std::num::NonZeroUsize;
use std::time::Duration;

use lon_net::address::NodeAddress;
use lon_net::lookup::Lookup;
use lon_net::tls::{ClientTls, ServerTls};
use lon_net::token::Token;
use lon_proto::limits;
use lon_proto::node_name::NodeName;

use crate::memory::Memory;
use crate::pipeline::Preprocessing;

/// Configuration of a node, besides its models; see [`crate::serve`](fn@crate::serve).
#[derive(Clone, Debug)]
pub struct ServeConfig {
    /// The node's name, unique among the nodes of a run.
    pub node: NodeName,
    /// Features of the program that others may lack, as the node reports them.
    pub features: Vec<&'static str>,
    /// True when the log has the runs of this node at level info. The first of many nodes of a process speaks for the
    /// others, whose runs are logged at level debug.
    pub logs_runs: bool,
    /// Options of models that have none of their own.
    pub model: ModelConfig,
    /// Batches of all models that compute at one time, where models share their workers. `None`: each has its own.
    pub shared_workers: Option<NonZeroUsize>,
    /// Threads that serve connections, each a share of them. The first is the caller's.
    pub io_threads: NonZeroUsize,
    /// Bounds on what is inside the node at one time; see [`ServeConfig::set_memory`].
    pub limits: Limits,
    /// Longest wait of a shutdown for answers that are under way.
    pub drain: Duration,
    /// True when the node asks the network again and again, instead of sleeping, while a run has the node.
    pub busy_poll: bool,
    /// True when the I/O threads besides the caller's get real-time priority. The caller gives it to its own thread,
    /// and makes sure that all of them may have it.
    pub realtime: bool,
    /// TLS for every transport. Without it TCP is plain text, and QUIC, which knows no plain text, shows a certificate
    /// that nobody can verify. The caller decides whether that is allowed.
    pub tls: Option<ServerTls>,
    /// Token that a client must show to have the node described or claimed. `None`: any client that reaches the node
    /// may.
    pub token: Option<Token>,
    /// Which other nodes this one probes when its client asks for it. `None`: none of them. It counts only where
    /// clients have to show a token or a certificate.
    pub probe_peers: Option<PeerProbes>,
}

/// Configuration of one model of a node, besides its backend.
#[derive(Clone, Debug)]
pub struct ModelConfig {
    /// The most samples in one inference.
    pub max_batch: NonZeroUsize,
    /// Longest wait of a free worker for a batch to fill, counted from the arrival of its first sample.
    pub max_delay: Duration,
    /// Worker threads, each with its own state of the backend.
    pub workers: NonZeroUsize,
    /// Threads that inflate and decode the samples of runs with a codec.
    pub decode_threads: NonZeroUsize,
    /// Pre-processing of samples before the model sees them. `None`: samples are what the model takes.
    pub preprocess: Option<Preprocessing>,
    /// Memory that samples of this model may take.
    pub memory: Memory,
}

impl Default for ModelConfig {
    /// Batches of what is there (up to 8), one worker, decode threads on all cores but one.
    fn default() -> ModelConfig {
        ModelConfig {
            max_batch: NonZeroUsize::MIN.saturating_add(7),
            max_delay: Duration::ZERO,
            workers: NonZeroUsize::MIN,
            decode_threads: default_decode_threads(),
            preprocess: None,
            memory: Memory::LEAST,
        }
    }
}

/// Other nodes that a node may probe, and how it shows itself to them.
#[derive(Clone, Debug)]
pub struct PeerProbes {
    /// Where they are, as clients may name them; no other address is dialled.
    pub allowed: Vec<NodeAddress>,
    /// Verification of these nodes, and the certificate that they are shown. Without it there is plain text; the caller
    /// decides whether that is allowed.
    pub tls: Option<ClientTls>,
    /// Token for the nodes that want one.
    pub token: Option<Token>,
    /// Lookup of their names, with the addresses where they may lead.
    pub lookup: Lookup,
}

impl ServeConfig {
    /// Defaults for a node of this name.
    pub fn new(node: NodeName) -> ServeConfig {
        let mut config = ServeConfig {
            node,
            features: Vec::new(),
            logs_runs: true,
            model: ModelConfig::default(),
            shared_workers: None,
            io_threads: NonZeroUsize::MIN,
            limits: Limits::default(),
            drain: Duration::from_secs(30),
            busy_poll: false,
            realtime: false,
            tls: None,
            token: None,
            probe_peers: None,
        };
        config.set_memory(Memory::of_host());
        config
    }

    /// Sets how much memory samples of a model may take, and the bounds on what is inside the node to what fits into
    /// that.
    pub fn set_memory(&mut self, memory: Memory) {
        let (most, usual) = (memory.waiting_bytes(), Limits::default());
        self.model.memory = memory;
        self.limits.max_bytes_in_flight = usual.max_bytes_in_flight.min(most);
        self.limits.max_sample_bytes = usual.max_sample_bytes.min(most);
    }
}

/// Bounds on what is inside a node: samples admitted whose answers have not been handed to the network. Told to the
/// LoadGen node in `StartRun`, so that it keeps to them by itself.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most samples that are inside.
    pub max_samples_in_flight: u64,
    /// The most bytes that those samples have, as they came.
    pub max_bytes_in_flight: u64,
    /// The most bytes of one sample.
    pub max_sample_bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            max_samples_in_flight: 16 << 10,
            max_bytes_in_flight: 1 << 30,
            max_sample_bytes: limits::MAX_SAMPLE_BYTES,
        }
    }
}

/// Returns the default number of decode threads: all cores but one, which is left to I/O.
fn default_decode_threads() -> NonZeroUsize {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    NonZeroUsize::new(cores - 1).unwrap_or(NonZeroUsize::MIN)
}
