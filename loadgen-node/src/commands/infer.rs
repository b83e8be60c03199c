//! The command `infer`: the results of other scenarios that follow from a run, by the rules for the edge suite.

use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};
use loadgen::conf::rules::Rules;
use loadgen::official::DETAIL_FILE;
use loadgen::settings::{Mode, Scenario};
use lon_proto::files::{self, Limit};
use lon_proto::text::on_one_line;

use super::io::{path_text, print_in, print_text};
use crate::cli::InferArgs;
use crate::submission::inferred::{self, Inferred};
use lon_run::audit::Detail;
use lon_run::exit::{Exit, OrExit as _, Outcome};
use lon_run::outputs::documents::inferred::{InferredResult, InferredResults, SCHEMA};
use lon_run::outputs::documents::result_summary::{FILE as RESULT, Validity};
use lon_run::outputs::logs::own_result;

/// Prints the results that follow from a run, or why none does.
pub(crate) fn infer(args: &InferArgs) -> Outcome {
    let document = Run::read(&args.folder).or_exit(Exit::Usage)?.document(path_text(&args.folder));
    print_in(args.form.check(), &document, || print_text(&document.text()), || document.table())
}

/// A run, as far as results follow from it.
struct Run {
    benchmark: Option<String>,
    scenario: Scenario,
    mode: Option<Mode>,
    result: Validity,
    /// First reason against the run.
    why: Option<String>,
    detail: Detail,
}

impl Run {
    /// Reads a folder of this program, or one with the logs of an official LoadGen.
    fn read(folder: &Path) -> Result<Run> {
        let own = folder.join(RESULT).exists().then(|| own_result::read(folder)).transpose()?;
        let path = folder.join(DETAIL_FILE);
        if own.is_none() && !path.exists() {
            bail!("{} is not a run folder: it has neither {RESULT} nor {DETAIL_FILE}", path_text(folder));
        }
        if own.as_ref().and_then(|own| Rules::find(&own.rules)).is_some_and(Rules::is_v0_5) {
            bail!("{} is a run of round v0.5, and its rules infer no result from another", path_text(folder));
        }
        let text = files::text(&path, Limit::LOG).with_context(|| format!("cannot read {}", path_text(&path)))?;
        let detail = Detail::read(&text).map_err(|why| anyhow!("{}: {why}", path_text(&path)))?;
        if let Some(own) = own {
            let (scenario, mode) = (own.settings.scenario, Some(own.settings.mode));
            let why = own.reasons.into_iter().next();
            return Ok(Run { benchmark: Some(own.benchmark), scenario, mode, result: own.result, why, detail });
        }
        let name = detail.text("effective_scenario").unwrap_or_default();
        let scenario = Scenario::from_name(name);
        let error = || anyhow!("{}: there is no scenario '{}'", path_text(&path), on_one_line(name));
        let scenario = scenario.ok_or_else(error)?;
        let mode = detail.text("effective_test_mode").and_then(Mode::from_name);
        let result = Validity::of(detail.is_valid());
        let why = detail.text("result_invalid_reason").map(on_one_line);
        Ok(Run { benchmark: None, scenario, mode, result, why, detail })
    }

    fn document(self, folder: String) -> InferredResults {
        let (inferred, not_inferred) = self.results();
        InferredResults {
            schema: SCHEMA,
            folder,
            benchmark: self.benchmark,
            scenario: self.scenario.name().to_owned(),
            result: self.result,
            source: inferred::SOURCE.to_owned(),
            inferred,
            not_inferred,
        }
    }

    /// The results that follow, and why others do not.
    fn results(&self) -> (Vec<InferredResult>, Vec<String>) {
        let from = self.scenario;
        if inferred::from_run_of(from).next().is_none() {
            let why = format!("no result follows from {}: the rules have {}", from.name(), inferred::allowed());
            return (Vec::new(), vec![why]);
        }
        if let Some(mode) = self.mode.filter(|mode| !mode.has_performance()) {
            let why = format!("mode {} measures no latencies: make a run with --mode PerformanceOnly", mode.name());
            return (Vec::new(), vec![why]);
        }
        if self.result == Validity::Invalid {
            let why = self.why.as_deref().unwrap_or("its log does not say VALID");
            return (Vec::new(), vec![format!("no result follows from an INVALID run: {why}")]);
        }
        let (mut results, mut lacking) = (Vec::new(), Vec::new());
        for to in inferred::from_run_of(from) {
            match inferred::result(to, from, &self.detail) {
                Some(result) => results.push(document(to, from, result)),
                None => lacking.push(format!("{}: {}", to.name(), inferred::lacks(to))),
            }
        }
        (results, lacking)
    }
}

fn document(to: Scenario, from: Scenario, result: Inferred) -> InferredResult {
    InferredResult {
        scenario: to.name().to_owned(),
        inferred_from: from.name().to_owned(),
        value: result.value,
        unit: result.unit.to_owned(),
        formula: result.formula,
        taken: result.taken.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
    }
}
