//! `submission plan`: every run with the time it takes, and the rules that are broken already.

use clap::Parser as _;

use super::super::io::{print_in, print_text};
use crate::cli::{Asked, Cli, Command, Format};
use crate::division::{Division, Findings};
use crate::exit::{Exit, Failure, OrExit as _, Outcome};
use crate::outputs::documents::submission_plan::{BrokenRule, PlannedRun, SCHEMA, SubmissionPlan};
use crate::submission::checked::Submission;
use crate::submission::kind::Kind;
use crate::submission::record::{State, state};
use crate::submission::step::Step;
use crate::test_run::{Test, TestSpec};

/// Prints the plan. A rule that is broken makes exit code 3, but in a rehearsal.
pub(super) fn plan(submission: &Submission, form: Format) -> Outcome {
    let mut plan = SubmissionPlan {
        schema: SCHEMA,
        division: submission.division.name().to_owned(),
        round: submission.rules.round.name.to_owned(),
        rehearsal: submission.rehearsal.is_some(),
        runs: Vec::new(),
        broken_rules: Vec::new(),
        fill_in: submission.fill_in.clone(),
    };
    // A message about a benchmark would come again for each of its runs, so each message is logged once.
    let once = lon_shell::log::once();
    for step in submission.steps() {
        step.write_inputs().or_exit(Exit::Usage)?;
        let test = spec(&step).and_then(Test::new).map_err(|failure| {
            let place = step.place_of(&failure.one_line());
            Failure { error: failure.error.context(place), ..failure }
        })?;
        plan.runs.push(planned(&step, test.duration_s()?));
        // Compliance runs have settings that no result may have.
        if submission.division == Division::Network && !matches!(step.kind, Kind::Compliance(_)) {
            add_broken(&mut plan.broken_rules, &step, &test.findings());
        }
    }
    drop(once);
    print_in(form, &plan, || print_text(&plan.text()), || plan.table())?;
    Ok(if plan.broken_rules.is_empty() || plan.rehearsal { Exit::Ok } else { Exit::Invalid })
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
        Asked::Test { spec, .. } => Ok(TestSpec { division: Division::Open, ..*spec }),
        Asked::Advice(_) => Err(anyhow::anyhow!("{step}: compression = \"auto\" is advice, and no run")),
    }
    .or_exit(Exit::Usage)
}

fn planned(step: &Step<'_>, duration_s: f64) -> PlannedRun {
    let (done, why) = match state(step) {
        State::Done => (true, None),
        State::Missing => (false, None),
        State::Stale(why) | State::Unscored(why) => (false, Some(why)),
    };
    let folder = step.folder().display().to_string();
    PlannedRun { name: step.to_string(), folder, command: step.words(), done, why, duration_s }
}

/// Adds the rules that are broken here and were not named before.
fn add_broken(known: &mut Vec<BrokenRule>, step: &Step<'_>, findings: &Findings) {
    for (finding, why) in findings.broken() {
        let (id, section) = (finding.rule.id.to_owned(), finding.rule.section.to_owned());
        if !known.iter().any(|rule| rule.id == id && rule.why == why) {
            known.push(BrokenRule { run: step.to_string(), id, section, why: why.to_owned() });
        }
    }
}
