//! Tests that a command makes one after the other: the test that is asked for, and its display meanwhile.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context as _;

use crate::display::metrics::Boards;
use crate::display::metrics::options::{Metrics, MetricsOptions};
use crate::display::show::Show;
use crate::display::steps;
use crate::display::ui::Ui;
use lon_run::exit::{Exit, OrExit as _, Outcome};
use lon_run::live::latest_snapshot::Board;
use lon_run::outputs::run_folder::folder::{Place, write_file};
use lon_run::outputs::run_folder::record::{self, Recorded};
use lon_run::signals::{Leaves, Signals};
use lon_run::test_run::{Test, TestSpec};

/// Output of a run while it goes on.
#[derive(Debug, Default)]
pub(crate) struct LiveOutput {
    pub(crate) ui: Ui,
    pub(crate) metrics: MetricsOptions,
}

/// Message for a run whose folder lacks a file.
pub(super) const INCOMPLETE: &str = "the run is over, but its files are not complete";

/// The test that is asked for, and all that its runs share.
pub(super) struct TestSeries {
    spec: TestSpec,
    ui: Ui,
    board: Board,
    metrics: Metrics,
    signals: Signals,
}

impl TestSeries {
    /// Opens the port of metrics, and looks at the nodes where a setting is to be found.
    pub(super) fn new(spec: TestSpec, live: LiveOutput) -> Outcome<TestSeries> {
        let (ui, board) = (live.ui.available(), Board::default());
        let metrics =
            live.metrics.start(Boards::One(board.clone())).context("--metrics-listen").or_exit(Exit::Usage)?;
        let looks = spec.wants_a_look()?;
        let signals = Signals::catch(Leaves::Folder).context("cannot handle signals").or_exit(Exit::Bug)?;
        let spec = match looks {
            true => spec.look(&signals)?,
            false => spec,
        };
        let spec = spec.warm(&signals)?;
        Ok(TestSeries { spec, ui, board, metrics, signals })
    }

    /// Makes the test, and leaves its run folder. `repeat`: which of the repeats it is, behind the user's note. The
    /// flag turns true when the user wants no more.
    pub(super) fn make(&self, place: &Place, repeat: Option<String>) -> Outcome<(Recorded, Arc<AtomicBool>)> {
        let mut spec = self.spec.clone();
        let notes: Vec<String> = spec.call.note.take().into_iter().chain(repeat).collect();
        spec.call.note = (!notes.is_empty()).then(|| notes.join(", "));
        let test = Test::new(spec)?;
        test.verify(&steps::steps("verifying files"))?;
        let mut connected = test.connect()?;
        connected.probe_if_wanted(&self.signals)?;
        let claimed = connected.claim(&self.signals)?;
        let stop = claimed.stop();
        Ok((record::record_shown(claimed, place, &self.board, Show::of(self.ui))?, stop))
    }

    /// Writes the file of metrics, and serves them for the time that was asked for, or until `stop` turns true.
    pub(super) fn end(self, stop: &Arc<AtomicBool>) -> Outcome<()> {
        end_metrics(self.metrics, stop)
    }
}

/// Writes the file of metrics, and serves them for the time that was asked for, or until `stop` turns true.
pub(super) fn end_metrics(metrics: Metrics, stop: &Arc<AtomicBool>) -> Outcome<()> {
    let outcome = metrics.file().map(|(file, text)| write_file(&file, |out| out.write_all(text.as_bytes())));
    metrics.end(stop);
    outcome.transpose().context("the run is over, and --metrics-file was not written").or_exit(Exit::Bug).map(drop)
}
