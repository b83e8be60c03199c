//! The command line of `sut-node`: flags become checked values, signals become a shutdown, errors become exit codes.

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Parser, Subcommand, ValueEnum};

use self::args::{BenchArgs, DescribeArgs, ServeArgs};
use self::commands::{run_bench, run_describe, run_healthcheck, run_serve};
use crate::cli::healthcheck::HealthcheckArgs;

mod args;
mod commands;
pub(crate) mod healthcheck;

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
