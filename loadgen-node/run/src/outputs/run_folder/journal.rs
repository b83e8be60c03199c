//! Record of a run on the disk while the run goes on: how its samples ended and what was answered, as of a second ago
//! at most. A thread of its own writes the record, so that no query waits for a disk.
//!
//! The command `recover` reads it, when the program was killed. A search for the peak leaves its answers and the trials
//! that have ended, with which the next search goes on: its result is in no single phase.

use std::fs::File;
use std::io::{self, Seek as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use loadgen::plan::PhasePlan;
use loadgen::recorder::{self, About, Live};
use loadgen::run::{AccuracyEntry, Observer, SearchRecord, Trial, TrialStart};
use loadgen::world::TimeNs;
use lon_net::slice;
use tempfile::TempPath;

use super::folder::{FolderError, RunFolder};
use super::write_order::LogFile;
use crate::outputs::documents::find_peak;
use crate::outputs::logs::{self, AccuracyLog};
use crate::outputs::timeline::stages::writer::{StageKeeper, StagePart};

/// Interval at which the files are brought up to date.
const LOOK: Duration = Duration::from_millis(500);

/// The files of a run that goes on.
pub(crate) struct Journal {
    log: AccuracyLog,
    /// The samples' file. It goes away with this.
    samples: Samples,
    phases: Option<Sender<Phase>>,
    thread: Option<JoinHandle<()>>,
    /// True when gathered answers are to be written.
    is_due: Arc<AtomicBool>,
    /// A search for the peak, as far as it is, and the folder that has its record.
    search: Option<(SearchRecord, RunFolder)>,
    /// Node and stages of each sample, where they are kept.
    stages: Option<StageKeeper>,
}

/// Files of a run that is over.
pub(crate) struct Ended {
    /// The log of the answers, brought to the disk.
    pub(crate) log: LogFile,
    /// The samples' file, which is written no more.
    pub(crate) samples: Samples,
    /// Node and stages of each sample, where they were kept.
    pub(crate) stages: Option<StagePart>,
}

/// Kind of a run.
pub(crate) enum Kind {
    /// A test of one rate: what its timeline says of it.
    Test(About),
    /// A search for the peak: its record, without trials.
    Search(SearchRecord),
}

/// The samples' file, which shows by its lock that the run goes on, until its folder is whole.
pub(crate) struct Samples {
    path: TempPath,
    _lock: File,
}

impl Samples {
    /// Leaves the file, so that the run can be recovered.
    pub(crate) fn keep(self) {
        // Where that is impossible, the file is there all the same.
        let _ = self.path.keep();
    }
}

/// A phase that has begun.
struct Phase {
    live: Live,
    samples_per_query: u64,
    since: Instant,
}

impl Journal {
    /// Makes the files of a run of this kind.
    ///
    /// # Errors
    /// The folder does not take them.
    pub(crate) fn create(folder: &RunFolder, kind: Kind) -> Result<Journal, FolderError> {
        let log = AccuracyLog::create(folder)?;
        let failed = |source| FolderError::Write { path: folder.path().join(logs::TIMELINE), source };
        let (file, path) = folder.part(logs::TIMELINE)?.into_parts();
        // The lock shows a program that recovers runs that this run goes on. Not every file system has locks.
        if let Err(error) = file.lock() {
            tracing::debug!(%error, "the run folder cannot show that its run goes on");
        }
        // The lock is that of both until the last of them is closed.
        let samples = Samples { path, _lock: file.try_clone().map_err(failed)? };
        let (phases, receiver) = mpsc::channel();
        let is_due = Arc::new(AtomicBool::new(false));
        let (about, search) = match kind {
            Kind::Test(about) => (Some(about), None),
            Kind::Search(record) => (None, Some((record, RunFolder::of_earlier_run(folder.path())))),
        };
        let keeper = Keeper { file, about, answers: log.shared_file(), is_due: Arc::clone(&is_due), phase: None };
        let thread = std::thread::Builder::new().name("journal".to_owned()).spawn(move || keeper.run(&receiver));
        let no_thread = |source| FolderError::Thread { path: folder.path().join(logs::TIMELINE), source };
        let thread = Some(thread.map_err(no_thread)?);
        Ok(Journal { log, samples, phases: Some(phases), thread, is_due, search, stages: None })
    }

    /// Keeps node and stages of each sample, too.
    pub(crate) fn with_stages(self, stages: Option<StageKeeper>) -> Journal {
        Journal { stages, ..self }
    }

    /// Ends the files.
    pub(crate) fn finish(mut self) -> Ended {
        self.phases = None;
        if let Some(thread) = self.thread.take() {
            // It has said what went wrong.
            let _ = thread.join();
        }
        let stages = self.stages.map(StageKeeper::finish);
        Ended { log: self.log.finish(), samples: self.samples, stages }
    }
}

impl Observer for Journal {
    fn accuracy(&mut self, entry: &AccuracyEntry<'_>) {
        self.log.accuracy(entry);
    }

    fn phase_started(&mut self, phase: &PhasePlan, _start: TimeNs, live: &Live) {
        let samples_per_query = phase.generated.samples_per_query;
        if let Some(stages) = &self.stages {
            stages.phase((!phase.is_accuracy()).then_some(phase.first_sample));
        }
        if let Some(phases) = self.phases.as_ref().filter(|_| !phase.is_accuracy()) {
            // A thread that has given up takes nothing.
            let _ = phases.send(Phase { live: live.clone(), samples_per_query, since: Instant::now() });
        }
    }

    fn trial_started(&mut self, trial: TrialStart) {
        if let Some((record, _)) = &mut self.search {
            record.bracket = trial.bracket;
        }
    }

    fn trial_ended(&mut self, trial: &Trial) {
        let Some((record, folder)) = &mut self.search else { return };
        record.bracket = record.bracket.after(trial.load, trial.passed);
        record.trials.push(trial.clone());
        // Between two trials no clock runs.
        let record_file = folder.stage(find_peak::FILE, |out| find_peak::write_record(out, record));
        if let Err(error) = record_file.and_then(|staged| folder.keep(staged)) {
            tracing::warn!(%error, "if this program is killed now, this trial has to be run again");
        }
    }

    #[inline]
    fn progress(&mut self, _progress: loadgen::run::Progress) {
        if self.is_due.load(Relaxed) {
            self.is_due.store(false, Relaxed);
            self.log.drain();
        }
    }
}

/// The thread that writes.
struct Keeper {
    file: File,
    about: Option<About>,
    answers: Option<File>,
    is_due: Arc<AtomicBool>,
    phase: Option<(recorder::Journal, Instant)>,
}

impl Keeper {
    fn run(mut self, phases: &Receiver<Phase>) {
        // At a million samples a second it writes megabytes at a time, and queries go first. Where the system does not
        // grant that, they wait a little.
        let _ = slice::yield_to_others();
        loop {
            let outcome = match phases.recv_timeout(LOOK) {
                Ok(phase) => self.begin(phase),
                Err(RecvTimeoutError::Timeout) => self.look(),
                Err(RecvTimeoutError::Disconnected) => return,
            };
            if let Err(error) = outcome {
                tracing::warn!(%error, "if this program is killed now, its run cannot be recovered");
                return;
            }
        }
    }

    fn begin(&mut self, phase: Phase) -> io::Result<()> {
        let Some(about) = &self.about else { return Ok(()) };
        self.file.set_len(0)?;
        self.file.rewind()?;
        let journal = recorder::Journal::begin(about, phase.samples_per_query, phase.live, &mut self.file)?;
        self.phase = Some((journal, phase.since));
        self.file.sync_data()
    }

    fn look(&mut self) -> io::Result<()> {
        self.is_due.store(true, Relaxed);
        if let Some((journal, since)) = &mut self.phase {
            let elapsed_ns = u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX);
            journal.look(elapsed_ns, &mut self.file)?;
            self.file.sync_data()?;
        }
        // Answers that were written after the last look must reach the disk, too.
        self.answers.as_ref().map_or(Ok(()), File::sync_data)
    }
}
