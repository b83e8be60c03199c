//! `campaign run`: the runs of a campaign, each by a command of this program. A run that has ended is not made again.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};

use super::fleet_nodes::FleetNodes;
use super::links::{LINKS_LOG, Links};
use super::nodes::{Hosts, Nodes, Place};
use super::progress::Progress;
use crate::campaign::checked::Campaign;
use crate::campaign::jobs::Job;
use crate::campaign::record::{self, Ended, LOG, State};
use crate::cli::CampaignRunArgs;
use crate::jobs::commands::Commands;
use crate::jobs::guard::{Guard, Lock};
use crate::jobs::log::last_words;
use crate::jobs::old_folder::set_aside;
use lon_run::exit::{Exit, OrExit as _, Outcome};
use lon_run::outputs::documents::campaign::PlannedRun;
use lon_run::outputs::documents::campaign_run::{CampaignRun, CellOutcome};
use lon_run::outputs::documents::result_summary::Validity;

/// Makes every run that has not ended. `fleet` is the absolute path of the fleet file.
pub(super) fn run(campaign: &Campaign, args: &CampaignRunArgs, fleet: Option<&Path>) -> Outcome {
    let out = &campaign.out;
    let cell =
        args.cell.as_deref().map(|cell| campaign.cell(cell)).transpose().context("--cell").or_exit(Exit::Usage)?;
    let place = match fleet {
        Some(file) => Place::Fleet(FleetNodes::read(file).or_exit(Exit::Usage)?),
        None => Place::Hosts(Hosts::new(&args.hosts, args.launch.as_deref()).or_exit(Exit::Usage)?),
    };
    let frozen = campaign.frozen().or_exit(Exit::Usage)?;
    let is_new = frozen.is_none();
    let plan = match frozen {
        Some(plan) => plan,
        None => campaign.plan()?,
    };
    let part = out.join(cell.map(|cell| cell.name.as_str()).unwrap_or_default());
    std::fs::create_dir_all(&part).with_context(|| format!("cannot make {}", part.display())).or_exit(Exit::Usage)?;
    let lock = if cell.is_some() { Lock::of_part(out, &part) } else { Lock::of(out) }.or_exit(Exit::Usage)?;
    if is_new {
        campaign.freeze(&plan).or_exit(Exit::Usage)?;
    }
    let commands = Commands::new().context("cannot handle signals").or_exit(Exit::Bug)?;
    let jobs = campaign.jobs().into_iter().zip(&plan.runs);
    let jobs: Vec<(Job<'_>, &PlannedRun)> =
        jobs.filter(|(job, _)| cell.is_none_or(|cell| cell.name == job.cell.name)).collect();
    let mut maker = Maker {
        campaign,
        commands: &commands,
        lock: &lock,
        nodes: Nodes::new(&commands, &lock, place),
        progress: Progress::new(jobs.iter().map(|(_, planned)| *planned), args.json),
        links: Links::new(&commands, out.join(LINKS_LOG)),
        retry_failed: args.retry_failed,
        failures: 0,
        not_valid: 0,
    };
    maker.make_all(&jobs)
}

/// The state of a campaign that runs.
struct Maker<'a> {
    campaign: &'a Campaign,
    commands: &'a Commands,
    lock: &'a Lock,
    nodes: Nodes<'a>,
    progress: Progress,
    links: Links<'a>,
    retry_failed: bool,
    /// Runs that came to no result, since this command began.
    failures: u32,
    /// Runs that are not VALID.
    not_valid: usize,
}

impl Maker<'_> {
    fn make_all(&mut self, jobs: &[(Job<'_>, &PlannedRun)]) -> Outcome {
        let start = Instant::now();
        for (job, planned) in jobs {
            if self.is_kept(&record::state(&self.campaign.out, &job.place()).or_exit(Exit::Usage)?) {
                self.progress.skip(planned);
            }
        }
        for (job, planned) in jobs {
            let note = match self.state(job)? {
                Before::Ended(run) => {
                    self.count(&run);
                    continue;
                }
                Before::Nothing => String::new(),
                Before::Aside(note) => note,
            };
            if let Some(why) = self.limit(start.elapsed()) {
                let message = format!("stopped: {why}; runs left: {}", self.progress.remaining_runs());
                return Err(anyhow!(message)).or_exit(Exit::Invalid);
            }
            let Some(run) = self.make(job)? else {
                let error = anyhow!("stopped; the next `campaign run` continues here");
                return Err(error).or_exit(Exit::Interrupted);
            };
            record::keep(job, &run).or_exit(Exit::Bug)?;
            self.failures += u32::from(run.outcome == CellOutcome::Failed);
            self.count(&run);
            self.progress.ended(planned, &run, &note)?;
        }
        self.nodes.end();
        match self.not_valid {
            0 => self.progress.end("All runs are VALID. `loadgen-node campaign table FILE` prints their table."),
            count => {
                self.progress.end(&format!(
                    "Runs that are not VALID: {count}. `loadgen-node campaign table FILE` has the reasons."
                ))?;
                Ok(Exit::Invalid)
            }
        }
    }

    /// Looks at what is in the place of a run. A folder of a run that did not end is set aside.
    fn state(&self, job: &Job<'_>) -> Outcome<Before> {
        let state = record::state(&self.campaign.out, &job.place()).or_exit(Exit::Usage)?;
        let is_kept = self.is_kept(&state);
        match state {
            State::Ended(run) if is_kept => Ok(Before::Ended(run)),
            State::Ended(_) | State::Unfinished if job.folder().symlink_metadata().is_ok() => {
                let aside = set_aside(&job.folder()).or_exit(Exit::Usage)?;
                Ok(Before::Aside(format!(" (an earlier folder is in {})", aside.display())))
            }
            State::Ended(_) | State::Unfinished | State::Missing => Ok(Before::Nothing),
        }
    }

    /// Returns true for a run that is not made again.
    fn is_kept(&self, state: &State) -> bool {
        match state {
            State::Ended(run) => run.outcome == CellOutcome::Result || !self.retry_failed,
            State::Missing | State::Unfinished => false,
        }
    }

    /// Why no further run starts.
    fn limit(&self, elapsed: Duration) -> Option<String> {
        let stop = self.campaign.stop;
        let by_failures = stop.failures.filter(|most| self.failures >= *most);
        let by_failures = by_failures.map(|most| format!("{most} runs came to no result (stop.failures)"));
        let by_time = stop.time.filter(|most| elapsed >= *most).map(|_| "its time is over (stop.hours)".to_owned());
        by_failures.or(by_time)
    }

    fn count(&mut self, run: &CampaignRun) {
        self.not_valid += usize::from(run.result != Some(Validity::Valid));
    }

    /// Makes a run. None: a signal asks for an end.
    fn make(&mut self, job: &Job<'_>) -> Outcome<Option<CampaignRun>> {
        let (started_utc, start) = (now_utc(), Instant::now());
        let ended = |exit_code, reason: String| Ended { started_utc, wall: start.elapsed(), exit_code, reason };
        if let Some(why) = self.skips(job)? {
            let none = Duration::ZERO;
            return Ok(Some(record::of_skipped(job, &Ended { wall: none, ..ended(None, why) })));
        }
        match job.cell.link.as_deref().map(|command| self.links.set(command)).transpose() {
            Ok(_) => {}
            Err(_) if self.commands.is_stopped() => return Ok(None),
            Err(why) => return Ok(Some(record::of_command(job, &ended(None, format!("{why:#}"))))),
        }
        let logs = self.campaign.out.join(&job.cell.name);
        let sut = job.cell.nodes.as_ref().map(|setup| self.nodes.with(setup, &logs)).transpose();
        let sut = match sut {
            Ok(sut) => sut,
            Err(_) if self.commands.is_stopped() => return Ok(None),
            Err(why) => return Ok(Some(record::of_command(job, &ended(None, format!("{why:#}"))))),
        };
        let (exit_code, reason) = self.command(job, sut.as_deref()).or_exit(Exit::Bug)?;
        if self.commands.is_stopped() {
            return Ok(None);
        }
        let run = record::of_command(job, &ended(exit_code, reason));
        if run.outcome == CellOutcome::Failed {
            // The next run begins with nodes that nothing has happened to.
            self.nodes.end();
        }
        Ok(Some(run))
    }

    /// Why a run is not made, by the accuracy run of its cell.
    fn skips(&self, job: &Job<'_>) -> Outcome<Option<String>> {
        let Some(accuracy) = job.accuracy() else { return Ok(None) };
        match record::state(&self.campaign.out, &accuracy.place()).or_exit(Exit::Usage)? {
            State::Ended(run) => Ok(run.misses_target()),
            State::Missing | State::Unfinished => Ok(None),
        }
    }

    /// Starts the command of a run with its output in a log, and waits. The exit code, and why there is no result.
    fn command(&self, job: &Job<'_>, sut: Option<&str>) -> Result<(Option<i32>, String)> {
        let log = job.side_file(LOG);
        let above = log.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(above).with_context(|| format!("cannot make {}", above.display()))?;
        let file = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        let command_line = self.commands.own(&job.command(sut));
        let (program, flags) = command_line.split_first().context("a run has no words")?;
        let mut child = Command::new(program)
            .args(flags)
            .stdin(Stdio::null())
            .stdout(file.try_clone().context("cannot share a log")?)
            .stderr(file)
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let guard = Guard::over(&child, self.lock).context("cannot watch over a run");
        let status = self.commands.wait(&mut child).context("cannot wait for a run")?;
        drop(guard?);
        let reason = match status.code() {
            Some(_) => last_words(&log),
            None => format!("the run ended with {status}"),
        };
        Ok((status.code(), reason))
    }
}

/// Content of the place of a run before it is made.
enum Before {
    Ended(Box<CampaignRun>),
    Nothing,
    /// The folder was set aside, which a note says.
    Aside(String),
}

fn now_utc() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
