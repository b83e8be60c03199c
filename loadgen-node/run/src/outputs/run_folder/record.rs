//! A test that leaves a run folder: a display shows it while it runs, and every file is written.

use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::folder::{self, FileEntry, FolderError, Place, RunFolder};
use super::journal::{Ended, Journal, Kind};
use super::write_order::{self, Contents, NotWritten};
use crate::exit::{Exit, OrExit as _, Outcome};
use crate::live::latest_snapshot::Board;
use crate::live::one_run::OneRun;
use crate::outputs::documents::network_report::{self, NetworkReport};
use crate::outputs::documents::result_summary::{self, ResultSummary};
use crate::outputs::documents::system_desc::{self, SystemDesc};
use crate::outputs::documents::{self, find_peak};
use crate::outputs::logs::{self, Logs};
use crate::outputs::report::diagram;
use crate::outputs::report::{self, Source};
use crate::outputs::screen;
use crate::outputs::timeline::stages;
use crate::outputs::timeline::stages::writer::{StageKeeper, StagePart};
use crate::test_run::arrivals;
use crate::test_run::{Claimed, Finished};
use loadgen::plan::Plan;
use loadgen::recorder::About;
use loadgen::settings::Mode;
use loadgen::trace::{Indices, Trace};
use loadgen::traffic::Arrivals;

/// A test that is over, and its folder.
pub struct Recorded {
    /// Facts of the test. Files that could not be written are among the reasons of its verdict.
    pub finished: Finished,
    /// Where its files are.
    pub folder: RunFolder,
    /// Outcome of writing the files: an error when not all of them could be written.
    pub written: Result<(), NotWritten>,
}

/// A display of a run while it goes on.
pub trait Display {
    /// Ends the display. Returns the run that it has shown; none where it could not show any.
    fn end(self) -> Option<OneRun>;
}

/// No display at all.
impl Display for OneRun {
    fn end(self) -> Option<OneRun> {
        Some(self)
    }
}

/// Runs the test and writes its files into a new folder. Nothing is shown meanwhile.
///
/// # Errors
/// The folder cannot be made; then the nodes are free again at once.
pub fn record(test: Claimed, place: &Place) -> Outcome<Recorded> {
    record_shown(test, place, &Board::default(), |run, _| run)
}

/// The same with a display. What it finds is on the board, too. The flag that `start` gets turns true when the run is
/// asked to stop.
///
/// # Errors
/// As [`record`].
pub fn record_shown<D: Display>(
    mut test: Claimed,
    place: &Place,
    board: &Board,
    start: impl FnOnce(OneRun, Arc<AtomicBool>) -> D,
) -> Outcome<Recorded> {
    let (folder, mut journal) = match begin(&mut test, place) {
        Ok(parts) => parts,
        Err(error) => {
            // Otherwise the nodes would be busy until their leases lapse.
            test.release();
            return Err(error).or_exit(Exit::Usage);
        }
    };
    let display = start(OneRun::new(test.watch(), board.clone()), test.stop());
    let run = || {
        let measured = test.measure(&mut journal);
        let one_run = display.end();
        (measured.finish(), one_run)
    };
    let (mut finished, one_run) = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(ended) => ended,
        Err(panic) => {
            // The folder goes on saying that the run has not ended. What was measured can be recovered.
            let Ended { log, samples, stages } = journal.finish();
            let _ = log.staged.map(|log| folder.keep(log));
            samples.keep();
            let _ = stages.map(StagePart::keep);
            resume_unwind(panic);
        }
    };
    let Ended { log, samples, stages } = journal.finish();
    if let Some(missed @ 1..) = stages.as_ref().and_then(|stages| stages.missed().ok()) {
        let reason =
            format!("not everything was written: {}: the disk was too slow for {missed} samples", stages::FILE);
        finished.outcome.verdict.add("not_written", reason);
    }
    let mut files =
        Files { finished: &mut finished, folder: folder.path(), stages: stages.as_ref(), without_page: false };
    let outcome = write_order::keep(&mut files, log, &folder, &folder::fallbacks());
    drop(samples);
    // The nodes have told their counters and the verdict is known.
    if let Some(run) = one_run {
        run.judged(finished.outcome.verdict.is_valid());
    }
    Ok(Recorded { finished, folder, written: outcome })
}

/// Makes the folder. Until the run has ended, and for ever if this program is killed, it says that it has not.
fn begin(test: &mut Claimed, place: &Place) -> Result<(RunFolder, Journal), FolderError> {
    let folder = RunFolder::create(place)?;
    let unfinished = ResultSummary::unfinished(test.setup());
    let first = folder.stage(result_summary::FILE, |out| documents::write(out, &unfinished));
    if let Err(error) = first.and_then(|first| folder.claim(first)) {
        folder.discard();
        return Err(error);
    }
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

fn first_files(test: &mut Claimed, folder: &RunFolder) -> Result<Journal, FolderError> {
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
    let kind = if is_search { Kind::Search(find_peak::unfinished_record(plan)) } else { Kind::Test(about()) };
    let (names, rows) = (test.node_names(), test.stage_rows());
    let stages = rows.map(|rows| StageKeeper::start(folder, names, rows)).transpose()?;
    Ok(Journal::create(folder, kind)?.with_stages(stages))
}

/// Returns true when arrivals follow a trace, whose due times the folder keeps.
fn has_due_times(plan: &Plan) -> bool {
    matches!(plan.effective().arrivals, Arrivals::Listed(_))
}

/// The due times of the performance phase, in our own form of a trace. Its samples stand beside them where the trace
/// said them.
fn write_due_times(plan: &Plan, out: &mut dyn Write) -> io::Result<()> {
    let has_samples = matches!(&plan.effective().arrivals, Arrivals::Listed(listed) if listed.samples.is_some());
    writeln!(out, "{}", if has_samples { "due_ns,sample" } else { "due_ns" })?;
    let Some(phase) = plan.phases().iter().find(|phase| !phase.is_accuracy()) else { return Ok(()) };
    let mut samples = Indices::new(phase, phase.generated.queries);
    for query in Trace::new(phase) {
        match samples.next().filter(|_| has_samples) {
            Some(sample) => writeln!(out, "{},{}", query.due_ns, sample.0)?,
            None => writeln!(out, "{}", query.due_ns)?,
        }
    }
    Ok(())
}

/// The files of a test that is over.
struct Files<'a> {
    finished: &'a mut Finished,
    folder: &'a Path,
    stages: Option<&'a StagePart>,
    /// The folder does not take the page.
    without_page: bool,
}

impl Contents for Files<'_> {
    fn facts(&self) -> Vec<&'static str> {
        let mut names = vec![network_report::FILE, system_desc::FILE, diagram::FILE];
        names.extend(self.finished.setup.trace_log.then_some(logs::TRACE));
        let has_timeline = self.finished.outcome.performance().is_some();
        names.extend(self.stages.filter(|_| has_timeline).map(|_| stages::FILE));
        names.extend(self.finished.setup.aggregation.as_ref().map(|_| logs::AGGREGATION));
        names.extend(self.finished.outcome.find_peak.as_ref().map(|_| find_peak::FILE));
        names.extend(has_due_times(&self.finished.setup.plan).then_some(arrivals::DUE_TIMES));
        names
    }

    fn verdict_files(&self) -> Vec<&'static str> {
        let timeline = self.finished.outcome.performance().map(|_| logs::TIMELINE);
        let page = self.finished.setup.report.then_some(report::FILE);
        // The page first: it takes the most memory. Where that is not there, no file has been begun that says VALID.
        page.into_iter().chain(timeline).chain([logs::DETAIL, logs::SUMMARY, screen::FILE]).collect()
    }

    fn write(&self, name: &str, out: &mut dyn Write) -> io::Result<()> {
        let finished = &*self.finished;
        match name {
            network_report::FILE => documents::write(out, &NetworkReport::from(finished)),
            system_desc::FILE => documents::write(out, &SystemDesc::from(finished)),
            diagram::FILE => out.write_all(diagram::svg(&SystemDesc::from(finished)).as_bytes()),
            find_peak::FILE => find_peak::write(out, &finished.setup.plan, &finished.outcome),
            screen::FILE => out.write_all(self.screen().as_bytes()),
            report::FILE => out.write_all(report::caught(|| Source::of(finished))?.as_bytes()),
            stages::FILE => self.write_stages(out),
            arrivals::DUE_TIMES => write_due_times(&finished.setup.plan, out),
            name => Logs::new(finished).write(name, out),
        }
    }

    fn write_result(&self, files: &[FileEntry], out: &mut dyn Write) -> io::Result<()> {
        documents::write(out, &ResultSummary::from(&*self.finished).with_files(files))
    }

    fn not_written(&mut self, name: &str, failure: &FolderError) {
        self.without_page |= name == report::FILE;
        let why = match failure {
            FolderError::Write { source, .. } => source.to_string(),
            other => other.to_string(),
        };
        self.finished.outcome.verdict.add("not_written", format!("not everything was written: {name}: {why}"));
    }
}

impl Files<'_> {
    /// Returns the text for the screen, as far as it is known before all files are written.
    fn screen(&self) -> String {
        let page = self.folder.join(report::FILE);
        let page = Some(page.as_path()).filter(|_| !self.without_page);
        screen::text(&*self.finished, self.folder, page, std::iter::empty())
    }

    /// A row for each sample of the timeline.
    fn write_stages(&self, out: &mut dyn Write) -> io::Result<()> {
        let timeline = self.finished.outcome.performance().and_then(|phase| phase.timeline.as_ref());
        let (Some(part), Some(timeline)) = (self.stages, timeline) else { return Ok(()) };
        stages::stored::write(part.path(), timeline.len() as u64, part.missed()?, out)
    }
}
