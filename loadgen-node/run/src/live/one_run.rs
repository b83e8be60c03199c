//! One run, looked at by one reader; others see what it finds on a board.

use std::sync::Arc;
use std::time::Instant;

use super::latest_snapshot::{Board, Newest};
use super::snapshot_reader::SnapshotReader;

/// One run, read at each look.
pub struct OneRun {
    watch: SnapshotReader,
    /// Others see the newest snapshot here.
    board: Board,
}

impl OneRun {
    /// The run that `watch` reads. Each snapshot goes to the board.
    pub(crate) fn new(watch: SnapshotReader, board: Board) -> OneRun {
        OneRun { watch, board }
    }

    /// Looks at the run now.
    pub fn look(&mut self) -> Newest {
        let (about, snapshot) = (self.watch.about(), Arc::new(self.watch.look(Instant::now())));
        self.board.put(Arc::clone(&about), Arc::clone(&snapshot));
        Newest { about, snapshot, is_valid: None }
    }

    /// Puts the end of the run on the board, and its verdict.
    pub(crate) fn judged(mut self, is_valid: bool) {
        let end = self.watch.finish(Instant::now());
        self.board.put(self.watch.about(), Arc::new(end));
        self.board.judged(is_valid);
    }
}
