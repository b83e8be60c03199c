//! The search for the peak: what of it is a matter of flags and files.

use std::path::Path;

use anyhow::{Context as _, anyhow, bail};

use crate::cli::FindPeakArgs;
use crate::exit::{Exit, OrExit as _, Outcome};
use crate::outputs::folder::{FolderError, RunFolder};
use loadgen::plan::Plan;
use loadgen::run::RunOutcome;
use loadgen::run::{DEFAULT_MAX_TRIALS, FindPeakOptions, SearchRecord, Trial};
use loadgen::settings::Mode;

/// Name in the run folder.
const FILE: &str = "find_peak.json";
/// Version of its form.
const SCHEMA: u32 = 1;

/// How the search is run. A file to go on from is read here, before anything is sent.
pub(crate) fn options(args: &FindPeakArgs, plan: &Plan) -> Outcome<FindPeakOptions> {
    let searches = plan.effective().mode == Mode::FindPeakPerformance;
    let prior = match &args.resume {
        Some(_) if !searches => {
            return Err(anyhow!("--find-peak-resume goes with --mode FindPeakPerformance only")).or_exit(Exit::Usage);
        }
        Some(path) => prior(path, plan).with_context(|| path.display().to_string()).or_exit(Exit::Usage)?,
        None => Vec::new(),
    };
    let max_trials = args.max_trials.unwrap_or(DEFAULT_MAX_TRIALS);
    Ok(FindPeakOptions { prior, max_trials, give_up_early: args.give_up })
}

/// Trials of another search count only when it asked the same.
fn prior(path: &Path, plan: &Plan) -> anyhow::Result<Vec<Trial>> {
    let text = std::fs::read_to_string(path).context("cannot be read")?;
    let record: SearchRecord = serde_json::from_str(&text).context("is not the record of a search")?;
    if record.schema != SCHEMA {
        bail!("has schema {}, this program knows {SCHEMA}", record.schema);
    }
    if record.qsl != plan.qsl() {
        bail!("is of a search over another dataset");
    }
    if record.settings != *plan.requested() {
        bail!("is of a search with other settings; they must be the same");
    }
    Ok(record.trials)
}

/// Leaves what is needed to go on with the search, if there was one.
pub(crate) fn write(folder: &RunFolder, plan: &Plan, outcome: &RunOutcome) -> Result<(), FolderError> {
    let Some(search) = &outcome.find_peak else { return Ok(()) };
    let record = SearchRecord {
        schema: SCHEMA,
        settings: plan.requested().clone(),
        qsl: plan.qsl(),
        end: search.end.clone(),
        bracket: search.bracket,
        trials: search.trials.clone(),
    };
    // Plain data with string keys: it always has a JSON form.
    let text = serde_json::to_string_pretty(&record).unwrap_or_default();
    folder.write(FILE, text.as_bytes())
}
