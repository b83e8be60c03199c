//! `report.html`: a run as one page, which says what the documents say, and is the same when it is made again.

use std::fs;
use std::path::Path;

use loadgen_node::documents::result_summary::{MetricDocument, ResultSummary};
use lon_tests::page::{section, stands_alone};
use lon_tests::process::{LoadGen, SutNode};
use lon_tests::run_folder::RunFolder;
use lon_tests::test_run::TestRun;
use sha2::{Digest as _, Sha256};

/// The curves of a run that has measured something.
const CHARTS: [&str; 6] = ["distribution", "latency", "rate", "outstanding", "lag", "bytes"];

/// The page of a folder, by the command.
fn made_again(folder: &Path) -> String {
    let made = LoadGen::run(&["report", folder.to_str().unwrap()]);
    let path = folder.join("report.html");
    assert_eq!((made.code, made.stdout.trim()), (Some(0), path.to_str().unwrap()), "{made:?}");
    fs::read_to_string(path).unwrap()
}

/// A duration as pages have it, in ns.
fn ns(text: &str) -> f64 {
    let digits = text.trim_end_matches(|c: char| c.is_alphabetic());
    let unit = ["ns", "µs", "ms", "s"].iter().position(|unit| text[digits.len()..] == **unit).unwrap();
    digits.parse::<f64>().unwrap() * 1e3f64.powi(unit as i32)
}

#[test]
fn a_run_becomes_a_page_with_the_numbers_of_its_documents() {
    let node = SutNode::start("n1", "null", &[]);
    let test = TestRun::new("Server").on(&node.address);
    let set = "target_qps=200,min_duration=2500,min_query_count=300,target_latency=1000";
    let (finished, folder) = test.set(set).args(&["--note", "<b>a note</b>"]).finish();
    assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
    let path = folder.path.join("report.html");
    let page = fs::read_to_string(&path).unwrap();
    stands_alone(&page);
    assert!(finished.stdout.contains(path.to_str().unwrap()), "{finished:?}");
    let result: ResultSummary =
        serde_json::from_str(&fs::read_to_string(folder.path.join("result_summary.json")).unwrap()).unwrap();
    let Some(MetricDocument::Performance(metric)) = &result.metric else { panic!("{:?}", result.metric) };
    let counts = &result.counts;
    for text in [
        format!("{:.2} {} ({})", metric.value.unwrap(), metric.unit, metric.name),
        format!("{} issued, {} answered", counts.issued, counts.completed),
        "&lt;b&gt;a note&lt;/b&gt;".to_owned(),
    ] {
        assert!(page.contains(&text), "no {text}");
    }
    assert!(!page.contains("<b>"), "a note is no markup");
    for id in CHARTS {
        let chart = section(&page, id).unwrap_or_else(|| panic!("no chart {id}"));
        let rows = chart.split_once("<tbody>").unwrap().1.matches("<tr>").count();
        let zones = chart.matches("class=\"zone\"").count();
        assert!(rows > 0 && rows == zones && chart.contains("<polyline"), "{id}: {rows} rows, {zones} zones");
    }
    let answered = section(&page, "distribution").unwrap();
    assert!(answered.contains(&format!("Of {} answered samples", counts.completed)), "{answered}");
    let row = page.split("<tr><th>p50</th><td>").nth(1).unwrap();
    let (drawn, listed) = (ns(row.split_once('<').unwrap().0), result.latency_ns.unwrap().p50 as f64);
    assert!((drawn / listed - 1.0).abs() < 0.1, "p50 is {drawn} in the chart and {listed} in the result");
    let listed = result.files.get("report.html").unwrap();
    assert_eq!(listed.sha256, hex::encode(Sha256::digest(&page)), "the result lists the page");
    // Made again from the folder, it is the same.
    assert_eq!(page, made_again(&folder.path));
}

#[test]
fn what_a_folder_lacks_is_named() {
    let node = SutNode::start("n1", "null", &[]);
    let accuracy = TestRun::new("Offline").on(&node.address).args(&["--mode", "AccuracyOnly"]);
    let (_, folder) = accuracy.finish();
    assert!(made_again(&folder.path).contains("nothing was measured"));
    let without = TestRun::new("Offline").on(&node.address).args(&["--no-report"]);
    let (finished, folder) = without.set("min_duration=0,min_query_count=1").finish();
    assert!(!folder.path.join("report.html").exists() && !finished.stdout.contains("report.html"), "{finished:?}");
    fs::write(folder.path.join("network_report.json"), "{").unwrap();
    let timeline = folder.path.join("timeline.bin");
    let mut bytes = fs::read(&timeline).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&timeline, bytes).unwrap();
    let page = made_again(&folder.path);
    assert!(page.contains("Not shown: network_report.json") && page.contains("Not shown: curves"), "{page}");
    let none = RunFolder::new();
    let refused = LoadGen::run(&["report", none.arg()]);
    assert!(refused.code == Some(2) && refused.stderr.contains("is not a run folder"), "{refused:?}");
}
