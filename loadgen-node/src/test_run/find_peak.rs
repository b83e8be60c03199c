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

/// Returns the options of the search. Reads a file to go on from before anything is sent.
pub(crate) fn options(spec: &FindPeakSpec, plan: &Plan) -> Outcome<FindPeakOptions> {
    let searches = plan.effective().mode == Mode::FindPeakPerformance;
    let prior = match &spec.resume {
        Some(_) if !searches => {
            return Err(anyhow!("--find-peak-resume goes with --mode FindPeakPerformance only")).or_exit(Exit::Usage);
        }
        Some(path) => prior(path, plan).with_context(|| path.display().to_string()).or_exit(Exit::Usage)?,
        None => Vec::new(),
    };
    let max_trials = spec.max_trials.unwrap_or(DEFAULT_MAX_TRIALS);
    Ok(FindPeakOptions { prior, max_trials, give_up_early: spec.give_up_early })
}

/// Trials of another search count only when it asked the same.
fn prior(path: &Path, plan: &Plan) -> anyhow::Result<Vec<Trial>> {
    let text = files::given_text(path).context("cannot be read")?;
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
