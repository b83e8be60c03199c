//! A run that another engine leads, with its dataset, and what happens when it becomes unusable.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use loadgen_node::{Exit, Finished, Guided, Taker, Test, beside, object};
use qdl::{Sample, SampleId};

use crate::callbacks::Caller;
use crate::description::{Description, NodeDescription};
use crate::samples::{self, Samples};
use crate::status::{Code, Error};

/// How often lost samples are completed, once the run is unusable: none of them looks like a fast answer then.
const STEP: Duration = Duration::from_secs(1);

/// Nodes that are claimed, and samples for them.
pub(crate) struct Run {
    guided: Guided,
    samples: Arc<Samples>,
    caller: Arc<Caller>,
    /// The folder that was named when the run was opened.
    out: Option<PathBuf>,
    /// What is known of the run, once it is over.
    finished: Mutex<Option<Finished>>,
    is_closed: AtomicBool,
}

impl Run {
    /// Opens what the options name, and claims the nodes.
    pub(crate) fn open(options: &str, caller: Caller) -> Result<Arc<Run>, Error> {
        let (spec, out) = object::test_of(options)?;
        if let Some(out) = &out {
            beside::check(out).map_err(|error| Error::new(Code::Usage, error.to_string()))?;
        }
        let benchmark = spec.benchmark.name;
        let test = Test::new(spec)?;
        test.verify(&|_, _| {})?;
        let caller = Arc::new(caller);
        let (guided, dataset) = test.connect()?.guide(Arc::clone(&caller) as Arc<dyn Taker>)?;
        let samples = Arc::new(Samples::new(dataset, benchmark));
        let (finished, is_closed) = (Mutex::default(), AtomicBool::new(false));
        let run = Arc::new(Run { guided, samples, caller, out, finished, is_closed });
        let watched = Arc::downgrade(&run);
        let watch = std::thread::Builder::new().name("lost".to_owned()).spawn(move || watch(&watched));
        watch.map_err(|error| Error::new(Code::Bug, format!("no thread can be started: {error}")))?;
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
        match self.guided.name() {
            Some(name) if name.is_complete() => Ok(name.text),
            Some(name) => Err(Error::new(Code::Network, name.text)),
            None => Err(self.is_over()),
        }
    }

    /// What is known of the samples and of the nodes.
    pub(crate) fn description(&self) -> Description {
        Description {
            title: Some(self.guided.title().to_owned()),
            nodes: self.guided.nodes().iter().map(NodeDescription::from).collect(),
            ..self.samples.description()
        }
    }

    /// Sends samples of the dataset: pairs of the caller's id and the index.
    pub(crate) fn issue_loaded(&self, wanted: impl Iterator<Item = (u64, usize)> + Clone) -> Result<(), Error> {
        let dataset = self.samples.read();
        for (_, index) in wanted.clone() {
            samples::payload(&dataset, index)?;
        }
        self.guided.issue(wanted.map(|(id, index)| Sample {
            id: SampleId(id),
            payload: dataset.payload(index),
            tensor_bytes: dataset.tensor_bytes(index),
        }));
        Ok(())
    }

    /// Sends samples of the caller's own.
    pub(crate) fn issue(&self, wanted: impl Iterator<Item = (u64, Bytes)>) {
        self.guided.issue(wanted.map(|(id, payload)| {
            let tensor_bytes = payload.len() as u64;
            Sample { id: SampleId(id), payload, tensor_bytes }
        }));
    }

    pub(crate) fn flush(&self) {
        self.guided.flush();
    }

    /// Why the run is unusable, or that it is over.
    pub(crate) fn is_over(&self) -> Error {
        let why = self.finished().as_ref().map(reasons).or_else(|| self.guided.broken());
        Error::new(Code::Network, why.unwrap_or_else(|| "the run is over".to_owned()))
    }

    /// Ends the run and writes what is known into `folder`, or else into the folder that was named at first.
    pub(crate) fn close(&self, folder: Option<&Path>) -> Result<(), Error> {
        self.is_closed.store(true, SeqCst);
        let mut finished = self.finished();
        let was_over = finished.is_some();
        if !was_over {
            *finished = self.guided.finish();
        }
        self.caller.queue.end();
        let Some(finished) = &*finished else { return Err(Error::new(Code::Bug, "the run was ended twice")) };
        let folder = folder.or(self.out.as_deref());
        // What became unusable was written at once.
        let is_written = was_over && folder == self.out.as_deref();
        match folder {
            Some(folder) if is_written => {
                beside::take_away(folder).map_err(|error| Error::new(Code::Bug, error.to_string()))?;
            }
            Some(folder) => write(finished, folder)?,
            None => {}
        }
        verdict(finished)
    }

    /// Ends the run that became unusable, and says why.
    fn give_up(&self) -> String {
        let mut finished = self.finished();
        if finished.is_none() {
            *finished = self.guided.finish();
        }
        let Some(finished) = &*finished else { return String::new() };
        let reasons = reasons(finished);
        match self.out.as_deref().map(|out| write(finished, out)) {
            Some(Err(error)) => format!("{reasons}; {error}"),
            Some(Ok(())) | None => reasons,
        }
    }

    fn finished(&self) -> MutexGuard<'_, Option<Finished>> {
        self.finished.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits until the run becomes unusable, and does then what is left to do. Ends with the run.
fn watch(watched: &Weak<Run>) {
    loop {
        let Some(run) = watched.upgrade().filter(|run| !run.is_closed.load(SeqCst)) else { return };
        if run.guided.wait_broken(STEP) {
            break;
        }
    }
    let Some(run) = watched.upgrade().filter(|run| !run.is_closed.load(SeqCst)) else { return };
    let reason = run.give_up();
    if run.caller.is_fetched() {
        run.caller.queue.interrupt();
    } else if !run.caller.tell_lost(&reason) {
        // There is nobody else to tell.
        let _ = writeln!(std::io::stderr(), "lon_qdl: {reason}");
        signal_hook::low_level::exit(Exit::Network as i32);
    }
    drop(run);
    let mut next = Instant::now() + STEP;
    while let Some(run) = watched.upgrade().filter(|run| !run.is_closed.load(SeqCst)) {
        run.caller.complete_empty(run.guided.take_lost().into_iter().map(|id| id.0));
        drop(run);
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        next += STEP;
    }
}

/// Writes what is known of the run. Where that fails, no official log in the folder says VALID.
fn write(finished: &Finished, folder: &Path) -> Result<(), Error> {
    beside::write(finished, folder).map_err(|error| {
        let code = match error {
            beside::BesideError::Taken(_) => Code::Usage,
            beside::BesideError::Folder(_) => Code::Bug,
        };
        let taken = beside::take_away(folder).err().map(|error| format!("; {error}")).unwrap_or_default();
        Error::new(code, format!("{error}{taken}"))
    })
}

/// Whether the run can be used.
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
