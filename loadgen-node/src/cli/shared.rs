//! The flags that say what is tested, shared by `run`, `demo` and `conf`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use lon_qsl::dataset::Aggregate;
use lon_qsl::{Codec, CodecError, Preprocess};

use super::headings::{NETWORK, WHAT};
use super::parse::{integers, mode, rules};
use crate::test_run::{DataSpec, SettingsSpec};
use loadgen::conf::rules::Rules;
use loadgen::settings::{Assignment, IntegerRule, Mode};

/// The subject of a test, besides benchmark and scenario.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct TestArgs {
    /// LoadGen's mode.
    #[arg(long, value_parser = mode, env = "LON_MODE", help_heading = WHAT,
          help = "PerformanceOnly (default), AccuracyOnly, SubmissionRun (both) or FindPeakPerformance (Server)")]
    pub(crate) mode: Option<Mode>,
    /// A file, a folder or synthetic:KIND[DIMS]xCOUNT.
    ///
    /// Else it is the benchmark's. What there is:
    /// A folder of JPEGs with val_map.txt, a folder with SQuAD's dev-v1.1.json and vocab.txt, .npy, .npz, JSON
    /// lines with token ids or prompts (.jsonl), a manifest of raw tensors (.toml), or synthetic:KIND[DIMS]xCOUNT with
    /// KIND an element type, image-u8, tokens-i32 or tokens-i64.
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
    #[arg(long, value_name = "KEY=VALUE", env = "LON_SET", help_heading = WHAT, value_delimiter = ',')]
    pub(crate) set: Vec<Assignment>,
    #[command(flatten)]
    pub(crate) files: ConfFiles,
}

/// Mode FindPeakPerformance.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct FindPeakArgs {
    /// FindPeakPerformance: most trials to run; 64 unless given.
    #[arg(long = "find-peak-max-trials", value_name = "COUNT", env = "LON_FIND_PEAK_MAX_TRIALS",
          help_heading = WHAT, hide_short_help = true,
          value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_trials: Option<u64>,
    /// FindPeakPerformance: go on with the search that left this find_peak.json in its run folder.
    #[arg(long = "find-peak-resume", value_name = "FILE", env = "LON_FIND_PEAK_RESUME",
          help_heading = WHAT, hide_short_help = true)]
    pub(crate) resume: Option<PathBuf>,
    /// FindPeakPerformance: end a trial as soon as nothing can make it pass any more.
    #[arg(long = "find-peak-give-up", env = "LON_FIND_PEAK_GIVE_UP", help_heading = WHAT, hide_short_help = true)]
    pub(crate) give_up: bool,
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
    /// Round of the settings: v5.0, v5.1, v6.0 or v6.1.
    ///
    /// Unless given, v6.1: all of it for benchmarks of MLPerf, its seeds for the others.
    #[arg(long, value_name = "ROUND", value_parser = rules, env = "LON_RULES", help_heading = WHAT)]
    pub(crate) rules: Option<&'static Rules>,
    /// The rule by which a draw of the random engine becomes an integer: product (LoadGen built with GCC 11 or later),
    /// division (GCC 7 to 10), division6 (GCC 6 or earlier) or mask (libc++, the library of macOS). Unless given,
    /// product.
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

/// The codecs of samples and answers.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct CodecArgs {
    /// Codec (zstd:3) or auto (advice).
    ///
    /// Applied before any clock starts: none, zstd[:LEVEL], lz4, shuffle-zstd[:LEVEL] or
    /// delta-zstd[:LEVEL]; or original: the dataset's own files (JPEGs), decoded by the SUT node. auto runs nothing: it
    /// measures them all on the dataset and prints below which bandwidth each of them wins.
    #[arg(long, value_name = "CODEC", default_value = "none", env = "LON_COMPRESSION", help_heading = NETWORK)]
    pub(crate) compression: Compression,
    /// Codec of the answers, applied by the SUT node and undone here, both timed.
    #[arg(long, value_name = "CODEC", default_value = "none", env = "LON_RESPONSE_COMPRESSION",
          help_heading = NETWORK, hide_short_help = true)]
    pub(crate) response_compression: Codec,
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
            mode,
            set,
            found: None,
            found_how: String::new(),
            mlperf_conf,
            user_conf,
            audit_conf,
            rules,
            integers,
            strict_conf,
        }
    }
}

/// The value of `--compression`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    /// Samples are encoded with this codec.
    Codec(Codec),
    /// No run, but advice on which codec to choose.
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
