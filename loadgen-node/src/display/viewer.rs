//! Viewer of the runs that a display shows: one alone, or the tenants of a mix.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Instant;

use crate::live::board::{Board, Newest};
use crate::live::watch::Watch;

/// Runs that are shown.
pub(crate) trait Runs: Send + 'static {
    /// Looks at the runs now. A run that has not begun is not among them.
    fn look(&mut self) -> Vec<RunView>;
}

/// A run as it is shown.
pub(crate) struct RunView {
    /// Its name where it is a tenant of a mix.
    pub(super) tenant: Option<String>,
    pub(super) newest: Newest,
}

impl RunView {
    /// Benchmark and scenario, after the name of the tenant where there is one.
    pub(super) fn title(&self) -> String {
        let title = self.newest.about.title();
        self.tenant.as_ref().map_or_else(|| title.clone(), |tenant| format!("{tenant}: {title}"))
    }

    /// True until the result of the run is known.
    pub(super) fn goes_on(&self) -> bool {
        self.newest.is_valid.is_none()
    }
}

/// One run, read at each look.
pub(crate) struct OneRun {
    watch: Watch,
    /// Others see the newest snapshot here.
    board: Board,
}

impl OneRun {
    /// The run that `watch` reads. Each snapshot goes to the board.
    pub(crate) fn new(watch: Watch, board: Board) -> OneRun {
        OneRun { watch, board }
    }

    /// Puts the end of the run on the board, and its verdict.
    pub(crate) fn judged(mut self, is_valid: bool) {
        let end = self.watch.finish(Instant::now());
        self.board.put(self.watch.about(), Arc::new(end));
        self.board.judged(is_valid);
    }
}

impl Runs for OneRun {
    fn look(&mut self) -> Vec<RunView> {
        let newest =
            Newest { about: self.watch.about(), snapshot: Arc::new(self.watch.look(Instant::now())), is_valid: None };
        self.board.put(Arc::clone(&newest.about), Arc::clone(&newest.snapshot));
        vec![RunView { tenant: None, newest }]
    }
}

/// The tenants of a mix, by their boards. The run of each tenant fills its own.
pub(crate) struct Tenants(pub(crate) Vec<(String, Board)>);

impl Runs for Tenants {
    fn look(&mut self) -> Vec<RunView> {
        let run_view = |(name, board): &(String, Board)| {
            board.newest().map(|newest| RunView { tenant: Some(name.clone()), newest })
        };
        self.0.iter().filter_map(run_view).collect()
    }
}

/// The runs, and whether they are over.
pub(super) struct Viewer<'a> {
    runs: &'a mut dyn Runs,
    is_over: &'a AtomicBool,
    /// Somebody has asked the runs to stop.
    stop: &'a AtomicBool,
}

impl Viewer<'_> {
    /// A viewer of these runs. `is_over` turns true when the display has to end, `stop` when the runs are asked to end.
    pub(super) fn new<'a>(runs: &'a mut dyn Runs, is_over: &'a AtomicBool, stop: &'a AtomicBool) -> Viewer<'a> {
        Viewer { runs, is_over, stop }
    }

    /// Looks at the runs now.
    pub(super) fn look(&mut self) -> Vec<RunView> {
        self.runs.look()
    }

    /// Somebody has asked the runs to stop.
    pub(super) fn is_stopping(&self) -> bool {
        self.stop.load(SeqCst)
    }

    /// The runs are over, and the display has to end.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(SeqCst)
    }
}
