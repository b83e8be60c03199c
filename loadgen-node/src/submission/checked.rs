//! A submission, checked: names are looked up, words are such as folders can have, and everything that a person has to
//! say is there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use loadgen::conf::rules::{RULES, Rules};
use loadgen::settings::{Scenario, named};
use lon_qsl::benchmark::{Benchmark, Official};
use lon_shell::duration::parse_duration;
use toml::Value;

use super::file::{BenchmarkTable, Model, SubmissionFile, Texts};
use super::inferred;
use crate::audit::AuditTest;
use crate::division::Division;
use crate::test_run::stated::is_official;

/// Keys that the top of the file gives, or the division.
const FROM_THE_TOP: [&str; 3] = ["division", "submitter", "is_network"];
/// Flags that every run gets from here, so that a file cannot give them.
const OURS: [&str; 14] = [
    "accuracy-run",
    "audit-conf",
    "benchmark",
    "division",
    "json",
    "mlperf-conf",
    "mode",
    "out",
    "rules",
    "scenario",
    "set",
    "strict-conf",
    "system-desc",
    "user-conf",
];

/// What a submission says of its model, by official key (`checks/measurements_checks.py`).
pub(super) const MODEL_KEYS: [&str; 5] =
    ["input_data_types", "retraining", "starting_weights_filename", "weight_data_types", "weight_transformations"];
/// The setting that a rehearsal shortens, ms.
const DURATION: &str = "min_duration";
/// The word of `system_type` for the edge suite.
const EDGE: &str = "edge";

/// Who leads the runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    /// The engine of this program.
    Own,
    /// The official LoadGen over our network library, in the program that these words start.
    Official(Vec<String>),
}

/// A submission whose values are checked.
#[derive(Clone, Debug)]
pub(crate) struct Submission {
    pub(crate) submitter: String,
    pub(crate) division: Division,
    /// The round, with its rules.
    pub(crate) rules: &'static Rules,
    pub(crate) system: String,
    pub(crate) engine: Engine,
    /// How long performance runs are in a rehearsal; none: it is no rehearsal.
    pub(crate) rehearsal: Option<Duration>,
    /// The folder with the run folders, from that of the file.
    pub(crate) runs: PathBuf,
    /// Flags of every run, each as it is typed.
    pub(crate) flags: Vec<String>,
    /// Official keys of the system description that a person has given.
    pub(crate) description: BTreeMap<String, String>,
    pub(crate) texts: Texts,
    pub(crate) entries: Vec<Entry>,
}

/// A benchmark of a submission.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) benchmark: &'static Benchmark,
    /// What the official checker holds of it in the round.
    pub(crate) official: &'static Official,
    /// The name of its folders.
    pub(crate) folder: String,
    /// Flags of its runs, each as it is typed.
    pub(crate) flags: Vec<String>,
    /// The scenarios with the text of `user.conf` in each.
    pub(crate) scenarios: Vec<(Scenario, String)>,
    /// Scenarios whose results follow from the runs of others: to, from.
    pub(crate) inferred: Vec<(Scenario, Scenario)>,
    /// The compliance tests that the round and division ask for.
    pub(crate) tests: Vec<AuditTest>,
    pub(crate) model: Model,
}

impl Submission {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// It cannot be read, is no TOML, has a key that is not known, or says something that cannot be submitted; the
    /// text names the key and what to write instead.
    pub(crate) fn read(path: &Path) -> Result<Submission> {
        let shown = || path.display().to_string();
        let text = std::fs::read_to_string(path).with_context(|| {
            format!("cannot read {}: `loadgen-node submission init FILE` writes one to fill in", path.display())
        })?;
        let file: SubmissionFile = toml::from_str(&text).with_context(shown)?;
        if let Some(name) = OURS.iter().map(|flag| variable(flag)).find(|name| std::env::var_os(name).is_some()) {
            bail!("{name} is set in the environment, and would change every run: unset it");
        }
        Submission::of(file).with_context(shown)
    }

    fn of(file: SubmissionFile) -> Result<Submission> {
        let division = match file.division.as_str() {
            "network" => Division::Network,
            "open" => Division::Open,
            other => bail!("division = \"{other}\": write network or open"),
        };
        let with_v = file.round.strip_prefix('v').map_or_else(|| format!("v{}", file.round), |_| file.round.clone());
        let rules =
            &RULES[named("round", &with_v, &RULES.each_ref().map(|rules| rules.round.name)).context("round")?];
        for (key, word) in [("submitter", &file.submitter), ("system", &file.system)] {
            folder_name(key, word)?;
        }
        let length = |text: &str| {
            parse_duration(text)
                .ok()
                .filter(|length| !length.is_zero())
                .ok_or_else(|| anyhow!("rehearsal = \"{text}\": write a number and a unit, for example 10s"))
        };
        let rehearsal = file.rehearsal.as_deref().map(length).transpose()?;
        let engine = engine(file.engine.as_deref(), file.official)?;
        let usual = if rehearsal.is_some() { "rehearsal" } else { "runs" };
        let runs = file.runs.unwrap_or_else(|| usual.into());
        for (key, text) in [("code", &file.texts.code), ("calibration", &file.texts.calibration)] {
            ensure!(!text.trim().is_empty(), "[texts] {key} is empty: a submission must say it");
        }
        check_keys(&file.system_description).context("[system-description]")?;
        ensure!(!file.benchmark.is_empty(), "there is no [[benchmark]]");
        let entry = |table: BenchmarkTable| {
            let name = table.name.clone();
            Entry::of(table, division, rules, rehearsal).with_context(|| format!("[[benchmark]] {name}"))
        };
        let entries: Vec<Entry> = file.benchmark.into_iter().map(entry).collect::<Result<_>>()?;
        for (at, entry) in entries.iter().enumerate() {
            let is_twice = entries[..at].iter().any(|other| other.folder == entry.folder);
            ensure!(!is_twice, "[[benchmark]] {} is there twice", entry.folder);
        }
        let is_edge = file.system_description.get("system_type").is_some_and(|kind| kind.contains(EDGE));
        if let Some(entry) = entries.iter().find(|entry| !entry.inferred.is_empty() && !is_edge) {
            bail!("{}: results are inferred in the edge suite alone: system_type = \"{EDGE}\"", entry.folder);
        }
        Ok(Submission {
            submitter: file.submitter,
            division,
            rules,
            system: file.system,
            engine,
            rehearsal,
            runs,
            flags: flags(&file.run).context("[run]")?,
            description: file.system_description,
            texts: file.texts,
            entries,
        })
    }
}

impl Entry {
    fn of(
        table: BenchmarkTable,
        division: Division,
        rules: &'static Rules,
        rehearsal: Option<Duration>,
    ) -> Result<Entry> {
        let round = rules.round.name;
        let official = official(&table.name, round)?;
        let benchmark = Benchmark::find(official.benchmark())?;
        // The checker takes both names of this one, and submissions have this.
        let folder = if official.checker == "resnet" { "resnet50" } else { &official.checker }.to_owned();
        let tests = match division {
            Division::Network => compliance(official, round)?,
            Division::Open => Vec::new(),
        };
        ensure!(!table.settings.is_empty(), "no scenario: write settings.Server = {{ target_qps = 100 }}, for example");
        let scenario = |(name, settings): (&String, &BTreeMap<String, Value>)| {
            let scenario = scenario(name).context("settings")?;
            let text = user_conf(benchmark.name, scenario.name(), settings, rehearsal);
            Ok((scenario, text.with_context(|| format!("settings.{name}"))?))
        };
        let scenarios: Vec<(Scenario, String)> = table.settings.iter().map(scenario).collect::<Result<_>>()?;
        let inferred = inferred(&table.inferred, division, &scenarios).context("inferred")?;
        for (key, text) in model_texts(&table.model) {
            ensure!(!text.trim().is_empty(), "model.{key} is empty: a submission must say it");
        }
        let flags = flags(&table.run).context("run")?;
        Ok(Entry { benchmark, official, folder, flags, scenarios, inferred, tests, model: table.model })
    }
}

fn scenario(name: &str) -> Result<Scenario> {
    Ok(Scenario::ALL[named("scenario", name, &Scenario::ALL.map(Scenario::name))?])
}

/// The results that follow from the runs of other scenarios.
fn inferred(
    table: &BTreeMap<String, String>,
    division: Division,
    run: &[(Scenario, String)],
) -> Result<Vec<(Scenario, Scenario)>> {
    ensure!(table.is_empty() || division == Division::Open, "the Network division has no edge suite");
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

/// What a submission says of its model, by official key.
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

/// What the checker holds of a benchmark by its name in the checker or here.
fn official(name: &str, round: &str) -> Result<&'static Official> {
    if let Some(official) = Official::named(name, round) {
        ensure!(!name.contains("interactive"), "interactive benchmarks cannot be submitted from here yet");
        return Ok(official);
    }
    let benchmark = Benchmark::find(name)?;
    ensure!(!benchmark.name.ends_with("-interactive"), "interactive benchmarks cannot be submitted from here yet");
    match benchmark.official(round)[..] {
        [] => bail!("round {round} does not have this benchmark"),
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
        let told = "the round asks for this compliance test, and it cannot be run from here yet";
        let known = name.parse().ok().filter(|test| *test != AuditTest::Test09);
        known.ok_or_else(|| anyhow!("{name}: {told}"))
    };
    official.compliance_tests(round).into_iter().map(test).collect()
}

/// Flags as they are typed: `--sut=a:1`.
fn flags(given: &BTreeMap<String, Value>) -> Result<Vec<String>> {
    let mut flags = Vec::new();
    for (key, value) in given {
        ensure!(!OURS.contains(&key.as_str()), "'{key}' is set by `submission run` itself");
        let values = match value {
            Value::Array(values) => values.as_slice(),
            one => std::slice::from_ref(one),
        };
        for value in values {
            match value {
                Value::Boolean(true) => flags.push(format!("--{key}")),
                Value::Boolean(false) => {}
                Value::String(text) => flags.push(format!("--{key}={text}")),
                Value::Integer(number) => flags.push(format!("--{key}={number}")),
                Value::Float(number) => flags.push(format!("--{key}={number}")),
                other => {
                    bail!("'{key}' is a text, a number, true or false, or a list of these, not a {}", other.type_str())
                }
            }
        }
    }
    Ok(flags)
}

/// Reads who leads the runs.
fn engine(name: Option<&str>, official: Option<Vec<String>>) -> Result<Engine> {
    match (name.unwrap_or("loadgen-node"), official) {
        ("loadgen-node", None) => Ok(Engine::Own),
        ("loadgen-node", Some(_)) => bail!("official = ... is for engine = \"official\""),
        ("official", None) => Ok(Engine::Official(vec!["lon-official".to_owned()])),
        ("official", Some(words)) if !words.is_empty() => Ok(Engine::Official(words)),
        ("official", Some(_)) => bail!("official = []: write the program, for example [\"lon-official\"]"),
        (other, _) => bail!("engine = \"{other}\": write loadgen-node or official"),
    }
}

/// The text of `user.conf` for one scenario. A rehearsal has a shorter length.
fn user_conf(
    model: &str,
    scenario: &str,
    settings: &BTreeMap<String, Value>,
    rehearsal: Option<Duration>,
) -> Result<String> {
    let line = |(key, value): (&String, &Value)| {
        let value = match value {
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            other => bail!("'{key}' is a number, as in official config files, not a {}", other.type_str()),
        };
        Ok(format!("{model}.{scenario}.{key} = {value}\n"))
    };
    let kept = settings.iter().filter(|(key, _)| rehearsal.is_none() || *key != DURATION);
    let mut lines: Vec<String> = kept.map(line).collect::<Result<_>>()?;
    if let Some(length) = rehearsal {
        lines.push(format!("# A rehearsal.\n{model}.{scenario}.{DURATION} = {}\n", length.as_millis()));
    }
    Ok(format!("# Settings of the submitter.\n{}", lines.concat()))
}

/// Refuses keys that are not official, or are not for this place.
fn check_keys(description: &BTreeMap<String, String>) -> Result<()> {
    for key in description.keys() {
        ensure!(!FROM_THE_TOP.contains(&key.as_str()), "'{key}' comes from the top of the file: leave it out here");
        ensure!(is_official(key), "'{key}' is not a key of a system description");
    }
    Ok(())
}

/// The environment variable that stands for a flag of `run`.
fn variable(flag: &str) -> String {
    format!("LON_{}", flag.to_ascii_uppercase().replace('-', "_"))
}

/// Refuses what cannot be the name of a folder in a submission.
fn folder_name(key: &str, word: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
    let is_name = !word.is_empty() && !word.starts_with('.') && word.chars().all(is_plain);
    ensure!(is_name, "{key} = \"{word}\": it is the name of a folder: letters, digits and -_.+, no blanks");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::template;
    use super::*;

    /// A whole file, with one text in it replaced.
    fn with(old: &str, new: &str) -> Result<Submission, String> {
        let text = whole();
        assert!(text.contains(old), "{old}");
        let file = toml::from_str(&text.replacen(old, new, 1)).map_err(|error| error.to_string())?;
        Submission::of(file).map_err(|error| format!("{error:#}"))
    }

    fn whole() -> &'static str {
        r#"
            submitter = "Acme"
            division = "network"
            round = "v5.0"
            system = "two"
            [run]
            sut = "10.0.0.2:8000"
            insecure = true
            connections = 2
            [texts]
            code = "there"
            calibration = "none"
            [[benchmark]]
            name = "resnet50"
            run = { dataset = "/data" }
            settings.Server = { target_qps = 800 }
            settings.Offline = { target_qps = 1000.5 }
            [benchmark.model]
            input_data_types = "fp32"
            retraining = "no"
            starting_weights_filename = "a.onnx"
            weight_data_types = "fp32"
            weight_transformations = "none"
        "#
    }

    #[test]
    fn a_file_becomes_a_submission() {
        let found = with("Acme", "Acme").unwrap();
        assert_eq!(found.flags, ["--connections=2", "--insecure", "--sut=10.0.0.2:8000"]);
        assert_eq!((found.runs.as_path(), variable("user-conf").as_str()), (Path::new("runs"), "LON_USER_CONF"));
        let [entry] = &found.entries[..] else { panic!() };
        assert_eq!((entry.folder.as_str(), &*entry.tests), ("resnet50", &[AuditTest::Test01, AuditTest::Test04][..]));
        let confs: Vec<&str> = entry.scenarios.iter().map(|(_, text)| text.lines().last().unwrap()).collect();
        assert_eq!(confs, ["resnet50.Offline.target_qps = 1000.5", "resnet50.Server.target_qps = 800"]);
        assert!(with("\"network\"", "\"open\"").unwrap().entries[0].tests.is_empty());
        let rehearsal = with("[run]", "rehearsal = \"10s\"\n[run]").unwrap();
        assert!(rehearsal.entries[0].scenarios[0].1.ends_with("resnet50.Offline.min_duration = 10000\n"));
        assert_eq!((rehearsal.rehearsal, rehearsal.runs), (Some(Duration::from_secs(10)), "rehearsal".into()));
    }

    #[test]
    fn results_follow_from_runs_in_the_edge_suite() {
        let edge = "[system-description]\nsystem_type = \"edge\"\n[texts]";
        let table = "settings.SingleStream = {}\ninferred.MultiStream = \"SingleStream\"\n[benchmark.model]";
        let made = |round: &str, edge: &str, table: &str| {
            let text = whole().replace("\"network\"", round).replace("[texts]", edge);
            let text = text.replace("settings.Offline = { target_qps = 1000.5 }", "");
            toml::from_str(&text.replace("[benchmark.model]", table))
                .map_err(|error: toml::de::Error| error.to_string())
                .and_then(|file| Submission::of(file).map_err(|error| format!("{error:#}")))
        };
        let found = made("\"open\"", edge, table).unwrap();
        let names = found.entries[0].inferred.iter().map(|(to, from)| (to.name(), from.name()));
        assert_eq!(names.collect::<Vec<_>>(), [("MultiStream", "SingleStream")]);
        let other = |to: &str| table.replace("MultiStream", to);
        for (told, said) in [
            (made("\"network\"", edge, table), "no edge suite"),
            (made("\"open\"", "[texts]", table), "in the edge suite alone"),
            (made("\"open\"", edge, &other("Server")), "what may follow is MultiStream from"),
            (made("\"open\"", edge, &table.replace("settings.SingleStream = {}", "")), "no run of SingleStream"),
            (made("\"open\"", edge, &format!("settings.MultiStream = {{}}\n{table}")), "a run of its own"),
        ] {
            let told = told.unwrap_err();
            assert!(told.contains(said), "{told}");
        }
    }

    #[test]
    fn what_cannot_be_submitted_is_named() {
        for (old, new, said) in [
            ("\"network\"", "\"closed\"", "write network or open"),
            ("\"v5.0\"", "\"v4.1\"", "v4.1"),
            ("\"Acme\"", "\"Acme Inc\"", "no blanks"),
            ("\"two\"", "\".two\"", "name of a folder"),
            ("insecure", "mode", "'mode' is set by"),
            ("\"there\"", "\" \"", "[texts] code is empty"),
            ("resnet50", "bert", "bert-99 or bert-99.9"),
            ("resnet50", "digits", "does not have this benchmark"),
            ("resnet50", "resnet5O", "resnet5O"),
            ("settings.Server", "settings.Sever", "Sever"),
            ("target_qps = 800", "target_qps = \"800\"", "is a number"),
            ("retraining = \"no\"", "retraining = \"\"", "model.retraining is empty"),
            ("retraining", "retrain", "retrain"),
            ("[run]", "rehearsal = \"soon\"\n[run]", "for example 10s"),
            ("[run]", "engine = \"flask\"\n[run]", "loadgen-node or official"),
            ("[run]", "official = [\"lon-official\"]\n[run]", "is for engine"),
            ("[texts]", "[system-description]\ncoolin = \"air\"\n[texts]", "coolin"),
        ] {
            let told = with(old, new).unwrap_err();
            assert!(told.contains(said), "{old} > {new}: {told}");
        }
    }

    #[test]
    fn the_template_is_a_file() {
        let file: SubmissionFile = toml::from_str(&template::text(None)).unwrap();
        assert!(Submission::of(file).is_ok());
    }
}
