//! Which nodes, and how they are reached.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::parse::duration;

/// Which nodes, and how they are reached.
#[derive(Args, Debug, Clone)]
pub(crate) struct DialArgs {
    /// SUT nodes: host:port[,host:port...], @FILE with one a line, or dns:NAME:PORT for every address of a name. With
    /// --transport kserve each has a name: NAME=host:port[,NAME=host:port...], or @FILE.
    #[arg(long, alias = "sut-server", env = "LON_SUT")]
    pub(crate) sut: String,
    /// How queries travel.
    #[arg(long, value_enum, default_value_t = Transport::Grpc, env = "LON_TRANSPORT")]
    pub(crate) transport: Transport,
    #[command(flatten)]
    pub(crate) security: SecurityArgs,
    /// How long to wait for nodes that are not there yet, or are busy.
    #[arg(long, value_parser = duration, default_value = "0s", env = "LON_WAIT_READY")]
    pub(crate) wait_ready: Duration,
}

/// What servers of KServe's protocol are asked for.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct KserveArgs {
    /// --transport kserve: the model, by the name that the servers know it by.
    #[arg(long, value_name = "NAME", env = "LON_MODEL")]
    pub(crate) model: Option<String>,
    /// --transport kserve: the names of the model's inputs in the order of a sample's tensors; needed when the server
    /// does not say, or says it in another order.
    #[arg(long = "kserve-inputs", value_name = "NAME", value_delimiter = ',', env = "LON_KSERVE_INPUTS")]
    pub(crate) inputs: Vec<String>,
}

/// Who may read along, and who is taken for a node.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct SecurityArgs {
    /// TLS for every transport: the CA (PEM) that nodes' certificates must be signed by.
    #[arg(long, value_name = "FILE", env = "LON_TLS_CA")]
    pub(crate) tls_ca: Option<PathBuf>,
    /// The certificate (PEM) to show to nodes that ask for one.
    #[arg(long, value_name = "FILE", env = "LON_TLS_CERT")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The certificate's private key (PEM).
    #[arg(long, value_name = "FILE", env = "LON_TLS_KEY")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Do without TLS towards nodes that are not on this host: for networks that you trust.
    #[arg(long, env = "LON_INSECURE")]
    pub(crate) insecure: bool,
}

impl SecurityArgs {
    /// Nodes are verified.
    pub(crate) fn has_tls(&self) -> bool {
        self.tls_ca.is_some() || self.tls_cert.is_some() || self.tls_key.is_some()
    }
}

/// How queries travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Transport {
    /// HTTP/2: one bidirectional stream per connection.
    Grpc,
    /// UDP: several streams per connection, so that a large sample does not hold up small ones.
    Quic,
    /// The same messages over plain TCP.
    Tcp,
    /// The Open Inference Protocol (KServe V2, gRPC): servers such as Triton, with no SUT node installed.
    Kserve,
}

impl Transport {
    /// As typed.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Transport::Grpc => "grpc",
            Transport::Quic => "quic",
            Transport::Tcp => "tcp",
            Transport::Kserve => "kserve",
        }
    }

    /// What it is made of.
    pub(crate) fn protocol(self) -> &'static str {
        match self {
            Transport::Grpc => "gRPC (HTTP/2) over TCP",
            Transport::Quic => "QUIC over UDP",
            Transport::Tcp => "TCP",
            Transport::Kserve => "Open Inference Protocol (KServe V2), gRPC (HTTP/2) over TCP",
        }
    }
}

impl From<Transport> for qdl::Transport {
    fn from(transport: Transport) -> qdl::Transport {
        match transport {
            Transport::Grpc => qdl::Transport::GRPC,
            Transport::Quic => qdl::Transport::QUIC,
            Transport::Tcp => qdl::Transport::TCP,
            Transport::Kserve => qdl::Transport::KSERVE,
        }
    }
}
