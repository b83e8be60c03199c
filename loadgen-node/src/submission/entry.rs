//! A benchmark of a submission, checked.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use loadgen::conf::rules::Rules;
use loadgen::settings::{Scenario, named};
use lon_qsl::benchmark::{Benchmark, Official, Suite};
use toml::Value;

use super::division::SubmissionDivision;
use super::faults::Faults;
use super::file::{BenchmarkTable, Model};
use super::flags::flags;
use super::inferred;
use super::kind::Kind;
use super::places::Places;
use lon_run::audit::AuditTest;

/// Official keys of the facts that a submission states of its model (`checks/measurements_checks.py`).
pub(super) const MODEL_KEYS: [&str; 5] =
    ["input_data_types", "retraining", "starting_weights_filename", "weight_data_types", "weight_transformations"];
/// The setting that a rehearsal shortens, ms.
pub(super) const DURATION: &str = "min_duration";

/// A benchmark of a submission.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Its number among the tables of the file, as [`Places`] has it.
    number: String,
    pub(crate) benchmark: &'static Benchmark,
    /// The entry of the official checker for the benchmark in the round.
    pub(crate) official: &'static Official,
    /// The name of its folders.
    pub(crate) folder: String,
    /// Flags of its runs, each as it is typed.
    flags: Vec<String>,
    /// The kinds of runs that have other ones, with all their flags.
    flags_for: Vec<(Kind, Vec<String>)>,
    /// True when answers to one sample may differ from run to run.
    pub(crate) nondeterministic: bool,
    /// A command that scores an accuracy log, for TEST07, and for TEST01 where answers differ.
    pub(crate) scorer: Option<String>,
    /// The scenarios with the text of `user.conf` in each.
    pub(crate) scenarios: Vec<(Scenario, String)>,
    /// Scenarios whose results follow from the runs of others: to, from.
    pub(crate) inferred: Vec<(Scenario, Scenario)>,
    /// The compliance tests that the round and division ask for.
    pub(crate) tests: Vec<AuditTest>,
    pub(crate) model: Model,
}

impl Entry {
    /// The benchmark; none where `faults` has one more.
    pub(super) fn of(
        table: BenchmarkTable,
        (number, places): (usize, &Places),
        division: SubmissionDivision,
        rules: &'static Rules,
        rehearsal: Option<Duration>,
        faults: &mut Faults,
    ) -> Option<Entry> {
        let round = rules.round.name;
        let number = number.to_string();
        let at = |keys: &[&str]| places.at(&[&["benchmark", &number], keys].concat());
        let facts = official(&table.name, round).and_then(|official| {
            let tests = match division {
                SubmissionDivision::Network => compliance(official, round)?,
                SubmissionDivision::Open => Vec::new(),
            };
            Ok((official, Benchmark::find(official.benchmark())?, tests))
        });
        let facts = faults.keep(facts.with_context(|| at(&["name"])));
        faults.unless(!table.settings.is_empty(), || {
            let place = at(&["settings"]);
            format!("{place}: no scenario: write settings.Server = {{ target_qps = 100 }}, for example")
        });
        // The settings are looked at under any name.
        let model = facts.as_ref().map_or("", |(_, benchmark, _)| benchmark.name);
        let mut scenarios = Vec::new();
        for (name, settings) in &table.settings {
            let scenario = faults.keep(scenario(name).with_context(|| at(&["settings", name])));
            let text = user_conf(model, name, settings, rehearsal, |key| at(&["settings", name, key]));
            scenarios.extend(scenario.zip(faults.keep(text)));
        }
        let inferred = inferred(&table.inferred, division, &scenarios).with_context(|| at(&["inferred"]));
        let inferred = faults.keep(inferred);
        for (key, text) in model_texts(&table.model) {
            faults.unless(!text.trim().is_empty(), || {
                format!("{} is empty: a submission must say it", at(&["model", key]))
            });
        }
        let flags_of = faults.keep(flags(&table.run, |key| at(&["run", key])));
        // The name says which tests there are.
        let (official, benchmark, tests) = facts?;
        // The checker takes both names of this one, and submissions have this.
        let folder = if official.checker == "resnet" { "resnet50" } else { &official.checker }.to_owned();
        let kinds: Vec<Kind> =
            Kind::of_result().into_iter().chain(tests.iter().copied().map(Kind::Compliance)).collect();
        let mut flags_for = Vec::new();
        for (name, own) in &table.run_for {
            let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
            let kind = faults.keep(named("kind of run", name, &names).with_context(|| at(&["run-for", name])));
            let mut merged = table.run.clone();
            merged.extend(own.clone());
            let own_flags = faults.keep(flags(&merged, |key| at(&["run-for", name, key])));
            flags_for.extend(kind.map(|kind| kinds[kind]).zip(own_flags));
        }
        let needs_scorer = tests.contains(&AuditTest::Test07);
        faults.unless(!needs_scorer || table.scorer.is_some(), || {
            format!("{}: TEST07 needs a command that scores: scorer = \"CMD\"", at(&["scorer"]))
        });
        let takes_scorer = needs_scorer || tests.contains(&AuditTest::Test01);
        faults.unless(takes_scorer || table.scorer.is_none(), || {
            format!("{}: it is for TEST01 and TEST07, which this benchmark does not have", at(&["scorer"]))
        });
        Some(Entry {
            number,
            benchmark,
            official,
            folder,
            flags: flags_of?,
            flags_for,
            nondeterministic: table.nondeterministic,
            scorer: table.scorer,
            scenarios,
            inferred: inferred?,
            tests,
            model: table.model,
        })
    }

    /// A key of its table, from the top of the file, as [`Places`] takes it.
    pub(super) fn keys<'a>(&'a self, keys: &[&'a str]) -> Vec<&'a str> {
        [&["benchmark", &self.number], keys].concat()
    }

    /// The flags of its runs of a kind, each as it is typed.
    pub(super) fn flags(&self, kind: Kind) -> &[String] {
        let own = self.flags_for.iter().find(|(of, _)| *of == kind);
        own.map_or(&self.flags, |(_, flags)| flags)
    }
}

fn scenario(name: &str) -> Result<Scenario> {
    Ok(Scenario::OFFICIAL[named("scenario", name, &Scenario::OFFICIAL.map(Scenario::name))?])
}

/// The results that follow from the runs of other scenarios.
fn inferred(
    table: &BTreeMap<String, String>,
    division: SubmissionDivision,
    run: &[(Scenario, String)],
) -> Result<Vec<(Scenario, Scenario)>> {
    ensure!(table.is_empty() || division == SubmissionDivision::Open, "the Network division has no edge suite");
    let pair = |(to, from): (&String, &String)| {
        let pair = (scenario(to)?, scenario(from)?);
        ensure!(inferred::is_allowed(pair.0, pair.1), "{to} = \"{from}\": what may follow is {}", inferred::allowed());
        let has_run = |scenario: Scenario| run.iter().any(|(run, _)| *run == scenario);
        ensure!(!has_run(pair.0), "{to} has settings, and so a run of its own");
        ensure!(has_run(pair.1), "{to} = \"{from}\": there is no run of {from}, which settings.{from} asks for");
        Ok(pair)
    };
    table.iter().map(pair).collect()
}

/// Returns the facts that a submission states of its model, by official key.
pub(super) fn model_texts(model: &Model) -> [(&'static str, &str); 5] {
    let texts: [&str; 5] = [
        &model.input_data_types,
        &model.retraining,
        &model.starting_weights_filename,
        &model.weight_data_types,
        &model.weight_transformations,
    ];
    std::array::from_fn(|at| (MODEL_KEYS[at], texts[at]))
}

/// Returns the checker's entry for a benchmark, by its name in the checker or here.
fn official(name: &str, round: &str) -> Result<&'static Official> {
    if let Some(official) = Official::named(name, round) {
        return Ok(official);
    }
    let benchmark = Benchmark::find(name)?;
    let all = benchmark.official(round);
    ensure!(
        !benchmark.is_scenario_of(round),
        "in round {round} this is the scenario Interactive, and the Network division has Server and Offline"
    );
    match all[..] {
        [] => {
            let suites = [("Datacenter", Suite::Datacenter), ("edge", Suite::Edge)];
            let suites =
                suites.map(|(name, suite)| format!("{name}: {}", Benchmark::of_suite(suite, round).join(", ")));
            bail!("round {round} does not have this benchmark, but {}", suites.join("; "))
        }
        [official] => Ok(official),
        ref several => {
            let names: Vec<&str> = several.iter().map(|official| official.checker.as_str()).collect();
            bail!("round {round} has several targets of accuracy: write {}", names.join(" or "))
        }
    }
}

/// The compliance tests, all of which can be judged here.
fn compliance(official: &Official, round: &str) -> Result<Vec<AuditTest>> {
    let test = |name: &str| {
        let message = "the round asks for this compliance test, and it cannot be run from here yet";
        name.parse().map_err(|_| anyhow!("{name}: {message}"))
    };
    official.compliance_tests(round).into_iter().map(test).collect()
}

/// The text of `user.conf` for one scenario. A rehearsal has a shorter length. `at`: the place of a key.
fn user_conf(
    model: &str,
    scenario: &str,
    settings: &BTreeMap<String, Value>,
    rehearsal: Option<Duration>,
    at: impl Fn(&str) -> String,
) -> Result<String> {
    let line = |(key, value): (&String, &Value)| {
        loadgen::conf::keys::check_key(key).map_err(|unknown| anyhow!(unknown)).with_context(|| at(key))?;
        let value = match value {
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            other => bail!("{}: it is a number, as in official config files, not a {}", at(key), other.type_str()),
        };
        Ok(format!("{model}.{scenario}.{key} = {value}\n"))
    };
    let entries = settings.iter().filter(|(key, _)| rehearsal.is_none() || *key != DURATION);
    let mut lines: Vec<String> = entries.map(line).collect::<Result<_>>()?;
    if let Some(length) = rehearsal {
        lines.push(format!("# A rehearsal.\n{model}.{scenario}.{DURATION} = {}\n", length.as_millis()));
    }
    Ok(format!("# Settings of the submitter.\n{}", lines.concat()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interactive_use_is_a_benchmark_in_some_rounds() {
        assert!(official("llama2-70b-interactive-99", "v5.0").is_ok());
        assert!(official("llama3_1-8b-interactive", "v6.0").unwrap_err().to_string().contains("scenario Interactive"));
    }
}
