//! SIGINT and SIGTERM: before a run they end the program, during a run they end the run in good order.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use super::exit::Exit;

/// The flags that the signals' handlers set and look at.
pub(crate) struct Signals {
    /// A signal ends the program at once: nothing has been measured yet, or the user insists.
    at_once: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
}

impl Signals {
    /// From here on a signal means exit code 5, not death.
    pub(crate) fn catch() -> io::Result<Signals> {
        let (at_once, stop) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicBool::new(false)));
        for signal in [SIGINT, SIGTERM] {
            // In this order: the first signal during a run stops the run, the second the program.
            flag::register_conditional_shutdown(signal, Exit::Interrupted as i32, Arc::clone(&at_once))?;
            flag::register(signal, Arc::clone(&at_once))?;
            flag::register(signal, Arc::clone(&stop))?;
        }
        Ok(Signals { at_once, stop })
    }

    /// From here on there is something to lose; the flag turns true when the user asks to stop.
    pub(crate) fn run_begins(&self) -> Arc<AtomicBool> {
        self.at_once.store(false, SeqCst);
        Arc::clone(&self.stop)
    }
}
