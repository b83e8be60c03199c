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

/// Signals within this time of the first count as one request: `timeout` sends one to its child and one to the child's
/// group, as terminals and shells do. A later one ends the program at once.
const INSISTS_AFTER: Duration = Duration::from_secs(1);

/// The flags that the signal handlers set and read.
pub(crate) struct Signals {
    /// A signal ends the program at once, because nothing has been measured yet or because it is a second request.
    at_once: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
    /// Receives a byte with each signal.
    told: UnixStream,
}

impl Signals {
    /// From here on a signal ends the program with exit code 5.
    pub(crate) fn catch() -> io::Result<Signals> {
        let (at_once, stop) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicBool::new(false)));
        let (told, tell) = UnixStream::pair()?;
        for signal in [SIGINT, SIGTERM] {
            flag::register_conditional_shutdown(signal, Exit::Interrupted as i32, Arc::clone(&at_once))?;
            flag::register(signal, Arc::clone(&stop))?;
            pipe::register(signal, tell.try_clone()?)?;
        }
        // A file that may not grow any more is an error of its write, and no end of the program.
        flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
        Ok(Signals { at_once, stop, told })
    }
}

/// Who may ask a test to end early.
pub trait StopRequests {
    /// Called once when a test begins: from here on there is something to lose. The flag turns true when the test is to
    /// end early.
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
        let (at_once, mut told) = (Arc::clone(&self.at_once), self.told.try_clone()?);
        self.at_once.store(false, SeqCst);
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            // This thread ends with the program at the latest.
            if told.read_exact(&mut [0]).is_ok() {
                std::thread::sleep(INSISTS_AFTER);
                at_once.store(true, SeqCst);
            }
        })?;
        Ok(Arc::clone(&self.stop))
    }
}
