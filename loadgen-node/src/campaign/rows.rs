//! The table of a campaign: a row for each cell, from the files of its runs.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Result, anyhow};

use super::record::{self, State};
use crate::comparison::{METRICS, Metric};
use lon_run::outputs::documents::campaign::{CampaignPlan, PlannedCell, RunKind};
use lon_run::outputs::documents::campaign_run::{CampaignRun, CellOutcome};
use lon_run::outputs::documents::campaign_table::{CampaignTable, SCHEMA, TableColumn, TableRow, TableScore};
use lon_run::outputs::documents::repeats::RepeatSpread;
use lon_run::outputs::documents::result_summary::Validity;
use lon_run::outputs::logs::own_result;
use lon_run::outputs::report::Source;

/// Quantities of a table unless others are asked for; those that no run has are left out.
const USUAL: [&str; 6] = ["metric_rate", "metric_latency", "p50", "p99", "sent", "carried_in"];

/// The axis of the tenants of a mix, where runs are mixes.
const TENANT: &str = "tenant";

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
    let rows = plan.cells.iter().map(|cell| rows(out, plan, cell, &columns.metrics)).collect::<Result<Vec<_>>>()?;
    let rows: Vec<TableRow> = rows.into_iter().flatten().collect();
    let has_value = |metric: &&&Metric| rows.iter().any(|row| row.quantity(metric.name).is_some());
    let metrics = columns.metrics.iter().filter(|metric| !columns.is_usual || has_value(metric));
    let column = |metric: &&Metric| TableColumn {
        name: metric.name.to_owned(),
        about: metric.about.to_owned(),
        unit: metric.unit.name().to_owned(),
    };
    let has_tenants = rows.iter().any(|row| row.values.iter().any(|(axis, _)| axis == TENANT));
    let axes = plan.axes.iter().cloned().chain(has_tenants.then(|| TENANT.to_owned())).collect();
    Ok(CampaignTable { schema: SCHEMA, axes, columns: metrics.map(column).collect(), rows })
}

/// The row of a cell, or one for each tenant where its runs are mixes.
fn rows(out: &Path, plan: &CampaignPlan, cell: &PlannedCell, metrics: &[&Metric]) -> Result<Vec<TableRow>> {
    let mut ended: Vec<CampaignRun> = Vec::new();
    for run in plan.runs.iter().filter(|run| run.cell == cell.name) {
        if let State::Ended(run) = record::state(out, &run.folder)? {
            ended.push(*run);
        }
    }
    let has_result = |run: &&CampaignRun| run.outcome == CellOutcome::Result;
    let runs: Vec<&CampaignRun> = ended.iter().filter(|run| run.kind == RunKind::Performance).collect();
    let accuracy = ended.iter().filter(has_result).find(|run| run.kind == RunKind::Accuracy);
    let whole = TableRow {
        cell: cell.name.clone(),
        values: cell.values.clone(),
        verdict: String::new(),
        reasons: reasons(ended.iter().filter_map(|run| run.reason.as_ref())),
        planned: plan.repeats as usize,
        folders: Vec::new(),
        accuracy: accuracy.map(|run| score(out, run)).transpose()?.flatten(),
        quantities: Vec::new(),
    };
    let runs = runs.into_iter().map(|run| row_runs(out, run)).collect::<Result<Vec<_>>>()?;
    let runs: Vec<RowRun> = runs.into_iter().flatten().collect();
    let mut tenants: Vec<&String> = runs.iter().filter_map(|run| run.tenant.as_ref()).collect();
    let mut names = BTreeSet::new();
    tenants.retain(|name| names.insert(*name));
    if tenants.is_empty() {
        return Ok(vec![row(out, whole, &runs.iter().collect::<Vec<_>>(), metrics)?]);
    }
    let of_tenant = |name: &String| {
        // A mix that came to no result is one of each tenant.
        let runs: Vec<&RowRun> =
            runs.iter().filter(|run| run.tenant.as_ref().is_none_or(|tenant| tenant == name)).collect();
        let mut values = whole.values.clone();
        values.push((TENANT.to_owned(), name.clone()));
        row(
            out,
            TableRow { values, reasons: reasons(runs.iter().flat_map(|run| &run.reasons)), ..whole.clone() },
            &runs,
            metrics,
        )
    };
    tenants.into_iter().map(of_tenant).collect()
}

/// Each reason once.
fn reasons<'a>(all: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut once: Vec<String> = Vec::new();
    for reason in all {
        if !once.contains(reason) {
            once.push(reason.clone());
        }
    }
    once
}

/// The performance runs of a command: one, or one for each tenant of a mix.
///
/// # Errors
/// The result of a mix cannot be read, or is another one by now.
fn row_runs(out: &Path, run: &CampaignRun) -> Result<Vec<RowRun>> {
    let has_result = run.outcome == CellOutcome::Result;
    let mix = if has_result { own_result::read_mix(&out.join(&run.folder))? } else { None };
    Ok(match mix {
        None => vec![RowRun::of_test(run)],
        Some(mix) => mix
            .tenants
            .into_iter()
            .map(|tenant| RowRun {
                folder: format!("{}/{}", run.folder, tenant.folder),
                tenant: Some(tenant.name),
                outcome: run.outcome,
                result: Some(tenant.result),
                reasons: tenant.reasons,
            })
            .collect(),
    })
}

/// A performance run of a row.
struct RowRun {
    /// `None`: the run is of one test, or a mix without a result.
    tenant: Option<String>,
    outcome: CellOutcome,
    result: Option<Validity>,
    /// Reasons against it.
    reasons: Vec<String>,
    /// Its run folder, from the folder of the campaign.
    folder: String,
}

impl RowRun {
    fn of_test(run: &CampaignRun) -> RowRun {
        RowRun {
            tenant: None,
            outcome: run.outcome,
            result: run.result,
            reasons: run.reason.iter().cloned().collect(),
            folder: run.folder.clone(),
        }
    }
}

/// The row with what its runs have measured.
fn row(out: &Path, row: TableRow, runs: &[&RowRun], metrics: &[&Metric]) -> Result<TableRow> {
    let with_result = runs.iter().filter(|run| run.outcome == CellOutcome::Result);
    let folders: Vec<String> = with_result.map(|run| run.folder.clone()).collect();
    let sources = folders.iter().map(|folder| Source::read(&out.join(folder))).collect::<Result<Vec<_>>>()?;
    let spread = |metric: &&Metric| {
        let values = sources.iter().map(metric.of).collect();
        let spread = RepeatSpread::of(metric.name, metric.unit.name(), values)?;
        // A single run is not apart from anything.
        let spread_percent = spread.spread_percent.filter(|_| spread.values.iter().flatten().count() > 1);
        Some(RepeatSpread { spread_percent, ..spread })
    };
    let quantities = metrics.iter().filter_map(spread).collect();
    Ok(TableRow { verdict: verdict(runs, row.planned), folders, quantities, ..row })
}

/// The state of performance runs together.
fn verdict(runs: &[&RowRun], planned: usize) -> String {
    let count = |of: &dyn Fn(&&&RowRun) -> bool| runs.iter().filter(|run| of(run)).count();
    let valid = count(&|run| run.result == Some(Validity::Valid));
    let has = |outcome: CellOutcome| count(&|run| run.outcome == outcome);
    match (valid, runs.len()) {
        (_, 0) => "not run".to_owned(),
        (valid, _) if valid == planned => "VALID".to_owned(),
        (0, _) if has(CellOutcome::Result) > 0 => "INVALID".to_owned(),
        (0, _) if has(CellOutcome::Failed) > 0 => "failed".to_owned(),
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
        let message = named(&["p98"]).err().unwrap().to_string();
        assert!(message.contains("there is no 'p98'; there are metric_rate, "), "{message}");
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
        let with = |result| CampaignRun { outcome: CellOutcome::Result, result: Some(result), ..failed.clone() };
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
            let runs: Vec<RowRun> = runs.into_iter().map(RowRun::of_test).collect();
            assert_eq!(verdict(&runs.iter().collect::<Vec<_>>(), 3), word);
        }
    }
}
