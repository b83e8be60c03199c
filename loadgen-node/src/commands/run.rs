//! The command `run`: one test, from flags to run folder; several of them (`repeat`); or advice on codecs
//! (`codec_advice`).

use std::path::Path;

use anyhow::{Context as _, anyhow};
use lon_qsl::benchmark::official_scores;

use super::io::{print_json_pretty, print_text, read};
use super::test_series::{INCOMPLETE, LiveOutput, TestSeries};
use super::{codec_advice, mix, repeat};
use crate::cli::{Format, RunArgs, RunRequest, tenant_arguments};
use crate::mix::CheckedMix;
use loadgen::settings::Mode;
use lon_run::division::AccuracyRun;
use lon_run::exit::{Exit, OrExit as _, Outcome};
use lon_run::outputs::documents::repeats::Repeats;
use lon_run::outputs::documents::result_summary::{self, ResultSummary};
use lon_run::outputs::logs::own_result;
use lon_run::outputs::run_folder::folder::Place;
use lon_run::outputs::run_folder::record::Recorded;
use lon_run::outputs::screen;
use lon_run::test_run::TestSpec;

/// Does what the flags ask for.
pub(crate) fn run(args: &RunArgs) -> Outcome {
    if let Some(file) = &args.mix {
        return run_mix(args, file);
    }
    match args.check()? {
        RunRequest::Advice(spec) => codec_advice::advise(&spec, args.form()),
        RunRequest::Test { mut spec, out } => {
            let form = args.form();
            let result_form = if args.repeat.is_some() { ResultForm::Text } else { result_form(form)? };
            spec.accuracy_run = args.accuracy_run.as_deref().map(accuracy_run).transpose()?;
            let usual = || Place::usual(&args.results, spec.benchmark, spec.scenario.name());
            let place = out.map_or_else(usual, Place::At);
            let metrics = args.metrics.options(&args.dial.connection.security)?;
            let live = LiveOutput { ui: args.ui, metrics };
            match args.repeat {
                Some(count) => {
                    let repeats = Repeats::new(count, args.take);
                    repeat::repeat(*spec, &place, repeats, form, live)
                }
                None => run_test(*spec, &place, result_form, live),
            }
        }
    }
}

/// Does what the flags ask for with a file of tenants.
fn run_mix(args: &RunArgs, file: &Path) -> Outcome {
    let alone = [("--repeat", args.repeat.is_some()), ("--probe", args.probe), ("--warm-up", args.warm_up.is_some())];
    if let Some((flag, _)) = alone.into_iter().find(|(_, is_given)| *is_given) {
        return Err(anyhow!("{flag} is not for --mix: each [[tenant]] of the file is a test")).or_exit(Exit::Usage);
    }
    let checked = CheckedMix::read(file, &tenant_arguments())?;
    let place = args.out.clone().unwrap_or_else(|| Place::of_mix(&args.results));
    let metrics = args.metrics.options(&args.dial.connection.security)?;
    mix::mix(&checked, &place, args.form(), LiveOutput { ui: args.ui, metrics })
}

/// Returns the form in which the result is shown. A result is no table, so the formats of tables are an error.
fn result_form(form: Format) -> Outcome<ResultForm> {
    match form {
        Format::Text => Ok(ResultForm::Text),
        Format::Json => Ok(ResultForm::Json),
        Format::Csv | Format::Md => {
            let message = "--format csv and md are for the tables of --compression auto and --repeat; list prints runs \
                           as a table";
            Err(anyhow!(message)).or_exit(Exit::Usage)
        }
    }
}

/// Reads the facts of an accuracy run from its folder.
pub(super) fn accuracy_run(folder: &Path) -> Outcome<AccuracyRun> {
    let flag_text = || format!("--accuracy-run {}", folder.display());
    let result = own_result::read(folder).with_context(flag_text).or_exit(Exit::Usage)?;
    if !Mode::from_name(&result.mode).is_some_and(Mode::has_accuracy) {
        let mode = &result.mode;
        return Err(anyhow!("the run was {mode}; one with --mode AccuracyOnly is wanted"))
            .with_context(flag_text)
            .or_exit(Exit::Usage);
    }
    let official = folder.join("accuracy.txt");
    let official = official.exists().then(|| read(&official)).transpose()?;
    Ok(AccuracyRun { official: official.as_deref().map(official_scores), ..result.accuracy_run(folder) })
}

/// Form of a result on standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResultForm {
    /// As in `result.txt`.
    Text,
    /// As in `result_summary.json`.
    Json,
}

/// Makes one test, leaves its run folder and shows the result.
pub(crate) fn run_test(spec: TestSpec, place: &Place, form: ResultForm, live: LiveOutput) -> Outcome {
    // The place is checked before any node is contacted. The folder is made once all nodes have agreed to the run.
    place.check().or_exit(Exit::Usage)?;
    let tests = TestSeries::new(spec, live)?;
    let (recorded, stop) = tests.make(place, None)?;
    // The measured result is shown even if its files could not be written.
    let Recorded { finished, folder, written } = recorded;
    match (form, &written) {
        (ResultForm::Text, _) => screen::show(&finished, folder.path(), &written).or_exit(Exit::Bug)?,
        (ResultForm::Json, Ok(())) => drop(print_text(&read(&folder.path().join(result_summary::FILE))?)?),
        // Without the list of files, which is not complete.
        (ResultForm::Json, Err(_)) => drop(print_json_pretty(&ResultSummary::from(&finished))?),
    }
    let end_outcome = tests.end(&stop);
    written.context(INCOMPLETE).or_exit(Exit::Bug)?;
    end_outcome?;
    Ok(finished.exit())
}
