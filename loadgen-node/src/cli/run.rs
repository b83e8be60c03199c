//! The flags of `run` and `demo`.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use lon_net::slice::Priority;
use lon_shell::choice::{Choice, PRIORITIES, one_of};

use super::codecs::CodecArgs;
use super::format::Format;
use super::headings::{EXPERT, NETWORK, OUTPUT, WHAT};
use super::metrics::MetricsArgs;
use super::nodes::{DialArgs, KserveArgs};
use super::parse::{answer_bytes, duration, few, note, scenario, scenarios, some_duration};
use super::shared::{FindPeakArgs, TestArgs};
use crate::display::ui::Ui;
use loadgen::settings::Scenario;
use lon_run::division::Division;
use lon_run::outputs::documents::repeats::Take;
use lon_run::outputs::run_folder::folder::RESULTS;
use lon_run::test_run::Label;
use lon_run::verdict::within::WithinLimits;
use lon_world::pace::Spin;

#[derive(Args, Debug)]
pub(crate) struct DemoArgs {
    /// Run folder to make; results/<UTC>-digits-demo unless given.
    #[arg(long, env = "LON_OUT")]
    pub(crate) out: Option<PathBuf>,
    /// Print result_summary.json, not the result in words.
    #[arg(long, env = "LON_JSON")]
    pub(crate) json: bool,
    /// The display of the run while it goes on.
    #[arg(long, value_parser = one_of(UIS), default_value = "line", env = "LON_UI")]
    pub(crate) ui: Ui,
}

#[derive(Args, Debug, Clone)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) dial: DialArgs,
    /// LoadGen's scenario.
    #[arg(long, value_name = "NAME", value_parser = scenario, env = "LON_SCENARIO", help_heading = WHAT,
          help = scenarios(), required_unless_present = "mix")]
    pub(crate) scenario: Option<Scenario>,
    /// digits, synthetic, resnet50, bert, ... or NAME.toml.
    ///
    /// NAME.toml is a file of your own. Benchmarks of MLPerf have the names of config files, such as llama2-70b; `list`
    /// in place of a name prints all of them.
    #[arg(long, value_name = "NAME", env = "LON_BENCHMARK", help_heading = WHAT, required_unless_present = "mix")]
    pub(crate) benchmark: Option<String>,
    /// Several tests at once over the same nodes, from a file of TOML: each `[[tenant]]` has a name, and the flags of
    /// this command. The guide has the keys.
    #[arg(long, value_name = "FILE", env = "LON_MIX", help_heading = WHAT, hide_short_help = true)]
    pub(crate) mix: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) test: TestArgs,
    /// Read every sample of the dataset before the run: pictures are decoded, and one that is truncated is named. Files
    /// in a SHA256SUMS are held against it in any case.
    #[arg(long, env = "LON_VERIFY_DATASET", help_heading = WHAT, hide_short_help = true)]
    pub(crate) verify_dataset: bool,
    #[command(flatten)]
    pub(crate) kserve: KserveArgs,
    #[command(flatten)]
    pub(crate) codecs: CodecArgs,
    /// Division whose rules the run keeps.
    ///
    /// network: refuse a run that breaks a rule of MLPerf's Network division. none: run anyway, and name the broken
    /// rules in the result. `conf --division network` lists the rules.
    #[arg(long, value_name = "NAME", value_parser = one_of(DIVISIONS), default_value = "none", env = "LON_DIVISION",
          help_heading = WHAT, hide_possible_values = true)]
    pub(crate) division: Division,
    /// Probe the fabric before the run, about ten seconds a node.
    ///
    /// The report then says what it could have carried.
    #[arg(long, env = "LON_PROBE", help_heading = NETWORK, hide_short_help = true)]
    pub(crate) probe: bool,
    /// The performance of the nodes' backend without a network, as `sut-node bench --out FILE` measured it: the result
    /// then says what the fabric costs.
    #[arg(long, value_name = "FILE", env = "LON_BASELINE", help_heading = OUTPUT, hide_short_help = true)]
    pub(crate) baseline: Option<PathBuf>,
    /// Run folder of an accuracy run of the same setup, whose score the rules of the Network division ask for.
    #[arg(long, value_name = "FOLDER", env = "LON_ACCURACY_RUN", help_heading = OUTPUT, hide_short_help = true)]
    pub(crate) accuracy_run: Option<PathBuf>,
    /// Run folder; else one in the folder of --results.
    ///
    /// Its name is then <UTC>-<benchmark>-<scenario>.
    #[arg(long, env = "LON_OUT", help_heading = OUTPUT)]
    pub(crate) out: Option<PathBuf>,
    /// The folder for run folders without --out.
    #[arg(long, value_name = "FOLDER", default_value = RESULTS, env = "LON_RESULTS",
          help_heading = OUTPUT, hide_short_help = true)]
    pub(crate) results: PathBuf,
    /// Number of runs of the same test, each in a folder of its own: NAME-1, NAME-2 and so on. The table has median,
    /// min, max, spread and mean of the metric; NAME-repeats.json beside the folders has all values. The exit code is
    /// that of the worst run; one that fails (1, 4, 5) is the last.
    #[arg(long, value_name = "COUNT", alias = "repeats", env = "LON_REPEAT", help_heading = OUTPUT,
          hide_short_help = true,
          value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(crate) repeat: Option<u64>,
    /// The run of --repeat that counts: min, the one with the lowest rate or the longest latency, as for Server in
    /// round v0.5; or median. The table and NAME-repeats.json name the run. All runs have to be VALID, or none counts.
    #[arg(long, value_parser = one_of(TAKES), value_name = "WHICH", requires = "repeat", env = "LON_TAKE",
          help_heading = OUTPUT, hide_short_help = true)]
    pub(crate) take: Option<Take>,
    /// Print result_summary.json, not the result in words.
    #[arg(long, env = "LON_JSON", help_heading = OUTPUT)]
    pub(crate) json: bool,
    /// The output format; csv and md are for the tables of --compression auto and --repeat.
    #[arg(long, value_enum, conflicts_with = "json", env = "LON_FORMAT", help_heading = OUTPUT,
          hide_short_help = true)]
    pub(crate) format: Option<Format>,
    /// Send queries for this long before the run, with its settings: 10s. The result has the warm-up apart, and nothing
    /// judges it.
    #[arg(long, value_name = "TIME", value_parser = some_duration, env = "LON_WARM_UP", help_heading = EXPERT,
          hide_short_help = true)]
    pub(crate) warm_up: Option<Duration>,
    /// Run although it is known beforehand that the result cannot become VALID, and the run takes more than a minute.
    #[arg(long, env = "LON_ANYWAY", help_heading = EXPERT, hide_short_help = true)]
    pub(crate) anyway: bool,
    /// Go on beyond the planned queries where early stopping asks for more: up to four times as many, and 16 million
    /// more at most; the result is marked. Not for merged queries, nor for performance_issue_unique.
    #[arg(long, env = "LON_EXTEND", help_heading = EXPERT, hide_short_help = true)]
    pub(crate) extend: bool,
    /// Run nodes that are not one SUT, with different models, engines or options that may change answers; the result is
    /// marked.
    #[arg(long, env = "LON_MIXED_NODES", help_heading = EXPERT, hide_short_help = true)]
    pub(crate) mixed_nodes: bool,
    /// A text that is kept with the result: what was special about this run.
    #[arg(long, value_name = "TEXT", value_parser = note, env = "LON_NOTE", help_heading = OUTPUT,
          hide_short_help = true)]
    pub(crate) note: Option<String>,
    /// A label of the run, KEY=VALUE: for lists, comparisons and metrics. The flag can be repeated.
    ///
    /// Keys have letters, digits, `_`, `-` and `.`; values have no comma. `list --label KEY=VALUE` finds the run.
    #[arg(long, value_name = "KEY=VALUE", env = "LON_LABEL", help_heading = OUTPUT, value_delimiter = ',',
          hide_short_help = true)]
    pub(crate) label: Vec<Label>,
    /// The facts that you state of the system, as JSON: keys of MLPerf's system descriptions, texts as values. They go
    /// into system_desc.json, which lists the facts of the network that are still to be stated.
    #[arg(long, value_name = "FILE", env = "LON_SYSTEM_DESC", help_heading = OUTPUT, hide_short_help = true)]
    pub(crate) system_desc: Option<PathBuf>,
    /// Connections to each node (QUIC: each with four streams).
    #[arg(long, default_value = "1", value_parser = few, env = "LON_CONNECTIONS",
          help_heading = NETWORK, hide_short_help = true)]
    pub(crate) connections: NonZeroUsize,
    /// Threads that do the network's work in Server and Offline; 0: the issuing thread does it itself. Unless given, 1
    /// where there are 4 cores or more, else 0.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u8), env = "LON_IO_THREADS",
          help_heading = EXPERT, hide_short_help = true)]
    pub(crate) io_threads: Option<u8>,
    /// The spin of the issuing thread: it stays awake for the last 50 us before a query is due. Auto: where a core can
    /// be spared for it. Off also means that it sleeps at once when it waits for an answer (SingleStream, MultiStream).
    #[arg(long, value_parser = one_of(SPINS), default_value = "auto", env = "LON_SPIN",
          help_heading = EXPERT, hide_short_help = true)]
    pub(crate) spin: Spin,
    /// The issuing thread does the network's work and never sleeps: lowest latency, one full core. The SUT node has
    /// the same flag.
    #[arg(long, conflicts_with = "io_threads", env = "LON_BUSY_POLL", help_heading = EXPERT, hide_short_help = true)]
    pub(crate) busy_poll: bool,
    /// The priority of the threads that issue and carry samples. With real-time priority they run as soon as they are
    /// ready, whatever other programs want. Auto: real-time where the system grants it, a core remains for others, and
    /// the scenario is not Offline. A program that was started to give way (`chrt -i 0`, `chrt -b 0`, `nice`) stays as
    /// it is. Realtime: refuses to run without it. Real-time priority takes CAP_SYS_NICE, or a limit of real-time
    /// priorities (`ulimit -r 10`). The SUT node has the same flag.
    #[arg(long, value_parser = one_of(PRIORITIES), default_value = "auto", env = "LON_PRIORITY",
          help_heading = EXPERT, hide_short_help = true)]
    pub(crate) priority: Priority,
    /// A sample without an answer this long after it was sent has failed. The clock starts when it is sent, not when
    /// it is due.
    #[arg(long, value_parser = duration, default_value = "60s", env = "LON_RESPONSE_TIMEOUT",
          help_heading = EXPERT, hide_short_help = true)]
    pub(crate) response_timeout: Duration,
    /// Largest answer that is taken where the node leaves sizes of its outputs free: a number and a unit. A larger one
    /// fails, or ends the run when it comes in pieces. Where all sizes are fixed, answers have exactly that size.
    #[arg(long, value_name = "SIZE", value_parser = answer_bytes, default_value = "64MiB", env = "LON_MAX_ANSWER",
          help_heading = EXPERT, hide_short_help = true)]
    pub(crate) max_answer: u64,
    /// Schedule lag (p99) beyond which the result is INVALID.
    ///
    /// The LoadGen node itself is then what was measured. Stalls of either end are held to it, too. Unless given: the
    /// larger of 1 ms and 1 % of the target latency; 50 ms where SUT nodes run on this machine and it has too few
    /// cores for all.
    #[arg(long, value_name = "TIME", value_parser = duration, env = "LON_MAX_LAG", help_heading = EXPERT,
          allow_hyphen_values = true, hide_short_help = true)]
    pub(crate) max_lag: Option<Duration>,
    /// Limits that a query has to keep together, such as ttft=500ms,tpot=50ms,latency=1s.
    ///
    /// The result then has the share and the rate of the queries within all of them. The verdict does not depend on
    /// them. ttft (time to first token) and tpot (time per output token after it) are measured in token runs alone.
    #[arg(long, value_name = "NAME=TIME,...", env = "LON_WITHIN", help_heading = OUTPUT, hide_short_help = true)]
    pub(crate) within: Option<WithinLimits>,
    /// Also write mlperf_log_trace.json (Chrome trace events): when each sample was due, issued and answered.
    #[arg(long, env = "LON_TRACE_LOG", help_heading = OUTPUT, hide_short_help = true)]
    pub(crate) trace_log: bool,
    /// Also write stages.bin: which node answered each sample and how long each stage took, some 12 bytes a sample.
    /// `loadgen-node export` has them in its rows then.
    #[arg(long, env = "LON_RECORD_STAGES", help_heading = OUTPUT, hide_short_help = true)]
    pub(crate) record_stages: bool,
    /// Do not write report.html, the run as one page. `loadgen-node report FOLDER` makes it later.
    #[arg(long, env = "LON_NO_REPORT", help_heading = OUTPUT, hide_short_help = true)]
    pub(crate) no_report: bool,
    /// The display of the run meanwhile: line, dashboard or none.
    ///
    /// The dashboard takes the whole terminal and has keys; h explains them. It shows the tenants of a mix beside each
    /// other.
    #[arg(long, value_parser = one_of(UIS), default_value = "line", env = "LON_UI", help_heading = OUTPUT,
          hide_possible_values = true, hide_default_value = true, value_name = "UI")]
    pub(crate) ui: Ui,
    #[command(flatten)]
    pub(crate) metrics: MetricsArgs,
    #[command(flatten)]
    pub(crate) find_peak: FindPeakArgs,
}

/// Every flag of `run`, by its long name.
pub(crate) fn run_flags() -> Vec<String> {
    let flags = RunArgs::augment_args(clap::Command::new("run"));
    flags.get_arguments().filter_map(|flag| flag.get_long().map(str::to_owned)).collect()
}

// Without a word on each value, help lists them on one line.
/// The values of `--ui`.
const UIS: [Choice<Ui>; 3] = [("line", "", Ui::Line), ("dashboard", "", Ui::Dashboard), ("none", "", Ui::None)];

/// The values of `--take`.
const TAKES: [Choice<Take>; 2] = [("min", "", Take::Min), ("median", "", Take::Median)];

/// The values of `--division`.
pub(super) const DIVISIONS: [Choice<Division>; 2] = [
    (Division::None.name(), "No division: the result names the broken rules of the Network division", Division::None),
    (
        Division::Network.name(),
        "Server and Offline of the Datacenter suite over a network, by the rules of the Network division",
        Division::Network,
    ),
];

/// The values of `--spin`.
const SPINS: [Choice<Spin>; 3] =
    [("auto", "When a core can be spared", Spin::Auto), ("on", "Always", Spin::On), ("off", "Never", Spin::Off)];
