//! `report.html`: a run as one page, which says what the documents say, and is the same when it is made again.

use std::fs;
use std::path::Path;

use lon_run::documents::network_report::NetworkReport;
use lon_run::documents::parts::LatencySpread;
use lon_run::documents::result_summary::{MetricDocument, ResultSummary};
use lon_tests::page::{Table, answer, figure, section, shows, stands_alone};
use lon_tests::process::{LoadGen, SutNode};
use lon_tests::run_folder::RunFolder;
use lon_tests::test_run::TestRun;
use sha2::{Digest as _, Sha256};

/// The curves of a run that has measured something.
const CHARTS: [&str; 6] = ["distribution", "latency", "rate", "outstanding", "lag", "bytes"];

/// The page of a folder, by the command.
fn made_again(folder: &Path) -> String {
    let finished = LoadGen::run(&["report", folder.to_str().unwrap()]);
    let path = folder.join("report.html");
    assert_eq!((finished.code, finished.stdout.trim()), (Some(0), path.to_str().unwrap()), "{finished:?}");
    fs::read_to_string(path).unwrap()
}

#[test]
fn a_run_becomes_a_page_with_the_numbers_of_its_documents() {
    let node = SutNode::start("n1", "null", &[]);
    let test = TestRun::new("Server").on(&node.address);
    let set = "target_qps=200,min_duration=6000,min_query_count=300,target_latency=1000";
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
    assert!(answered.contains(&format!("of {} answered samples", counts.completed)), "{answered}");
    let (chart_p50, _) = figure(&Table::of(&page, "distribution").row("p50")[0]);
    let listed = result.latency_ns.unwrap().p50.unwrap() as f64;
    assert!((chart_p50 / listed - 1.0).abs() < 0.1, "p50 is {chart_p50} in the chart and {listed} in the result");
    let listed = result.files.get("report.html").unwrap();
    assert_eq!(listed.sha256, hex::encode(Sha256::digest(&page)), "the result lists the page");
    // A page that is made again from the folder is the same.
    assert_eq!(page, made_again(&folder.path));
}

/// Every number of the answers and of the tables, read from the page, is the one of the documents.
#[test]
fn numbers_of_a_page_are_those_of_the_documents() {
    let (null, tokens) = (SutNode::start("n1", "null", &[]), SutNode::start("n2", STREAM, &["--slots", "64"]));
    let server = "target_qps=200,min_duration=1500,min_query_count=200,target_latency=1000";
    let of_tokens = "use_token_latencies=1,ttft_latency=60000,tpot_latency=50000,min_duration=1500,\
                     min_query_count=100,target_qps=100";
    let runs = [
        TestRun::new("Server").on(&null.address).set(server).args(&["--compression", "zstd"]),
        TestRun::new("Offline").on(&null.address).set("min_duration=1000,min_query_count=1,target_qps=20000"),
        TestRun::new("SingleStream").on(&null.address).set("min_duration=500ms,min_query_count=100"),
        TestRun::new("Server").on(&tokens.address).dataset("synthetic:tokens-i64[16]x8").set(of_tokens),
    ];
    for run in runs {
        let (finished, folder) = run.args(&["--max-lag", "60s"]).finish();
        assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
        let read = |name: &str| fs::read_to_string(folder.path.join(name)).unwrap();
        let page = read("report.html");
        let result: ResultSummary = serde_json::from_str(&read("result_summary.json")).unwrap();
        let network: NetworkReport = serde_json::from_str(&read("network_report.json")).unwrap();
        assert_answers(&page, &result);
        assert_latencies(&page, &result);
        assert_bytes(&page, &network);
    }
}

/// Token by token.
const STREAM: &str = "synthetic:ttft=5ms,tpot=1ms,tokens=8";

/// The verdict, the metric, the limits and the counts.
fn assert_answers(page: &str, result: &ResultSummary) {
    let verdict = serde_json::to_value(result.result).unwrap();
    let title = format!("{} {}: {}", result.benchmark, result.scenario, verdict.as_str().unwrap());
    assert!(page.contains(&format!("<title>{title}</title>")), "{title}");
    let Some(MetricDocument::Performance(metric)) = &result.metric else { panic!("{:?}", result.metric) };
    let fast = answer(page, "Speed");
    let (number, name) = fast.split_once(" (").unwrap();
    assert_eq!(name.split_once(')').map(|(name, _)| name), Some(metric.name.as_str()));
    shows(number, metric.value.unwrap());
    let counts = &result.counts;
    assert_eq!(answer(page, "Samples"), format!("{} issued, {} answered", counts.issued, counts.completed));
    let limits = if result.latency_limits.is_empty() { String::new() } else { answer(page, "Limit") };
    let limits: Vec<&str> = limits.split("; ").filter(|limit| !limit.is_empty()).collect();
    assert_eq!(limits.len(), result.latency_limits.len(), "{limits:?}");
    for (text, limit) in limits.iter().zip(&result.latency_limits) {
        // `p99 of latency 1.2ms, at most 1.0s: kept`
        let parts: Vec<&str> = text.split([' ', ',', ':']).filter(|word| !word.is_empty()).collect();
        let [percentile, "of", of, value, "at", "most", most, outcome] = parts[..] else { panic!("{text}") };
        let [expected_percentile, expected_of] = [format!("p{}", limit.percentile), limit.of.to_string()];
        assert_eq!((percentile, of), (expected_percentile.as_str(), expected_of.as_str()));
        shows(value, limit.value_ns.unwrap() as f64);
        shows(most, limit.limit_ns as f64);
        assert_eq!(outcome == "kept", limit.kept, "{text}");
    }
}

/// Every percentile, of the latency and of tokens.
fn assert_latencies(page: &str, result: &ResultSummary) {
    let table = Table::of(page, "latencies");
    let rows = [
        ("latency", result.latency_ns),
        ("time to first token", result.tokens.and_then(|tokens| tokens.ttft_ns)),
        ("time per output token", result.tokens.and_then(|tokens| tokens.tpot_ns)),
    ];
    let there = rows.iter().filter(|(_, spread)| spread.is_some()).count();
    assert!(there == table.rows.len() && there > 0, "{table:?}");
    for (name, spread) in rows {
        let Some(of) = spread else { continue };
        let LatencySpread { min, mean, p50, p90, p95, p97, p99, p99_9, max } = of;
        let listed = [min, mean, p50, p90, p95, p97, p99, p99_9, max];
        let row = table.row(name);
        assert_eq!(row.len(), listed.len(), "{table:?}");
        row.iter().zip(listed).for_each(|(cell, ns)| shows(cell, ns.unwrap() as f64));
    }
}

/// Bytes in all and of each node, at every layer that is shown.
fn assert_bytes(page: &str, network: &NetworkReport) {
    let (table, total) = (Table::of(page, "network"), &network.total);
    let sockets = total.socket_bytes;
    for (name, [to, back]) in [
        ("tensors (samples, answers)", [total.tensor_bytes.ingress, total.tensor_bytes.egress]),
        ("encoded (after their codecs)", [total.encoded_bytes.ingress, total.encoded_bytes.egress]),
        ("sockets", [sockets.ingress.loadgen, sockets.egress.loadgen]),
    ] {
        let row = table.row(name);
        assert!(to > 0 && back > 0, "{name}");
        shows(&row[0], to as f64);
        shows(&row[1], back as f64);
    }
    let nodes = Table::of(page, "nodes");
    for node in &network.nodes {
        let [address, samples, p50, p99, _, sent, received, _] = nodes.row(&node.name) else { panic!("{nodes:?}") };
        assert!(*address == node.address && samples.starts_with(&format!("{} (", node.samples)), "{nodes:?}");
        let trip = node.round_trip_ns.unwrap();
        shows(p50, trip.p50 as f64);
        shows(p99, trip.p99 as f64);
        shows(sent, node.layers.socket_bytes.ingress.loadgen as f64);
        shows(received, node.layers.socket_bytes.egress.loadgen as f64);
    }
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
