//! The flags of `probe`, `conf` and the other commands beside `run` and `demo`.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::nodes::DialArgs;
use super::parse::{few, scenario, some_duration};
use super::shared::TestArgs;
use crate::probe::ProbeLimits;
use loadgen::settings::{Assignment, Scenario};

#[derive(Args, Debug)]
pub(crate) struct ProbeArgs {
    #[command(flatten)]
    pub(crate) dial: DialArgs,
    #[command(flatten)]
    pub(crate) limits: ProbeLimitArgs,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// How much a probe may take.
#[derive(Args, Debug, Clone, Copy)]
pub(crate) struct ProbeLimitArgs {
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

impl ProbeLimitArgs {
    /// The limits, checked.
    pub(crate) fn check(self) -> ProbeLimits {
        let ProbeLimitArgs { duration, max_bytes, connections } = self;
        ProbeLimits { duration, max_bytes, connections }
    }
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
    /// Dataset with the labels; the run's own unless given.
    #[arg(long, env = "LON_DATASET")]
    pub(crate) dataset: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
