//! The runs of the cells, in the order in which they are made.

use std::path::PathBuf;

use super::checked::{Campaign, Cell};
use super::order::{self, Order};
use lon_run::outputs::documents::campaign::{PlannedRun, RunKind};

/// One run of a cell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job<'a> {
    pub(crate) campaign: &'a Campaign,
    pub(crate) cell: &'a Cell,
    /// The number of the repeat, from 1. None: the accuracy run.
    pub(crate) repeat: Option<u32>,
}

impl Campaign {
    /// Every run, in its order. The accuracy run of a cell is before its first repeat.
    pub(crate) fn jobs(&self) -> Vec<Job<'_>> {
        let count = self.cells.len();
        let of_cell = |cell: usize| std::iter::repeat_n(cell, self.repeats as usize);
        let cells: Vec<usize> = match self.order {
            Order::ByCell => (0..count).flat_map(of_cell).collect(),
            Order::Interleaved => (0..self.repeats).flat_map(|_| 0..count).collect(),
            Order::Random(seed) => order::shuffled((0..count).flat_map(of_cell).collect(), seed),
        };
        let mut counts = vec![0; count];
        let mut jobs = Vec::new();
        for at in cells {
            let job = |repeat| Job { campaign: self, cell: &self.cells[at], repeat };
            if counts[at] == 0 && self.has_accuracy {
                jobs.push(job(None));
            }
            counts[at] += 1;
            jobs.push(job(Some(counts[at])));
        }
        jobs
    }
}

impl<'a> Job<'a> {
    /// The name of its folder in that of its cell.
    fn name(&self) -> String {
        self.repeat.map_or_else(|| "accuracy".to_owned(), |repeat| repeat.to_string())
    }

    /// The run folder, from the folder of the campaign.
    pub(crate) fn place(&self) -> String {
        format!("{}/{}", self.cell.name, self.name())
    }

    /// The run folder.
    pub(crate) fn folder(&self) -> PathBuf {
        self.campaign.out.join(self.place())
    }

    /// A file beside the run folder with this end of its name.
    pub(crate) fn side_file(&self, end: &str) -> PathBuf {
        self.campaign.out.join(format!("{}.{end}", self.place()))
    }

    /// The accuracy run of the same cell. None: there is none, or this is it.
    pub(crate) fn accuracy(&self) -> Option<Job<'a>> {
        (self.campaign.has_accuracy && self.repeat.is_some()).then_some(Job { repeat: None, ..*self })
    }

    /// The job as the plan has it.
    pub(crate) fn planned(&self, duration_s: f64) -> PlannedRun {
        let kind = if self.repeat.is_some() { RunKind::Performance } else { RunKind::Accuracy };
        PlannedRun { cell: self.cell.name.clone(), kind, repeat: self.repeat, folder: self.place(), duration_s }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(order: &str, accuracy: &str) -> Vec<String> {
        let text = format!(
            "out = \"o\"\nrepeats = 2\norder = \"{order}\"\n{accuracy}\n[run]\nsut = \"h:1\"\n[axes]\n\
             connections = [1, 2, 3]\n"
        );
        let campaign = Campaign::of(&text, "c.toml").unwrap();
        campaign.jobs().iter().map(|job| job.place().replace("connections=", "")).collect()
    }

    #[test]
    fn runs_are_in_the_order_that_is_asked_for() {
        assert_eq!(places("written", ""), ["1/1", "1/2", "2/1", "2/2", "3/1", "3/2"]);
        assert_eq!(places("interleaved", ""), ["1/1", "2/1", "3/1", "1/2", "2/2", "3/2"]);
        let random = places("random:7", "");
        let mut sorted = random.clone();
        sorted.sort();
        assert_eq!(sorted, places("written", ""));
        assert_eq!(random, places("random:7", ""));
        assert!((0..9).any(|seed| places(&format!("random:{seed}"), "") != random));
    }

    #[test]
    fn the_accuracy_run_of_a_cell_comes_before_its_first_repeat() {
        let accuracy = "accuracy = \"first\"";
        let begin = ["1/accuracy", "1/1", "2/accuracy", "2/1", "3/accuracy", "3/1", "1/2", "2/2", "3/2"];
        assert_eq!(places("interleaved", accuracy), begin);
        let random = places("random:3", accuracy);
        let at = |place: &str| random.iter().position(|other| other == place).unwrap();
        for cell in 1..4 {
            assert!(at(&format!("{cell}/accuracy")) < at(&format!("{cell}/1")), "{random:?}");
        }
    }
}
