//! `NUMBER.json` beside a run folder of a campaign: what came of the run. `campaign run` writes it when the run has
//! ended, and prints it with `--json`.

use serde::{Deserialize, Serialize};

use super::campaign::RunKind;
use super::result_summary::Validity;

/// The version of [`CampaignRun`].
pub const SCHEMA: u32 = 1;

/// Outcome of one run of a campaign.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CampaignRun {
    /// Version of this form: 1.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: u32,
    /// The name of its cell.
    pub cell: String,
    /// Purpose of the run.
    pub kind: RunKind,
    /// Number of the repeat, from 1; null for an accuracy run.
    pub repeat: Option<u32>,
    /// The run folder, from the folder of the campaign. It is there where the outcome is `result`.
    pub folder: String,
    /// Outcome of the run.
    pub outcome: CellOutcome,
    /// The verdict on the result; null without one.
    pub result: Option<Validity>,
    /// Why the result is INVALID, or why there is none, in words; null where it is VALID.
    pub reason: Option<String>,
    /// Exit code of the run; null where it was not started, or a signal ended it.
    pub exit_code: Option<i32>,
    /// When the run was started, UTC.
    pub started_utc: String,
    /// Time from the start of the command to its end, s.
    pub wall_s: f64,
    /// SHA-256 of the run's `result_summary.json`; null without a result.
    pub result_sha256: Option<String>,
}

/// Outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CellOutcome {
    /// There is a result, VALID or INVALID.
    Result,
    /// It came to no result.
    Failed,
    /// It was not made: the accuracy run of its cell does not meet the target.
    Skipped,
}

impl CampaignRun {
    /// Why no performance run follows an accuracy run. None: it meets its target.
    pub fn misses_target(&self) -> Option<String> {
        let is_met = self.outcome == CellOutcome::Result && self.result == Some(Validity::Valid);
        let is_accuracy = self.kind == RunKind::Accuracy;
        let why = self.reason.as_deref().unwrap_or("it does not say why");
        let fault = match self.outcome {
            CellOutcome::Result => "the accuracy run does not meet its target",
            CellOutcome::Failed | CellOutcome::Skipped => "the accuracy run ended without a result",
        };
        (is_accuracy && !is_met).then(|| format!("{fault}: {why}"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::reads_back;
    use super::*;

    #[test]
    fn a_run_without_a_result_has_nulls() {
        let run = CampaignRun {
            schema: SCHEMA,
            cell: "a".to_owned(),
            kind: RunKind::Performance,
            repeat: Some(1),
            folder: "a/1".to_owned(),
            outcome: CellOutcome::Failed,
            result: None,
            reason: Some("no such model".to_owned()),
            exit_code: None,
            started_utc: "2026-11-27T12:00:00Z".to_owned(),
            wall_s: 0.5,
            result_sha256: None,
        };
        let json = reads_back(&run);
        assert_eq!((&json["outcome"], json["result"].is_null()), (&"failed".into(), true));
    }
}
