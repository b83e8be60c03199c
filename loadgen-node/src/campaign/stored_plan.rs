//! The plan that is kept in the folder of the campaign before the first run.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use lon_proto::files::{self, Limit};

use super::checked::{Campaign, Cell};
use lon_run::exit::{Exit, OrExit as _, Outcome};
use lon_run::outputs::documents;
use lon_run::outputs::documents::campaign::{CampaignPlan, FILE, PlannedCell, PlannedNodes, SCHEMA};
use lon_run::outputs::run_folder::folder;

impl Campaign {
    /// The plan, with the time of each run. Every run is checked.
    ///
    /// # Errors
    /// A run cannot be made.
    pub(crate) fn plan(&self) -> Outcome<CampaignPlan> {
        self.check_nodes().or_exit(Exit::Usage)?;
        // Repeats take as long as each other, and say the same.
        let once = lon_shell::log::once();
        let mut predictions: Vec<(&str, bool, f64)> = Vec::new();
        let mut plan = self.without_predictions();
        for (job, planned) in self.jobs().iter().zip(&mut plan.runs) {
            let (cell, is_accuracy) = (job.cell.name.as_str(), job.repeat.is_none());
            let same = predictions.iter().find(|(other, accuracy, _)| *other == cell && *accuracy == is_accuracy);
            planned.duration_s = match same {
                Some((_, _, duration_s)) => *duration_s,
                None => job.predicted_s()?,
            };
            predictions.push((cell, is_accuracy, planned.duration_s));
        }
        drop(once);
        Ok(plan)
    }

    /// The plan without the time of the runs.
    fn without_predictions(&self) -> CampaignPlan {
        CampaignPlan {
            schema: SCHEMA,
            axes: self.axes.clone(),
            repeats: self.repeats,
            cells: self.cells.iter().map(planned).collect(),
            runs: self.jobs().iter().map(|job| job.planned(0.0)).collect(),
        }
    }

    /// Returns the plan of a campaign that was begun, which has to be that of the file. None: it was not begun.
    ///
    /// # Errors
    /// The file says something else by now, or the plan cannot be read.
    pub(crate) fn frozen(&self) -> Result<Option<CampaignPlan>> {
        let Some(frozen) = read(&self.out)? else { return Ok(None) };
        let now = self.without_predictions();
        if frozen.without_predictions() != now {
            let is_known = |cell: &&PlannedCell| !frozen.cells.contains(cell);
            let cell = now.cells.iter().find(is_known).map_or("the order of the runs", |cell| &cell.name);
            bail!(
                "the file has changed since {} was begun with another plan (first difference: {cell}): give another \
                 `out`, or move that folder away",
                self.out.display()
            );
        }
        Ok(Some(frozen))
    }

    /// Keeps the plan.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn freeze(&self, plan: &CampaignPlan) -> Result<()> {
        folder::write_file(&self.out.join(FILE), |out| documents::write(out, plan)).context("cannot keep the plan")
    }
}

/// Reads the plan of a folder. None: there is none.
///
/// # Errors
/// It cannot be read, or is none.
pub(crate) fn read(out: &Path) -> Result<Option<CampaignPlan>> {
    let path = out.join(FILE);
    if path.symlink_metadata().is_err() {
        return Ok(None);
    }
    let path_text = || path.display().to_string();
    let text = files::text(&path, Limit::DOCUMENT).with_context(path_text)?;
    let plan: CampaignPlan = serde_json::from_str(&text).with_context(path_text)?;
    Ok(Some(plan))
}

fn planned(cell: &Cell) -> PlannedCell {
    let nodes = cell.nodes.as_ref();
    PlannedCell {
        name: cell.name.clone(),
        values: cell.values.clone(),
        run: cell.run.clone(),
        nodes: nodes.map(|nodes| PlannedNodes { count: nodes.count, flags: nodes.flags.clone() }),
        link: cell.link.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn campaign(out: &Path, transports: &str) -> Campaign {
        let text = format!("out = {out:?}\n[run]\nsut = \"h:1\"\n[axes]\ntransport = {transports}\n");
        Campaign::of(&text, "c.toml").unwrap()
    }

    #[test]
    fn a_plan_that_was_begun_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let first_campaign = campaign(folder.path(), "[\"grpc\", \"tcp\"]");
        assert_eq!(first_campaign.frozen().unwrap(), None);
        let mut plan = first_campaign.without_predictions();
        plan.runs[0].duration_s = 5.0;
        first_campaign.freeze(&plan).unwrap();
        assert_eq!(first_campaign.frozen().unwrap(), Some(plan));
        let message = campaign(folder.path(), "[\"grpc\", \"quic\"]").frozen().unwrap_err().to_string();
        assert!(message.contains("first difference: transport=quic"), "{message}");
        let message = campaign(folder.path(), "[\"tcp\", \"grpc\"]").frozen().unwrap_err().to_string();
        assert!(message.contains("the order of the runs"), "{message}");
    }
}
