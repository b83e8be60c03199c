//! `submission run`: the runs and their audits, each as a command of its own, as a person would type it. What went well
//! and still counts is not made again, so that a broken submission goes on where it was.

use std::ffi::OsString;
use std::fs;
use std::process::{Command, Stdio};

use anyhow::{Context as _, anyhow};

use super::super::io::print_text;
use crate::jobs::commands::{Commands, exit_of};
use crate::jobs::old_folder::set_aside;
use crate::submission::checked::{Engine, Submission};
use crate::submission::kind::Kind;
use crate::submission::record::{self, State};
use crate::submission::run_result::SCORE_FILE;
use crate::submission::score::{SUBSET_FILE, is_printed};
use crate::submission::step::Step;
use lon_run::audit::AuditTest;
use lon_run::exit::{Exit, Failure, OrExit as _, Outcome};
use lon_run::test_run::Test;

/// Makes every run that is not there.
pub(super) fn make(submission: &Submission) -> Outcome {
    submission.refuse_placeholders().or_exit(Exit::Usage)?;
    let steps = submission.steps();
    // A fault of a later run is reported before the first run takes its time.
    for step in &steps {
        super::plan::spec(step)?;
    }
    let commands = Commands::new().context("cannot handle signals").or_exit(Exit::Bug)?;
    let maker = Maker { commands };
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
        maker.make(step)?;
        if let State::Unscored(what) = record::state(step) {
            return Err(anyhow!(what)).or_exit(Exit::Usage);
        }
    }
    print_text("All runs are there. `loadgen-node submission build` makes the folders of them.\n")
}

/// The reason for which a run is refused, where a look at its flags and its dataset shows the reason.
fn refusal(step: &Step<'_>) -> String {
    match super::plan::spec(step).and_then(Test::new) {
        Ok(_) => String::new(),
        Err(failure) => format!(": {}", step.placed(&failure.one_line())),
    }
}

/// Makes the runs by commands of this program and of others.
struct Maker {
    commands: Commands,
}

impl Maker {
    /// Makes one run with all that belongs to it.
    fn make(&self, step: &Step<'_>) -> Outcome<()> {
        step.write_inputs().or_exit(Exit::Usage)?;
        let folder = step.folder();
        self.run(step, &self.command_line(step), Stdio::inherit()).map_err(|failure| {
            // A run that is refused leaves no folder.
            let message = match folder.is_dir() {
                true => format!("{step}: its result and reasons are in {}", folder.display()),
                false => format!("{step} was refused{}", refusal(step)),
            };
            Failure { error: failure.error.context(message), ..failure }
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
        let Some(command) = step.audit_command() else { return Ok(()) };
        let earlier = step.audits().join(step.kind.name());
        if earlier.symlink_metadata().is_ok() {
            set_aside(&earlier).or_exit(Exit::Usage)?;
        }
        self.run(step, &self.commands.own(&command), Stdio::inherit())?;
        match step.kind {
            Kind::Compliance(AuditTest::Test01) if is_printed(step.entry) => self.score(step, SUBSET_FILE),
            _ => Ok(()),
        }
    }

    /// The program and the words that make a run.
    fn command_line(&self, step: &Step<'_>) -> Vec<OsString> {
        match step.submission.engine {
            Engine::Own => self.commands.own(&step.command_line()),
            Engine::Official(_) => step.command_line().into_iter().map(OsString::from).collect(),
        }
    }

    /// Lets the answers that a run has logged be scored, into a file. Some datasets can only be scored as a whole: then
    /// no score of a part is left, and the state of the step says what is to be done. A target that is missed is seen
    /// when the run is judged.
    fn score(&self, step: &Step<'_>, name: &str) -> Outcome<()> {
        let command = ["accuracy".to_owned(), "--json".to_owned(), step.folder().display().to_string()];
        let path = step.folder().join(name);
        let file = fs::File::create(&path).with_context(|| format!("cannot write {}", path.display()));
        match self.run(step, &self.commands.own(&command), file.or_exit(Exit::Usage)?.into()) {
            Err(failure) if failure.exit == Exit::Invalid => Ok(()),
            Err(failure) if failure.exit == Exit::Usage => {
                fs::remove_file(&path).with_context(|| path.display().to_string()).or_exit(Exit::Usage)
            }
            other => other,
        }
    }

    /// Starts a command and waits for its end.
    fn run(&self, step: &Step<'_>, command_line: &[OsString], stdout: Stdio) -> Outcome<()> {
        let Some((program, flags)) = command_line.split_first() else { return Ok(()) };
        let program_text = program.display();
        let mut child = Command::new(program)
            .args(flags)
            .stdin(Stdio::null())
            .stdout(stdout)
            .spawn()
            .with_context(|| format!("cannot start {program_text}: `submission plan` says how to get it"))
            .or_exit(Exit::Usage)?;
        let status = self.commands.wait(&mut child).context("cannot wait for a command").or_exit(Exit::Bug)?;
        let own = flags.first().filter(|_| self.commands.is_own(program));
        let command = own.map_or_else(|| program_text.to_string(), |word| word.display().to_string());
        match exit_of(status) {
            // Programs with the official LoadGen end by the signal itself.
            Some(Exit::Ok) | None if self.commands.is_stopped() => {
                Err(anyhow!("{step}: stopped; the next `submission run` continues here")).or_exit(Exit::Interrupted)
            }
            Some(Exit::Ok) => Ok(()),
            other => Err(anyhow!(
                "{step}: `{command}` ended with {status}; stopped, and the next `submission run` repeats this step"
            ))
            .or_exit(other.unwrap_or(Exit::Bug)),
        }
    }
}
