//! Document that `submission plan --json` prints: the runs that a submission needs, and the rules that they break.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::division::place;
use crate::outputs::table::Table;

/// The version of [`SubmissionPlan`].
pub(crate) const SCHEMA: u32 = 1;

/// The whole document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SubmissionPlan {
    /// Version of this form: 1.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: u32,
    /// `network` or `open`.
    pub division: String,
    /// The round: `v5.0`.
    pub round: String,
    /// True when runs are shortened, so that nothing of the plan can be submitted.
    pub rehearsal: bool,
    /// The runs in the order in which they are made.
    pub runs: Vec<PlannedRun>,
    /// Rules of the division that are broken already. Empty in the open division.
    pub broken_rules: Vec<BrokenRule>,
    /// Lines of the file that are marked FILL IN and as `submission init` wrote them, each with what belongs there.
    #[serde(default)]
    pub fill_in: Vec<String>,
}

/// One run of a submission.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PlannedRun {
    /// Benchmark, scenario and what the run is for, with blanks between: `resnet50 Server performance`.
    pub name: String,
    /// Its run folder.
    pub folder: String,
    /// The words that make it: those behind this program's name, or of another program all.
    pub command: Vec<String>,
    /// True when there is a run that counts.
    pub done: bool,
    /// Why the run that is there does not count, or what it lacks; null where none is there, or where it counts.
    pub why: Option<String>,
    /// Time for which samples are issued, s, as predicted; in Offline and in accuracy runs by the rate that is
    /// expected.
    pub duration_s: f64,
}

/// A rule that is broken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BrokenRule {
    /// The first run that breaks it.
    pub run: String,
    /// The stable word of the rule.
    pub id: String,
    /// The section of MLPerf's rules v5.
    pub section: String,
    /// By what it is broken.
    pub why: String,
}

impl SubmissionPlan {
    /// A row for each run, then one for each rule that is broken.
    pub(crate) fn table(&self) -> Table {
        let mut table = Table::new(["run", "state", "seconds", "why", "folder"]);
        for run in &self.runs {
            let (state, seconds) = (if run.done { "done" } else { "to do" }, format!("{:.1}", run.duration_s));
            table.row([&run.name, state, &seconds, run.why.as_deref().unwrap_or_default(), &run.folder]);
        }
        for BrokenRule { run, id, section, why } in &self.broken_rules {
            table.row([run, "rule broken", "", &format!("{id} ({}): {why}", place(section)), ""]);
        }
        self.fill_in.iter().for_each(|open| table.row(["", "fill in", "", open, ""]));
        table
    }

    /// The plan for people.
    pub(crate) fn text(&self) -> String {
        let rehearsal = if self.rehearsal { ", a rehearsal: not to be submitted" } else { "" };
        let mut text = format!("Division {}, round {}{rehearsal}\n\n", self.division, self.round);
        for run in &self.runs {
            let state = if run.done { "done" } else { "to do" };
            let _ = writeln!(text, "  {state:<6} {:>9}  {}", minutes(run.duration_s), run.name);
            if let Some(why) = &run.why {
                let _ = writeln!(text, "         not as it is: {why}");
            }
        }
        let open: Vec<&PlannedRun> = self.runs.iter().filter(|run| !run.done).collect();
        let left_s = open.iter().map(|run| run.duration_s).sum();
        let _ = writeln!(text, "\n{} of {} runs to do, about {}", open.len(), self.runs.len(), minutes(left_s));
        for rule in &self.broken_rules {
            let BrokenRule { run, id, section, why } = rule;
            let _ = writeln!(text, "BROKEN {id} ({}): {why} [{run}]", place(section));
        }
        for open in &self.fill_in {
            let _ = writeln!(text, "FILL IN {open}");
        }
        text
    }
}

/// A duration for people.
fn minutes(duration_s: f64) -> String {
    let whole_s = duration_s.round() as u64;
    match whole_s {
        0..60 => format!("{whole_s} s"),
        60..3_600 => format!("{} min {:02} s", whole_s / 60, whole_s % 60),
        _ => format!("{} h {:02} min", whole_s / 3_600, whole_s % 3_600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::super::reads_back;
    use super::*;

    #[test]
    fn what_is_left_is_added_up() {
        let run = |name: &str, done: bool, duration_s: f64| PlannedRun {
            name: name.to_owned(),
            folder: name.to_owned(),
            command: Vec::new(),
            done,
            why: None,
            duration_s,
        };
        let plan = SubmissionPlan {
            schema: SCHEMA,
            division: "network".to_owned(),
            round: "v5.0".to_owned(),
            rehearsal: true,
            runs: vec![run("a", true, 10.0), run("b", false, 600.0), run("c", false, 3_100.0)],
            broken_rules: vec![BrokenRule {
                run: "b".to_owned(),
                id: "run_duration".to_owned(),
                section: "3".to_owned(),
                why: "too short".to_owned(),
            }],
            fill_in: vec!["line 12, system: its name".to_owned()],
        };
        let text = plan.text();
        assert!(text.contains("2 of 3 runs to do, about 1 h 01 min") && text.contains("a rehearsal"), "{text}");
        let end = "BROKEN run_duration (section 3 of the division's rules): too short [b]\n\
                   FILL IN line 12, system: its name\n";
        assert!(text.ends_with(end), "{text}");
        assert_eq!(reads_back(&plan)["runs"][1]["duration_s"], 600.0);
        assert_eq!((minutes(59.6), minutes(605.0)), ("1 min 00 s".to_owned(), "10 min 05 s".to_owned()));
    }
}
