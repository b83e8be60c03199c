//! `submission plan`: every run with the time it takes, and the rules that are broken already.

use clap::Parser as _;

use super::super::io::{print_in, print_text};
use crate::cli::{Cli, Command, Format, RunRequest};
use crate::submission::checked::Submission;
use crate::submission::division::SubmissionDivision;
use crate::submission::kind::Kind;
use crate::submission::record::{State, state};
use crate::submission::score;
use crate::submission::step::Step;
use loadgen::plan::predict::Prediction;
use lon_run::division::{Division, Findings};
use lon_run::exit::{Exit, Failure, OrExit as _, Outcome};
use lon_run::outputs::documents::submission_plan::{BrokenRule, PlanFault, PlannedRun, SCHEMA, SubmissionPlan};
use lon_run::test_run::{Test, TestSpec, findings_without_samples, predicted_without_samples};

/// The rule that every rehearsal breaks.
const BROKEN_BY_REHEARSALS: &str = "run_duration";

/// Prints the plan. A run that cannot be made makes exit code 2, else a rule that is broken exit code 3.
pub(super) fn plan(submission: &Submission, form: Format) -> Outcome {
    let mut plan = SubmissionPlan {
        schema: SCHEMA,
        division: submission.division.name().to_owned(),
        round: submission.rules.round.name.to_owned(),
        engine: submission.engine.label(),
        rehearsal: submission.rehearsal.is_some(),
        runs: Vec::new(),
        faults: Vec::new(),
        broken_rules: Vec::new(),
        unscored: Vec::new(),
        fill_in: submission.fill_in.clone(),
        scenarios: submission.wrong_scenarios(),
    };
    // A message about a benchmark would come again for each of its runs, so each message is logged once.
    let once = lon_shell::log::once();
    let steps = submission.steps();
    for step in &steps {
        step.write_inputs().or_exit(Exit::Usage)?;
        let added = spec(step).and_then(|spec| match Test::new(spec.clone()) {
            Ok(test) => add(&mut plan, step, &test),
            Err(failure) => {
                // The rules on settings need no samples, and the benchmark says how many samples its dataset has.
                plan.runs.extend(predicted_without_samples(&spec).ok().map(|predicted| planned(step, predicted)));
                add_rules(&mut plan, step, || findings_without_samples(&spec))?;
                Err(Failure { error: placed(step, &failure.one_line()), ..failure })
            }
        });
        if let Err(failure) = added {
            add_fault(&mut plan.faults, step, failure.one_line());
        }
    }
    drop(once);
    if let Some(why) = submission.lacks_program() {
        let is_open = |step: &&Step<'_>| state(step) != State::Done;
        steps.iter().filter(is_open).for_each(|step| add_fault(&mut plan.faults, step, why.clone()));
    }
    print_in(form, &plan, || print_text(&plan.text()), || plan.table())?;
    if !plan.faults.is_empty() {
        let message = format!("{} runs cannot be made yet: see FAULT, in JSON `faults`", plan.missing());
        return Err(anyhow::anyhow!(message)).or_exit(Exit::Usage);
    }
    submission.refuse_placeholders().or_exit(Exit::Usage)?;
    Ok(if plan.broken_rules.is_empty() && plan.scenarios.is_empty() { Exit::Ok } else { Exit::Invalid })
}

/// Adds a run that can be made.
fn add(plan: &mut SubmissionPlan, step: &Step<'_>, test: &Test) -> Outcome<()> {
    plan.runs.push(planned(step, test.predicted()?));
    let no_labels = (!test.has_labels()).then(|| "the dataset has no labels".to_owned());
    if let Some(why) = score::not_printed(step.entry).or(no_labels).filter(|_| score::is_needed(step.kind)) {
        plan.unscored.push(score::by_official_script(step, &why));
    }
    add_rules(plan, step, || Ok(test.findings()))
}

/// Adds the rules that a run breaks. Compliance runs have settings that no result may have.
fn add_rules(plan: &mut SubmissionPlan, step: &Step<'_>, findings: impl FnOnce() -> Outcome<Findings>) -> Outcome<()> {
    if step.submission.division == SubmissionDivision::Network && !matches!(step.kind, Kind::Compliance(_)) {
        add_broken(&mut plan.broken_rules, step, &findings()?);
    }
    Ok(())
}

/// An error of a run by the place in the submission's file that it is about.
fn placed(step: &Step<'_>, line: &str) -> anyhow::Error {
    anyhow::anyhow!(step.placed(line))
}

/// Adds why a run cannot be made, once for all runs.
fn add_fault(faults: &mut Vec<PlanFault>, step: &Step<'_>, why: String) {
    match faults.iter_mut().find(|fault| fault.why == why) {
        Some(fault) => fault.runs.push(step.to_string()),
        None => faults.push(PlanFault { runs: vec![step.to_string()], why }),
    }
}

/// The test that a step's command asks for, without what other runs have to make first. Rules are looked at here, so
/// that none is refused.
pub(super) fn spec(step: &Step<'_>) -> Outcome<TestSpec> {
    let arguments = std::iter::once("loadgen-node".to_owned()).chain(step.command(false));
    let cli = Cli::try_parse_from(arguments).map_err(|error| {
        let text = error.to_string();
        placed(step, text.lines().next().unwrap_or_default().trim_start_matches("error: "))
    });
    let Command::Run(args) = cli.or_exit(Exit::Usage)?.command else {
        return Err(anyhow::anyhow!("{step} is no run")).or_exit(Exit::Bug);
    };
    let request = args.check().map_err(|failure| Failure { error: placed(step, &failure.one_line()), ..failure });
    match request? {
        RunRequest::Test { spec, .. } => Ok(TestSpec { division: Division::None, ..*spec }),
        RunRequest::Advice(_) => Err(placed(step, "--compression=auto is advice, and no run")),
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
    PlannedRun { name: step.to_string(), folder, command: step.command_line(), done, why, duration_s, samples }
}

/// Adds the rules that are broken here. A rehearsal is short by intent.
fn add_broken(broken_rules: &mut Vec<BrokenRule>, step: &Step<'_>, findings: &Findings) {
    for (finding, why) in findings.broken() {
        let (id, section) = (finding.rule.id.to_owned(), finding.rule.section.to_owned());
        if step.submission.rehearsal.is_some() && id == BROKEN_BY_REHEARSALS {
            continue;
        }
        let why = step.with_lines(why);
        match broken_rules.iter_mut().find(|rule| rule.id == id && rule.why == why) {
            Some(rule) => rule.runs.push(step.to_string()),
            None => broken_rules.push(BrokenRule { runs: vec![step.to_string()], id, section, why }),
        }
    }
}
