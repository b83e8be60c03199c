//! Child processes: pinned, with their CPU time, ended when dropped.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::resource::UsageWho;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::load::cpu_s;

/// Interval between the looks of a waiting parent. It is long: the parent wakes on cores that are being measured.
const LOOK: Duration = Duration::from_millis(10);
/// Longest time for a process to say that it serves, and to end when asked to.
const SOON: Duration = Duration::from_secs(20);

/// Which core a process is held on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The scheduler decides.
    Anywhere,
    /// The core of the answering side.
    Answering,
    /// The core of the asking side.
    Asking,
}

/// Starts processes, and keeps what they print.
#[derive(Debug)]
pub(crate) struct Starter {
    folder: PathBuf,
    allowed: CpuSet,
    /// The first two cores that we may use: answering, asking.
    cores: Option<[usize; 2]>,
    count: AtomicU64,
}

impl Starter {
    /// Outputs go to files in `folder`.
    pub(crate) fn new(folder: &Path) -> Result<Starter> {
        let allowed = sched_getaffinity(Pid::from_raw(0)).context("the CPU affinity cannot be read")?;
        let mut usable = (0..CpuSet::count()).filter(|&core| allowed.is_set(core).unwrap_or(false));
        let cores = usable.next().zip(usable.next()).map(|(first, second)| [first, second]);
        Ok(Starter { folder: folder.to_owned(), allowed, cores, count: AtomicU64::new(0) })
    }

    /// Starts `command` at `place`.
    pub(crate) fn start(&self, command: &mut Command, place: Place) -> Result<Process> {
        let program = Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned();
        let stem = format!("{}-{program}", self.count.fetch_add(1, Relaxed));
        let [out, err] = ["out", "err"].map(|end| self.folder.join(format!("{stem}.{end}")));
        command.stdin(Stdio::null()).stdout(File::create(&out)?).stderr(File::create(&err)?);
        // Settings of the user's shell are not those of the benchmark.
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("LON_")) {
            command.env_remove(name);
        }
        command.env("RUST_LOG", "warn");
        // A child inherits the affinity of the thread that starts it.
        self.hold(place)?;
        let child = command.spawn().with_context(|| format!("{program} cannot be started"));
        self.hold(Place::Anywhere)?;
        Ok(Process { child: child?, program, out, err, ended: None })
    }

    fn hold(&self, place: Place) -> Result<()> {
        let set = match (place, self.cores) {
            (Place::Anywhere, _) => self.allowed,
            (_, None) => bail!("pinning to separate cores needs two of them"),
            (Place::Answering, Some([core, _])) | (Place::Asking, Some([_, core])) => {
                let mut set = CpuSet::new();
                set.set(core)?;
                set
            }
        };
        sched_setaffinity(Pid::from_raw(0), &set).context("the CPU affinity cannot be set")
    }
}

/// A running process; killed when dropped.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    program: String,
    out: PathBuf,
    err: PathBuf,
    /// Exit status of the process, and its CPU seconds. Absent while the process runs.
    ended: Option<(ExitStatus, f64)>,
}

/// A process that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    /// CPU seconds over its whole life.
    pub(crate) cpu_s: f64,
    pub(crate) stdout: String,
    program: String,
    stderr: String,
}

impl Process {
    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the first line on its standard output, by which a server says that it serves.
    pub(crate) fn first_line(&mut self) -> Result<String> {
        let deadline = Instant::now() + SOON;
        loop {
            // This look comes before that at the output, so that the last output before the end is read.
            let is_running = self.is_running()?;
            if let Some((line, _)) = fs::read_to_string(&self.out)?.split_once('\n') {
                return Ok(line.to_owned());
            }
            if !is_running {
                bail!("{}: {}", self.program, complaint(&fs::read_to_string(&self.err)?));
            }
            if Instant::now() > deadline {
                bail!("{} does not say that it serves", self.program);
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Returns true while the process still runs.
    pub(crate) fn is_running(&mut self) -> Result<bool> {
        if self.ended.is_none() {
            // The children that have been waited for have used this much; what waiting for this one adds is its own.
            // Nobody else waits at the same time.
            let before_s = cpu_s(UsageWho::RUSAGE_CHILDREN)?;
            if let Some(status) = self.child.try_wait()? {
                self.ended = Some((status, cpu_s(UsageWho::RUSAGE_CHILDREN)? - before_s));
            }
        }
        Ok(self.ended.is_none())
    }

    /// Waits for its end; an error if that does not come within `limit`.
    pub(crate) fn wait(mut self, limit: Duration) -> Result<Ended> {
        let deadline = Instant::now() + limit;
        while self.is_running()? {
            if Instant::now() > deadline {
                bail!("{} was not done after {limit:.0?}", self.program);
            }
            std::thread::sleep(LOOK);
        }
        let (status, cpu_s) = self.ended.context("it runs")?;
        let [stdout, stderr] = [&self.out, &self.err].map(fs::read_to_string);
        Ok(Ended { status, cpu_s, stdout: stdout?, program: self.program.clone(), stderr: stderr? })
    }

    /// Asks it to end, and waits for that.
    pub(crate) fn stop(self) -> Result<Ended> {
        // It may have ended by itself; waiting tells.
        let _ = kill(Pid::from_raw(self.child.id().cast_signed()), Signal::SIGTERM);
        self.wait(SOON)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        for file in [&self.out, &self.err] {
            let _ = fs::remove_file(file);
        }
    }
}

impl Ended {
    /// An error with what it complained of, unless it ended with one of these exit codes.
    pub(crate) fn expect_code(self, codes: &[i32]) -> Result<Ended> {
        if self.status.code().is_some_and(|code| codes.contains(&code)) {
            return Ok(self);
        }
        bail!("{} ({}): {}", self.program, self.status, complaint(&self.stderr))
    }

    /// The number that it printed.
    pub(crate) fn number(self) -> Result<f64> {
        let ended = self.expect_code(&[0])?;
        let text = ended.stdout.trim();
        text.parse().with_context(|| format!("{} printed '{text}', not a number", ended.program))
    }
}

/// The line of its standard error that says most: the one marked as an error (usage text follows it), else the last.
fn complaint(stderr: &str) -> &str {
    let lines = || stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    lines().find(|line| line.starts_with("error:")).or_else(|| lines().next_back()).unwrap_or("it said nothing")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(command: &mut Command, place: Place) -> Result<(Process, tempfile::TempDir)> {
        let folder = tempfile::tempdir()?;
        Ok((Starter::new(folder.path())?.start(command, place)?, folder))
    }

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn outputs_and_exit_codes_are_kept() {
        let (process, _folder) = start(&mut shell("echo 4.5; echo oh >&2; exit 3"), Place::Anywhere).unwrap();
        let ended = process.wait(SOON).unwrap().expect_code(&[0, 3]).unwrap();
        assert_eq!(ended.stdout, "4.5\n");
        let error = ended.expect_code(&[0]).unwrap_err().to_string();
        assert!(error.ends_with("oh") && error.starts_with("sh "), "{error}");
    }

    #[test]
    fn a_server_that_ends_before_it_serves_says_why() {
        let (mut process, _folder) = start(&mut shell("echo no port >&2"), Place::Anywhere).unwrap();
        assert_eq!(process.first_line().unwrap_err().to_string(), "sh: no port");
        let (mut process, _folder) = start(&mut shell("echo here; sleep 100"), Place::Anywhere).unwrap();
        assert_eq!(process.first_line().unwrap(), "here");
        assert!(process.is_running().unwrap());
    }

    #[test]
    fn the_line_that_says_most() {
        assert_eq!(complaint("a log line\nit broke\n\n"), "it broke");
        assert_eq!(complaint("error: no such flag\n\nFor more information, try '--help'.\n"), "error: no such flag");
        assert_eq!(complaint(""), "it said nothing");
    }
}
