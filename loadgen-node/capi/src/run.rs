//! A run that another engine leads, with its dataset, and what happens when it becomes unusable.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use lon_run::{Exit, ExternalTest, Finished, Taker, Test, TestSpec, json_options, qdl_files};
use qdl::{Sample, SampleId, SutName};

use crate::callbacks::Caller;
use crate::description::{Description, NodeDescription};
use crate::samples::{self, Samples};
use crate::status::{Code, Error};

/// Interval at which lost samples are completed, once the run is unusable.
const STEP: Duration = Duration::from_secs(1);

/// Nodes that are claimed, and samples for them.
pub(crate) struct Run {
    external: ExternalTest,
    samples: Arc<Samples>,
    caller: Arc<Caller>,
    /// The folder that was named when the run was opened; absolute.
    out: Option<PathBuf>,
    /// Result of the run, once it is over. The thread that ends the run holds the lock.
    ended: Mutex<Option<Ended>>,
    is_closed: AtomicBool,
    watcher: Mutex<Option<JoinHandle<()>>>,
}

/// A run that is over.
struct Ended {
    finished: Finished,
    /// Everything is written into the folder that was named first.
    is_written: bool,
}

impl Run {
    /// Opens what the options name, and claims the nodes.
    pub(crate) fn open(options: &str, caller: Caller) -> Result<Arc<Run>, Error> {
        let (spec, out) = json_options::test_of(options)?;
        let usage = |error: &dyn std::error::Error| Error::new(Code::Usage, error.to_string());
        let out = out.map(std::path::absolute).transpose().map_err(|error| usage(&error))?;
        let is_made = out.as_deref().map(qdl_files::prepare).transpose().map_err(|error| usage(&error))?;
        let opened = Run::open_checked(spec, caller, out.clone());
        if opened.is_err()
            && is_made == Some(true)
            && let Some(out) = &out
        {
            // An empty folder does no harm when it cannot be removed.
            let _ = std::fs::remove_dir(out);
        }
        opened
    }

    fn open_checked(spec: TestSpec, caller: Caller, out: Option<PathBuf>) -> Result<Arc<Run>, Error> {
        let benchmark = spec.benchmark.name;
        let test = Test::new(spec)?;
        test.verify(&|_, _| {})?;
        let caller = Arc::new(caller);
        let (external, dataset) = test.connect()?.guide(Arc::clone(&caller) as Arc<dyn Taker>)?;
        let samples = Arc::new(Samples::new(dataset, benchmark));
        let (ended, is_closed, watcher) = (Mutex::default(), AtomicBool::new(false), Mutex::default());
        let run = Arc::new(Run { external, samples, caller, out, ended, is_closed, watcher });
        let watched = Arc::downgrade(&run);
        let watch = std::thread::Builder::new().name("lost".to_owned()).spawn(move || watch(&watched));
        let watch = watch.map_err(|error| Error::new(Code::Bug, format!("no thread can be started: {error}")))?;
        run.watcher().replace(watch);
        Ok(run)
    }

    pub(crate) fn samples(&self) -> &Arc<Samples> {
        &self.samples
    }

    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The SUT's name, from round trips made by this very call.
    pub(crate) fn name(&self) -> Result<String, Error> {
        match self.external.name() {
            Some(SutName { doubt: Some(doubt), .. }) => Err(Error::new(Code::Network, doubt)),
            Some(name) => Ok(name.text),
            None => Err(self.is_over()),
        }
    }

    /// Returns the description of the samples and of the nodes.
    pub(crate) fn description(&self) -> Description {
        Description {
            title: Some(self.external.title().to_owned()),
            nodes: self.external.nodes().iter().map(NodeDescription::from).collect(),
            ..self.samples.description()
        }
    }

    /// Sends samples of the dataset: pairs of the caller's id and the index.
    pub(crate) fn issue_loaded(&self, pairs: impl Iterator<Item = (u64, usize)> + Clone) -> Result<(), Error> {
        let dataset = self.samples.read();
        for (_, index) in pairs.clone() {
            samples::payload(&dataset, index)?;
        }
        let issued = self.external.issue(pairs.map(|(id, index)| Sample {
            id: SampleId(id),
            payload: dataset.payload(index),
            tensor_bytes: dataset.tensor_bytes(index),
        }));
        if issued { Ok(()) } else { Err(closed()) }
    }

    /// Sends one sample of the dataset, unless that means waiting.
    pub(crate) fn try_issue_loaded(&self, id: u64, index: usize) -> Result<(), Error> {
        let dataset = self.samples.try_read().ok_or_else(busy)?;
        samples::payload(&dataset, index)?;
        let sample =
            Sample { id: SampleId(id), payload: dataset.payload(index), tensor_bytes: dataset.tensor_bytes(index) };
        if self.external.try_issue(sample) { Ok(()) } else { Err(busy()) }
    }

    /// Sends samples of the caller's own.
    pub(crate) fn issue(&self, pairs: impl Iterator<Item = (u64, Bytes)>) -> Result<(), Error> {
        let issued = self.external.issue(pairs.map(|(id, payload)| {
            let tensor_bytes = payload.len() as u64;
            Sample { id: SampleId(id), payload, tensor_bytes }
        }));
        if issued { Ok(()) } else { Err(closed()) }
    }

    pub(crate) fn flush(&self) {
        self.external.flush();
    }

    /// Why the run is unusable, or that it was closed.
    pub(crate) fn is_over(&self) -> Error {
        let verdict = self.ended().as_ref().and_then(|ended| verdict(&ended.finished).err());
        match verdict.map(|error| error.to_string()).or_else(|| self.external.broken()) {
            Some(why) => Error::new(Code::Network, why),
            None => closed(),
        }
    }

    /// Ends the run and writes what is known into `folder`, or else into the folder that was named at first.
    pub(crate) fn close(&self, folder: Option<&Path>) -> Result<(), Error> {
        self.is_closed.store(true, SeqCst);
        let outcome = self.end_and_write(folder);
        self.caller.queue.end();
        let watcher = self.watcher().take();
        if let Some(watcher) = watcher {
            // No callback begins after this.
            watcher.thread().unpark();
            let _ = watcher.join();
        }
        outcome
    }

    fn end_and_write(&self, folder: Option<&Path>) -> Result<(), Error> {
        let mut ended = self.ended();
        let Some(Ended { finished, is_written }) = self.end(&mut ended) else {
            return Err(Error::new(Code::Bug, "the run was ended twice"));
        };
        let write_outcome = match folder.or(self.out.as_deref()) {
            Some(folder) if folder.as_os_str().is_empty() => {
                Err(Error::new(Code::Argument, "'folder' is empty: nothing was written"))
            }
            // The results of a run that became unusable were written at once.
            Some(folder) if *is_written && self.out.as_deref().is_some_and(|out| is_same(folder, out)) => Ok(()),
            Some(folder) => write(finished, folder),
            None => Ok(()),
        };
        let verdict = verdict(finished);
        if verdict.is_err() || write_outcome.is_err() {
            [folder, self.out.as_deref()].into_iter().flatten().for_each(qdl_files::take_away);
        }
        match (verdict, write_outcome) {
            (Err(verdict), Err(write_outcome)) => Err(Error::new(verdict.code, format!("{verdict}; {write_outcome}"))),
            (verdict, write_outcome) => verdict.and(write_outcome),
        }
    }

    /// Ends the run that became unusable, and says why.
    fn give_up(&self) -> String {
        let mut ended = self.ended();
        let Some(Ended { finished, is_written }) = self.end(&mut ended) else { return String::new() };
        let reasons = reasons(finished);
        let Some(out) = &self.out else { return reasons };
        // All official logs are taken away, whatever they say by now: their engine may still have something to write.
        qdl_files::take_all_away(out);
        match write(finished, out) {
            Ok(()) => *is_written = true,
            Err(error) => return format!("{reasons}; {error}"),
        }
        reasons
    }

    /// Ends the run, if it is not over, and returns its result.
    fn end<'a>(&self, ended: &'a mut Option<Ended>) -> Option<&'a mut Ended> {
        if ended.is_none() {
            *ended = self.external.finish().map(|finished| Ended { finished, is_written: false });
        }
        ended.as_mut()
    }

    fn ended(&self) -> MutexGuard<'_, Option<Ended>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watcher(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.watcher.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits until the run becomes unusable, and does then what is left to do. Ends with the run.
fn watch(watched: &Weak<Run>) {
    let open = || watched.upgrade().filter(|run| !run.is_closed.load(SeqCst));
    loop {
        let Some(run) = open() else { return };
        if run.external.wait_broken(STEP) {
            break;
        }
    }
    let Some(run) = open() else { return };
    let reason = run.give_up();
    if run.is_closed.load(SeqCst) {
        return;
    }
    if run.caller.is_fetched() {
        run.caller.queue.interrupt();
    } else if !run.caller.tell_lost(&reason) {
        // There is nobody else to tell.
        let _ = writeln!(std::io::stderr(), "lon_qdl: {reason}");
        signal_hook::low_level::exit(Exit::Network as i32);
    }
    drop(run);
    // A sample is completed a step after it was lost, or later, so that it does not look like a fast answer.
    let mut due = Vec::new();
    let mut next = Instant::now() + STEP;
    while let Some(run) = open() {
        let lost = std::mem::replace(&mut due, run.external.take_lost());
        run.caller.complete_empty(lost.into_iter().map(|id| id.0));
        drop(run);
        std::thread::park_timeout(next.saturating_duration_since(Instant::now()));
        next += STEP;
    }
}

fn busy() -> Error {
    Error::new(Code::Busy, "the sample cannot be sent without waiting")
}

fn closed() -> Error {
    Error::new(Code::Handle, "the run was closed")
}

/// Returns true when both paths lead to one folder.
fn is_same(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// Writes what is known of the run.
fn write(finished: &Finished, folder: &Path) -> Result<(), Error> {
    qdl_files::write(finished, folder).map_err(|error| {
        let code = match error {
            qdl_files::QdlFilesError::Taken(_) => Code::Usage,
            qdl_files::QdlFilesError::Folder(_) => Code::Bug,
        };
        Error::new(code, error.to_string())
    })
}

/// Checks that the run can be used.
fn verdict(finished: &Finished) -> Result<(), Error> {
    let code = match finished.exit() {
        Exit::Ok => return Ok(()),
        Exit::Invalid | Exit::Usage => Code::Unusable,
        Exit::Network => Code::Network,
        Exit::Bug | Exit::Interrupted => Code::Bug,
    };
    Err(Error::new(code, reasons(finished)))
}

fn reasons(finished: &Finished) -> String {
    let reasons: Vec<&str> = finished.outcome.verdict.reasons().iter().map(|reason| reason.text.as_str()).collect();
    format!("the run cannot be used: {}", reasons.join("; "))
}
