//! Settings, each with where it comes from. Later layers replace what earlier ones set.
//!
//! From the lowest: LoadGen's defaults, the round, the benchmark, mlperf.conf, user.conf, flags, audit.config. That is
//! the order of official runs: a test reads mlperf.conf and user.conf, its program sets the rest, and LoadGen itself
//! applies the audit file at the start.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use thiserror::Error;

use super::keys::{self, Applied, Owner};
use super::lookup::ANY;
use super::parse::{Fault, Remark, Table};
use super::rules::Rules;
use crate::mode::Mode;
use crate::scenarios::{Scenario, TestSettings};
use crate::settings::{Assigned, Assignment, AssignmentError, TEST05_SEEDS};

/// Settings with their origins.
#[derive(Clone, Debug)]
pub struct Sourced {
    model: String,
    settings: TestSettings,
    /// The origin of each field; a field that is not here has LoadGen's default.
    origins: BTreeMap<&'static str, Origin>,
    /// Fields that a look at the SUT is to find.
    autos: BTreeSet<&'static str>,
    warnings: Vec<String>,
    /// Names of benchmarks, beside its own. Lines of config files for others are remarked on, where there are any.
    benchmarks: Vec<String>,
}

/// Where a setting comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The default of LoadGen.
    Default,
    /// The built-in settings of a round.
    Round(&'static str),
    /// Facts about the benchmark that this program knows.
    Benchmark(String),
    /// A line of a config file.
    Line {
        /// The file, as given.
        file: String,
        /// Number of the line, from 1.
        line: usize,
    },
    /// The command line, as typed.
    Flag(String),
    /// A short look at the SUT, because it was asked to find the value.
    Found,
}

/// A config file that the caller has read.
#[derive(Clone, Copy, Debug)]
pub struct File<'a> {
    /// Name of the file as given, for messages.
    pub name: &'a str,
    /// Kind of the file. It decides which settings the file may set.
    pub owner: Owner,
    /// Content of the file.
    pub text: &'a str,
}

/// Treatment of lines with another effect than their looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// Read them as the official LoadGen does, and warn.
    Warn,
    /// Refuse the whole file.
    Refuse,
}

/// A config file that cannot be used; every line of the message begins with file and line.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum FileError {
    /// The official reader applies nothing of it.
    #[error("{}", each_line(file, faults.iter().map(|fault| (fault.line(), fault.to_string()))))]
    Faults {
        /// Name of the file.
        file: String,
        /// The faulty lines, at least one.
        faults: Vec<Fault>,
    },
    /// The file was read strictly, and lines of it have another effect than they look like.
    #[error("{}", each_line(file, remarks.iter().map(|remark| (remark.line, remark.text.clone()))))]
    Refused {
        /// Name of the file.
        file: String,
        /// The lines that were remarked on, at least one.
        remarks: Vec<Remark>,
    },
}

impl Sourced {
    /// LoadGen's defaults. `model` is the benchmark's name in config files.
    pub fn new(model: &str, scenario: Scenario) -> Sourced {
        let settings = TestSettings { scenario, ..TestSettings::default() };
        let origins = BTreeMap::from([("scenario", Origin::Flag("--scenario".to_owned()))]);
        let (autos, warnings, benchmarks) = (BTreeSet::new(), Vec::new(), Vec::new());
        Sourced { model: model.to_owned(), settings, origins, autos, warnings, benchmarks }
    }

    /// The same, with the names of all benchmarks: a line of a config file for another one is remarked on.
    pub fn with_benchmarks(self, benchmarks: Vec<String>) -> Sourced {
        Sourced { benchmarks, ..self }
    }

    /// Settings of another reader, with the origin of each field that it set.
    pub(crate) fn of(
        model: &str,
        settings: TestSettings,
        origins: BTreeMap<&'static str, Origin>,
        warnings: Vec<String>,
    ) -> Sourced {
        let (autos, benchmarks) = (BTreeSet::new(), Vec::new());
        Sourced { model: model.to_owned(), settings, origins, autos, warnings, benchmarks }
    }

    /// The settings as they are now.
    pub fn settings(&self) -> &TestSettings {
        &self.settings
    }

    /// Where a field of [`TestSettings`] comes from.
    pub fn origin(&self, field: &str) -> &Origin {
        self.origins.get(field).unwrap_or(&Origin::Default)
    }

    /// Returns the warnings about config files, each with file, line and effect.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The seeds of a round and nothing else of it.
    pub fn apply_seeds(&mut self, rules: &Rules) {
        self.settings.set_seeds(rules.round.seeds);
        self.settings.set_test05_seeds(TEST05_SEEDS);
        self.note(SEEDS, &Origin::Round(rules.round.name));
    }

    /// All built-in settings of a round.
    pub fn apply_round(&mut self, rules: &Rules) {
        let applied = rules.apply(&self.model, self.settings.scenario.name(), &mut self.settings);
        self.note(applied.fields.into_iter().map(|(field, _)| field), &Origin::Round(rules.round.name));
        self.apply_seeds(rules);
    }

    /// Applies a config file.
    ///
    /// # Errors
    /// A line makes the official reader reject it, or it is read strictly and a line gives reason for a remark.
    pub fn apply_file(&mut self, file: File<'_>, strictness: Strictness) -> Result<(), FileError> {
        let table = Table::parse(file.text);
        if !table.faults().is_empty() {
            return Err(FileError::Faults { file: file.name.to_owned(), faults: table.faults().to_vec() });
        }
        let model = if file.owner == Owner::Audit { ANY } else { self.model.as_str() };
        let scenario = self.settings.scenario.name();
        let Applied { fields, mut remarks } = keys::apply(&table, file.owner, model, scenario, &mut self.settings);
        if !self.benchmarks.is_empty() {
            let is_known = |name: &str| name == self.model || self.benchmarks.iter().any(|benchmark| benchmark == name);
            remarks.extend(keys::of_unknown_benchmarks(&table, is_known, &self.benchmarks));
            remarks.sort_by_key(|remark| remark.line);
        }
        if strictness == Strictness::Refuse && !remarks.is_empty() {
            return Err(FileError::Refused { file: file.name.to_owned(), remarks });
        }
        for (field, line) in fields {
            self.note([field], &Origin::Line { file: file.name.to_owned(), line });
        }
        self.warnings.extend(remarks.iter().map(|remark| format!("{}:{}: {}", file.name, remark.line, remark.text)));
        Ok(())
    }

    /// Applies one assignment. A value that changes a field of another scenario is taken, and warned of.
    ///
    /// # Errors
    /// The key does not exist in this scenario, or the value does not fit it.
    pub fn assign(&mut self, assignment: &Assignment, origin: &Origin) -> Result<Assigned, AssignmentError> {
        let before = self.settings.clone();
        let assigned = self.settings.assign(assignment)?;
        match assigned {
            Assigned::Here(field) => {
                self.note([field], origin);
                if assignment.is_auto() {
                    self.autos.insert(field);
                }
                let doubt = assignment.doubt(self.settings.scenario);
                self.warnings.extend(doubt.map(|doubt| format!("{origin}: {doubt}")));
            }
            Assigned::Elsewhere(field) if self.settings != before => {
                self.note([field], origin);
                let scenario = self.settings.scenario.name();
                self.warnings.push(format!("{origin}: {scenario} has no {field}, so that it changes nothing here"));
            }
            Assigned::Elsewhere(_) | Assigned::Nothing => {}
        }
        Ok(assigned)
    }

    /// Fields whose values are to be found by a look at the SUT; until then they are what they were before.
    pub fn to_find(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.autos.iter().copied()
    }

    /// Sets the mode that a flag gave.
    pub fn set_mode(&mut self, mode: Mode) {
        self.settings.mode = mode;
        self.note(["mode"], &Origin::Flag("--mode".to_owned()));
    }

    fn note(&mut self, fields: impl IntoIterator<Item = &'static str>, origin: &Origin) {
        for field in fields {
            self.autos.remove(field);
            self.origins.insert(field, origin.clone());
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Round(name) => write!(f, "round {name}"),
            Self::Benchmark(name) => write!(f, "benchmark {name}"),
            Self::Line { file, line } => write!(f, "{file}:{line}"),
            Self::Flag(text) => f.write_str(text),
            Self::Found => f.write_str("found by a look at the nodes"),
        }
    }
}

fn each_line(file: &str, lines: impl Iterator<Item = (usize, String)>) -> String {
    lines.map(|(line, text)| format!("{file}:{line}: {text}")).collect::<Vec<_>>().join("\n")
}

/// The settings with which a round fixes the traffic, that of compliance test 05 included.
const SEEDS: [&str; 6] = [
    "qsl_rng_seed",
    "sample_index_rng_seed",
    "schedule_rng_seed",
    "test05_qsl_rng_seed",
    "test05_sample_index_rng_seed",
    "test05_schedule_rng_seed",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_benchmark_that_no_round_knows_has_seeds_of_its_own_for_test_05() {
        let mut sourced = Sourced::new("digits", Scenario::SERVER);
        sourced.apply_seeds(Rules::newest());
        let settings = sourced.settings();
        assert_eq!(settings.qsl_rng_seed, Rules::newest().round.seeds.qsl);
        assert_eq!(settings.test05_schedule_rng_seed, TEST05_SEEDS.schedule);
        assert_ne!(settings.test05_qsl_rng_seed, settings.qsl_rng_seed);
        assert_eq!(*sourced.origin("test05_qsl_rng_seed"), Origin::Round("v6.1"));
    }

    fn file(owner: Owner, text: &str) -> File<'_> {
        File { name: "some.conf", owner, text }
    }

    fn settings() -> Sourced {
        Sourced::new("bert", Scenario::SERVER)
    }

    #[test]
    fn later_layers_win_whatever_their_wildcards() {
        let mut sourced = settings();
        sourced.apply_round(Rules::newest());
        assert_eq!(sourced.settings().server_target_latency_ns, 130_000_000);
        assert_eq!(*sourced.origin("server_target_latency_ns"), Origin::Round("v6.1"));
        assert!(sourced.warnings().is_empty(), "{:?}", sourced.warnings());
        let user = file(Owner::User, "\n*.*.target_latency = 20\n");
        sourced.apply_file(user, Strictness::Refuse).unwrap();
        assert_eq!(sourced.settings().server_target_latency_ns, 20_000_000);
        assert_eq!(sourced.origin("server_target_latency_ns").to_string(), "some.conf:2");
        let flag = Origin::Flag("--set target_latency=30".to_owned());
        let field = "server_target_latency_ns";
        assert_eq!(sourced.assign(&"target_latency=30".parse().unwrap(), &flag), Ok(Assigned::Here(field)));
        assert_eq!(*sourced.origin("server_target_latency_ns"), flag);
        sourced.apply_file(file(Owner::Audit, "*.Server.target_latency = 40"), Strictness::Refuse).unwrap();
        assert_eq!(sourced.settings().server_target_latency_ns, 40_000_000);
        assert_eq!(sourced.origin("print_timestamps").to_string(), "default");
    }

    #[test]
    fn what_changes_nothing_in_this_scenario_is_warned_of() {
        let mut sourced = settings();
        let assign = |sourced: &mut Sourced, text: &str| {
            sourced.assign(&text.parse().unwrap(), &Origin::Flag(format!("--set {text}"))).unwrap();
        };
        let as_it_is = format!("offline_expected_qps={}", sourced.settings().offline_expected_qps);
        assign(&mut sourced, &as_it_is);
        assert!(sourced.warnings().is_empty(), "{:?}", sourced.warnings());
        assign(&mut sourced, "offline_expected_qps=7");
        let warning =
            "--set offline_expected_qps=7: Server has no offline_expected_qps, so that it changes nothing here";
        assert_eq!(sourced.warnings(), [warning]);
        assert_eq!(sourced.settings().offline_expected_qps, 7.0);
    }

    #[test]
    fn a_latency_that_was_typed_in_nanoseconds_is_warned_of() {
        let warned = |text: &str| {
            let mut sourced = settings();
            sourced.assign(&text.parse().unwrap(), &Origin::Flag(format!("--set {text}"))).unwrap();
            sourced.warnings().join("\n")
        };
        let text = "--set target_latency=100000000: target_latency is in ms: 100000000 are 100000 s; write a unit, \
                    such as target_latency=100ms";
        assert_eq!(warned("target_latency=100000000"), text);
        assert!(warned("ttft_latency=450000000").contains("ttft_latency is in ms: 450000000 are 450000 s"));
        for meant in ["target_latency=10000", "target_latency=7200s", "server_target_latency_ns=100000000"] {
            assert_eq!(warned(meant), "", "{meant}");
        }
    }

    #[test]
    fn users_keep_the_seeds_of_the_round() {
        let mut sourced = settings();
        sourced.apply_seeds(Rules::newest());
        sourced.apply_file(file(Owner::User, "*.*.qsl_rng_seed = 7"), Strictness::Warn).unwrap();
        assert_eq!(sourced.settings().qsl_rng_seed, Rules::newest().round.seeds.qsl);
        assert_eq!(sourced.warnings(), ["some.conf:1: *.*.qsl_rng_seed is never read: only mlperf.conf sets it"]);
        sourced.apply_file(file(Owner::Official, "*.*.qsl_rng_seed = 7"), Strictness::Refuse).unwrap();
        assert_eq!(sourced.settings().qsl_rng_seed, 7);
    }

    #[test]
    fn lines_for_a_benchmark_that_does_not_exist_are_warned_of() {
        let benchmarks = ["resnet50", "bert"].map(str::to_owned).to_vec();
        let mut sourced = settings().with_benchmarks(benchmarks);
        let lines = "resnet5O.Server.target_qps = 1\n*.Server.target_qps = 2\nbert.*.min_duration = 3\n\
                     resnet50.Server.target_qps = 4\n#resnet.Server.target_qps = 5\n";
        sourced.apply_file(file(Owner::User, lines), Strictness::Warn).unwrap();
        let warning = "some.conf:1: resnet5O.Server.target_qps is never read: no benchmark is named resnet5O (did you \
                    mean resnet50?)";
        assert_eq!(sourced.warnings(), [warning]);
        let error = sourced.apply_file(file(Owner::User, lines), Strictness::Refuse).unwrap_err().to_string();
        assert_eq!(error, warning);
    }

    #[test]
    fn faults_and_strictly_read_lines_are_errors_with_their_place() {
        let faulty = file(Owner::User, "*.*.mode = 1 # x\n*.*.mode == 1");
        let error = settings().apply_file(faulty, Strictness::Warn).unwrap_err().to_string();
        assert!(error.starts_with("some.conf:1: ") && error.contains("\nsome.conf:2: "), "{error}");
        let odd = file(Owner::User, "*.Server.target_qps=5\n");
        let mut warned = settings();
        warned.apply_file(odd, Strictness::Warn).unwrap();
        assert!(warned.warnings()[0].starts_with("some.conf:1: "), "{:?}", warned.warnings());
        let error = settings().apply_file(odd, Strictness::Refuse).unwrap_err().to_string();
        assert!(error.starts_with("some.conf:1: "), "{error}");
    }

    #[test]
    fn a_round_is_the_origin_of_its_settings() {
        let mut sourced = settings();
        sourced.apply_round(Rules::find("v5.1").unwrap());
        assert_eq!(*sourced.origin("qsl_rng_seed"), Origin::Round("v5.1"));
        assert_eq!(*sourced.origin("server_target_latency_ns"), Origin::Round("v5.1"));
        assert!(sourced.warnings().is_empty(), "{:?}", sourced.warnings());
    }
}
