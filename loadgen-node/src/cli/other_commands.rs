//! The flags of `conf` and the other commands beside `run`, `demo` and `probe`.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{ArgGroup, Args, ValueEnum};
use lon_shell::choice::{Choice, one_of};

use super::codecs::CodecArgs;
use super::format::{Format, FormatArgs};
use super::nodes::DialArgs;
use super::parse::{duration, integers, scenario, scenarios};
use super::run::DIVISIONS;
use super::shared::TestArgs;
use crate::comparison::{Condition, MOST};
use loadgen::settings::{Assignment, IntegerRule, Scenario};
use lon_run::division::Division;
use lon_run::outputs::documents::result_summary::Validity;
use lon_run::outputs::documents::schemas::KINDS;
use lon_run::test_run::Label;
use lon_run::verdict::within::WithinLimits;

#[derive(Args, Debug)]
pub(crate) struct ConformanceArgs {
    #[command(flatten)]
    pub(crate) dial: DialArgs,
    #[command(flatten)]
    pub(crate) form: FormatArgs,
}

#[derive(Args, Debug)]
pub(crate) struct ConfArgs {
    /// The benchmark's name in config files: resnet50, bert, ... or digits, synthetic.
    #[arg(long, env = "LON_BENCHMARK", required_unless_present = "config_vector")]
    pub(crate) benchmark: Option<String>,
    /// LoadGen's scenario.
    #[arg(long, value_parser = scenario, env = "LON_SCENARIO", required_unless_present = "config_vector",
          help = scenarios())]
    pub(crate) scenario: Option<Scenario>,
    #[command(flatten)]
    pub(crate) test: TestArgs,
    #[command(flatten)]
    pub(crate) codecs: CodecArgs,
    /// The division whose rules are listed beside the settings.
    ///
    /// network: the rules of MLPerf's Network division, as far as they can be checked before a run.
    #[arg(long, value_parser = one_of(DIVISIONS), default_value = "none", env = "LON_DIVISION")]
    pub(crate) division: Division,
    /// Run folder of an accuracy run, for the rules that ask for one.
    #[arg(long, value_name = "FOLDER", env = "LON_ACCURACY_RUN")]
    pub(crate) accuracy_run: Option<PathBuf>,
    /// Evaluate the cases of this file instead: what each does to default settings, as JSON.
    #[arg(long, value_name = "FILE.json", conflicts_with = "format")]
    pub(crate) config_vector: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) form: FormatArgs,
}

#[derive(Args, Debug)]
pub(crate) struct TraceArgs {
    /// The settings and the QSL's counts.
    #[arg(long, value_name = "FILE.json", conflicts_with_all = ["benchmark", "scenario"])]
    pub(crate) settings: Option<PathBuf>,
    /// Files with recorded cases of the LoadGen of round v0.5: compute each case again, and print that it is equal or
    /// the first difference.
    #[arg(long, value_name = "FILE", num_args = 1..,
          conflicts_with_all = ["settings", "benchmark", "scenario", "digest"])]
    pub(crate) vector: Vec<PathBuf>,
    /// The benchmark, as `run` takes it.
    #[arg(long, env = "LON_BENCHMARK", required_unless_present_any = ["settings", "vector"])]
    pub(crate) benchmark: Option<String>,
    /// LoadGen's scenario.
    #[arg(long, value_parser = scenario, env = "LON_SCENARIO", required_unless_present_any = ["settings", "vector"],
          help = scenarios())]
    pub(crate) scenario: Option<Scenario>,
    #[command(flatten)]
    pub(crate) test: TestArgs,
    /// Print lists of more than 600 elements as count, SHA-256 and both ends.
    #[arg(long)]
    pub(crate) digest: bool,
    /// Draw the arrivals as SVG into this file instead: issues and queries in flight, with a simulated SUT.
    #[arg(long, value_name = "FILE.svg", conflicts_with_all = ["settings", "vector", "digest"])]
    pub(crate) picture: Option<PathBuf>,
    /// Time that the simulated SUT of --picture takes for a sample; 10 ms unless given.
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "picture",
          conflicts_with_all = ["settings", "vector", "digest"])]
    pub(crate) service: Option<Duration>,
    /// Samples that the simulated SUT of --picture works on at one time; 4 unless given.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..), requires = "picture",
          conflicts_with_all = ["settings", "vector", "digest"])]
    pub(crate) servers: Option<u16>,
}

#[derive(Args, Debug)]
#[command(group = ArgGroup::new("what").required(true).args(["timeline", "official", "report_vector"]))]
pub(crate) struct ReplayArgs {
    /// A run of this program to judge again: its folder, or the timeline.bin in it.
    #[arg(long, value_name = "PATH")]
    pub(crate) timeline: Option<PathBuf>,
    /// The folder with the logs of an official LoadGen, to be judged again and compared.
    #[arg(long, value_name = "DIR")]
    pub(crate) official: Option<PathBuf>,
    /// The rule by which the official run drew integers: product, division, division6 (GCC 6 and earlier) or mask
    /// (macOS). Unless given, the rule that explains the sets that it loaded.
    #[arg(long, value_name = "RULE", value_parser = integers,
          requires = "official", conflicts_with_all = ["timeline", "report_vector"])]
    pub(crate) integers: Option<IntegerRule>,
    /// Judge by these settings instead: an object of LoadGen's TestSettings, or one that has it as "settings".
    #[arg(long, value_name = "FILE.json", requires = "timeline", conflicts_with_all = ["official", "report_vector"])]
    pub(crate) settings: Option<PathBuf>,
    /// Judge with another setting, by LoadGen's config key; can be repeated.
    #[arg(long, value_name = "[SCENARIO.]KEY=VALUE", value_delimiter = ',', requires = "timeline",
          conflicts_with_all = ["official", "report_vector"])]
    pub(crate) set: Vec<Assignment>,
    /// Limits that a query has to keep together, as `run --within` takes them; share and rate follow on standard error.
    #[arg(long, value_name = "NAME=TIME,...", requires = "timeline",
          conflicts_with_all = ["official", "report_vector"])]
    pub(crate) within: Option<WithinLimits>,
    /// A test vector of results to judge; for tests of the rules.
    #[arg(long, value_name = "FILE.json")]
    pub(crate) report_vector: Option<PathBuf>,
    /// Print official logs compared, quantity by quantity, in this form.
    #[arg(long, value_enum, requires = "official", conflicts_with_all = ["timeline", "report_vector"])]
    pub(crate) format: Option<Format>,
    /// Print JSON: of a timeline as --report-vector does, of official logs every quantity.
    #[arg(long, conflicts_with_all = ["report_vector", "format"])]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct AccuracyArgs {
    /// The run folder.
    pub(crate) folder: PathBuf,
    /// Dataset with the labels; the run's own unless given.
    #[arg(long, env = "LON_DATASET")]
    pub(crate) dataset: Option<String>,
    /// Where the whole log is, if that of the run folder is truncated: the file whose SHA-256 is in accuracy.txt.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) backup: Option<PathBuf>,
    /// Score by a command of your own: the shell starts it with the path of mlperf_log_accuracy.json behind it. It
    /// prints a JSON object of numbers, such as {"FID_SCORE": 23.5, "CLIP_SCORE": 31.7}, by the metrics' names in the
    /// official submission checker.
    #[arg(long, value_name = "CMD")]
    pub(crate) scorer: Option<String>,
    #[command(flatten)]
    pub(crate) form: FormatArgs,
}

#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// The run folder.
    pub(crate) folder: PathBuf,
    /// Print result_summary.json instead.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print each rule of the Network division instead, with its verdict and the reason.
    #[arg(long, conflicts_with = "json")]
    pub(crate) division: bool,
}

#[derive(Args, Debug)]
pub(crate) struct InferArgs {
    /// The run folder, or one with the logs of an official LoadGen.
    pub(crate) folder: PathBuf,
    #[command(flatten)]
    pub(crate) form: FormatArgs,
}

#[derive(Args, Debug)]
pub(crate) struct ReportArgs {
    /// The run folder.
    pub(crate) folder: PathBuf,
    /// The file to write; unless given, report.html in the run folder.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Also write the verdict, the answers and the first charts as one SVG picture.
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) picture: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct RecoverArgs {
    /// The run folder.
    pub(crate) folder: PathBuf,
    /// Print result_summary.json instead.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct CompareArgs {
    /// Run folders, or folders of repeats with commas between; all are compared with the first.
    #[arg(required = true, num_args = 2..=MOST, value_name = "FOLDER[,FOLDER...]")]
    pub(crate) sides: Vec<String>,
    /// Exit with 3 when this holds, such as 'p99>+5%' or invalid; can be repeated.
    #[arg(long, value_name = "CONDITION")]
    pub(crate) fail_if: Vec<Condition>,
    #[command(flatten)]
    pub(crate) form: FormatArgs,
    /// Also write an HTML page, with curves over each other.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    /// The folder with the run folders.
    #[arg(default_value = "results")]
    pub(crate) folder: PathBuf,
    /// Only runs of this benchmark.
    #[arg(long, value_name = "NAME")]
    pub(crate) benchmark: Option<String>,
    /// Only runs of this scenario.
    #[arg(long, value_parser = scenario)]
    pub(crate) scenario: Option<Scenario>,
    /// Only runs with this verdict.
    #[arg(long, value_parser = one_of(VERDICTS), ignore_case = true)]
    pub(crate) result: Option<Validity>,
    /// Only runs against a SUT whose name has this text.
    #[arg(long, value_name = "TEXT")]
    pub(crate) sut: Option<String>,
    /// Only runs whose note (run --note) has this text.
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    /// Only runs with this label (run --label); can be repeated: runs with all of them.
    #[arg(long, value_name = "KEY=VALUE", value_delimiter = ',')]
    pub(crate) label: Vec<Label>,
    /// Only the last so many of them.
    #[arg(long, value_name = "COUNT")]
    pub(crate) last: Option<usize>,
    /// Open the page of the last of them, with $BROWSER or the system's usual program.
    #[arg(long)]
    pub(crate) open: bool,
    /// Relate the VALID runs to each other: coverage, Server over Offline, and each result over the slowest.
    #[arg(long, conflicts_with_all = ["open", "json"])]
    pub(crate) related: bool,
    #[command(flatten)]
    pub(crate) form: FormatArgs,
}

#[derive(Args, Debug)]
pub(crate) struct SchemaArgs {
    /// The document; unless given, all are listed.
    #[arg(value_parser = PossibleValuesParser::new(KINDS.map(|kind| kind.name)), hide_possible_values = true)]
    pub(crate) name: Option<String>,
    /// Print the list in this form.
    #[arg(long, value_enum, conflicts_with = "name")]
    pub(crate) format: Option<Format>,
    /// Print the list as JSON: --format json.
    #[arg(long, conflicts_with_all = ["name", "format"])]
    pub(crate) json: bool,
}

/// The values of `--result`.
const VERDICTS: [Choice<Validity>; 2] = [("valid", "", Validity::Valid), ("invalid", "", Validity::Invalid)];

#[derive(Args, Debug)]
pub(crate) struct ExportArgs {
    /// The run folder.
    pub(crate) folder: PathBuf,
    /// The form: a row for each sample.
    #[arg(long, visible_alias = "format", value_enum, default_value_t = ExportForm::Csv)]
    pub(crate) to: ExportForm,
    /// The file to write, which must not be there; unless given, CSV goes to standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// The values of `--to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportForm {
    Csv,
    Parquet,
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use clap::error::ErrorKind;

    use crate::cli::Cli;

    /// Clap drops a `requires` where another flag already forbids the required one, so each such flag forbids it, too.
    #[test]
    fn a_flag_of_another_way_is_refused_and_never_ignored() {
        for line in [
            "replay --official d --set min_duration=600s",
            "replay --official d --settings s.json",
            "replay --official d --within latency=1s",
            "replay --report-vector f --set min_duration=600s",
            "replay --timeline t --integers product",
            "replay --timeline t --format csv",
            "trace --settings s.json --service 5ms",
            "trace --settings s.json --servers 2",
            "campaign table d --dli --x p99",
            "campaign table d --dli --y p99",
            "probe --sut a:1 --watch 1s --matrix-at-once 2",
            "probe --link-rate 25G --matrix-at-once 2",
        ] {
            let arguments = ["loadgen-node"].into_iter().chain(line.split(' '));
            let refused = Cli::try_parse_from(arguments).map(|_| ()).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::ArgumentConflict, "{line}: {refused}");
        }
    }
}
