//! A campaign as a job of a scheduler: an array of Slurm, or an Indexed Job of Kubernetes, with a task for each cell.
//!
//! Each task makes the runs of its cell by `campaign run --cell`, one task at a time: runs beside each other would
//! share the fabric. Results of all tasks lie in the campaign's folder, which all machines have to reach.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::checked::Campaign;
use lon_run::outputs::documents::campaign::CampaignPlan;

/// A job array and an Indexed Job. Words in capitals stand for facts of the campaign.
const ARRAY: &str = include_str!("array.sbatch");
const MANIFEST: &str = include_str!("job.yaml");
/// Time for nodes to load their model, s.
const START_S: f64 = 600.0;
/// A run takes up to so many times its predicted time, and this much more, s.
const SPARE: (f64, f64) = (2.0, 60.0);

/// The facts of a campaign that a job needs.
#[derive(Debug)]
pub(crate) struct RenderedJob {
    /// The file of the campaign.
    file: PathBuf,
    /// The folder of the campaign.
    out: PathBuf,
    cells: usize,
    /// Hosts for SUT nodes, beside that of the LoadGen node.
    hosts: u32,
    /// The longest time that a cell may take.
    limit_s: f64,
}

impl RenderedJob {
    /// The job of a campaign with this plan. `file` is its absolute path.
    ///
    /// # Errors
    /// The working directory is gone.
    pub(crate) fn new(campaign: &Campaign, plan: &CampaignPlan, file: &Path) -> Result<RenderedJob> {
        let nodes = campaign.cells.iter().filter_map(|cell| cell.nodes.as_ref());
        let of_cell = |name: &str| -> f64 {
            let runs = plan.runs.iter().filter(|run| run.cell == name);
            runs.map(|run| SPARE.0 * run.duration_s + SPARE.1).sum()
        };
        Ok(RenderedJob {
            file: file.to_owned(),
            out: std::path::absolute(&campaign.out).context("out")?,
            cells: campaign.cells.len(),
            hosts: nodes.map(|nodes| nodes.count).max().unwrap_or(0),
            limit_s: campaign.cells.iter().map(|cell| of_cell(&cell.name)).fold(0.0, f64::max) + START_S,
        })
    }

    /// The name of the file without its end.
    fn name(&self) -> String {
        let stem = self.file.file_stem().unwrap_or_default().to_string_lossy();
        stem.chars().map(|one| if one.is_ascii_alphanumeric() { one.to_ascii_lowercase() } else { '-' }).collect()
    }

    /// A batch script for `sbatch`.
    pub(crate) fn slurm(&self) -> String {
        filled(
            ARRAY,
            &[
                ("NAME", format!("lon-{}", self.name())),
                ("CELLS", format!("0-{}%1", self.cells - 1)),
                ("HOSTS", (self.hosts + 1).to_string()),
                ("MINUTES", (self.limit_s / 60.0).ceil().to_string()),
                ("LOG", quoted(&self.out.join("slurm-%a.log"))),
                ("FILE", quoted(&self.file)),
            ],
        )
    }

    /// A manifest for `kubectl apply`.
    pub(crate) fn kubernetes(&self, image: &str) -> String {
        let file = format!("/campaign/{}", self.file.file_name().unwrap_or_default().to_string_lossy());
        filled(
            MANIFEST,
            &[
                ("NAME", format!("campaign-{}", self.name())),
                ("CELLS", self.cells.to_string()),
                ("LIMIT", self.limit_s.ceil().to_string()),
                // A text of JSON is one of YAML.
                ("IMAGE", Value::from(image).to_string()),
                ("FILE", Value::from(file).to_string()),
            ],
        )
    }
}

/// A text with values in place of its words in capitals, of which a line has one at most.
fn filled(text: &str, values: &[(&str, String)]) -> String {
    let line = |line: &str| {
        let has = |word: &str| line.split([' ', ',', '=']).any(|own| own == word);
        let value = values.iter().find(|(word, _)| has(word));
        value.map_or_else(|| line.to_owned(), |(word, value)| line.replace(word, value)) + "\n"
    };
    text.lines().map(line).collect()
}

/// A path as one word of a shell.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |one: char| one.is_ascii_alphanumeric() || "/._-%".contains(one);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lon_run::outputs::documents::campaign::{PlannedRun, RunKind};

    fn job(nodes: &str, file: &str) -> RenderedJob {
        let text = format!("out = \"/shared/o\"\n{nodes}\n[axes]\ntransport = [\"grpc\", \"tcp\"]\n");
        let campaign = Campaign::of(&text, "c.toml").unwrap();
        let run = |cell: &str, duration_s| PlannedRun {
            cell: cell.to_owned(),
            kind: RunKind::Performance,
            repeat: Some(1),
            folder: format!("{cell}/1"),
            duration_s,
        };
        let plan = CampaignPlan {
            schema: lon_run::outputs::documents::campaign::SCHEMA,
            axes: campaign.axes.clone(),
            repeats: 1,
            cells: Vec::new(),
            runs: vec![run("transport=grpc", 60.0), run("transport=tcp", 120.0)],
        };
        RenderedJob::new(&campaign, &plan, Path::new(file)).unwrap()
    }

    #[test]
    fn a_job_array_has_a_task_for_each_cell_and_hosts_for_the_nodes() {
        let script =
            job("[run]\nbenchmark = \"digits\"\n[node]\nbackend = \"null\"\ncount = 2", "/shared/a b.toml").slurm();
        // 2 x 120 s and a minute for the run, ten minutes for the start.
        for line in ["--array=0-1%1", "--nodes=3", "--time=15", "--job-name=lon-a-b", "--output=/shared/o/slurm-%a.log"]
        {
            assert!(script.contains(&format!("\n#SBATCH {line}\n")), "{script}");
        }
        assert!(script.contains("campaign run '/shared/a b.toml' --cell \"$SLURM_ARRAY_TASK_ID\""), "{script}");
        let up = job("[run]\nsut = \"h:1\"", "/shared/a.toml").slurm();
        assert!(up.contains("#SBATCH --nodes=1\n"), "{up}");
    }

    #[test]
    fn an_indexed_job_has_a_completion_for_each_cell() {
        let manifest = job("[run]\nsut = \"h:1\"", "/shared/Codecs.toml").kubernetes("lon:7");
        for line in [
            "  name: campaign-codecs",
            "  completions: 2",
            "      activeDeadlineSeconds: 900",
            "          image: \"lon:7\"",
            "          command: [loadgen-node, campaign, run, \"/campaign/Codecs.toml\", --cell, $(CELL)]",
        ] {
            assert!(manifest.lines().any(|own| own == line), "{line}: {manifest}");
        }
        assert_eq!(manifest.lines().count(), MANIFEST.lines().count());
    }
}
