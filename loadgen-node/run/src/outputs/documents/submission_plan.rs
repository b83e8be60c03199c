//! Document that `submission plan --json` prints: the runs that a submission needs, and the rules that they break.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::division::place;
use crate::outputs::tables::table::Table;

/// The version of [`SubmissionPlan`].
pub const SCHEMA: u32 = 1;

/// The name of this program's own engine.
const OWN_ENGINE: &str = "loadgen-node";

/// The remark on runs that this program's own engine leads.
const UNOFFICIAL: &str = ": the rules ask for logs of the official LoadGen (engine = \"official\")";

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
    /// The engine that leads the runs: `loadgen-node`, or `official` with the words that start its program.
    #[serde(default)]
    pub engine: String,
    /// True when runs are shortened, so that nothing of the plan can be submitted.
    pub rehearsal: bool,
    /// The runs in the order in which they are made.
    pub runs: Vec<PlannedRun>,
    /// Faults that keep runs from being made, such as a missing dataset. Runs are among `runs` all the same, with the
    /// size that they have with the whole dataset of the benchmark, unless their settings are at fault.
    pub faults: Vec<PlanFault>,
    /// Rules of the division that are broken already, but for those that a rehearsal breaks by its short runs. Empty in
    /// the open division.
    pub broken_rules: Vec<BrokenRule>,
    /// Scores that this program cannot compute, each with the action that gives it after the run.
    pub unscored: Vec<String>,
    /// Lines of the file that are marked FILL IN and as `submission init` wrote them, each with what belongs there.
    #[serde(default)]
    pub fill_in: Vec<String>,
    /// Scenarios that the round asks for and the file lacks, and those that the round does not have, each with its
    /// place. Empty in the open division.
    #[serde(default)]
    pub scenarios: Vec<String>,
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
    /// The number of samples, as predicted.
    pub samples: u64,
}

/// A fault that keeps runs from being made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PlanFault {
    /// The runs that have it.
    pub runs: Vec<String>,
    /// The place in the submission's file, and the reason.
    pub why: String,
}

/// A rule that is broken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BrokenRule {
    /// The runs that break it.
    pub runs: Vec<String>,
    /// The stable word of the rule.
    pub id: String,
    /// The section of MLPerf's rules v5.
    pub section: String,
    /// By what it is broken.
    pub why: String,
}

impl SubmissionPlan {
    /// A row for each run, then one for each thing that is to be done about the file.
    pub fn table(&self) -> Table {
        let mut table = Table::new(["run", "state", "seconds", "why", "folder"]);
        for run in &self.runs {
            let (state, seconds) = (self.state(run), format!("{:.1}", run.duration_s));
            table.row([&run.name, state, &seconds, run.why.as_deref().unwrap_or_default(), &run.folder]);
        }
        self.fill_in.iter().for_each(|open| table.row(["", "fill in", "", open, ""]));
        self.scenarios.iter().for_each(|what| table.row(["", "scenario", "", what, ""]));
        for PlanFault { runs, why } in &self.faults {
            table.row([&self.named(runs), "missing", "", why, ""]);
        }
        for BrokenRule { runs, id, section, why } in &self.broken_rules {
            table.row([&self.named(runs), "rule broken", "", &format!("{id} ({}): {why}", place(section)), ""]);
        }
        self.unscored.iter().for_each(|what| table.row(["", "to be scored", "", what, ""]));
        table
    }

    /// The plan for people.
    pub fn text(&self) -> String {
        let rehearsal = if self.rehearsal { ", a rehearsal: not to be submitted" } else { "" };
        let mut text = format!("Division {}, round {}{rehearsal}\n", self.division, self.round);
        let unofficial = if self.engine == OWN_ENGINE { UNOFFICIAL } else { "" };
        let _ = writeln!(text, "Engine {}{unofficial}\n", self.engine);
        for run in &self.runs {
            let (state, time) = (self.state(run), minutes(run.duration_s));
            let _ = writeln!(text, "  {state:<7} {time:>11} {:>9} samples  {}", run.samples, run.name);
            if let Some(why) = &run.why {
                let _ = writeln!(text, "          to be repeated: {why}");
            }
        }
        if !self.runs.is_empty() {
            text.push('\n');
        }
        let (missing, all) = (self.missing(), self.all());
        let is_possible = |run: &&PlannedRun| !run.done && !self.has_fault(&run.name);
        let open: Vec<&PlannedRun> = self.runs.iter().filter(is_possible).collect();
        let duration = minutes(open.iter().map(|run| run.duration_s).sum());
        let _ = match (open.len(), missing) {
            (to_do, 0) => writeln!(text, "{to_do} of {all} runs to do, about {duration}"),
            (0, missing) => writeln!(text, "{all} runs; {missing} cannot be made yet"),
            (to_do, missing) => {
                writeln!(text, "{to_do} of {all} runs to do, about {duration}; {missing} more cannot be made yet")
            }
        };
        for open in &self.fill_in {
            let _ = writeln!(text, "FILL IN {open}");
        }
        for what in &self.scenarios {
            let _ = writeln!(text, "SCENARIO {what}");
        }
        for PlanFault { runs, why } in &self.faults {
            let _ = writeln!(text, "FAULT {why} [{}]", self.named(runs));
        }
        for BrokenRule { runs, id, section, why } in &self.broken_rules {
            let _ = writeln!(text, "BROKEN {id} ({}): {why} [{}]", place(section), self.named(runs));
        }
        for what in &self.unscored {
            let _ = writeln!(text, "TO BE SCORED {what}");
        }
        text
    }

    /// The state of a run in a word.
    fn state(&self, run: &PlannedRun) -> &'static str {
        match run {
            run if run.done => "done",
            run if self.has_fault(&run.name) => "missing",
            _ => "to do",
        }
    }

    /// The number of runs that cannot be made.
    pub fn missing(&self) -> usize {
        self.with_faults().len()
    }

    /// The number of all runs.
    fn all(&self) -> usize {
        self.runs.iter().map(|run| run.name.as_str()).chain(self.with_faults()).collect::<BTreeSet<_>>().len()
    }

    /// The names of the runs that cannot be made.
    fn with_faults(&self) -> BTreeSet<&str> {
        self.faults.iter().flat_map(|fault| fault.runs.iter().map(String::as_str)).collect()
    }

    fn has_fault(&self, run: &str) -> bool {
        self.with_faults().contains(run)
    }

    /// Runs in a sentence.
    fn named(&self, runs: &[String]) -> String {
        match runs.len() {
            count if count == self.all() && count > 1 => format!("all {count} runs"),
            _ => runs.join(", "),
        }
    }
}

/// A duration for people.
pub fn minutes(duration_s: f64) -> String {
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
            samples: 24_576,
        };
        let plan = SubmissionPlan {
            schema: SCHEMA,
            division: "network".to_owned(),
            round: "v5.0".to_owned(),
            engine: OWN_ENGINE.to_owned(),
            rehearsal: true,
            runs: vec![run("a", true, 10.0), run("b", false, 600.0), run("c", false, 3_100.0)],
            faults: vec![PlanFault { runs: vec!["d".to_owned()], why: "no file".to_owned() }],
            broken_rules: vec![BrokenRule {
                runs: ["a", "b", "c", "d"].map(str::to_owned).to_vec(),
                id: "qsl_size".to_owned(),
                section: "4.1".to_owned(),
                why: "too few".to_owned(),
            }],
            unscored: vec!["a cannot be scored here".to_owned()],
            fill_in: vec!["s.toml:12, system: its name".to_owned()],
            scenarios: vec!["s.toml:40, benchmark.settings: a lacks scenario Offline".to_owned()],
        };
        let text = plan.text();
        assert!(text.contains("\nEngine loadgen-node: the rules ask for logs of the official LoadGen"), "{text}");
        assert!(
            text.contains("2 of 4 runs to do, about 1 h 01 min; 1 more cannot be made yet\n")
                && text.contains("a rehearsal"),
            "{text}"
        );
        assert!(text.contains("10 min 00 s     24576 samples  b\n"), "{text}");
        let end = "FILL IN s.toml:12, system: its name\nSCENARIO s.toml:40, benchmark.settings: a lacks scenario \
                   Offline\nFAULT no file [d]\n\
                   BROKEN qsl_size (section 4.1 of the division's rules): too few [all 4 runs]\n\
                   TO BE SCORED a cannot be scored here\n";
        assert!(text.ends_with(end), "{text}");
        assert_eq!(reads_back(&plan)["runs"][1]["duration_s"], 600.0);
        let official = "official (lon-official)".to_owned();
        let why = "s.toml:7, engine: lon-official: it is not there".to_owned();
        let faults = vec![PlanFault { runs: ["b", "c"].map(str::to_owned).to_vec(), why }];
        let lacking = SubmissionPlan { engine: official, faults, ..plan.clone() }.text();
        let line = "\n3 runs; 2 cannot be made yet\n";
        assert!(lacking.contains("\n  missing 10 min 00 s     24576 samples  b\n"), "{lacking}");
        assert!(lacking.contains(line) && lacking.contains("\nEngine official (lon-official)\n"), "{lacking}");
        let none = SubmissionPlan { runs: Vec::new(), ..plan.clone() }.text();
        assert!(none.contains("\n1 runs; 1 cannot be made yet\n") && !none.contains("to do"), "{none}");
        assert_eq!((minutes(59.6), minutes(605.0)), ("1 min 00 s".to_owned(), "10 min 05 s".to_owned()));
    }
}
