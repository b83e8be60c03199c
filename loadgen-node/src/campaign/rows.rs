//! The table of a campaign: a row for each cell, from the files of its runs.

use std::path::Path;

use anyhow::{Result, anyhow};

use super::record::{self, State};
use crate::comparison::{METRICS, Metric};
use crate::outputs::documents::campaign::{CampaignPlan, PlannedCell, RunKind};
use crate::outputs::documents::campaign_run::{CampaignRun, RunOutcome};
use crate::outputs::documents::campaign_table::{CampaignTable, SCHEMA, TableColumn, TableRow, TableScore};
use crate::outputs::documents::repeats::RepeatSpread;
use crate::outputs::documents::result_summary::Validity;
use crate::outputs::own_result;
use crate::outputs::report::Source;

/// Quantities of a table unless others are asked for; those that no run has are left out.
const USUAL: [&str; 6] = ["metric_rate", "metric_latency", "p50", "p99", "sent", "carried_in"];

/// The quantities of a table.
#[derive(Clone)]
pub(crate) struct Columns {
    metrics: Vec<&'static Metric>,
    /// Quantities without a value are left out.
    is_usual: bool,
}

impl Columns {
    /// The quantities with these names; the usual ones unless names are given.
    ///
    /// # Errors
    /// There is no quantity of a name.
    pub(crate) fn named(names: &[String]) -> Result<Columns> {
        let find = |name: &str| {
            let all = || METRICS.iter().map(|metric| metric.name).collect::<Vec<_>>().join(", ");
            METRICS
                .iter()
                .find(|metric| metric.name == name)
                .ok_or_else(|| anyhow!("there is no '{name}'; there are {}", all()))
        };
        let is_usual = names.is_empty();
        let metrics = match is_usual {
            true => USUAL.into_iter().map(find).collect::<Result<_>>()?,
            false => names.iter().map(|name| find(name)).collect::<Result<_>>()?,
        };
        Ok(Columns { metrics, is_usual })
    }
}

/// Makes the table of a campaign's folder.
///
/// # Errors
/// The record of a run or a result cannot be read.
pub(crate) fn table(out: &Path, plan: &CampaignPlan, columns: &Columns) -> Result<CampaignTable> {
    let rows = plan.cells.iter().map(|cell| row(out, plan, cell, &columns.metrics)).collect::<Result<Vec<_>>>()?;
    let has_value = |metric: &&&Metric| rows.iter().any(|row| row.quantity(metric.name).is_some());
    let shown = columns.metrics.iter().filter(|metric| !columns.is_usual || has_value(metric));
    let column = |metric: &&Metric| TableColumn {
        name: metric.name.to_owned(),
        about: metric.about.to_owned(),
        unit: metric.unit.name().to_owned(),
    };
    Ok(CampaignTable { schema: SCHEMA, axes: plan.axes.clone(), columns: shown.map(column).collect(), rows })
}

fn row(out: &Path, plan: &CampaignPlan, cell: &PlannedCell, metrics: &[&Metric]) -> Result<TableRow> {
    let mut ended: Vec<CampaignRun> = Vec::new();
    for run in plan.runs.iter().filter(|run| run.cell == cell.name) {
        if let State::Ended(run) = record::state(out, &run.folder)? {
            ended.push(*run);
        }
    }
    let has_result = |run: &&CampaignRun| run.outcome == RunOutcome::Result;
    let runs: Vec<&CampaignRun> = ended.iter().filter(|run| run.kind == RunKind::Performance).collect();
    let with_result: Vec<&CampaignRun> = runs.iter().copied().filter(has_result).collect();
    let sources = with_result.iter().map(|run| Source::read(&out.join(&run.folder))).collect::<Result<Vec<_>>>()?;
    let spread = |metric: &&Metric| {
        let values = sources.iter().map(metric.of).collect();
        let spread = RepeatSpread::of(metric.name, metric.unit.name(), values)?;
        // A single run is not apart from anything.
        let spread_percent = spread.spread_percent.filter(|_| spread.values.iter().flatten().count() > 1);
        Some(RepeatSpread { spread_percent, ..spread })
    };
    let accuracy = ended.iter().filter(has_result).find(|run| run.kind == RunKind::Accuracy);
    let mut reasons: Vec<String> = Vec::new();
    for reason in ended.iter().filter_map(|run| run.reason.clone()) {
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    let planned = plan.repeats as usize;
    Ok(TableRow {
        cell: cell.name.clone(),
        values: cell.values.clone(),
        verdict: verdict(&runs, planned),
        reasons,
        planned,
        folders: with_result.iter().map(|run| run.folder.clone()).collect(),
        accuracy: accuracy.map(|run| score(out, run)).transpose()?.flatten(),
        quantities: metrics.iter().filter_map(spread).collect(),
    })
}

/// The state of performance runs together.
fn verdict(runs: &[&CampaignRun], planned: usize) -> String {
    let count = |of: &dyn Fn(&&&CampaignRun) -> bool| runs.iter().filter(|run| of(run)).count();
    let valid = count(&|run| run.result == Some(Validity::Valid));
    let has = |outcome: RunOutcome| count(&|run| run.outcome == outcome);
    match (valid, runs.len()) {
        (_, 0) => "not run".to_owned(),
        (valid, _) if valid == planned => "VALID".to_owned(),
        (0, _) if has(RunOutcome::Result) > 0 => "INVALID".to_owned(),
        (0, _) if has(RunOutcome::Failed) > 0 => "failed".to_owned(),
        (0, _) => "skipped".to_owned(),
        (valid, _) => format!("{valid} of {planned} VALID"),
    }
}

fn score(out: &Path, run: &CampaignRun) -> Result<Option<TableScore>> {
    let result = own_result::read(&out.join(&run.folder))?;
    Ok(result.accuracy.map(|score| TableScore {
        folder: run.folder.clone(),
        metric: score.metric,
        value: score.value,
        unit: score.unit,
        passed: score.passed,
    }))
}

#[cfg(test)]
mod tests {
    use super::super::checked::Campaign;
    use super::super::record::{Ended, of_command, of_skipped};
    use super::*;

    #[test]
    fn columns_are_quantities_of_compare() {
        let named = |names: &[&str]| Columns::named(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(named(&["p99", "sent"]).unwrap().metrics.len(), 2);
        assert!(named(&[]).unwrap().is_usual);
        let told = named(&["p98"]).err().unwrap().to_string();
        assert!(told.contains("there is no 'p98'; there are metric_rate, "), "{told}");
    }

    #[test]
    fn a_verdict_is_of_all_repeats() {
        let text = "out = \"none\"\nrepeats = 3\n[run]\nsut = \"h:1\"\n";
        let campaign = Campaign::of(text, "c.toml").unwrap();
        let jobs = campaign.jobs();
        let ended =
            Ended { started_utc: String::new(), wall: Default::default(), exit_code: None, reason: "x".to_owned() };
        let failed = of_command(&jobs[0], &ended);
        let skipped = of_skipped(&jobs[0], &ended);
        let with = |result| CampaignRun { outcome: RunOutcome::Result, result: Some(result), ..failed.clone() };
        let (valid, invalid) = (with(Validity::Valid), with(Validity::Invalid));
        for (runs, word) in [
            (vec![], "not run"),
            (vec![&valid, &valid, &valid], "VALID"),
            (vec![&valid, &valid], "2 of 3 VALID"),
            (vec![&valid, &failed, &failed], "1 of 3 VALID"),
            (vec![&invalid, &failed], "INVALID"),
            (vec![&failed], "failed"),
            (vec![&skipped; 3], "skipped"),
        ] {
            assert_eq!(verdict(&runs, 3), word);
        }
    }
}
