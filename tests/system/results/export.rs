//! The samples of a run for other programs: CSV and Parquet, with node and stages where they were recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

use lon_run::documents::result_summary::ResultSummary;
use lon_tests::export::{Csv, exported, recorded};
use lon_tests::memory::Watch;
use lon_tests::page::{Table, stands_alone};
use lon_tests::process::{LoadGen, SutNode};
use lon_tests::run_folder::{RunFolder, assert_sums};
use lon_tests::test_run::TestRun;
use nix::sys::signal::Signal;

const PLAIN: [&str; 6] = ["sample", "query", "qsl_idx", "start_ns", "latency_ns", "end"];

fn result(folder: &RunFolder) -> ResultSummary {
    serde_json::from_value(folder.result()).unwrap()
}

/// The indices in the dataset that the accuracy log has, in the order of issue.
fn logged_indices(folder: &RunFolder) -> Vec<u64> {
    let log = fs::read_to_string(folder.path.join("mlperf_log_accuracy.json")).unwrap();
    let log: Vec<serde_json::Value> = serde_json::from_str(&log).unwrap();
    let number = |entry: &serde_json::Value, key: &str| entry[key].as_u64().unwrap();
    let mut all: Vec<(u64, u64)> = log.iter().map(|one| (number(one, "seq_id"), number(one, "qsl_idx"))).collect();
    all.sort_unstable();
    all.into_iter().map(|(_, index)| index).collect()
}

#[test]
fn exported_samples_are_those_that_were_judged() {
    let node = SutNode::start("n1", "null", &[]);
    let test = TestRun::new("Server").on(&node.address);
    let set = "target_qps=500,min_duration=1100,min_query_count=200,accuracy_log_probability=100%";
    let (_, folder) = test.set(set).finish();
    let csv = folder.path.join("samples.csv");
    let export = || LoadGen::run(&["export", folder.arg(), "--out", csv.to_str().unwrap()]);
    assert_eq!(export().code, Some(0));
    let text = fs::read_to_string(&csv).unwrap();
    let table = Csv::read(&text);
    assert_eq!(table.heads, PLAIN);
    let result = result(&folder);
    assert_eq!(table.rows.len() as u64, result.counts.issued);
    let mut ends: BTreeMap<&str, u64> = BTreeMap::new();
    table.texts("end").for_each(|end| *ends.entry(end).or_default() += 1);
    assert_eq!(ends.get("answered"), Some(&result.counts.completed));
    assert_eq!(table.numbers("latency_ns").into_iter().max(), result.latency_ns.unwrap().max.map(|ns| ns as u64));
    assert!(table.numbers("start_ns").is_sorted(), "the schedule is in order");
    assert_eq!(table.numbers("qsl_idx"), logged_indices(&folder), "the accuracy log has the same indices");
    let again = export();
    assert!(again.code == Some(2) && again.stderr.contains("samples.csv"), "{again:?}");
    let printed = LoadGen::run(&["export", folder.arg()]);
    assert_eq!(printed.stdout, text);
    let nowhere = LoadGen::run(&["export", folder.arg(), "--to", "parquet"]);
    assert!(nowhere.code == Some(2) && nowhere.stderr.contains("only CSV goes to standard output"), "{nowhere:?}");
}

/// Queries of many samples, and of the whole set, are drawn again piece by piece.
#[test]
fn every_sample_has_the_index_that_was_sent() {
    let node = SutNode::start("n1", "null", &[]);
    for (scenario, set) in [
        ("Offline", "min_duration=1000,min_query_count=1,target_qps=5000"),
        ("MultiStream", "min_duration=0,min_query_count=50"),
    ] {
        let test = TestRun::new(scenario).on(&node.address).set(set).set("accuracy_log_probability=100%");
        let (_, folder) = test.finish();
        assert_eq!(exported(&folder.path).numbers("qsl_idx"), logged_indices(&folder), "{scenario}");
    }
}

#[test]
fn every_sample_has_its_node_and_stages() {
    for (scenario, set) in [
        ("Server", "target_qps=400,min_duration=1000,min_query_count=200,target_latency=1000"),
        ("Offline", "min_duration=1000,min_query_count=1,target_qps=1000"),
        ("SingleStream", "min_duration=500ms,min_query_count=100"),
    ] {
        let (folder, table) = recorded(scenario, set);
        let result = result(&folder);
        assert!(result.files.contains_key("stages.bin"), "{scenario}: {:?}", result.files.keys());
        let answered = result.counts.completed;
        assert_eq!(table.numbers("inference_ns").len() as u64, answered, "{scenario}");
        let names: BTreeSet<&str> = table.texts("node").collect();
        assert!(names.is_subset(&["slow", "quick"].into()) && !names.is_empty(), "{scenario}: {names:?}");
        let report = folder.network_report();
        for (place, node) in report.items("/nodes").into_iter().enumerate() {
            let name = node.text("/name");
            let own = table.texts("node").filter(|own| *own == name).count() as u64;
            assert_eq!(own, report.count(&format!("/nodes/{place}/samples")), "{scenario}: {name}");
        }
        assert_eq!(answered, result.counts.issued, "{scenario}");
        let mut stages_ns = vec![0; table.rows.len()];
        for stage in &table.heads[7..] {
            stages_ns.iter_mut().zip(table.numbers(stage)).for_each(|(sum, stage_ns)| *sum += stage_ns);
        }
        for (latency_ns, stages_ns) in table.numbers("latency_ns").into_iter().zip(stages_ns) {
            // Stages are rounded to 0.025 %.
            assert!(stages_ns as f64 <= latency_ns as f64 * 1.001, "{scenario}: {stages_ns} of {latency_ns}");
        }
        let of = |node: &str| {
            let all = table.texts("node").zip(table.numbers("inference_ns"));
            all.filter(|(name, _)| *name == node).map(|(_, inference_ns)| inference_ns).collect::<Vec<_>>()
        };
        assert!(of("slow").iter().all(|ns| *ns > 2_900_000), "{scenario}: {:?}", of("slow"));
        // Some of them may have been held up.
        assert!(of("quick").iter().min().is_none_or(|ns| *ns < 2_900_000), "{scenario}: {:?}", of("quick"));
    }
}

#[test]
fn a_file_that_was_changed_is_refused_and_one_that_is_gone_is_left_out() {
    let (folder, _) = recorded("Offline", "min_duration=1000,min_query_count=1,target_qps=100");
    let path = folder.path.join("stages.bin");
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, bytes).unwrap();
    let refused = LoadGen::run(&["export", folder.arg()]);
    assert!(refused.code == Some(2) && refused.stderr.contains("altered"), "{refused:?}");
    fs::remove_file(&path).unwrap();
    assert_eq!(exported(&folder.path).heads, PLAIN);
}

#[test]
fn stages_of_a_run_that_was_killed_are_recovered() {
    let node = SutNode::start("n1", "null", &[]);
    let test = TestRun::new("Server").on(&node.address).args(&["--record-stages"]);
    let (run, folder) = test.set("target_qps=200,min_duration=600s").begin_until_answered(300);
    ["timeline.bin", "stages.bin"].iter().for_each(|file| folder.wait_until_written(file));
    run.signal(Signal::SIGKILL);
    run.finish();
    let recovered = LoadGen::run(&["recover", folder.arg(), "--json"]);
    assert_eq!(recovered.code, Some(0), "{recovered:?}");
    assert_sums(&folder.path);
    let page = fs::read_to_string(folder.path.join("report.html")).unwrap();
    assert!(page.contains("the program was killed") && page.contains("<polyline"), "it has a page with curves");
    let again = LoadGen::run(&["report", folder.arg()]);
    assert_eq!((again.code, fs::read_to_string(folder.path.join("report.html")).unwrap()), (Some(0), page));
    let table = exported(&folder.path);
    let answered = table.numbers("latency_ns").len();
    let with_stages = table.numbers("inference_ns").len();
    // Rows follow the samples by a moment, or come before them.
    assert!(answered >= 300 && with_stages >= 300, "{with_stages} of {answered}");
}

#[test]
fn a_search_for_the_peak_records_no_stages() {
    let args = ["--record-stages", "--mode", "FindPeakPerformance"];
    let (refused, _) = TestRun::new("Server").on("127.0.0.1:1").args(&args).finish();
    assert!(refused.code == Some(2) && refused.stderr.contains("--record-stages"), "{refused:?}");
}

/// The most memory that an export of a run takes, bytes.
fn most_bytes(folder: &Path, form: &str) -> u64 {
    let out = folder.join(form);
    let args = ["export", folder.to_str().unwrap(), "--to", form, "--out", out.to_str().unwrap()];
    let export = LoadGen::start(&args);
    let watch = Watch::begin(export.id());
    let finished = export.finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let bytes = fs::metadata(&out).unwrap().len();
    fs::remove_file(&out).unwrap();
    assert!(bytes > 1 << 18, "{form}: {bytes} bytes");
    watch.most_bytes()
}

/// Ten times the samples take no more memory, and their page is no larger.
#[test]
#[ignore = ".ci/run large"]
fn memory_of_an_export_does_not_grow_with_the_run() {
    const MIB: u64 = 1 << 20;
    let node = SutNode::start("n1", "null", &[]);
    let run = |samples: u64| {
        let test = TestRun::new("Offline").on(&node.address).dataset("synthetic:u8[8]x16").args(&["--max-lag", "300s"]);
        let test = test.set(&format!("min_query_count={samples},min_duration=0,target_qps=1"));
        let (run, folder) = test.start();
        let finished = run.finish_within(Duration::from_secs(600));
        assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
        assert_eq!(result(&folder).counts.completed, samples);
        folder
    };
    let (small, large) = (run(500_000), run(5_000_000));
    // A program that holds all samples in memory needs eight bytes for each.
    assert!(fs::metadata(large.path.join("timeline.bin")).unwrap().len() > 38 * MIB);
    for form in ["csv", "parquet"] {
        let [of_small, of_large] = [&small, &large].map(|folder| most_bytes(&folder.path, form));
        println!("{form}: {} MiB of 500,000 samples, {} MiB of 5,000,000", of_small / MIB, of_large / MIB);
        assert!(of_large < of_small + 8 * MIB && of_large < 96 * MIB, "{form}: {of_large} bytes, {of_small} before");
    }
    let page = fs::read_to_string(large.path.join("report.html")).unwrap();
    stands_alone(&page);
    let rate = Table::of(&page, "rate");
    assert_eq!(rate.rows.len(), 120, "curves have as many points as those of a short run");
}
