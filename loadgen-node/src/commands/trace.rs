//! The command `trace`: the traffic that settings would generate.

use anyhow::{Context as _, anyhow};

use super::conf;
use super::io::{given, print_json, shown};
use crate::cli::TraceArgs;
use crate::exit::{Exit, OrExit as _, Outcome};
use crate::outputs::documents::conf::View;
use crate::test_run::settings::profile;
use loadgen::conf::rules::Rules;
use loadgen::vectors;

/// `trace --settings FILE.json`, or with the flags of `run` that say what is tested.
pub(crate) fn trace(args: &TraceArgs) -> Outcome {
    if let Some(path) = &args.settings {
        let profile = profile(args.test.files.rules.unwrap_or_else(Rules::newest), args.test.files.integers);
        let traffic = vectors::trace_by(&given(path)?, profile, args.digest);
        return print_json(&traffic.with_context(|| shown(path)).or_exit(Exit::Usage)?);
    }
    let (Some(name), Some(scenario)) = (&args.benchmark, args.scenario) else {
        return Err(anyhow!("give --benchmark and --scenario, or --settings")).or_exit(Exit::Usage);
    };
    let View { plan, warnings, .. } = conf::view(&args.test, name, scenario)?;
    warnings.iter().for_each(|warning| tracing::warn!(%warning, "settings"));
    let plan = plan.context("these settings cannot be run").or_exit(Exit::Usage)?;
    print_json(&vectors::traffic(&plan, args.digest).or_exit(Exit::Usage)?)
}
