//! Viewer of the runs that a display shows: one alone, or the tenants of a mix.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use lon_run::live::latest_snapshot::{Board, Newest};
use lon_run::live::one_run::OneRun;

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

impl Runs for OneRun {
    fn look(&mut self) -> Vec<RunView> {
        vec![RunView { tenant: None, newest: OneRun::look(self) }]
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
