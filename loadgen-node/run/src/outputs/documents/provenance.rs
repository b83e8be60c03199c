//! Provenance of a run: part of `result_summary.json`.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::test_run::WarmUp;
use crate::test_run::finished::Setup;

/// Provenance of the run: its time, command and conditions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MadeDocument {
    /// When the run's clock started, or, of a run that has not ended, when its folder was made: UTC, as in
    /// `2026-11-22T12:00:00Z`.
    #[serde(default)]
    pub started_utc: String,
    /// From then until the last answer, samples' loading included, ns; 0 of a run that has not ended.
    #[serde(default)]
    pub wall_time_ns: u64,
    /// The command as it was typed. Secrets are never typed: they are read from files.
    #[serde(default)]
    pub command: Vec<String>,
    /// The environment variables that stand for flags (`LON_...`), as they were set.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// The git revision that this program was built from; null where that is not known.
    pub revision: Option<String>,
    /// Note of the user (`--note`).
    pub note: Option<String>,
    /// Labels of the user (`--label`): each value by its key.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// The warm-up before the run (`--warm-up`); null where none was asked for.
    #[serde(default)]
    pub warm_up: Option<WarmUp>,
    /// The setting that a look at the nodes found because it was `auto`, as `KEY=VALUE`; null where none was.
    pub found: Option<String>,
    /// Explanation of how the setting was found, and of what bounds it, in words; null where none was found, and in
    /// results of earlier versions.
    #[serde(default)]
    pub found_how: Option<String>,
    /// True when nodes were verified by certificates, and the connections were encrypted.
    #[serde(default)]
    pub tls: bool,
    /// Time from when a sample was sent until it had failed without an answer, ns.
    #[serde(default)]
    pub response_timeout_ns: u64,
    /// The largest schedule lag (p99), and the longest stall, of a valid result, ns.
    #[serde(default)]
    pub max_lag_ns: u64,
    /// Why that much, in words.
    #[serde(default)]
    pub max_lag_origin: String,
}

impl MadeDocument {
    /// Of a run that was set up so.
    pub(crate) fn new(setup: &Setup, started: SystemTime, wall_time: Duration) -> MadeDocument {
        let started = jiff::Timestamp::try_from(started).map(|time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
        let ns = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        MadeDocument {
            started_utc: started.unwrap_or_default(),
            wall_time_ns: ns(wall_time),
            command: setup.call.command.clone(),
            environment: setup.call.environment.clone(),
            revision: setup.call.revision.clone(),
            note: setup.call.note.clone(),
            labels: setup.call.labels.by_key().clone(),
            warm_up: setup.call.warm_up,
            found: setup.auto_setting.as_ref().map(|choice| choice.set.clone()),
            found_how: setup.auto_setting.as_ref().map(|choice| choice.how.clone()),
            tls: setup.link.has_tls,
            response_timeout_ns: ns(setup.limits.response_timeout),
            max_lag_ns: setup.lag_limit.ns(),
            max_lag_origin: setup.lag_limit.why(),
        }
    }
}
