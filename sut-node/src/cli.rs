//! The command line of `sut-node`: flags become checked values, signals become a shutdown, errors become exit codes.

use std::io::{IsTerminal as _, Write as _};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, Parser, Subcommand, ValueEnum};
use lon_image::Preprocess;
use lon_net::tls::{ServerTls, TlsFiles};
use tokio::signal::unix::{SignalKind, signal};

use crate::backend::openai::OpenAiOptions;
use crate::backend::{self, Backend, BackendOptions, Provider, TokenOptions};
use crate::bench::{self, report::Report, samples::Samples};
use crate::healthcheck::{HealthError, HealthcheckArgs, healthcheck};
use crate::pipeline::{images, post::Postprocess};
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
  sut-node serve --node N6 --backend openai:http://127.0.0.1:8080/MODEL --workers 8 --listen 127.0.0.1:8002

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
    /// Measure the backend behind its queue and workers, in this process, without a network.
    #[command(after_help = "Example:
  sut-node bench --backend onnx:resnet50.onnx --max-batch 8 --json bench.json
  loadgen-node run --baseline bench.json ...")]
    Bench(BenchArgs),
    /// Ask a node whether it serves; exit code 0 means that it does. For whoever starts nodes and waits for them.
    #[command(after_help = "Example:
  sut-node healthcheck --address 127.0.0.1:8000")]
    Healthcheck(HealthcheckArgs),
}

#[derive(Args, Debug)]
struct BackendArgs {
    /// What answers: onnx:MODEL.onnx, openai:http://HOST:PORT/MODEL, null, or synthetic:SPEC (constant=2ms; the whole
    /// grammar is below).
    #[arg(long, env = "LON_BACKEND")]
    backend: String,
    /// Threads inside one inference.
    #[arg(long, default_value = "1", value_parser = up_to::<1024>, env = "LON_THREADS")]
    threads: NonZeroUsize,
    #[command(flatten)]
    tokens: TokenArgs,
    #[command(flatten)]
    openai: OpenAiArgs,
    #[command(flatten)]
    pipeline: PipelineArgs,
}

/// What models run on, and what is done around them.
#[derive(Args, Debug)]
struct PipelineArgs {
    /// What ONNX Runtime computes on: an execution provider that its library has, such as CUDA or OpenVINO; its CPU unless given.
    #[arg(long, value_name = "NAME", env = "LON_EP")]
    ep: Option<Provider>,
    /// An ONNX model's inputs by name, in the order in which samples have them; the model's own order unless given.
    #[arg(long, value_name = "NAME,NAME...", value_delimiter = ',', env = "LON_INPUTS")]
    inputs: Vec<String>,
    /// What is done to images before the model sees them, for example resize=256,crop=224,layout=nchw,dtype=f32 (a preset's name may stand first). Samples are then JPEGs (--compression original) or pixels u8[HEIGHT,WIDTH,3].
    #[arg(long, value_name = "SPEC", env = "LON_PREPROCESS")]
    preprocess: Option<Preprocess>,
    /// What is made of an ONNX model's outputs: none, argmax, top-k=5, softmax, threshold=0.5.
    #[arg(long, value_name = "WHAT", default_value_t, env = "LON_POSTPROCESS")]
    postprocess: Postprocess,
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

/// For servers of openai:URL.
#[derive(Args, Clone, Debug)]
struct OpenAiArgs {
    /// openai: a sample fails when the server sends nothing for this long while its answer is awaited.
    #[arg(long, default_value = "60s", value_parser = some_time, env = "LON_SERVER_TIMEOUT")]
    server_timeout: Duration,
    /// openai: the file with the server's API key; without it OPENAI_API_KEY, if set. Never logged.
    #[arg(long, value_name = "FILE", env = "LON_API_KEY_FILE")]
    api_key_file: Option<PathBuf>,
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
    #[command(flatten)]
    crew: CrewArgs,
    /// Threads that serve gRPC and plain TCP, each its share of the connections. QUIC stays on the first.
    #[arg(long, default_value = "1", value_parser = up_to::<256>, env = "LON_IO_THREADS")]
    io_threads: NonZeroUsize,
    /// Never sleep while a run has the node: lowest latency, one core burnt for each I/O thread. The LoadGen node has the same flag.
    #[arg(long, env = "LON_BUSY_POLL")]
    busy_poll: bool,
}

/// The threads that compute, and the batches that they take.
#[derive(Args, Debug)]
struct CrewArgs {
    /// Samples in one inference at most.
    #[arg(long, default_value = "8", value_parser = up_to::<4096>, env = "LON_MAX_BATCH")]
    max_batch: NonZeroUsize,
    /// How long a free worker waits for its batch to fill (for example 500us, 2ms).
    #[arg(long, default_value = "0ms", value_parser = backend::parse_duration, env = "LON_MAX_DELAY")]
    max_delay: Duration,
    /// Inferences at one time, each on a thread with its own copy of the session. openai: prompts at one time.
    #[arg(long, default_value = "1", value_parser = up_to::<1024>, env = "LON_WORKERS")]
    workers: NonZeroUsize,
    /// Threads that inflate and decode the samples of runs with a codec; all cores but one unless given.
    #[arg(long, value_parser = up_to::<1024>, env = "LON_DECODE_THREADS")]
    decode_threads: Option<NonZeroUsize>,
}

impl CrewArgs {
    /// What a node of this name does with `pipeline` around inference.
    fn config(&self, node: NodeName, pipeline: &PipelineArgs) -> ServeConfig {
        let mut config = ServeConfig::new(node);
        config.max_batch = self.max_batch;
        config.max_delay = self.max_delay;
        config.workers = self.workers;
        config.decode_threads = self.decode_threads.unwrap_or(config.decode_threads);
        config.preprocess = pipeline.preprocess.clone().map(Arc::new);
        config
    }
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

#[derive(Args, Debug)]
struct BenchArgs {
    #[command(flatten)]
    backend: BackendArgs,
    #[command(flatten)]
    crew: CrewArgs,
    /// Length of each of the two phases: as many samples in flight as keep the workers busy, then one at a time.
    #[arg(long, default_value = "10", value_parser = clap::value_parser!(u64).range(1..=86_400), env = "LON_SECONDS")]
    seconds: u64,
    /// A folder of JPEGs to ask with, where --preprocess makes something of them; else random samples are made for the model.
    #[arg(long, value_name = "FOLDER", env = "LON_SAMPLES")]
    samples: Option<PathBuf>,
    /// The size that random samples have where the model leaves it open.
    #[arg(long, value_name = "SIZE", env = "LON_FREE_SIZE")]
    free_size: Option<u32>,
    /// Also write the result to this file, for `loadgen-node run --baseline`.
    #[arg(long, value_name = "FILE", env = "LON_JSON")]
    json: Option<PathBuf>,
}

/// A number from 1 to `MAX`.
fn up_to<const MAX: usize>(text: &str) -> Result<NonZeroUsize, String> {
    let number = text.parse().ok().filter(|number: &NonZeroUsize| number.get() <= MAX);
    number.ok_or_else(|| format!("a number from 1 to {MAX}"))
}

/// A duration that is not 0.
fn some_time(text: &str) -> Result<Duration, String> {
    let time = backend::parse_duration(text).map_err(|error| error.to_string())?;
    if time.is_zero() { Err("a time of 0 is over before it began".to_owned()) } else { Ok(time) }
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
        Command::Bench(args) => run_bench(&args),
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
    let mut config = args.crew.config(node.clone(), &args.backend.pipeline);
    config.io_threads = args.io_threads;
    config.busy_poll = args.busy_poll;
    let sockets = Sockets::bind(&args.listen).map_err(usage)?;
    let address = sockets.address();
    config.tls = args.security.tls(address).map_err(usage)?;
    let backend = load(&args.backend, args.crew.max_batch)?;
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
            crate::ServeError::Backend(_) | crate::ServeError::Preprocess(_) => usage(error),
            _ => bug(error),
        })
    })
}

fn run_describe(args: DescribeArgs) -> Result<(), Failure> {
    let node = args.node.map_or_else(host_name, Ok)?;
    let backend = load(&args.backend, NonZeroUsize::MIN)?;
    let json = crate::describe_json(&node, backend.as_ref(), args.backend.pipeline.preprocess.is_some());
    let text = serde_json::to_string_pretty(&json).map_err(bug)?;
    writeln!(std::io::stdout(), "{text}").map_err(bug)
}

fn run_bench(args: &BenchArgs) -> Result<(), Failure> {
    let node = NodeName::from_str("bench").map_err(bug)?;
    let config = args.crew.config(node, &args.backend.pipeline);
    if args.samples.is_some() && config.preprocess.is_none() {
        return Err(usage(anyhow::anyhow!(
            "--samples are JPEGs, of which --preprocess has to make what the model takes"
        )));
    }
    let backend = load(&args.backend, args.crew.max_batch)?;
    let made_for = if config.preprocess.is_some() { images::inputs() } else { backend.info().inputs.clone() };
    let samples = match &args.samples {
        Some(folder) => Samples::jpegs(folder),
        None => Samples::synthetic(&made_for, args.free_size),
    };
    let samples = samples.map_err(usage)?;
    let phase = Duration::from_secs(args.seconds);
    let measured = bench::run(&config, backend.as_ref(), &samples, phase).map_err(|error| match error {
        crate::ServeError::Os { .. } => bug(error),
        error => usage(error),
    })?;
    if let (0, Some(reason)) = (measured.saturation.samples, &measured.failure) {
        return Err(usage(anyhow::anyhow!("no sample was answered: {reason}")));
    }
    let report = Report {
        info: backend.info(),
        config: &config,
        threads: args.backend.threads.get(),
        postprocess: args.backend.pipeline.postprocess.to_string(),
        samples: &samples,
        phase,
        measured: &measured,
    };
    write!(std::io::stdout(), "{}", report.text()).map_err(bug)?;
    let Some(file) = &args.json else { return Ok(()) };
    std::fs::write(file, format!("{:#}\n", report.json()))
        .with_context(|| format!("cannot write {}", file.display()))
        .map_err(usage)
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
    let OpenAiArgs { server_timeout, api_key_file } = args.openai.clone();
    let openai = OpenAiOptions { server_timeout, api_key_file };
    let PipelineArgs { ep, postprocess, ref inputs, .. } = args.pipeline;
    let is_onnx = args.backend.starts_with("onnx:");
    for (flag, given) in
        [("--ep", ep.is_some()), ("--postprocess", postprocess != Postprocess::None), ("--inputs", !inputs.is_empty())]
    {
        if given && !is_onnx {
            return Err(usage(anyhow::anyhow!("{flag} is for onnx:MODEL.onnx, not for '{}'", args.backend)));
        }
    }
    let options = BackendOptions {
        threads: args.threads,
        max_batch,
        provider: ep,
        postprocess,
        inputs: inputs.clone(),
        tokens,
        openai,
        ..BackendOptions::default()
    };
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
