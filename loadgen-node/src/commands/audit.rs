//! The command `audit`: finished runs held to a compliance test.

use std::path::Path;

use anyhow::{Context as _, anyhow};
use loadgen::conf::rules::{RULES, Rules};
use loadgen::official::ACCURACY_FILE;
use lon_qsl::benchmark::Benchmark;

use super::io::{path_text, print_in, print_text};
use super::scorer;
use super::second_chance;
use crate::cli::AuditArgs;
use lon_run::audit::second_chance::{Near, SecondChance};
use lon_run::audit::{
    AccuracyRunFacts, AuditTest, Findings, config, custom, test01, test04, test05, test06, test07, test08, test09,
};
use lon_run::exit::{Exit, OrExit as _, Outcome};
use lon_run::outputs::documents::audit_result::{AuditResult, Folders};
use lon_run::outputs::logs::audit_folder;

/// Judges a compliance test, or prints what belongs to it.
pub(crate) fn audit(args: &AuditArgs) -> Outcome {
    args.check().map_err(|message| anyhow!(message)).or_exit(Exit::Usage)?;
    if args.explain {
        return print_text(args.name.explanation());
    }
    let benchmark = args.benchmark.as_deref().map(name_of).transpose()?;
    if args.print_conf {
        return print_text(&config(args.name, benchmark));
    }
    let Some(test) = &args.test else { return Err(anyhow!("--test is needed")).or_exit(Exit::Usage) };
    if let Some(out) = &args.out {
        audit_folder::free(out, args.name).or_exit(Exit::Usage)?;
    }
    let run = audit_folder::run(test, args.name.keeps_answers()).or_exit(Exit::Usage)?;
    if args.name.keeps_answers() && run.answers.is_none() {
        let (name, folder) = (args.name, path_text(test));
        let error = anyhow!("{folder} has no {ACCURACY_FILE}: without it the script of {name} ends without a verdict");
        return Err(error).or_exit(Exit::Usage);
    }
    let folders = Folders { run: path_text(test), ..Folders::default() };
    let (findings, folders) = match (args.name.has_reference(), &args.reference) {
        (false, _) => (alone(args, benchmark, &run)?, folders),
        (true, Some(reference)) => {
            against(args, reference, &run, Folders { reference: Some(path_text(reference)), ..folders })?
        }
        (true, None) => return Err(anyhow!("{} needs --reference", args.name)).or_exit(Exit::Usage),
    };
    let result = AuditResult::new(&findings, folders);
    if let Some(out) = &args.out {
        audit_folder::write(out, &findings, &result, &run).or_exit(Exit::Usage)?;
    }
    print_in(args.form.check(), &result, || print_text(&result.text()), || result.table())?;
    Ok(if result.passed() { Exit::Ok } else { Exit::Invalid })
}

/// The name of a benchmark, which may be given by the name that the official submission checker has for it.
fn name_of(text: &str) -> Outcome<&'static str> {
    let is_so = |benchmark: &&Benchmark| {
        let named =
            |rules: &Rules| benchmark.official(rules.round.name).iter().any(|official| official.checker == text);
        RULES.iter().any(named)
    };
    let benchmark = Benchmark::named(text).or_else(|error| Benchmark::all().iter().find(is_so).ok_or(error));
    benchmark.map(|benchmark| benchmark.name).or_exit(Exit::Usage)
}

/// The tests that hold a run against a reference.
fn against(
    args: &AuditArgs,
    reference: &Path,
    test: &audit_folder::RunFiles,
    folders: Folders,
) -> Outcome<(Findings, Folders)> {
    let before = audit_folder::run(reference, false).or_exit(Exit::Usage)?;
    match args.name {
        AuditTest::Test04 => return Ok((test04::judge(&before.run, &test.run), folders)),
        AuditTest::Test05 => return Ok((test05::judge(&before.run, &test.run), folders)),
        AuditTest::Custom => return Ok((custom::judge(&before.run, &test.run), folders)),
        _ => {}
    }
    let (accuracy, folder) =
        audit_folder::accuracy_run(reference, args.accuracy_run.as_deref()).or_exit(Exit::Usage)?;
    let folders = Folders { accuracy_run: Some(path_text(&folder)), ..folders };
    if args.name == AuditTest::Test08 {
        return Ok((test08::judge(&before.run, &accuracy, &test.run), folders));
    }
    let mut inputs = test01::Inputs {
        reference: &before.run,
        accuracy: &accuracy,
        test: &test.run,
        dtype: args.dtype,
        unix_mode: args.unixmode,
        second: None,
    };
    let findings = test01::judge(&inputs);
    if !args.nondeterministic || !test01::differs(&findings) {
        return Ok((findings, folders));
    }
    inputs.second = second(args, &accuracy, &folder, test);
    Ok((test01::judge(&inputs), folders))
}

/// The scores of both logs, where answers differ. None: the test has logged no answers.
fn second(
    args: &AuditArgs,
    accuracy: &AccuracyRunFacts,
    accuracy_folder: &Path,
    test: &audit_folder::RunFiles,
) -> Option<Result<(SecondChance, Vec<Near>), String>> {
    let answers = test.run.answers.as_ref().filter(|answers| !answers.is_empty())?;
    let runs = second_chance::Runs {
        accuracy,
        accuracy_folder,
        test: answers,
        test_log: test.answers.as_deref()?,
        scorer: args.scorer.as_deref(),
        checker: args.benchmark.as_deref(),
    };
    Some(runs.scored().map_err(|why| format!("{why:#} (--scorer CMD scores both)")))
}

/// The tests that look at one run.
fn alone(args: &AuditArgs, benchmark: Option<&str>, test: &audit_folder::RunFiles) -> Outcome<Findings> {
    match args.name {
        AuditTest::Test06 => {
            let inputs = test06::Inputs { test: &test.run, dtype: args.dtype, end: args.eos_token_id };
            Ok(test06::judge(&inputs))
        }
        AuditTest::Test07 => {
            let least = args.min_accuracy.or_else(|| test07::least_of(benchmark?));
            let (Some(command), Some(least)) = (&args.scorer, least) else {
                let error =
                    anyhow!("TEST07 needs --scorer, and --min-accuracy or a --benchmark with an official value");
                return Err(error).or_exit(Exit::Usage);
            };
            Ok(test07::judge(&test.run, score(command, test)?, least))
        }
        _ => {
            let bounds = args.min_output_tokens.zip(args.max_output_tokens);
            let bounds = bounds.map(|(least, most)| test09::Bounds { least, most });
            let Some(bounds) = bounds.or_else(|| test09::Bounds::of(benchmark?)) else {
                let message =
                    "TEST09 needs --min-output-tokens and --max-output-tokens, or a --benchmark with official ones";
                return Err(anyhow!(message)).or_exit(Exit::Usage);
            };
            Ok(test09::judge(&test.run, bounds, args.dtype))
        }
    }
}

/// The score that a command of the user's gives to all answers of a run.
fn score(command: &str, test: &audit_folder::RunFiles) -> Outcome<f64> {
    let Some(log) = &test.answers else {
        return Err(anyhow!("the run has no accuracy log: was it made with the config file of TEST07?"))
            .or_exit(Exit::Usage);
    };
    let subject = || format!("the scorer '{command}'");
    let scores = scorer::printed(command, log).with_context(subject).or_exit(Exit::Usage)?;
    let metric = test07::METRIC;
    let score = scores.get(metric).ok_or_else(|| anyhow!("printed no '{metric}'")).with_context(subject);
    score.copied().or_exit(Exit::Usage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn benchmarks_have_two_names_and_no_other() {
        let name = |text: &str| name_of(text).ok();
        assert_eq!([name("3d-unet"), name("3d-unet-99"), name("3d-unet-99.9")], [Some("3d-unet"); 3]);
        assert_eq!([name("yolo-95"), name("SDXL")], [Some("yolo"), Some("stable-diffusion-xl")]);
        assert_eq!(name("resnet5O"), None);
    }
}
