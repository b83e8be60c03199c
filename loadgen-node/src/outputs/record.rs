//! A test that leaves a run folder: progress is shown while it runs, and every file is written.

use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;

use super::diagram;
use super::documents::network_report::{self, NetworkReport};
use super::documents::result_summary::{self, ResultSummary};
use super::documents::system_desc::{self, SystemDesc};
use super::documents::{self, find_peak};
use super::folder::{self, FolderError, Place, RunFolder, Written};
use super::journal::{Journal, Kind};
use super::keep::{self, Contents, NotWritten};
use super::logs::{self, Logs};
use super::progress::Progress;
use super::report::{self, Source};
use super::screen;
use crate::exit::{Exit, OrExit as _, Outcome};
use crate::test_run::{Claimed, Finished};
use loadgen::recorder::About;
use loadgen::settings::Mode;

/// A test that is over, and its folder.
pub struct Recorded {
    /// What is known of the test. Files that could not be written are among the reasons of its verdict.
    pub finished: Finished,
    /// Where its files are.
    pub folder: RunFolder,
    /// Whether all files could be written.
    pub written: Result<(), NotWritten>,
}

/// Runs the test and writes its files into a new folder.
///
/// # Errors
/// The folder cannot be made; then the nodes are free again at once.
pub fn record(test: Claimed, place: &Place) -> Outcome<Recorded> {
    let (folder, mut journal) = match begin(&test, place) {
        Ok(begun) => begun,
        Err(error) => {
            // Otherwise the nodes would be busy until their leases lapse.
            test.release();
            return Err(error).or_exit(Exit::Usage);
        }
    };
    let progress = Progress::start(test.counts(), test.title());
    let run = || {
        let measured = test.measure(&mut journal);
        drop(progress);
        measured.finish()
    };
    let mut finished = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(finished) => finished,
        Err(panic) => {
            // The folder goes on saying that the run has not ended. What was measured can be recovered.
            let (log, samples) = journal.finish();
            let _ = log.staged.map(|log| folder.keep(log));
            samples.keep();
            resume_unwind(panic);
        }
    };
    let mut files = Files { finished: &mut finished, folder: folder.path() };
    let (log, samples) = journal.finish();
    let written = keep::keep(&mut files, log, &folder, &folder::fallbacks());
    drop(samples);
    Ok(Recorded { finished, folder, written })
}

/// Makes the folder. Until the run has ended, and for ever if this program is killed, it says that it has not.
fn begin(test: &Claimed, place: &Place) -> Result<(RunFolder, Journal), FolderError> {
    let folder = RunFolder::create(place)?;
    match first_files(test, &folder) {
        Ok(journal) => Ok((folder, journal)),
        Err(error) => {
            // Nothing has been measured.
            folder.remove(result_summary::FILE);
            folder.discard();
            Err(error)
        }
    }
}

fn first_files(test: &Claimed, folder: &RunFolder) -> Result<Journal, FolderError> {
    let unfinished = ResultSummary::unfinished(test.setup());
    folder.keep(folder.stage(result_summary::FILE, |out| documents::write(out, &unfinished))?)?;
    let plan = test.plan();
    let is_search = plan.effective().mode == Mode::FindPeakPerformance;
    let about = || About {
        settings: plan.requested().clone(),
        qsl: plan.qsl(),
        sut_name: test.sut_name().to_owned(),
        warnings: 0,
        errors: 0,
        reasons: Vec::new(),
    };
    Journal::create(folder, if is_search { Kind::Search(find_peak::begun(plan)) } else { Kind::Test(about()) })
}

/// The files of a test that is over.
struct Files<'a> {
    finished: &'a mut Finished,
    folder: &'a Path,
}

impl Contents for Files<'_> {
    fn facts(&self) -> Vec<&'static str> {
        let mut names = vec![network_report::FILE, system_desc::FILE, diagram::FILE];
        names.extend(self.finished.setup.trace_log.then_some(logs::TRACE));
        names.extend(self.finished.setup.aggregation.as_ref().map(|_| logs::AGGREGATION));
        names.extend(self.finished.outcome.find_peak.as_ref().map(|_| find_peak::FILE));
        names
    }

    fn words(&self) -> Vec<&'static str> {
        let timeline = self.finished.outcome.performance().map(|_| logs::TIMELINE);
        let page = self.finished.setup.report.then_some(report::FILE);
        timeline.into_iter().chain([logs::DETAIL, logs::SUMMARY, screen::FILE]).chain(page).collect()
    }

    fn write(&self, name: &str, out: &mut dyn Write) -> io::Result<()> {
        let finished = &*self.finished;
        match name {
            network_report::FILE => documents::write(out, &NetworkReport::from(finished)),
            system_desc::FILE => documents::write(out, &SystemDesc::from(finished)),
            diagram::FILE => out.write_all(diagram::svg(&SystemDesc::from(finished)).as_bytes()),
            find_peak::FILE => find_peak::write(out, &finished.setup.plan, &finished.outcome),
            screen::FILE => out.write_all(screen::text(finished, self.folder, std::iter::empty()).as_bytes()),
            report::FILE => out.write_all(page(finished)?.as_bytes()),
            name => Logs::new(finished).write(name, out),
        }
    }

    fn write_result(&self, files: &[Written], out: &mut dyn Write) -> io::Result<()> {
        documents::write(out, &ResultSummary::from(&*self.finished).with_files(files))
    }

    fn not_written(&mut self, name: &str, failure: &FolderError) {
        let why = match failure {
            FolderError::Write { source, .. } => source.to_string(),
            other => other.to_string(),
        };
        self.finished.outcome.verdict.add("not_written", format!("not everything was written: {name}: {why}"));
    }
}

/// The run as a page.
///
/// # Errors
/// Making it panicked. That is a bug, which costs the page, and not what was measured.
fn page(finished: &Finished) -> io::Result<String> {
    let made = catch_unwind(AssertUnwindSafe(|| report::page(&Source::of(finished))));
    made.map_err(|_| io::Error::other("making the page panicked: this is a bug"))
}
