//! SIGINT and SIGTERM: before a run they end the program; during a run they end the run, which still writes its
//! results. SIGXFSZ (a limit on the size of files) is left to whoever writes.

use std::io::{self, Read as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::{flag, low_level::pipe};

use crate::exit::Exit;
use loadgen::run::RunOptions;

/// Signals within this time of the first count as one request: `timeout` sends one to its child and one to the child's
/// group, as terminals and shells do. A later one ends the program at once.
const INSISTS_AFTER: Duration = Duration::from_secs(1);

/// Output that a program leaves when a second signal ends it at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaves {
    /// A run folder, of which a result can be made.
    Folder,
    /// Nothing but what was printed.
    Nothing,
}

/// The flags that the signal handlers set and read.
pub struct Signals {
    /// A signal ends the program at once, because nothing has been measured yet or because it is a second request.
    at_once: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
}

impl Signals {
    /// From here on a signal ends the program with exit code 5, which the log says.
    pub fn catch(leaves: Leaves) -> io::Result<Signals> {
        let (at_once, stop) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicBool::new(false)));
        // A byte comes with each signal.
        let (signals, sender) = UnixStream::pair()?;
        for signal in [SIGINT, SIGTERM] {
            flag::register(signal, Arc::clone(&stop))?;
            pipe::register(signal, sender.try_clone()?)?;
        }
        // A file that may not grow any more is an error of its write, and no end of the program.
        flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
        let ends = Arc::clone(&at_once);
        let thread =
            std::thread::Builder::new().name("signals".to_owned()).spawn(move || end_at_signal(signals, &ends, leaves));
        thread.map_err(|error| io::Error::new(error.kind(), format!("cannot start a thread: {error}")))?;
        Ok(Signals { at_once, stop })
    }
}

/// Ends the program at the first signal that comes while it is to end at once. This thread ends with the program at the
/// latest.
fn end_at_signal(mut signals: UnixStream, at_once: &AtomicBool, leaves: Leaves) {
    let next = match leaves {
        Leaves::Folder => "one more signal ends it at once, and leaves the folder to loadgen-node recover",
        Leaves::Nothing => "one more signal ends it at once",
    };
    let mut has_stopped = false;
    while signals.read_exact(&mut [0]).is_ok() {
        if at_once.load(SeqCst) {
            match has_stopped {
                false => tracing::warn!("interrupted: nothing had been measured"),
                true => tracing::warn!("interrupted once more: ended at once"),
            }
            std::process::exit(Exit::Interrupted as i32);
        }
        has_stopped = true;
        let grace_s = RunOptions::default().drain_grace_ns / 1_000_000_000;
        tracing::warn!(grace_s, next, "interrupted: waits for answers to what is under way");
        std::thread::sleep(INSISTS_AFTER);
        if drain(&mut signals).is_err() {
            return;
        }
        at_once.store(true, SeqCst);
    }
}

/// Takes the bytes of signals that came meanwhile.
fn drain(signals: &mut UnixStream) -> io::Result<()> {
    signals.set_nonblocking(true)?;
    while signals.read(&mut [0; 64]).is_ok_and(|read| read > 0) {}
    signals.set_nonblocking(false)
}

/// Source of requests to end a test early.
pub trait StopRequests {
    /// Returns a flag that turns true when the test is to end early. The call comes once, when a test begins: from then
    /// on there is something to lose.
    ///
    /// # Errors
    /// The operating system refuses what is needed to listen.
    fn test_begins(&self) -> io::Result<Arc<AtomicBool>>;
}

/// A flag that the caller keeps, and sets when the test is to end.
impl StopRequests for Arc<AtomicBool> {
    fn test_begins(&self) -> io::Result<Arc<AtomicBool>> {
        Ok(Arc::clone(self))
    }
}

impl StopRequests for Signals {
    fn test_begins(&self) -> io::Result<Arc<AtomicBool>> {
        self.at_once.store(false, SeqCst);
        Ok(Arc::clone(&self.stop))
    }
}
