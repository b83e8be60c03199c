//! The command line, as typed. What it means is checked where it is used.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use lon_qsl::{Codec, CodecError, Preprocess};

use super::division::Division;
use super::pace::Spin;
use super::{exit, help};
use crate::conf::rules::{RULES, Rules};
use crate::settings::{Assignment, Mode, Scenario};

/// The LoadGen node: plans MLPerf traffic, sends it over the network to SUT nodes, judges what comes back.
#[derive(Parser, Debug)]
#[command(name = "loadgen-node", version, after_help = exit::HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Format of the log on standard error (RUST_LOG selects what is logged).
    #[arg(long, value_enum, default_value_t = LogFormat::Text, global = true, env = "LON_LOG_FORMAT")]
    pub(crate) log_format: LogFormat,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Do the main job with nothing installed: two SUT nodes on loopback, the digits benchmark over gRPC.
    #[cfg(feature = "demo")]
    #[command(after_help = help::DEMO)]
    Demo(DemoArgs),
    /// Run one test against SUT nodes.
    #[command(after_help = help::RUN)]
    Run(Box<RunArgs>),
    /// Measure the fabric: round trips, goodput, latency under load, and what that carries.
    #[command(after_help = help::PROBE)]
    Probe(ProbeArgs),
    /// Print the traffic that settings would generate; needs no SUT.
    #[command(after_help = help::TRACE)]
    Trace(TraceArgs),
    /// Judge recorded results again; needs no SUT.
    #[command(after_help = help::REPLAY)]
    Replay(ReplayArgs),
    /// Score the accuracy log of a run folder against the dataset's labels.
    #[command(after_help = help::ACCURACY)]
    Accuracy(AccuracyArgs),
    /// Show the settings of a test with their origins, and what a run with them will take; needs no SUT.
    #[command(after_help = help::CONF)]
    Conf(ConfArgs),
}

#[derive(Args, Debug)]
pub(crate) struct DemoArgs {
    /// Run folder to make; results/<UTC>-digits-demo unless given.
    #[arg(long, env = "LON_OUT")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Args, Debug, Clone)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) dial: DialArgs,
    /// LoadGen's scenario.
    #[arg(long, value_parser = scenario, env = "LON_SCENARIO",
          help = "SingleStream, MultiStream, Server or Offline")]
    pub(crate) scenario: Scenario,
    /// What is asked: digits, synthetic, a benchmark of MLPerf by its name in config files (resnet50, bert, ...), or a
    /// benchmark file of your own, NAME.toml.
    #[arg(long, env = "LON_BENCHMARK")]
    pub(crate) benchmark: String,
    #[command(flatten)]
    pub(crate) test: TestArgs,
    #[command(flatten)]
    pub(crate) kserve: KserveArgs,
    #[command(flatten)]
    pub(crate) codecs: CodecArgs,
    /// Whose rules the run keeps: network refuses what MLPerf's Network division does not allow, open marks it.
    #[arg(long, value_enum, default_value_t = Division::Open, env = "LON_DIVISION")]
    pub(crate) division: Division,
    /// Probe the fabric first, so that the report can say what it could have carried. Takes about ten seconds a node.
    #[arg(long, env = "LON_PROBE")]
    pub(crate) probe: bool,
    /// What the nodes' backend does without a network, as `sut-node bench --json FILE` measured it: the result then says
    /// what the fabric costs.
    #[arg(long, value_name = "FILE", env = "LON_BASELINE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Run folder to make; results/<UTC>-<benchmark>-<scenario> unless given.
    #[arg(long, env = "LON_OUT")]
    pub(crate) out: Option<PathBuf>,
    /// What you state of the system, as JSON: keys of MLPerf's system descriptions, texts as values. Goes into
    /// system_desc.json, which says itself what of the network is still to be stated.
    #[arg(long, value_name = "FILE", env = "LON_SYSTEM_DESC")]
    pub(crate) system_desc: Option<PathBuf>,
    /// Connections to each node (QUIC: each with four streams).
    #[arg(long, default_value = "1", value_parser = few, env = "LON_CONNECTIONS")]
    pub(crate) connections: NonZeroUsize,
    /// Threads that do the network's work in Server and Offline; 0: the issuing thread does it itself. Unless given, 1
    /// where there are 4 cores or more, else 0.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u8), env = "LON_IO_THREADS")]
    pub(crate) io_threads: Option<u8>,
    /// Whether the issuing thread stays awake for the last 50 us before a query is due. Auto: where a core can be
    /// spared for it. Off also means that it sleeps at once when it waits for an answer (SingleStream, MultiStream).
    #[arg(long, value_enum, default_value_t = Spin::Auto, env = "LON_SPIN")]
    pub(crate) spin: Spin,
    /// The issuing thread does the network's work and never sleeps: lowest latency, one core burnt. The SUT node has
    /// the same flag.
    #[arg(long, conflicts_with = "io_threads", env = "LON_BUSY_POLL")]
    pub(crate) busy_poll: bool,
    /// A sample without an answer after this long has failed.
    #[arg(long, value_parser = duration, default_value = "60s", env = "LON_RESPONSE_TIMEOUT")]
    pub(crate) response_timeout: Duration,
    /// Server: schedule lag (p99) beyond which the LoadGen node is what was measured, and the result INVALID; the
    /// larger of 1 ms and 1 % of the target latency unless given.
    #[arg(long, value_parser = duration, env = "LON_MAX_LAG")]
    pub(crate) max_lag: Option<Duration>,
    /// Also write mlperf_log_trace.json (Chrome trace events): when each sample was due, issued and answered.
    #[arg(long, env = "LON_TRACE_LOG")]
    pub(crate) trace_log: bool,
    #[command(flatten)]
    pub(crate) find_peak: FindPeakArgs,
}

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

/// What samples and answers are wrapped in.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct CodecArgs {
    /// Codec of the samples, applied before any clock starts: none, zstd[:LEVEL], lz4, shuffle-zstd[:LEVEL] or
    /// delta-zstd[:LEVEL]; or original: the dataset's own files (JPEGs), decoded by the SUT node. auto runs nothing: it measures them all on the dataset and prints below which bandwidth each
    /// of them wins.
    #[arg(long, value_name = "CODEC", default_value = "none", env = "LON_COMPRESSION")]
    pub(crate) compression: Compression,
    /// Codec of the answers, applied by the SUT node and undone here, both timed.
    #[arg(long, value_name = "CODEC", default_value = "none", env = "LON_RESPONSE_COMPRESSION")]
    pub(crate) response_compression: Codec,
}

/// `--compression`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    /// This one.
    Codec(Codec),
    /// Advice on which, and no run.
    Auto,
}

impl Default for Compression {
    fn default() -> Compression {
        Compression::Codec(Codec::None)
    }
}

impl FromStr for Compression {
    type Err = CodecError;

    fn from_str(text: &str) -> Result<Compression, CodecError> {
        match text {
            "auto" => Ok(Compression::Auto),
            _ => text.parse().map(Compression::Codec),
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct ProbeArgs {
    #[command(flatten)]
    pub(crate) dial: DialArgs,
    #[command(flatten)]
    pub(crate) limits: ProbeLimits,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// How much a probe may take.
#[derive(Args, Debug, Clone, Copy)]
pub(crate) struct ProbeLimits {
    /// How long goodput is measured in each direction; each size of round trips gets a quarter of it.
    #[arg(long, value_parser = some_duration, default_value = "2s", env = "LON_PROBE_DURATION")]
    pub(crate) duration: Duration,
    /// Bytes of payload after which a measurement ends, whatever its duration.
    #[arg(long, value_name = "BYTES", default_value = "8000000000", env = "LON_PROBE_MAX_BYTES",
          value_parser = clap::value_parser!(u64).range(1_000_000..))]
    pub(crate) max_bytes: u64,
    /// Connections to each node that goodput is measured over (QUIC: each with four streams).
    #[arg(long, default_value = "1", value_parser = few, env = "LON_CONNECTIONS")]
    pub(crate) connections: NonZeroUsize,
}

impl ProbeLimits {
    /// As of a probe without flags, over so many connections.
    pub(crate) fn usual(connections: NonZeroUsize) -> ProbeLimits {
        ProbeLimits { duration: Duration::from_secs(2), max_bytes: 8_000_000_000, connections }
    }
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

/// What is asked in a test besides benchmark and scenario; the same for a run and for a look at its settings.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct TestArgs {
    /// LoadGen's mode.
    #[arg(long, value_parser = mode, env = "LON_MODE",
          help = "PerformanceOnly (default), AccuracyOnly, SubmissionRun (accuracy, then performance) \
                  or FindPeakPerformance (Server)")]
    pub(crate) mode: Option<Mode>,
    /// Dataset: a folder of JPEGs with val_map.txt, .npy, .npz, JSON lines with token ids or prompts (.jsonl), a manifest
    /// of raw tensors (.toml), or synthetic:KIND[DIMS]xCOUNT with KIND an element type, image-u8, tokens-i32 or
    /// tokens-i64; the benchmark's own unless given.
    #[arg(long, env = "LON_DATASET")]
    pub(crate) dataset: Option<String>,
    /// What is done to images before they are sent: imagenet-caffe, imagenet-torch or stretch-torch, or steps such as
    /// resize=256,crop=224,layout=nchw,dtype=u8; the benchmark's own unless given.
    #[arg(long, value_name = "SPEC", env = "LON_PREPROCESS")]
    pub(crate) preprocess: Option<Preprocess>,
    /// A setting, by LoadGen's config key; can be repeated. One --set replaces all of LON_SET.
    #[arg(long, value_name = "[SCENARIO.]KEY=VALUE", env = "LON_SET", value_delimiter = ',')]
    pub(crate) set: Vec<Assignment>,
    #[command(flatten)]
    pub(crate) files: ConfFiles,
}

/// Mode FindPeakPerformance.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct FindPeakArgs {
    /// FindPeakPerformance: most trials to run; 64 unless given.
    #[arg(long = "find-peak-max-trials", value_name = "COUNT", env = "LON_FIND_PEAK_MAX_TRIALS")]
    pub(crate) max_trials: Option<u64>,
    /// FindPeakPerformance: go on with the search that left this find_peak.json in its run folder.
    #[arg(long = "find-peak-resume", value_name = "FILE", env = "LON_FIND_PEAK_RESUME")]
    pub(crate) resume: Option<PathBuf>,
    /// FindPeakPerformance: end a trial as soon as nothing can make it pass any more.
    #[arg(long = "find-peak-give-up", env = "LON_FIND_PEAK_GIVE_UP")]
    pub(crate) give_up: bool,
}

/// Official config files, and the round whose built-in settings apply below them.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct ConfFiles {
    /// Official settings that replace built-in ones; may set everything.
    #[arg(long, value_name = "FILE", env = "LON_MLPERF_CONF")]
    pub(crate) mlperf_conf: Option<PathBuf>,
    /// The submitter's settings; replace those of mlperf.conf, but never seeds.
    #[arg(long, value_name = "FILE", env = "LON_USER_CONF")]
    pub(crate) user_conf: Option<PathBuf>,
    /// A compliance test's settings; replace everything else, --set included. Only a file given here is read.
    #[arg(long, value_name = "FILE", env = "LON_AUDIT_CONF")]
    pub(crate) audit_conf: Option<PathBuf>,
    /// Round whose built-in settings apply: v5.0, v5.1, v6.0 or v6.1. Unless given, v6.1: all of it for benchmarks of
    /// MLPerf, its seeds for the others.
    #[arg(long, value_name = "ROUND", value_parser = rules, env = "LON_RULES")]
    pub(crate) rules: Option<&'static Rules>,
    /// Lines of config files that are ignored or read as something else than they look like are errors.
    #[arg(long, env = "LON_STRICT_CONF")]
    pub(crate) strict_conf: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ConfArgs {
    /// The benchmark's name in config files: resnet50, bert, ... or digits, synthetic.
    #[arg(long, env = "LON_BENCHMARK", required_unless_present = "config_vector")]
    pub(crate) benchmark: Option<String>,
    /// LoadGen's scenario.
    #[arg(long, value_parser = scenario, env = "LON_SCENARIO", required_unless_present = "config_vector",
          help = "SingleStream, MultiStream, Server or Offline")]
    pub(crate) scenario: Option<Scenario>,
    #[command(flatten)]
    pub(crate) test: TestArgs,
    /// Evaluate the cases of this file instead: what each does to default settings, as JSON.
    #[arg(long, value_name = "FILE.json")]
    pub(crate) config_vector: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
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
            Transport::Grpc => qdl::Transport::Grpc,
            Transport::Quic => qdl::Transport::Quic,
            Transport::Tcp => qdl::Transport::Tcp,
            Transport::Kserve => qdl::Transport::Kserve,
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct TraceArgs {
    /// The settings and the QSL's counts.
    #[arg(long, value_name = "FILE.json")]
    pub(crate) settings: PathBuf,
    /// Print lists of more than 600 elements as count, SHA-256 and both ends.
    #[arg(long)]
    pub(crate) digest: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ReplayArgs {
    /// The results to judge.
    #[arg(long, value_name = "FILE.json", required_unless_present = "timeline", conflicts_with = "timeline")]
    pub(crate) report_vector: Option<PathBuf>,
    /// The recorded run to judge.
    #[arg(long, value_name = "FILE")]
    pub(crate) timeline: Option<PathBuf>,
    /// Judge by these settings instead: an object of LoadGen's TestSettings, or one that has it as "settings".
    #[arg(long, value_name = "FILE.json", requires = "timeline")]
    pub(crate) settings: Option<PathBuf>,
    /// Judge with another setting, by LoadGen's config key; can be repeated.
    #[arg(long, value_name = "[SCENARIO.]KEY=VALUE", value_delimiter = ',', requires = "timeline")]
    pub(crate) set: Vec<Assignment>,
    /// Print JSON, as --report-vector does.
    #[arg(long, requires = "timeline")]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct AccuracyArgs {
    /// The run folder.
    pub(crate) folder: PathBuf,
    /// Dataset folder with the labels; the benchmark's own unless given.
    #[arg(long, env = "LON_DATASET")]
    pub(crate) dataset: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

fn scenario(text: &str) -> Result<Scenario, String> {
    Scenario::from_name(text).ok_or_else(|| format!("the scenarios are {}", names(Scenario::ALL.map(Scenario::name))))
}

fn mode(text: &str) -> Result<Mode, String> {
    Mode::from_name(text).ok_or_else(|| format!("the modes are {}", names(Mode::ALL.map(Mode::name))))
}

fn rules(text: &str) -> Result<&'static Rules, String> {
    Rules::find(text).ok_or_else(|| format!("the rounds are {}", names(RULES.each_ref().map(|rules| rules.round.name))))
}

fn names<const N: usize>(names: [&str; N]) -> String {
    names.join(", ")
}

/// `500us`, `2ms`, `1.5s`, `2m`: a number and its unit.
fn duration(text: &str) -> Result<Duration, String> {
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let seconds = match unit {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        _ => return Err("write a number and a unit, for example 500us, 20ms, 3s, 2m".to_owned()),
    };
    let number: f64 = number.trim().parse().map_err(|_| format!("'{number}' is not a number"))?;
    let duration = Duration::try_from_secs_f64(number * seconds).map_err(|error| error.to_string())?;
    // Longer ones are slips, and moments that far away cannot be computed with.
    if duration <= LONGEST { Ok(duration) } else { Err("longer than a year".to_owned()) }
}

/// The same, and long enough to measure something.
fn some_duration(text: &str) -> Result<Duration, String> {
    let duration = duration(text)?;
    if duration >= Duration::from_millis(100) { Ok(duration) } else { Err("shorter than 100ms".to_owned()) }
}

/// A year.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// A number from 1 to 256: more threads or connections than that are a slip.
fn few(text: &str) -> Result<NonZeroUsize, String> {
    let number = text.parse().ok().filter(|number: &NonZeroUsize| number.get() <= 256);
    number.ok_or_else(|| "a number from 1 to 256".to_owned())
}

/// Underscores in flag names mean dashes, as in the reference implementations (`--sut_server`). What is no Unicode is
/// left to whoever reads the flag.
pub(crate) fn with_dashes(args: impl Iterator<Item = OsString>) -> impl Iterator<Item = OsString> {
    args.map(|arg| {
        let Some(flag) = arg.to_str().and_then(|text| text.strip_prefix("--")) else { return arg };
        match flag.split_once('=') {
            Some((name, value)) => format!("--{}={value}", name.replace('_', "-")).into(),
            None => format!("--{}", flag.replace('_', "-")).into(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn underscore_spellings_are_taken() {
        let typed = ["loadgen-node", "run", "--sut_server=a_b:1", "--set", "target_qps=5", "--response_timeout", "2s"];
        let args: Vec<OsString> = with_dashes(typed.iter().map(OsString::from)).collect();
        assert_eq!(args[2..], ["--sut-server=a_b:1", "--set", "target_qps=5", "--response-timeout", "2s"]);
    }

    #[test]
    fn durations_have_units() {
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("500us"), Ok(Duration::from_micros(500)));
        for bad in ["5", "s", "-1s", "1h", "x ms"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }
}
