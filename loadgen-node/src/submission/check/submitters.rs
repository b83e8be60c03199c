//! Finds the results of all submitters in a tree, and what is missing beside them.

use std::path::Path;

use loadgen::conf::rules::Rules;
use lon_qsl::benchmark::{Benchmark, Membership, Official, Suite};

use super::super::layout::Layout;
use super::place::{self, INTERACTIVE, Place, Subject};
use super::system::Described;
use super::tree::Tree;
use super::tree_division::TreeDivision;
use super::{result, system};

/// The file on calibration, in the folder of a submitter or in its documentation.
const CALIBRATION: &str = "calibration.md";
/// The scenario that Interactive may stand for.
const SERVER: &str = "Server";

/// Looks at all results of a tree. Returns how many there are.
pub(super) fn check(tree: &mut Tree, rules: &'static Rules) -> usize {
    let root = tree.root().to_owned();
    let mut results = 0;
    for name in tree.folders(&root) {
        let Some(division) = TreeDivision::ALL.into_iter().find(|known| known.name() == name) else {
            tree.found(&root.join(&name), "is no division: closed, network or open");
            continue;
        };
        for submitter in tree.folders(&root.join(&name)) {
            results += of_submitter(tree, rules, division, &root.join(&name).join(submitter));
        }
    }
    if results == 0 {
        tree.found(&root, "has no result");
    }
    results
}

fn of_submitter(tree: &mut Tree, rules: &'static Rules, division: TreeDivision, above: &Path) -> usize {
    let documentation = above.join("documentation");
    let places = [above.join(CALIBRATION), documentation.join(CALIBRATION)];
    match places.iter().find(|path| path.is_file()) {
        Some(path) => drop(tree.text(path)),
        None if division.is_comparable() => tree.found(&places[1], "is missing"),
        None => {}
    }
    tree.allow(&documentation);
    let names = tree.folders(&above.join("results"));
    for file in tree.files(&above.join("systems")) {
        let Some(described) = file.strip_suffix(".json") else { continue };
        if !names.iter().any(|name| name == described) {
            tree.found(&above.join("systems").join(&file), "describes a system without results");
        }
    }
    let mut results = 0;
    for name in &names {
        let layout = Layout::new(above, name, rules.round.name);
        let submitter = above.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let described = system::check(tree, &layout.system(), division, submitter);
        let system = System { layout, division, rules, described };
        let folder = above.join("results").join(name);
        for benchmark in tree.folders(&folder) {
            results += system.benchmark(tree, &folder.join(&benchmark), &benchmark);
        }
    }
    results
}

/// A system with results.
struct System {
    layout: Layout,
    division: TreeDivision,
    rules: &'static Rules,
    described: Described,
}

impl System {
    /// Looks at a benchmark, whose results are in `folder`. Returns how many there are.
    fn benchmark(&self, tree: &mut Tree, folder: &Path, name: &str) -> usize {
        let round = self.rules.round.name;
        let Some(official) = place::official(name, round) else {
            tree.found(folder, format!("is no benchmark of round {round}"));
            return 0;
        };
        let code = self.layout.code(name);
        if !code.is_dir() {
            tree.found(&code, "is missing: the code of the benchmark, or where it is");
        }
        tree.allow(&code);
        let (mut results, mut made) = (0, Vec::new());
        for word in tree.folders(folder) {
            let Some(subject) = Subject::of(&word, official, round) else {
                tree.found(&folder.join(&word), format!("is no scenario of {name} in round {round}"));
                continue;
            };
            made.push(subject.name);
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
            for what in unlike_suites(self.described.suites, official, round, &made) {
                tree.found(folder, what);
            }
        }
        results
    }
}

/// The scenarios that the suites of a system ask for and nobody has made, and those that no suite has.
fn unlike_suites(suites: &[Suite], official: &'static Official, round: &str, made: &[&str]) -> Vec<String> {
    let Ok(benchmark) = Benchmark::find(official.benchmark()) else { return Vec::new() };
    let of_suite = |suite: &Suite| match benchmark.membership(*suite, round) {
        Membership::Scenarios(scenarios) => Some(scenarios),
        Membership::Absent | Membership::Unknown => None,
    };
    let all: Vec<_> = suites.iter().filter_map(of_suite).collect();
    let names = suites.iter().copied().map(said).collect::<Vec<_>>().join(" or the ");
    if all.is_empty() {
        let absent = (!suites.is_empty()).then(|| format!("is not in the {names} suite of round {round}"));
        return absent.into_iter().collect();
    }
    // A scenario that two suites ask for is there twice, and what is said of it is kept once.
    let (mut required, mut allowed) = (Vec::new(), Vec::new());
    for scenarios in all {
        required.extend(scenarios.required.iter().map(|scenario| scenario.name()));
        allowed.extend(scenarios.required.iter().chain(&scenarios.optional).map(|scenario| scenario.name()));
    }
    let has_interactive = suites.contains(&Suite::Datacenter) && Subject::of(INTERACTIVE, official, round).is_some();
    allowed.extend(has_interactive.then_some(INTERACTIVE));
    let open = required.iter().filter(|name| !made.contains(name));
    let mut faults: Vec<String> =
        open.map(|name| format!("lacks scenario {name}, which a submission must have")).collect();
    if has_interactive && ![INTERACTIVE, SERVER].iter().any(|name| made.contains(name)) {
        faults.push(format!("lacks scenarios {SERVER} and {INTERACTIVE}, of which a submission must have one"));
    }
    let odd = made.iter().filter(|name| !allowed.contains(name));
    faults.extend(odd.map(|name| format!("has scenario {name}, which the {names} suite of round {round} does not")));
    faults
}

fn said(suite: Suite) -> &'static str {
    match suite {
        Suite::Datacenter => "datacenter",
        Suite::Edge => "edge",
    }
}

#[cfg(test)]
mod tests {
    use loadgen::conf::rules::RULES;

    use super::*;

    fn told(suites: &[Suite], benchmark: &str, round: &str, made: &[&str]) -> Vec<String> {
        unlike_suites(suites, place::official(benchmark, round).unwrap(), round, made)
    }

    /// Source: the tables of required and optional scenarios in the official checker, mlcommons/inference b66003e1.
    #[test]
    fn suites_ask_for_scenarios_and_have_no_others() {
        let (datacenter, both) = ([Suite::Datacenter], [Suite::Datacenter, Suite::Edge]);
        for (suites, benchmark, round, made, said) in [
            (&datacenter[..], "resnet50", "v5.0", &["Server", "Offline"][..], &[][..]),
            (&datacenter, "resnet50", "v5.0", &["Offline"], &["lacks scenario Server"]),
            (&datacenter, "resnet50", "v5.0", &["Offline", "Server", "MultiStream"], &["has scenario MultiStream"]),
            (&datacenter, "bert-99", "v5.0", &["Offline"], &["is not in the datacenter suite"]),
            (&both, "bert-99", "v5.0", &["Offline", "SingleStream"], &[]),
            (&datacenter, "llama2-70b-99", "v5.1", &["Offline", "Interactive"], &[]),
            (&datacenter, "llama2-70b-99", "v5.1", &["Offline"], &["lacks scenarios Server and Interactive"]),
            (&datacenter, "deepseek-r1", "v5.1", &["Offline"], &["lacks scenario Server"]),
            (&datacenter, "deepseek-r1", "v6.0", &["Offline", "Server"], &[]),
            (&[Suite::Edge], "resnet50", "v6.1", &["Offline", "SingleStream"], &["lacks scenario MultiStream"]),
            (&[], "resnet50", "v6.1", &[], &[]),
        ] {
            let found = told(suites, benchmark, round, made);
            let is_said = found.len() == said.len() && found.iter().zip(said).all(|(one, part)| one.starts_with(part));
            assert!(is_said, "{benchmark} {round} {made:?}: {found:?}");
        }
    }

    /// What is found in a tree with a folder of this name for a result of round v5.1.
    fn found(folder: &str) -> (usize, String) {
        with_files(&[(&format!("{folder}/note.txt"), "x")])
    }

    /// What is found in a tree of these files.
    fn with_files(files: &[(&str, &str)]) -> (usize, String) {
        let place = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = place.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let rules = RULES.iter().find(|rules| rules.round.name == "v5.1").unwrap();
        let mut tree = Tree::open(place.path()).unwrap();
        let results = check(&mut tree, rules);
        let findings = tree.end().findings.into_iter().map(|finding| format!("{} {}\n", finding.path, finding.what));
        (results, findings.collect())
    }

    /// Source: a tree that was published in round v5.1. The official checker reads no score of a test that has passed.
    #[test]
    fn a_silent_file_of_a_test_and_other_tables_are_not_wrong() {
        let hash = format!("\nhash={}\n", "ab".repeat(32));
        let run = "s/whisper/Offline";
        let test = format!("closed/A/compliance/{run}/TEST01/accuracy");
        let at = |name: &str| format!("{test}/{name}");
        let score = "Word Error Rate: 2.2%, accuracy=97.76916557458453%\n";
        let (results, said) = with_files(&[
            (&format!("closed/A/results/{run}/note.txt"), "x"),
            (&at("accuracy.txt"), &hash),
            (&at("baseline_accuracy.txt"), score),
            (&at("compliance_accuracy.txt"), score),
            ("closed/A/systems/all.tsv", "x"),
            ("closed/A/systems/t.json", "{}"),
        ]);
        assert!(results == 1 && !said.contains("has no score") && !said.contains("another score"), "{said}");
        assert!(said.contains("t.json describes a system") && !said.contains("all.tsv describes"), "{said}");
        let other = format!("Word Error Rate: 9%, accuracy=91.0%{hash}");
        let (_, said) = with_files(&[
            (&format!("closed/A/results/{run}/note.txt"), "x"),
            (&at("accuracy.txt"), &other),
            (&at("baseline_accuracy.txt"), score),
            (&at("compliance_accuracy.txt"), score),
        ]);
        assert!(said.contains("has another score in ACCURACY"), "{said}");
    }

    /// Source: the official checker's list of divisions, and its comparison of scenarios in lower case.
    #[test]
    fn closed_results_and_lower_case_folders_are_looked_at() {
        let (results, said) = found("closed/A/results/s/llama2-70b-99/interactive");
        assert_eq!(results, 1, "{said}");
        let beside = "closed/A/compliance/s/llama2-70b-99/interactive/TEST06 is missing";
        assert!(
            said.contains(beside) && said.contains("interactive/performance/run_1/mlperf_log_detail.txt"),
            "{said}"
        );
        let (results, said) = found("open/A/results/s/llama2-70b-99/server");
        assert!(results == 1 && !said.contains("TEST06") && !said.contains("calibration"), "{said}");
        for (folder, part) in [
            ("fast/A/results/s/llama2-70b-99/Server", "fast is no division: closed, network or open"),
            ("closed/A/results/s/retinanet/Interactive", "is no scenario of retinanet in round v5.1"),
            ("closed/A/results/s/retinanet/both", "is no scenario of retinanet in round v5.1"),
        ] {
            let (results, said) = found(folder);
            assert!(results == 0 && said.contains(part), "{folder}: {said}");
        }
    }
}
