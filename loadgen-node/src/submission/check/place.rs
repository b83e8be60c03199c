//! One benchmark and scenario of a system: where its files are, and what the round holds of it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use loadgen::conf::rules::Rules;
use loadgen::settings::Scenario;
use lon_qsl::benchmark::{Benchmark, Official};

use super::super::inferred;
use super::super::kind::Kind;
use super::super::layout::Layout;
use super::tree_division::TreeDivision;
use lon_run::audit::Detail;
use lon_run::outputs::logs::audit_folder::{ACCURACY, PERFORMANCE};

/// A benchmark and a scenario of a system.
pub(super) struct Place {
    pub(super) layout: Layout,
    pub(super) division: TreeDivision,
    pub(super) rules: &'static Rules,
    /// The name of the benchmark's folder.
    pub(super) folder: String,
    /// The name of the scenario's folder.
    pub(super) word: String,
    pub(super) benchmark: &'static Benchmark,
    pub(super) official: &'static Official,
    /// The scenario by LoadGen's name.
    pub(super) scenario: Scenario,
    /// True where the SUT is reached over a network, as the division or the system says.
    pub(super) is_networked: bool,
    /// True when the system is one of the edge suite, in which results may follow from runs of other scenarios.
    pub(super) is_edge: bool,
    /// True when performance runs were shortened and the dataset may be a small one, as the tree says.
    pub(super) is_rehearsal: bool,
}

/// A submitter's names of benchmarks, with the official ones.
pub(super) type Mapping = BTreeMap<String, String>;

/// Other names of benchmarks that the official checker takes.
const OTHER_NAMES: [(&str, &str); 6] = [
    ("resnet50", "resnet"),
    ("mobilenet", "resnet"),
    ("ssd-resnet34", "retinanet"),
    ("llama3_1-405b", "llama3.1-405b"),
    ("llama3_1-8b", "llama3.1-8b"),
    ("llama3_1-8b-edge", "llama3.1-8b-edge"),
];
/// Parts of names by which it guesses a benchmark, in order.
const GUESSES: [(&str, &str); 6] = [
    ("mobilenet", "resnet"),
    ("efficientnet", "resnet"),
    ("resnet50", "resnet"),
    ("bert-99.9", "bert-99.9"),
    ("bert-99", "bert-99"),
    ("llama3_1-405b", "llama3.1-405b"),
];

/// Returns the round's entry for the benchmark with this folder. The folder has its official name, another one, that of
/// the submitter, or one from which the benchmark is a guess.
pub(super) fn official(folder: &str, mapping: &Mapping, round: &str) -> Option<&'static Official> {
    let other = OTHER_NAMES.into_iter().find(|(name, _)| *name == folder).map(|(_, checker)| checker);
    let own = mapping.get(folder).map(String::as_str);
    let guess = GUESSES.into_iter().find(|(part, _)| folder.contains(part)).map(|(_, checker)| checker);
    let names = [Some(folder), other, own, guess];
    names.into_iter().flatten().find_map(|checker| Official::named(checker, round))
}

impl Place {
    /// The scenario of a run here: that of the folder, unless its result may follow from a run of another.
    pub(super) fn scenario_of(&self, detail: &Detail) -> Scenario {
        let name = detail.text("effective_scenario").unwrap_or_default();
        let logged = Scenario::OFFICIAL.into_iter().find(|scenario| scenario.name() == name);
        let other = logged.filter(|logged| self.is_edge && inferred::is_allowed(self.scenario, *logged));
        other.unwrap_or(self.scenario)
    }

    /// The folder with the logs of a run.
    pub(super) fn logs(&self, kind: Kind) -> PathBuf {
        let results = self.layout.results(&self.folder, &self.word);
        match kind {
            Kind::Accuracy => results.join(ACCURACY),
            Kind::Performance => results.join(PERFORMANCE),
            Kind::Compliance(test) => self.test(test.name()).join(PERFORMANCE),
        }
    }

    /// The folder of a compliance test.
    pub(super) fn test(&self, name: &str) -> PathBuf {
        self.layout.compliance(&self.folder, &self.word).join(name)
    }

    /// The compliance tests that a submission must have.
    pub(super) fn tests(&self) -> Vec<&'static str> {
        match self.division.is_comparable() {
            true => self.official.compliance_tests(self.rules.round.name),
            false => Vec::new(),
        }
    }
}

/// A place of a closed submission in a tree.
#[cfg(test)]
pub(super) fn closed(root: &std::path::Path, round: &str, folder: &str, word: &str) -> Place {
    let rules = loadgen::conf::rules::RULES.iter().find(|rules| rules.round.name == round).unwrap();
    let subject =
        super::super::suites::Subject::of(word, official(folder, &Mapping::new(), round).unwrap(), round).unwrap();
    Place {
        layout: Layout::new(&root.join("closed/A"), "s", round),
        division: TreeDivision::Closed,
        rules,
        folder: folder.to_owned(),
        word: word.to_owned(),
        benchmark: subject.benchmark,
        official: subject.official,
        scenario: subject.scenario,
        is_networked: false,
        is_edge: false,
        is_rehearsal: false,
    }
}

/// A detail log with these values, as an official LoadGen writes it.
#[cfg(test)]
pub(super) fn logged(values: &[(&str, &str)]) -> String {
    let end = "\"time_ms\": 1.0, \"metadata\": {\"is_error\": false, \"is_warning\": false}}";
    values.iter().map(|(key, value)| format!(":::MLLOG {{\"key\": \"{key}\", \"value\": {value}, {end}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::suites::Subject;
    use super::*;

    /// Sources: the official checker's scenario tables and its own numbers for Interactive (8000 samples), b66003e1.
    #[test]
    fn folders_of_scenarios_name_settings_and_counts() {
        for (word, benchmark, round, expectation) in [
            ("Server", "llama2-70b-99", "v6.0", Some(("Server", "llama2-70b", None))),
            ("server", "llama2-70b-99", "v6.0", Some(("Server", "llama2-70b", None))),
            ("interactive", "llama2-70b-99.9", "v6.1", Some(("Interactive", "llama2-70b-interactive", None))),
            ("Interactive", "llama2-70b-99", "v5.0", None),
            ("Server", "llama2-70b-interactive-99", "v5.0", Some(("Server", "llama2-70b-interactive", None))),
            (
                "Interactive",
                "qwen3-vl-235b-a22b",
                "v6.1",
                Some(("Interactive", "qwen3-vl-235b-a22b-interactive", Some(8_000))),
            ),
            ("Offline", "qwen3-vl-235b-a22b", "v6.1", Some(("Offline", "qwen3-vl-235b-a22b", Some(48_289)))),
            ("Interactive", "resnet50", "v6.1", None),
            ("both", "resnet50", "v6.1", None),
        ] {
            let subject = Subject::of(word, official(benchmark, &Mapping::new(), round).unwrap(), round);
            let parts = subject.map(|own| (own.name, own.benchmark.name, own.official.accuracy_samples));
            assert_eq!(parts, expectation, "{word} of {benchmark} in {round}");
        }
    }
}
