//! The thread that looks on while a run goes on, and shows what it sees.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::JoinHandle;

use lon_net::slice;

use super::ui::{self, Ui};
use super::viewer::Viewer;
use super::{dashboard, line};
use crate::live::board::Board;
use crate::live::watch::Watch;

/// A display of a run; it ends, and leaves the terminal as it was, when it is dropped.
pub(crate) struct Show {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Watch>>,
}

impl Show {
    /// Starts the thread. What it sees is put on the board, too. `stop` turns true when the run is asked to stop.
    pub(crate) fn start(watch: Watch, ui: Ui, board: Board, stop: Arc<AtomicBool>) -> Show {
        let is_over = Arc::new(AtomicBool::new(false));
        let mut viewer = Viewer::new(watch, board, Arc::clone(&is_over), stop);
        let body = move || {
            // The display gives way to the threads that work. Where the system does not grant that, the display goes on
            // as it is.
            let _ = slice::yield_to_others();
            show(&mut viewer, ui);
            viewer.into_watch()
        };
        // Without the thread there is no display; the run does not need one.
        let thread = std::thread::Builder::new().name("display".to_owned()).spawn(body);
        let thread = thread.inspect_err(|error| tracing::warn!(%error, "the run is not shown")).ok();
        Show { is_over, thread }
    }

    /// Ends the display. Returns the reader; none where there was no thread.
    pub(crate) fn end(mut self) -> Option<Watch> {
        self.join()
    }

    fn join(&mut self) -> Option<Watch> {
        self.is_over.store(true, SeqCst);
        let thread = self.thread.take()?;
        thread.thread().unpark();
        thread.join().ok()
    }
}

impl Drop for Show {
    fn drop(&mut self) {
        self.join();
    }
}

/// Shows the run until it is over.
fn show(viewer: &mut Viewer, ui: Ui) {
    match ui {
        Ui::None => return line::watch(viewer),
        Ui::Line => {}
        // The rest of the run, where somebody has left the dashboard.
        Ui::Dashboard => dashboard::show(viewer),
    }
    if ui::has_line() { line::draw(viewer) } else { line::tell(viewer) }
}
