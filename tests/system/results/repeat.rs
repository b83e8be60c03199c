//! The same test several times: a folder for each run, one table, and how far the results differ.

use std::fs;
use std::path::PathBuf;

use lon_run::documents::repeats::Repeats;
use lon_run::documents::result_summary::Validity;
use lon_tests::process::SutNode;
use lon_tests::run_folder::RunFolder;
use lon_tests::schemas::assert_fits;
use lon_tests::test_run::TestRun;
use nix::sys::signal::Signal;

/// The path of a run, or of what lies beside the runs.
fn repeat_path(folder: &RunFolder, end: &str) -> PathBuf {
    PathBuf::from(format!("{}-{end}", folder.path.display()))
}

fn repeats(folder: &RunFolder) -> Repeats {
    let text = fs::read_to_string(repeat_path(folder, "repeats.json")).unwrap();
    assert_fits(&["repeats"], &text);
    serde_json::from_str(&text).unwrap()
}

#[test]
fn each_run_has_a_folder_and_the_table_has_their_spread() {
    let node = SutNode::start("n1", "null", &[]);
    let offline = |folder| {
        let settings = "min_duration=0,min_query_count=1,target_qps=1000";
        TestRun::new("Offline").on(&node.address).set(settings).args(&["--repeat", "3"]).into(folder)
    };
    let (finished, folder) = offline(RunFolder::new()).finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    for number in ["1", "2", "3"] {
        let result = fs::read_to_string(repeat_path(&folder, number).join("result_summary.json")).unwrap();
        assert!(result.contains(&format!("\"repeat {number} of 3\"")), "run {number}: {result}");
        assert!(
            finished.stdout.contains(&format!("VALID   {}\n", repeat_path(&folder, number).display())),
            "{finished:?}"
        );
    }
    assert!(!folder.path.exists() && !repeat_path(&folder, "4").exists());
    let document = repeats(&folder);
    assert_eq!((document.asked, document.runs.len(), document.scenario.as_str()), (3, 3, "Offline"));
    assert!(document.runs.iter().all(|run| run.result == Validity::Valid && run.exit_code == 0), "{document:?}");
    let metric = &document.spreads[0];
    assert_eq!((metric.name.as_str(), metric.values.len()), ("result_samples_per_second", 3));
    let mut values: Vec<f64> = metric.values.iter().map(|value| value.unwrap()).collect();
    values.sort_by(f64::total_cmp);
    assert_eq!([metric.min, metric.median, metric.max], values[..]);
    assert!(finished.stdout.contains("  quantity  ") && finished.stdout.contains("  result_samples_per_second  "));

    // Results are never overwritten.
    fs::remove_dir_all(repeat_path(&folder, "1")).unwrap();
    let (again, folder) = offline(folder).finish();
    assert_eq!(again.code, Some(2), "{again:?}");
    assert!(again.stderr.contains("-2 exists already"), "{again:?}");
    assert!(!repeat_path(&folder, "1").exists(), "nothing was begun");
}

#[test]
fn the_exit_code_is_that_of_the_worst_run() {
    let node = SutNode::start("n1", "null", &[]);
    let short = TestRun::new("Offline").on(&node.address).set("min_duration=200ms,target_qps=1");
    let (finished, folder) = short.args(&["--repeat", "2", "--format", "csv"]).finish();
    assert_eq!(finished.code, Some(3), "{finished:?}");
    let document = repeats(&folder);
    assert!(document.runs.len() == 2 && document.runs.iter().all(|run| run.exit_code == 3 && !run.reasons.is_empty()));
    assert!(
        finished.stdout.starts_with("quantity,median,min,max,spread,mean,95 % confidence of the mean,runs\n"),
        "{finished:?}"
    );
}

#[test]
fn a_run_that_is_interrupted_is_the_last_one() {
    let node = SutNode::start("n1", "null", &[]);
    let long = TestRun::new("Server").on(&node.address).set("target_qps=100,min_duration=60s");
    let (run, folder) = long.args(&["--repeat", "3"]).begin();
    run.signal(Signal::SIGINT);
    let finished = run.finish();
    assert_eq!(finished.code, Some(5), "{finished:?}");
    assert!(finished.stdout.contains("not made: 2, since a run failed or was interrupted"), "{finished:?}");
    assert_eq!(repeats(&folder).runs.len(), 1);
}
