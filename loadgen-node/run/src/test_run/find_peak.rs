//! The search for the peak: its options, and the record of an earlier search that it goes on with.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, anyhow, bail};
use lon_proto::files;

use super::spec::FindPeakSpec;
use crate::exit::{Exit, OrExit as _, Outcome};
use loadgen::plan::Plan;
use loadgen::run::{DEFAULT_MAX_TRIALS, FindPeakOptions, SearchRecord, Trial};
use loadgen::settings::{Mode, TestSettings};

/// Version of the form of find_peak.json.
pub(crate) const SEARCH_SCHEMA: u32 = 1;

/// Share of the load at which halving ends unless told otherwise: less is noise.
pub const PRECISION: f64 = 0.01;
/// Length of a trial, as a share of the whole run.
pub const TRIAL_SHARE: f64 = 0.2;

/// Returns the options of the search. Reads a file to go on from before anything is sent. `has_decimals`: LoadGen's
/// decimals are set.
pub(crate) fn options(spec: &FindPeakSpec, plan: &Plan, has_decimals: bool) -> Outcome<FindPeakOptions> {
    let searches = plan.effective().mode == Mode::FindPeakPerformance;
    if spec.tenant.is_some() {
        return Err(anyhow!("--find-peak-tenant goes with --mix FILE: one test has no tenants")).or_exit(Exit::Usage);
    }
    if searches && spec.goals.is_empty() && !plan.load().is_some_and(|load| load.has_limit) {
        let scenario = plan.effective().scenario;
        let has_limit = scenario.traffic().keys().iter().any(|key| key.name == "target_latency");
        let scenario = scenario.name();
        return Err(anyhow!(
            "{scenario} has no limit of the latency that a search for the peak could keep: give one with \
             --find-peak-goal p99<=10ms{}",
            if has_limit { " or --set target_latency=10ms" } else { "" }
        ))
        .or_exit(Exit::Usage);
    }
    let prior = prior(spec, plan)?;
    let max_trials = spec.max_trials.unwrap_or(DEFAULT_MAX_TRIALS);
    let by_decimals = spec.by_decimals || (spec.precision.is_none() && has_decimals);
    let precision = (!by_decimals).then(|| spec.precision.unwrap_or(PRECISION));
    let verifications = spec.verifications.unwrap_or(1);
    let options = FindPeakOptions {
        prior,
        max_trials,
        give_up_early: spec.give_up_early,
        precision,
        verifications,
        step_back: spec.step_back.or(precision).unwrap_or(PRECISION),
        trial_share: spec.trial_share.unwrap_or(if verifications > 0 { TRIAL_SHARE } else { 1.0 }),
        goals: spec.goals.clone(),
    };
    if searches {
        announce(&options, plan);
    }
    Ok(options)
}

/// Whole runs that must hold a load in round v0.5, unless told otherwise.
const VERIFICATIONS_V0_5: u32 = 5;

/// Returns the options of a search of round v0.5. Its trials are whole runs, and it ends at LoadGen's decimals.
pub(crate) fn of_round_v0_5(spec: &FindPeakSpec, plan: &Plan) -> Outcome<FindPeakOptions> {
    let unchanged = FindPeakOptions::default();
    let options = FindPeakOptions {
        prior: prior(spec, plan)?,
        max_trials: spec.max_trials.unwrap_or(unchanged.max_trials),
        verifications: spec.verifications.unwrap_or(VERIFICATIONS_V0_5),
        step_back: spec.step_back.unwrap_or(unchanged.step_back),
        ..unchanged
    };
    if plan.effective().mode == Mode::FindPeakPerformance {
        announce(&options, plan);
    }
    Ok(options)
}

/// Trials of a search whose first load is not far from the peak.
const USUAL_TRIALS: f64 = 10.0;

/// The time for which a search issues samples, s, as far as it is known before.
pub(crate) fn predicted_s(options: &FindPeakOptions, plan: &Plan) -> f64 {
    let whole_s = plan.effective().min_duration_s();
    whole_s * (USUAL_TRIALS * options.trial_share + f64::from(options.verifications))
}

/// Seconds without the digits that no clock has.
fn to_milliseconds(seconds: f64) -> f64 {
    (seconds * 1e3).round() / 1e3
}

/// Says how long the search takes.
fn announce(options: &FindPeakOptions, plan: &Plan) {
    let whole_s = plan.effective().settings.min_duration_ms as f64 / 1e3;
    tracing::info!(
        trial_s = to_milliseconds(whole_s * options.trial_share),
        most_trials = options.max_trials,
        verifications = options.verifications,
        verification_s = whole_s,
        about_s = to_milliseconds(predicted_s(options, plan)),
        "a search takes about ten trials, and more the further the peak is from the first load"
    );
}

/// The trials of the search that this one goes on with.
fn prior(spec: &FindPeakSpec, plan: &Plan) -> Outcome<Vec<Trial>> {
    let Some(path) = &spec.resume else { return Ok(Vec::new()) };
    if plan.effective().mode != Mode::FindPeakPerformance {
        return Err(anyhow!("--find-peak-resume goes with --mode FindPeakPerformance only")).or_exit(Exit::Usage);
    }
    trials_of(path, plan).with_context(|| path.display().to_string()).or_exit(Exit::Usage)
}

/// Trials of another search count only when it asked the same.
fn trials_of(path: &Path, plan: &Plan) -> anyhow::Result<Vec<Trial>> {
    let text = files::user_text(path).context("cannot be read")?;
    let record: SearchRecord = serde_json::from_str(&text).context("is not the record of a search")?;
    if record.schema != SEARCH_SCHEMA {
        bail!("has schema {}, this program knows {SEARCH_SCHEMA}", record.schema);
    }
    if record.qsl != plan.qsl() {
        bail!("is of a search over another dataset");
    }
    if record.settings != *plan.requested() {
        let differing = differing(&record.settings, plan.requested())?.join(", ");
        bail!("is of a search with other settings, but they must be the same: {differing}");
    }
    Ok(record.trials)
}

/// The fields that are not the same, each with what the search had and what is asked for now.
fn differing(then: &TestSettings, now: &TestSettings) -> anyhow::Result<Vec<String>> {
    let fields = |settings| -> anyhow::Result<BTreeMap<String, serde_json::Value>> {
        Ok(serde_json::from_value(serde_json::to_value(settings)?)?)
    };
    let (then, now) = (fields(then)?, fields(now)?);
    let differing = then.iter().filter_map(|(field, was)| {
        let is = now.get(field).filter(|is| *is != was)?;
        Some(format!("{field} was {was}, is {is}"))
    });
    Ok(differing.collect())
}
