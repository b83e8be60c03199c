//! One line at one host: how the command that reaches it is started, and how it ends: by itself, too late, or because
//! the user wants to.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::answers::last_words;
use super::script;
use super::value_checks::{HOST, QUOTED};

/// The most that is read of what a host prints.
const MAX_BYTES: u64 = 64 << 10;
/// Interval between two checks whether a command has ended.
const LOOK: Duration = Duration::from_millis(5);

/// Why a line was not run to its end.
#[derive(Debug, thiserror::Error)]
pub(super) enum ShellError {
    #[error("{program} cannot be started: {error}")]
    NotStarted { program: String, error: io::Error },
    #[error("{program} has not ended after {timeout:?}: does the host answer?{detail}")]
    Hangs { program: String, timeout: Duration, detail: String },
    #[error("{program} {how}{detail}")]
    Failed { program: String, how: String, detail: String },
    #[error("interrupted")]
    Interrupted,
    #[error("the line cannot be quoted: {0}")]
    Quote(#[from] shlex::QuoteError),
    #[error("what the host prints cannot be kept: {0}")]
    Output(#[from] io::Error),
}

/// The way to a host.
#[derive(Clone, Copy)]
pub(super) struct Shell<'a> {
    /// Words of the command, with placeholders.
    pub(super) ssh: &'a [String],
    pub(super) host: &'a str,
    /// Turns true when the user wants an end.
    pub(super) stop: &'a AtomicBool,
}

impl Shell<'_> {
    /// The words that run a line at the host.
    pub(super) fn command(self, line: &str) -> Result<Vec<String>, shlex::QuoteError> {
        let quoted = shlex::try_quote(line)?;
        let is_quoted = self.ssh.iter().any(|word| word.contains(QUOTED));
        let own = self.ssh.iter().map(|word| match word.split_once(QUOTED) {
            // The line is not looked at again: what is in it stays as it is.
            Some((before, after)) => {
                format!("{}{quoted}{}", before.replace(HOST, self.host), after.replace(HOST, self.host))
            }
            None => word.replace(HOST, self.host),
        });
        Ok(own.chain((!is_quoted).then(|| line.to_owned())).collect())
    }

    /// The same as one line to be pasted.
    pub(super) fn pasted(self, line: &str) -> Result<String, shlex::QuoteError> {
        script::joined(&self.command(line)?)
    }

    /// Runs a line and returns what it prints.
    ///
    /// # Errors
    /// It fails, or takes longer than `timeout`.
    pub(super) fn run(self, line: &str, timeout: Duration) -> Result<String, ShellError> {
        let mut out = tempfile::tempfile()?;
        self.run_into(line, timeout, out.try_clone()?)?;
        Ok(text(&mut out)?)
    }

    /// Runs a line that reads a file.
    ///
    /// # Errors
    /// As [`Shell::run`].
    pub(super) fn run_from(self, line: &str, timeout: Duration, content: File) -> Result<(), ShellError> {
        self.run_with(line, timeout, content.into(), Stdio::null())
    }

    /// Runs a line that prints into a file.
    ///
    /// # Errors
    /// As [`Shell::run`].
    pub(super) fn run_into(self, line: &str, timeout: Duration, out: File) -> Result<(), ShellError> {
        self.run_with(line, timeout, Stdio::null(), out.into())
    }

    fn run_with(self, line: &str, timeout: Duration, input: Stdio, out: Stdio) -> Result<(), ShellError> {
        if self.stop.load(Relaxed) {
            return Err(ShellError::Interrupted);
        }
        // Files and no pipes: a process that ssh leaves behind would keep a pipe open.
        let mut error = tempfile::tempfile()?;
        let command = self.command(line)?;
        let mut started = Started::new(&command, input, out, error.try_clone()?.into())?;
        let ended = started.wait(Instant::now() + timeout, self.stop);
        let detail = last_words(&text(&mut error)?);
        let detail = if detail.is_empty() { detail } else { format!(": {detail}") };
        let program = command[0].clone();
        match ended? {
            None if self.stop.load(Relaxed) => Err(ShellError::Interrupted),
            None => Err(ShellError::Hangs { program, timeout, detail }),
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(ShellError::Failed { program, how: how(status), detail }),
        }
    }
}

/// A command under way, with all that it has started; killed when dropped.
pub(super) struct Started {
    pub(super) child: Child,
}

impl Started {
    /// Starts it in a process group of its own, so that a signal for it reaches what it has started, and one from the
    /// terminal reaches neither.
    pub(super) fn new(arguments: &[String], input: Stdio, out: Stdio, error: Stdio) -> Result<Started, ShellError> {
        let mut command = Command::new(&arguments[0]);
        command.args(&arguments[1..]).stdin(input).stdout(out).stderr(error).process_group(0);
        let not_started = |error| ShellError::NotStarted { program: arguments[0].clone(), error };
        Ok(Started { child: command.spawn().map_err(not_started)? })
    }

    /// Waits for the command to end. Returns `None` when it has not ended by then, or when the user wants an end.
    pub(super) fn wait(&mut self, until: Instant, stop: &AtomicBool) -> io::Result<Option<ExitStatus>> {
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Some(status));
            }
            if stop.load(Relaxed) || Instant::now() >= until {
                return Ok(None);
            }
            std::thread::sleep(LOOK);
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // Once it has been waited for, its id may be another's.
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = killpg(Pid::from_raw(self.child.id() as i32), Signal::SIGKILL);
            let _ = self.child.wait();
        }
    }
}

fn how(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("failed with exit code {code}"),
        None => format!("was ended by a signal ({status})"),
    }
}

/// The first part of a file, whatever it consists of.
fn text(file: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    fn shell<'a>(ssh: &'a [String], host: &'a str, stop: &'a AtomicBool) -> Shell<'a> {
        Shell { ssh, host, stop }
    }

    fn command_of(text: &str) -> Vec<String> {
        shlex::split(text).unwrap()
    }

    #[test]
    fn the_line_is_one_word_or_quoted_for_another_shell() {
        let stop = AtomicBool::new(false);
        let (plain, twice) = (command_of("ip netns exec {host} sh -c"), command_of("sh -c 'sh -c {quoted}'"));
        let line = "echo \"a  b\" {host} {quoted}";
        assert_eq!(shell(&plain, "h", &stop).command(line).unwrap()[3..], ["h", "sh", "-c", line]);
        let reply = shell(&twice, "h", &stop).run(line, PATIENCE).unwrap();
        assert_eq!(reply, "a  b {host} {quoted}\n");
        let pasted = shell(&twice, "h", &stop).pasted(line).unwrap();
        let output = Command::new("sh").args(["-c", &pasted]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), reply);
    }

    #[test]
    fn ends_of_every_kind_are_told() {
        let stop = AtomicBool::new(false);
        let ssh = command_of("sh -c");
        let run = |line: &str, timeout| shell(&ssh, "h", &stop).run(line, timeout);
        assert_eq!(run("echo a; echo b >&2", PATIENCE).unwrap(), "a\n");
        let failed = run("echo no such host >&2; exit 255", PATIENCE).unwrap_err().to_string();
        assert_eq!(failed, "sh failed with exit code 255: no such host");
        // Long enough for a busy machine to say it.
        let mut timeout = Duration::from_millis(300);
        let hangs = loop {
            let hangs = run("echo wait >&2; sleep 600 & sleep 600", timeout).unwrap_err().to_string();
            if hangs.ends_with(": wait") || timeout > PATIENCE {
                break hangs;
            }
            timeout *= 2;
        };
        assert!(hangs.contains(&format!("has not ended after {timeout:?}")) && hangs.ends_with(": wait"), "{hangs}");
        let missing = command_of("/no/such/program {host}");
        let missing = shell(&missing, "h", &stop).run("x", PATIENCE).unwrap_err().to_string();
        assert!(missing.contains("/no/such/program cannot be started"), "{missing}");
        stop.store(true, Relaxed);
        assert!(matches!(run("sleep 600", PATIENCE), Err(ShellError::Interrupted)));
    }
}
