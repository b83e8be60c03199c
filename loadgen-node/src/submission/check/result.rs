//! One result: its performance run, its accuracy run and its compliance tests, each alone and then together.

use loadgen::official::DETAIL_FILE;

use super::super::kind::Kind;
use super::place::Place;
use super::tree::Tree;
use super::{answers, compliance, logs, texts};
use lon_run::audit::{self, AuditedRun};

/// Settings in which an accuracy run may differ from the performance run, beside how long and how fast it asks. The
/// number of samples in memory at a time does not matter to it. The seeds of each run are checked against the round.
const ACCURACY_CHANGES: [&str; 6] = [
    "test_mode",
    "performance_sample_count",
    "qsl_reported_performance_count",
    "qsl_rng_seed",
    "sample_index_rng_seed",
    "schedule_rng_seed",
];
/// Settings in which an accuracy run may also differ where its dataset is another one.
const DATASET: [&str; 2] = ["qsl_reported_total_count", "accuracy_sample_count"];
/// Files that the checkers allow beside the logs of any run.
const OPTIONAL: [&str; 3] = ["mlperf_log_trace.json", "mlperf_log_accuracy.json", "results.json"];
/// A file beside the logs of a run whose power was measured.
const POWER_LOG: &str = "spl.txt";
/// Folders of a submission with power, beside that of the measured run.
const POWER: [&str; 2] = ["power", "ranging"];
/// The file of the prompts, beside answers that are shown. Its name has any end.
const CAPTIONS: &str = "captions";

/// Looks at a result.
pub(super) fn check(tree: &mut Tree, place: &Place) {
    tree.looks_at(place.layout.results(&place.folder, &place.word));
    tree.looks_at(place.layout.compliance(&place.folder, &place.word));
    let measured = place.logs(Kind::Performance);
    for name in OPTIONAL {
        tree.allow(&measured.join(name));
        tree.allow(&place.logs(Kind::Accuracy).join(name));
    }
    for name in POWER {
        let folder = measured.with_file_name(name);
        if folder.is_dir() {
            tree.unchecked("power: what was measured of it is not looked at");
            tree.allow(&folder);
            tree.allow(&measured.join(POWER_LOG));
        }
    }
    let performance = logs::run(tree, place, Kind::Performance);
    let accuracy = logs::run(tree, place, Kind::Accuracy);
    if let Some(run) = &accuracy {
        answers::check_all(tree, &place.logs(Kind::Accuracy), &run.detail);
    }
    texts::accuracy(tree, place, Kind::Accuracy, accuracy.as_ref());
    sample_images(tree, place);
    if let (Some(performance), Some(accuracy)) = (&performance, &accuracy) {
        let mut changed = [&ACCURACY_CHANGES[..], &audit::LENGTHS].concat();
        // The library of a measured run may have a part of the dataset.
        let total = |run: &AuditedRun| run.detail.whole("qsl_reported_total_count");
        let is_part = total(performance) < total(accuracy);
        let is_other = place.official.accuracy_samples.is_some_and(|own| place.official.dataset_samples != Some(own));
        if is_part || is_other {
            changed.extend(DATASET);
        }
        let rows = audit::same_setup(performance, accuracy, &changed);
        tree.rows(&place.logs(Kind::Accuracy).join(DETAIL_FILE), "against the performance run", rows);
    }
    texts::measurements(tree, place, performance.as_ref());
    for name in place.tests() {
        compliance::check(tree, place, name, performance.as_ref());
    }
}

/// Images and videos of some samples are shown beside the accuracy run, as the checker asks.
fn sample_images(tree: &mut Tree, place: &Place) {
    let Some(images) = place.official.shown(place.rules.round.name) else { return };
    let folder = place.logs(Kind::Accuracy).join(&images.folder);
    let files = tree.files(&folder);
    let has = |name: &str| files.iter().any(|file| file.split('.').next() == Some(name));
    let samples = images.samples.iter().map(u64::to_string);
    let lacking: Vec<String> = samples.chain([CAPTIONS.to_owned()]).filter(|name| !has(name)).collect();
    if !lacking.is_empty() {
        tree.add_fault(&folder, format!("lacks files that the checker asks for: {}", lacking.join(", ")));
    }
    tree.allow(&folder);
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::place::closed;
    use super::*;

    /// Source: `check_extra_files` of the official checker.
    #[test]
    fn answers_that_have_to_be_shown_are_missed() {
        let root = tempfile::tempdir().unwrap();
        let place = closed(root.path(), "v5.0", "stable-diffusion-xl", "Offline");
        let folder = place.logs(Kind::Accuracy).join("images");
        fs::create_dir_all(&folder).unwrap();
        let findings = || {
            let mut tree = Tree::open(root.path()).unwrap();
            sample_images(&mut tree, &place);
            tree.end("v5.0").findings.into_iter().map(|finding| finding.what).collect::<Vec<_>>()
        };
        let all = ["4459", "4015", "2705", "1682", "4048", "4683", "3757", "1578", "3319", "95", "captions"];
        assert_eq!(findings(), [format!("lacks files that the checker asks for: {}", all.join(", "))]);
        for name in &all[1..] {
            fs::write(folder.join(format!("{name}.png")), "x").unwrap();
        }
        assert_eq!(findings(), ["lacks files that the checker asks for: 4459"]);
        fs::write(folder.join("4459.jpg"), "x").unwrap();
        assert!(findings().is_empty());
    }
}
