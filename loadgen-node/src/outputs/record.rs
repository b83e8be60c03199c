//! A test that leaves a run folder: progress is shown while it runs, and every file is written.

use std::path::Path;

use super::documents::network_report::{self, NetworkReport};
use super::documents::result_summary::{self, ResultSummary};
use super::documents::system_desc::{self, SystemDesc};
use super::documents::{self, find_peak};
use super::folder::{FolderError, RunFolder};
use super::logs::{AccuracyLog, Logs};
use super::progress::Progress;
use crate::exit::{Exit, OrExit as _, Outcome};
use crate::test_run::{Claimed, Finished};

/// A test that is over, and its folder.
pub struct Recorded {
    /// What is known of the test.
    pub finished: Finished,
    /// Where its files are.
    pub folder: RunFolder,
    /// Whether all files could be written. What was measured is there in any case.
    pub written: Result<(), FolderError>,
}

/// Runs the test and writes its files into a new folder at `out`.
///
/// # Errors
/// The folder cannot be made; then the nodes are free again at once.
pub fn record(test: Claimed, out: &Path) -> Outcome<Recorded> {
    let folder = match RunFolder::create(out) {
        Ok(folder) => folder,
        Err(error) => {
            // Otherwise the nodes would be busy until their leases lapse.
            test.release();
            return Err(error).or_exit(Exit::Usage);
        }
    };
    let progress = Progress::start(test.counts(), test.title());
    let mut log = AccuracyLog::create(&folder).or_exit(Exit::Bug)?;
    let measured = test.measure(&mut log);
    drop(progress);
    let finished = measured.finish();
    let written = log.finish().and_then(|()| write(&finished, &folder));
    Ok(Recorded { finished, folder, written })
}

/// Writes what can only be written when all is over. The verdict comes first: if the disk fills up, that is there.
fn write(finished: &Finished, folder: &RunFolder) -> Result<(), FolderError> {
    documents::write(folder, result_summary::FILE, &ResultSummary::from(finished))?;
    documents::write(folder, network_report::FILE, &NetworkReport::from(finished))?;
    documents::write(folder, system_desc::FILE, &SystemDesc::from(finished))?;
    Logs::new(finished).write(folder)?;
    find_peak::write(folder, &finished.setup.plan, &finished.outcome)
}
