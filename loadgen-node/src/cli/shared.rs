//! The flags that say what is tested, shared by `run`, `demo` and `conf`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use lon_qsl::Preprocess;
use lon_qsl::dataset::Aggregate;

use super::headings::WHAT;
use super::parse::{assignment, integers, mode, rounds, share};
use loadgen::conf::rules::Rules;
use loadgen::run::Goal;
use loadgen::settings::{Assignment, IntegerRule, Mode};
use lon_run::test_run::{DataSpec, FindPeakSpec, SettingsSpec};

/// The subject of a test, besides benchmark and scenario.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct TestArgs {
    /// LoadGen's mode.
    #[arg(long, value_parser = mode, env = "LON_MODE", help_heading = WHAT,
          help = "PerformanceOnly (default), AccuracyOnly, SubmissionRun (both) or FindPeakPerformance")]
    pub(crate) mode: Option<Mode>,
    /// A file, a folder or synthetic:KIND[DIMS]xCOUNT.
    ///
    /// Else it is the benchmark's. What there is:
    /// A folder of JPEGs with val_map.txt, COCO's folder, a folder with SQuAD's dev-v1.1.json and vocab.txt, .npy,
    /// .npz, JSON lines with token ids or prompts (.jsonl), a manifest of raw tensors (.toml), or
    /// synthetic:KIND[DIMS]xCOUNT with KIND an element type, image-u8, tokens-i32 or tokens-i64.
    #[arg(long, env = "LON_DATASET", help_heading = WHAT)]
    pub(crate) dataset: Option<String>,
    /// The preprocessing of images before they are sent: imagenet-caffe, imagenet-torch or stretch-torch, or steps such
    /// as resize=256,crop=224,layout=nchw,dtype=u8; the benchmark's own unless given.
    #[arg(long, value_name = "SPEC", env = "LON_PREPROCESS", help_heading = WHAT, hide_short_help = true)]
    pub(crate) preprocess: Option<Preprocess>,
    /// Token ids are sent alone, without mask and segments: nodes with --preprocess token-ids=SEPARATOR make them.
    #[arg(long, env = "LON_IDS_ALONE", help_heading = WHAT, hide_short_help = true)]
    pub(crate) ids_alone: bool,
    /// Several items of the dataset become one sample (DLRM): fixed=COUNT, uniform=LEAST..MOST, quantile=FILE or
    /// trace=FILE. The run folder has the trace.
    #[arg(long, value_name = "SPEC", env = "LON_AGGREGATE", help_heading = WHAT, hide_short_help = true)]
    pub(crate) aggregate: Option<Aggregate>,
    /// Settings: --set target_qps=500,min_duration=60s.
    ///
    /// The flag can be repeated.
    /// SCENARIO.KEY=VALUE is for that scenario alone. target_qps=auto (in SingleStream and MultiStream
    /// target_latency=auto) is found by a short look at the nodes. One --set replaces all of LON_SET.
    #[arg(long, value_name = "KEY=VALUE", value_parser = assignment, env = "LON_SET", help_heading = WHAT,
          value_delimiter = ',')]
    pub(crate) set: Vec<Assignment>,
    /// Server: the arrival process, such as gamma:cv=3, burst:size=16,every=500ms or trace:FILE; poisson unless given.
    ///
    /// poisson, constant, gamma:cv=3 (or burstiness=K), weibull:cv=2 (or shape=K),
    /// onoff:high=500,low=10,mean-high=1s,mean-low=4s, mmpp:FILE, burst:size=16,every=500ms[,gaps=exponential],
    /// stages:100x60s,400x30s, ramp:from=10,to=500,over=60s[,growth=exponential],
    /// sine:mean=100,amplitude=80,period=60s (the last three with [,gaps=even]),
    /// trace:FILE[,scale=2][,window=10m..20m].
    /// Nothing is rescaled; the result has the mean and variation that were asked for and drawn.
    #[arg(long, value_name = "PROCESS", env = "LON_ARRIVALS", help_heading = WHAT, hide_short_help = true)]
    pub(crate) arrivals: Option<String>,
    #[command(flatten)]
    pub(crate) files: ConfFiles,
}

/// Mode FindPeakPerformance.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct FindPeakArgs {
    /// FindPeakPerformance: most runs of this call, verifications included; 64 unless given.
    #[arg(long = "find-peak-max-trials", value_name = "COUNT", env = "LON_FIND_PEAK_MAX_TRIALS",
          help_heading = WHAT, hide_short_help = true,
          value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_trials: Option<u64>,
    /// FindPeakPerformance: go on with the search that left this find_peak.json in its run folder.
    #[arg(long = "find-peak-resume", value_name = "FILE", env = "LON_FIND_PEAK_RESUME",
          help_heading = WHAT, hide_short_help = true)]
    pub(crate) resume: Option<PathBuf>,
    /// FindPeakPerformance: end halving when the bracket is this share of the load that holds (1%), or at LoadGen's
    /// decimals (decimals). Unless given, 1%; decimals where server_find_peak_qps_decimals_of_precision is set.
    #[arg(long = "find-peak-precision", value_name = "SHARE", env = "LON_FIND_PEAK_PRECISION", help_heading = WHAT,
          hide_short_help = true)]
    pub(crate) precision: Option<PeakPrecision>,
    /// FindPeakPerformance: whole runs that the load which was found must pass; 1 unless given, 5 in round v0.5.
    /// Failures lower the load: --find-peak-step-back.
    #[arg(long = "find-peak-verify", value_name = "COUNT", env = "LON_FIND_PEAK_VERIFY", help_heading = WHAT,
          hide_short_help = true, value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(crate) verify: Option<u32>,
    /// FindPeakPerformance: share by which the load is lowered when a verification fails, at least by 1 where loads are
    /// whole numbers; the precision unless given. Each further failure lowers it by twice as much. When a load has
    /// passed, whole runs halve the rest.
    #[arg(long = "find-peak-step-back", value_name = "SHARE", value_parser = share, env = "LON_FIND_PEAK_STEP_BACK",
          help_heading = WHAT, hide_short_help = true)]
    pub(crate) step_back: Option<f64>,
    /// FindPeakPerformance: length of a trial as a share of the whole run; 20% unless given, 100% without verification.
    #[arg(long = "find-peak-trial", value_name = "SHARE", value_parser = share, env = "LON_FIND_PEAK_TRIAL",
          help_heading = WHAT, hide_short_help = true)]
    pub(crate) trial: Option<f64>,
    /// FindPeakPerformance: the limit that a trial has to keep, in place of the scenario's own: p99<=10ms,
    /// ttft-p99<=500ms, tpot-p50<=40ms. The flag can be repeated. With it MultiStream's samples_per_query and Closed's
    /// concurrency can be searched for, too.
    #[arg(long = "find-peak-goal", value_name = "GOAL", env = "LON_FIND_PEAK_GOAL", help_heading = WHAT,
          hide_short_help = true, value_delimiter = ',')]
    pub(crate) goal: Vec<Goal>,
    /// FindPeakPerformance: end a trial as soon as nothing can make it pass any more.
    #[arg(long = "find-peak-give-up", env = "LON_FIND_PEAK_GIVE_UP", help_heading = WHAT, hide_short_help = true)]
    pub(crate) give_up: bool,
    /// FindPeakPerformance with --mix: the tenant whose load is searched for while the others keep theirs. Unless
    /// given, the search is for one factor of all rates.
    #[arg(long = "find-peak-tenant", value_name = "NAME", env = "LON_FIND_PEAK_TENANT", help_heading = WHAT,
          hide_short_help = true)]
    pub(crate) tenant: Option<String>,
}

impl FindPeakArgs {
    /// The options of the search.
    pub(crate) fn spec(&self) -> FindPeakSpec {
        let FindPeakArgs { max_trials, resume, precision, verify, step_back, trial, goal, give_up, tenant } =
            self.clone();
        FindPeakSpec {
            max_trials,
            resume,
            precision: match precision {
                Some(PeakPrecision::Share(share)) => Some(share),
                Some(PeakPrecision::Decimals) | None => None,
            },
            by_decimals: precision == Some(PeakPrecision::Decimals),
            verifications: verify,
            step_back,
            trial_share: trial,
            goals: goal,
            give_up_early: give_up,
            tenant,
        }
    }
}

/// The value of `--find-peak-precision`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PeakPrecision {
    /// A share of the highest load that passed.
    Share(f64),
    /// LoadGen's setting for decimals.
    Decimals,
}

impl FromStr for PeakPrecision {
    type Err = String;

    fn from_str(text: &str) -> Result<PeakPrecision, String> {
        match text {
            "decimals" => Ok(PeakPrecision::Decimals),
            _ => share(text).map(PeakPrecision::Share).map_err(|message| format!("{message}, or decimals")),
        }
    }
}

/// Official config files, and the round whose built-in settings apply below them.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct ConfFiles {
    /// Official settings that replace built-in ones; may set everything.
    #[arg(long, value_name = "FILE", env = "LON_MLPERF_CONF", help_heading = WHAT, hide_short_help = true)]
    pub(crate) mlperf_conf: Option<PathBuf>,
    /// The submitter's settings, above mlperf.conf; no seeds.
    #[arg(long, value_name = "FILE", env = "LON_USER_CONF", help_heading = WHAT)]
    pub(crate) user_conf: Option<PathBuf>,
    /// A compliance test's settings; replace everything else, --set included. Only a file given here is read.
    #[arg(long, value_name = "FILE", env = "LON_AUDIT_CONF", help_heading = WHAT, hide_short_help = true)]
    pub(crate) audit_conf: Option<PathBuf>,
    /// MLPerf round of the settings: v5.0 to v6.1, or v0.5.
    ///
    /// Unless given, v6.1. Benchmarks of MLPerf take all settings of the round. Other benchmarks take only its seeds;
    /// with the flag they also take its settings, such as min_duration of 600 s. v0.5 has scenarios, keys and a verdict
    /// of its own, without early stopping.
    #[arg(long, value_name = "ROUND", value_parser = rounds, env = "LON_RULES", help_heading = WHAT,
          alias = "round")]
    pub(crate) rules: Option<&'static Rules>,
    /// The rule by which a draw of the random engine becomes an integer: product (LoadGen built with GCC 11 or later),
    /// division (GCC 7 to 10), division6 (GCC 6 or earlier) or mask (libc++, the library of macOS). Unless given,
    /// product; in round v0.5 division.
    ///
    /// The published wheels up to 5.0.18 draw by division, those from 5.0.19 on by product. Wheels of both kinds have
    /// the seeds of v5.0, so no round implies division.
    #[arg(long, value_name = "RULE", value_parser = integers, env = "LON_INTEGERS",
          help_heading = WHAT, hide_short_help = true)]
    pub(crate) integers: Option<IntegerRule>,
    /// Lines of config files that are ignored or read as something else than they look like are errors.
    #[arg(long, env = "LON_STRICT_CONF", help_heading = WHAT, hide_short_help = true)]
    pub(crate) strict_conf: bool,
}

impl TestArgs {
    /// The samples that are asked for.
    pub(crate) fn data(&self) -> DataSpec {
        let (dataset, preprocess) = (self.dataset.clone(), self.preprocess.clone());
        DataSpec { dataset, preprocess, aggregate: self.aggregate.clone(), ids_alone: self.ids_alone, verify: false }
    }

    /// The settings that are asked for.
    pub(crate) fn settings(&self) -> SettingsSpec {
        let ConfFiles { mlperf_conf, user_conf, audit_conf, rules, integers, strict_conf } = self.files.clone();
        let (mode, set) = (self.mode, self.set.clone());
        SettingsSpec {
            seed_offset: 0,
            mode,
            set,
            arrivals: self.arrivals.clone(),
            auto_value: None,
            auto_reason: String::new(),
            mlperf_conf,
            user_conf,
            audit_conf,
            rules,
            integers,
            strict_conf,
        }
    }
}
