//! The command `trace`: the traffic that settings would generate, and recorded cases computed again.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow};

use super::conf;
use super::io::{input_text, path_text, print, print_json};
use super::trace_picture::{SimulatedSut, picture};
use crate::cli::TraceArgs;
use loadgen::conf::rules::Rules;
use loadgen::v05::vectors::{Difference, check};
use loadgen::vectors;
use lon_run::exit::{Exit, OrExit as _, Outcome};
use lon_run::outputs::documents::conf::View;
use lon_run::outputs::run_folder::folder::write_file;
use lon_run::test_run::settings::profile;

/// `trace --settings FILE.json`, `trace --vector FILE...`, or with the flags of `run` that say what is tested.
pub(crate) fn trace(args: &TraceArgs) -> Outcome {
    if !args.vector.is_empty() {
        return compare_all(&args.vector);
    }
    if let Some(path) = &args.settings {
        if args.test.files.rules.is_some_and(Rules::is_v0_5) {
            let message = "--settings has the settings of later rounds: give --benchmark, --scenario and --set";
            return Err(anyhow!(message)).context("--rules v0.5").or_exit(Exit::Usage);
        }
        let profile = profile(args.test.files.rules.unwrap_or_else(Rules::newest), args.test.files.integers);
        let traffic = vectors::trace_by(&input_text(path)?, profile, args.digest);
        return print_json(&traffic.with_context(|| path_text(path)).or_exit(Exit::Usage)?);
    }
    let (Some(name), Some(scenario)) = (&args.benchmark, args.scenario) else {
        return Err(anyhow!("give --benchmark and --scenario, or --settings")).or_exit(Exit::Usage);
    };
    let View { plan, warnings, .. } = conf::view(&args.test, name, scenario)?;
    warnings.iter().for_each(|warning| tracing::warn!(%warning, "settings"));
    let plan = plan.context("these settings cannot be run").or_exit(Exit::Usage)?;
    if let Some(path) = &args.picture {
        let service = args.service.unwrap_or(SERVICE);
        let sut = SimulatedSut { service, servers: args.servers.map_or(SERVERS, usize::from) };
        let svg = picture(&plan, sut).context("--picture").or_exit(Exit::Usage)?;
        let outcome = write_file(path, |out| out.write_all(svg.as_bytes()));
        return outcome.with_context(|| path_text(path)).or_exit(Exit::Usage).map(|()| Exit::Ok);
    }
    print_json(&vectors::traffic(&plan, args.digest).or_exit(Exit::Usage)?)
}

/// Time for a sample, and samples at one time, of the SUT of a picture.
const SERVICE: Duration = Duration::from_millis(10);
const SERVERS: usize = 4;

/// A line for each case. A file that is no case weighs more than one that differs.
fn compare_all(files: &[PathBuf]) -> Outcome {
    let mut worst = Exit::Ok;
    for path in files {
        let (line, exit) = match compared(path) {
            Ok(None) => ("equal".to_owned(), Exit::Ok),
            Ok(Some(difference)) => (difference.to_string(), Exit::Bug),
            Err(failure) => (format!("not compared: {}", failure.one_line()), failure.exit),
        };
        print(&format!("{}: {line}", path_text(path)))?;
        if exit != Exit::Ok && worst != Exit::Usage {
            worst = exit;
        }
    }
    Ok(worst)
}

fn compared(path: &Path) -> Outcome<Option<Difference>> {
    check(&input_text(path)?).or_exit(Exit::Usage)
}
