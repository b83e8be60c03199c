//! The command line of `sut-node`: flags become checked values, signals become a shutdown, errors become exit codes.

use std::io::{IsTerminal as _, Write as _};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, Parser, Subcommand, ValueEnum};
use lon_net::tls::{ServerTls, TlsFiles};
use tokio::signal::unix::{SignalKind, signal};

use crate::backend::{self, Backend, BackendOptions, TokenOptions};
use crate::healthcheck::{HealthError, HealthcheckArgs, healthcheck};
use crate::{NodeName, ServeConfig, Sockets, serve};

const EXIT_BUG: u8 = 1;
const EXIT_USAGE: u8 = 2;

/// A SUT node: answers a LoadGen node's samples with an inference backend.
///
/// Exit codes: 0 served until SIGTERM or SIGINT (what had been taken in was answered); 1 a bug or the operating
/// system; 2 usage, configuration, or a model that cannot be used. `healthcheck`: 0 when the node serves, else 1.
#[derive(Parser, Debug)]
#[command(name = "sut-node", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Format of the log on standard error (RUST_LOG selects what is logged).
    #[arg(long, value_enum, default_value_t = LogFormat::Text, global = true, env = "LON_LOG_FORMAT")]
    log_format: LogFormat,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LogFormat {
    Text,
    Json,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Serve samples until SIGTERM.
    #[command(after_help = "Examples:
  sut-node serve --node N1 --backend onnx:digits.onnx --tls-cert n1.pem --tls-key n1.key
  sut-node serve --node N1 --backend onnx:digits.onnx --listen 0.0.0.0:8000 --insecure
  sut-node serve --node N2 --backend null --listen 127.0.0.1:8001
  sut-node serve --node N3 --backend synthetic:constant=2ms --max-batch 4 --max-delay 1ms
  sut-node serve --node N4 --backend synthetic:ttft=20ms,tpot=5ms,tokens=64 --slots 16
  sut-node serve --node N5 --backend onnx:decoder.onnx --slots 8 --max-tokens 64 --eos 2

A model with a cache (input_ids and past_key_values.*, as Hugging Face Optimum exports decoders) is
decoded token by token; a sample is token ids and, if it likes, how many tokens to answer at most.

SPEC of synthetic is KEY=VALUE[,KEY=VALUE...], with one shape of service time:
  constant=DURATION                          a batch takes so long, whatever its size
  lognormal=MEDIAN,SIGMA                     a batch takes a log-normal time
  base=DURATION,per_sample=DURATION          a batch takes the base and so much for each sample
  ttft=DURATION,tpot=DURATION,tokens=COUNT   token streams: so long to the first token, so long
                                             for each further one (tokens=MEDIAN,SIGMA: log-normal)
and with any of these beside it:
  stall=DURATION,stall_share=SHARE           that share of batches (of samples, before their first
                                             token) takes so much longer
  seed=NUMBER                                other draws, and answers of noise instead of zeros
  output=BYTES                               size of an answer (8; not with token streams)")]
    Serve(ServeArgs),
    /// Print what a node would say of itself, as JSON, without serving.
    #[command(after_help = "Example:
  sut-node describe --backend onnx:digits.onnx")]
    Describe(DescribeArgs),
    /// Ask a node whether it serves; exit code 0 means that it does. For whoever starts nodes and waits for them.
    #[command(after_help = "Example:
  sut-node healthcheck --address 127.0.0.1:8000")]
    Healthcheck(HealthcheckArgs),
}

#[derive(Args, Debug)]
struct BackendArgs {
    /// What answers: onnx:MODEL.onnx, null, or synthetic:SPEC (constant=2ms; the whole grammar is below).
    #[arg(long, env = "LON_BACKEND")]
    backend: String,
    /// Threads inside one inference.
    #[arg(long, default_value = "1", value_parser = up_to::<1024>, env = "LON_THREADS")]
    threads: NonZeroUsize,
    #[command(flatten)]
    tokens: TokenArgs,
}

/// For backends that answer token by token.
#[derive(Args, Debug)]
struct TokenArgs {
    /// Samples that a worker answers at one time, token by token.
    #[arg(long, default_value = "8", value_parser = up_to::<4096>, env = "LON_SLOTS")]
    slots: NonZeroUsize,
    /// Tokens of an answer at most; a sample may ask for fewer.
    #[arg(long, default_value = "128", value_parser = up_to::<1048576>, env = "LON_MAX_TOKENS")]
    max_tokens: NonZeroUsize,
    /// The token that ends an answer; without it every answer has --max-tokens of them.
    #[arg(long, value_name = "ID", env = "LON_EOS")]
    eos: Option<i64>,
    /// Tokens of a sample and its answer together at most: what each slot has memory for.
    #[arg(long, default_value = "2048", value_parser = up_to::<1048576>, env = "LON_MAX_CONTEXT")]
    max_context: NonZeroUsize,
}

#[derive(Args, Debug)]
struct ServeArgs {
    /// Address and port to listen on: gRPC and plain TCP, and QUIC on the UDP port of the same number.
    #[arg(long, default_value = "0.0.0.0:8000", env = "LON_LISTEN")]
    listen: String,
    /// This node's name, unique in the cluster; the host name unless given.
    #[arg(long, env = "LON_NODE")]
    node: Option<NodeName>,
    #[command(flatten)]
    security: SecurityArgs,
    #[command(flatten)]
    backend: BackendArgs,
    /// Samples in one inference at most.
    #[arg(long, default_value = "8", value_parser = up_to::<4096>, env = "LON_MAX_BATCH")]
    max_batch: NonZeroUsize,
    /// How long a free worker waits for its batch to fill (for example 500us, 2ms).
    #[arg(long, default_value = "0ms", value_parser = backend::parse_duration, env = "LON_MAX_DELAY")]
    max_delay: Duration,
    /// Inferences at one time, each on a thread with its own copy of the session.
    #[arg(long, default_value = "1", value_parser = up_to::<1024>, env = "LON_WORKERS")]
    workers: NonZeroUsize,
    /// Threads that inflate and decode the samples of runs with a codec; all cores but one unless given.
    #[arg(long, value_parser = up_to::<1024>, env = "LON_DECODE_THREADS")]
    decode_threads: Option<NonZeroUsize>,
    /// Threads that serve gRPC and plain TCP, each its share of the connections. QUIC stays on the first.
    #[arg(long, default_value = "1", value_parser = up_to::<256>, env = "LON_IO_THREADS")]
    io_threads: NonZeroUsize,
    /// Never sleep while a run has the node: lowest latency, one core burnt for each I/O thread. The LoadGen node has the same flag.
    #[arg(long, env = "LON_BUSY_POLL")]
    busy_poll: bool,
}

/// Who may read along, and who may ask.
#[derive(Args, Debug)]
struct SecurityArgs {
    /// TLS for every transport: this node's certificate (PEM), the node's own first in a chain.
    #[arg(long, value_name = "FILE", env = "LON_TLS_CERT")]
    tls_cert: Option<PathBuf>,
    /// The certificate's private key (PEM).
    #[arg(long, value_name = "FILE", env = "LON_TLS_KEY")]
    tls_key: Option<PathBuf>,
    /// Serve only clients that show a certificate of this CA (PEM).
    #[arg(long, value_name = "FILE", env = "LON_TLS_CA")]
    tls_ca: Option<PathBuf>,
    /// Serve without TLS on an address that is not loopback: for networks that you trust.
    #[arg(long, env = "LON_INSECURE")]
    insecure: bool,
}

impl SecurityArgs {
    /// What to serve on `address` with; none is plain text, where that is allowed.
    fn tls(&self, address: SocketAddr) -> anyhow::Result<Option<ServerTls>> {
        let (ca, cert, key) = (self.tls_ca.clone(), self.tls_cert.clone(), self.tls_key.clone());
        let files = TlsFiles { ca, cert, key };
        if !files.is_empty() {
            return Ok(Some(ServerTls::new(&files)?));
        }
        if self.insecure || address.ip().to_canonical().is_loopback() {
            return Ok(None);
        }
        anyhow::bail!(
            "{address} (--listen) can be reached from other hosts, and there is no TLS: give --tls-cert and --tls-key, \
             or --insecure for plain text on a network that you trust"
        )
    }
}

#[derive(Args, Debug)]
struct DescribeArgs {
    /// The name to show; the host name unless given.
    #[arg(long, env = "LON_NODE")]
    node: Option<NodeName>,
    #[command(flatten)]
    backend: BackendArgs,
}

/// A number from 1 to `MAX`.
fn up_to<const MAX: usize>(text: &str) -> Result<NonZeroUsize, String> {
    let number = text.parse().ok().filter(|number: &NonZeroUsize| number.get() <= MAX);
    number.ok_or_else(|| format!("a number from 1 to {MAX}"))
}

/// Runs the command line and says how it ended. A panic on this thread is a bug, and its exit code says so.
pub fn main() -> ExitCode {
    let code = std::panic::catch_unwind(run).unwrap_or(EXIT_BUG);
    ExitCode::from(code)
}

fn run() -> u8 {
    let cli = Cli::parse();
    let outcome = start_log(cli.log_format).and_then(|()| match cli.command {
        Command::Serve(args) => run_serve(args),
        Command::Describe(args) => run_describe(args),
        Command::Healthcheck(args) => run_healthcheck(args),
    });
    match outcome {
        Ok(()) => 0,
        Err(failure) => {
            let _ = writeln!(std::io::stderr(), "sut-node: {}", one_line(&failure.error));
            failure.code
        }
    }
}

/// An error with its causes; those that the line before already says are left out.
fn one_line(error: &anyhow::Error) -> String {
    let mut line = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if line.is_empty() {
            line = cause;
        } else if !line.contains(&cause) {
            line = format!("{line}: {cause}");
        }
    }
    line
}

/// An error and the exit code it means.
struct Failure {
    code: u8,
    error: anyhow::Error,
}

fn usage(error: impl Into<anyhow::Error>) -> Failure {
    Failure { code: EXIT_USAGE, error: error.into() }
}

fn bug(error: impl Into<anyhow::Error>) -> Failure {
    Failure { code: EXIT_BUG, error: error.into() }
}

fn run_serve(args: ServeArgs) -> Result<(), Failure> {
    let node = args.node.map_or_else(host_name, Ok)?;
    let mut config = ServeConfig::new(node.clone());
    config.max_batch = args.max_batch;
    config.max_delay = args.max_delay;
    config.workers = args.workers;
    config.decode_threads = args.decode_threads.unwrap_or(config.decode_threads);
    config.io_threads = args.io_threads;
    config.busy_poll = args.busy_poll;
    let sockets = Sockets::bind(&args.listen).map_err(usage)?;
    let address = sockets.address();
    config.tls = args.security.tls(address).map_err(usage)?;
    let backend = load(&args.backend, args.max_batch)?;
    let engine = backend.info().engine.clone();
    if let Err(error) = lon_net::slice::shorten() {
        tracing::debug!("the time slice stays as it is: {error}");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(bug)?;
    runtime.block_on(async {
        let mut term = signal(SignalKind::terminate()).map_err(bug)?;
        let mut int = signal(SignalKind::interrupt()).map_err(bug)?;
        let shutdown = async move {
            tokio::select! { _ = term.recv() => {}, _ = int.recv() => {} }
            tracing::info!("shutting down: answering what was taken in");
        };
        let ready = || {
            // The one line on standard output: scripts wait for it and read the port from it.
            let _ = writeln!(std::io::stdout(), "sut-node {node} serving {engine} on {address}");
        };
        serve(sockets, config, backend, shutdown, ready).await.map_err(|error| match error {
            crate::ServeError::Backend(_) => usage(error),
            _ => bug(error),
        })
    })
}

fn run_describe(args: DescribeArgs) -> Result<(), Failure> {
    let node = args.node.map_or_else(host_name, Ok)?;
    let backend = load(&args.backend, NonZeroUsize::MIN)?;
    let json = crate::describe_json(&node, backend.as_ref());
    let text = serde_json::to_string_pretty(&json).map_err(bug)?;
    writeln!(std::io::stdout(), "{text}").map_err(bug)
}

fn run_healthcheck(args: HealthcheckArgs) -> Result<(), Failure> {
    healthcheck(args).map_err(|error| match error {
        HealthError::Tls(_) | HealthError::Address(_) => usage(error),
        // The same exit code as a bug, because those who ask look for 0 or 1.
        _ => bug(error),
    })
}

fn load(args: &BackendArgs, max_batch: NonZeroUsize) -> Result<Arc<dyn Backend>, Failure> {
    let TokenArgs { slots, max_tokens, eos, max_context } = args.tokens;
    let tokens = TokenOptions { slots, max_tokens, eos, max_context };
    let options = BackendOptions { threads: args.threads, max_batch, tokens, ..BackendOptions::default() };
    backend::open(&args.backend, &options).map_err(usage)
}

fn host_name() -> Result<NodeName, Failure> {
    let name = nix::unistd::gethostname().context("the host name cannot be read; give --node").map_err(usage)?;
    name.to_string_lossy().parse().context("the host name will not do; give --node").map_err(usage)
}

fn start_log(format: LogFormat) -> Result<(), Failure> {
    use tracing_subscriber::EnvFilter;
    let filter = match std::env::var("RUST_LOG") {
        Ok(text) => EnvFilter::try_new(&text).with_context(|| format!("RUST_LOG='{text}'")).map_err(usage)?,
        Err(_) => EnvFilter::new("info,tract=warn,ort=warn"),
    };
    // A log that cannot be written is no reason to stop, and must not become a panic.
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).log_internal_errors(false);
    match format {
        LogFormat::Text => log.with_ansi(std::io::stderr().is_terminal()).init(),
        LogFormat::Json => log.json().init(),
    }
    Ok(())
}
