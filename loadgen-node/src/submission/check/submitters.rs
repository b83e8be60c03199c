//! Finds the results of all submitters in a tree, and what is missing beside them.

use std::path::Path;

use loadgen::conf::rules::Rules;
use loadgen::settings::Scenario;
use lon_qsl::benchmark::{Benchmark, Membership, Suite};

use super::super::layout::Layout;
use super::place::Place;
use super::tree::Tree;
use super::{result, system};
use crate::division::Division;

/// The file on calibration, in the folder of a submitter or in its documentation.
const CALIBRATION: &str = "calibration.md";

/// The scenario of rounds from v6.0 on that is Server with other settings.
const INTERACTIVE: &str = "Interactive";

/// Looks at all results of a tree. Returns how many there are.
pub(super) fn check(tree: &mut Tree, rules: &'static Rules) -> usize {
    let root = tree.root().to_owned();
    let mut results = 0;
    for name in tree.folders(&root) {
        let division = [Division::Network, Division::Open].into_iter().find(|known| known.name() == name);
        let Some(division) = division else {
            tree.found(&root.join(&name), "is no division that is looked at: network or open");
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

fn of_submitter(tree: &mut Tree, rules: &'static Rules, division: Division, above: &Path) -> usize {
    let documentation = above.join("documentation");
    let places = [above.join(CALIBRATION), documentation.join(CALIBRATION)];
    match places.iter().find(|path| path.is_file()) {
        Some(path) => drop(tree.text(path)),
        None if division == Division::Network => tree.found(&places[1], "is missing"),
        None => {}
    }
    tree.allow(&documentation);
    let names = tree.folders(&above.join("results"));
    for file in tree.files(&above.join("systems")) {
        let described = file.strip_suffix(".json").unwrap_or(&file);
        if !names.iter().any(|name| name == described) {
            tree.found(&above.join("systems").join(&file), "describes a system without results");
        }
    }
    let mut results = 0;
    for name in &names {
        let layout = Layout::new(above, name, rules.round.name);
        let submitter = above.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let suites = system::check(tree, &layout.system(), division, submitter);
        let system = System { layout, division, rules, suites };
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
    division: Division,
    rules: &'static Rules,
    /// The suites that it is submitted to.
    suites: &'static [Suite],
}

impl System {
    /// Looks at a benchmark, whose results are in `folder`. Returns how many there are.
    fn benchmark(&self, tree: &mut Tree, folder: &Path, name: &str) -> usize {
        let round = self.rules.round.name;
        let Some((official, benchmark)) = Place::benchmark(name, round) else {
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
            if word == INTERACTIVE {
                tree.unchecked(format!("results of {INTERACTIVE}: they are not looked at"));
                self.layout.all(name, INTERACTIVE).iter().for_each(|part| tree.allow(part));
                results += 1;
                continue;
            }
            let Some(scenario) = Scenario::ALL.into_iter().find(|known| known.name() == word) else {
                tree.found(&folder.join(&word), "is no scenario");
                continue;
            };
            let place = Place {
                layout: self.layout.clone(),
                division: self.division,
                rules: self.rules,
                folder: name.to_owned(),
                benchmark,
                official,
                scenario,
                is_edge: self.suites.contains(&Suite::Edge),
                is_rehearsal: tree.is_rehearsal(),
            };
            result::check(tree, &place);
            made.push(scenario);
            results += 1;
        }
        for what in self.lacking(benchmark, &made) {
            tree.found(folder, what);
        }
        results
    }

    /// The scenarios that the suites ask for and nobody has made. The open division has no such rule.
    fn lacking(&self, benchmark: &Benchmark, made: &[Scenario]) -> Vec<String> {
        let (round, mut lacking) = (self.rules.round.name, Vec::new());
        for suite in self.suites.iter().copied().filter(|_| self.division == Division::Network) {
            let Membership::Scenarios(wanted) = benchmark.membership(suite, round) else {
                lacking.push(format!("is not in the {} suite of round {round}", said(suite)));
                continue;
            };
            let names = wanted.required.iter().map(|wanted| wanted.name());
            let open = names.filter(|name| !made.iter().any(|scenario| scenario.name() == *name));
            lacking.extend(open.map(|name| format!("lacks scenario {name}, which a submission must have")));
        }
        lacking
    }
}

fn said(suite: Suite) -> &'static str {
    match suite {
        Suite::Datacenter => "datacenter",
        Suite::Edge => "edge",
    }
}
