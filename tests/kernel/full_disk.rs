//! Disks that are full: nothing that such a run leaves behind says VALID, and what the run folder does not take is
//! saved elsewhere.

use std::fs;
use std::path::Path;

use lon_tests::folder_check::assert_nothing_says_valid;
use lon_tests::process::{Finished, SutNode};
use lon_tests::run_folder::{RunFolder, assert_sums};
use lon_tests::test_run::{in_shell, short_submission};

#[test]
#[ignore = ".ci/run kernel"]
fn a_full_disk_makes_the_result_invalid() {
    let node = SutNode::start("a", "null", &[]);
    for kib in (4..=72).step_by(4) {
        let other = tempfile::tempdir().unwrap();
        let run = short_submission(&node).into(RunFolder::on_small_disk(kib << 10));
        let (finished, folder) = in_shell(run, "", other.path()).finish();
        let message = format!("{kib} KiB: {finished:?}");
        if finished.code == Some(0) {
            assert_sums(&folder.path);
            continue;
        }
        assert!(finished.stderr.contains("No space left"), "{message}");
        assert_nothing_says_valid(folder.path.parent().unwrap(), &message);
        assert_nothing_says_valid(other.path(), &message);
        if finished.code == Some(2) {
            continue;
        }
        assert_eq!(finished.code, Some(1), "{message}");
        assert_saved(&finished, &folder.path, other.path());
    }
}

/// Checks that the other folder has each file that the run folder lacks, and that the message names it.
fn assert_saved(finished: &Finished, out: &Path, other: &Path) {
    let other = fs::read_dir(other).unwrap().next().expect("a folder").unwrap().path();
    for name in ["mlperf_log_summary.txt", "mlperf_log_detail.txt", "mlperf_log_accuracy.json", "timeline.bin"] {
        if !out.join(name).exists() {
            assert!(other.join(name).exists() && finished.stderr.contains(name), "{name}: {finished:?}");
        }
    }
    assert_sums(&other);
    assert!(finished.stdout.contains(&format!("Saved     {}", other.display())), "{finished:?}");
    assert!(finished.stdout.contains("not everything was written: "), "{finished:?}");
}
