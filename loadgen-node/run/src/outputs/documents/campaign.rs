//! `campaign.json`: the plan of a campaign. `campaign run` writes it before the first run, and `campaign plan --json`
//! prints it.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::ordered_map;
pub use super::submission_plan::minutes;
use crate::outputs::tables::table::Table;

/// Name in the folder of the campaign.
pub const FILE: &str = "campaign.json";

/// The version of [`CampaignPlan`].
pub const SCHEMA: u32 = 1;

/// The whole file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CampaignPlan {
    /// Version of this form: 1.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: u32,
    /// Name of what varies from cell to cell, as the campaign's file has it: `transport`, `settings.target_qps`,
    /// `node.max-batch`, or `case`.
    pub axes: Vec<String>,
    /// Performance runs of each cell.
    pub repeats: u32,
    /// The cells in the order of the file.
    pub cells: Vec<PlannedCell>,
    /// The runs in the order in which they are made.
    pub runs: Vec<PlannedRun>,
}

/// One combination of what varies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PlannedCell {
    /// Its name, which is that of its folder.
    pub name: String,
    /// The value of each axis.
    #[serde(with = "ordered_map")]
    #[cfg_attr(test, schemars(with = "std::collections::BTreeMap<String, String>"))]
    pub values: Vec<(String, String)>,
    /// Flags of `loadgen-node run`, as they are typed.
    pub run: Vec<String>,
    /// Nodes that are started for it; null where nodes are up.
    pub nodes: Option<PlannedNodes>,
    /// The command that sets the rate of its links, word by word; null where they stay as they are.
    #[serde(default)]
    pub link: Option<Vec<String>>,
}

/// Nodes that a campaign starts on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PlannedNodes {
    /// Number of the nodes, each a process.
    pub count: u32,
    /// Flags of `sut-node serve`, as they are typed.
    pub flags: Vec<String>,
}

/// One run of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PlannedRun {
    /// The name of its cell.
    pub cell: String,
    /// Purpose of the run.
    pub kind: RunKind,
    /// Number of the repeat, from 1; null for an accuracy run.
    pub repeat: Option<u32>,
    /// The run folder, from the folder of the campaign.
    pub folder: String,
    /// Time for which samples are issued, s, as predicted; in Offline and in accuracy runs by the rate that is
    /// expected.
    pub duration_s: f64,
}

/// Purpose of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RunKind {
    /// The answers are scored.
    Accuracy,
    /// The speed is measured.
    Performance,
}

impl CampaignPlan {
    /// Returns the same plan without predictions, which change with datasets and are no part of what is asked for.
    pub fn without_predictions(&self) -> CampaignPlan {
        let runs = self.runs.iter().map(|run| PlannedRun { duration_s: 0.0, ..run.clone() });
        CampaignPlan { runs: runs.collect(), ..self.clone() }
    }

    /// A row for each run.
    pub fn table(&self) -> Table {
        let mut table = Table::new(["cell", "run", "seconds", "folder"]);
        for run in &self.runs {
            table.row([&run.cell, &run.name(), &format!("{:.1}", run.duration_s), &run.folder]);
        }
        table
    }

    /// The plan for people: the cells, and the time of all runs.
    pub fn text(&self) -> String {
        let mut table = Table::new(["cell", "runs", "time"]);
        for cell in &self.cells {
            let runs: Vec<&PlannedRun> = self.runs.iter().filter(|run| run.cell == cell.name).collect();
            let time_s = runs.iter().map(|run| run.duration_s).sum();
            table.row([&cell.name, &runs.len().to_string(), &minutes(time_s)]);
        }
        let all_s = self.runs.iter().map(|run| run.duration_s).sum();
        let mut text = table.aligned();
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{} cells, {} runs, about {} without starts and ends",
            self.cells.len(),
            self.runs.len(),
            minutes(all_s)
        );
        text
    }
}

impl PlannedRun {
    /// The run among those of its cell, in words.
    pub fn name(&self) -> String {
        self.repeat.map_or_else(|| "accuracy".to_owned(), |repeat| format!("repeat {repeat}"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::reads_back;
    use super::*;

    #[test]
    fn times_are_added_up_and_the_document_reads_back() {
        let run = |cell: &str, repeat, duration_s| PlannedRun {
            cell: cell.to_owned(),
            kind: if repeat == Some(1) { RunKind::Performance } else { RunKind::Accuracy },
            repeat,
            folder: format!("{cell}/1"),
            duration_s,
        };
        let cell = |name: &str| PlannedCell {
            name: name.to_owned(),
            values: vec![("transport".to_owned(), name.to_owned())],
            run: Vec::new(),
            nodes: Some(PlannedNodes { count: 2, flags: Vec::new() }),
            link: None,
        };
        let plan = CampaignPlan {
            schema: SCHEMA,
            axes: vec!["transport".to_owned()],
            repeats: 1,
            cells: vec![cell("grpc"), cell("tcp")],
            runs: vec![run("grpc", None, 10.0), run("grpc", Some(1), 600.0), run("tcp", Some(1), 5.0)],
        };
        let text = plan.text();
        assert!(
            text.contains("grpc  2     10 min 10 s\n") && text.contains("2 cells, 3 runs, about 10 min 15 s"),
            "{text}"
        );
        let json = reads_back(&plan);
        assert_eq!(
            (&json["runs"][0]["kind"], &json["cells"][1]["values"]["transport"]),
            (&"accuracy".into(), &"tcp".into())
        );
        assert_eq!(plan.without_predictions().runs[1].duration_s, 0.0);
        assert!(serde_json::from_str::<CampaignPlan>("{\"schema\":1,\"more\":1}").is_err());
    }
}
