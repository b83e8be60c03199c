//! Finds the results of all submitters in a tree, and what is missing beside them.

use std::path::{Path, PathBuf};

use loadgen::conf::rules::Rules;
use lon_qsl::benchmark::Suite;

use super::super::layout::Layout;
use super::super::suites::{Subject, unlike_suites};
use super::place::{self, Mapping, Place};
use super::system::Described;
use super::tree::Tree;
use super::tree_division::TreeDivision;
use super::{result, system};

/// The file on calibration, in the folder of a submitter or in its documentation.
const CALIBRATION: &str = "calibration.md";
/// The file of a submitter to the open division on names of benchmarks.
const MAPPING: &str = "model_mapping.json";

/// Looks at all results of a tree. Returns how many there are.
pub(super) fn check(tree: &mut Tree, rules: &'static Rules) -> usize {
    let root = tree.root().to_owned();
    let mut results = 0;
    for name in tree.folders(&root) {
        let Some(division) = TreeDivision::ALL.into_iter().find(|own| own.name() == name) else {
            tree.add_fault(&root.join(&name), "is no division: closed, network or open");
            continue;
        };
        for submitter in tree.folders(&root.join(&name)) {
            results += of_submitter(tree, rules, division, &root.join(&name).join(submitter));
        }
    }
    if results == 0 {
        tree.add_fault(&root, "has no result");
    }
    results
}

fn of_submitter(tree: &mut Tree, rules: &'static Rules, division: TreeDivision, above: &Path) -> usize {
    let documentation = above.join("documentation");
    let places = [above.join(CALIBRATION), documentation.join(CALIBRATION)];
    let has_text = |path: &PathBuf| path.metadata().is_ok_and(|data| data.is_file() && data.len() > 0);
    if division.is_comparable() && !places.iter().any(has_text) {
        // The official checkers of some rounds ask for it.
        tree.advise(&places[1], "is missing or empty");
    }
    tree.allow(&documentation);
    tree.allow(&places[0]);
    let names = tree.folders(&above.join("results"));
    for file in tree.files(&above.join("systems")) {
        let Some(described) = file.strip_suffix(".json") else { continue };
        if !names.iter().any(|name| name == described) {
            tree.advise(&above.join("systems").join(&file), "describes a system without results");
        }
    }
    let mapping = match division {
        TreeDivision::Open => mapping(tree, &above.join(MAPPING)),
        TreeDivision::Closed | TreeDivision::Network => Mapping::new(),
    };
    let mut results = 0;
    for name in &names {
        let layout = Layout::new(above, name, rules.round.name);
        let submitter = above.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let described = system::check(tree, &layout.system(), division, submitter);
        let system = System { layout, division, rules, described, mapping: &mapping };
        let folder = above.join("results").join(name);
        for benchmark in tree.folders(&folder) {
            results += system.benchmark(tree, &folder.join(&benchmark), &benchmark);
        }
    }
    results
}

/// The benchmarks for which a submitter to the open division has other names.
fn mapping(tree: &mut Tree, path: &Path) -> Mapping {
    if !path.is_file() {
        return Mapping::new();
    }
    let text = tree.text(path).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_else(|error| {
        tree.add_fault(path, format!("is no JSON object of names and benchmarks: {error}"));
        Mapping::new()
    })
}

/// A system with results.
struct System<'a> {
    layout: Layout,
    division: TreeDivision,
    rules: &'static Rules,
    described: Described,
    mapping: &'a Mapping,
}

impl System<'_> {
    /// Looks at a benchmark, whose results are in `folder`. Returns how many there are.
    fn benchmark(&self, tree: &mut Tree, folder: &Path, name: &str) -> usize {
        let round = self.rules.round.name;
        let Some(official) = place::official(name, self.mapping, round) else {
            tree.add_fault(folder, format!("is no benchmark of round {round}"));
            return 0;
        };
        let code = self.layout.code(name);
        let all = code.parent().unwrap_or(&code);
        match () {
            () if !all.is_dir() => tree.add_fault(all, "is missing: the code of the benchmarks, or where it is"),
            // Benchmarks may share their code.
            () if !code.is_dir() => tree.advise(&code, "is missing: the code of the benchmark, or where it is"),
            () => {}
        }
        tree.allow(all);
        let (mut results, mut scenarios) = (0, Vec::new());
        for word in tree.folders(folder) {
            let Some(subject) = Subject::of(&word, official, round) else {
                tree.add_fault(&folder.join(&word), format!("is no scenario of {name} in round {round}"));
                continue;
            };
            scenarios.push(subject.name);
            let place = Place {
                layout: self.layout.clone(),
                division: self.division,
                rules: self.rules,
                folder: name.to_owned(),
                word,
                benchmark: subject.benchmark,
                official: subject.official,
                scenario: subject.scenario,
                is_networked: self.division.is_networked().unwrap_or(self.described.is_networked),
                is_edge: self.described.suites.contains(&Suite::Edge),
                is_rehearsal: tree.is_rehearsal(),
            };
            result::check(tree, &place);
            results += 1;
        }
        if self.division.is_comparable() {
            for what in unlike_suites(self.described.suites, official, round, &scenarios) {
                tree.add_fault(folder, what);
            }
        }
        results
    }
}

#[cfg(test)]
mod tests {
    use loadgen::conf::rules::RULES;

    use super::super::tree::TreeNotes;
    use super::*;

    /// Returns the findings on a tree with a folder of this name for a result of round v5.1.
    fn findings_of(folder: &str) -> (usize, String) {
        with_files(&[(&format!("{folder}/note.txt"), "x")])
    }

    /// Returns the findings on a tree of these files.
    fn with_files(files: &[(&str, &str)]) -> (usize, String) {
        let (results, notes) = of_files(files);
        let lines = notes.findings.iter().map(|finding| format!("{} {}\n", finding.path, finding.what));
        (results, lines.collect())
    }

    fn of_files(files: &[(&str, &str)]) -> (usize, TreeNotes) {
        let place = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = place.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let rules = RULES.iter().find(|rules| rules.round.name == "v5.1").unwrap();
        let mut tree = Tree::open(place.path()).unwrap();
        let results = check(&mut tree, rules);
        (results, tree.end("v5.1"))
    }

    /// Source: a tree that was published in round v5.1. The official checker reads no score of a test that has passed.
    #[test]
    fn a_silent_file_of_a_test_and_other_tables_are_not_wrong() {
        let hash = format!("\nhash={}\n", "ab".repeat(32));
        let run = "s/whisper/Offline";
        let test = format!("closed/A/compliance/{run}/TEST01/accuracy");
        let at = |name: &str| format!("{test}/{name}");
        let score = "Word Error Rate: 2.2%, accuracy=97.76916557458453%\n";
        let (results, findings) = with_files(&[
            (&format!("closed/A/results/{run}/note.txt"), "x"),
            (&at("accuracy.txt"), &hash),
            (&at("baseline_accuracy.txt"), score),
            (&at("compliance_accuracy.txt"), score),
            ("closed/A/systems/all.tsv", "x"),
            ("closed/A/systems/t.json", "{}"),
        ]);
        assert!(
            results == 1 && !findings.contains("has no score") && !findings.contains("another score"),
            "{findings}"
        );
        assert!(!findings.contains("describes a system"), "{findings}");
        let other = format!("Word Error Rate: 9%, accuracy=91.0%{hash}");
        let (_, findings) = with_files(&[
            (&format!("closed/A/results/{run}/note.txt"), "x"),
            (&at("accuracy.txt"), &other),
            (&at("baseline_accuracy.txt"), score),
            (&at("compliance_accuracy.txt"), score),
        ]);
        assert!(findings.contains("has another score in ACCURACY"), "{findings}");
    }

    /// Sources: the official checker's own names and guesses, mlcommons/inference b66003e1, and trees of v5.1 and v6.0.
    #[test]
    fn other_names_of_benchmarks_are_known_and_those_of_the_open_division() {
        for (folder, mapping, results) in [
            ("closed/A/results/s/llama3_1-8b/Offline", "{}", 1),
            ("open/A/results/s/mobilenet_v3-small/singlestream", "{}", 1),
            ("open/A/results/s/mine/Offline", "{\"mine\": \"llama2-70b-99\"}", 1),
            ("open/A/results/s/mine/Offline", "{\"mine\": \"yours\"}", 0),
            ("open/A/results/s/mine/Offline", "[]", 0),
            ("closed/A/results/s/mine/Offline", "{\"mine\": \"llama2-70b-99\"}", 0),
        ] {
            let above = folder.split("/results").next().unwrap();
            let files = [(format!("{folder}/note.txt"), "x"), (format!("{above}/model_mapping.json"), mapping)];
            let (count, findings) = with_files(&files.each_ref().map(|(path, text)| (path.as_str(), *text)));
            assert_eq!(count, results, "{folder} {mapping}: {findings}");
            assert_eq!(findings.contains("is no benchmark"), results == 0, "{folder} {mapping}: {findings}");
            assert_eq!(findings.contains("is no JSON object of names"), mapping == "[]", "{mapping}: {findings}");
        }
    }

    /// Source: a tree of v5.1 with an empty file beside the one that says it.
    #[test]
    fn the_file_on_calibration_with_a_text_counts() {
        let run = "closed/A/results/s/whisper/Offline/note.txt";
        let [above, below] = ["closed/A/calibration.md", "closed/A/documentation/calibration.md"];
        for (files, is_lacking) in [
            (vec![(run, "x"), (above, ""), (below, "x")], false),
            (vec![(run, "x"), (above, "x")], false),
            (vec![(run, "x"), (above, "")], true),
            (vec![(run, "x")], true),
        ] {
            let notes = of_files(&files).1;
            let advised = notes.advice.iter().any(|advice| advice.what == "is missing or empty");
            let is_wrong = notes.findings.iter().any(|finding| finding.path.contains("calibration"));
            assert_eq!((advised, is_wrong), (is_lacking, false), "{files:?}");
        }
    }

    /// Source: the official checker asks for the folder of all code alone.
    #[test]
    fn benchmarks_may_share_their_code() {
        let run = "closed/A/results/s/whisper/Offline/note.txt";
        for (code, is_wrong) in [("closed/A/code/other/main.py", false), ("closed/A/setup/main.py", true)] {
            let (_, findings) = with_files(&[(run, "x"), (code, "x")]);
            assert_eq!(findings.contains("closed/A/code is missing"), is_wrong, "{findings}");
            assert!(!findings.contains("closed/A/code/whisper is missing"), "{findings}");
        }
    }

    /// Source: the official checker's list of divisions, and its comparison of scenarios in lower case.
    #[test]
    fn closed_results_and_lower_case_folders_are_looked_at() {
        let (results, findings) = findings_of("closed/A/results/s/llama2-70b-99/interactive");
        assert_eq!(results, 1, "{findings}");
        let finding = "closed/A/compliance/s/llama2-70b-99/interactive/TEST06 is missing";
        assert!(
            findings.contains(finding) && findings.contains("interactive/performance/run_1/mlperf_log_detail.txt"),
            "{findings}"
        );
        let (results, findings) = findings_of("open/A/results/s/llama2-70b-99/server");
        assert!(results == 1 && !findings.contains("TEST06") && !findings.contains("calibration"), "{findings}");
        for (folder, part) in [
            ("fast/A/results/s/llama2-70b-99/Server", "fast is no division: closed, network or open"),
            ("closed/A/results/s/retinanet/Interactive", "is no scenario of retinanet in round v5.1"),
            ("closed/A/results/s/retinanet/both", "is no scenario of retinanet in round v5.1"),
        ] {
            let (results, findings) = findings_of(folder);
            assert!(results == 0 && findings.contains(part), "{folder}: {findings}");
        }
    }
}
