//! Reports of a run while it goes on: metrics, and the progress line where there is no terminal.

use std::fs;
use std::time::{Duration, Instant};

use lon_tests::json::Json;
use lon_tests::live_metrics::{PATIENCE, scrape, wait_until};
use lon_tests::metrics::Page;
use lon_tests::process::SutNode;
use lon_tests::run_folder::RunFolder;
use lon_tests::test_run::TestRun;

/// The last metrics of a run are the numbers of its documents.
fn assert_agrees(page: &Page, folder: &RunFolder) {
    let (result, report) = (Json::read(&folder.path.join("result_summary.json")), folder.network_report());
    for (name, counted) in [
        ("lon_loadgen_issued_samples_total", "issued"),
        ("lon_loadgen_answered_samples_total", "completed"),
        ("lon_loadgen_failed_samples_total", "failed"),
        ("lon_loadgen_latency_seconds_count", "completed"),
    ] {
        assert_eq!(page.count(name, ""), result.count(&format!("/counts/{counted}")), "{name}");
    }
    for kind in ["duplicate", "late", "foreign"] {
        let labels = format!("kind={kind}");
        let counted = result.count(&format!("/counts/{kind}"));
        assert_eq!(page.count("lon_loadgen_bad_answers_total", &labels), counted, "{kind}");
    }
    for gone in ["lon_loadgen_outstanding_samples", "lon_loadgen_in_flight_samples", "lon_loadgen_node_lost"] {
        assert_eq!(page.count(gone, ""), 0, "{gone}");
    }
    assert_eq!(page.count("lon_loadgen_finished", ""), 1);
    assert_eq!(page.count("lon_loadgen_valid", ""), u64::from(result.text("/result") == "VALID"));
    for (place, node) in report.items("/nodes").iter().enumerate() {
        let name = node.text("/name");
        assert_eq!(page.count("lon_loadgen_sent_samples_total", &format!("node={name}")), node.count("/samples"));
        for (layer, end) in [("tensor", ""), ("encoded", ""), ("message", "/loadgen"), ("socket", "/loadgen")] {
            for direction in ["ingress", "egress"] {
                let labels = format!("node={name},layer={layer},direction={direction}");
                let bytes = report.count(&format!("/nodes/{place}/{layer}_bytes/{direction}{end}"));
                assert_eq!(page.count("lon_loadgen_network_bytes_total", &labels), bytes, "{labels}");
            }
        }
    }
    for statistic in ["p50", "p99", "max"] {
        let listed_s = result.count(&format!("/schedule_lag_ns/{statistic}")) as f64 / 1e9;
        is_near(page.sum("lon_loadgen_schedule_lag_seconds", &format!("statistic={statistic}")), listed_s);
    }
    assert_durations(page, &result, "lon_loadgen_latency_seconds", "latency_ns");
    if !result.is_null("/ttft_ns") {
        assert_durations(page, &result, "lon_loadgen_first_token_seconds", "ttft_ns");
        assert_durations(page, &result, "lon_loadgen_per_token_seconds", "tpot_ns");
    }
}

/// A histogram has the mean and the largest value that the result lists, and as many values below the listed
/// percentiles as these say.
fn assert_durations(page: &Page, result: &Json, name: &str, listed: &str) {
    let listed_s = |statistic: &str| result.count(&format!("/{listed}/{statistic}")) as f64 / 1e9;
    let count = page.sum(&format!("{name}_count"), "");
    is_near(page.sum(&format!("{name}_sum"), "") / count, listed_s("mean"));
    for (percentile, share) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)] {
        let bounds_s = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0];
        let end_s = bounds_s.into_iter().find(|end_s| *end_s > listed_s(percentile) * 1.01).unwrap();
        let below = page.sum(&format!("{name}_bucket"), &format!("le={end_s:?}"));
        assert!(below + 1.0 >= count * share, "{name}: {below} of {count} below {end_s} s, which {percentile} is");
    }
    let (all, above) = (page.sum(&format!("{name}_bucket"), "le=+Inf"), listed_s("max"));
    assert!(all == count && above < 100.0, "{name}");
}

/// The same number to within 1 %.
#[track_caller]
fn is_near(value: f64, listed: f64) {
    assert!((value - listed).abs() <= listed * 0.01 + 1e-9, "{value}, listed as {listed}");
}

#[test]
fn metrics_are_served_while_a_run_goes_on_and_agree_with_its_result() {
    let node = SutNode::start("N1", "null", &[]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.prom");
    let run = TestRun::new("Server").on(&node.address).set("min_duration=12s,min_query_count=100,target_qps=200");
    let grace =
        ["--metrics-listen", "127.0.0.1:0", "--metrics-grace", "600s", "--metrics-file", file.to_str().unwrap()];
    let (mut run, out) = run.args(&grace).args(&["--max-lag", "60s"]).start();
    let address = run.metrics_address();
    let goes_on = |text: &str| text.contains("\nlon_loadgen_phase 1\n") && text.contains("\nlon_loadgen_finished 0\n");
    wait_until("the run goes on", goes_on, &address);
    let last = wait_until("the run is over", |text| text.contains("\nlon_loadgen_finished 1\n"), &address);
    let start = Instant::now();
    while !file.exists() && start.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(50));
    }
    let file_text = fs::read_to_string(&file).unwrap();
    // The grace ends when the run is asked to stop; the result stays as it is.
    run.signal(nix::sys::signal::Signal::SIGINT);
    let finished = run.finish();
    assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
    assert!(scrape(&address).is_none(), "the port is closed");
    for text in [&last, &file_text] {
        assert_agrees(&Page::read(text), &out);
    }
}

/// Offline, and token by token: the file that is written at the end.
#[test]
fn metrics_of_offline_and_token_runs_agree_with_their_results() {
    let tokens = SutNode::start("N1", "synthetic:ttft=5ms,tpot=1ms,tokens=8", &["--slots", "64"]);
    let offline = SutNode::start("N2", "null", &[]);
    let of_tokens = "use_token_latencies=1,ttft_latency=60000,tpot_latency=60000,min_duration=1000,\
                     min_query_count=100,target_qps=100";
    let runs = [
        TestRun::new("Server").on(&tokens.address).dataset("synthetic:tokens-i64[16]x8").set(of_tokens),
        TestRun::new("Offline").on(&offline.address).set("min_duration=1000,min_query_count=1,target_qps=20000"),
    ];
    for run in runs {
        let above = tempfile::tempdir().unwrap();
        let file = above.path().join("run.prom");
        let run = run.args(&["--max-lag", "60s", "--metrics-file", file.to_str().unwrap()]);
        let (finished, folder) = run.finish();
        assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
        let page = Page::read(&fs::read_to_string(file).unwrap());
        assert_agrees(&page, &folder);
        let is_of_tokens = page.names().contains("lon_loadgen_answered_tokens_total");
        assert_eq!(is_of_tokens, !folder.result()["ttft_ns"].is_null());
        if is_of_tokens {
            let answered = page.count("lon_loadgen_answered_samples_total", "");
            assert_eq!(page.count("lon_loadgen_answered_tokens_total", ""), 8 * answered);
        }
    }
}

#[test]
fn metrics_do_not_leave_the_host_in_plain_text() {
    let run = TestRun::new("Offline").on("127.0.0.1:1").args(&["--metrics-listen", "0.0.0.0:0"]);
    let (finished, _) = run.finish();
    assert_eq!(finished.code, Some(2), "{finished:?}");
    assert!(finished.stderr.contains("--metrics-listen") && finished.stderr.contains("--insecure"), "{finished:?}");
}
