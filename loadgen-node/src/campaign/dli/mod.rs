//! The tables of the DLI benchmark (Deep Learning Inference benchmark): a row for each performance run, a row for each
//! metric of each accuracy run, and the page that lays performance out by model and by machine.
//!
//! These quantities are not those of MLPerf: there are no percentiles and no verdict of LoadGen in them. Scenarios that
//! wait for answers (SingleStream, MultiStream) are DLI's latency mode, all others its throughput mode.
//!
//! - `times`: the times of a run, from its timeline; `planned`: values of a run from its flags;
//! - `row`: a performance run with its 22 columns; `accuracy`: the 11 columns of a score;
//! - `pivot`: rows by model, columns by machine; `page`: the page of it.
//!
//! Formulas and columns of a performance run are those of [`lon_shell::dli`].

mod accuracy;
mod page;
mod pivot;
mod planned;
mod row;
mod times;

use anyhow::Result;
use lon_shell::dli::line;
use lon_shell::dli::row::HEADS;

use self::pivot::Pivot;
use self::planned::Planned;
use self::row::CellRow;
use super::checked::Campaign;
use super::record::{self, State};
use lon_run::outputs::documents::campaign::{CampaignPlan, RunKind};
use lon_run::outputs::documents::campaign_run::CampaignRun;
use lon_shell::dli::facts::Facts;

/// The performance runs of a campaign.
pub(crate) struct Performance(Vec<CellRow>);

impl Performance {
    /// Reads the runs that have ended.
    ///
    /// # Errors
    /// The record of a run or its result cannot be read.
    pub(crate) fn read(campaign: &Campaign, plan: &CampaignPlan) -> Result<Performance> {
        let row = |run: &CampaignRun, facts: &Facts, planned: &Planned| CellRow::of(&campaign.out, run, facts, planned);
        Ok(Performance(each(campaign, plan, RunKind::Performance, row)?))
    }

    /// The table as CSV with `;`, since texts of the infrastructure have commas.
    pub(crate) fn csv(&self) -> String {
        let rows = self.0.iter().map(|row| line(&row.row.cells()));
        std::iter::once(line(&HEADS.map(str::to_owned))).chain(rows).collect()
    }

    /// The page with this title.
    pub(crate) fn page(&self, title: &str) -> String {
        page::page(title, &Pivot::of(&self.0))
    }
}

/// The accuracy table as CSV with `;`.
///
/// # Errors
/// The record of a run or its result cannot be read.
pub(crate) fn accuracy_csv(campaign: &Campaign, plan: &CampaignPlan) -> Result<String> {
    let rows = |run: &CampaignRun, facts: &Facts, planned: &Planned| accuracy::rows(&campaign.out, run, facts, planned);
    let rows = each(campaign, plan, RunKind::Accuracy, rows)?;
    let rows = rows.iter().flatten().map(|row| line(row));
    Ok(std::iter::once(line(&accuracy::HEADS.map(str::to_owned))).chain(rows).collect())
}

/// Makes something of each run of this kind that has ended, of the facts of its cell, and of the cell's flags.
fn each<T>(
    campaign: &Campaign,
    plan: &CampaignPlan,
    kind: RunKind,
    make: impl Fn(&CampaignRun, &Facts, &Planned) -> Result<T>,
) -> Result<Vec<T>> {
    let mut all = Vec::new();
    for run in plan.runs.iter().filter(|run| run.kind == kind) {
        if let State::Ended(ended) = record::state(&campaign.out, &run.folder)? {
            let cell = plan.cells.iter().find(|cell| cell.name == run.cell);
            let planned = cell.map(Planned::of).unwrap_or_default();
            all.push(make(&ended, campaign.facts(&run.cell), &planned)?);
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_the_columns_of_dli() {
        let accuracy = "Status;Task type;Topology name;Framework;Inference Framework;Device;Infrastructure;Dataset;\
                        Accuracy type;Precision;Accuracy\n";
        assert_eq!(line(&accuracy::HEADS.map(str::to_owned)), accuracy);
        assert_eq!(Performance(vec![row::example()]).csv().lines().count(), 2);
    }
}
