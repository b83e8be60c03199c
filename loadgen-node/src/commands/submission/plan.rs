//! `submission plan`: every run with the time it takes, and the rules that are broken already.

use clap::Parser as _;

use super::super::io::{print_in, print_text};
use crate::cli::{Asked, Cli, Command, Format};
use crate::division::{Division, Findings};
use crate::exit::{Exit, Failure, OrExit as _, Outcome};
use crate::outputs::documents::submission_plan::{BrokenRule, PlanFault, PlannedRun, SCHEMA, SubmissionPlan};
use crate::submission::checked::Submission;
use crate::submission::division::SubmissionDivision;
use crate::submission::kind::Kind;
use crate::submission::record::{State, state};
use crate::submission::score;
use crate::submission::step::Step;
use crate::test_run::{Test, TestSpec};
use loadgen::plan::predict::Prediction;

/// The rule that every rehearsal breaks.
const BROKEN_BY_REHEARSALS: &str = "run_duration";

/// Prints the plan. A run that cannot be made makes exit code 2, else a rule that is broken exit code 3.
pub(super) fn plan(submission: &Submission, form: Format) -> Outcome {
    let mut plan = SubmissionPlan {
        schema: SCHEMA,
        division: submission.division.name().to_owned(),
        round: submission.rules.round.name.to_owned(),
        rehearsal: submission.rehearsal.is_some(),
        runs: Vec::new(),
        faults: Vec::new(),
        broken_rules: Vec::new(),
        unscored: Vec::new(),
        fill_in: submission.fill_in.clone(),
    };
    // A message about a benchmark would come again for each of its runs, so each message is logged once.
    let once = lon_shell::log::once();
    for step in submission.steps() {
        step.write_inputs().or_exit(Exit::Usage)?;
        match spec(&step).and_then(Test::new) {
            Ok(test) => add(&mut plan, &step, &test)?,
            Err(failure) => add_fault(&mut plan.faults, &step, &failure),
        }
    }
    drop(once);
    print_in(form, &plan, || print_text(&plan.text()), || plan.table())?;
    if !plan.faults.is_empty() {
        let told = format!("{} runs cannot be made yet: see MISSING, in JSON `faults`", plan.missing());
        return Err(anyhow::anyhow!(told)).or_exit(Exit::Usage);
    }
    Ok(if plan.broken_rules.is_empty() { Exit::Ok } else { Exit::Invalid })
}

/// Adds a run that can be made.
fn add(plan: &mut SubmissionPlan, step: &Step<'_>, test: &Test) -> Outcome<()> {
    plan.runs.push(planned(step, test.predicted()?));
    if score::is_needed(step.kind) && !(score::is_printed(step.entry) && test.has_labels()) {
        plan.unscored.push(score::by_official_script(step));
    }
    // Compliance runs have settings that no result may have.
    if step.submission.division == SubmissionDivision::Network && !matches!(step.kind, Kind::Compliance(_)) {
        add_broken(&mut plan.broken_rules, step, &test.findings());
    }
    Ok(())
}

/// Adds why a run cannot be made, once for all runs.
fn add_fault(known: &mut Vec<PlanFault>, step: &Step<'_>, failure: &Failure) {
    let line = failure.one_line();
    let why = format!("{}: {line}", step.place_of(&line));
    match known.iter_mut().find(|fault| fault.why == why) {
        Some(fault) => fault.runs.push(step.to_string()),
        None => known.push(PlanFault { runs: vec![step.to_string()], why }),
    }
}

/// The test that a step's command asks for, without what other runs have to make first. Rules are looked at here, so
/// that none is refused.
pub(super) fn spec(step: &Step<'_>) -> Outcome<TestSpec> {
    let words = std::iter::once("loadgen-node".to_owned()).chain(step.command(false));
    let cli = Cli::try_parse_from(words).map_err(|error| {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        anyhow::anyhow!("{step}: {first}")
    });
    let Command::Run(args) = cli.or_exit(Exit::Usage)?.command else {
        return Err(anyhow::anyhow!("{step} is no run")).or_exit(Exit::Bug);
    };
    match args.check()? {
        Asked::Test { spec, .. } => Ok(TestSpec { division: Division::None, ..*spec }),
        Asked::Advice(_) => Err(anyhow::anyhow!("{step}: compression = \"auto\" is advice, and no run")),
    }
    .or_exit(Exit::Usage)
}

fn planned(step: &Step<'_>, predicted: Prediction) -> PlannedRun {
    let Prediction { duration_s, samples, .. } = predicted;
    let (done, why) = match state(step) {
        State::Done => (true, None),
        State::Missing => (false, None),
        State::Stale(why) | State::Unscored(why) => (false, Some(why)),
    };
    let folder = step.folder().display().to_string();
    PlannedRun { name: step.to_string(), folder, command: step.words(), done, why, duration_s, samples }
}

/// Adds the rules that are broken here. A rehearsal is short by intent.
fn add_broken(known: &mut Vec<BrokenRule>, step: &Step<'_>, findings: &Findings) {
    for (finding, why) in findings.broken() {
        let (id, section) = (finding.rule.id.to_owned(), finding.rule.section.to_owned());
        if step.submission.rehearsal.is_some() && id == BROKEN_BY_REHEARSALS {
            continue;
        }
        match known.iter_mut().find(|rule| rule.id == id && rule.why == why) {
            Some(rule) => rule.runs.push(step.to_string()),
            None => known.push(BrokenRule { runs: vec![step.to_string()], id, section, why: why.to_owned() }),
        }
    }
}
