//! `find_peak.json`: what is needed to go on with a search for the peak.

use std::io;

use crate::outputs::folder::{FolderError, RunFolder};
use crate::test_run::find_peak::SEARCH_SCHEMA;
use loadgen::plan::Plan;
use loadgen::run::{RunOutcome, SearchRecord};

/// Name in the run folder.
pub const FILE: &str = "find_peak.json";

/// Leaves what is needed to go on with the search, if there was one.
pub(crate) fn write(folder: &RunFolder, plan: &Plan, outcome: &RunOutcome) -> Result<(), FolderError> {
    let Some(search) = &outcome.find_peak else { return Ok(()) };
    let record = SearchRecord {
        schema: SEARCH_SCHEMA,
        settings: plan.requested().clone(),
        qsl: plan.qsl(),
        end: search.end.clone(),
        bracket: search.bracket,
        trials: search.trials.clone(),
    };
    folder.stream(FILE, |out| serde_json::to_writer_pretty(out, &record).map_err(io::Error::from))
}
