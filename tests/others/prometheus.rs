//! A real Prometheus that scrapes the programs while a run is on, and answers with the run's numbers; and `promtool`,
//! which finds nothing wrong with their metrics. Both are in Debian's package `prometheus`.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use lon_tests::board::questions;
use lon_tests::live_metrics::{scrape_as, wait_until};
use lon_tests::metrics::{Node, ask, free_address};
use lon_tests::process::SutNode;
use lon_tests::route::Certificates;
use lon_tests::run_folder::RunFolder;
use lon_tests::test_run::TestRun;
use nix::sys::signal::Signal;
use serde_json::Value;
use tempfile::TempDir;

/// Longest time for Prometheus to start, and to have scraped.
const PATIENCE: Duration = Duration::from_secs(60);

/// A Prometheus that scrapes every half second. Killed when dropped.
struct Prometheus {
    child: Child,
    address: String,
    _folder: TempDir,
}

impl Prometheus {
    /// Scrapes these jobs, in the words of its file.
    fn start(jobs: &str) -> Prometheus {
        Prometheus::start_with(&[], jobs)
    }

    /// The same with more flags.
    fn start_with(flags: &[&str], jobs: &str) -> Prometheus {
        let folder = tempfile::tempdir().unwrap();
        let (config, data, address) =
            (folder.path().join("prometheus.yml"), folder.path().join("data"), free_address());
        std::fs::write(&config, format!("global: {{scrape_interval: 500ms}}\nscrape_configs:\n{jobs}")).unwrap();
        let mut command = Command::new("prometheus");
        command.arg(format!("--config.file={}", config.display()));
        command.arg(format!("--storage.tsdb.path={}", data.display()));
        command.arg(format!("--web.listen-address={address}")).args(flags);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let prometheus = Prometheus { child: child.expect("apt-get install prometheus"), address, _folder: folder };
        let began = Instant::now();
        let is_ready = || prometheus.get("/-/ready").as_str().is_some_and(|head| head.contains(" 200 "));
        while TcpStream::connect(&prometheus.address).is_err() || !is_ready() {
            assert!(began.elapsed() < PATIENCE, "Prometheus does not start");
            std::thread::sleep(Duration::from_millis(50));
        }
        prometheus
    }

    /// The result of a query at this moment: a list of series.
    fn query(&self, query: &str) -> Vec<Value> {
        let answer = self.get(&format!("/api/v1/query?query={}", encoded(query)));
        assert_eq!(answer["status"], "success", "{query}: {answer}");
        answer["data"]["result"].as_array().cloned().unwrap_or_default()
    }

    /// The only value of a query; none while nothing was scraped.
    fn value(&self, query: &str) -> Option<f64> {
        let list = self.query(query);
        assert!(list.len() < 2, "{query}: {list:?}");
        list.first().map(|series| series["value"][1].as_str().unwrap().parse().unwrap())
    }

    /// Waits until a query has this value.
    fn wait_for(&self, query: &str, expected: f64) {
        let began = Instant::now();
        while self.value(query) != Some(expected) {
            let targets = self.get("/api/v1/targets");
            assert!(began.elapsed() < PATIENCE, "{query}: {:?}, not {expected}; {targets}", self.value(query));
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn get(&self, path: &str) -> Value {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        // While it starts, it answers so in plain text.
        serde_json::from_str(body).unwrap_or_else(|_| Value::from(head))
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// As a part of an address.
fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// A Prometheus that keeps native histograms asks for the format that has them.
#[test]
#[ignore = ".ci/run programs"]
fn prometheus_has_native_histograms() {
    let node = Node::start("a", "synthetic:constant=1ms", &[]);
    let own = free_address();
    let jobs = format!("- {{job_name: all, static_configs: [{{targets: [{:?}, {own:?}]}}]}}\n", node.metrics);
    let prometheus = Prometheus::start_with(&["--enable-feature=native-histograms"], &jobs);
    let test = TestRun::new("Server").on(&node.node.address).set("target_qps=200,min_duration=2000,min_query_count=1");
    let (run, folder) = test.args(&["--metrics-listen", &own, "--metrics-grace", "600s", "--max-lag", "60s"]).begin();
    prometheus.wait_for("lon_loadgen_finished", 1.0);
    let samples = folder.result()["counts"]["completed"].as_u64().unwrap() as f64;
    prometheus.wait_for("histogram_count(lon_loadgen_latency_seconds)", samples);
    prometheus.wait_for("histogram_count(lon_sut_sample_seconds)", samples);
    for name in ["lon_loadgen_latency_seconds", "lon_sut_sample_seconds"] {
        let p50 = prometheus.value(&format!("histogram_quantile(0.5, {name})"));
        assert!(p50.is_some_and(|it| (0.0009..0.1).contains(&it)), "{name}: an answer takes 1 ms: {p50:?}");
        let mean = prometheus.value(&format!("histogram_sum({name}) / histogram_count({name})"));
        assert!(mean.is_some_and(|it| (0.0009..0.1).contains(&it)), "{name}: {mean:?}");
    }
    // Batches have no native buckets, and stay as they are.
    assert!(!prometheus.query("lon_sut_batch_samples_bucket").is_empty());
    run.signal(Signal::SIGINT);
    run.finish();
}

#[test]
#[ignore = ".ci/run programs"]
fn prometheus_has_the_runs_numbers() {
    let nodes = ["a", "b"].map(|name| Node::start(name, "synthetic:constant=1ms", &[]));
    let [a, b] = &nodes;
    let targets = format!("{:?}, {:?}", a.metrics, b.metrics);
    // Where the run will serve its own.
    let own = free_address();
    let job =
        |name: &str, targets: &str| format!("- {{job_name: {name}, static_configs: [{{targets: [{targets}]}}]}}\n");
    let prometheus = Prometheus::start(&(job("sut", &targets) + &job("run", &format!("{own:?}"))));
    prometheus.wait_for(r#"sum(up{job="sut"})"#, 2.0);
    prometheus.wait_for("sum(lon_sut_answered_samples_total)", 0.0);

    let sut = format!("{},{}", a.node.address, b.node.address);
    let test = TestRun::new("Server").on(&sut).set("target_qps=200,min_duration=6000,min_query_count=1");
    let (run, folder) = test.args(&["--metrics-listen", &own, "--metrics-grace", "600s"]).begin();
    prometheus.wait_for(r#"sum(lon_sut_claimed{purpose="run"})"#, 2.0);
    prometheus.wait_for("lon_loadgen_finished", 1.0);
    assert_same_as_the_result(&prometheus, &folder);
    for question in questions().iter().filter(|question| question.contains("lon_loadgen_")) {
        let query = question.replace("$__rate_interval", "30s");
        assert!(!prometheus.query(&query).is_empty(), "the board's question has no answer: {question}");
    }
    // The grace ends with a signal; the result stays as it is.
    run.signal(Signal::SIGINT);
    let finished = run.finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");

    let report = folder.network_report();
    for (place, node) in ["a", "b"].iter().enumerate() {
        let count = |pointer: &str| report.count(&format!("/nodes/{place}{pointer}")) as f64;
        assert_eq!(report.at(&format!("/nodes/{place}/name")).text(""), *node);
        let samples = count("/samples");
        let of_node = |name: &str, labels: &str| format!(r#"{name}{{node="{node}",{labels}}}"#);
        prometheus.wait_for(&of_node("lon_sut_answered_samples_total", r#"purpose="run""#), samples);
        prometheus.wait_for(&of_node("lon_sut_sample_seconds_count", ""), samples);
        let bytes = r#"purpose="run",layer="message",direction="ingress""#;
        prometheus.wait_for(&of_node("lon_sut_network_bytes_total", bytes), count("/message_bytes/ingress/sut"));
        let p50 = prometheus.value(&format!(
            r#"histogram_quantile(0.5, sum by (le) (lon_sut_stage_seconds_bucket{{stage="inference",node="{node}"}}))"#
        ));
        assert!(p50.is_some_and(|it| (0.001..0.02).contains(&it)), "inference takes 1 ms: {p50:?}");
    }
    // While the run was on, Prometheus saw samples pass.
    let rate = prometheus.value(r#"max(max_over_time(sum(rate(lon_sut_answered_samples_total[2s]))[30s:500ms]))"#);
    assert!(rate.is_some_and(|it| it > 50.0), "{rate:?} samples/s");
    for question in questions() {
        let of_sut = question.contains("lon_sut_") && !question.contains("label_values");
        if of_sut {
            let query = question.replace("$__rate_interval", "30s").replace("$__range", "30s").replace("$node", ".*");
            assert!(!prometheus.query(&query).is_empty(), "the board's question has no answer: {question}");
        }
    }
}

/// Checks that Prometheus' figures of the run, once it is over, are those of its documents.
fn assert_same_as_the_result(prometheus: &Prometheus, folder: &RunFolder) {
    let (result, report) = (folder.result(), folder.network_report());
    let count = |name: &str| result["counts"][name].as_f64().unwrap();
    for (query, expected) in [
        ("lon_loadgen_issued_samples_total", count("issued")),
        ("lon_loadgen_issued_queries_total", count("issued")),
        ("lon_loadgen_answered_samples_total", count("completed")),
        ("sum(lon_loadgen_failed_samples_total)", count("failed")),
        ("lon_loadgen_latency_seconds_count", count("completed")),
        ("lon_loadgen_outstanding_samples", 0.0),
        ("sum(lon_loadgen_in_flight_samples)", 0.0),
        ("lon_loadgen_valid", f64::from(u8::from(result["result"] == "VALID"))),
    ] {
        assert_eq!(prometheus.value(query), Some(expected), "{query}");
    }
    for (place, node) in report.items("/nodes").iter().enumerate() {
        let name = node.text("/name");
        let samples_query = format!("lon_loadgen_sent_samples_total{{node={name:?}}}");
        assert_eq!(prometheus.value(&samples_query), Some(node.count("/samples") as f64), "{samples_query}");
        for (layer, end) in [("tensor", ""), ("encoded", ""), ("message", "/loadgen"), ("socket", "/loadgen")] {
            for direction in ["ingress", "egress"] {
                let labels = format!("node={name:?},layer={layer:?},direction={direction:?}");
                let bytes = report.count(&format!("/nodes/{place}/{layer}_bytes/{direction}{end}")) as f64;
                let query = format!("lon_loadgen_network_bytes_total{{{labels}}}");
                assert_eq!(prometheus.value(&query), Some(bytes), "{query}");
            }
        }
    }
    // A quantile lies in its bucket, whose ends are 2.5 times each other at most.
    for (share, percentile) in [(0.5, "p50"), (0.9, "p90"), (0.99, "p99")] {
        let query = format!("histogram_quantile({share}, lon_loadgen_latency_seconds_bucket)");
        let listed_s = result["latency_ns"][percentile].as_f64().unwrap() / 1e9;
        let found_s = prometheus.value(&query).unwrap();
        assert!((listed_s / 2.6..=listed_s * 2.6).contains(&found_s), "{percentile}: {found_s} s of {listed_s} s");
    }
    let mean_s = prometheus.value("lon_loadgen_latency_seconds_sum / lon_loadgen_latency_seconds_count").unwrap();
    let listed_s = result["latency_ns"]["mean"].as_f64().unwrap() / 1e9;
    assert!((mean_s / listed_s - 1.0).abs() < 0.01, "a mean of {mean_s} s, listed {listed_s} s");
    for percentile in ["p50", "p99", "max"] {
        let query = format!("lon_loadgen_schedule_lag_seconds{{statistic={percentile:?}}}");
        let listed_s = result["schedule_lag_ns"][percentile].as_f64().unwrap() / 1e9;
        let found_s = prometheus.value(&query).unwrap();
        assert!((found_s - listed_s).abs() <= listed_s * 0.01 + 1e-9, "{query}: {found_s} s, listed {listed_s} s");
    }
}

/// Over TLS, with a certificate of its own and the node's token; without one of the two it is refused.
#[test]
#[ignore = ".ci/run programs"]
fn prometheus_scrapes_with_certificates_and_a_token() {
    let certificates = Certificates::new();
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    std::fs::write(&token, "0123456789abcdef").unwrap();
    let token = token.to_str().unwrap();
    let tokens = ["--token-file", token, "--allow-open-key-files"];
    let node = Node::start("a", "null", &[&certificates.server_args()[..], &certificates.trusted(), &tokens].concat());
    let ([_, ca], [_, cert, _, key]) = (certificates.trusted(), certificates.client_args());
    let job = |name: &str, pair: &str, token: &str| {
        format!(
            "- job_name: {name}\n  scheme: https\n  static_configs: [{{targets: [{:?}]}}]\n  \
             tls_config: {{ca_file: {ca}{pair}}}\n{token}",
            node.metrics
        )
    };
    let pair = format!(", cert_file: {cert}, key_file: {key}");
    let token = format!("  authorization: {{credentials_file: {token}}}\n");
    let jobs = [job("known", &pair, &token), job("no_token", &pair, ""), job("no_certificate", "", &token)];
    let prometheus = Prometheus::start(&jobs.concat());
    prometheus.wait_for(r#"up{job="known"}"#, 1.0);
    prometheus.wait_for(r#"up{job="no_token"}"#, 0.0);
    prometheus.wait_for(r#"up{job="no_certificate"}"#, 0.0);
    prometheus.wait_for(r#"lon_sut_build_info{node="a"}"#, 1.0);
}

/// Returns the verdict and the output of `promtool check metrics` on metrics in the older format, which it reads.
fn promtool(text: &str) -> (bool, String) {
    let mut command = Command::new("promtool");
    command.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("promtool: apt-get install prometheus");
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let streams = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(streams).unwrap())
}

#[test]
#[ignore = ".ci/run programs"]
fn promtool_finds_nothing_wrong_with_a_node() {
    let node = Node::start("a", "null", &[]);
    let reply = ask(&node.metrics, "Accept: text/plain\r\n");
    assert!(reply.head.contains("content-type: text/plain; version=0.0.4"), "{}", reply.head);
    assert_eq!(promtool(&reply.body), (true, String::new()));
}

#[test]
#[ignore = ".ci/run programs"]
fn promtool_finds_nothing_wrong_with_a_run() {
    let node = SutNode::start("N1", "null", &[]);
    let run = TestRun::new("Offline").on(&node.address).set("min_duration=0,min_query_count=1");
    let port = ["--metrics-listen", "127.0.0.1:0", "--metrics-grace", "600s", "--max-lag", "60s"];
    let (mut run, _folder) = run.args(&port).start();
    let address = run.metrics_address();
    wait_until("the run is over", |text| text.contains("\nlon_loadgen_finished 1\n"), &address);
    let text = scrape_as(&address, "text/plain").unwrap();
    assert_eq!(promtool(&text), (true, String::new()));
    run.signal(Signal::SIGINT);
    assert!(matches!(run.finish().code, Some(0 | 3)));
}
