//! A search for the peak: what `find_peak.json` needs to go on with it, and what the result says of it.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use crate::test_run::find_peak::SEARCH_SCHEMA;
use loadgen::plan::Plan;
use loadgen::run::{Bracket, FindPeakOutcome, RunOutcome, SearchEnd, SearchRecord, Trial};

/// Name in the run folder.
pub const FILE: &str = "find_peak.json";

/// A search for the highest rate that meets the latency target. `find_peak.json` has what is needed to go on with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FindPeakDocument {
    /// Outcome of the search.
    pub end: SearchEnd,
    /// The highest rate that passed and the lowest that failed.
    pub bracket: Bracket,
    /// Every rate that was tried, in order.
    pub trials: Vec<Trial>,
}

impl From<&FindPeakOutcome> for FindPeakDocument {
    fn from(search: &FindPeakOutcome) -> FindPeakDocument {
        FindPeakDocument { end: search.end.clone(), bracket: search.bracket, trials: search.trials.clone() }
    }
}

impl From<&SearchRecord> for FindPeakDocument {
    fn from(search: &SearchRecord) -> FindPeakDocument {
        FindPeakDocument { end: search.end.clone(), bracket: search.bracket, trials: search.trials.clone() }
    }
}

/// The record of a search that has not ended.
pub(crate) fn unfinished_record(plan: &Plan) -> SearchRecord {
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
    write_record(out, &SearchRecord { end, bracket, trials, ..unfinished_record(plan) })
}

/// Writes the file.
pub(crate) fn write_record(out: &mut dyn Write, record: &SearchRecord) -> io::Result<()> {
    serde_json::to_writer_pretty(out, record).map_err(io::Error::from)
}
