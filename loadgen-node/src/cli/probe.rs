//! The flags of `probe`, and the checked value that they become.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use lon_proto::limits::{MAX_PEER_PROBE_BYTES, MAX_PEER_PROBE_TIME};
use lon_proto::sample::DType;
use lon_qsl::Codec;
use lon_qsl::benchmark::{Benchmark, Suite};
use lon_shell::choice::{Choice, one_of};
use qdl::Transport;

use super::format::FormatArgs;
use super::headings::{NETWORK, NODES, OUTPUT, SAMPLES, WHAT};
use super::nodes::{ConnectionArgs, DialArgs, KserveArgs, SecurityArgs, USUAL_TRANSPORT};
use super::parse::{duration, few, link_rate, percent, request_bytes, rules, some_duration, watch_interval};
use loadgen::conf::rules::Rules;
use lon_run::exit::{Exit, OrExit as _, Outcome};
use lon_run::nodes::target::Target;
use lon_run::probe::capacity::{Selection, USUAL_CODECS};
use lon_run::probe::needs::Rate;
use lon_run::probe::plan::{ProbePlan, USUAL_SIZES};

/// Repeats where a probe is stored, or held against a stored one.
const REPEATS_TO_COMPARE: NonZeroUsize = NonZeroUsize::new(5).unwrap();

#[derive(Args, Debug)]
pub(crate) struct ProbeArgs {
    /// host[:port][,host[:port]...], @FILE or dns:NAME:PORT.
    ///
    /// The port is 8000 unless given. A range of ports stands for a node at each (10.0.0.2:8000-8003). @FILE has a node
    /// on each line. dns:NAME:PORT is every address of a name.
    #[arg(long, alias = "sut-server", value_name = "NODES", env = "LON_SUT", help_heading = NODES)]
    pub(crate) sut: Option<String>,
    /// The transport of the probe; all: over each of them, one after the other.
    #[arg(long, value_parser = transports(), default_value = USUAL_TRANSPORT.name(), env = "LON_TRANSPORT",
          help_heading = NETWORK)]
    pub(crate) transport: ProbeTransport,
    #[command(flatten)]
    pub(crate) security: SecurityArgs,
    /// The longest time to wait for nodes that are not there yet, or are busy.
    #[arg(long, value_parser = duration, default_value = "0s", env = "LON_WAIT_READY", help_heading = NODES)]
    pub(crate) wait_ready: Duration,
    #[command(flatten)]
    pub(crate) plan: PlanArgs,
    #[command(flatten)]
    pub(crate) accept: AcceptArgs,
    #[command(flatten)]
    pub(crate) carries: CarriesArgs,
    #[command(flatten, next_help_heading = OUTPUT)]
    pub(crate) form: FormatArgs,
}

/// The measurements of a probe.
#[derive(Args, Debug)]
pub(crate) struct PlanArgs {
    /// Duration of each goodput measurement.
    ///
    /// It holds for each direction. A number alone is seconds (0.3 is 300ms). Each size of round trips gets a quarter
    /// of it.
    #[arg(long, visible_alias = "seconds", value_parser = some_duration, default_value = "2s",
          env = "LON_PROBE_DURATION", help_heading = WHAT)]
    pub(crate) duration: Duration,
    /// Bytes of payload after which a measurement ends, whatever its duration.
    #[arg(long, value_name = "BYTES", default_value_t = MAX_PEER_PROBE_BYTES, env = "LON_PROBE_MAX_BYTES",
          value_parser = clap::value_parser!(u64).range(1_000_000..), help_heading = WHAT,
          hide_short_help = true)]
    pub(crate) max_bytes: u64,
    /// Connections to each node, one number or several (1,2,4,8).
    ///
    /// Of several, the probe marks the number that fills the link. This is the fewest whose goodput up and down is at
    /// most 5 % below the best of each. Over QUIC each has four streams.
    #[arg(long, value_name = "COUNT,...", default_value = "1", value_parser = few, value_delimiter = ',',
          env = "LON_CONNECTIONS", help_heading = WHAT)]
    pub(crate) connections: Vec<NonZeroUsize>,
    /// Sizes of the requests whose round trips are measured; unless given 64,4KiB,64KiB,1MiB.
    #[arg(long, value_name = "SIZE,SIZE...", value_parser = request_bytes, value_delimiter = ',',
          env = "LON_PROBE_SIZES", help_heading = WHAT,
          hide_short_help = true)]
    pub(crate) sizes: Vec<usize>,
    /// Measurements of each goodput; 1 unless given, 5 with --save or --against.
    ///
    /// Two or more print the mean and its interval with 95 % confidence. While an interval is wider than half of
    /// --tolerance to either side, the probe repeats, up to three times COUNT (15 for 5).
    #[arg(long, value_name = "COUNT", value_parser = few, env = "LON_PROBE_REPEATS", help_heading = WHAT,
          hide_short_help = true)]
    pub(crate) repeats: Option<NonZeroUsize>,
    /// Measure without end, up and down in turns, and print a line for each interval (500ms at least). Ctrl-C prints
    /// the sum.
    #[arg(long, value_name = "INTERVAL", value_parser = watch_interval, env = "LON_PROBE_WATCH", help_heading = WHAT,
          hide_short_help = true,
          conflicts_with_all = ["save", "against", "repeats", "sizes", "duration"])]
    pub(crate) watch: Option<Duration>,
    #[command(flatten)]
    pub(crate) matrix: MatrixArgs,
}

/// The measurements of SUT nodes among each other.
#[derive(Args, Debug)]
pub(crate) struct MatrixArgs {
    /// SUT nodes measure each other, too, and a bad host is told from a bad link.
    ///
    /// Each pair is measured both ways by one of its nodes, for the same duration and over the most --connections. They
    /// need a list of each other (sut-node serve --probe-peers), with the addresses of this --sut. What is slower than
    /// usual by more than --tolerance, also when it is measured once more, is named: exit code 3.
    #[arg(long, env = "LON_PROBE_MATRIX", help_heading = WHAT, hide_short_help = true, conflicts_with = "watch")]
    pub(crate) matrix: bool,
    /// With --matrix: pairs that are measured at the same time at most; 64 unless given. No host is in two of them.
    #[arg(long = "matrix-at-once", value_name = "COUNT", value_parser = few, env = "LON_PROBE_MATRIX_AT_ONCE",
          help_heading = WHAT, hide_short_help = true, requires = "matrix",
          conflicts_with_all = ["watch", "link_rate"])]
    pub(crate) at_once: Option<NonZeroUsize>,
}

impl MatrixArgs {
    /// Checks that these nodes can measure each other as the plan wants it.
    fn check(&self, targets: &[Target], plan: &ProbePlan) -> anyhow::Result<()> {
        if !self.matrix {
            return Ok(());
        }
        if targets.iter().any(|target| target.peers.addresses().len() < 2) {
            bail!("--matrix is for two nodes or more: name them in --sut");
        }
        let measurements = u32::try_from(2 * plan.repeats().0).unwrap_or(u32::MAX);
        if plan.duration.saturating_mul(measurements) > MAX_PEER_PROBE_TIME {
            let repeats = plan.repeats().0;
            bail!(
                "--matrix: nodes measure each other for {MAX_PEER_PROBE_TIME:?} at most; --duration {:?}, both ways, \
                 {repeats} times is more",
                plan.duration
            );
        }
        if plan.max_bytes > MAX_PEER_PROBE_BYTES {
            bail!(
                "--matrix: --max-bytes {} is more than {MAX_PEER_PROBE_BYTES}, the most that nodes take",
                plan.max_bytes
            );
        }
        Ok(())
    }
}

/// A baseline, and what is held against it.
#[derive(Args, Debug)]
pub(crate) struct AcceptArgs {
    /// Write the measurements to this new file as a baseline.
    #[arg(long, value_name = "FILE", env = "LON_PROBE_SAVE", help_heading = OUTPUT)]
    pub(crate) save: Option<PathBuf>,
    /// Compare with this file of an earlier --save: exit code 3 when it is worse, 2 when the repeats do not decide.
    ///
    /// Passed (0): the 95 % interval of each change stays above minus --tolerance. Worse (3): a mean change is below
    /// minus --tolerance and its interval below 0, or an end has another configuration. The likely place of the cause
    /// stands beside it. Undecided (2): all else. Use the same --transport, nodes, --matrix, --connections and
    /// --duration as with --save: others are refused.
    #[arg(long, value_name = "FILE", env = "LON_PROBE_AGAINST", help_heading = OUTPUT)]
    pub(crate) against: Option<PathBuf>,
    /// Tolerance for a drop in goodput, percent, whatever it was with --save; with --matrix, below the median of all
    /// links.
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = percent, env = "LON_PROBE_TOLERANCE",
          help_heading = OUTPUT, hide_short_help = true)]
    pub(crate) tolerance: f64,
}

/// For which samples it is said what the fabric carries.
#[derive(Args, Debug)]
pub(crate) struct CarriesArgs {
    /// Round whose suite and codecs are shown: v5.0, v5.1, v6.0 or v6.1. Unless given, v6.1.
    #[arg(long, value_name = "ROUND", value_parser = rules, env = "LON_RULES", help_heading = SAMPLES,
          hide_short_help = true)]
    pub(crate) rules: Option<&'static Rules>,
    /// Suite whose benchmarks are shown.
    #[arg(long, value_parser = one_of(SUITES), default_value = "datacenter", env = "LON_PROBE_SUITE",
          help_heading = SAMPLES, hide_short_help = true)]
    pub(crate) suite: Suite,
    /// Also these benchmarks: files of your own (mine.toml), or names.
    #[arg(long, value_name = "FILE,FILE...", value_parser = benchmark, value_delimiter = ',',
          env = "LON_PROBE_BENCHMARK", help_heading = SAMPLES, hide_short_help = true)]
    pub(crate) benchmark: Vec<&'static Benchmark>,
    /// Codecs that are shown, where the rules allow them; unless given lz4,zstd:1,shuffle-zstd:1,delta-zstd:1.
    #[arg(long, value_name = "CODEC,CODEC...", value_delimiter = ',', env = "LON_PROBE_CODECS", help_heading = SAMPLES,
          hide_short_help = true)]
    pub(crate) codecs: Vec<Codec>,
    /// Types of elements that are shown beside those of the rules' formulas (u8,f16,f32), where the models take them.
    #[arg(long, value_name = "TYPE,TYPE...", value_delimiter = ',', env = "LON_PROBE_DTYPES", help_heading = SAMPLES,
          hide_short_help = true)]
    pub(crate) dtypes: Vec<DType>,
    /// Rates in samples/s that the fabric has to carry together.
    ///
    /// Prints the link, processors and connections that they need. Also prints the first limit, or the tightest
    /// resource of a fabric that carries them. Exit code 3 when the fabric carries them neither without a codec nor
    /// with one.
    #[arg(long, value_name = "NAME=RATE,...", value_parser = required_rate, value_delimiter = ',',
          env = "LON_PROBE_REQUIRE", help_heading = SAMPLES)]
    pub(crate) require: Vec<Rate>,
    /// Rate of a link (25G): print its capacity by arithmetic, without nodes.
    ///
    /// The payload is that of full TCP segments over MTU 1500, for --transport grpc and tcp. Prints text only. Flags of
    /// measurements, --codecs, --require and the nodes are refused beside it.
    #[arg(long, value_name = "RATE", value_parser = link_rate, env = "LON_PROBE_LINK_RATE", help_heading = SAMPLES,
          conflicts_with_all = ["sut", "wait_ready", "duration", "max_bytes", "connections", "sizes", "repeats",
                                "save", "against", "tolerance", "watch", "matrix"])]
    pub(crate) link_rate: Option<f64>,
}

/// The values of `--suite`.
const SUITES: [Choice<Suite>; 2] = [("datacenter", "", Suite::Datacenter), ("edge", "", Suite::Edge)];

fn benchmark(text: &str) -> Result<&'static Benchmark, String> {
    Benchmark::named(text).map_err(|error| error.to_string())
}

/// The highest rate that can be required, samples/s: what it needs can still be counted.
const MAX_RATE: f64 = 1e12;

/// A benchmark and its samples per second, 10^12 at most.
fn required_rate(text: &str) -> Result<Rate, String> {
    let wrong = || "write a benchmark and its samples/s, for example resnet50=20000 or mine.toml=500".to_owned();
    let (name, rate) = text.rsplit_once('=').ok_or_else(wrong)?;
    let samples_per_s = rate.parse().ok().filter(|rate: &f64| *rate > 0.0 && *rate <= MAX_RATE).ok_or_else(wrong)?;
    Ok(Rate { benchmark: benchmark(name)?, samples_per_s })
}

/// The transport of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProbeTransport {
    One(Transport),
    /// Every transport whose nodes can be probed.
    All,
}

/// The values of `--transport`. A transport whose nodes cannot be probed is hidden: it has an error of its own.
fn transports() -> impl TypedValueParser<Value = ProbeTransport> {
    let each = Transport::ALL.map(|transport| PossibleValue::new(transport.name()).hide(!can_be_probed(transport)));
    let values = PossibleValuesParser::new(each.into_iter().chain([PossibleValue::new("all")]));
    values.map(|name| Transport::named(&name).map_or(ProbeTransport::All, ProbeTransport::One))
}

fn can_be_probed(transport: Transport) -> bool {
    transport.peer_kind().no_probe.is_none()
}

/// The checked flags of a call of `probe`.
pub(crate) struct ProbeRequest {
    /// The nodes, once for each transport; at least one.
    pub(crate) targets: Vec<Target>,
    pub(crate) plan: ProbePlan,
    /// For which samples it is said what the fabric carries.
    pub(crate) selection: Selection,
}

impl ProbeArgs {
    /// The nodes over each transport, and what is measured. Files and names in `--sut` are read and resolved here.
    pub(crate) fn check(&self) -> Outcome<ProbeRequest> {
        let target = |transport| self.dial(transport).target(&KserveArgs::default());
        let targets = self.transport.each().into_iter().map(target).collect::<Outcome<Vec<_>>>()?;
        let plan = self.plan();
        self.plan.matrix.check(&targets, &plan).or_exit(Exit::Usage)?;
        Ok(ProbeRequest { targets, plan, selection: self.carries.check() })
    }

    /// The nodes over one transport.
    pub(crate) fn dial(&self, transport: Transport) -> DialArgs {
        let (security, wait_ready) = (self.security.clone(), self.wait_ready);
        DialArgs {
            sut: self.sut.clone().unwrap_or_default(),
            connection: ConnectionArgs { transport, security, wait_ready },
        }
    }

    fn plan(&self) -> ProbePlan {
        let PlanArgs { duration, max_bytes, connections, sizes, repeats, .. } = &self.plan;
        let sizes = if sizes.is_empty() { USUAL_SIZES.to_vec() } else { sizes.clone() };
        let compares = self.accept.save.is_some() || self.accept.against.is_some();
        let repeats = repeats.unwrap_or(if compares { REPEATS_TO_COMPARE } else { NonZeroUsize::MIN });
        let mut plan = ProbePlan::new(*duration, *max_bytes, connections.clone(), sizes, repeats);
        // Well below what is to be told apart.
        plan.known_to = self.accept.tolerance / 2.0;
        plan
    }
}

impl CarriesArgs {
    /// The samples whose rates are shown.
    pub(crate) fn check(&self) -> Selection {
        let usual = || USUAL_CODECS.iter().filter_map(|codec| codec.parse().ok()).collect();
        Selection {
            round: self.rules.unwrap_or_else(Rules::newest).round.name,
            suite: self.suite,
            more: self.benchmark.clone(),
            codecs: if self.codecs.is_empty() { usual() } else { columns(&self.codecs) },
            dtypes: self.dtypes.clone(),
        }
    }
}

/// The codecs once each; `none` has its column always.
fn columns(typed: &[Codec]) -> Vec<Codec> {
    let is_new = |at: usize| !typed[at].is_none() && !typed[..at].contains(&typed[at]);
    (0..typed.len()).filter(|at| is_new(*at)).map(|at| typed[at]).collect()
}

impl ProbeTransport {
    /// The transports that it stands for.
    pub(crate) fn each(self) -> Vec<Transport> {
        match self {
            ProbeTransport::One(transport) => vec![transport],
            ProbeTransport::All => Transport::ALL.into_iter().filter(|transport| can_be_probed(*transport)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Command};

    fn request_of(more: &[&str]) -> ProbeRequest {
        let typed = ["loadgen-node", "probe", "--sut", "127.0.0.1:1"];
        match Cli::parse_from(typed.iter().chain(more)).command {
            Command::Probe(args) => args.check().ok().unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn flags_become_a_plan_for_each_transport() {
        let plain = request_of(&[]);
        assert_eq!((plain.targets.len(), plain.plan), (1, ProbePlan::usual(NonZeroUsize::MIN)));
        let swept = request_of(&["--connections", "8,1", "--transport", "all", "--sizes", "64,1MiB", "--seconds", "3"]);
        let names: Vec<&str> = swept.targets.iter().map(|target| target.peers.transport().name()).collect();
        assert_eq!(names, ["grpc", "tcp", "quic"]);
        assert_eq!(
            (swept.plan.connections().collect::<Vec<_>>(), swept.plan.sizes()),
            (vec![1, 8], &[64, 1 << 20][..])
        );
        assert_eq!(swept.plan.duration, Duration::from_secs(3));
        assert_eq!(request_of(&["--duration", "0.3"]).plan.duration, Duration::from_millis(300));
        assert_eq!(request_of(&["--codecs", "none,lz4,lz4"]).selection.codecs, ["lz4".parse().unwrap()]);
    }

    #[test]
    fn a_link_rate_takes_the_place_of_nodes() {
        let parsed = |more: &[&str]| Cli::try_parse_from(["loadgen-node", "probe"].iter().chain(more)).is_ok();
        assert!(parsed(&["--link-rate", "25G"]) && parsed(&["--sut", "a"]));
        assert!(!parsed(&["--link-rate", "25G", "--sut", "a"]) && !parsed(&["--link-rate", "25G", "--matrix"]));
    }

    #[test]
    fn what_is_compared_is_repeated() {
        let saved = request_of(&["--save", "a.json", "--tolerance", "10%"]);
        assert_eq!((saved.plan.repeats(), saved.plan.known_to), ((5, 15), 0.05));
        assert_eq!(request_of(&["--against", "a.json", "--repeats", "3"]).plan.repeats(), (3, 9));
        assert_eq!(request_of(&[]).plan.repeats(), (1, 1));
    }
}
