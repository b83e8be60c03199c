//! The search of a mix: part of `mix_result.json`.

use std::fmt::Write as _;

use loadgen::run::{Bracket, SearchEnd};
use lon_proto::figures::number;
use lon_proto::text::on_one_line;
use serde::{Deserialize, Serialize};

/// The search for the highest load at which every tenant keeps its promise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MixSearched {
    /// The tenant whose load was searched for while the others kept theirs; null: one factor for all rates.
    pub tenant: Option<String>,
    /// The setting that was searched for: `target_qps`; `factor` where it is one for all rates.
    pub setting: String,
    /// Unit of the loads; empty for a factor.
    pub unit: String,
    /// End of the search.
    pub end: SearchEnd,
    /// The highest load that passed and the lowest that failed.
    pub bracket: Bracket,
    /// Every run, in order.
    pub trials: Vec<MixTrial>,
}

/// One run of all tenants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MixTrial {
    /// The load, in the unit of the search.
    pub load: f64,
    /// True when each tenant met its limit and lost no sample. A verification asks for VALID runs, too.
    pub passed: bool,
    /// True when it was a whole run of a load that the search had found.
    pub is_verification: bool,
    /// Its folder, below that of the search.
    pub folder: String,
    /// The tenants that failed, each with its reasons.
    pub reasons: Vec<String>,
}

/// The remedy for a search that ended before it had a load.
const MORE_TRIALS: &str = "the same command with a higher --find-peak-max-trials";

impl MixSearched {
    /// Reason against the result; `None` where the search has ended as it should.
    pub(crate) fn reason(&self) -> Option<String> {
        Some(match &self.end {
            SearchEnd::Found => return None,
            SearchEnd::BaseFails => format!("the search has no lower bound: {} already fails", self.lowest()),
            SearchEnd::NotVerified => "no load that the search found passed its verification".to_owned(),
            SearchEnd::TooManyTrials => "the search ended at --find-peak-max-trials".to_owned(),
            SearchEnd::OutOfReach(why) => format!("the search ended at a load that cannot be run: {why}"),
            SearchEnd::Stopped => "the search was stopped before it ended".to_owned(),
        })
    }

    /// For the screen.
    pub(crate) fn text(&self) -> String {
        let of = self.tenant.as_ref().map_or_else(String::new, |tenant| format!("{tenant}: "));
        let runs = self.trials.len();
        let mut text = match (self.bracket.low, self.bracket.high) {
            (Some(low), Some(high)) => {
                format!("Search    {of}{} holds, {} does not; runs: {runs}\n", self.named(low), number(high))
            }
            (Some(low), None) => format!("Search    {of}{} holds, and no load failed; runs: {runs}\n", self.named(low)),
            (None, _) => match self.highest_trial() {
                Some(load) => {
                    let holds =
                        format!("{of}{} keeps all limits in a trial, which no whole run verified", self.named(load));
                    format!("Search    {holds}; runs: {runs}\n          Try {MORE_TRIALS}\n")
                }
                None => format!("Search    {of}no {} holds; runs: {runs}\n", self.setting),
            },
        };
        for trial in &self.trials {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "          {}", self.line(trial));
        }
        text
    }

    /// The highest load that kept all limits in a trial, below every load that failed.
    fn highest_trial(&self) -> Option<f64> {
        let is_refuted = |load: f64| self.trials.iter().any(|trial| !trial.passed && trial.load <= load);
        let passed = self.trials.iter().filter(|trial| trial.passed && !trial.is_verification);
        passed.map(|trial| trial.load).filter(|load| !is_refuted(*load)).reduce(f64::max)
    }

    /// One run in words.
    pub fn line(&self, trial: &MixTrial) -> String {
        let is = match (trial.passed, trial.is_verification) {
            (true, false) => "all limits kept",
            (false, false) => "failed",
            (true, true) => "verified by a whole run",
            (false, true) => "failed in a whole run",
        };
        let why = trial.reasons.first().map_or_else(String::new, |reason| format!(": {}", on_one_line(reason)));
        format!("{}: {is}{why}", number(trial.load))
    }

    fn named(&self, load: f64) -> String {
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        format!("{} {}{unit}", self.setting, number(load))
    }

    fn lowest(&self) -> String {
        let lowest = self.trials.iter().map(|trial| trial.load).reduce(f64::min);
        lowest.map_or_else(|| "the first load".to_owned(), |load| self.named(load))
    }
}
