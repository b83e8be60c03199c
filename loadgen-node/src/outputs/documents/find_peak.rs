//! `find_peak.json`: what is needed to go on with a search for the peak.

use std::io::{self, Write};

use crate::test_run::find_peak::SEARCH_SCHEMA;
use loadgen::plan::Plan;
use loadgen::run::{Bracket, RunOutcome, SearchEnd, SearchRecord};

/// Name in the run folder.
pub const FILE: &str = "find_peak.json";

/// The record of a search that has not ended.
pub(crate) fn begun(plan: &Plan) -> SearchRecord {
    SearchRecord {
        schema: SEARCH_SCHEMA,
        settings: plan.requested().clone(),
        qsl: plan.qsl(),
        end: SearchEnd::Stopped,
        bracket: Bracket::default(),
        trials: Vec::new(),
    }
}

/// Leaves what is needed to go on with the search, if there was one.
pub(crate) fn write(out: &mut dyn Write, plan: &Plan, outcome: &RunOutcome) -> io::Result<()> {
    let Some(search) = &outcome.find_peak else { return Ok(()) };
    let (end, bracket, trials) = (search.end.clone(), search.bracket, search.trials.clone());
    write_record(out, &SearchRecord { end, bracket, trials, ..begun(plan) })
}

/// Writes the file.
pub(crate) fn write_record(out: &mut dyn Write, record: &SearchRecord) -> io::Result<()> {
    serde_json::to_writer_pretty(out, record).map_err(io::Error::from)
}
