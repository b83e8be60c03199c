//! The flags of `run` and `demo`.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::nodes::{DialArgs, KserveArgs};
use super::parse::{duration, few, scenario};
use super::shared::{CodecArgs, FindPeakArgs, TestArgs};
use crate::verdict::division::Division;
use crate::world::pace::Spin;
use loadgen::settings::Scenario;

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
    #[arg(long, value_enum, default_value_t = DivisionArg::Open, env = "LON_DIVISION")]
    pub(crate) division: DivisionArg,
    /// Probe the fabric first, so that the report can say what it could have carried. Takes about ten seconds a node.
    #[arg(long, env = "LON_PROBE")]
    pub(crate) probe: bool,
    /// What the nodes' backend does without a network, as `sut-node bench --json FILE` measured it: the result then
    /// says what the fabric costs.
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
    #[arg(long, value_enum, default_value_t = SpinArg::Auto, env = "LON_SPIN")]
    pub(crate) spin: SpinArg,
    /// The issuing thread does the network's work and never sleeps: lowest latency, one core burnt. The SUT node has
    /// the same flag.
    #[arg(long, conflicts_with = "io_threads", env = "LON_BUSY_POLL")]
    pub(crate) busy_poll: bool,
    /// A sample without an answer this long after it was sent has failed. The clock starts when it is sent, not when
    /// it is due.
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

/// Whose rules a run is to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DivisionArg {
    /// Anything goes, and is marked.
    Open,
    /// Server and Offline of the Datacenter suite over a network, with the codecs that the rules name.
    Network,
}

impl From<DivisionArg> for Division {
    fn from(division: DivisionArg) -> Division {
        match division {
            DivisionArg::Open => Division::Open,
            DivisionArg::Network => Division::Network,
        }
    }
}

/// Whether waiting ends in a spin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SpinArg {
    /// When a core can be spared.
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

impl From<SpinArg> for Spin {
    fn from(spin: SpinArg) -> Spin {
        match spin {
            SpinArg::Auto => Spin::Auto,
            SpinArg::On => Spin::On,
            SpinArg::Off => Spin::Off,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisions_are_typed_as_they_are_called() {
        for division in DivisionArg::value_variants() {
            let name = Division::from(*division).name();
            assert_eq!(DivisionArg::from_str(name, false), Ok(*division));
        }
        assert_eq!(Division::default(), Division::Open);
    }
}
