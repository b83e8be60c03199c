//! The thread that looks on while runs go on, and shows what it sees.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::JoinHandle;

use lon_net::slice;
use lon_run::live::one_run::OneRun;
use lon_run::outputs::run_folder::record::Display;

use super::ui::{self, Ui};
use super::viewer::{Runs, Viewer};
use super::{dashboard, line};

/// A display of runs; it ends, and leaves the terminal as it was, when it is dropped.
pub(crate) struct Show<R> {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<R>>,
}

impl<R: Runs> Show<R> {
    /// Starts the thread. `stop` turns true when the runs are asked to stop.
    pub(crate) fn start(mut runs: R, ui: Ui, stop: Arc<AtomicBool>) -> Show<R> {
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        let body = move || {
            // The display gives way to the threads that work. Where the system does not grant that, the display goes on
            // as it is.
            let _ = slice::yield_to_others();
            show(&mut Viewer::new(&mut runs, &ends, &stop), ui);
            runs
        };
        // Without the thread there is no display; the runs do not need one.
        let thread = std::thread::Builder::new().name("display".to_owned()).spawn(body);
        let thread = thread.inspect_err(|error| tracing::warn!(%error, "the run is not shown")).ok();
        Show { is_over, thread }
    }

    /// Ends the display. Returns the runs; none where there was no thread.
    pub(crate) fn end(mut self) -> Option<R> {
        self.join()
    }
}

impl Show<OneRun> {
    /// A display of one run, which starts with it.
    pub(crate) fn of(ui: Ui) -> impl FnOnce(OneRun, Arc<AtomicBool>) -> Show<OneRun> {
        move |run, stop| Show::start(run, ui, stop)
    }
}

impl Display for Show<OneRun> {
    fn end(self) -> Option<OneRun> {
        Show::end(self)
    }
}

impl<R> Show<R> {
    fn join(&mut self) -> Option<R> {
        self.is_over.store(true, SeqCst);
        let thread = self.thread.take()?;
        thread.thread().unpark();
        thread.join().ok()
    }
}

impl<R> Drop for Show<R> {
    fn drop(&mut self) {
        self.join();
    }
}

/// Shows the runs until they are over.
fn show(viewer: &mut Viewer<'_>, ui: Ui) {
    match ui {
        Ui::None => return line::watch(viewer),
        Ui::Line => {}
        // The rest of the run, where somebody has left the dashboard.
        Ui::Dashboard => dashboard::show(viewer),
    }
    if ui::has_line() { line::draw(viewer) } else { line::tell(viewer) }
}
