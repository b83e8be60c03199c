//! The lines of `campaign run`: one for each run that has ended, with the time that is left.

use std::time::Duration;

use lon_proto::figures::duration_ns;

use super::super::io::{print_json, print_text};
use lon_run::exit::{Exit, Outcome};
use lon_run::outputs::documents::campaign::PlannedRun;
use lon_run::outputs::documents::campaign_run::{CampaignRun, CellOutcome};
use lon_run::outputs::documents::result_summary::Validity;

/// The longest reason that a line has, in letters.
const REASON: usize = 160;

/// The runs that are still to be made, and how long those that ended took.
pub(super) struct Progress {
    is_json: bool,
    all: usize,
    at: usize,
    /// The time that is predicted for runs to come, s.
    remaining_s: f64,
    /// Time beyond the prediction, of runs that ended: sum in s, and number.
    beyond_s: (f64, u32),
    remaining_runs: usize,
}

impl Progress {
    pub(super) fn new<'a>(runs: impl ExactSizeIterator<Item = &'a PlannedRun>, is_json: bool) -> Progress {
        let all = runs.len();
        let remaining_s = runs.map(|run| run.duration_s).sum();
        Progress { is_json, all, at: 0, remaining_s, beyond_s: (0.0, 0), remaining_runs: all }
    }

    /// A run that ended before.
    pub(super) fn skip(&mut self, run: &PlannedRun) {
        self.at += 1;
        self.remaining_runs -= 1;
        self.remaining_s -= run.duration_s;
    }

    /// Prints a run that has ended.
    pub(super) fn ended(&mut self, planned: &PlannedRun, run: &CampaignRun, note: &str) -> Outcome {
        self.skip(planned);
        if run.outcome != CellOutcome::Skipped {
            self.beyond_s.0 += (run.wall_s - planned.duration_s).max(0.0);
            self.beyond_s.1 += 1;
        }
        if self.is_json {
            return print_json(run);
        }
        let time = match run.wall_s {
            wall_s if wall_s > 0.0 => format!(", {}", duration_ns(Duration::from_secs_f64(wall_s).as_nanos() as i64)),
            _ => String::new(),
        };
        let remainder = match self.remaining_runs {
            0 => String::new(),
            count => format!("; {count} left, about {}", self.remaining_text()),
        };
        let name = format!("{} {}", planned.cell, planned.name());
        print_text(&format!("[{}/{}] {name}: {}{time}{remainder}{note}\n", self.at, self.all, outcome(run)))
    }

    /// Prints that nothing is left, or why.
    pub(super) fn end(&self, what: &str) -> Outcome {
        if self.is_json { Ok(Exit::Ok) } else { print_text(&format!("{what}\n")) }
    }

    /// Runs that have no outcome yet.
    pub(super) fn remaining_runs(&self) -> usize {
        self.remaining_runs
    }

    /// The time of the runs to come, as those that ended went.
    fn remaining_text(&self) -> String {
        let each = if self.beyond_s.1 == 0 { 0.0 } else { self.beyond_s.0 / f64::from(self.beyond_s.1) };
        let seconds = (self.remaining_s + each * self.remaining_runs as f64).max(0.0);
        lon_run::outputs::documents::campaign::minutes(seconds)
    }
}

fn outcome(run: &CampaignRun) -> String {
    let reason = |word: &str| match &run.reason {
        Some(reason) => format!("{word} ({})", short(reason)),
        None => word.to_owned(),
    };
    match (run.outcome, run.result) {
        (CellOutcome::Result, Some(Validity::Valid)) => "VALID".to_owned(),
        (CellOutcome::Result, _) => reason("INVALID"),
        (CellOutcome::Failed, _) => reason("failed"),
        (CellOutcome::Skipped, _) => reason("skipped"),
    }
}

fn short(reason: &str) -> String {
    let line = lon_proto::text::on_one_line(reason);
    match line.char_indices().nth(REASON) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}
