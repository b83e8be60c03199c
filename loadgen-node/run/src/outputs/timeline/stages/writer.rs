//! The thread that writes rows to the disk while the run goes on.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::Duration;

use loadgen::world::SampleSeq;
use lon_net::slice;
use tempfile::TempPath;

use super::FILE;
use super::part::Part;
use crate::outputs::run_folder::folder::{FolderError, RunFolder};
use lon_world::stage_rows::{StageReader, StageSwitch};

/// Interval at which the thread looks for rows.
const LOOK: Duration = Duration::from_millis(50);
/// Rows that are written together.
const BLOCK: usize = 1 << 14;

/// The rows of a run that goes on.
pub(crate) struct StageKeeper {
    switch: StageSwitch,
    path: TempPath,
    ends: Arc<AtomicBool>,
    thread: JoinHandle<io::Result<u64>>,
}

/// Rows that are on the disk. The file goes away with this.
#[derive(Debug)]
pub(crate) struct StagePart {
    path: TempPath,
    /// Samples whose rows are missing, or why none can be relied on.
    missed: Result<u64, String>,
}

impl StageKeeper {
    /// Makes the file and starts the thread. `nodes`: the names of the nodes in the order of the list.
    ///
    /// # Errors
    /// The folder does not take it.
    pub(crate) fn start(
        folder: &RunFolder,
        nodes: Vec<String>,
        reader: StageReader,
    ) -> Result<StageKeeper, FolderError> {
        let failed = |source| FolderError::Write { path: folder.path().join(FILE), source };
        let (file, path) = folder.part(FILE)?.into_parts();
        let part = Part::begin(file, nodes).map_err(failed)?;
        let (switch, ends) = (reader.switch(), Arc::new(AtomicBool::new(false)));
        let at_end = Arc::clone(&ends);
        let thread = std::thread::Builder::new().name("stages".to_owned()).spawn(move || keep(part, reader, &at_end));
        let no_thread = |source| FolderError::Thread { path: folder.path().join(FILE), source };
        Ok(StageKeeper { switch, path, ends, thread: thread.map_err(no_thread)? })
    }

    /// A phase begins: its samples are recorded from this one on, or not at all.
    pub(crate) fn phase(&self, first: Option<SampleSeq>) {
        match first {
            Some(first) => self.switch.record_from(first),
            None => self.switch.off(),
        }
    }

    /// Writes what is left.
    pub(crate) fn finish(self) -> StagePart {
        self.switch.off();
        self.ends.store(true, SeqCst);
        self.thread.thread().unpark();
        let missed = match self.thread.join() {
            Ok(outcome) => outcome.map_err(|error| error.to_string()),
            Err(_) => Err("the thread that writes it panicked".to_owned()),
        };
        StagePart { path: self.path, missed }
    }
}

impl StagePart {
    /// Where the rows are.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Samples whose rows are missing.
    ///
    /// # Errors
    /// Why not all rows are there.
    pub(crate) fn missed(&self) -> io::Result<u64> {
        self.missed.clone().map_err(io::Error::other)
    }

    /// Leaves the file, so that it can be recovered.
    pub(crate) fn keep(self) -> Option<PathBuf> {
        // Where that is impossible, the file is there all the same.
        self.path.keep().ok()
    }
}

/// Writes rows until the end of the run; how many found no room.
fn keep(mut part: Part, mut reader: StageReader, ends: &AtomicBool) -> io::Result<u64> {
    // Queries go first. Where the system does not grant that, they wait a little.
    let _ = slice::yield_to_others();
    let mut rows = Vec::with_capacity(BLOCK);
    loop {
        let is_last = ends.load(SeqCst);
        loop {
            rows.clear();
            reader.take(&mut rows);
            if rows.is_empty() {
                break;
            }
            part.write(&mut rows).inspect_err(|error| {
                tracing::warn!(%error, file = FILE, "stages are recorded no more");
            })?;
        }
        if is_last {
            return Ok(reader.missed());
        }
        std::thread::park_timeout(LOOK);
    }
}
