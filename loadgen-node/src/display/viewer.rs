//! Viewer of a run, for a display.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Instant;

use crate::live::about::About;
use crate::live::board::Board;
use crate::live::snapshot::Snapshot;
use crate::live::watch::Watch;

/// A run, and whether it is over.
pub(super) struct Viewer {
    watch: Watch,
    board: Board,
    is_over: Arc<AtomicBool>,
    /// Somebody has asked the run to stop.
    stop: Arc<AtomicBool>,
}

impl Viewer {
    /// Makes a viewer that puts each snapshot on the board. `is_over` turns true when the display has to end, `stop`
    /// when the run is asked to end.
    pub(super) fn new(watch: Watch, board: Board, is_over: Arc<AtomicBool>, stop: Arc<AtomicBool>) -> Viewer {
        Viewer { watch, board, is_over, stop }
    }

    /// The reader, when nobody looks on any more.
    pub(super) fn into_watch(self) -> Watch {
        self.watch
    }

    /// Looks at the run now.
    pub(super) fn look(&mut self) -> Arc<Snapshot> {
        let snapshot = Arc::new(self.watch.look(Instant::now()));
        self.board.put(self.watch.about(), Arc::clone(&snapshot));
        snapshot
    }

    /// Returns the facts of the run that are known beforehand.
    pub(super) fn about(&self) -> Arc<About> {
        self.watch.about()
    }

    /// Somebody has asked the run to stop.
    pub(super) fn is_stopping(&self) -> bool {
        self.stop.load(SeqCst)
    }

    /// The run is over, and the display has to end.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(SeqCst)
    }
}
