//! Finds the results of all submitters in a tree, and what is missing beside them.

use std::path::Path;

use loadgen::conf::rules::Rules;
use loadgen::settings::Scenario;
use lon_qsl::benchmark::{Membership, Suite};

use super::super::layout::Layout;
use super::place::Place;
use super::tree::Tree;
use super::{result, system};
use crate::division::Division;

/// The file on calibration, in the folder of a submitter or in its documentation.
const CALIBRATION: &str = "calibration.md";

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
    let of_system = |name: &String| of_system(tree, rules, division, above, name);
    names.iter().map(of_system).sum()
}

fn of_system(tree: &mut Tree, rules: &'static Rules, division: Division, above: &Path, name: &str) -> usize {
    let layout = Layout::new(above, name, rules.round.name);
    let submitter = above.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let described = system::check(tree, &layout.system(), division, submitter);
    let is_rehearsal = tree.is_rehearsal();
    let is_edge = described.contains(&Suite::Edge);
    let mut results = 0;
    let folder = above.join("results").join(name);
    for benchmark in tree.folders(&folder) {
        let Some((official, own)) = Place::benchmark(&benchmark, rules.round.name) else {
            tree.found(&folder.join(&benchmark), format!("is no benchmark of round {}", rules.round.name));
            continue;
        };
        let code = layout.code(&benchmark);
        if !code.is_dir() {
            tree.found(&code, "is missing: the code of the benchmark, or where it is");
        }
        tree.allow(&code);
        let mut made = Vec::new();
        for word in tree.folders(&folder.join(&benchmark)) {
            let Some(scenario) = Scenario::ALL.into_iter().find(|known| known.name() == word) else {
                tree.found(&folder.join(&benchmark).join(&word), "is no scenario");
                continue;
            };
            made.push(scenario);
            let (layout, folder) = (layout.clone(), benchmark.clone());
            let place =
                Place { layout, division, rules, folder, benchmark: own, official, scenario, is_edge, is_rehearsal };
            result::check(tree, &place);
            results += 1;
        }
        for suite in described.iter().copied().filter(|_| division == Division::Network) {
            let Membership::Scenarios(wanted) = own.membership(suite, rules.round.name) else {
                tree.found(
                    &folder.join(&benchmark),
                    format!("round {} does not have it at {}", rules.round.name, said(suite)),
                );
                continue;
            };
            for wanted in &wanted.required {
                if !made.iter().any(|scenario| scenario.name() == wanted.name()) {
                    let what = format!("lacks scenario {}, which a submission must have", wanted.name());
                    tree.found(&folder.join(&benchmark), what);
                }
            }
        }
    }
    results
}

fn said(suite: Suite) -> &'static str {
    match suite {
        Suite::Datacenter => "the datacenter suite",
        Suite::Edge => "the edge suite",
    }
}
