//! Outcome of a run, beside its folder. A run whose outcome is kept is not made again.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use lon_proto::files::{self, Limit};

use super::jobs::Job;
use lon_run::outputs::documents;
use lon_run::outputs::documents::campaign::PlannedRun;
use lon_run::outputs::documents::campaign_run::{CampaignRun, CellOutcome, SCHEMA};
use lon_run::outputs::documents::mix_result;
use lon_run::outputs::documents::result_summary::{self, Validity};
use lon_run::outputs::logs::audit_folder::sum_of;
use lon_run::outputs::logs::own_result;
use lon_run::outputs::run_folder::folder;

/// The end of the name of an outcome's file.
const END: &str = "json";
/// The end of the name of a run's log.
pub(crate) const LOG: &str = "log";

/// The state of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum State {
    /// It has ended.
    Ended(Box<CampaignRun>),
    /// There is nothing in its place.
    Missing,
    /// There is a folder of a run that did not end, or that is another one by now.
    Unfinished,
}

/// Returns the state of a run, from the files of the campaign's folder.
///
/// # Errors
/// The file of its outcome cannot be read.
pub(crate) fn state(out: &Path, folder: &str) -> Result<State> {
    let (place, file) = (out.join(folder), out.join(format!("{folder}.{END}")));
    let is_there = place.symlink_metadata().is_ok();
    if file.symlink_metadata().is_err() {
        return Ok(if is_there { State::Unfinished } else { State::Missing });
    }
    let path_text = || file.display().to_string();
    let text = files::text(&file, Limit::DOCUMENT).with_context(path_text)?;
    let run: CampaignRun = serde_json::from_str(&text).with_context(path_text)?;
    let sum = sum_of(&place.join(result_file(&place))).ok();
    match run.result_sha256.is_none() || run.result_sha256 == sum {
        true => Ok(State::Ended(Box::new(run))),
        false => Ok(if is_there { State::Unfinished } else { State::Missing }),
    }
}

/// Outcome of the command of a run.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub(crate) started_utc: String,
    pub(crate) wall: Duration,
    /// Exit code of the command. None: it was not started, or a signal ended it.
    pub(crate) exit_code: Option<i32>,
    /// Why there is no result, as far as the command says it.
    pub(crate) reason: String,
}

/// Makes the record of a run that has ended: of its result where it has one.
pub(crate) fn of_command(job: &Job<'_>, ended: &Ended) -> CampaignRun {
    let folder = job.folder();
    let sum = sum_of(&folder.join(result_file(&folder))).ok();
    let (outcome, result, reason) = match result(&folder) {
        Ok(Some((result, reasons))) => {
            let reasons = Some(reasons.join("; ")).filter(|reasons| !reasons.is_empty());
            (CellOutcome::Result, Some(result), reasons)
        }
        _ => (CellOutcome::Failed, None, Some(ended.reason.clone())),
    };
    let result_sha256 = sum.filter(|_| outcome == CellOutcome::Result);
    CampaignRun { outcome, result, reason, result_sha256, ..bare(&job.planned(0.0), ended) }
}

/// The file with the result of a run: that of a mix, or of one test.
fn result_file(folder: &Path) -> &'static str {
    if folder.join(mix_result::FILE).exists() { mix_result::FILE } else { result_summary::FILE }
}

/// The result of a run, and the reasons against it; none of one that was interrupted.
fn result(folder: &Path) -> Result<Option<(Validity, Vec<String>)>> {
    if let Some(mix) = own_result::read_mix(folder)? {
        let of_tenants = mix.tenants.into_iter().flat_map(|tenant| {
            let name = tenant.name;
            tenant.reasons.into_iter().map(move |reason| format!("{name}: {reason}"))
        });
        return Ok(Some((mix.result, of_tenants.collect())));
    }
    let result = own_result::read(folder)?;
    Ok((!result.interrupted).then_some((result.result, result.reasons)))
}

/// Makes the record of a run that is not made.
pub(crate) fn of_skipped(job: &Job<'_>, ended: &Ended) -> CampaignRun {
    let reason = Some(ended.reason.clone());
    CampaignRun { outcome: CellOutcome::Skipped, reason, ..bare(&job.planned(0.0), ended) }
}

fn bare(planned: &PlannedRun, ended: &Ended) -> CampaignRun {
    CampaignRun {
        schema: SCHEMA,
        cell: planned.cell.clone(),
        kind: planned.kind,
        repeat: planned.repeat,
        folder: planned.folder.clone(),
        outcome: CellOutcome::Failed,
        result: None,
        reason: None,
        exit_code: ended.exit_code,
        started_utc: ended.started_utc.clone(),
        wall_s: ended.wall.as_secs_f64(),
        result_sha256: None,
    }
}

/// Keeps the record of a run.
///
/// # Errors
/// It cannot be written.
pub(crate) fn keep(job: &Job<'_>, run: &CampaignRun) -> Result<()> {
    let path = job.side_file(END);
    let above = path.parent().unwrap_or(Path::new("."));
    // A run whose nodes do not start has left nothing yet.
    std::fs::create_dir_all(above).with_context(|| format!("cannot make {}", above.display()))?;
    folder::write_file(&path, |out| documents::write(out, run)).context("cannot keep what came of a run")
}

#[cfg(test)]
mod tests {
    use super::super::checked::Campaign;
    use super::*;

    #[test]
    fn a_run_is_missing_then_unfinished_then_ended() {
        let folder = tempfile::tempdir().unwrap();
        let text = format!("out = {:?}\naccuracy = \"first\"\n[run]\nsut = \"h:1\"\n", folder.path());
        let campaign = Campaign::of(&text, "c.toml").unwrap();
        let jobs = campaign.jobs();
        let now = |job: &Job<'_>| state(&campaign.out, &job.place()).unwrap();
        assert_eq!(now(&jobs[0]), State::Missing);
        std::fs::create_dir_all(jobs[0].folder()).unwrap();
        assert_eq!(now(&jobs[0]), State::Unfinished);
        let ended = Ended {
            started_utc: String::new(),
            wall: Duration::from_millis(1500),
            exit_code: Some(4),
            reason: "a node is gone".to_owned(),
        };
        let failed = of_command(&jobs[0], &ended);
        keep(&jobs[0], &failed).unwrap();
        assert_eq!((failed.outcome, failed.exit_code, failed.wall_s), (CellOutcome::Failed, Some(4), 1.5));
        let why = failed.misses_target().unwrap();
        assert_eq!(why, "the accuracy run ended without a result: a node is gone");
        assert_eq!(now(&jobs[0]), State::Ended(Box::new(failed)));
        let skipped = of_skipped(&jobs[1], &ended);
        std::fs::remove_dir_all(campaign.out.join("cell")).unwrap();
        keep(&jobs[1], &skipped).unwrap();
        assert_eq!(now(&jobs[1]), State::Ended(Box::new(skipped.clone())), "its folder is made");
        assert_eq!((skipped.outcome, skipped.repeat, skipped.misses_target()), (CellOutcome::Skipped, Some(1), None));
        // A record of a result that is another one by now does not count.
        let other = CampaignRun { outcome: CellOutcome::Result, result_sha256: Some("0".to_owned()), ..skipped };
        keep(&jobs[1], &other).unwrap();
        assert_eq!(now(&jobs[1]), State::Missing);
    }
}
