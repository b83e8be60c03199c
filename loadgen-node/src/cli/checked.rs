//! From the flags of `run` to what is asked for: checked once, and free of the command line from here on.

use std::ffi::OsStr;
use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use clap::{Arg, Args};
use lon_qsl::benchmark::Benchmark;

use super::format::Format;
use super::run::RunArgs;
use loadgen::conf::rules::Rules;
use loadgen::settings::Scenario;
use lon_run::exit::{Exit, OrExit as _, Outcome};
use lon_run::test_run::{Call, DataSpec, Labels, Limits, TestSpec};
use lon_world::pace::PacingSpec;

/// The work that a call of `run` asks for.
pub(crate) enum RunRequest {
    /// `--compression auto`: advice on codecs, and no run.
    Advice(AdviceSpec),
    /// A test, and the run folder where one is named.
    Test { spec: Box<TestSpec>, out: Option<PathBuf> },
}

/// The inputs of advice on codecs.
pub(crate) struct AdviceSpec {
    pub(crate) benchmark: &'static Benchmark,
    pub(crate) data: DataSpec,
    /// The round whose rules say which codecs are allowed.
    pub(crate) rules: &'static Rules,
}

impl RunArgs {
    /// Returns the format of standard output.
    pub(crate) fn form(&self) -> Format {
        self.format.unwrap_or(if self.json { Format::Json } else { Format::Text })
    }

    /// Returns the work that the flags ask for. Names are resolved and small files are read; datasets and config files
    /// are not opened yet.
    pub(crate) fn check(&self) -> Outcome<RunRequest> {
        let (Some(benchmark), Some(scenario)) = (&self.benchmark, self.scenario) else {
            let reason = "--mix has several tests, and one is wanted here: give --benchmark and --scenario";
            return Err(anyhow!(reason)).or_exit(Exit::Usage);
        };
        let benchmark = Benchmark::named(benchmark).or_exit(Exit::Usage)?;
        if self.codecs.is_advice() {
            let rules = self.test.files.rules.unwrap_or_else(Rules::newest);
            return Ok(RunRequest::Advice(AdviceSpec { benchmark, data: self.test.data(), rules }));
        }
        Ok(RunRequest::Test { spec: Box::new(self.spec(benchmark, scenario)?), out: self.out.clone() })
    }

    fn spec(&self, benchmark: &'static Benchmark, scenario: Scenario) -> Outcome<TestSpec> {
        let labels = Labels::new(self.label.clone()).context("--label").or_exit(Exit::Usage)?;
        let (io_threads, spin, busy_poll) = (self.io_threads.map(usize::from), self.spin, self.busy_poll);
        Ok(TestSpec {
            benchmark,
            scenario,
            target: self.dial.target(&self.kserve)?,
            data: DataSpec { verify: self.verify_dataset, ..self.test.data() },
            settings: self.test.settings(),
            codecs: self.codecs.codecs(),
            division: self.division,
            accuracy_run: None,
            connections: self.connections,
            pacing: PacingSpec { io_threads, spin, busy_poll },
            priority: self.priority,
            limits: Limits {
                response_timeout: self.response_timeout,
                max_answer_bytes: self.max_answer,
                max_lag: self.max_lag,
            },
            within: self.within,
            warm_up: self.warm_up,
            find_peak: self.find_peak.spec(),
            probe: self.probe,
            anyway: self.anyway,
            extend: self.extend,
            mixed_nodes: self.mixed_nodes,
            trace_log: self.trace_log,
            record_stages: self.record_stages,
            report: !self.no_report,
            baseline: self.baseline.clone(),
            system_desc: self.system_desc.clone(),
            call: Call { note: self.note.clone(), labels, ..this_call::<RunArgs>() },
        })
    }
}

/// Returns the call of this process: its words, and the variables that stand for flags in `A`. Others may be secret.
pub(crate) fn this_call<A: Args>() -> Call {
    let flags = A::augment_args(clap::Command::new("flags"));
    Call::of_this_process(flags.get_arguments().filter_map(Arg::get_env).map(OsStr::to_owned))
}

/// The words of this process that hold for every tenant of a mix: all but the file of the mix, and the outputs of the
/// whole run.
pub(crate) fn tenant_arguments() -> Vec<String> {
    let arguments = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    without_outputs(arguments)
}

/// Flags of the whole run with a value.
const OUTPUTS: [&str; 5] = ["--mix", "--out", "--results", "--format", "--ui"];

/// Words of `run` that hold for every tenant of a mix.
pub(crate) fn without_outputs(arguments: impl Iterator<Item = String>) -> Vec<String> {
    let mut others = Vec::new();
    let mut arguments = arguments.filter(|word| word != "--json");
    while let Some(word) = arguments.next() {
        let is_output =
            |flag: &&&str| word.strip_prefix(**flag).is_some_and(|end| end.is_empty() || end.starts_with('='));
        match OUTPUTS.iter().find(is_output) {
            Some(flag) if word == *flag => drop(arguments.next()),
            Some(_) => {}
            None => others.push(word),
        }
    }
    others
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenants_have_the_words_that_are_no_outputs() {
        let arguments =
            ["run", "--mix", "m.toml", "--sut", "a:1", "--out=x", "--json", "--mixed-nodes", "--ui", "none"];
        let others = without_outputs(arguments.into_iter().map(str::to_owned));
        assert_eq!(others, ["run", "--sut", "a:1", "--mixed-nodes"]);
    }
}
