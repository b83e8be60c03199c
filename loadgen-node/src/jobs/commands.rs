//! Starts commands, waits for them, and hands signals on to them.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use signal_hook::consts::{SIGINT, SIGTERM};

use lon_run::exit::Exit;

/// Interval at which a started command is checked.
pub(crate) const LOOK: Duration = Duration::from_millis(50);

/// This program, and the signals that ask for an end of all its jobs.
pub(crate) struct Commands {
    program: PathBuf,
    /// Somebody wants all of it to end, by SIGINT.
    interrupted: Arc<AtomicBool>,
    /// The same, by SIGTERM.
    terminated: Arc<AtomicBool>,
    /// The same, by either.
    stopped: Arc<AtomicBool>,
}

impl Commands {
    /// From here on SIGINT and SIGTERM go to the command that runs.
    ///
    /// # Errors
    /// The operating system refuses handlers, or does not say where this program is.
    pub(crate) fn new() -> io::Result<Commands> {
        let [interrupted, terminated, stopped] = [(); 3].map(|()| Arc::new(AtomicBool::new(false)));
        for (signal, flag) in [(SIGINT, &interrupted), (SIGTERM, &terminated), (SIGINT, &stopped), (SIGTERM, &stopped)]
        {
            signal_hook::flag::register(signal, Arc::clone(flag))?;
        }
        Ok(Commands { program: std::env::current_exe()?, interrupted, terminated, stopped })
    }

    /// This program with these words behind it.
    pub(crate) fn own(&self, arguments: &[String]) -> Vec<OsString> {
        let program = self.program.clone().into_os_string();
        std::iter::once(program).chain(arguments.iter().map(OsString::from)).collect()
    }

    /// Returns true when this is the path of this program.
    pub(crate) fn is_own(&self, program: &OsStr) -> bool {
        *program == *self.program.as_os_str()
    }

    /// Returns true when a signal has asked for an end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(SeqCst)
    }

    /// The flag that turns true when a signal asks for an end.
    pub(crate) fn stopped(&self) -> &AtomicBool {
        &self.stopped
    }

    /// Waits for the end of a command. A signal that comes meanwhile goes on to it, once.
    ///
    /// # Errors
    /// The operating system does not let this program wait.
    pub(crate) fn wait(&self, child: &mut Child) -> io::Result<ExitStatus> {
        let mut is_passed_on = false;
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            let signal = match () {
                () if self.terminated.load(SeqCst) => Some(Signal::SIGTERM),
                () if self.interrupted.load(SeqCst) => Some(Signal::SIGINT),
                () => None,
            };
            if let Some(signal) = signal.filter(|_| !is_passed_on) {
                is_passed_on = true;
                // Where a terminal has sent it to both, the command takes the two as one, since they come within a
                // second. It may have ended just now.
                let _ = kill(Pid::from_raw(child.id() as i32), signal);
            }
            std::thread::sleep(LOOK);
        }
    }
}

/// The exit code of this program that a status stands for. None: a signal, or a code that this program does not have.
pub(crate) fn exit_of(status: ExitStatus) -> Option<Exit> {
    let all = [Exit::Ok, Exit::Bug, Exit::Usage, Exit::Invalid, Exit::Network, Exit::Interrupted];
    all.into_iter().find(|exit| status.code() == Some(*exit as i32))
}
