//! The end of a command whose starter was killed, and the lock of a folder with jobs.
//!
//! A starter that is killed by SIGKILL cannot end what it has started. A shell beside each command does: it waits at a
//! pipe that the starter holds open, and kills the command when the pipe closes. The shell also shares the lock of the
//! folder. So nobody gets the lock while a command of the dead starter may still write there.

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use thiserror::Error;

use super::commands::LOOK;

/// Time that commands of a killed starter have to end.
const PATIENCE: Duration = Duration::from_secs(10);
/// The script of the shell: its `$0` is the process of the command.
const SCRIPT: &str = "read -r line; kill -KILL \"$0\"";

/// Reason why a folder is not locked.
#[derive(Debug, Error)]
pub(crate) enum LockError {
    #[error("{} is in use: another process makes its jobs", .0.display())]
    InUse(PathBuf),
    #[error("cannot lock {}", .path.display())]
    Refused { path: PathBuf, source: io::Error },
}

/// The lock of a folder. It ends with this program and all its guards.
#[derive(Debug)]
pub(crate) struct Lock {
    own: File,
    /// The lock of the folder above, which locks of other parts share.
    above: Option<File>,
}

impl Lock {
    /// Locks a folder by a file in it, which stays there.
    ///
    /// # Errors
    /// Another process has the lock for longer than a killed one would, or the file cannot be made.
    pub(crate) fn of(folder: &Path) -> Result<Lock, LockError> {
        Ok(Lock { own: Lock::within(folder, PATIENCE, File::try_lock)?, above: None })
    }

    /// Locks a part of a folder. Other parts can be locked at the same time, the whole folder cannot.
    ///
    /// # Errors
    /// As for [`Lock::of`].
    pub(crate) fn of_part(folder: &Path, part: &Path) -> Result<Lock, LockError> {
        let above = Lock::within(folder, PATIENCE, File::try_lock_shared)?;
        Ok(Lock { own: Lock::within(part, PATIENCE, File::try_lock)?, above: Some(above) })
    }

    fn within(
        folder: &Path,
        patience: Duration,
        lock: fn(&File) -> Result<(), TryLockError>,
    ) -> Result<File, LockError> {
        let path = folder.join(".lock");
        let refused = |source| LockError::Refused { path: path.clone(), source };
        let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(refused)?;
        let start = Instant::now();
        loop {
            match lock(&file) {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if start.elapsed() < patience => std::thread::sleep(LOOK),
                Err(TryLockError::WouldBlock) => return Err(LockError::InUse(folder.to_owned())),
                Err(TryLockError::Error(source)) => return Err(refused(source)),
            }
        }
    }
}

/// The shell that ends a command when this program is gone. It goes when it is dropped, which has to be after the end
/// of the command.
#[derive(Debug)]
pub(crate) struct Guard(Option<Child>);

impl Guard {
    /// Watches over a command.
    ///
    /// # Errors
    /// There is no shell, or the operating system refuses another process.
    pub(crate) fn over(command: &Child, lock: &Lock) -> io::Result<Guard> {
        // With the first process of a container all others end. Its image may have no shell.
        if std::process::id() == 1 {
            return Ok(Guard(None));
        }
        let shell = Command::new("sh")
            .args(["-c", SCRIPT, &command.id().to_string()])
            .stdin(Stdio::piped())
            // Open descriptors keep both locks.
            .stdout(lock.own.try_clone()?)
            .stderr(lock.above.as_ref().map(File::try_clone).transpose()?.map_or_else(Stdio::null, Stdio::from))
            // Ctrl-C is for the command.
            .process_group(0)
            .spawn()?;
        Ok(Guard(Some(shell)))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(shell) = &mut self.0 {
            let _ = shell.kill();
            let _ = shell.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    fn sleeper() -> Child {
        Command::new("sleep").arg("600").spawn().unwrap()
    }

    #[test]
    fn a_command_ends_with_the_pipe_of_its_guard_and_the_lock_with_the_guard() {
        let folder = tempfile::tempdir().unwrap();
        let lock = Lock::of(folder.path()).unwrap();
        let mut command = sleeper();
        let mut guard = Guard::over(&command, &lock).unwrap();
        // The lock of this program is gone, as when it is killed, and the guard still has it.
        drop(lock);
        let other = Lock::within(folder.path(), Duration::ZERO, File::try_lock);
        assert!(matches!(other, Err(LockError::InUse(_))), "{other:?}");
        drop(guard.0.as_mut().and_then(|shell| shell.stdin.take()));
        assert_eq!(command.wait().unwrap().signal(), Some(9));
        Lock::of(folder.path()).unwrap();
    }

    #[test]
    fn parts_are_locked_beside_each_other_and_not_beside_the_whole() {
        let folder = tempfile::tempdir().unwrap();
        let parts = ["a", "b"].map(|name| folder.path().join(name));
        parts.iter().for_each(|part| std::fs::create_dir(part).unwrap());
        let locks = parts.each_ref().map(|part| Lock::of_part(folder.path(), part).unwrap());
        for taken in [folder.path(), &parts[0]] {
            let other = Lock::within(taken, Duration::ZERO, File::try_lock);
            assert!(matches!(other, Err(LockError::InUse(_))), "{other:?}");
        }
        drop(locks);
        let _whole = Lock::of(folder.path()).unwrap();
        let other = Lock::within(folder.path(), Duration::ZERO, File::try_lock_shared);
        assert!(matches!(other, Err(LockError::InUse(_))), "{other:?}");
    }

    #[test]
    fn a_guard_that_is_dropped_ends_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let lock = Lock::of(folder.path()).unwrap();
        let mut command = sleeper();
        drop(Guard::over(&command, &lock).unwrap());
        assert!(command.try_wait().unwrap().is_none());
        command.kill().unwrap();
        command.wait().unwrap();
    }
}
