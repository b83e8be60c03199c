//! The command line of `sut-node`: flags become checked values, signals become a shutdown, errors become exit codes.
//!
//! - `args`, `backend_args`: what can be typed; `values`: how values of flags are checked; `named_backend`: a backend
//!   with the name of its model; `for_model`: values that hold for one model of several; `open_backend`: from flags to
//!   a backend; `bench_samples`: what `bench` asks it;
//! - `commands`: what the commands do that serve nobody; `trial`: the engines that can run a model; `tune`: the fastest
//!   setup of a node; `line`: the command line that serves with a setup; `host_load`: the processor time of other
//!   programs; `serving`: what `serve` does;
//! - `healthcheck`: the command that asks another node;
//! - `naming`: what a node is to be called; `ptr`: the name that DNS has for an address;
//! - `exit`: the exit codes.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use lon_shell::failure::OrExit as _;
use lon_shell::log::{self, LogFormat};
use lon_shell::packaging::{self, Shell};
use lon_shell::version::described;
use lon_shell::{panics, short_help, variables};
use lon_sut::backend::Backends;

use self::args::{BenchArgs, DescribeArgs, ServeArgs};
use self::commands::{run_bench, run_describe, run_healthcheck};
use self::exit::Exit;
use self::healthcheck::HealthcheckArgs;
use self::serving::run_serve;

mod args;
mod backend_args;
mod bench_samples;
mod commands;
mod exit;
mod for_model;
mod healthcheck;
mod host_load;
mod line;
mod named_backend;
mod naming;
mod open_backend;
mod ptr;
mod serving;
mod trial;
mod tune;
mod values;

/// Log filter when `RUST_LOG` is not set.
const USUAL_LOG: &str = "info,tract=warn,ort=warn";
/// The same while a table is printed: what each row says of its threads would stand between the rows.
const LOG_OF_TABLE: &str = "warn";

/// A SUT node: answers a LoadGen node's samples with an inference backend.
///
/// Backends: `onnx:MODEL.onnx`, `openai:http://HOST:PORT/MODEL`, `synthetic:SPEC`, and `null`, which answers at once
/// and needs no model.
///
/// Exit codes: 0 served until SIGTERM or SIGINT (what had been taken in was answered); 1 a bug or the operating
/// system; 2 usage, configuration, or a model that cannot be used. `healthcheck`: 0 when the node serves, else 1.
#[derive(Parser, Debug)]
#[command(name = "sut-node")]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Format of the log on standard error (RUST_LOG selects what is logged).
    #[arg(long, value_enum, default_value_t = LogFormat::Text, global = true, env = "LON_LOG_FORMAT",
          hide_short_help = true)]
    log_format: LogFormat,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Serve samples until SIGTERM.
    #[command(
        after_help = "Examples:
  sut-node serve --backend onnx:digits.onnx --listen 0.0.0.0:8000 --insecure
  sut-node serve --backend null --listen 127.0.0.1:8001

--help has all flags and backends, and more examples.",
        after_long_help = "Examples:
  sut-node serve --node N1 --backend onnx:digits.onnx \\
      --tls-cert n1.pem --tls-key n1.key
  sut-node serve --node N1 --backend onnx:digits.onnx --listen 0.0.0.0:8000 \\
      --insecure
  sut-node serve --node N2 --backend null --listen 127.0.0.1:8001
  sut-node serve --node N --nodes 100 --backend null --listen 127.0.0.1:23100
  sut-node serve --node N3 --backend synthetic:constant=2ms --max-batch 4 \\
      --max-delay 1ms --listen 127.0.0.1:8001
  sut-node serve --node N4 --backend synthetic:ttft=20ms,tpot=5ms,tokens=64 \\
      --slots 16 --listen 127.0.0.1:8001
  sut-node serve --node N5 --backend onnx:decoder.onnx --slots 8 \\
      --max-tokens 64 --eos 2 --listen 127.0.0.1:8001
  sut-node serve --node N6 --backend openai:http://127.0.0.1:8080/MODEL \\
      --workers 8 --listen 127.0.0.1:8002
  sut-node serve --node N7 --backend vision=onnx:digits.onnx \\
      --backend chat=openai:http://127.0.0.1:8080/MODEL --workers chat=8 \\
      --listen 127.0.0.1:8003

A model with a cache (input_ids and past_key_values.*, as Hugging Face Optimum exports decoders) is decoded token by \
token; a sample is token ids and, if it likes, how many tokens to answer at most.

SPEC of synthetic is KEY=VALUE[,KEY=VALUE...], with one shape of service time:
  constant=DURATION                  a batch takes so long, whatever its size
  lognormal=MEDIAN,SIGMA             a batch takes a log-normal time
  base=DURATION,per_sample=DURATION  a batch takes the base and so much for
                                     each sample
  ttft=DURATION,tpot=DURATION,tokens=COUNT
                                     token streams: so long to the first
                                     token, so long for each further one
                                     (tokens=MEDIAN,SIGMA: log-normal)
and with any of these beside it:
  stall=DURATION,stall_share=SHARE   that share of batches (of samples, before
                                     their first token) takes so much longer
  seed=NUMBER                        other draws, and answers of noise instead
                                     of zeros
  output=BYTES                       size of an answer (8; not with token
                                     streams)"
    )]
    Serve(ServeArgs),
    /// Print what a node would say of itself, as JSON, without serving.
    #[command(after_help = "Example:
  sut-node describe --backend onnx:digits.onnx
  sut-node describe --backend onnx:digits.onnx --text --try")]
    Describe(DescribeArgs),
    /// Measure the backend behind its queue and workers, in this process, without a network.
    #[command(after_help = "Examples:
  sut-node bench --backend onnx:digits.onnx --tune --max-batch 32
  sut-node bench --backend onnx:digits.onnx --max-batch 8 --dli
  sut-node bench --backend onnx:digits.onnx --max-batch 8 --out bench.json
  loadgen-node run --baseline bench.json --sut 10.0.0.2:8000 --insecure \\
      --benchmark digits --scenario Offline")]
    Bench(BenchArgs),
    /// Ask a node whether it serves; exit code 0 means that it does. For whoever starts nodes and waits for them.
    #[command(after_help = "Example:
  sut-node healthcheck --address 127.0.0.1:8000")]
    Healthcheck(HealthcheckArgs),
    /// Print the script with which a shell completes this command line.
    #[command(after_help = "Example:
  sut-node completions bash > /etc/bash_completion.d/sut-node")]
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Write the manual pages into a folder.
    #[command(after_help = "Example:
  sut-node manual /usr/local/share/man/man1")]
    Manual {
        /// The folder.
        folder: PathBuf,
    },
}

/// Runs the command line of a program with these backends and returns how it ended. A panic on this thread is a bug,
/// and the exit code says so.
pub(crate) fn main(backends: &Backends) -> ExitCode {
    let exit = std::panic::catch_unwind(|| run(backends)).unwrap_or(Exit::Bug);
    ExitCode::from(exit as u8)
}

/// All that can be typed.
fn command(backends: &Backends) -> clap::Command {
    Cli::command().version(described(env!("CARGO_PKG_VERSION"), &backends.features()))
}

fn run(backends: &Backends) -> Exit {
    if let Err(error) = panics::watch("sut-node", Exit::Bug as u8) {
        let _ = writeln!(std::io::stderr(), "sut-node: panics are not told in the usual way: {error}");
    }
    let args: Vec<OsString> = std::env::args_os().collect();
    let matches = short_help::fitted(command(backends), &args).try_get_matches_from(&args);
    let matches =
        matches.unwrap_or_else(|error| variables::with_tips_on_variables(error, &command(backends), &args).exit());
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let usual = if matches!(&cli.command, Command::Bench(args) if args.tune) { LOG_OF_TABLE } else { USUAL_LOG };
    let started = log::start(cli.log_format, usual).or_exit(Exit::Usage);
    let outcome = started.and_then(|()| match cli.command {
        Command::Serve(args) => run_serve(&args, backends),
        Command::Describe(args) => run_describe(args, backends),
        Command::Bench(args) => run_bench(&args, backends),
        Command::Healthcheck(args) => run_healthcheck(args),
        Command::Completions { shell } => packaging::completions(command(backends), shell).or_exit(Exit::Bug),
        Command::Manual { folder } => packaging::manual(command(backends), &folder)
            .with_context(|| folder.display().to_string())
            .or_exit(Exit::Usage),
    });
    match outcome {
        Ok(()) => Exit::Done,
        Err(failure) => {
            // Standard error may be closed. There is nobody to tell then.
            let message = failure.one_line();
            let variables = variables::behind(&message, &command(backends), &args);
            let _ = writeln!(std::io::stderr(), "sut-node: {message}{variables}");
            failure.exit
        }
    }
}
