//! The flags. Each value is checked as far as it can be by itself, and becomes one of `config`.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use lon_net::address::NodeAddress;
use lon_net::lookup::{Lookup, stays_on_host};
use lon_net::slice::Priority;
use lon_net::tls::{ClientName, ClientTls, ServerTls};
use lon_net::token::{Token, TokenError};
use lon_proto::node_name::NodeName;
use lon_shell::choice::{PRIORITIES, one_of};
use lon_shell::dli::facts::Facts;
use lon_shell::duration::parse_duration;
use lon_shell::tls;
use lon_sut::{Memory, ModelConfig, ModelName, PeerProbes, ServeConfig};

use super::backend_args::{BackendArgs, NETWORK, PipelineArgs, SPEED, TrustArgs};
use super::exit::Failure;
use super::for_model::{self, ForModel, value_for};
use super::naming::NodeNaming;
use super::values::{seconds, up_to};

#[derive(Args, Debug)]
pub(super) struct ServeArgs {
    /// Address and port to listen on: gRPC and plain TCP, and QUIC on the UDP port of the same number.
    #[arg(long, default_value = "0.0.0.0:8000", env = "LON_LISTEN", help_heading = NETWORK)]
    pub(super) listen: String,
    /// Serve metrics for Prometheus at http://HOST:PORT/metrics, with the node's own TLS, client certificates and token
    /// (Authorization: Bearer). For example 127.0.0.1:9464.
    #[arg(long, value_name = "HOST:PORT", env = "LON_METRICS_LISTEN", help_heading = NETWORK, hide_short_help = true)]
    pub(super) metrics_listen: Option<String>,
    /// This node's name, unique in the cluster; the host name unless given.
    ///
    /// {number} in it stands for the number at the end of the host's name, or of the name that DNS has for this host:
    /// sut-{number} on the host lab_sut_3 is sut-3.
    #[arg(long, env = "LON_NODE")]
    pub(super) node: Option<NodeNaming>,
    /// Nodes in this process, on ports that follow each other from --listen on: NAME-1, NAME-2 and so on (or {number}
    /// in the name). To try what many nodes are like; they share its threads for the network, and the memory. The log
    /// has the runs of the first eight.
    #[arg(long, value_name = "COUNT", default_value = "1", value_parser = up_to::<4096>, env = "LON_NODES",
          help_heading = NETWORK, hide_short_help = true)]
    pub(super) nodes: NonZeroUsize,
    #[command(flatten)]
    pub(super) security: SecurityArgs,
    #[command(flatten)]
    pub(super) peers: PeerArgs,
    #[command(flatten)]
    pub(super) backend: BackendArgs,
    #[command(flatten)]
    pub(super) compute: ComputeArgs,
    /// Workers that all models share: at most this many batches of all models compute at one time, in the order in
    /// which they are due.
    ///
    /// Each model has this many sessions unless --workers says otherwise. Models that answer token by token and models
    /// of other servers have workers of their own.
    #[arg(long, value_name = "COUNT", value_parser = up_to::<1024>, env = "LON_SHARED_WORKERS",
          help_heading = SPEED, hide_short_help = true)]
    pub(super) shared_workers: Option<NonZeroUsize>,
    /// Threads that serve gRPC and plain TCP, each its share of the connections. QUIC stays on the first.
    #[arg(long, default_value = "1", value_parser = up_to::<256>, env = "LON_IO_THREADS",
          help_heading = SPEED, hide_short_help = true)]
    pub(super) io_threads: NonZeroUsize,
    /// Never sleep while a run has the node: lowest latency, one full core for each I/O thread. The LoadGen node has
    /// the same flag.
    #[arg(long, env = "LON_BUSY_POLL", help_heading = SPEED, hide_short_help = true)]
    pub(super) busy_poll: bool,
    /// Real-time priority of the I/O threads, so that they run as soon as they are ready, whatever other programs want.
    /// Auto: where the system grants it, a core remains for others, and no inference is done on them. A program that
    /// was started to give way (`chrt -i 0`, `chrt -b 0`, `nice`) stays as it is. Realtime: refuses to serve without
    /// it. It takes CAP_SYS_NICE, or a limit of real-time priorities (`ulimit -r 10`).
    #[arg(long, value_parser = one_of(PRIORITIES), default_value = "auto", env = "LON_PRIORITY",
          help_heading = SPEED, hide_short_help = true)]
    pub(super) priority: Priority,
}

/// The threads that compute, and the batches that they take.
#[derive(Args, Clone, Debug)]
pub(super) struct ComputeArgs {
    /// Samples in one inference at most.
    #[arg(long, alias = "batch", default_value = "8", value_name = "COUNT", value_delimiter = ',',
          value_parser = |text: &str| ForModel::read(text, up_to::<4096>), env = "LON_MAX_BATCH",
          help_heading = SPEED)]
    pub(super) max_batch: Vec<ForModel<NonZeroUsize>>,
    /// Longest wait of a free worker for its batch to fill (for example 500us, 2ms).
    #[arg(long, default_value = "0ms", value_name = "TIME", value_delimiter = ',',
          value_parser = |text: &str| ForModel::read(text, parse_duration), env = "LON_MAX_DELAY",
          help_heading = SPEED)]
    pub(super) max_delay: Vec<ForModel<Duration>>,
    /// Inferences at one time, each on a thread with a session of its own; openai: prompts at one time. 1 unless given.
    ///
    /// Sessions of ONNX Runtime share the weights.
    #[arg(long, value_name = "COUNT", value_delimiter = ',',
          value_parser = |text: &str| ForModel::read(text, up_to::<1024>), env = "LON_WORKERS",
          help_heading = SPEED)]
    pub(super) workers: Vec<ForModel<NonZeroUsize>>,
    /// Memory that samples may take, as they come, decoded, and while a model of free sizes computes (for example
    /// 8GiB); half of the control group's limit, else of the machine, unless given. Samples that need more are refused.
    #[arg(long, value_name = "SIZE", env = "LON_MEMORY", help_heading = SPEED, hide_short_help = true)]
    pub(super) memory: Option<Memory>,
    /// Threads that inflate and decode the samples of runs with a codec; all cores but one unless given.
    #[arg(long, value_parser = up_to::<1024>, env = "LON_DECODE_THREADS", help_heading = SPEED, hide_short_help = true)]
    pub(super) decode_threads: Option<NonZeroUsize>,
}

impl ComputeArgs {
    /// The memory that samples may take.
    pub(super) fn memory(&self) -> Memory {
        self.memory.unwrap_or_else(Memory::of_host)
    }

    /// Checks that every value is for one of these models.
    ///
    /// # Errors
    /// A model is not known, or has two values of a flag.
    pub(super) fn check(&self, models: &[ModelName]) -> Result<(), Failure> {
        for_model::check("--max-batch", &self.max_batch, models)?;
        for_model::check("--max-delay", &self.max_delay, models)?;
        for_model::check("--workers", &self.workers, models)
    }

    /// Returns the configuration of a model of this name, with `pipeline` around inference.
    pub(super) fn model(&self, name: &ModelName, pipeline: &PipelineArgs) -> ModelConfig {
        self.with_workers(ModelConfig::default().workers, name, pipeline)
    }

    /// The same with this many workers where no flag gives their number.
    pub(super) fn with_workers(&self, workers: NonZeroUsize, name: &ModelName, pipeline: &PipelineArgs) -> ModelConfig {
        let usual = ModelConfig { workers, ..ModelConfig::default() };
        ModelConfig {
            max_batch: value_for(&self.max_batch, name).copied().unwrap_or(usual.max_batch),
            max_delay: value_for(&self.max_delay, name).copied().unwrap_or(usual.max_delay),
            workers: value_for(&self.workers, name).copied().unwrap_or(usual.workers),
            decode_threads: self.decode_threads.unwrap_or(usual.decode_threads),
            preprocess: pipeline.preprocess(name).cloned(),
            memory: self.memory(),
        }
    }
}

/// TLS of the node, and who may claim it.
#[derive(Args, Debug)]
pub(super) struct SecurityArgs {
    /// TLS for every transport: this node's certificate (PEM), the node's own first in a chain.
    #[arg(long, value_name = "FILE", env = "LON_TLS_CERT", help_heading = NETWORK)]
    pub(super) tls_cert: Option<PathBuf>,
    /// The certificate's private key (PEM).
    #[arg(long, value_name = "FILE", env = "LON_TLS_KEY", help_heading = NETWORK)]
    pub(super) tls_key: Option<PathBuf>,
    /// Serve only clients that show a certificate of this CA (PEM).
    #[arg(long, value_name = "FILE", env = "LON_TLS_CA", help_heading = NETWORK, hide_short_help = true)]
    pub(super) tls_ca: Option<PathBuf>,
    /// With --tls-ca: serve only clients with this DNS name in their certificate; may be given several times. Without
    /// it a certificate must be good for clients and not for nodes.
    #[arg(long, value_name = "NAME", value_delimiter = ',', env = "LON_ALLOW_CLIENT",
          help_heading = NETWORK, hide_short_help = true)]
    pub(super) allow_client: Vec<ClientName>,
    /// The file with the token that whoever claims this node has to show: one line of 16 characters at least. The
    /// LoadGen node has the same flag.
    #[arg(long, value_name = "FILE", env = "LON_TOKEN_FILE", help_heading = NETWORK, hide_short_help = true)]
    pub(super) token_file: Option<PathBuf>,
}

impl SecurityArgs {
    /// The TLS to serve on `address` with; none: plain text.
    ///
    /// # Errors
    /// The files cannot be used, or plain text is not allowed on this address.
    pub(super) fn tls(&self, address: SocketAddr, trust: TrustArgs) -> anyhow::Result<Option<ServerTls>> {
        let (ca, cert, key) = (self.tls_ca.as_ref(), self.tls_cert.as_ref(), self.tls_key.as_ref());
        let tls = tls::server(&tls::files(ca, cert, key, trust.allow_open_key_files), &self.allow_client)?;
        let is_here = stays_on_host(address.ip());
        if tls.is_none() && trust.insecure && !is_here && self.token_file.is_some() {
            tracing::warn!("--insecure: the token of --token-file crosses the network in plain text");
        }
        if tls.is_some() || trust.insecure || is_here {
            return Ok(tls);
        }
        anyhow::bail!(
            "{address} (--listen) can be reached from other hosts, and there is no TLS: give --tls-cert and --tls-key, \
             or --insecure for plain text on a network that you trust"
        )
    }

    /// Returns the token that clients have to show, or `None` when they need none.
    ///
    /// # Errors
    /// The file cannot be read or holds no token.
    pub(super) fn token(&self, trust: TrustArgs) -> Result<Option<Token>, TokenError> {
        self.token_file.as_ref().map(|file| Token::read(file, trust.allow_open_key_files)).transpose()
    }
}

/// Other nodes that this one measures.
#[derive(Args, Debug)]
pub(super) struct PeerArgs {
    /// Measure the way to these nodes when the LoadGen node asks for it (its probe --matrix): one HOST:PORT for each,
    /// as in its --sut; this node's own may be among them. Only with --token-file or --tls-ca. This node shows them its
    /// own token and certificate.
    #[arg(long, value_name = "HOST:PORT,...", value_delimiter = ',', env = "LON_PROBE_PEERS", help_heading = NETWORK,
          hide_short_help = true)]
    pub(super) probe_peers: Vec<NodeAddress>,
    /// With --probe-peers and TLS: the CA (PEM) of the other nodes' certificates; that of --tls-ca unless given.
    #[arg(long, value_name = "FILE", env = "LON_PROBE_CA", help_heading = NETWORK, hide_short_help = true)]
    pub(super) probe_ca: Option<PathBuf>,
}

impl PeerArgs {
    /// The other nodes, where this one serves with `security`; none: it measures no others.
    ///
    /// # Errors
    /// Whoever reaches this node could have it measure, its certificate cannot be shown, or plain text is not allowed.
    pub(super) fn check(
        &self,
        security: &SecurityArgs,
        trust: TrustArgs,
        token: Option<&Token>,
    ) -> anyhow::Result<Option<PeerProbes>> {
        if self.probe_peers.is_empty() {
            anyhow::ensure!(self.probe_ca.is_none(), "--probe-ca is for --probe-peers");
            return Ok(None);
        }
        anyhow::ensure!(
            token.is_some() || security.tls_ca.is_some(),
            "--probe-peers lets clients have this node open connections, so they have to show something: give \
             --token-file, or --tls-ca with --tls-cert and --tls-key"
        );
        let tls = self.tls(security, trust)?;
        let elsewhere = self.probe_peers.iter().find(|address| !is_here(address));
        if let (None, false, Some(address)) = (&tls, trust.insecure, elsewhere) {
            anyhow::bail!(
                "--probe-peers: {address} may be another host, and there is no TLS: give --tls-cert and --tls-key, or \
                 --insecure for plain text on a network that you trust"
            );
        }
        let stays_here = tls.is_none() && !trust.insecure;
        let lookup = if stays_here { Lookup::on_this_host() } else { Lookup::anywhere() };
        Ok(Some(PeerProbes { allowed: self.probe_peers.clone(), tls, token: token.cloned(), lookup }))
    }

    /// Returns the TLS settings that verify the other nodes. They use TLS wherever this node serves with it.
    fn tls(&self, security: &SecurityArgs, trust: TrustArgs) -> anyhow::Result<Option<ClientTls>> {
        let ca = self.probe_ca.as_ref().or(security.tls_ca.as_ref());
        let (cert, key) = (security.tls_cert.as_ref(), security.tls_key.as_ref());
        anyhow::ensure!(
            ca.is_some() || cert.is_none(),
            "--probe-peers: this node serves with TLS, and verifies others in the same way: give --probe-ca"
        );
        let files = tls::files(ca, cert, key, trust.allow_open_key_files);
        tls::client(&files).context("--probe-peers")
    }
}

/// Returns true when an address is one of this host, as it is written: no name is looked up.
fn is_here(address: &NodeAddress) -> bool {
    let host = address.host().trim_matches(['[', ']']);
    host == "localhost" || host.parse().is_ok_and(stays_on_host)
}

#[derive(Args, Debug)]
pub(super) struct DescribeArgs {
    /// The name to show; the host name unless given.
    #[arg(long, env = "LON_NODE")]
    pub(super) node: Option<NodeName>,
    /// Print the model and its tensors as lines for people, instead of JSON.
    #[arg(long, env = "LON_DESCRIBE_TEXT")]
    pub(super) text: bool,
    /// Open a session of an ONNX model with each engine, run it once, and say which engines can run it.
    #[arg(long = "try", env = "LON_TRY")]
    pub(super) try_engines: bool,
    #[command(flatten)]
    pub(super) backend: BackendArgs,
}

#[derive(Args, Debug)]
pub(super) struct BenchArgs {
    #[command(flatten)]
    pub(super) backend: BackendArgs,
    #[command(flatten)]
    pub(super) compute: ComputeArgs,
    /// Length of each of the two phases.
    ///
    /// For example 10, 500ms, 2min; a number alone is seconds. First as many samples are in flight as keep the workers
    /// busy, then one at a time. 10 unless given; 2 with --tune.
    #[arg(long, value_name = "TIME", value_parser = seconds, env = "LON_SECONDS")]
    pub(super) seconds: Option<Duration>,
    /// Try workers, threads, batches and delays.
    ///
    /// Workers and threads go up to the cores, batches up to --max-batch. A table has the rate and the latencies of
    /// each; below it are the lines that serve at the highest rate and at the shortest latency. Rows within 3 % of the
    /// best count as equal: of these, the row with the fewest workers, threads and batches is taken.
    #[arg(long, conflicts_with_all = ["out", "json", "workers", "threads", "max_delay"], env = "LON_TUNE")]
    pub(super) tune: bool,
    /// A dataset to ask with; random samples unless given.
    ///
    /// It is as `loadgen-node run --dataset` takes it (.npy, .npz, .jsonl, a folder of .npy or .npz), or a folder of
    /// JPEGs where --preprocess makes something of them. Real samples show what varies with their content and size.
    #[arg(long, value_name = "FILE|FOLDER", env = "LON_SAMPLES")]
    pub(super) samples: Option<PathBuf>,
    /// The size that random samples have where the model leaves it open.
    #[arg(long, value_name = "SIZE", env = "LON_FREE_SIZE", hide_short_help = true)]
    pub(super) free_size: Option<u32>,
    /// Also write the result to this file, for `loadgen-node run --baseline`.
    #[arg(long, value_name = "FILE", env = "LON_BENCH_OUT")]
    pub(super) out: Option<PathBuf>,
    /// Print JSON, as `--out` writes it.
    #[arg(long, env = "LON_JSON")]
    pub(super) json: bool,
    /// Print rows of the DLI benchmark instead: its latency mode and its throughput mode, as CSV with `;`.
    ///
    /// A request is a batch of --max-batch samples; --seconds is the length of each mode. Facts that no measurement
    /// knows may follow, else the rows have N/A: `--dli=task=classification,framework=Caffe,precision=FP32`, also
    /// `topology` and `dataset`. These quantities are not those of MLPerf. --out writes the same rows.
    #[arg(long, value_name = "FACT=TEXT,...", num_args = 0..=1, require_equals = true, default_missing_value = "",
          conflicts_with_all = ["json", "tune", "preprocess"], env = "LON_DLI", hide_short_help = true)]
    pub(super) dli: Option<Facts>,
}

impl BenchArgs {
    /// Returns the configuration of a node of this name with the only model.
    ///
    /// # Errors
    /// There are several models, or a flag has a value for another.
    pub(super) fn config(&self, node: NodeName) -> Result<ServeConfig, Failure> {
        let name = self.backend.only()?.name();
        self.compute.check(std::slice::from_ref(&name))?;
        let mut config = ServeConfig::new(node);
        config.model = self.compute.model(&name, &self.backend.pipeline);
        config.set_memory(self.compute.memory());
        Ok(config)
    }

    /// Returns the duration of each phase.
    pub(super) fn phase(&self) -> Duration {
        self.seconds.unwrap_or(Duration::from_secs(if self.tune { 2 } else { 10 }))
    }
}
