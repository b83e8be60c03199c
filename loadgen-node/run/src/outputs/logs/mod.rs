//! The official log files of a run, from what the engine left behind.
//!
//! - `accuracy_log`: the accuracy log of a run folder, read, whole or from its backup;
//! - `own_result`: the result of a run folder, held against the logs beside it;
//! - `official_logs`: the files of an official LoadGen, read;
//! - `audit_folder`: folders that are audited, and what submissions have of an audit.

use std::fs::File;
use std::io::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use super::run_folder::folder::{self, FolderError, RunFolder, Spool};
use super::run_folder::write_order::LogFile;
use crate::test_run::finished::{Finished, Setup};
use loadgen::official::MARK;
use loadgen::recorder::About;
use loadgen::report::detail::DetailContext;
use loadgen::report::{self, Trailer, accuracy, detail, trace_log};
use loadgen::run::AccuracyEntry;
use loadgen::v05;
use loadgen::world::TimeNs;
use lon_proto::text::on_one_line;

pub mod accuracy_log;
pub mod audit_folder;
pub mod official_logs;
pub mod own_result;

/// Bytes of text that are gathered before they are written to the file.
const GATHER_BYTES: usize = 256 << 10;

/// Name of the summary in the run folder.
pub(crate) const SUMMARY: &str = "mlperf_log_summary.txt";
/// Name of the detail log in the run folder.
pub(crate) const DETAIL: &str = "mlperf_log_detail.txt";
/// Name of the accuracy log in the run folder.
pub(crate) const ACCURACY: &str = "mlperf_log_accuracy.json";
/// Name of the trace log in the run folder.
pub(crate) const TRACE: &str = "mlperf_log_trace.json";
/// Which items of the dataset each sample has, where several became one.
pub(crate) const AGGREGATION: &str = "aggregation_trace.txt";
/// Name of the stored timeline in the run folder.
pub const TIMELINE: &str = "timeline.bin";

/// Writes [`ACCURACY`] while the run goes on.
pub(crate) struct AccuracyLog {
    spool: Spool,
    text: String,
    empty: bool,
    /// Why the run folder does not have all of it.
    failed: Option<FolderError>,
    /// The other folder in which it goes on.
    elsewhere: Option<RunFolder>,
    /// No folder takes any more.
    lost: bool,
}

impl AccuracyLog {
    /// A log without entries. The file gets its name when the log is kept.
    pub(crate) fn create(folder: &RunFolder) -> Result<AccuracyLog, FolderError> {
        let spool = folder.spool(ACCURACY)?;
        let text = accuracy::OPEN.to_owned();
        Ok(AccuracyLog { spool, text, empty: true, failed: None, elsewhere: None, lost: false })
    }

    /// Ends the log, and brings it to the disk.
    pub(crate) fn finish(mut self) -> LogFile {
        self.text.push_str(accuracy::CLOSE);
        self.drain();
        let AccuracyLog { spool, mut failed, elsewhere, lost, .. } = self;
        let staged = if lost { None } else { spool.finish().map_err(|failure| failed.get_or_insert(failure)).ok() };
        LogFile { name: ACCURACY, staged, failure: failed, elsewhere }
    }

    /// Adds an answer.
    pub(crate) fn accuracy(&mut self, entry: &AccuracyEntry<'_>) {
        accuracy::push_entry(&mut self.text, std::mem::take(&mut self.empty), entry);
        if self.text.len() >= GATHER_BYTES {
            self.drain();
        }
    }

    /// The file, for another thread that brings it to the disk.
    pub(crate) fn shared_file(&self) -> Option<File> {
        self.spool.shared_file()
    }

    /// Writes the gathered text. After the first failure the log goes on in another folder, and so does the run.
    pub(crate) fn drain(&mut self) {
        if self.text.is_empty() {
            return;
        }
        let bytes = self.spool.bytes();
        if !self.lost
            && let Err(failure) = self.spool.write(self.text.as_bytes())
        {
            tracing::error!(%failure, "a log cannot be written");
            self.lost = self.failed.is_some() || !self.goes_on_elsewhere(bytes);
            self.failed.get_or_insert(failure);
        }
        self.text.clear();
    }

    /// Moves the log to another folder, with the first `bytes` bytes of the file and the gathered text. Returns true
    /// when a folder takes them.
    fn goes_on_elsewhere(&mut self, bytes: u64) -> bool {
        for above in folder::fallbacks() {
            let Ok(folder) = RunFolder::elsewhere(&above) else { continue };
            let moved = self.spool.moved_to(&folder, bytes).and_then(|mut spool| {
                spool.write(self.text.as_bytes())?;
                Ok(spool)
            });
            match moved {
                Ok(spool) => {
                    tracing::error!(file = ACCURACY, folder = %folder.path().display(), "the log goes on elsewhere");
                    (self.spool, self.elsewhere) = (spool, Some(folder));
                    return true;
                }
                Err(_) => folder.discard(),
            }
        }
        false
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

    /// Writes the content of one of the files named above, without the accuracy log.
    pub(crate) fn write(&self, name: &str, out: &mut dyn Write) -> io::Result<()> {
        match name {
            SUMMARY => out.write_all(self.summary().as_bytes()),
            DETAIL => out.write_all(self.detail().as_bytes()),
            TIMELINE => self.timeline(out),
            AGGREGATION => out.write_all(self.finished.setup.aggregation.as_deref().unwrap_or_default().as_bytes()),
            TRACE => {
                let Finished { setup: Setup { plan, .. }, outcome, .. } = self.finished;
                trace_log::write(plan, outcome, &self.context(), out)
            }
            other => Err(io::Error::other(format!("{other} is no log"))),
        }
    }

    fn trailer(&self) -> Trailer {
        let Finished { setup: Setup { plan, .. }, outcome, .. } = self.finished;
        detail::trailer(plan, outcome)
    }

    fn timeline(&self, out: &mut dyn Write) -> io::Result<()> {
        let Finished { setup: Setup { plan, .. }, outcome, nodes, .. } = self.finished;
        let Some(timeline) = outcome.performance().and_then(|phase| phase.timeline.as_ref()) else { return Ok(()) };
        let Trailer { warnings, errors } = self.trailer();
        let judged = outcome.judged_plan(plan);
        let (settings, qsl, sut_name) = (judged.requested().clone(), judged.qsl(), nodes.last_name.text.clone());
        let reasons = outcome.verdict.lasting();
        let about = About { settings, qsl, sut_name, warnings, errors, reasons };
        timeline.write_to(&about, out)
    }

    fn summary(&self) -> String {
        let Finished { setup: Setup { plan, .. }, outcome, v05, nodes, .. } = self.finished;
        let (trailer, name) = (self.trailer(), &nodes.last_name.text);
        let text = match (v05, &outcome.summary) {
            (Some(test), _) => v05::logs::summary_text(test, outcome, name),
            (None, Some(summary)) => {
                report::summary_text(outcome.judged_plan(plan), summary, &outcome.verdict, name, trailer)
            }
            (None, None) => report::accuracy_only_text(&outcome.verdict, trailer),
        };
        let marks = self.finished.judgement.marks();
        // Behind everything that the official file has, and in no form that its readers look for.
        text + &marks.iter().map(|mark| format!("{MARK}{}\n", on_one_line(mark))).collect::<String>()
    }

    fn detail(&self) -> String {
        let Finished { setup: Setup { plan, v05: input, .. }, outcome, v05, .. } = self.finished;
        let marks = self.finished.judgement.marks();
        if let (Some(input), Some(test)) = (input, v05) {
            return v05::logs::detail_text(input, test, outcome, &self.context(), &marks);
        }
        let mut text = detail::render(plan, outcome, &self.context());
        text.push_str(&detail::marks(outcome, &self.context(), &marks));
        text
    }

    fn context(&self) -> DetailContext<'_> {
        let Finished { setup, nodes, started, .. } = self.finished;
        let duration = nodes.first_name.trips.iter().map(|trip| trip.rtt).max().unwrap_or_default();
        DetailContext {
            version: env!("CARGO_PKG_VERSION"),
            sut_name: &nodes.first_name.text,
            sut_name_duration_ns: duration.as_nanos() as u64,
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

#[cfg(test)]
mod tests {
    use loadgen::world::{SampleIndex, SampleSeq};

    use super::*;
    use crate::outputs::run_folder::faults::Faults;
    use crate::outputs::run_folder::folder::Place;

    #[test]
    fn a_log_that_its_folder_does_not_take_any_more_goes_on_in_another() {
        const ENTRIES: u64 = 2_000;
        let above = tempfile::tempdir().unwrap();
        let mut folder = RunFolder::create(&Place::At(above.path().join("run"))).unwrap();
        // The file is made and written to twice.
        folder.fail(Faults::at(3..usize::MAX));
        let mut log = AccuracyLog::create(&folder).unwrap();
        let data = [7; 300];
        for number in 0..ENTRIES {
            let (seq, index) = (SampleSeq(number), SampleIndex(1));
            log.accuracy(&AccuracyEntry { seq, index, data: &data, token_data: None, token_count: None });
        }
        let LogFile { staged, failure, elsewhere, .. } = log.finish();
        assert!(failure.is_some_and(|failure| failure.to_string().contains("run/mlperf_log_accuracy.json")));
        let other = elsewhere.unwrap();
        other.keep(staged.unwrap()).unwrap();
        let text = std::fs::read_to_string(other.path().join(ACCURACY)).unwrap();
        std::fs::remove_dir_all(other.path()).unwrap();
        let entries: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
        let numbers: Vec<u64> = entries.iter().filter_map(|entry| entry["seq_id"].as_u64()).collect();
        assert_eq!(numbers, (0..ENTRIES).collect::<Vec<_>>());
    }
}
