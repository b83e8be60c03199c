//! One result: its performance run, its accuracy run and its compliance tests, each alone and then together.

use loadgen::official::DETAIL_FILE;

use super::super::kind::Kind;
use super::place::Place;
use super::tree::Tree;
use super::{answers, compliance, logs, texts};
use crate::audit;

/// What an accuracy run has other settings than the performance run in.
const ACCURACY_CHANGES: [&str; 1] = ["test_mode"];
/// Files that the checkers allow beside the logs of a performance run.
const OPTIONAL: [&str; 3] = ["mlperf_log_trace.json", "mlperf_log_accuracy.json", "results.json"];
/// Folders of a submission with power, beside that of the measured run.
const POWER: [&str; 2] = ["power", "ranging"];
/// Looks at a result.
pub(super) fn check(tree: &mut Tree, place: &Place) {
    for name in OPTIONAL {
        tree.allow(&place.logs(Kind::Performance).join(name));
    }
    for name in POWER {
        let folder = place.logs(Kind::Performance).with_file_name(name);
        if folder.is_dir() {
            tree.unchecked("power: what was measured of it is not looked at");
            tree.allow(&folder);
        }
    }
    let performance = logs::run(tree, place, Kind::Performance);
    let accuracy = logs::run(tree, place, Kind::Accuracy);
    if let Some(run) = &accuracy {
        answers::check_all(tree, &place.logs(Kind::Accuracy), &run.detail);
    }
    texts::accuracy(tree, place, Kind::Accuracy, accuracy.as_ref());
    if let (Some(performance), Some(accuracy)) = (&performance, &accuracy) {
        let rows = audit::same_setup(performance, accuracy, &ACCURACY_CHANGES);
        tree.rows(&place.logs(Kind::Accuracy).join(DETAIL_FILE), "against the performance run", rows);
    }
    texts::measurements(tree, place, performance.as_ref());
    for name in place.tests() {
        compliance::check(tree, place, name, performance.as_ref());
    }
}
