//! The command `run`: one test, from flags to run folder; or advice on codecs.

use std::path::Path;

use anyhow::{Context as _, anyhow};
use lon_qsl::benchmark::official_scores;

use super::advise;
use super::io::{print_json_pretty, print_text, read};
use crate::cli::{Asked, RunArgs};
use crate::division::AccuracyRun;
use crate::exit::{Exit, OrExit as _, Outcome};
use crate::outputs::documents::result_summary::{self, ResultSummary};
use crate::outputs::folder::{FolderError, Place, RunFolder};
use crate::outputs::record::{self, Recorded};
use crate::outputs::{progress, screen};
use crate::test_run::{Test, TestSpec};
use crate::world::signals::Signals;
use loadgen::settings::Mode;

/// Does what the flags ask for.
pub(crate) fn run(args: &RunArgs) -> Outcome {
    match args.check()? {
        Asked::Advice(spec) => advise::advise(&spec),
        Asked::Test { mut spec, out } => {
            spec.accuracy_run = args.accuracy_run.as_deref().map(accuracy_run).transpose()?;
            let usual = || Place::usual(spec.benchmark, spec.scenario.name());
            let place = out.map_or_else(usual, Place::At);
            run_test(*spec, &place, if args.json { Shown::Json } else { Shown::Words })
        }
    }
}

/// What the folder of an accuracy run says of it.
pub(super) fn accuracy_run(folder: &Path) -> Outcome<AccuracyRun> {
    let told = || format!("--accuracy-run {}", folder.display());
    let path = folder.join(result_summary::FILE);
    let made: ResultSummary = serde_json::from_str(&read(&path)?).with_context(told).or_exit(Exit::Usage)?;
    if !Mode::from_name(&made.mode).is_some_and(Mode::has_accuracy) {
        let mode = &made.mode;
        return Err(anyhow!("the run was {mode}; one with --mode AccuracyOnly is wanted"))
            .with_context(told)
            .or_exit(Exit::Usage);
    }
    let official = folder.join("accuracy.txt");
    let official = official.exists().then(|| read(&official)).transpose()?;
    Ok(AccuracyRun { official: official.as_deref().map(official_scores), ..made.accuracy_run(folder) })
}

/// How a result is shown on standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// As in `result.txt`.
    Words,
    /// As in `result_summary.json`.
    Json,
}

/// Makes one test, leaves its run folder and shows the result.
pub(crate) fn run_test(spec: TestSpec, place: &Place, shown: Shown) -> Outcome {
    // Looked at before any node is bothered; the folder is made once they have all agreed to the run.
    if let Place::At(out) = place
        && RunFolder::is_taken(out)
    {
        return Err(FolderError::Exists(out.clone())).or_exit(Exit::Usage);
    }
    let looks = spec.wants_a_look()?;
    let mut signals = None;
    let spec = match looks {
        true => spec.look(signals.insert(catch()?))?,
        false => spec,
    };
    let test = Test::new(spec)?;
    test.verify(&progress::steps("verifying files"))?;
    let signals = signals.map_or_else(catch, Ok)?;
    let mut connected = test.connect()?;
    connected.probe_if_wanted(&signals)?;
    let recorded = record::record(connected.claim(&signals)?, place)?;
    // What was measured is shown even if its files could not be written.
    let Recorded { finished, folder, written } = recorded;
    match (shown, &written) {
        (Shown::Words, _) => screen::show(&finished, folder.path(), &written).or_exit(Exit::Bug)?,
        (Shown::Json, Ok(())) => drop(print_text(&read(&folder.path().join(result_summary::FILE))?)?),
        // Without the list of files, which is not complete.
        (Shown::Json, Err(_)) => drop(print_json_pretty(&ResultSummary::from(&finished))?),
    }
    written.context("the run is over, but its files are not complete").or_exit(Exit::Bug)?;
    Ok(finished.exit())
}

fn catch() -> Outcome<Signals> {
    Signals::catch().context("cannot handle signals").or_exit(Exit::Bug)
}
