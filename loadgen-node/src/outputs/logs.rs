//! The official log files of a run, from what the engine left behind.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::outputs::folder::{FolderError, RunFolder, Spool};
use crate::test_run::finished::{Finished, Setup};
use loadgen::recorder::About;
use loadgen::report::detail::DetailContext;
use loadgen::report::{self, Trailer, accuracy, detail, trace_log};
use loadgen::run::{AccuracyEntry, Observer};
use loadgen::world::TimeNs;

/// Bytes of text that are gathered before they are written to the file.
const GATHER_BYTES: usize = 256 << 10;

/// Writes `mlperf_log_accuracy.json` while the run goes on.
pub(crate) struct AccuracyLog {
    spool: Spool,
    text: String,
    empty: bool,
    failed: Option<FolderError>,
}

impl AccuracyLog {
    /// A log without entries. The file gets its name when the log is finished.
    pub(crate) fn create(folder: &RunFolder) -> Result<AccuracyLog, FolderError> {
        let spool = folder.spool("mlperf_log_accuracy.json")?;
        Ok(AccuracyLog { spool, text: accuracy::OPEN.to_owned(), empty: true, failed: None })
    }

    /// Gives the file its name.
    pub(crate) fn finish(mut self) -> Result<(), FolderError> {
        self.text.push_str(accuracy::CLOSE);
        self.drain();
        self.failed.map_or_else(|| self.spool.finish(), Err)
    }

    /// Writes the gathered text. The first failure is kept and reported at the end, so that the run goes on.
    fn drain(&mut self) {
        if self.failed.is_none() {
            self.failed = self.spool.write(self.text.as_bytes()).err();
        }
        self.text.clear();
    }
}

impl Observer for AccuracyLog {
    fn accuracy(&mut self, entry: &AccuracyEntry<'_>) {
        accuracy::push_entry(&mut self.text, std::mem::take(&mut self.empty), entry);
        if self.text.len() >= GATHER_BYTES {
            self.drain();
        }
    }
}

/// The files that are written when all is over.
pub(crate) struct Logs<'a> {
    finished: &'a Finished,
}

impl<'a> Logs<'a> {
    pub(crate) fn new(finished: &'a Finished) -> Logs<'a> {
        Logs { finished }
    }

    /// Writes summary, detail, on request the trace, and the timeline of the judged phase.
    pub(crate) fn write(&self, folder: &RunFolder) -> Result<(), FolderError> {
        folder.write("mlperf_log_summary.txt", self.summary().as_bytes())?;
        folder.write("mlperf_log_detail.txt", self.detail().as_bytes())?;
        if self.finished.setup.trace_log {
            let Finished { setup: Setup { plan, .. }, outcome, .. } = self.finished;
            folder.stream("mlperf_log_trace.json", |out| trace_log::write(plan, outcome, &self.context(), out))?;
        }
        self.timeline(folder)
    }

    fn trailer(&self) -> Trailer {
        let Finished { setup: Setup { plan, .. }, outcome, .. } = self.finished;
        let errors = outcome.events.errors() + plan.faults().len() as u64;
        Trailer { warnings: outcome.events.warnings(), errors }
    }

    fn timeline(&self, folder: &RunFolder) -> Result<(), FolderError> {
        let Finished { setup: Setup { plan, .. }, outcome, nodes, .. } = self.finished;
        let Some(timeline) = outcome.performance().and_then(|phase| phase.timeline.as_ref()) else { return Ok(()) };
        let Trailer { warnings, errors } = self.trailer();
        let judged = outcome.judged_plan(plan);
        let (settings, qsl, sut_name) = (judged.requested().clone(), judged.qsl(), nodes.last_name.text.clone());
        folder
            .stream("timeline.bin", |out| timeline.write_to(&About { settings, qsl, sut_name, warnings, errors }, out))
    }

    fn summary(&self) -> String {
        let Finished { setup: Setup { plan, .. }, outcome, nodes, .. } = self.finished;
        let trailer = self.trailer();
        match &outcome.summary {
            Some(summary) => report::summary_text(outcome.judged_plan(plan), summary, &nodes.last_name.text, trailer),
            None => report::accuracy_only_text(trailer),
        }
    }

    fn detail(&self) -> String {
        let Finished { setup: Setup { plan, .. }, outcome, .. } = self.finished;
        detail::render(plan, outcome, &self.context())
    }

    fn context(&self) -> DetailContext<'_> {
        let Finished { setup, nodes, started, .. } = self.finished;
        let asked = nodes.first_name.trips.iter().map(|trip| trip.rtt).max().unwrap_or_default();
        DetailContext {
            version: env!("CARGO_PKG_VERSION"),
            sut_name: &nodes.first_name.text,
            sut_name_duration_ns: asked.as_nanos() as u64,
            qsl_name: &setup.dataset_name,
            // The world's clock starts with the run.
            start: TimeNs::default(),
            start_unix_ns: unix_ns(*started),
            pid: std::process::id(),
            // The engine has one thread, and it is the process's first.
            tid: u64::from(std::process::id()),
        }
    }
}

fn unix_ns(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}
