//! A side of a comparison: a run folder, or several folders of repeats.

use std::path::PathBuf;

use anyhow::{Result, bail};

use lon_run::outputs::documents::comparison::{ComparedRun, SideDocument};
use lon_run::outputs::logs::TIMELINE;
use lon_run::outputs::report::{Series, Source};

/// Most sides of a comparison. More curves over each other cannot be told apart.
pub(crate) const MOST: usize = 5;

/// A side: its runs, one at least.
pub(crate) struct Side {
    /// Its letter, from A on.
    pub(super) name: char,
    pub(super) runs: Vec<(PathBuf, Source)>,
}

impl Side {
    /// The sides of a command line, in order: each a folder, or folders with commas between.
    ///
    /// # Errors
    /// One of them is no run folder.
    pub(crate) fn all(typed: &[String]) -> Result<Vec<Side>> {
        let side = |(name, typed): (char, &String)| Ok(Side { name, runs: runs(typed)? });
        ('A'..).zip(typed).map(side).collect()
    }

    pub(super) fn sources(&self) -> impl Iterator<Item = &Source> {
        self.runs.iter().map(|(_, source)| source)
    }

    /// Returns the curves of the side's runs that have some.
    pub(super) fn series(&self) -> impl Iterator<Item = &Series> {
        self.sources().filter_map(|run| run.series.as_ref())
    }

    /// Those of them that say something of noise: none where samples got no answer, which curves do not have.
    pub(super) fn drawn_series(&self) -> impl Iterator<Item = &Series> {
        let is_whole = self.sources().all(|run| run.result.counts.unanswered() == 0);
        self.series().filter(move |_| is_whole)
    }

    /// The load that all runs of the side asked for, with the name of its setting. None where they differ, or there is
    /// none.
    pub(super) fn offered(&self) -> Option<(&'static str, f64)> {
        let mut all = self.sources().map(|run| run.result.offered());
        let first = all.next()?;
        first.filter(|_| all.all(|other| other == first))
    }

    pub(super) fn document(&self) -> SideDocument {
        let run = |(folder, source): &(PathBuf, Source)| ComparedRun {
            folder: folder.display().to_string(),
            result: source.result.result,
            benchmark: source.result.benchmark.clone(),
            scenario: source.result.scenario.clone(),
            started_utc: source.result.made.started_utc.clone(),
            note: source.result.made.note.clone(),
            labels: source.result.made.labels.clone(),
        };
        SideDocument { name: self.name.to_string(), runs: self.runs.iter().map(run).collect() }
    }
}

fn runs(typed: &str) -> Result<Vec<(PathBuf, Source)>> {
    let run_at = |path: PathBuf| Source::read(&path).map(|source| (path, source));
    // A folder may have a comma in its name.
    let runs: Vec<(PathBuf, Source)> = match PathBuf::from(typed) {
        whole if whole.exists() => vec![run_at(whole)?],
        _ => typed.split(',').map(|one| run_at(PathBuf::from(one))).collect::<Result<_>>()?,
    };
    // A run that counts twice would look like a repeat, and noise like a difference.
    for (at, (path, source)) in runs.iter().enumerate() {
        if let Some((other, _)) = runs[..at].iter().find(|(_, other)| is_same_run(source, other)) {
            bail!("{} and {} are the same run: repeats are runs of their own", other.display(), path.display());
        }
    }
    Ok(runs)
}

/// Returns true when both have measured the same samples. Where that is not known, returns true when both are the same
/// result.
fn is_same_run(one: &Source, other: &Source) -> bool {
    let timeline = |source: &Source| source.result.files.get(TIMELINE).map(|file| file.sha256.clone());
    match (timeline(one), timeline(other)) {
        (None, None) => one.result == other.result,
        (one, other) => one == other,
    }
}
