//! `submission run`: the runs and their audits, each as a command of its own, as a person would type it. What went well
//! and still counts is not made again, so that a broken submission goes on where it was.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use signal_hook::consts::{SIGINT, SIGTERM};

use super::super::io::print_text;
use crate::audit::AuditTest;
use crate::exit::{Exit, Failure, OrExit as _, Outcome};
use crate::submission::checked::{Engine, Submission};
use crate::submission::kind::Kind;
use crate::submission::made::SCORE_FILE;
use crate::submission::record::{self, State};
use crate::submission::score::{SUBSET_FILE, is_printed};
use crate::submission::step::Step;

/// Interval at which a started command is checked.
const LOOK: Duration = Duration::from_millis(50);

/// Makes every run that is not there.
pub(super) fn make(submission: &Submission) -> Outcome {
    let steps = submission.steps();
    // A fault of a later run is reported before the first run takes its time.
    for step in &steps {
        super::plan::spec(step)?;
    }
    let commands = Commands::new().context("cannot handle signals").or_exit(Exit::Bug)?;
    for (number, step) in (1..).zip(&steps) {
        let head = format!("[{number}/{}] {step}", steps.len());
        match record::state(step) {
            State::Done => {
                print_text(&format!("{head}: done\n"))?;
                continue;
            }
            State::Missing => print_text(&format!("{head}\n"))?,
            // Nothing would come of another run.
            State::Unscored(what) => return Err(anyhow!(what)).or_exit(Exit::Usage),
            State::Stale(why) => {
                let aside = set_aside(&step.folder()).or_exit(Exit::Usage)?;
                print_text(&format!("{head}: made again: {why} (the old one is in {})\n", aside.display()))?
            }
        };
        commands.make(step)?;
        if let State::Unscored(what) = record::state(step) {
            return Err(anyhow!(what)).or_exit(Exit::Usage);
        }
    }
    print_text("All runs are there. `loadgen-node submission build` makes the folders of them.\n")
}

/// Gives a folder another name: `performance.1`. Nothing that was measured is deleted.
fn set_aside(folder: &Path) -> anyhow::Result<PathBuf> {
    let numbered = (1..).map(|number: u32| folder.with_extension(number.to_string()));
    let mut free = numbered.filter(|path| path.symlink_metadata().is_err());
    let aside = free.next().ok_or_else(|| anyhow!("no name is free beside {}", folder.display()))?;
    fs::rename(folder, &aside).with_context(|| format!("cannot rename {}", folder.display()))?;
    Ok(aside)
}

/// Starts commands of this program, and hands signals on to them.
struct Commands {
    program: PathBuf,
    /// Somebody wants all of it to end, by SIGINT.
    interrupted: Arc<AtomicBool>,
    /// The same, by SIGTERM.
    terminated: Arc<AtomicBool>,
}

impl Commands {
    fn new() -> std::io::Result<Commands> {
        let (interrupted, terminated) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        signal_hook::flag::register(SIGINT, Arc::clone(&interrupted))?;
        signal_hook::flag::register(SIGTERM, Arc::clone(&terminated))?;
        Ok(Commands { program: std::env::current_exe()?, interrupted, terminated })
    }

    /// Makes one run with all that belongs to it.
    fn make(&self, step: &Step<'_>) -> Outcome<()> {
        step.write_inputs().or_exit(Exit::Usage)?;
        let folder = step.folder();
        self.run(step, &self.led(step), Stdio::inherit()).map_err(|failure| {
            let told = format!("{step}: its result and reasons are in {}", folder.display());
            Failure { error: failure.error.context(told), ..failure }
        })?;
        match step.kind {
            Kind::Compliance(_) => self.audit(step)?,
            // The official LoadGen does not score.
            Kind::Accuracy if step.submission.engine != Engine::Own && is_printed(step.entry) => {
                self.score(step, SCORE_FILE)?;
            }
            Kind::Accuracy | Kind::Performance => {}
        }
        record::keep(step).with_context(|| step.to_string()).or_exit(Exit::Invalid)
    }

    fn audit(&self, step: &Step<'_>) -> Outcome<()> {
        let Some(words) = step.audit_command() else { return Ok(()) };
        let earlier = step.audits().join(step.kind.name());
        if earlier.symlink_metadata().is_ok() {
            set_aside(&earlier).or_exit(Exit::Usage)?;
        }
        self.run(step, &self.own(words), Stdio::inherit())?;
        match step.kind {
            Kind::Compliance(AuditTest::Test01) if is_printed(step.entry) => self.score(step, SUBSET_FILE),
            _ => Ok(()),
        }
    }

    /// The program and the words that make a run.
    fn led(&self, step: &Step<'_>) -> Vec<OsString> {
        match step.submission.engine {
            Engine::Own => self.own(step.words()),
            Engine::Official(_) => step.words().into_iter().map(OsString::from).collect(),
        }
    }

    /// This program with these words behind it.
    fn own(&self, words: Vec<String>) -> Vec<OsString> {
        let program = self.program.clone().into_os_string();
        std::iter::once(program).chain(words.into_iter().map(OsString::from)).collect()
    }

    /// Lets the answers that a run has logged be scored, into a file. Some datasets can only be scored as a whole: then
    /// no score of a part is left, and the state of the step says what is to be done. A target that is missed is seen
    /// when the run is judged.
    fn score(&self, step: &Step<'_>, name: &str) -> Outcome<()> {
        let words = ["accuracy".to_owned(), "--json".to_owned(), step.folder().display().to_string()];
        let path = step.folder().join(name);
        let file = fs::File::create(&path).with_context(|| format!("cannot write {}", path.display()));
        match self.run(step, &self.own(words.to_vec()), file.or_exit(Exit::Usage)?.into()) {
            Err(failure) if failure.exit == Exit::Invalid => Ok(()),
            Err(failure) if failure.exit == Exit::Usage => {
                fs::remove_file(&path).with_context(|| path.display().to_string()).or_exit(Exit::Usage)
            }
            other => other,
        }
    }

    /// Starts a command and waits for its end.
    fn run(&self, step: &Step<'_>, words: &[OsString], stdout: Stdio) -> Outcome<()> {
        let Some((program, flags)) = words.split_first() else { return Ok(()) };
        let shown = program.display();
        let mut child = Command::new(program)
            .args(flags)
            .stdin(Stdio::null())
            .stdout(stdout)
            .spawn()
            .with_context(|| format!("cannot start {shown}"))
            .or_exit(Exit::Usage)?;
        let status = self.wait(&mut child).context("cannot wait for a command").or_exit(Exit::Bug)?;
        let exit = [Exit::Ok, Exit::Bug, Exit::Usage, Exit::Invalid, Exit::Network, Exit::Interrupted];
        let exit = exit.into_iter().find(|exit| status.code() == Some(*exit as i32));
        let is_stopped = self.interrupted.load(SeqCst) || self.terminated.load(SeqCst);
        let own = flags.first().filter(|_| *program == *self.program.as_os_str());
        let command = own.map_or_else(|| shown.to_string(), |word| word.display().to_string());
        match exit {
            // Programs with the official LoadGen end by the signal itself.
            Some(Exit::Ok) | None if is_stopped => {
                Err(anyhow!("{step}: stopped; `submission run` goes on here")).or_exit(Exit::Interrupted)
            }
            Some(Exit::Ok) => Ok(()),
            other => Err(anyhow!("`{command}` ended with {status}; `submission run` goes on here"))
                .or_exit(other.unwrap_or(Exit::Bug)),
        }
    }

    fn wait(&self, child: &mut Child) -> std::io::Result<std::process::ExitStatus> {
        let mut is_told = false;
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            let signal = match () {
                () if self.terminated.load(SeqCst) => Some(Signal::SIGTERM),
                () if self.interrupted.load(SeqCst) => Some(Signal::SIGINT),
                () => None,
            };
            if let Some(signal) = signal.filter(|_| !is_told) {
                is_told = true;
                // Where a terminal has sent it to both, the command takes the two as one, since they come within a
                // second. It may have ended just now.
                let _ = kill(Pid::from_raw(child.id() as i32), signal);
            }
            std::thread::sleep(LOOK);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_folder_keeps_what_is_in_it() {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("performance");
        for number in 1..3 {
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("a"), number.to_string()).unwrap();
            assert_eq!(set_aside(&folder).unwrap(), above.path().join(format!("performance.{number}")));
        }
        assert_eq!(fs::read_to_string(above.path().join("performance.2/a")).unwrap(), "2");
    }
}
