//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Measures loadgen-node and sut-node against bare references on this machine, in turns.
///
/// Exit codes: 0 everything was measured (goals that were missed are in the table); 1 something could not be measured;
/// 2 usage.
#[derive(Parser, Debug)]
#[command(
    name = "lon-perf",
    version,
    after_help = "Examples:
  cargo build --release --workspace && cargo run --release -p lon-perf
  cargo run --release -p lon-perf -- --rows single-64-grpc,server-rate --rounds 7 --json perf.json
  cargo run --release -p lon-perf -- --soak"
)]
pub(crate) struct Cli {
    /// Rounds: each measures the reference, then ours.
    #[arg(long, default_value = "5", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: u32,
    /// Rows to measure; all but the soak unless given.
    #[arg(long, value_name = "NAME", value_delimiter = ',', conflicts_with = "soak")]
    pub(crate) rows: Vec<String>,
    /// The run of 20 million queries, alone.
    #[arg(long)]
    pub(crate) soak: bool,
    /// Name the rows, measure nothing.
    #[arg(long)]
    pub(crate) list: bool,
    /// Also write every value as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Also write the table as Markdown.
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Where sut-node and loadgen-node are; beside this program unless given.
    #[arg(long, value_name = "DIR")]
    pub(crate) bin_dir: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// One process of a reference; the program starts these itself.
    #[command(subcommand, hide = true)]
    Reference(Reference),
}

#[derive(Subcommand, Debug)]
pub(crate) enum Reference {
    /// The answering side; its first line on standard output is its address.
    Serve(Serve),
    /// The asking side; prints one number.
    Drive(Drive),
    /// Sleeps to a Poisson schedule; prints the 99th percentile of its lag in ns.
    Sleep(Sleep),
    /// The engine alone: due times per second of the slowest of some arrival processes.
    DueTimes {
        /// An arrival process, as `--arrivals` takes it.
        #[arg(required = true)]
        processes: Vec<String>,
    },
}

#[derive(Args, Debug)]
pub(crate) struct Serve {
    pub(crate) kind: Kind,
    /// Bytes of one request.
    #[arg(long)]
    pub(crate) size: usize,
    /// Certificate chain and its key, PEM.
    #[arg(long, requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    #[arg(long)]
    pub(crate) tls_key: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct Drive {
    pub(crate) kind: Kind,
    pub(crate) address: SocketAddr,
    /// Bytes of one request.
    #[arg(long)]
    pub(crate) size: usize,
    #[arg(long)]
    pub(crate) seconds: f64,
    /// Authority that signed the other side's certificate, a PEM file.
    #[arg(long)]
    pub(crate) tls_ca: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct Sleep {
    /// Events per second.
    #[arg(long)]
    pub(crate) rate: f64,
    #[arg(long)]
    pub(crate) seconds: f64,
}

/// References of two processes that this program brings along.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Blocking TCP, one request at a time: median round trip, ns.
    PingPong,
    /// Length-prefixed frames over tokio's TCP, a few in flight: requests per second.
    Pipeline,
    /// tonic unary calls on four connections: requests per second.
    Unary,
    /// One tonic stream over TLS: requests per second.
    StreamTls,
    /// One quinn stream: requests per second.
    Quic,
}

impl Kind {
    /// The name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::PingPong => "ping-pong",
            Kind::Pipeline => "pipeline",
            Kind::Unary => "unary",
            Kind::StreamTls => "stream-tls",
            Kind::Quic => "quic",
        }
    }

    /// Returns true when the reference needs certificates.
    pub(crate) fn has_tls(self) -> bool {
        matches!(self, Kind::StreamTls | Kind::Quic)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
        for kind in Kind::value_variants() {
            assert_eq!(Kind::from_str(kind.name(), false), Ok(*kind));
        }
    }
}
