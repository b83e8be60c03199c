//! Configuration of the connection to the nodes, and of a run.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use lon_net::lookup::Lookup;
use lon_net::socket::Network;
use lon_net::tls::ClientTls;
use lon_net::token::Token;
use lon_proto::codec::Codec;
use tokio::runtime::Runtime;

use crate::carry::Driver;
use crate::control::Peers;
use crate::dispatch::Policy;

/// Configuration of [`crate::Qdl::connect`].
#[derive(Clone, Debug)]
pub struct Config {
    /// The nodes, and the transport to them.
    pub peers: Peers,
    /// The client's name, shown to others while it has claimed a node.
    pub client: String,
    /// Time to keep trying nodes that are not there yet, or are busy. Zero: try once.
    pub wait_ready: Duration,
    /// Longest time of one attempt to connect, or of one control call.
    pub call_timeout: Duration,
    /// TLS settings that verify nodes. Without them there is plain text. QUIC has no plain text, so over QUIC any node
    /// that answers is accepted. The caller decides whether that is allowed.
    pub tls: Option<ClientTls>,
    /// Token for nodes that want one. Without TLS it travels in plain text, as all else does.
    pub token: Option<Token>,
    /// Lookup of the nodes' names, and the addresses that may be dialled: without TLS, perhaps those of this host
    /// alone.
    pub lookup: Lookup,
    /// The network that is used instead of the kernel's TCP, without QUIC; `None`: TCP.
    pub network: Option<Arc<dyn Network>>,
    /// The runtime on which control calls run, and with [`Driver::Inline`] the lanes. The caller's thread drives it,
    /// inside the calls of the QDL. It has to have a single thread, and must not be driven when they are made. `None`:
    /// runtimes and threads of the QDL's own.
    pub runtime: Option<Arc<Runtime>>,
}

impl Config {
    /// Defaults for these nodes: no waiting, calls of 5 s at most, no TLS, TCP.
    pub fn new(peers: Peers) -> Config {
        Config {
            peers,
            client: String::new(),
            wait_ready: Duration::ZERO,
            call_timeout: Duration::from_secs(5),
            tls: None,
            token: None,
            lookup: Lookup::anywhere(),
            network: None,
            runtime: None,
        }
    }
}

/// Configuration of [`crate::Qdl::start`]: one run.
#[derive(Clone, Debug)]
pub struct RunConfig {
    /// Rule by which samples find their node.
    pub policy: Policy,
    /// Which thread does the network's work.
    pub driver: Driver,
    /// Connections to each node; the transport decides how many lanes share one.
    pub connections: NonZeroUsize,
    /// A sample without an answer after this long has failed.
    pub response_timeout: Duration,
    /// A node from which nothing came for this long, not even a heartbeat, is lost.
    pub silence_timeout: Duration,
    /// Bytes of one answer at most, where its size is not fixed by what the node says of its outputs.
    pub max_answer_bytes: u64,
    /// The threads that do the network's work ask for real-time priority. The caller sees that they may have it.
    pub realtime: bool,
    /// The codec that samples are already encoded with. Nodes are told its name without a level.
    pub codec: Codec,
    /// The codec that nodes encode their answers with; they are inflated here.
    pub response_codec: Codec,
}

impl RunConfig {
    /// Defaults for this policy and driver: one connection, no codecs, 60 s for an answer and 5 s of silence,
    /// answers of 64 MiB.
    pub fn new(policy: Policy, driver: Driver) -> RunConfig {
        RunConfig {
            policy,
            driver,
            connections: NonZeroUsize::MIN,
            response_timeout: Duration::from_secs(60),
            silence_timeout: Duration::from_secs(5),
            max_answer_bytes: 64 << 20,
            realtime: false,
            codec: Codec::None,
            response_codec: Codec::None,
        }
    }
}
