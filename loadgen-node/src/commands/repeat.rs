//! The command `run --repeat`: the same test several times, and how far its results differ.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use anyhow::Context as _;

use super::io::{path_text, print_in, print_text};
use super::test_series::{INCOMPLETE, LiveOutput, TestSeries};

use crate::cli::Format;
use lon_run::exit::{Exit, OrExit as _, Outcome};
use lon_run::outputs::documents;
use lon_run::outputs::documents::repeats::{FILE_END, Repeats};
use lon_run::outputs::documents::result_summary::ResultSummary;
use lon_run::outputs::run_folder::folder::{FolderError, Place, behind, write_file};
use lon_run::outputs::run_folder::record::Recorded;
use lon_run::test_run::TestSpec;

/// Makes the test as often as is asked for, each in a folder of its own, and prints how far the results differ. A run
/// that fails is the last one. `repeats`: those that were made, which are none.
pub(crate) fn repeat(spec: TestSpec, place: &Place, repeats: Repeats, form: Format, live: LiveOutput) -> Outcome {
    let count = repeats.asked;
    let (Place::At(base) | Place::Numbered(base)) = place;
    let file = behind(base, FILE_END);
    check(base, count, &file).or_exit(Exit::Usage)?;
    let mut runs = RepeatRuns { tests: TestSeries::new(spec, live)?, file, repeats, worst: Exit::Ok, stop: None };
    let mut failure = None;
    for number in 1..=count {
        tracing::info!(number, of = count, "a run of --repeat");
        match runs.one(&folder(base, number), format!("repeat {number} of {count}")) {
            Ok(true) => {}
            Ok(false) => break,
            Err(failed) => {
                failure = Some(failed);
                break;
            }
        }
    }
    let RepeatRuns { tests, file, repeats, worst, stop } = runs;
    if !repeats.runs.is_empty() {
        let text = || print_text(&format!("{}Spread    {}\n", repeats.text(), path_text(&file)));
        print_in(form, &repeats, text, || repeats.table())?;
    }
    let end_outcome = stop.map_or(Ok(()), |stop| tests.end(&stop));
    failure.map_or(end_outcome.map(|()| worst), Err)
}

/// Where the run with this number, from 1, has its folder.
fn folder(base: &Path, number: u64) -> PathBuf {
    behind(base, &format!("-{number}"))
}

/// Nothing of what will be written may be there.
fn check(base: &Path, count: u64, file: &Path) -> Result<(), FolderError> {
    (1..=count).try_for_each(|number| Place::At(folder(base, number)).check())?;
    if file.symlink_metadata().is_ok() { Err(FolderError::Exists(file.to_owned())) } else { Ok(()) }
}

/// The runs that were made.
struct RepeatRuns {
    tests: TestSeries,
    file: PathBuf,
    repeats: Repeats,
    worst: Exit,
    /// True when the user wants no more runs; none before the first.
    stop: Option<Arc<AtomicBool>>,
}

impl RepeatRuns {
    /// Makes one more run, and writes what is known of all. Returns whether another one makes sense.
    fn one(&mut self, folder: &Path, note: String) -> Outcome<bool> {
        let recorded_run = self.tests.make(&Place::At(folder.to_owned()), Some(note))?;
        let (Recorded { finished, written, .. }, stop) = recorded_run;
        let is_over = stop.load(SeqCst);
        self.stop = Some(stop);
        let exit = if written.is_ok() { finished.exit() } else { Exit::Bug };
        self.repeats.add(path_text(folder), &ResultSummary::from(&finished), exit);
        if exit != Exit::Ok {
            self.worst = exit;
        }
        let repeats = &self.repeats;
        write_file(&self.file, |out| documents::write(out, repeats)).or_exit(Exit::Bug)?;
        written.context(INCOMPLETE).or_exit(Exit::Bug)?;
        Ok(matches!(exit, Exit::Ok | Exit::Invalid) && !is_over)
    }
}
